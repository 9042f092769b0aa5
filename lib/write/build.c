/* SPDX-License-Identifier: MIT */
/*
 * write/build: run the stages of the writer, in order.
 *
 *   input directory, path list or assembly (items added one by one)
 *      | input/scan.c             entry_import: one found entry -> tree
 *      v
 *   struct tree                   entries, inodes, names (tree/tree.h)
 *      | inspect/inspect.c        on the pool: hash, categorize, fingerprint each file
 *      v
 *   struct contents               unique contents, their fragments, streams
 *      | order/order.c            for each stream
 *      v
 *   struct fragment_list          fragment numbers in storing order
 *      | segment/segment.c        matcher finds stored bytes, block_filler stores the others
 *      v
 *   struct block, struct chunks   filled blocks; (block, offset, size) of each fragment
 *      | pack/compress.c          on the pool: compress, hash; write in order
 *      v
 *   BLOCK sections, struct block_streams; before them images/kept_blocks.c writes the
 *      |                          blocks that images of the input have already
 *      | metadata/metadata.c      tree, contents, chunks -> frozen tables
 *      v
 *   SCHEMA, METADATA, HISTORY, XATTRS, DIGESTS sections and the section index
 *
 * The stages run one after the other on the calling thread; inspect and compress use
 * worker threads. budget/ plans their memory between scan, inspect and order. Nothing is
 * visible at the output path before the output is committed.
 */
#include <string.h>
#include <time.h>

#include "format/side.h"
#include "format/xattrs.h"
#include "os/memory_size.h"
#include "write/budget/memory_estimate.h"
#include "write/categorize/categorize.h"
#include "write/digests/digest_section.h"
#include "write/images/base_images.h"
#include "write/images/kept_blocks.h"
#include "write/input/scan.h"
#include "write/input/source.h"
#include "write/inspect/inspect.h"
#include "write/items/assembly.h"
#include "write/items/spool.h"
#include "write/metadata/history_section.h"
#include "write/metadata/metadata.h"
#include "write/metadata/xattr_section.h"
#include "write/options/input_options.h"
#include "write/order/order.h"

/* Default for metadata: store it uncompressed, so that an image opens without
 * decompressing, if it is less of the image than the first share, or if it is long and
 * less than the second. */
#define SMALL_METADATA_SHARE 50 /* one part in */
#define LARGE_METADATA_SHARE 20
#define LARGE_METADATA_BYTES ((uint64_t)8 << 20)

/* State of a run: the results of each stage. */
struct build {
	struct build_run run;
	dwarfs_builder *builder;
	struct workload workload;
	struct budget budget;
	struct tree tree;
	struct contents contents;
	struct fragment_list *lists; /* of each stream, in their order */
	size_t list_count;
	struct kept_blocks kept; /* taken over from images */
	struct chunks chunks;
	struct block_streams block_streams;
	struct section_writer sections;
	uint64_t now; /* seconds since 1970 */
};

static void free_lists(struct build *build)
{
	while (build->list_count > 0)
		dw_fragment_list_free(&build->lists[--build->list_count]);
	dw_free(dw_steal(build->lists));
}

static void free_build(struct build *build)
{
	dw_tree_free(&build->tree);
	dw_contents_free(&build->contents);
	free_lists(build);
	dw_kept_blocks_free(&build->kept);
	dw_chunks_free(&build->chunks);
	dw_block_streams_free(&build->block_streams);
	dw_sources_free(build->run.sources);
	dw_digests_free(build->run.digests);
	dw_section_writer_free(&build->sections);
}
#define auto_build __attribute__((cleanup(free_build)))

void dw_build_complain(struct build_run *run, const char *path, int errnum,
		       const char *what, const char *consequence)
{
	char reason[128] = "";

	run->counts[DWARFS_COUNT_ERRORS]++;
	if (errnum)
		dw_describe_errno(errnum, reason, sizeof(reason));
	dw_log(run->context, DWARFS_LOG_ERROR, "%s '%s%s%s': %s%s%s", what,
	       run->root_path, *path ? "/" : "", path, reason, errnum ? ", " : "",
	       consequence);
}

/* -- blocks -------------------------------------------------------------------------- */

/* List the fragments of a stream, starting at number from, in storing order. */
static int order_stream(struct build *build, uint32_t stream, size_t from,
			struct fragment_list *list, dwarfs_error **err)
{
	const struct stream *of = &build->contents.streams.list[stream];
	const struct stream_settings *settings = &build->run.settings[of->category];
	size_t block_bytes = dw_block_bytes(build->run.options, of);
	struct order_input order = {
		.run = &build->run,
		.tree = &build->tree,
		.contents = &build->contents,
		.spec = &settings->order,
		.block_bytes = block_bytes,
		.reach_bytes = dw_codec_reach(&settings->codec, block_bytes),
		.finds_segments = settings->window_bits > 0 && settings->lookback > 0,
		.packs_slowly = dw_codec_packs_slowly(&settings->codec),
	};
	int ret = dw_fragments_of(&build->contents, stream, from, list, err);

	if (ret < 0)
		return ret;
	return dw_order_sort(&order, list->numbers, list->count, err);
}

/* All streams are ordered before any block is filled: sketches and blocks do not fit into
 * the memory limit at the same time. */
static int order_streams(struct build *build, dwarfs_error **err)
{
	size_t count = build->contents.streams.count;
	int ret;

	if (!(build->lists = dw_calloc(count, sizeof(*build->lists))))
		return dw_fail_nomem(err);
	while (build->list_count < count) {
		size_t stream =
			build->list_count++; /* free_lists() frees it from here on */

		if ((ret = order_stream(build, (uint32_t)stream, 0, &build->lists[stream],
					err)) < 0)
			return ret;
	}
	dw_os_trim();
	return 0;
}

static int write_stream_blocks(struct build *build, uint32_t stream,
			       const struct fragment_list *list,
			       struct compressor *compressor, dwarfs_error **err)
{
	const struct stream *of = &build->contents.streams.list[stream];
	struct segment_input segment = {
		.run = &build->run,
		.tree = &build->tree,
		.contents = &build->contents,
		.stream = stream,
		.settings = &build->run.settings[of->category],
		.budget = &build->budget,
		.kept = stream == 0 && build->kept.count > 0 && !build->kept.are_divided
				? &build->kept
				: NULL,
		.numbers = list->numbers,
		.count = list->count,
	};

	for (size_t i = 0; i < list->count; i++)
		build->run.totals[of->category].in +=
			build->contents.fragments[list->numbers[i]].size;
	return list->count ? dw_segment(&segment, compressor, &build->chunks, err) : 0;
}

static void reset_progress(struct build *build)
{
	struct dwarfs_progress *progress = &build->run.progress;

	progress->items_done = progress->items_total = 0;
	progress->bytes_done = progress->bytes_total = 0;
	progress->path = NULL;
}

static void set_progress_totals(struct build *build)
{
	struct dwarfs_progress *progress = &build->run.progress;

	reset_progress(build);
	progress->items_total = build->contents.fragment_count;
	for (size_t i = 0; i < build->contents.fragment_count; i++)
		if (build->contents.fragments[i].stream != DW_NONE)
			progress->bytes_total += build->contents.fragments[i].size;
}

/* Write all streams. A file that differs from the contents it was believed to share gets
 * new fragments in the default stream; write these last. */
static int write_streams(struct build *build, struct compressor *compressor,
			 dwarfs_error **err)
{
	size_t from = 0, end = build->contents.fragment_count;
	int ret;

	for (uint32_t stream = 0; stream < build->list_count; stream++)
		if ((ret = write_stream_blocks(build, stream, &build->lists[stream],
					       compressor, err)) < 0)
			return ret;
	/* No memory is planned for a second sketch, and such files are rare. */
	build->budget.shingles = 0;
	while (end < build->contents.fragment_count) {
		__attribute__((cleanup(
			dw_fragment_list_free))) struct fragment_list list = { 0 };

		from = end;
		end = build->contents.fragment_count;
		if ((ret = order_stream(build, 0, from, &list, err)) < 0 ||
		    (ret = write_stream_blocks(build, 0, &list, compressor, err)) < 0)
			return ret;
	}
	return 0;
}

/* The size of contents is the sum of the stored sizes of their fragments. */
static void sum_content_sizes(struct contents *contents)
{
	for (size_t i = 0; i < contents->count; i++) {
		struct content *content = &contents->list[i];

		content->size = 0;
		for (uint32_t j = 0; j < content->fragment_count; j++)
			content->size +=
				contents->fragments[content->first_fragment + j].size;
	}
}

static int write_blocks(struct build *build, dwarfs_error **err)
{
	auto_compressor struct compressor *compressor = NULL;
	struct dwarfs_progress *progress = &build->run.progress;
	int ret;

	reset_progress(build);
	if ((ret = dw_progress_enter(progress, DWARFS_PHASE_ORDER, err)) < 0 ||
	    (ret = dw_kept_blocks_find(&build->run, &build->tree, &build->contents,
				       &build->kept, err)) < 0 ||
	    (ret = dw_budget_plan(build->builder, &build->workload, &build->contents,
				  &build->budget, err)) < 0 ||
	    (ret = order_streams(build, err)) < 0)
		return ret;
	set_progress_totals(build);
	if ((ret = dw_progress_enter(progress, DWARFS_PHASE_WRITE, err)) < 0 ||
	    (ret = dw_compressor_new(&build->sections, &build->budget,
				     &build->block_streams, &compressor, err)) < 0 ||
	    (ret = dw_kept_blocks_write(&build->run, &build->contents, &build->kept,
					compressor, err)) < 0 ||
	    (ret = dw_kept_blocks_add_chunks(&build->run, &build->tree, &build->contents,
					     &build->kept, &build->chunks, err)) < 0 ||
	    (ret = write_streams(build, compressor, err)) < 0 ||
	    (ret = dw_compressor_finish(compressor, err)) < 0)
		return ret;
	dw_compressor_free(dw_steal(compressor));
	free_lists(build);
	dw_os_trim();
	sum_content_sizes(&build->contents);
	if (build->run.digests &&
	    (ret = dw_digests_add_divided(&build->run, &build->tree, &build->contents,
					  err)) < 0)
		return ret;
	/* Unreadable files count as done. */
	progress->bytes_done = progress->bytes_total;
	return 0;
}

/* -- metadata ------------------------------------------------------------------------ */

static struct codec_spec metadata_codec(const struct build *build, uint64_t bytes)
{
	const struct build_options *options = build->run.options;
	struct codec_spec codec = options->codecs[DWARFS_CODEC_METADATA];
	unsigned share;

	if (options->codec_was_set[DWARFS_CODEC_METADATA])
		return codec;
	share = bytes > LARGE_METADATA_BYTES ? LARGE_METADATA_SHARE
					     : SMALL_METADATA_SHARE;
	if (bytes * share < build->sections.bytes + bytes)
		codec = (struct codec_spec){ .id = CODEC_NONE };
	return codec;
}

static void fit_metadata_codec(const struct build *build, uint64_t bytes,
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
	       "memory limit of %" PRIu64 " MiB: metadata %s",
	       build->run.options->memory_limit >> 20, what);
}

static int pack_metadata(struct build *build, const struct codec_spec *codec,
			 const struct buffer *schema, const struct buffer *data,
			 dwarfs_error **err)
{
	int ret = dw_section_writer_pack(&build->sections, DWARFS_SECTION_SCHEMA,
					 &build->run.options->codecs[DWARFS_CODEC_SCHEMA],
					 dw_buffer_span(schema), NULL, err);

	if (ret < 0)
		return ret;
	return dw_section_writer_pack(
		&build->sections, DWARFS_SECTION_METADATA, codec, dw_buffer_span(data),
		&build->run.counts[DWARFS_COUNT_BYTES_METADATA], err);
}

static int write_metadata(struct build *build, dwarfs_error **err)
{
	struct metadata_input input = {
		.run = &build->run,
		.tree = &build->tree,
		.contents = &build->contents,
		.chunks = &build->chunks,
		.block_streams = &build->block_streams,
		.block_count = (uint32_t)build->run.counts[DWARFS_COUNT_BLOCKS],
		.has_create_timestamp = build->run.options->create_timestamp,
		.create_timestamp = build->now,
	};
	auto_buffer struct buffer schema = { 0 }, data = { 0 };
	struct codec_spec codec;
	int ret;

	if ((ret = dw_progress_enter(&build->run.progress, DWARFS_PHASE_METADATA, err)) <
		    0 ||
	    (ret = dw_metadata(&input, &schema, &data, err)) < 0)
		return ret;
	codec = metadata_codec(build, data.size);
	fit_metadata_codec(build, data.size, &codec);
	if (codec.id == CODEC_NONE)
		return pack_metadata(build, &codec, &schema, &data, err);
	dw_buffer_free(&schema);
	dw_buffer_free(&data);
	input.compressed = true;
	if ((ret = dw_metadata(&input, &schema, &data, err)) < 0)
		return ret;
	return pack_metadata(build, &codec, &schema, &data, err);
}

/* -- extended attributes ------------------------------------------------------------- */

/* Always compressed, unlike small metadata: opening an image does not read this
 * section. */
static int write_xattrs(struct build *build, dwarfs_error **err)
{
	struct codec_spec codec = build->run.options->codecs[DWARFS_CODEC_METADATA];
	auto_buffer struct buffer data = { 0 };
	int ret =
		dw_xattr_section(&build->tree, build->sections.metadata_xxh3, &data, err);

	if (ret < 0 || data.size == 0)
		return ret;
	fit_metadata_codec(build, data.size, &codec);
	return dw_section_writer_pack(&build->sections, DWARFS_SECTION_XATTRS, &codec,
				      dw_buffer_span(&data), NULL, err);
}

/* -- digests ------------------------------------------------------------------------- */

/* For streams without a matcher. */
#define DEFAULT_ANCHOR_SHIFT 7

static int new_digests(struct build *build, dwarfs_error **err)
{
	const struct build_options *options = build->run.options;
	const struct stream_settings *settings = &build->run.settings[CATEGORY_DEFAULT];

	if (options->digests == DWARFS_DIGESTS_NEVER || options->input.hollow)
		return 0;
	return dw_digests_new(settings->window_bits > 0 ? dw_anchor_shift(settings)
							: DEFAULT_ANCHOR_SHIFT,
			      &build->run.digests, err);
}

static int write_digests(struct build *build, dwarfs_error **err)
{
	struct codec_spec codec = build->run.options->codecs[DWARFS_CODEC_METADATA];
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
	fit_metadata_codec(build, data.size, &codec);
	return dw_section_writer_pack(&build->sections, DWARFS_SECTION_DIGESTS, &codec,
				      dw_buffer_span(&data), NULL, err);
}

/* -- history ------------------------------------------------------------------------- */

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
			ret = dw_section_writer_copy(&build->sections, section, err);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int write_history(struct build *build, dwarfs_error **err)
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
				      dw_buffer_span(&data), NULL, err);
}

/* -- stages
 * ------------------------------------------------------------------------------ */

static int write_user_header(struct build *build, dwarfs_error **err)
{
	const struct buffer *header = &build->run.options->header;

	return dw_sink_write(build->run.output, header->data, header->size,
			     &build->run.progress, err);
}

/* Which memory limit the run keeps. Items that were added are the builder's own. */
static void choose_limit(struct build *build)
{
	dwarfs_builder *builder = build->builder;
	const struct assembly *assembly = builder->assembly;
	uint64_t own = dw_assembly_bytes(assembly);
	struct memory_bound bound;

	if (assembly && assembly->spool)
		own += dw_spool_memory(assembly->spool);
	bound = dw_memory_bound(&builder->options, dw_estimate_base(), own);
	builder->options.memory_limit = bound.limit;
	build->run.base_bytes = bound.base;
}

/* Build the tree and plan memory for it. */
static int run_scan(struct build *build, dwarfs_error **err)
{
	int ret;

	choose_limit(build);
	if ((ret = dw_scan(&build->run, &build->tree, err)) < 0)
		return ret;
	if ((ret = new_digests(build, err)) < 0)
		return ret;
	build->workload = dw_workload_of_tree(&build->run, &build->tree);
	build->run.budget = &build->budget;
	return dw_budget_begin(build->builder, &build->workload,
			       dw_input_workers(&build->run), &build->budget, err);
}

static int run_inspection(struct build *build, dwarfs_error **err)
{
	uint32_t inodes;
	int ret;

	if ((ret = dw_bases_apply(&build->run, &build->tree, &inodes, err)) < 0 ||
	    (ret = dw_inspect(&build->run, &build->tree, &build->contents, err)) < 0)
		return ret;
	dw_bases_remove(&build->tree, &build->contents, inodes);
	if (build->run.digests)
		dw_digests_cut(build->run.digests, build->contents.count);
	dw_workload_refine(&build->workload, &build->contents);
	dw_os_trim();
	return 0;
}

static int run_stages(struct build *build, dwarfs_error **err)
{
	int ret;

	if ((ret = run_scan(build, err)) < 0 || (ret = run_inspection(build, err)) < 0 ||
	    (ret = write_user_header(build, err)) < 0 ||
	    (ret = write_blocks(build, err)) < 0 ||
	    (ret = write_metadata(build, err)) < 0 ||
	    (ret = write_history(build, err)) < 0 ||
	    (ret = copy_sections(build, false, err)) < 0 ||
	    (ret = write_xattrs(build, err)) < 0 || (ret = write_digests(build, err)) < 0)
		return ret;
	if (build->run.options->section_index &&
	    (ret = dw_section_writer_write_index(&build->sections, err)) < 0)
		return ret;
	return dw_sink_commit(build->run.output, err);
}

/* -- another image, section by section ----------------------------------------------- */

static int copy_blocks(struct build *build, struct source_image *image,
		       dwarfs_error **err)
{
	auto_compressor struct compressor *compressor = NULL;
	int ret;

	if ((ret = dw_kept_blocks_find_all(&build->run, image, &build->contents,
					   &build->kept, err)) < 0 ||
	    (ret = dw_budget_plan(build->builder, &build->workload, &build->contents,
				  &build->budget, err)) < 0 ||
	    (ret = dw_progress_enter(&build->run.progress, DWARFS_PHASE_WRITE, err)) <
		    0 ||
	    (ret = dw_compressor_new(&build->sections, &build->budget,
				     &build->block_streams, &compressor, err)) < 0 ||
	    (ret = dw_kept_blocks_write(&build->run, &build->contents, &build->kept,
					compressor, err)) < 0)
		return ret;
	return dw_compressor_finish(compressor, err);
}

/* The codec of a section that is compressed again. */
static const struct codec_spec *codec_of(const struct build *build, uint32_t type)
{
	return &build->run.options
			->codecs[type == DWARFS_SECTION_SCHEMA ? DWARFS_CODEC_SCHEMA
							       : DWARFS_CODEC_METADATA];
}

/* Our own sections name the hash of the metadata that they belong to. */
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

static int copy_other_sections(struct build *build, struct source_image *image, bool side,
			       dwarfs_error **err)
{
	for (size_t i = 0; i < image->section_count; i++) {
		struct stored_section *section = &image->sections[i];
		uint32_t type = section->header.type;
		int ret;

		if ((dw_side_name(type) != NULL) != side ||
		    (type == DWARFS_SECTION_HISTORY && !build->run.options->history) ||
		    (type == DWARFS_SECTION_DIGESTS &&
		     build->run.options->digests == DWARFS_DIGESTS_NEVER))
			continue;
		bind_side_section(build, section);
		ret = section->is_unpacked
			      ? dw_section_writer_pack(
					&build->sections, type, codec_of(build, type),
					dw_buffer_span(&section->payload), NULL, err)
			      : dw_section_writer_copy(&build->sections, section, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int run_copy(struct build *build, struct source_image *image, dwarfs_error **err)
{
	int ret;

	choose_limit(build);
	build->workload = dw_workload_of_tree(&build->run, &build->tree);
	build->run.budget = &build->budget;
	if ((ret = dw_budget_begin(build->builder, &build->workload,
				   dw_input_workers(&build->run), &build->budget, err)) <
		    0 ||
	    (ret = write_user_header(build, err)) < 0 ||
	    (ret = copy_blocks(build, image, err)) < 0 ||
	    (ret = dw_progress_enter(&build->run.progress, DWARFS_PHASE_METADATA, err)) <
		    0 ||
	    (ret = copy_other_sections(build, image, false, err)) < 0 ||
	    (ret = write_history(build, err)) < 0 ||
	    (ret = copy_other_sections(build, image, true, err)) < 0)
		return ret;
	if (build->run.options->section_index &&
	    (ret = dw_section_writer_write_index(&build->sections, err)) < 0)
		return ret;
	return dw_sink_commit(build->run.output, err);
}

/* -- runs ---------------------------------------------------------------------------- */

int dw_build_scan(dwarfs_builder *builder, dwarfs_error **err)
{
	auto_build struct build build = {
		.run = {
			.context = builder->context,
			.options = &builder->options,
			.assembly = builder->assembly,
			.root_fd = builder->root_fd,
			.root_path = builder->root_path ? builder->root_path : "",
			.counts = builder->counts,
		},
	};
	int ret;

	dw_progress_start(&build.run.progress, builder->task);
	if ((ret = dw_scan(&build.run, &build.tree, err)) < 0)
		return ret;
	build.run.progress.bytes_total = build.run.progress.bytes_done;
	build.run.progress.items_total = build.run.progress.items_done;
	(void)dw_progress_enter(&build.run.progress, DWARFS_PHASE_DONE, NULL);
	return 0;
}

/* Run all stages, or copy an image if there is one. */
static int run_build(dwarfs_builder *builder, struct source_image *image,
		     dwarfs_sink *output, dwarfs_error **err)
{
	auto_build struct build build = {
		.run = {
			.context = builder->context,
			.options = &builder->options,
			.output = output,
			.assembly = builder->assembly,
			.root_fd = builder->root_fd,
			.root_path = builder->root_path ? builder->root_path : "",
			.counts = builder->counts,
			.totals = builder->totals,
			.settings = builder->settings,
		},
		.builder = builder,
		.now = (uint64_t)time(NULL),
	};
	int ret;

	build.sections.run = &build.run;
	dw_progress_start(&build.run.progress, builder->task);
	ret = image ? run_copy(&build, image, err) : run_stages(&build, err);
	if (ret < 0)
		return ret;
	builder->counts[DWARFS_COUNT_BYTES_OUT] =
		builder->options.header.size + build.sections.bytes;
	/* The image is complete: ignore a cancellation. */
	(void)dw_progress_enter(&build.run.progress, DWARFS_PHASE_DONE, NULL);
	return 0;
}

int dw_build(dwarfs_builder *builder, dwarfs_sink *output, dwarfs_error **err)
{
	return run_build(builder, NULL, output, err);
}

int dw_build_copy(dwarfs_builder *builder, struct source_image *image,
		  dwarfs_sink *output, dwarfs_error **err)
{
	return run_build(builder, image, output, err);
}
