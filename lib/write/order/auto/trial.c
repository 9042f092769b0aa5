/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 *
 * The forecast of candidates.c counts which repeated runs segmenter and codec find. It
 * does not count how far away they are, nor how similar the literals of one Huffman table
 * are, and its error is some percent for each order. So the best orders by forecast are
 * tried: segmenter and compressor run as they will for the image, with a faster codec or with lz4
 * itself, and their output is counted and dropped. Seven releases of plotly take 7.14 MB in the
 * order similarity and 6.83 MB by nilsimsa at level 7, and 8.54 and 8.15 MB with zstd 7,
 * though 66 and 70 MiB are left for blocks.
 *
 * A trial has its own run, chunks and counts, and no side effects: files in memory stay there,
 * and no file is reported. It ends at the first file that has changed; then the forecast decides.
 * Blocks that are kept from images are not used, so the segmenter finds less than it will for the
 * image.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "write/budget/budget.h"
#include "write/items/assembly.h"
#include "write/metadata/metadata_codec.h"
#include "write/order/auto/chunk_cost.h"
#include "write/order/auto/inode_cost.h"
#include "write/order/auto/trial.h"
#include "write/pack/compress.h"
#include "write/segment/segment.h"
#include "write/builder.h"

/* Of the size of a candidate that is preferred. The results for codecs of medium speed are less
 * exact; a fast codec is tried itself. */
#define PREFERENCE	  0.998
#define PREFERENCE_MEDIUM 0.99

/* Chunks are packed when the compressor has given back its memory, in pieces of at most this
 * size, and of at most a block. */
#define CHUNK_PIECE_BYTES ((size_t)8 << 20)

#define MAX_KEPT_BYTES	   ((uint64_t)256 << 20)
#define FAR_MAX_KEPT_BYTES ((uint64_t)1 << 30)

/* What else an entry takes of metadata that is not compressed, about. */
#define BYTES_OF_ENTRY 10

/* Whether chunks are compressed, as the metadata will be; other streams, and blocks that are
 * kept, are not known here. It is the same for all candidates of a trial. */
enum chunk_storage { CHUNKS_UNDECIDED, CHUNKS_STORED, CHUNKS_PACKED };

/* Of the first candidate. */
enum lzma_blocks { LZMA_UNKNOWN, LZMA_ABSENT, LZMA_PRESENT };

/* What candidates have in common. */
struct trial {
	const struct order_input *input;
	struct codec_spec codec, chunk_codec;
	const uint32_t *by_path; /* their fragments */
	size_t count;
	enum chunk_storage storage;
	enum lzma_blocks lzma;
};

/* The packing of a candidate. */
struct trial_run {
	const struct order_input *input;
	struct build_run run;
	struct stream_settings *settings; /* by category, up to that of the stream */
	struct category_total *totals;	  /* likewise */
	uint64_t counts[DW_COUNT_KINDS];
	struct section_writer sections;
	struct block_streams streams;
	struct chunks chunks;
	dwarfs_sink *output;
};

static void free_trial_run(struct trial_run *trial)
{
	dw_free(trial->settings);
	dw_free(trial->totals);
	dw_section_writer_free(&trial->sections);
	dw_block_streams_free(&trial->streams);
	dw_chunks_free(&trial->chunks);
	dwarfs_sink_free(trial->output);
}

static int drop_bytes(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)bytes;
	(void)err;
	(void)user;
	return 0;
}

/* The progress of a trial gets the numbers of the run before each callback. */
static void show_run(struct dwarfs_progress *progress, void *user)
{
	const struct dwarfs_progress *run = user;

	progress->bytes_done = run->bytes_done;
	progress->bytes_out = run->bytes_out;
	progress->bytes_read = run->bytes_read;
	progress->bytes_saved = run->bytes_saved;
	progress->items_done = run->items_done;
	progress->path = run->path;
	progress->work_done = run->work_done;
	progress->work_known = run->work_known;
	progress->work_known_bytes = run->work_known_bytes;
}

/* Dense blocks and numbers are packed by lzma if they will be for the image. Logs of six days in two
 * orders, 2.68 and 3.08 MB at level 7, take 4.12 and 4.07 MB with zstd alone. With zstd alone it does
 * not show either whether the arrays of a block have the same type: those of eight types, 64 MB, take
 * 39.4 and 39.5 MB in two orders, and 30.1 and 27.6 MB at level 7. If lzma packs no block of the first
 * order, numbers are not looked for in others: that took a tenth of the time of packing six releases
 * of a library.
 *
 * If the codec of the image reaches far, dense blocks have repeats at such distances, of which parts
 * of 2 MiB have none: of 32 days of logs in two orders, 10.6 and 12.1 MB at level 9, the second one was
 * chosen. */
static void use_dense_codec(const struct order_input *input,
			    const struct stream_settings *of,
			    struct trial_codecs available, enum lzma_blocks lzma,
			    struct stream_settings *settings)
{
	bool reaches_far = input->reach_bytes >= ORDER_FAR_REACH_BYTES;
	bool has_numbers = available.has_numbers && of->dense_has_numbers &&
			   of->has_literal && lzma != LZMA_ABSENT;
	bool takes_dense = available.has_dense && !reaches_far;
	bool has_dense = of->has_dense && (takes_dense || has_numbers);

	settings->is_trial = settings->has_dense =
		has_dense &&
		dw_codec_parse(TRIAL_CODEC_DENSE, &settings->dense, NULL) == 0;
	settings->dense_has_numbers = has_numbers;
	settings->dense_only_has_numbers = !takes_dense;
}

/* The stream's blocks are packed with the codec, and dense ones and numbers with another one. */
static int init_trial_run(struct trial_run *trial, const struct trial *common,
			  uint32_t category, dwarfs_error **err)
{
	struct build_run *of = trial->input->run;
	struct stream_settings *settings = dw_calloc(category + 1, sizeof(*settings));
	int ret;

	trial->settings = settings;
	trial->totals = dw_calloc(category + 1, sizeof(*trial->totals));
	if (!settings || !trial->totals)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i <= category; i++)
		settings[i] = of->settings[i];
	settings[category].codec = common->codec;
	dw_use_one_codec(&settings[category]);
	use_dense_codec(trial->input, &of->settings[category], of->budget->trial_codecs,
			common->lzma, &settings[category]);
	if ((ret = dwarfs_sink_new(drop_bytes, NULL, NULL, &trial->output, err)) < 0 ||
	    (ret = dw_sink_begin(trial->output, err)) < 0)
		return ret;
	trial->run = *of;
	trial->run.is_trial = true;
	trial->run.output = trial->output;
	trial->run.digests = NULL;
	trial->run.counts = trial->counts;
	trial->run.totals = trial->totals;
	trial->run.settings = settings;
	trial->sections.run = &trial->run;
	return 0;
}

uint64_t dw_trial_max_kept_bytes(const struct order_input *input)
{
	return input->reach_bytes >= ORDER_FAR_REACH_BYTES ? FAR_MAX_KEPT_BYTES
							   : MAX_KEPT_BYTES;
}

uint64_t dw_trial_codec_memory(struct trial_codecs codecs, size_t block_bytes)
{
	static const char *const texts[] = { TRIAL_CODEC, TRIAL_CODEC_FAR,
					     TRIAL_CODEC_MEDIUM };
	struct packing packing = {
		.is_trial = true,
		.dense_has_numbers = codecs.has_numbers,
		.dense_only_has_numbers = !codecs.has_dense,
	};
	uint64_t most = 0;

	packing.has_dense = (codecs.has_dense || codecs.has_numbers) &&
			    dw_codec_parse(TRIAL_CODEC_DENSE, &packing.dense, NULL) == 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t bytes = dw_codec_parse(texts[i], &packing.codec, NULL) == 0
					 ? dw_packing_memory(&packing, block_bytes)
					 : 0;

		most = bytes > most ? bytes : most;
	}
	return most;
}

static int segment(struct trial_run *trial, const uint32_t *numbers, size_t count,
		   dwarfs_error **err)
{
	const struct order_input *input = trial->input;
	struct budget budget = *input->run->budget;
	auto_compressor struct compressor *compressor = NULL;
	struct segment_input segment = {
		.run = &trial->run,
		.tree = input->tree,
		.contents = input->contents,
		.stream = input->contents->fragments[numbers[0]].stream,
		.settings = input->settings,
		.budget = &budget,
		.numbers = numbers,
		.count = count,
	};
	int ret;

	budget.workers = budget.trial_workers;
	budget.waiting = 0;
	if ((ret = dw_compressor_new(&trial->sections, &budget, &trial->streams,
				     &compressor, err)) < 0)
		return ret;
	trial->run.progress.refresh_user = &input->run->progress;
	trial->run.progress.refresh = show_run;
	if ((ret = dw_segment(&segment, compressor, &trial->chunks, err)) < 0)
		return ret;
	return dw_compressor_finish(compressor, err);
}

static enum chunk_storage chunk_storage(const struct trial_run *trial,
					uint64_t chunk_bytes)
{
	const struct order_input *input = trial->input;
	uint64_t others = (uint64_t)input->tree->entry_count * BYTES_OF_ENTRY;

	return dw_metadata_codec(input->run, chunk_bytes + others, trial->sections.bytes)
				       .id == CODEC_NONE
		       ? CHUNKS_STORED
		       : CHUNKS_PACKED;
}

/* What differs between candidates in the metadata: chunks and, if it is compressed, inode
 * numbers. */
static int cost_of_metadata(struct trial *trial, const struct trial_run *run,
			    const uint32_t *numbers, uint64_t *bytes_out,
			    dwarfs_error **err)
{
	uint64_t block_bytes = run->input->block_bytes, numbers_bytes;
	struct chunk_bits bits;
	int ret;

	dw_chunk_bits(&run->chunks, &bits);
	*bytes_out = dw_chunks_bytes(&run->chunks, &bits);
	if (trial->storage == CHUNKS_UNDECIDED)
		trial->storage = chunk_storage(run, *bytes_out);
	if (trial->storage == CHUNKS_STORED)
		return 0;
	if ((ret = dw_chunks_packed_bytes(&run->chunks, &bits, &trial->chunk_codec,
					  block_bytes < CHUNK_PIECE_BYTES
						  ? (size_t)block_bytes
						  : CHUNK_PIECE_BYTES,
					  bytes_out, err)) < 0 ||
	    (ret = dw_inode_numbers_bytes(run->input->contents, trial->by_path, numbers,
					  trial->count, &numbers_bytes, err)) < 0)
		return ret;
	*bytes_out += numbers_bytes;
	return 0;
}

/* Make contents as they were: no block of any stream is written before all are ordered. Returns
 * whether none of them has changed. */
static bool reset_contents(const struct order_input *input, const uint32_t *numbers,
			   size_t count)
{
	bool are_complete = true;

	for (size_t i = 0; i < count; i++) {
		struct fragment *fragment = &input->contents->fragments[numbers[i]];
		struct content *content = &input->contents->list[fragment->content];

		fragment->chunk_count = 0;
		content->hole_bytes = 0;
		are_complete &= !content->differs;
		content->differs = false;
	}
	return are_complete;
}

/* Blocks of numbers, or dense ones. */
static bool has_lzma_blocks(const struct trial_run *run, uint32_t category)
{
	return run->totals[category].codecs & UINT32_C(1) << CODEC_LZMA;
}

/* The size of the blocks, chunks and inode numbers in an order; UINT64_MAX if a file has
 * changed. */
static int pack_in_order(struct trial *trial, const uint32_t *numbers,
			 uint64_t *bytes_out, dwarfs_error **err)
{
	const struct order_input *input = trial->input;
	const struct contents *contents = input->contents;
	uint32_t stream = contents->fragments[numbers[0]].stream;
	__attribute__((cleanup(free_trial_run))) struct trial_run run = {
		.input = input,
	};
	uint32_t category = contents->streams.list[stream].category;
	uint64_t metadata_bytes = 0;
	int ret = init_trial_run(&run, trial, category, err);

	if (ret == 0 && (ret = segment(&run, numbers, trial->count, err)) == 0)
		ret = cost_of_metadata(trial, &run, numbers, &metadata_bytes, err);
	*bytes_out = run.sections.bytes + metadata_bytes;
	if (ret == 0 && trial->lzma == LZMA_UNKNOWN)
		trial->lzma =
			has_lzma_blocks(&run, category) ? LZMA_PRESENT : LZMA_ABSENT;
	if (!reset_contents(input, numbers, trial->count))
		*bytes_out = UINT64_MAX;
	input->run->progress.last_ns = run.run.progress.last_ns;
	return ret;
}

/* The fragments of all candidates by path. */
static int sort_by_path(const struct order_input *input, const uint32_t *numbers,
			size_t count, uint32_t **by_path_out, dwarfs_error **err)
{
	uint32_t *by_path = dw_calloc(count, sizeof(*by_path));

	*by_path_out = by_path;
	if (!by_path)
		return dw_fail_nomem(err);
	memcpy(by_path, numbers, count * sizeof(*by_path));
	return dw_order_path.sort(input, by_path, count, err);
}

/* Blocks that were decompressed to compare files; one that is needed again is decompressed once
 * more. */
static void trim_cache(const struct assembly *assembly)
{
	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		image->ops->trim_cache(image->user);
	}
}

/* Metadata is hardly ever packed by lz4, which makes it larger: calendars of all locales in two
 * orders, 2.60 and 2.50 MB at level 3, were 2.65 and 2.58 MB in trials with chunks by lz4hc, and are
 * 2.58 and 2.49 MB with chunks by zstd. */
static void use_chunk_codec(struct trial *trial, bool is_of_trial)
{
	trial->chunk_codec = trial->codec;
	if (!is_of_trial)
		(void)dw_codec_parse(TRIAL_CODEC_CHUNKS, &trial->chunk_codec, NULL);
}

int dw_trial(const struct order_input *input, const char *codec,
	     const struct candidate *candidates, size_t candidate_count, size_t count,
	     size_t *best_inout, dwarfs_error **err)
{
	uint64_t total =
		dw_fragments_bytes(input->contents, candidates[0].numbers, count);
	const double preference =
		input->speed == CODEC_MEDIUM ? PREFERENCE_MEDIUM : PREFERENCE;
	struct trial trial = { .input = input, .count = count };
	auto_free uint32_t *by_path = NULL;
	double least = 0;
	size_t best = 0;
	int ret;

	if (total == 0 || total > TRIAL_MAX_BYTES ||
	    (codec && dw_codec_parse(codec, &trial.codec, NULL) < 0))
		return 0;
	if (!codec)
		trial.codec = input->settings->codec;
	use_chunk_codec(&trial, codec != NULL);
	if ((ret = sort_by_path(input, candidates[0].numbers, count, &by_path, err)) < 0)
		return ret;
	trial.by_path = by_path;
	trim_cache(input->run->assembly);
	for (size_t i = 0; i < candidate_count; i++) {
		uint64_t bytes;
		double cost;

		if ((ret = pack_in_order(&trial, candidates[i].numbers, &bytes, err)) < 0)
			return ret;
		if (bytes == UINT64_MAX) {
			dw_log(input->run->context, DWARFS_LOG_VERBOSE,
			       "a file has changed: no order is tried");
			return 0;
		}
		dw_log(input->run->context, DWARFS_LOG_VERBOSE,
		       "order %s: %" PRIu64 " bytes with %s", candidates[i].name, bytes,
		       codec ? codec : dw_codec_name(trial.codec.id));
		cost = (double)bytes * (1 + candidates[i].spread_penalty);
		if (i == 0 || cost < least * preference) {
			best = i;
			least = cost;
		}
	}
	*best_inout = best;
	return 0;
}
