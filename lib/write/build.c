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
 * visible at the output path before the output is committed. build_sections.c writes what
 * follows the blocks; build_copy.c copies an image section by section instead.
 */
#include <time.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "os/memory_size.h"
#include "write/build.h"
#include "write/categorize/categorize.h"
#include "write/digests/digests.h"
#include "write/images/base_images.h"
#include "write/input/scan.h"
#include "write/input/source.h"
#include "write/inspect/inspect.h"
#include "write/items/assembly.h"
#include "write/items/spool.h"
#include "write/options/input_options.h"
#include "write/order/order.h"
#include "write/segment/segmenter.h"

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

int dw_build_check_descriptors(const struct build_run *run, const char *path, int errnum,
			       const char *what, dwarfs_error **err)
{
	if (!dw_fd_is_exhausted(errnum))
		return 0;
	return dw_fail_errno(err, errnum, "%s '%s%s%s'", what, run->root_path,
			     *path ? "/" : "", path);
}

int dw_build_complain(struct build_run *run, const char *path, int errnum,
		      const char *what, const char *consequence, dwarfs_error **err)
{
	char reason[128] = "";
	int ret = dw_build_check_descriptors(run, path, errnum, what, err);

	if (ret < 0)
		return ret;
	run->counts[DWARFS_COUNT_ERRORS]++;
	if (errnum)
		dw_describe_errno(errnum, reason, sizeof(reason));
	dw_log(run->context, DWARFS_LOG_ERROR, "%s '%s%s%s': %s%s%s", what,
	       run->root_path, *path ? "/" : "", path, reason, errnum ? ", " : "",
	       consequence);
	return 0;
}

/* -- blocks -------------------------------------------------------------------------- */

static bool continues_kept(const struct build *build, uint32_t stream)
{
	return stream == 0 && build->kept.count > 0 && !build->kept.are_divided;
}

/* List the fragments of a stream, starting at number from, in storing order. */
static int order_stream(struct build *build, uint32_t stream, size_t from,
			struct fragment_list *list, dwarfs_error **err)
{
	const struct stream *of = &build->contents.streams.list[stream];
	const struct stream_settings *settings = &build->run.settings[of->category];
	size_t block_bytes = dw_block_bytes(build->run.options, of);
	struct order_spec spec = settings->order;
	struct order_input order = {
		.run = &build->run,
		.tree = &build->tree,
		.contents = &build->contents,
		.spec = &spec,
		.settings = settings,
		.block_bytes = block_bytes,
		.reach_bytes = dw_codec_reach(&settings->codec, block_bytes),
		.finds_segments = settings->window_bits > 0 && settings->lookback > 0,
		.continues_kept = continues_kept(build, stream),
		.speed = dw_codec_speed(&settings->codec),
	};
	int ret = dw_fragments_of(&build->contents, stream, from, list, err);

	if (from > 0 && spec.ops->fingerprint != FINGERPRINT_NONE)
		spec.ops = &dw_order_path; /* contents that are added later have none */
	if (ret < 0 || (ret = dw_order_sort(&order, list->numbers, list->count, err)) < 0)
		return ret;
	return dw_order_divide(&order, list, err);
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
		.kept = continues_kept(build, stream) ? &build->kept : NULL,
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
	for (size_t i = 0; i < build->contents.fragment_count; i++) {
		const struct fragment *fragment = &build->contents.fragments[i];

		if (fragment->stream == DW_NONE)
			continue;
		progress->items_total++;
		progress->bytes_total += fragment->size;
	}
	progress->bytes_total += dw_kept_blocks_most_input(&build->kept);
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

static void drop_chunks(struct content *content, struct fragment *fragment,
			const struct chunks *chunks)
{
	for (uint32_t i = 0; i < fragment->chunk_count; i++) {
		const struct chunk *chunk = &chunks->list[fragment->first_chunk + i];

		content->hole_bytes -= chunk->block == DW_NONE ? chunk->size : 0;
	}
	fragment->size = 0;
	fragment->chunk_count = 0;
}

/* Contents end where a fragment could not be read to its end: the bytes after it, which may have been
 * stored before it, would be at other offsets than in the file. */
static void cut_contents(struct contents *contents, const struct chunks *chunks)
{
	for (size_t i = 0; i < contents->count; i++) {
		struct content *content = &contents->list[i];
		struct fragment *fragment = &contents->fragments[content->first_fragment];
		uint64_t end = 0;

		for (uint32_t j = 0; content->differs && j < content->fragment_count;
		     j++) {
			if (fragment[j].offset > end)
				drop_chunks(content, &fragment[j], chunks);
			end += fragment[j].size;
		}
	}
}

/* Contents of files that changed are not those of the time that the scan found: by that time, an
 * image made with this one as base would take them for the contents of an unchanged file, such as
 * another name of a file that was replaced. The time of the build is no time to trust. */
static void mark_changed_files(struct tree *tree, const struct contents *contents,
			       int64_t now)
{
	for (size_t i = 0; i < tree->inode_count; i++) {
		struct tree_inode *inode = &tree->inodes[i];

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG ||
		    inode->content == DW_NONE || !contents->list[inode->content].differs)
			continue;
		inode->mtime = now;
		inode->mtime_ns = 0;
	}
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

/* What they take is to be free before new blocks are filled. */
static int write_kept_blocks(struct build *build, struct compressor *compressor,
			     dwarfs_error **err)
{
	int ret;

	if (build->kept.count == 0)
		return 0;
	if ((ret = dw_kept_blocks_write(&build->run, &build->contents, &build->kept, 0,
					build->kept.count, compressor, err)) < 0 ||
	    (ret = dw_compressor_flush(compressor, err)) < 0)
		return ret;
	dw_os_trim();
	return 0;
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
	    (ret = write_kept_blocks(build, compressor, err)) < 0 ||
	    (ret = dw_kept_blocks_add_chunks(&build->run, &build->tree, &build->contents,
					     &build->kept, &build->chunks, err)) < 0 ||
	    (ret = write_streams(build, compressor, err)) < 0 ||
	    (ret = dw_compressor_finish(compressor, err)) < 0)
		return ret;
	dw_compressor_free(dw_steal(compressor));
	free_lists(build);
	dw_os_trim();
	cut_contents(&build->contents, &build->chunks);
	mark_changed_files(&build->tree, &build->contents, (int64_t)build->now);
	sum_content_sizes(&build->contents);
	if (build->run.digests &&
	    (ret = dw_digests_add_divided(&build->run, &build->tree, &build->contents,
					  err)) < 0)
		return ret;
	/* Unreadable files count as done. */
	progress->bytes_done = progress->bytes_total;
	return 0;
}

/* -- stages ------------------------------------------------------------------------- */

int dw_build_user_header(struct build *build, dwarfs_error **err)
{
	const struct buffer *header = &build->run.options->header;

	return dw_sink_write(build->run.output, header->data, header->size,
			     &build->run.progress, err);
}

/* The most that the cache of the images may take. It is at least one block, however small the
 * cache is. Images are expected to share a context. */
static uint64_t cache_bytes(const struct assembly *assembly)
{
	uint64_t bytes = 0, cache = 0, block = 0;

	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		bytes += (uint64_t)image->block_count << image->block_bits;
		if (image->block_count > 0 && UINT64_C(1) << image->block_bits > block)
			block = UINT64_C(1) << image->block_bits;
		if (image->ops->cache_bytes(image->user) > cache)
			cache = image->ops->cache_bytes(image->user);
	}
	cache = cache > block ? cache : block;
	return bytes < cache ? bytes : cache;
}

/* Whether blocks of images are compressed again. */
static bool packs_again(const struct assembly *assembly)
{
	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		for (uint32_t j = 0; j < image->block_count; j++)
			if (image->changes_block_size ||
			    image->blocks[j].action == BLOCK_COMPRESS)
				return true;
	}
	return false;
}

/* Items that were added are the builder's own; the cache is not. */
void dw_build_choose_limit(struct build *build)
{
	dwarfs_builder *builder = build->builder;
	const struct assembly *assembly = builder->assembly;
	uint64_t own = dw_assembly_bytes(assembly);
	struct memory_bound bound;

	if (assembly && assembly->spool)
		own += dw_spool_memory(assembly->spool);
	bound = dw_memory_bound(&builder->options,
				dw_estimate_base() + cache_bytes(assembly), own);
	builder->options.memory_limit = bound.limit;
	build->run.base_bytes = bound.base;
}

int dw_build_finish(struct build *build, dwarfs_error **err)
{
	int ret;

	if (build->run.options->section_index &&
	    (ret = dw_section_writer_write_index(&build->sections, err)) < 0)
		return ret;
	return dw_sink_commit(build->run.output, err);
}

/* Entries of directories and archives have times of a second, which must not become longer by the
 * resolution that was adopted from an image. */
static void refine_resolution(dwarfs_builder *builder)
{
	struct build_options *options = &builder->options;
	const struct assembly *assembly = builder->assembly;

	if (!assembly || options->resolution_was_set ||
	    options->resolution_ns <= DW_NS_PER_SECOND)
		return;
	for (size_t i = 0; i < assembly->record_count; i++) {
		const struct record *record = &assembly->records[i];

		if (record->kind != RECORD_FREE && !record->is_of_image &&
		    !record->is_implicit)
			options->resolution_ns = DW_NS_PER_SECOND;
	}
}

/* Build the tree and plan memory for it. */
static int run_scan(struct build *build, dwarfs_error **err)
{
	int ret;

	dw_build_choose_limit(build);
	refine_resolution(build->builder);
	if ((ret = dw_scan(&build->run, &build->tree, err)) < 0)
		return ret;
	if ((ret = dw_build_new_digests(build, err)) < 0)
		return ret;
	build->workload = dw_workload_of_tree(&build->run, &build->tree);
	build->workload.packs_again = packs_again(build->builder->assembly);
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

	if ((ret = dw_assembly_check_holes(build->run.assembly, build->run.options,
					   err)) < 0 ||
	    (ret = run_scan(build, err)) < 0 || (ret = run_inspection(build, err)) < 0 ||
	    (ret = dw_build_user_header(build, err)) < 0 ||
	    (ret = write_blocks(build, err)) < 0 ||
	    (ret = dw_build_metadata(build, err)) < 0 ||
	    (ret = dw_build_history(build, err)) < 0 ||
	    (ret = dw_build_copied_sections(build, err)) < 0 ||
	    (ret = dw_build_xattrs(build, err)) < 0 ||
	    (ret = dw_build_digests(build, err)) < 0)
		return ret;
	return dw_build_finish(build, err);
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
	dw_progress_done(&build.run.progress);
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
			.spool_directory = builder->spool_directory,
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
	ret = image ? dw_build_run_copy(&build, image, err) : run_stages(&build, err);
	if (ret < 0)
		return ret;
	builder->counts[DWARFS_COUNT_BYTES_OUT] =
		builder->options.header.size + build.sections.bytes;
	dw_progress_done(&build.run.progress);
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
