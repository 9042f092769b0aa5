/* SPDX-License-Identifier: MIT */
/*
 * write/build_copy: copy an image section by section, without reading its files.
 */
#include "format/side.h"
#include "format/xattrs.h"
#include "write/build.h"
#include "write/images/source_image.h"
#include "write/input/source.h"
#include "write/metadata/metadata_codec.h"
#include "write/metadata/record_ranges.h"
#include "write/options/input_options.h"

/* The codec of a section that is compressed again. */
static const struct codec_spec *codec_of(const struct build *build, uint32_t type)
{
	return &build->run.options
			->codecs[type == DWARFS_SECTION_SCHEMA ? DWARFS_CODEC_SCHEMA
							       : DWARFS_CODEC_METADATA];
}

/* The sections of libdwarfs contain the hash of the metadata that they belong to. */
static void bind_side_section(const struct build *build, struct stored_section *section)
{
	uint32_t type = section->header.type;

	if (type == DWARFS_SECTION_XATTRS)
		dw_store64(section->payload.data + XATTRS_AT_METADATA_XXH3,
			   build->sections.metadata_xxh3);
	else if (type == DWARFS_SECTION_DIGESTS)
		dw_store64(section->payload.data + DIGESTS_AT_METADATA_XXH3,
			   build->sections.metadata_xxh3);
}

/* Find the records of metadata. None are found if the image has no valid schema for it, which is
 * no error: metadata that readers accept in part is copied as it is. */
static int find_records(const struct source_image *image, struct stored_section *metadata,
			struct record_ranges *records, bool *found_out,
			dwarfs_error **err)
{
	int ret = DWARFS_ERR_CORRUPT;

	for (size_t i = 0; i < image->section_count; i++) {
		const struct stored_section *section = &image->sections[i];

		if (section->header.type != DWARFS_SECTION_SCHEMA ||
		    !section->is_unpacked)
			continue;
		ret = dw_record_ranges_find(dw_buffer_span(&section->payload),
					    &metadata->payload, records, NULL);
		break;
	}
	*found_out = ret == 0;
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : 0;
}

static int pack_section(struct build *build, const struct source_image *image,
			struct stored_section *section, uint64_t *stored,
			dwarfs_error **err)
{
	uint32_t type = section->header.type;
	struct codec_spec codec = *codec_of(build, type);
	auto_packed_section struct packed_section packed = { 0 };
	struct record_ranges records;
	struct denser_codec denser;
	bool has_records = false, has_denser = false;
	int ret = 0;

	if (type != DWARFS_SECTION_SCHEMA) {
		dw_build_fit_codec(build, type, section->payload.size, &codec);
		has_denser = dw_denser_metadata_codec(&build->run, type, &codec,
						      section->payload.size, 0, &denser);
	}
	if (type == DWARFS_SECTION_METADATA)
		ret = find_records(image, section, &records, &has_records, err);
	if (ret < 0 ||
	    (ret = dw_section_pack(&build->sections, type, &codec,
				   has_denser ? &denser : NULL,
				   dw_buffer_span(&section->payload),
				   has_records ? &records : NULL, &packed, err)) < 0)
		return ret;
	if (stored)
		*stored = packed.stored.size;
	return dw_section_writer_write_packed(&build->sections, &packed, err);
}

/* Copy the section, unless the options leave it out. */
static int copy_section(struct build *build, const struct source_image *image,
			struct stored_section *section, dwarfs_error **err)
{
	const struct build_options *options = build->run.options;
	uint32_t type = section->header.type;
	uint64_t *stored = type == DWARFS_SECTION_METADATA
				   ? &build->run.counts[DWARFS_COUNT_BYTES_METADATA]
				   : NULL;

	if ((type == DWARFS_SECTION_HISTORY && !options->history) ||
	    (type == DWARFS_SECTION_DIGESTS && options->digests == DWARFS_DIGESTS_NEVER))
		return 0;
	bind_side_section(build, section);
	if (section->is_unpacked)
		return pack_section(build, image, section, stored, err);
	if (stored)
		*stored = section->payload.size;
	return dw_section_writer_copy(&build->sections, section, err);
}

/* Write the blocks up to this one, and all if it is the last: then nothing of the compressor is
 * left. */
static int write_blocks(struct build *build, struct compressor **compressor,
			size_t *written, size_t end, dwarfs_error **err)
{
	int ret;

	if (!*compressor)
		return 0;
	if ((ret = dw_kept_blocks_write(&build->run, &build->contents, &build->kept,
					*written, end, *compressor, err)) < 0)
		return ret;
	*written = end;
	if (end < build->kept.count)
		return dw_compressor_flush(*compressor, err);
	if ((ret = dw_compressor_finish(*compressor, err)) < 0)
		return ret;
	dw_compressor_free(dw_steal(*compressor));
	build->run.progress.bytes_done = build->run.progress.bytes_total;
	return dw_progress_enter(&build->run.progress, DWARFS_PHASE_METADATA, err);
}

/* Copy the blocks, and each of the sections that the index lists at its place among them. */
static int copy_listed(struct build *build, const struct source_image *image,
		       dwarfs_error **err)
{
	auto_compressor struct compressor *compressor = NULL;
	size_t written = 0;
	int ret;

	if ((ret = dw_compressor_new(&build->sections, &build->budget,
				     &build->block_streams, &compressor, err)) < 0)
		return ret;
	for (size_t i = 0; i < image->section_count; i++) {
		struct stored_section *section = &image->sections[i];

		if (dw_side_name(section->header.type))
			continue;
		if ((ret = write_blocks(build, &compressor, &written,
					section->blocks_before, err)) < 0 ||
		    (ret = copy_section(build, image, section, err)) < 0)
			return ret;
	}
	return write_blocks(build, &compressor, &written, build->kept.count, err);
}

/* Sections of attributes and digests, which the index does not list. */
static int copy_side_sections(struct build *build, const struct source_image *image,
			      dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0; i < image->section_count && ret == 0; i++)
		if (dw_side_name(image->sections[i].header.type))
			ret = copy_section(build, image, &image->sections[i], err);
	return ret;
}

static int copy_all(struct build *build, struct source_image *image, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_kept_blocks_find_all(&build->run, image, &build->contents,
					   &build->kept, err)) < 0 ||
	    (ret = dw_budget_plan(build->builder, &build->workload, &build->contents,
				  &build->budget, err)) < 0)
		return ret;
	build->run.progress.bytes_total = dw_kept_blocks_most_input(&build->kept);
	if ((ret = dw_progress_enter(&build->run.progress, DWARFS_PHASE_WRITE, err)) <
		    0 ||
	    (ret = copy_listed(build, image, err)) < 0 ||
	    (ret = dw_build_history(build, err)) < 0)
		return ret;
	return copy_side_sections(build, image, err);
}

int dw_build_run_copy(struct build *build, struct source_image *image, dwarfs_error **err)
{
	int ret;

	dw_build_choose_limit(build);
	build->workload = dw_workload_of_tree(&build->run, &build->tree);
	build->workload.packs_again = true;
	build->run.budget = &build->budget;
	if ((ret = dw_budget_begin(build->builder, &build->workload,
				   dw_input_workers(&build->run), &build->budget, err)) <
		    0 ||
	    (ret = dw_build_user_header(build, err)) < 0 ||
	    (ret = copy_all(build, image, err)) < 0)
		return ret;
	return dw_build_finish(build, err);
}
