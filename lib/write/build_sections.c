/* SPDX-License-Identifier: MIT */
/*
 * write/build_sections: the sections after the blocks.
 */
#include <string.h>

#include "os/memory_size.h"
#include "write/build.h"
#include "write/categorize/categorize.h"
#include "write/digests/digest_section.h"
#include "write/items/assembly.h"
#include "write/metadata/history_section.h"
#include "write/metadata/metadata.h"
#include "write/metadata/metadata_codec.h"
#include "write/metadata/record_ranges.h"
#include "write/metadata/xattr_section.h"
#include "write/segment/segmenter.h"

/* -- metadata ------------------------------------------------------------------------ */

void dw_build_fit_codec(const struct build *build, uint32_t type, uint64_t bytes,
			struct codec_spec *codec)
{
	const char *what = "is compressed with less memory";
	uint64_t before = dw_codec_memory(codec, (size_t)bytes);

	if (codec->id == CODEC_NONE)
		return;
	if (!dw_budget_metadata_codec(&build->budget, build->chunks.count, bytes,
				      codec)) {
		what = "is not compressed";
		*codec = (struct codec_spec){ .id = CODEC_NONE };
	} else if (dw_codec_memory(codec, (size_t)bytes) == before) {
		return;
	}
	dw_log(build->run.context, DWARFS_LOG_WARN,
	       "memory limit of %" PRIu64 " MiB: %s %s",
	       build->run.options->memory_limit >> 20, dw_metadata_section_name(type),
	       what);
}

/* The tables of the metadata and their schema. */
struct tables {
	struct buffer schema, data;
	struct packed_section packed_schema, packed_data;
};

static void free_tables(struct tables *tables)
{
	dw_packed_section_free(&tables->packed_schema);
	dw_packed_section_free(&tables->packed_data);
	dw_buffer_free(&tables->schema);
	dw_buffer_free(&tables->data);
}
#define auto_tables __attribute__((cleanup(free_tables)))

static uint64_t stored_bytes(const struct tables *tables)
{
	return tables->packed_schema.stored.size + tables->packed_data.stored.size;
}

static int pack_tables(const struct build *build, const struct codec_spec *codec,
		       struct tables *tables, dwarfs_error **err)
{
	struct record_ranges records;
	struct denser_codec denser;
	bool has_denser =
		dw_denser_metadata_codec(&build->run, DWARFS_SECTION_METADATA, codec,
					 tables->data.size, build->chunks.count, &denser);
	int ret = dw_section_pack(&build->sections, DWARFS_SECTION_SCHEMA,
				  &build->run.options->codecs[DWARFS_CODEC_SCHEMA], NULL,
				  dw_buffer_span(&tables->schema), NULL,
				  &tables->packed_schema, err);

	if (ret < 0 || (ret = dw_record_ranges_find(dw_buffer_span(&tables->schema),
						    &tables->data, &records, err)) < 0)
		return ret;
	return dw_section_pack(&build->sections, DWARFS_SECTION_METADATA, codec,
			       has_denser ? &denser : NULL, dw_buffer_span(&tables->data),
			       &records, &tables->packed_data, err);
}

static int write_tables(struct build *build, const struct tables *tables,
			dwarfs_error **err)
{
	int ret = dw_section_writer_write_packed(&build->sections, &tables->packed_schema,
						 err);

	build->run.counts[DWARFS_COUNT_BYTES_METADATA] = tables->packed_data.stored.size;
	return ret < 0 ? ret
		       : dw_section_writer_write_packed(&build->sections,
							&tables->packed_data, err);
}

/* When the image was made: the oldest time of the images that entries come from, so that data
 * of files were read at that time or later. False: it is not stored, or not known. */
static bool find_create_timestamp(const struct build *build, uint64_t *seconds_out)
{
	const struct build_options *options = build->run.options;
	const struct assembly *assembly = build->run.assembly;

	*seconds_out = build->now;
	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		if (image->is_base)
			continue;
		/* By the history of versions, another writer has stored the time. */
		if (image->created == INT64_MAX ||
		    (image->made == INT64_MAX && !options->version_history))
			return false;
		if ((uint64_t)image->created < *seconds_out)
			*seconds_out = (uint64_t)image->created;
	}
	return options->create_timestamp;
}

/* Write the tables compressed, unless they are not smaller than plain tables of this size, or the
 * memory limit allows no codec. Tables that are made for a codec are larger before it: names are not
 * packed, for example. If these are random, no codec saves as much as packing does. */
static int write_compressed(struct build *build, struct metadata_input *input,
			    struct codec_spec codec, uint64_t plain_bytes,
			    bool *written_out, dwarfs_error **err)
{
	bool was_set = build->run.options->codec_was_set[DWARFS_CODEC_METADATA];
	auto_tables struct tables tables = { 0 };
	int ret;

	input->compressed = true;
	if ((ret = dw_metadata(input, &tables.schema, &tables.data, err)) < 0)
		return ret;
	dw_os_trim();
	dw_build_fit_codec(build, DWARFS_SECTION_METADATA, tables.data.size, &codec);
	if (codec.id == CODEC_NONE)
		return 0;
	if ((ret = pack_tables(build, &codec, &tables, err)) < 0)
		return ret;
	*written_out = was_set || stored_bytes(&tables) < plain_bytes;
	return *written_out ? write_tables(build, &tables, err) : 0;
}

/* The tables as they are stored without compression. */
static int make_plain(const struct build *build, struct metadata_input *input,
		      struct tables *tables, dwarfs_error **err)
{
	const struct codec_spec none = { .id = CODEC_NONE };
	int ret;

	input->compressed = false;
	if ((ret = dw_metadata(input, &tables->schema, &tables->data, err)) < 0)
		return ret;
	return pack_tables(build, &none, tables, err);
}

int dw_build_metadata(struct build *build, dwarfs_error **err)
{
	struct metadata_input input = {
		.run = &build->run,
		.tree = &build->tree,
		.contents = &build->contents,
		.chunks = &build->chunks,
		.block_streams = &build->block_streams,
		.block_count = (uint32_t)build->run.counts[DWARFS_COUNT_BLOCKS],
	};
	auto_tables struct tables tables = { 0 };
	uint64_t plain_bytes;
	struct codec_spec codec;
	bool written = false;
	int ret;

	input.has_create_timestamp =
		find_create_timestamp(build, &input.create_timestamp);
	if ((ret = dw_progress_enter(&build->run.progress, DWARFS_PHASE_METADATA, err)) <
		    0 ||
	    (ret = make_plain(build, &input, &tables, err)) < 0)
		return ret;
	codec = dw_metadata_codec(&build->run, tables.data.size, build->sections.bytes);
	if (codec.id == CODEC_NONE)
		return write_tables(build, &tables, err);
	plain_bytes = stored_bytes(&tables);
	free_tables(&tables);
	tables = (struct tables){ 0 };
	ret = write_compressed(build, &input, codec, plain_bytes, &written, err);
	if (ret < 0 || written)
		return ret;
	dw_log(build->run.context, DWARFS_LOG_VERBOSE,
	       "metadata is stored without compression");
	if ((ret = make_plain(build, &input, &tables, err)) < 0)
		return ret;
	return write_tables(build, &tables, err);
}

/* -- extended attributes ------------------------------------------------------------- */

/* Always compressed, unlike small metadata, and by a denser codec if that saves as much as it
 * must for metadata: opening an image does not read these sections. */
static int pack_side_section(struct build *build, uint32_t type, struct span data,
			     dwarfs_error **err)
{
	struct codec_spec codec = build->run.options->codecs[DWARFS_CODEC_METADATA];
	auto_packed_section struct packed_section packed = { 0 };
	struct denser_codec denser;
	bool has_denser;
	int ret;

	dw_build_fit_codec(build, type, data.size, &codec);
	has_denser = dw_denser_metadata_codec(&build->run, type, &codec, data.size,
					      build->chunks.count, &denser);
	ret = dw_section_pack(&build->sections, type, &codec, has_denser ? &denser : NULL,
			      data, NULL, &packed, err);
	return ret < 0 ? ret
		       : dw_section_writer_write_packed(&build->sections, &packed, err);
}

int dw_build_xattrs(struct build *build, dwarfs_error **err)
{
	auto_buffer struct buffer data = { 0 };
	int ret =
		dw_xattr_section(&build->tree, build->sections.metadata_xxh3, &data, err);

	if (ret < 0 || data.size == 0)
		return ret;
	return pack_side_section(build, DWARFS_SECTION_XATTRS, dw_buffer_span(&data),
				 err);
}

/* -- digests ------------------------------------------------------------------------- */

/* For streams without a matcher. */
#define DEFAULT_ANCHOR_SHIFT 7

int dw_build_new_digests(struct build *build, dwarfs_error **err)
{
	const struct build_options *options = build->run.options;
	const struct stream_settings *settings = &build->run.settings[CATEGORY_DEFAULT];

	if (options->digests == DWARFS_DIGESTS_NEVER || options->input.hollow)
		return 0;
	return dw_digests_new(settings->window_bits > 0 ? dw_anchor_shift(settings)
							: DEFAULT_ANCHOR_SHIFT,
			      &build->run.digests, err);
}

int dw_build_digests(struct build *build, dwarfs_error **err)
{
	bool is_wanted = build->run.options->digests == DWARFS_DIGESTS_ALWAYS;
	auto_free uint32_t *files = dw_calloc(build->contents.count, sizeof(*files));
	struct digest_section_input input = {
		.digests = build->run.digests,
		.files = files,
		.file_count = (uint32_t)build->contents.count,
		.block_count = (uint32_t)build->run.counts[DWARFS_COUNT_BLOCKS],
		.metadata_xxh3 = build->sections.metadata_xxh3,
		.max_bytes =
			is_wanted ? UINT64_MAX : build->sections.bytes / DIGESTS_SHARE,
	};
	auto_buffer struct buffer data = { 0 };
	int ret;

	if (!build->run.digests)
		return 0;
	if (!files)
		return dw_fail_nomem(err);
	if ((ret = dw_digest_section_order(&build->tree, &build->contents, files, err)) <
		    0 ||
	    (ret = dw_digest_section(&input, &data, err)) < 0 || data.size == 0)
		return ret;
	return pack_side_section(build, DWARFS_SECTION_DIGESTS, dw_buffer_span(&data),
				 err);
}

/* -- history ------------------------------------------------------------------------- */

/* Sections of the type of a section in the first image that has some, if that is an earlier one. */
enum earlier { EARLIER_NONE, EARLIER_OTHERS, EARLIER_EQUAL };

static bool has_equal_bytes(const struct stored_section *a,
			    const struct stored_section *b)
{
	return a->header.compression == b->header.compression &&
	       a->payload.size == b->payload.size &&
	       (a->payload.size == 0 ||
		memcmp(a->payload.data, b->payload.data, a->payload.size) == 0);
}

static enum earlier find_earlier(const struct assembly *assembly, size_t image,
				 const struct stored_section *section)
{
	enum earlier found = EARLIER_NONE;

	for (size_t i = 0; i < image && found == EARLIER_NONE; i++) {
		const struct source_image *other = assembly->images[i];

		for (size_t j = 0; j < other->section_count; j++) {
			if (other->sections[j].header.type != section->header.type)
				continue;
			if (has_equal_bytes(&other->sections[j], section))
				return EARLIER_EQUAL;
			found = EARLIER_OTHERS;
		}
	}
	return found;
}

/* Whether a section of unknown type is copied. Only blocks and history may have several sections of
 * one type in an image: the established checker reports others. An image that has several
 * nevertheless keeps them, but merging images does not add further ones. */
static bool is_carried(struct build *build, size_t image,
		       const struct stored_section *section)
{
	const struct assembly *assembly = build->run.assembly;
	enum earlier earlier = find_earlier(assembly, image, section);

	if (earlier == EARLIER_OTHERS)
		dw_log(build->run.context, DWARFS_LOG_WARN,
		       "'%s': its section of type %" PRIu32
		       " is left out: another image has one already",
		       assembly->images[image]->name, section->header.type);
	return earlier == EARLIER_NONE;
}

/* Sections of the images of the input: history, or all others. */
static int copy_sections(struct build *build, bool history, dwarfs_error **err)
{
	const struct assembly *assembly = build->run.assembly;

	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		for (size_t j = 0; j < image->section_count; j++) {
			const struct stored_section *section = &image->sections[j];
			int ret;

			if ((section->header.type == DWARFS_SECTION_HISTORY) != history)
				continue;
			if (!history && !is_carried(build, i, section))
				continue;
			ret = dw_section_writer_copy(&build->sections, section, err);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

int dw_build_history(struct build *build, dwarfs_error **err)
{
	const struct build_options *options = build->run.options;
	auto_buffer struct buffer data = { 0 };
	int ret;

	if (!options->history)
		return 0;
	if ((ret = copy_sections(build, true, err)) < 0 ||
	    (ret = dw_history_section(options, build->now, &data, err)) < 0)
		return ret;
	return dw_section_writer_pack(&build->sections, DWARFS_SECTION_HISTORY,
				      &options->codecs[DWARFS_CODEC_HISTORY],
				      dw_buffer_span(&data), err);
}

int dw_build_copied_sections(struct build *build, dwarfs_error **err)
{
	return copy_sections(build, false, err);
}
