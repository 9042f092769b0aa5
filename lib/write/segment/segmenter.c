/* SPDX-License-Identifier: MIT */
/*
 * write/segment/segmenter: the state for storing the fragments of a stream: block filler, matcher,
 * anchors of kept blocks, gatherer.
 */
#include "write/images/kept_blocks.h"
#include "write/segment/density.h"
#include "write/segment/segmenter.h"

/* An anchor in 2^shift bytes. */
#define MIN_SHIFT 4
#define MAX_SHIFT 16

size_t dw_block_bytes(const struct build_options *options, const struct stream *stream)
{
	size_t bytes = (size_t)1 << options->block_bits;
	size_t frame =
		(size_t)stream->samples.bytes_per_sample * stream->samples.channels;

	return stream->samples.is_known && frame ? bytes - bytes % frame : bytes;
}

unsigned dw_anchor_shift(const struct stream_settings *settings)
{
	unsigned shift = settings->window_bits > settings->step_bits
				 ? settings->window_bits - settings->step_bits
				 : 0;

	return shift < MIN_SHIFT ? MIN_SHIFT : shift > MAX_SHIFT ? MAX_SHIFT : shift;
}

static uint64_t total_bytes(const struct segment_input *in)
{
	return dw_fragments_bytes(in->contents, in->numbers, in->count);
}

/* Whether there are blocks that were kept, and a match may be in one of them. */
static bool is_after_kept(const struct segmenter *segmenter)
{
	return segmenter->in->kept && segmenter->in->settings->lookback > 1;
}

static int choose_minima(const struct segmenter *segmenter, uint32_t group,
			 struct match_minima *minima_out, dwarfs_error **err)
{
	const struct segment_input *in = segmenter->in;
	uint32_t density;
	int ret = dw_group_density(in->run, in->tree, in->contents, in->numbers,
				   in->count, group, &density, err);

	if (ret == 0)
		*minima_out =
			dw_match_minima(in->settings, density, segmenter->granularity,
					is_after_kept(segmenter));
	return ret;
}

int dw_segmenter_turn_group(struct segmenter *segmenter, size_t place, dwarfs_error **err)
{
	const struct segment_input *in = segmenter->in;
	uint32_t group = in->contents->fragments[in->numbers[place]].group;
	struct match_minima *minima;
	int ret;

	if (!segmenter->matcher || (place > 0 && group == segmenter->group))
		return 0;
	if ((ret = dw_grow(&segmenter->minima, &segmenter->minima_room, group + (size_t)1,
			   err)) < 0)
		return ret;
	while (segmenter->group_count <= group)
		segmenter->minima[segmenter->group_count++] = (struct match_minima){ 0 };
	minima = &segmenter->minima[group];
	if (minima->far == 0 && (ret = choose_minima(segmenter, group, minima, err)) < 0)
		return ret;
	segmenter->group = group;
	dw_matcher_set_minima(segmenter->matcher, minima->far, minima->near);
	return 0;
}

/* The gatherer keeps the files of a directory in few blocks; made where there are blocks enough, and
 * not after blocks of other images, as it is given which files refer to these. */
static int new_gatherer(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct segment_input *in = segmenter->in;

	if (in->kept || in->settings->foreign_blocks == UINT32_MAX ||
	    total_bytes(in) <= segmenter->run->options->near_bytes)
		return 0;
	return dw_gatherer_new(in, &segmenter->filler, segmenter->matcher,
			       segmenter->granularity, segmenter->piece,
			       &segmenter->gatherer, err);
}

/* The most that a block of the stream holds: memory and codec need not be for more. */
static size_t most_of_block(const struct segmenter *segmenter)
{
	uint64_t total = total_bytes(segmenter->in);
	size_t block_bytes = segmenter->filler.block_bytes;

	return total < 1 ? 1 : total < block_bytes ? (size_t)total : block_bytes;
}

/* The memory that the cache takes for large blocks is that of some workers. A codec that takes
 * less than a block is also fast: it leaves little memory, and the blocks would be decompressed
 * again in about the same time. */
static void spare_workers(struct segmenter *segmenter)
{
	const struct segment_input *in = segmenter->in;
	struct block_filler *filler = &segmenter->filler;
	const struct source_image *image = in->kept->list[0].image;
	uint32_t category = in->contents->streams.list[in->stream].category;
	struct packing packing = dw_packing_of(in->run->settings, category);
	uint64_t block = most_of_block(segmenter);
	uint64_t codec = dw_packing_memory(&packing, (size_t)block);
	uint64_t cache = image->ops->cache_bytes(image->user);

	if (!dw_kept_window_has_large(filler->kept) || codec < filler->block_bytes)
		return;
	dw_compressor_free_codecs(filler->compressor);
	dw_kept_window_spare_workers(filler->kept, in->budget->workers,
				     (uint32_t)((cache + block) / (block + codec)) + 1);
}

/* The stream continues the blocks that were kept. */
static int begin_after_kept(struct segmenter *segmenter, dwarfs_error **err)
{
	struct block_filler *filler = &segmenter->filler;
	int ret;

	if (!segmenter->in->kept)
		return 0;
	if ((ret = dw_kept_window_new(segmenter->run, segmenter->in->kept,
				      filler->compressor, filler->block_bytes,
				      &filler->kept, err)) < 0)
		return ret;
	dw_stored_window_set_kept(filler->window, filler->kept);
	filler->first_block = 0;
	filler->last_block = (uint32_t)segmenter->in->kept->count - 1;
	filler->has_first_block = true;
	spare_workers(segmenter);
	return 0;
}

/* The bytes of all blocks that were kept. */
static uint64_t kept_bytes(const struct segmenter *segmenter)
{
	const struct kept_blocks *kept = segmenter->in->kept;
	uint64_t total = 0;

	for (size_t i = 0; kept && i < kept->count; i++)
		total += dw_kept_blocks_bytes(kept, i, segmenter->filler.block_bytes);
	return total;
}

/* An anchor is in about 2^shift bytes. */
static unsigned choose_shift(const struct segmenter *segmenter, uint64_t total)
{
	const struct stream_settings *settings = segmenter->in->settings;
	uint32_t bits = dw_match_window_bits(settings, true);
	unsigned shift = dw_anchor_shift(settings);

	if (is_after_kept(segmenter))
		while (shift > MIN_SHIFT && shift > bits &&
		       total >> (shift - 1) <= DW_ANCHORS_AFTER_KEPT)
			shift--;
	return shift;
}

static int new_kept_anchors(struct segmenter *segmenter, dwarfs_error **err)
{
	struct kept_anchors_input in = {
		.run = segmenter->run,
		.kept = segmenter->in->kept,
		.matcher = segmenter->matcher,
		.window = segmenter->filler.kept,
		.block_bytes = segmenter->filler.block_bytes,
		.lookback = segmenter->in->settings->lookback,
		.shift = dw_anchor_shift(segmenter->in->settings),
	};

	return in.kept ? dw_kept_anchors_new(&in, &segmenter->kept_anchors, err) : 0;
}

/* The matcher, unless matching is disabled. */
static int new_matcher(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct stream_settings *settings = segmenter->in->settings;
	struct matcher_options options = {
		.block_bytes = segmenter->filler.block_bytes,
		.granularity = segmenter->granularity,
		.index_bytes = segmenter->in->budget->index_bytes,
		.lookback = settings->lookback,
		.least_entropy = dw_least_entropy(settings, is_after_kept(segmenter)),
	};
	int ret;

	if (settings->window_bits == 0 || settings->lookback == 0)
		return 0;
	options.total_bytes = total_bytes(segmenter->in) + kept_bytes(segmenter);
	options.shift = choose_shift(segmenter, options.total_bytes);
	if ((ret = dw_stored_window_new(segmenter->run, segmenter->tree,
					segmenter->contents, segmenter->filler.compressor,
					segmenter->filler.block_bytes,
					segmenter->in->budget->window_bytes,
					&segmenter->filler.window, err)) < 0 ||
	    (ret = begin_after_kept(segmenter, err)) < 0)
		return ret;
	options.kept = segmenter->filler.kept;
	if ((ret = dw_matcher_new(&options, segmenter->filler.window, &segmenter->matcher,
				  err)) < 0 ||
	    (ret = new_kept_anchors(segmenter, err)) < 0)
		return ret;
	return new_gatherer(segmenter, err);
}

void dw_segmenter_free(struct segmenter *segmenter)
{
	if (!segmenter)
		return;
	dw_gatherer_free(segmenter->gatherer);
	dw_matcher_free(segmenter->matcher);
	dw_stored_window_free(segmenter->filler.window);
	dw_kept_window_free(segmenter->filler.kept);
	dw_block_release(segmenter->filler.compressor, segmenter->filler.block);
	dw_free(segmenter->piece);
	dw_free(segmenter->minima);
	dw_kept_anchors_free(segmenter->kept_anchors);
	dw_path_cursor_free(&segmenter->cursor);
	dw_free(segmenter);
}

int dw_segmenter_new(const struct segment_input *in, struct compressor *compressor,
		     struct chunks *chunks, struct segmenter **segmenter_out,
		     dwarfs_error **err)
{
	const struct stream *stream = &in->contents->streams.list[in->stream];
	struct packing packing = dw_packing_of(in->run->settings, stream->category);
	auto_segmenter struct segmenter *segmenter = dw_calloc(1, sizeof(*segmenter));
	int ret;

	if (!segmenter)
		return dw_fail_nomem(err);
	*segmenter = (struct segmenter){
		.in = in,
		.run = in->run,
		.tree = in->tree,
		.contents = in->contents,
		.filler = { .compressor = compressor,
			    .chunks = chunks,
			    .block_bytes = dw_block_bytes(in->run->options, stream) },
		.total = total_bytes(in),
		.granularity = 1,
		.source_content = DW_NONE,
	};
	packing.codec.samples = stream->samples;
	if (stream->samples.is_known)
		segmenter->granularity = (size_t)stream->samples.bytes_per_sample *
					 stream->samples.channels;
	if (!(segmenter->piece = dw_malloc(MATCH_PIECE_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = dw_compressor_turn(compressor, in->stream, stream->category, &packing,
				      most_of_block(segmenter), err)) < 0 ||
	    (ret = new_matcher(segmenter, err)) < 0)
		return ret;
	*segmenter_out = dw_steal(segmenter);
	return 0;
}
