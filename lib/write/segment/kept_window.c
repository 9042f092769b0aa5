/* SPDX-License-Identifier: MIT */
/*
 * write/segment/kept_window: which bytes of the blocks kept from images may be read to be
 * compared, and reading them.
 */
#include "codec/codec.h"
#include "write/images/decoded_blocks.h"
#include "write/segment/kept_window.h"

/*
 * Each kept block may be decompressed once. So many bytes of blocks may be decompressed again:
 * at first, then more for each byte of new data, and at most at any time. zstd takes about a
 * second for a gigabyte. If the cache holds fewer than two of the blocks, almost each use of
 * another block decompresses one; then only one byte in SMALL_CACHE_PART is allowed.
 */
#define DECODED_PER_BYTE 512
#define FIRST_DECODING	 ((int64_t)4 << 30)
#define MAX_DECODING	 ((int64_t)16 << 30)
#define SMALL_CACHE_PART 16

/* A byte of lzma or brotli takes as long as this many bytes of other codecs. */
#define SLOW_FACTOR 8

/* The cache is not expected to hold more than the larger of these: with --max-unused, mkdwarfs
 * gives it a size that depends on the machine. */
#define MAX_HELD_BYTES	((uint64_t)128 << 20)
#define MAX_HELD_BLOCKS 4

/*
 * A kept block, cached by its image or not, as estimated: those used last are. The cache
 * itself is not queried: its contents depend on other threads, and what is compared must
 * not.
 */
struct kept_use {
	uint64_t bytes;
	uint64_t cost;	       /* of decompressing it */
	uint32_t newer, older; /* blocks that are held; DW_NONE: none */
	bool is_held, was_used;
	bool is_complete; /* was decompressed to its end since it was freed */
	bool is_damaged;  /* reading it failed */
};

struct kept_window {
	const struct kept_blocks *kept;
	struct compressor *compressor;
	size_t block_bytes;
	struct kept_use *uses;
	struct decoded_blocks *file; /* NULL: the cache holds all blocks */
	uint32_t workers;	     /* that compress new blocks */
	uint32_t spared;	 /* those that wait while blocks are held; 0: none do */
	uint32_t new_blocks;	 /* begun so far */
	uint32_t newest, oldest; /* of uses that are held */
	uint64_t held;		 /* their bytes */
	uint64_t held_at_most;	 /* the same, as the cache holds them for certain */
	int64_t decoding;	 /* bytes that may be decompressed again */
	int decoded_per_byte;	 /* added to it for each byte of new data */
	uint64_t decoded;	 /* bytes that were */
};

static uint64_t cost_of(const struct kept_block *kept, uint64_t bytes)
{
	uint32_t compression = kept->image->blocks[kept->block].compression;
	bool is_slow = compression == CODEC_LZMA || compression == CODEC_BROTLI;

	return is_slow ? bytes * SLOW_FACTOR : bytes;
}

/* The cache also has other uses. Of images with different caches, the smallest counts. */
static uint64_t held_at_most(const struct kept_blocks *kept, size_t block_bytes)
{
	uint64_t most = MAX_HELD_BLOCKS * (uint64_t)block_bytes;

	if (most < MAX_HELD_BYTES)
		most = MAX_HELD_BYTES;
	for (size_t i = 0; i < kept->count; i++) {
		const struct source_image *image = kept->list[i].image;
		uint64_t cache_bytes = image->ops->cache_bytes(image->user);

		most = cache_bytes < most ? cache_bytes : most;
	}
	return most - most / 8;
}

static int new_uses(struct kept_window *window, uint64_t *total_out, dwarfs_error **err)
{
	const struct kept_blocks *kept = window->kept;
	uint64_t largest = 0;

	if (!(window->uses = dw_calloc(kept->count, sizeof(*window->uses))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < kept->count; i++) {
		struct kept_use *use = &window->uses[i];

		use->bytes = dw_kept_blocks_bytes(kept, i, window->block_bytes);
		use->cost = cost_of(&kept->list[i], use->bytes);
		largest = use->bytes > largest ? use->bytes : largest;
		*total_out += use->bytes;
	}
	if (window->held_at_most / 2 < largest) {
		window->decoding /= SMALL_CACHE_PART;
		window->decoded_per_byte /= SMALL_CACHE_PART;
	}
	return 0;
}

int dw_kept_window_new(const struct build_run *run, const struct kept_blocks *kept,
		       struct compressor *compressor, size_t block_bytes,
		       struct kept_window **window_out, dwarfs_error **err)
{
	DW_AUTO(kept_window)
	struct kept_window *window = dw_calloc(1, sizeof(*window));
	uint64_t total = 0;
	int ret;

	if (!window)
		return dw_fail_nomem(err);
	window->kept = kept;
	window->compressor = compressor;
	window->block_bytes = block_bytes;
	window->newest = window->oldest = DW_NONE;
	window->decoding = FIRST_DECODING;
	window->decoded_per_byte = DECODED_PER_BYTE;
	window->held_at_most = held_at_most(kept, block_bytes);
	if ((ret = new_uses(window, &total, err)) < 0)
		return ret;
	/* They take no memory besides codecs, and are decompressed once: five of 16 releases of
	 * generated text, appended to 11 blocks of 16 MiB with the others, decompressed 28 to
	 * 46 GB with a cache of 128 MiB. */
	if ((total > window->held_at_most || total > DW_SOURCE_CACHED_BYTES) &&
	    (ret = dw_decoded_blocks_new(run, kept, &window->file, err)) < 0)
		return ret;
	*window_out = dw_steal(window);
	return 0;
}

void dw_kept_window_free(struct kept_window *window)
{
	if (!window)
		return;
	dw_decoded_blocks_free(window->file);
	dw_free(window->uses);
	dw_free(window);
}

uint32_t dw_kept_window_count(const struct kept_window *window)
{
	return (uint32_t)window->kept->count;
}

/* -- what the cache holds --------------------------------------------------------------- */

static void unlink_use(struct kept_window *window, uint32_t number)
{
	struct kept_use *uses = window->uses, *use = &uses[number];

	*(use->newer == DW_NONE ? &window->newest : &uses[use->newer].older) = use->older;
	*(use->older == DW_NONE ? &window->oldest : &uses[use->older].newer) = use->newer;
	window->held -= use->bytes;
	use->is_held = false;
}

static void link_newest(struct kept_window *window, uint32_t number)
{
	struct kept_use *uses = window->uses, *use = &uses[number];

	use->newer = DW_NONE;
	use->older = window->newest;
	*(use->older == DW_NONE ? &window->oldest : &uses[use->older].newer) = number;
	window->newest = number;
	window->held += use->bytes;
	use->is_held = true;
}

/* A block was used: it becomes the newest one that is held. The oldest ones are dropped to make
 * room for it. */
static void hold(struct kept_window *window, uint32_t number)
{
	struct kept_use *use = &window->uses[number];

	use->was_used = true;
	if (use->is_held)
		unlink_use(window, number);
	if (use->bytes > window->held_at_most)
		return;
	while (window->held > window->held_at_most - use->bytes) {
		window->uses[window->oldest].is_complete = false;
		unlink_use(window, window->oldest);
	}
	link_newest(window, number);
}

/*
 * Whether a kept block may be read from. Reading from one that is not held decompresses it,
 * which is not counted the first time, and after that is bounded by the size of the new data.
 */
static bool use_kept_block(struct kept_window *window, uint32_t number)
{
	struct kept_use *use = &window->uses[number];

	if (use->is_damaged)
		return false;
	if (!use->is_held && use->was_used) {
		if (window->decoding <= 0)
			return false;
		window->decoding -= (int64_t)use->cost;
		window->decoded += use->bytes;
	}
	hold(window, number);
	return true;
}

bool dw_kept_window_has_large(const struct kept_window *window)
{
	return dw_source_blocks_are_large(window->block_bytes);
}

void dw_kept_window_spare_workers(struct kept_window *window, uint32_t workers,
				  uint32_t spared)
{
	window->workers = workers;
	window->spared = spared;
}

/* That they are held is still assumed, as for the cache that has them without codecs: what is
 * compared does not depend on when a block is compressed. */
static void free_decoded(struct kept_window *window)
{
	const struct source_image *last = NULL;

	for (size_t i = 0; i < window->kept->count; i++) {
		const struct source_image *image = window->kept->list[i].image;

		window->uses[i].is_complete = false;
		if (image != last)
			image->ops->trim_cache(image->user);
		last = image;
	}
}

void dw_kept_window_free_decoded(struct kept_window *window)
{
	if (window && window->spared > 0)
		free_decoded(window);
}

/* Without kept blocks, as many blocks would be compressed at the same time as there are workers, or
 * as were begun so far. */
static int await_memory(struct kept_window *window, dwarfs_error **err)
{
	uint32_t begun = window->new_blocks;
	uint32_t most = begun < window->workers ? begun : window->workers;

	if (window->spared == 0)
		return 0;
	return dw_compressor_await_blocks(
		window->compressor, most > window->spared ? most - window->spared : 0,
		err);
}

void dw_kept_window_earn(struct kept_window *window, size_t size)
{
	if (!window)
		return;
	window->decoding += (int64_t)size * window->decoded_per_byte;
	if (window->decoding > MAX_DECODING)
		window->decoding = MAX_DECODING;
}

uint64_t dw_kept_window_decoded(const struct kept_window *window)
{
	return window->decoded;
}

/* Decompress a large block to its end. Until then its stored bytes and its decoder are in memory,
 * too, so the cache holds fewer blocks, and would decompress them repeatedly. */
static void complete_block(struct kept_window *window, uint32_t number)
{
	struct kept_use *use = &window->uses[number];
	uint8_t last;

	if (window->spared == 0 || use->is_complete || use->bytes == 0)
		return;
	use->is_complete = true; /* else the read that follows fails, too */
	dw_kept_blocks_read(window->kept, number, &last, 1, use->bytes - 1, NULL);
}

static void note_damage(struct kept_window *window, uint32_t number)
{
	window->uses[number].is_damaged = true;
	if (window->uses[number].is_held)
		unlink_use(window, number);
}

static bool has_in_file(const struct kept_window *window, uint32_t number)
{
	return window->file && dw_decoded_blocks_has(window->file, number);
}

/* Whether a block is in the file, or can be put there. Then its memory is left to codecs. */
static bool is_in_file(struct kept_window *window, uint32_t number)
{
	int ret;

	if (!window->file || window->uses[number].is_damaged)
		return false;
	if (has_in_file(window, number))
		return true;
	if (await_memory(window, NULL) < 0)
		return false;
	ret = dw_decoded_blocks_add(window->file, number);
	if (ret < 0)
		note_damage(window, number);
	if (ret == 1)
		free_decoded(window);
	return ret == 1;
}

int64_t dw_kept_window_read(struct kept_window *window, uint32_t number, uint8_t *buffer,
			    size_t size, uint64_t offset)
{
	int64_t got;

	if (is_in_file(window, number)) {
		got = dw_decoded_blocks_read(window->file, number, buffer, size, offset);
		if (got >= 0)
			return got;
	}
	/* An error ends the compressor, whose next call returns it. */
	if (!use_kept_block(window, number) || await_memory(window, NULL) < 0)
		return -1;
	complete_block(window, number);
	got = dw_kept_blocks_read(window->kept, number, buffer, size, offset, NULL);
	if (got < 0) {
		note_damage(window, number);
		return -1;
	}
	return got;
}

int64_t dw_kept_window_scan(struct kept_window *window, uint32_t number, bool is_known,
			    uint8_t *buffer, size_t size, uint64_t offset,
			    dwarfs_error **err)
{
	int64_t got;
	int ret;

	if (is_known ? is_in_file(window, number) : has_in_file(window, number)) {
		got = dw_decoded_blocks_read(window->file, number, buffer, size, offset);
		if (got >= 0)
			return got;
	}
	if ((ret = await_memory(window, err)) < 0)
		return ret;
	return dw_kept_blocks_read(window->kept, number, buffer, size, offset, err);
}

void dw_kept_window_was_scanned(struct kept_window *window, uint32_t number,
				bool is_known)
{
	if (has_in_file(window, number))
		return;
	if (!is_known && (window->file || dw_kept_window_has_large(window)))
		free_decoded(window);
	else
		hold(window, number);
}

void dw_kept_window_turn(struct kept_window *window)
{
	window->new_blocks++;
}
