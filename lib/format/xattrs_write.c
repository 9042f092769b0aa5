/* SPDX-License-Identifier: MIT */
/*
 * format/xattrs_write: write the contents of an XATTRS section.
 *
 * Sets are stored for each run of inodes with the same set, or for each inode, whichever
 * is shorter, in as few bytes as their numbers need.
 */
#include "format/xattrs.h"

struct writer {
	const struct xattr_tables *in;
	struct buffer *out;
	dwarfs_error **err;
	int failure;
};

static void put_data(struct writer *writer, const void *data, size_t size)
{
	if (writer->failure == 0)
		writer->failure = dw_buffer_append(writer->out, data, size, writer->err);
}

/* The low bytes of a number. */
static void put_number(struct writer *writer, uint64_t value, size_t bytes)
{
	uint64_t stored = dw_le64(value);

	put_data(writer, &stored, bytes);
}

static bool starts_run(const struct xattr_tables *in, uint32_t inode)
{
	return in->sets[inode] != (inode > 0 ? in->sets[inode - 1] : 0);
}

static uint32_t count_runs(const struct xattr_tables *in)
{
	uint32_t runs = 0;

	for (uint32_t i = 0; i < in->inode_count; i++)
		runs += starts_run(in, i);
	return runs;
}

static int sum_sizes(const struct span *list, uint32_t count, uint32_t each,
		     uint32_t *bytes_out, dwarfs_error **err)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += list[i].size + each;
	if (bytes > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "too many extended attributes for one image: %" PRIu64
			       " bytes",
			       bytes);
	*bytes_out = (uint32_t)bytes;
	return 0;
}

static void put_ends(struct writer *writer, const struct span *list, uint32_t count,
		     uint32_t each)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < count; i++) {
		end += (uint32_t)list[i].size + each;
		put_number(writer, end, 4);
	}
}

static void put_sets(struct writer *writer, bool as_runs, uint32_t width)
{
	const struct xattr_tables *in = writer->in;

	for (uint32_t i = 0; as_runs && i < in->inode_count; i++)
		if (starts_run(in, i))
			put_number(writer, i, 4);
	for (uint32_t i = 0; i < in->inode_count; i++)
		if (!as_runs || starts_run(in, i))
			put_number(writer, in->sets[i], width);
}

static void put_tables(struct writer *writer, bool as_runs, uint32_t width)
{
	const struct xattr_tables *in = writer->in;

	put_ends(writer, in->names, in->name_count, 1);
	put_ends(writer, in->values, in->value_count, 0);
	for (uint32_t i = 0; i < in->set_count; i++)
		put_number(writer, in->set_ends[i], 4);
	for (uint32_t i = 0; i < in->pair_count; i++) {
		put_number(writer, in->pairs[i].name, 4);
		put_number(writer, in->pairs[i].value, 4);
	}
	put_sets(writer, as_runs, width);
	for (uint32_t i = 0; i < in->name_count; i++) {
		put_data(writer, in->names[i].data, in->names[i].size);
		put_data(writer, "", 1);
	}
	for (uint32_t i = 0; i < in->value_count; i++)
		put_data(writer, in->values[i].data, in->values[i].size);
}

int dw_xattr_tables_write(const struct xattr_tables *in, struct buffer *out,
			  dwarfs_error **err)
{
	struct writer writer = { .in = in, .out = out, .err = err };
	uint32_t width = in->set_count <= UINT8_MAX    ? 1
			 : in->set_count <= UINT16_MAX ? 2
						       : 4;
	uint32_t runs = count_runs(in), name_bytes, value_bytes;
	bool as_runs = (uint64_t)runs * (4 + width) < (uint64_t)in->inode_count * width;
	int ret;

	if ((ret = sum_sizes(in->names, in->name_count, 1, &name_bytes, err)) < 0 ||
	    (ret = sum_sizes(in->values, in->value_count, 0, &value_bytes, err)) < 0)
		return ret;
	put_number(&writer, DW_XATTRS_VERSION, 4);
	put_number(&writer, in->inode_count, 4);
	put_number(&writer, in->metadata_xxh3, 8);
	put_number(&writer, in->name_count, 4);
	put_number(&writer, in->value_count, 4);
	put_number(&writer, in->set_count, 4);
	put_number(&writer, in->pair_count, 4);
	put_number(&writer, as_runs ? runs : 0, 4);
	put_number(&writer, name_bytes, 4);
	put_number(&writer, value_bytes, 4);
	put_number(&writer, width, 4);
	put_tables(&writer, as_runs, width);
	return writer.failure;
}
