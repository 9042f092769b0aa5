/* SPDX-License-Identifier: MIT */
/*
 * write/segment/stored_window: the stored bytes of a stream, for comparison by the
 * matcher.
 *
 * The last blocks are in memory, by reference. Older bytes are read again from their
 * files: a run maps positions to contents and offset, up to the next run. They are read
 * in pages, and ignored if the file has changed. Used by the calling thread only.
 */
#include <string.h>

#include "os/file_io.h"
#include "os/pages.h"
#include "write/segment/stored_window.h"

/*
 * Of near-equal files mostly short runs are stored, so a page is read by many calls and
 * little of it is compared. With pages of 64 KiB, 16 releases of large text files used
 * up, in one order, the limit of bytes compared without a match: 217 MiB of them were
 * left to the codec instead of 158, and the image was larger by a quarter (zstd 9).
 */
#define PAGE_BYTES ((size_t)8 << 10)
#define PAGE_COUNT 512

/* Open files: the runs of a page alternate between few files. */
#define OPEN_SOURCES 4

/* Of near-equal files a page has many runs of few hundred bytes, with gaps of about as much between
 * them in the file: for less than this many bytes, more are read, and used for the runs that follow.
 * 16 releases of generated text took 5.8 million reads without it. */
#define AHEAD_BYTES ((size_t)16 << 10)
#define AHEAD_PART  4

#define BUFFER_BYTES (PAGE_COUNT * PAGE_BYTES + OPEN_SOURCES * AHEAD_BYTES)

/* Cost in bytes compared: of opening a file, of a read call, and how many bytes are read
 * in the time of one. */
#define WORK_OF_OPEN 16384
#define WORK_OF_CALL 2048
#define WORK_OF_READ 8

struct run {
	uint64_t place;
	uint64_t offset; /* in the contents */
	uint32_t content;
};

/* Bytes that were read again. */
struct page {
	uint8_t *data;
	uint64_t number; /* place / PAGE_BYTES; UINT64_MAX for none */
	size_t from, to; /* valid bytes */
	uint64_t limit;	 /* bytes from this position on were still in memory */
};

/* A file that stays open to be read again. */
struct open_source {
	struct source source;
	uint32_t content; /* DW_NONE: none is open */
	bool is_read;	  /* since it was found to be unchanged */
	uint8_t *ahead;	  /* bytes from an offset on */
	uint64_t ahead_from;
	size_t ahead_bytes;
};

struct stored_window {
	struct build_run *run;
	const struct tree *tree;
	const struct contents *contents;
	struct compressor *compressor;
	size_t block_bytes, ram_blocks;
	struct kept_window *kept; /* the first blocks, or NULL */
	uint32_t first_number;	  /* of the first block of the stream or of kept */
	struct block *current;	  /* NULL: none of the stream yet */
	struct block **ring;	  /* the last ram_blocks, by block number */
	uint32_t blocks_begun;	  /* blocks begun so far, and those of kept */
	struct run *runs;
	size_t run_count, run_room;
	struct page pages[PAGE_COUNT];
	uint8_t *page_bytes; /* of all of them, and then of what is read ahead */
	struct open_source sources[OPEN_SOURCES];
	size_t next_source; /* that is closed for another one */
	bool has_changed;   /* a file that was read and closed since are_unchanged() */
	uint64_t work;
};

int dw_stored_window_new(struct build_run *run, const struct tree *tree,
			 const struct contents *contents, struct compressor *compressor,
			 size_t block_bytes, uint64_t ram_bytes,
			 struct stored_window **window_out, dwarfs_error **err)
{
	DW_AUTO(window) struct stored_window *window = dw_calloc(1, sizeof(*window));

	if (!window)
		return dw_fail_nomem(err);
	window->run = run;
	window->tree = tree;
	window->contents = contents;
	window->compressor = compressor;
	window->block_bytes = block_bytes;
	window->ram_blocks = (size_t)(ram_bytes / block_bytes) + 1;
	window->ring = dw_calloc(window->ram_blocks, sizeof(struct block *));
	window->page_bytes = dw_pages_new(BUFFER_BYTES);
	for (size_t i = 0; i < OPEN_SOURCES; i++)
		window->sources[i].content = DW_NONE;
	if (!window->ring || !window->page_bytes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < OPEN_SOURCES; i++)
		window->sources[i].ahead =
			window->page_bytes + PAGE_COUNT * PAGE_BYTES + i * AHEAD_BYTES;
	for (size_t i = 0; i < PAGE_COUNT; i++)
		window->pages[i] = (struct page){
			.data = window->page_bytes + i * PAGE_BYTES,
			.number = UINT64_MAX,
		};
	*window_out = dw_steal(window);
	return 0;
}

static void check_source(struct stored_window *window, struct open_source *open)
{
	if (open->is_read && dw_source_is_unchanged(&open->source) != 1)
		window->has_changed = true;
	open->is_read = false;
}

static void close_source(struct stored_window *window, struct open_source *open)
{
	check_source(window, open);
	if (open->content != DW_NONE)
		dw_source_end(&open->source);
	open->content = DW_NONE;
}

void dw_stored_window_close_files(struct stored_window *window)
{
	for (size_t i = 0; window && i < OPEN_SOURCES; i++)
		close_source(window, &window->sources[i]);
}

void dw_stored_window_free(struct stored_window *window)
{
	if (!window)
		return;
	dw_stored_window_close_files(window);
	for (size_t i = 0; window->ring && i < window->ram_blocks; i++)
		dw_block_release(window->compressor, window->ring[i]);
	dw_pages_free(window->page_bytes, BUFFER_BYTES);
	dw_free(window->ring);
	dw_free(window->runs);
	dw_free(window);
}

void dw_stored_window_set_kept(struct stored_window *window, struct kept_window *kept)
{
	window->kept = kept;
	window->blocks_begun = dw_kept_window_count(kept);
}

/* Number of the first block that is not one of kept. */
static uint32_t first_new(const struct stored_window *window)
{
	return window->kept ? dw_kept_window_count(window->kept) : 0;
}

void dw_stored_window_turn(struct stored_window *window, struct block *block)
{
	struct block **slot;

	window->current = block;
	if (window->blocks_begun == 0 && !window->kept)
		window->first_number = block->number;
	window->blocks_begun++;
	if (window->kept)
		dw_kept_window_turn(window->kept);
	slot = &window->ring[(block->number - window->first_number) % window->ram_blocks];
	dw_block_release(window->compressor, *slot);
	*slot = block;
	dw_block_reference(block);
}

static uint64_t window_end(const struct stored_window *window)
{
	const struct block *block = window->current;

	if (!block)
		return window->blocks_begun * (uint64_t)window->block_bytes;
	return (block->number - window->first_number) * (uint64_t)window->block_bytes +
	       block->size;
}

int dw_stored_window_note(struct stored_window *window, uint32_t content, uint64_t offset,
			  dwarfs_error **err)
{
	struct run run = { window_end(window), offset, content };
	int ret;

	while (window->run_count > 0 &&
	       window->runs[window->run_count - 1].place >= run.place)
		window->run_count--;
	if ((ret = dw_grow(&window->runs, &window->run_room, window->run_count + 1,
			   err)) < 0)
		return ret;
	window->runs[window->run_count++] = run;
	return 0;
}

/* -- reading again ------------------------------------------------------------------ */

/* The run of a position. */
static size_t find_run(const struct stored_window *window, uint64_t place)
{
	size_t low = 0, high = window->run_count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (window->runs[middle].place <= place)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The open source of some contents, or NULL. */
static struct open_source *open_source(struct stored_window *window, uint32_t content)
{
	struct open_source *open;
	int ret;

	for (size_t i = 0; i < OPEN_SOURCES; i++)
		if (window->sources[i].content == content)
			return &window->sources[i];
	open = &window->sources[window->next_source];
	window->next_source = (window->next_source + 1) % OPEN_SOURCES;
	close_source(window, open);
	window->work += WORK_OF_OPEN;
	ret = dw_source_begin(window->run, window->tree, window->contents, content,
			      &open->source);
	if (dw_fd_is_exhausted(-ret)) {
		dw_stored_window_close_files(window);
		ret = dw_source_begin(window->run, window->tree, window->contents,
				      content, &open->source);
	}
	if (ret < 0)
		return NULL;
	open->content = content;
	open->ahead_bytes = 0;
	return open;
}

/* Read bytes of a file, or use what was read ahead: whether there are as many. */
static bool read_source(struct open_source *open, uint64_t offset, uint8_t *out,
			size_t size)
{
	int64_t got;

	if (size > AHEAD_BYTES / AHEAD_PART)
		return dw_source_read_at(&open->source, out, size, offset) ==
		       (int64_t)size;
	if (offset < open->ahead_from ||
	    offset + size > open->ahead_from + open->ahead_bytes) {
		open->ahead_from = offset;
		open->ahead_bytes = 0;
		got = dw_source_read_at(&open->source, open->ahead, AHEAD_BYTES, offset);
		if (got < (int64_t)size)
			return false;
		open->ahead_bytes = (size_t)got;
	}
	memcpy(out, open->ahead + (offset - open->ahead_from), size);
	return true;
}

/* Read bytes of a file; `checks`: only if it is unchanged. */
static bool read_again(struct stored_window *window, uint32_t content, uint64_t offset,
		       uint8_t *out, size_t size, bool checks)
{
	struct open_source *open = open_source(window, content);

	window->work += WORK_OF_CALL + size / WORK_OF_READ;
	if (!open || !read_source(open, offset, out, size))
		return false;
	if (checks)
		return dw_source_is_unchanged(&open->source) == 1;
	open->is_read = true;
	return true;
}

/* Whether the files that were read since the last call without a check are unchanged. */
static bool are_unchanged(struct stored_window *window)
{
	bool has_changed;

	for (size_t i = 0; i < OPEN_SOURCES; i++)
		check_source(window, &window->sources[i]);
	has_changed = window->has_changed;
	window->has_changed = false;
	return !has_changed;
}

/* Position of the first block in memory: bytes from there on may still change. */
static uint64_t start_of_ram(const struct stored_window *window)
{
	uint64_t blocks = window->blocks_begun - first_new(window);

	if (blocks > window->ram_blocks)
		blocks = window->ram_blocks;

	return (window->blocks_begun - blocks) * window->block_bytes;
}

/* Read the part of a page that is in the same kept block as a position: false if it may not
 * be read, or cannot. */
static bool fill_kept_page(struct stored_window *window, struct page *page,
			   uint64_t place)
{
	uint64_t start = place / PAGE_BYTES * PAGE_BYTES, block = window->block_bytes;
	uint64_t first = place / block * block, from = first > start ? first : start;
	uint64_t to =
		start + PAGE_BYTES < first + block ? start + PAGE_BYTES : first + block;
	uint32_t number = (uint32_t)(place / block);
	int64_t got;

	page->number = UINT64_MAX;
	got = dw_kept_window_read(window->kept, number, page->data + (from - start),
				  (size_t)(to - from), from - first);
	if (got < 0)
		return false;
	window->work += WORK_OF_CALL + (to - from) / WORK_OF_READ;
	page->number = start / PAGE_BYTES;
	page->limit = UINT64_MAX;
	page->from = (size_t)(from - start);
	page->to = page->from + (size_t)got;
	return true;
}

/* -- pages --------------------------------------------------------------------------- */

/* Read the runs around a position into a page, as far as possible; `checks`: each from a file that is
 * unchanged. */
static void read_runs(struct stored_window *window, struct page *page, uint64_t place,
		      bool checks)
{
	uint64_t start = place / PAGE_BYTES * PAGE_BYTES, stop = start + PAGE_BYTES;
	uint64_t end = start_of_ram(window), at = start;

	page->number = start / PAGE_BYTES;
	page->limit = end;
	page->from = page->to = 0;
	for (size_t i = find_run(window, start); i < window->run_count; i++) {
		const struct run *run = &window->runs[i];
		uint64_t run_end = i + 1 < window->run_count ? run[1].place : end;
		uint64_t from = run->place > start ? run->place : start;
		uint64_t to = run_end < stop ? run_end : stop;

		to = to < end ? to : end;
		if (from >= stop)
			break;
		if (from != at || to <= from)
			continue;
		at = to;
		if (read_again(window, run->content, run->offset + (from - run->place),
			       page->data + (from - start), (size_t)(to - from),
			       checks)) {
			page->to = (size_t)(to - start);
			continue;
		}
		if (to > place)
			break;
		page->from = page->to = (size_t)(to - start);
	}
}

/* A page has many runs of few files: each file is checked once. */
static void fill_page(struct stored_window *window, struct page *page, uint64_t place)
{
	read_runs(window, page, place, false);
	if (!are_unchanged(window))
		read_runs(window, page, place, true);
}

/* The page with a position, as far as it could be read; NULL if it may not be. */
static const struct page *page_of(struct stored_window *window, uint64_t place)
{
	struct page *page = &window->pages[place / PAGE_BYTES % PAGE_COUNT];

	if (place / window->block_bytes < first_new(window)) {
		if ((page->number != place / PAGE_BYTES ||
		     place % PAGE_BYTES < page->from || place % PAGE_BYTES >= page->to) &&
		    !fill_kept_page(window, page, place))
			return NULL;
	} else if (page->number != place / PAGE_BYTES || place >= page->limit) {
		fill_page(window, page, place);
	}
	return page;
}

uint64_t dw_stored_window_work(const struct stored_window *window)
{
	return window->work;
}

/* -- access -------------------------------------------------------------------------- */

/* The block that is still in memory, or NULL. */
static const struct block *block_in_ram(const struct stored_window *window,
					uint64_t number)
{
	if (number >= window->blocks_begun ||
	    window->blocks_begun - number > window->ram_blocks ||
	    number < first_new(window))
		return NULL;
	return window->ring[number % window->ram_blocks];
}

const uint8_t *dw_stored_window_at(struct stored_window *window, uint64_t place,
				   size_t *size_out)
{
	uint64_t number = place / window->block_bytes;
	size_t offset = (size_t)(place % window->block_bytes), in_page;
	const struct block *block = block_in_ram(window, number);
	const struct page *page;

	if (block) {
		if (offset >= block->size)
			return NULL;
		*size_out = block->size - offset;
		return block->data + offset;
	}
	if (place >= window_end(window) || !(page = page_of(window, place)))
		return NULL;
	in_page = (size_t)(place % PAGE_BYTES);
	if (in_page < page->from || in_page >= page->to)
		return NULL;
	*size_out = page->to - in_page;
	if (*size_out > window->block_bytes - offset)
		*size_out = window->block_bytes - offset;
	return page->data + in_page;
}

const uint8_t *dw_stored_window_before(struct stored_window *window, uint64_t place,
				       size_t *size_out)
{
	size_t offset = (size_t)(place % window->block_bytes), in_page;
	const struct block *block = block_in_ram(window, place / window->block_bytes);
	const struct page *page;

	if (offset == 0)
		return NULL;
	if (block) {
		*size_out = offset;
		return block->data + offset;
	}
	if (!(page = page_of(window, place - 1)))
		return NULL;
	in_page = (size_t)((place - 1) % PAGE_BYTES);
	if (in_page < page->from || in_page >= page->to)
		return NULL;
	*size_out = in_page + 1 - page->from;
	if (*size_out > offset)
		*size_out = offset;
	return page->data + in_page + 1;
}
