/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/inspect: find the unique contents of all files, their categories and
 * fingerprints.
 *
 * A file is read once, by file_reader.c on a worker, if its bytes are needed: for a
 * digest if another file has the same size, for categories, or for the fingerprint of an
 * order. Small contents stay in memory for the segmenter (input/source.c).
 *
 *   subjects       the non-empty files, in scan order
 *   batch          some subjects, submitted to the pipeline; owned by one worker at a time
 *   distinct_set   contents by digest, shared by the workers, with a lock
 *
 * The pipeline returns batches in order. Tree and contents are changed by the calling
 * thread only, after all batches are done (assign_contents.c): so they do not depend on the
 * number of workers.
 */
#include <string.h>

#include "format/metadata.h"
#include "pool/pipeline.h"
#include "write/budget/budget.h"
#include "write/digests/digests.h"
#include "write/inspect/digest_match.h"
#include "write/inspect/file_reader.h"
#include "write/inspect/inspect.h"
#include "write/inspect/stage.h"
#include "write/items/assembly.h"
#include "write/options/input_options.h"

/* Give a worker several small files at once. */
#define BATCH_FILES	   256
#define BATCH_BYTES	   ((uint64_t)2 << 20)
#define BATCHES_PER_WORKER 4

struct inspect_batch {
	struct reader_job job;
	uint64_t bytes;
};

static void free_stage(struct stage *stage)
{
	dw_pipeline_free(&stage->pipeline);
	if (stage->has_set)
		dw_distinct_free(&stage->reader.set);
	dw_categorizers_free(stage->categorizers);
	dw_free(stage->subjects);
	dw_free(stage->fingerprint_kinds);
	dw_free(stage->forced);
	dw_free(stage->kept);
	dw_free(stage->reader.digests);
	dw_free(stage->is_matched);
}

/* -- subjects ------------------------------------------------------------------------ */

static int list_subjects(struct stage *stage, dwarfs_error **err)
{
	const struct tree *tree = stage->tree;

	for (size_t i = 0; i < tree->inode_count; i++) {
		int ret;

		if (!dw_is_file(&tree->inodes[i]) || tree->inodes[i].size == 0)
			continue;
		if ((ret = dw_grow(&stage->subjects, &stage->subject_room,
				   stage->subject_count + 1, err)) < 0)
			return ret;
		stage->subjects[stage->subject_count++] = (struct subject){
			.inode = (uint32_t)i,
			.distinct = DW_NONE,
			.alias = DW_NONE,
			.is_kept = dw_kept_file_of(stage->run, &tree->inodes[i]) != NULL,
		};
	}
	return 0;
}

/* The slot of a size holds the first subject of this size, + 1. */
static uint32_t *find_size_slot(const struct stage *stage, uint32_t *slots, size_t mask,
				uint64_t size)
{
	size_t slot = (size_t)(size * UINT64_C(0x9E3779B97F4A7C15) >> 24) & mask;

	while (slots[slot] != 0 && dw_subject_bytes(stage, slots[slot] - 1) != size)
		slot = (slot + 1) & mask;
	return &slots[slot];
}

/* Only files of the same size can be equal. */
static int want_hashes(struct stage *stage, dwarfs_error **err)
{
	auto_free uint32_t *slots = NULL;
	auto_free uint8_t *is_wanted = dw_calloc(stage->subject_count, 1); /* by first */
	size_t room = 64;

	while (room < stage->subject_count * 2)
		room *= 2;
	if (!is_wanted || !(slots = dw_calloc(room, sizeof(*slots))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < stage->subject_count; i++) {
		uint32_t *slot = find_size_slot(stage, slots, room - 1,
						dw_subject_bytes(stage, i));

		if (*slot == 0)
			*slot = (uint32_t)i + 1;
		else if (dw_may_be_equal(stage->run, stage->tree,
					 &stage->subjects[*slot - 1],
					 &stage->subjects[i]))
			is_wanted[*slot - 1] = true;
	}
	for (size_t i = 0; i < stage->subject_count; i++) {
		uint32_t first = *find_size_slot(stage, slots, room - 1,
						 dw_subject_bytes(stage, i));

		stage->subjects[i].wants_hash =
			is_wanted[first - 1] && stage->subjects[i].alias == DW_NONE;
	}
	return 0;
}

static int compare_kept_subjects(const void *left, const void *right)
{
	const struct kept_subject *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->first_chunk != b->first_chunk)
		return a->first_chunk < b->first_chunk ? -1 : 1;
	return a->subject < b->subject ? -1 : a->subject > b->subject;
}

/* List the kept files by the position of their chunks, and find those that share them. */
static int find_aliases(struct stage *stage, dwarfs_error **err)
{
	size_t count = 0;

	for (size_t i = 0; i < stage->subject_count; i++)
		count += stage->subjects[i].is_kept;
	if (count == 0)
		return 0;
	if (!(stage->kept = dw_calloc(count, sizeof(*stage->kept))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < stage->subject_count; i++) {
		const struct image_file *file = dw_kept_file_of(
			stage->run, &stage->tree->inodes[stage->subjects[i].inode]);

		if (file)
			stage->kept[stage->kept_count++] =
				(struct kept_subject){ file->image, file->first_chunk,
						       (uint32_t)i };
	}
	qsort(stage->kept, count, sizeof(*stage->kept), compare_kept_subjects);
	for (size_t i = 1, first = 0; i < count; i++) {
		if (stage->kept[i].image == stage->kept[first].image &&
		    stage->kept[i].first_chunk == stage->kept[first].first_chunk)
			stage->subjects[stage->kept[i].subject].alias =
				stage->kept[first].subject;
		else
			first = i;
	}
	return 0;
}

/* The digests that images have of their files. */
static int load_known_digests(struct stage *stage, dwarfs_error **err)
{
	struct build_run *run = stage->run;
	struct known_digest *digests;
	bool is_wanted = run->digests != NULL;

	for (size_t i = 0; run->assembly && i < run->assembly->image_count; i++)
		is_wanted |= run->assembly->images[i]->has_digests;
	if (stage->kept_count == 0 || !is_wanted || run->options->input.hollow)
		return 0;
	digests = dw_calloc(stage->subject_count, sizeof(*digests));
	stage->is_matched = dw_calloc(stage->subject_count, 1);
	stage->reader.digests = digests;
	if (!digests || !stage->is_matched)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < stage->kept_count; i++) {
		uint32_t subject = stage->kept[i].subject;
		const struct image_file *file = dw_kept_file_of(
			run, &stage->tree->inodes[stage->subjects[subject].inode]);
		const struct source_image *image = run->assembly->images[file->image];

		digests[subject].is_known =
			image->has_digests && image->ops->digest(image->user, file->inode,
								 digests[subject].bytes);
	}
	return 0;
}

static int find_fingerprint_kinds(struct stage *stage, bool *any_out, dwarfs_error **err)
{
	uint32_t count =
		CATEGORY_COUNT + (uint32_t)stage->run->options->categorize.name_count;

	stage->fingerprint_kinds = dw_calloc(count, sizeof(*stage->fingerprint_kinds));
	if (!stage->fingerprint_kinds)
		return dw_fail_nomem(err);
	*any_out = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct order_ops *ops =
			dw_stream_settings(stage->run, i)->order.ops;

		stage->fingerprint_kinds[i] =
			ops ? (uint8_t)ops->fingerprint : FINGERPRINT_NONE;
		if (stage->fingerprint_kinds[i] != FINGERPRINT_NONE)
			*any_out = true;
	}
	return 0;
}

static bool goes_by_path(const struct build_options *options)
{
	if (options->categorize.callback)
		return true;
	for (size_t i = 0; i < options->categorize.count; i++)
		if (options->categorize.list[i] == CATEGORIZER_HOTNESS)
			return true;
	return false;
}

static int prepare_reader(struct stage *stage, dwarfs_error **err)
{
	const struct build_options *options = stage->run->options;
	struct file_reader *reader = &stage->reader;
	bool wants_fingerprints;
	size_t digest_bytes = 0;
	int ret;

	if ((ret = list_subjects(stage, err)) < 0 ||
	    (ret = find_aliases(stage, err)) < 0 ||
	    (ret = load_known_digests(stage, err)) < 0 ||
	    (ret = dw_categorizers_new(options, &stage->categorizers, err)) < 0 ||
	    (ret = find_fingerprint_kinds(stage, &wants_fingerprints, err)) < 0)
		return ret;
	if (options->input.hollow)
		wants_fingerprints = false;
	else if (options->input.file_hash &&
		 ((ret = dw_file_reader_digest_bytes(options->input.file_hash,
						     &digest_bytes, err)) < 0 ||
		  (ret = want_hashes(stage, err)) < 0))
		return ret;
	ret = dw_distinct_init(&reader->set, digest_bytes, wants_fingerprints, err);
	if (ret < 0)
		return ret;
	stage->has_set = true;
	if (options->categorize.callback) {
		stage->forced = dw_calloc(stage->subject_count, sizeof(*stage->forced));
		if (!stage->forced)
			return dw_fail_nomem(err);
	}
	reader->run = stage->run;
	reader->tree = stage->tree;
	reader->pipeline = &stage->pipeline;
	reader->subjects = stage->subjects;
	reader->fingerprint_kinds = stage->fingerprint_kinds;
	reader->forced = stage->forced;
	reader->goes_by_path = goes_by_path(options);
	if (dw_categorizers_any(stage->categorizers))
		reader->categorizers = stage->categorizers;
	return 0;
}

/* -- the jobs ----------------------------------------------------------------------- */

/* Whether an image has the digest of a file. */
static bool has_known_digest(const struct stage *stage, size_t i)
{
	return stage->subjects[i].is_kept && stage->reader.digests &&
	       stage->reader.digests[i].is_known;
}

static bool needs_reading(const struct stage *stage, size_t i)
{
	const struct file_reader *reader = &stage->reader;

	if (stage->run->options->input.hollow)
		return false;
	if (has_known_digest(stage, i)) /* once it is matched */
		return false;
	if (stage->subjects[i].is_kept)
		return stage->subjects[i].wants_hash ||
		       (stage->run->options->digests == DWARFS_DIGESTS_ALWAYS &&
			stage->run->digests && stage->subjects[i].alias == DW_NONE);
	return stage->subjects[i].wants_hash || reader->categorizers ||
	       (reader->set.wants_fingerprints &&
		dw_subject_bytes(stage, i) <= stage->run->options->max_similarity_bytes);
}

static int finish_batch(void *shared, void *pointer, dwarfs_error **err)
{
	struct stage *stage = shared;
	struct inspect_batch *batch = pointer;
	auto_buffer struct buffer path = { 0 };
	int ret;

	dw_pipeline_taken(&stage->pipeline);
	for (size_t i = 0; i < batch->job.failure_count; i++) {
		const struct read_failure *failure = &batch->job.failures[i];
		struct tree_inode *inode =
			&stage->tree->inodes[stage->subjects[failure->subject].inode];

		if ((ret = dw_tree_path(stage->tree, inode->entry, &path, err)) < 0)
			return ret;
		if ((ret = dw_image_file_unreadable(stage->run, inode, err)) < 0)
			return dw_explain(err, ret, "'%s'", (const char *)path.data);
		if ((ret = dw_build_complain(stage->run, (const char *)path.data,
					     failure->errnum, "cannot read",
					     "creating empty inode", err)) < 0)
			return ret;
	}
	stage->run->progress.items_done += batch->job.count;
	return 0;
}

static void drop_batch(void *shared, void *pointer)
{
	struct inspect_batch *batch = pointer;

	dw_free(batch->job.failures);
	dw_free(batch);
}

static int run_batch(void *shared, void *worker, void *pointer, dwarfs_error **err)
{
	struct stage *stage = shared;
	struct inspect_batch *batch = pointer;

	return dw_file_reader_run(&stage->reader, worker, &batch->job, err);
}

static int new_reader_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	struct stage *stage = shared;

	return dw_file_reader_worker_new(&stage->reader,
					 (struct reader_worker **)worker_out, err);
}

static void free_reader_worker(void *worker)
{
	dw_file_reader_worker_free(worker);
}

/* The category callback is called on the calling thread, before the file is read. */
static int ask_callback(struct stage *stage, size_t i, dwarfs_error **err)
{
	if (!stage->forced)
		return 0;
	return dw_input_category(stage->run, stage->tree, stage->subjects[i].inode,
				 &stage->forced[i], err);
}

static int submit_batch(struct stage *stage, struct inspect_batch **batch,
			dwarfs_error **err)
{
	return *batch ? dw_pipeline_submit(&stage->pipeline, dw_steal(*batch), err) : 0;
}

static int add_to_batch(struct stage *stage, struct inspect_batch **batch, size_t i,
			dwarfs_error **err)
{
	if (!*batch && !(*batch = dw_calloc(1, sizeof(**batch))))
		return dw_fail_nomem(err);
	(*batch)->job.list[(*batch)->job.count++] = (uint32_t)i;
	(*batch)->bytes += dw_subject_bytes(stage, i);
	if ((*batch)->job.count < READER_JOB_SUBJECTS && (*batch)->bytes < BATCH_BYTES)
		return 0;
	return submit_batch(stage, batch, err);
}

/* -- files of images ------------------------------------------------------------------ */

/* Read all that was submitted, and free the blocks of these images, of which no file is left:
 * otherwise blocks of the next image are decompressed twice as soon as the cache is full. */
static int finish_images(struct stage *stage, struct inspect_batch **batch,
			 const struct source_image *last, dwarfs_error **err)
{
	int ret;

	if ((ret = submit_batch(stage, batch, err)) < 0 ||
	    (ret = dw_pipeline_finish(&stage->pipeline, err)) < 0)
		return ret;
	last->ops->trim_cache(last->user);
	return 0;
}

static uint64_t most_block_bytes(const struct source_image *image)
{
	return (uint64_t)image->block_count << image->block_bits;
}

/* Read the kept files that are wanted, in the order of their blocks. Blocks stay in the cache for
 * later stages as long as there is room for those of the next image. */
static int read_kept(struct stage *stage, struct inspect_batch **batch,
		     bool (*is_wanted)(const struct stage *stage, size_t i),
		     dwarfs_error **err)
{
	const struct source_image *image = NULL;
	uint64_t cached = 0,
		 files = 0; /* bytes of earlier images, of files of this one */
	int ret;

	for (size_t i = 0; i < stage->kept_count; i++) {
		const struct kept_subject *kept = &stage->kept[i];
		const struct source_image *next =
			stage->run->assembly->images[kept->image];

		if (image && image != next) {
			uint64_t most = most_block_bytes(image);

			cached += files < most ? files : most;
			files = 0;
			if (cached + most_block_bytes(next) >
			    next->ops->cache_bytes(next->user)) {
				if ((ret = finish_images(stage, batch, image, err)) < 0)
					return ret;
				cached = 0;
			}
		}
		image = next;
		files += dw_subject_bytes(stage, kept->subject);
		if (is_wanted(stage, kept->subject) &&
		    (ret = add_to_batch(stage, batch, kept->subject, err)) < 0)
			return ret;
	}
	return 0;
}

static bool is_matched(const struct stage *stage, size_t i)
{
	return stage->is_matched[i];
}

/* After all other files: read those of images that another file has the digest of. */
static int compare_known(struct stage *stage, dwarfs_error **err)
{
	auto_free struct inspect_batch *batch = NULL;
	int ret;

	if (!stage->reader.digests)
		return 0;
	if ((ret = dw_digests_match(&stage->reader, stage->subject_count,
				    stage->is_matched, err)) < 0)
		return ret;
	for (size_t i = 0; i < stage->subject_count; i++) {
		if (!stage->is_matched[i])
			continue;
		stage->run->progress.items_total++;
		stage->run->progress.bytes_total += dw_subject_bytes(stage, i);
	}
	if ((ret = read_kept(stage, &batch, is_matched, err)) < 0 ||
	    (ret = submit_batch(stage, &batch, err)) < 0)
		return ret;
	return dw_pipeline_finish(&stage->pipeline, err);
}

static int submit_all(struct stage *stage, dwarfs_error **err)
{
	auto_free struct inspect_batch *batch = NULL;
	int ret;

	for (size_t i = 0; i < stage->subject_count; i++) {
		if (stage->subjects[i].is_kept)
			continue;
		if ((ret = ask_callback(stage, i, err)) < 0)
			return ret;
		if (needs_reading(stage, i) &&
		    (ret = add_to_batch(stage, &batch, i, err)) < 0)
			return ret;
	}
	if ((ret = read_kept(stage, &batch, needs_reading, err)) < 0 ||
	    (ret = submit_batch(stage, &batch, err)) < 0 ||
	    (ret = dw_pipeline_finish(&stage->pipeline, err)) < 0)
		return ret;
	return compare_known(stage, err);
}

static void show_bytes(void *shared)
{
	struct stage *stage = shared;

	stage->run->progress.bytes_done = atomic_load(&stage->reader.bytes_done);
}

static int inspect_files(struct stage *stage, dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = new_reader_worker,
		.worker_free = free_reader_worker,
		.run = run_batch,
		.done = finish_batch,
		.drop = drop_batch,
	};
	struct dwarfs_progress *progress = &stage->run->progress;
	uint32_t workers = stage->run->budget->readers;
	int ret;

	progress->items_done = progress->bytes_done = 0;
	progress->items_total = progress->bytes_total = 0;
	for (size_t i = 0; i < stage->subject_count; i++) {
		if (!needs_reading(stage, i))
			continue;
		progress->items_total++;
		progress->bytes_total += dw_subject_bytes(stage, i);
	}
	if ((ret = dw_progress_enter(progress, DWARFS_PHASE_HASH, err)) < 0 ||
	    (ret = dw_pipeline_init(&stage->pipeline, &ops, stage, workers,
				    (workers + 1) * BATCHES_PER_WORKER, progress, err)) <
		    0)
		return ret;
	stage->pipeline.refresh = show_bytes;
	stage->pipeline.refresh_user = stage;
	if ((ret = submit_all(stage, err)) < 0)
		return ret;
	show_bytes(stage);
	return 0;
}

int dw_inspect(struct build_run *run, struct tree *tree, struct contents *contents,
	       dwarfs_error **err)
{
	__attribute__((cleanup(free_stage))) struct stage stage = { .run = run,
								    .tree = tree };
	int ret;

	if ((ret = dw_sources_new(&run->sources, run, tree, err)) < 0 ||
	    (ret = prepare_reader(&stage, err)) < 0 ||
	    (ret = inspect_files(&stage, err)) < 0)
		return ret;
	return dw_assign_contents(&stage, contents, err);
}
