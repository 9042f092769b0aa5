/* SPDX-License-Identifier: MIT */
/*
 * write/pack/section_writer: number, hash and write sections, and the section index.
 *
 * Takes the contents of sections in image order, writes them to the output. Does not
 * interpret them. Used by the calling thread, except for dw_section_seal().
 */
#include <string.h>

#include "format/side.h"
#include "write/images/source_image.h"
#include "write/pack/section_writer.h"

void dw_section_writer_free(struct section_writer *sections)
{
	dw_free(sections->index);
	sections->index = NULL;
}

void dw_section_seal(struct section_header *header, struct span data, struct xxh3 *hash)
{
	uint8_t bytes[DW_HEADER_BYTES];

	header->minor = DW_FORMAT_MINOR_WRITTEN;
	header->length = data.size;
	dw_section_header_store(header, bytes);
	dw_xxh3_reset(hash);
	dw_xxh3_update(hash, bytes + DW_HEADER_XXH3_FROM,
		       DW_HEADER_BYTES - DW_HEADER_XXH3_FROM);
	dw_xxh3_update(hash, data.data, data.size);
	header->xxh3 = dw_xxh3_finish_64(hash);
	dw_section_header_store(header, bytes);
	dw_sha512_256((struct span){ bytes + DW_HEADER_SHA_FROM,
				     DW_HEADER_BYTES - DW_HEADER_SHA_FROM },
		      data, header->sha512_256);
}

static int add_to_index(struct section_writer *sections, uint32_t type,
			dwarfs_error **err)
{
	int ret = dw_grow(&sections->index, &sections->room, sections->count + 1, err);

	if (ret < 0)
		return ret;
	if (sections->bytes > DW_INDEX_OFFSET_MASK)
		return dw_fail(err, DWARFS_ERR_RANGE, "the image is too large");
	sections->index[sections->count++] =
		dw_le64((uint64_t)type << DW_INDEX_OFFSET_BITS | sections->bytes);
	return 0;
}

static int write_section_header(struct section_writer *sections,
				const struct section_header *header, dwarfs_error **err)
{
	struct build_run *run = sections->run;
	uint8_t bytes[DW_HEADER_BYTES];

	dw_section_header_store(header, bytes);
	return dw_sink_write(run->output, bytes, sizeof(bytes), &run->progress, err);
}

static int write_section(struct section_writer *sections,
			 const struct section_header *header, struct span data,
			 dwarfs_error **err)
{
	struct build_run *run = sections->run;
	int ret;

	if ((ret = write_section_header(sections, header, err)) < 0 ||
	    (ret = dw_sink_write(run->output, data.data, data.size, &run->progress,
				 err)) < 0)
		return ret;
	sections->bytes += DW_HEADER_BYTES + data.size;
	if (header->type == DWARFS_SECTION_METADATA)
		sections->metadata_xxh3 = header->xxh3;
	return 0;
}

int dw_section_writer_write(struct section_writer *sections,
			    const struct section_header *header, struct span data,
			    dwarfs_error **err)
{
	int ret = add_to_index(sections, header->type, err);

	return ret < 0 ? ret : write_section(sections, header, data, err);
}

/* The header changes if the number or the version of the format does. */
static int write_shared_header(struct section_writer *sections,
			       const struct section_header *header, dwarfs_error **err)
{
	struct build_run *run = sections->run;
	uint8_t bytes[DW_HEADER_BYTES], found[DW_HEADER_BYTES];
	int ret = dw_sink_read_shared(run->output, found, sizeof(found),
				      dw_sink_bytes(run->output), err);

	if (ret < 0)
		return ret;
	dw_section_header_store(header, bytes);
	return (memcmp(bytes, found, sizeof(bytes)) == 0 ? dw_sink_write_shared
							 : dw_sink_write)(
		run->output, bytes, sizeof(bytes), &run->progress, err);
}

int dw_section_writer_write_shared(struct section_writer *sections,
				   const struct section_header *header, struct span data,
				   dwarfs_error **err)
{
	struct build_run *run = sections->run;
	int ret;

	if ((ret = add_to_index(sections, header->type, err)) < 0 ||
	    (ret = write_shared_header(sections, header, err)) < 0 ||
	    (ret = dw_sink_write_shared(run->output, data.data, data.size, &run->progress,
					err)) < 0)
		return ret;
	sections->bytes += DW_HEADER_BYTES + data.size;
	return 0;
}

static int seal_and_write(struct section_writer *sections, uint32_t type,
			  uint32_t compression, struct span data, dwarfs_error **err)
{
	struct section_header header = {
		.type = type,
		.compression = compression,
		.number = (uint32_t)sections->count + sections->unlisted,
	};
	auto_xxh3 struct xxh3 *hash = NULL;
	int ret = dw_xxh3_new(&hash, err);

	if (ret < 0)
		return ret;
	dw_section_seal(&header, data, hash);
	if (!dw_side_name(type))
		return dw_section_writer_write(sections, &header, data, err);
	sections->unlisted++;
	return write_section(sections, &header, data, err);
}

/* Whether readers accept that a section has this many bytes. */
static bool is_readable(uint32_t type, uint64_t bytes, uint64_t stored)
{
	return (type != DWARFS_SECTION_METADATA && type != DWARFS_SECTION_XATTRS) ||
	       bytes <= DW_METADATA_LIMIT || bytes / DW_METADATA_RATIO < stored;
}

void dw_packed_section_free(struct packed_section *packed)
{
	dw_buffer_free(&packed->bytes);
}

static int pack_section(uint32_t type, const struct codec_spec *spec, struct span data,
			const struct record_ranges *records,
			struct packed_section *packed, dwarfs_error **err)
{
	auto_codec struct codec *codec = NULL;
	int ret;

	if ((ret = dw_codec_new(spec, data.size, &codec, err)) < 0)
		return ret;
	dw_codec_set_records(codec, records);
	packed->type = type;
	if ((ret = dw_codec_pack(codec, data, &packed->bytes, &packed->compression,
				 err)) < 0)
		return ret;
	if (!is_readable(type, data.size, packed->bytes.size))
		packed->compression = CODEC_NONE;
	packed->stored =
		packed->compression == CODEC_NONE ? data : dw_buffer_span(&packed->bytes);
	return 0;
}

static uint64_t least_saved(const struct section_writer *sections,
			    const struct denser_codec *denser, size_t packed_bytes)
{
	uint64_t total = sections->bytes + packed_bytes;
	uint64_t share = total / 1000 * denser->least_share / (SHARE_OF_ALL / 1000);

	return share > denser->least_bytes ? share : denser->least_bytes;
}

static int pack_denser(const struct section_writer *sections,
		       const struct denser_codec *denser, struct span data,
		       const struct record_ranges *records, struct packed_section *packed,
		       dwarfs_error **err)
{
	auto_packed_section struct packed_section other = { 0 };
	struct packed_section replaced = *packed;
	uint64_t least = least_saved(sections, denser, replaced.stored.size);
	int ret;

	if (packed->compression == CODEC_NONE || replaced.stored.size / 4 * 3 < least)
		return 0;
	if ((ret = pack_section(packed->type, &denser->codec, data, records, &other,
				err)) < 0)
		return ret;
	if (other.compression == CODEC_NONE ||
	    other.stored.size + least > replaced.stored.size)
		return 0;
	*packed = other;
	other = replaced;
	return 0;
}

int dw_section_pack(const struct section_writer *sections, uint32_t type,
		    const struct codec_spec *codec, const struct denser_codec *denser,
		    struct span data, const struct record_ranges *records,
		    struct packed_section *packed_out, dwarfs_error **err)
{
	int ret = pack_section(type, codec, data, records, packed_out, err);

	if (ret == 0 && denser)
		ret = pack_denser(sections, denser, data, records, packed_out, err);
	return ret;
}

int dw_section_writer_write_packed(struct section_writer *sections,
				   const struct packed_section *packed,
				   dwarfs_error **err)
{
	return seal_and_write(sections, packed->type, packed->compression, packed->stored,
			      err);
}

int dw_section_writer_pack(struct section_writer *sections, uint32_t type,
			   const struct codec_spec *codec, struct span data,
			   dwarfs_error **err)
{
	auto_packed_section struct packed_section packed = { 0 };
	int ret = pack_section(type, codec, data, NULL, &packed, err);

	return ret < 0 ? ret : dw_section_writer_write_packed(sections, &packed, err);
}

int dw_section_writer_copy(struct section_writer *sections,
			   const struct stored_section *section, dwarfs_error **err)
{
	struct section_header header = section->header;
	struct span data = dw_buffer_span(&section->payload);

	if (!section->is_damaged)
		return seal_and_write(sections, header.type, header.compression, data,
				      err);
	header.number = (uint32_t)sections->count + sections->unlisted;
	header.minor = DW_FORMAT_MINOR_WRITTEN;
	return dw_section_writer_write(sections, &header, data, err);
}

int dw_section_writer_write_index(struct section_writer *sections, dwarfs_error **err)
{
	uint64_t at =
		(uint64_t)DWARFS_SECTION_INDEX << DW_INDEX_OFFSET_BITS | sections->bytes;
	int ret = dw_grow(&sections->index, &sections->room, sections->count + 2, err);
	struct span data = {
		(const uint8_t *)sections->index,
		(sections->count + 1) * sizeof(sections->index[0]),
	};

	if (ret < 0)
		return ret;
	data.data = (const uint8_t *)sections->index;
	/* entry of the index itself, the last one */
	sections->index[sections->count] = dw_le64(at);
	return seal_and_write(sections, DWARFS_SECTION_INDEX, CODEC_NONE, data, err);
}
