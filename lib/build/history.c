/* SPDX-License-Identifier: MIT */
/*
 * build/history: the stored bytes of a stream, to be compared with.
 *
 * Where old bytes came from is known by runs: from the place where one starts to that of
 * the next, bytes are those of one file, one after the other. They are read again in
 * pages, and not trusted when the file has changed in the meantime.
 */
#include <string.h>

#include "build/history.h"
#include "os/pages.h"

#define PAGE_BYTES ((size_t)64 << 10)
#define PAGE_COUNT 64

/* Files that stay open: the runs of a page come from few files, in turns. */
#define OPEN_SOURCES 4

/* As bytes compared: what opening a file takes, a call to read it, and how many bytes are
 * read in the time of one. */
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
	size_t from, to; /* what is good of it */
	uint64_t limit; /* what was stored at this place and beyond was still in memory */
};

/* A file that stays open to be read again. */
struct open_source {
	struct source source;
	uint32_t content; /* DW_NONE: none is open */
};

struct history {
	struct build_run *run;
	const struct tree *tree;
	const struct contents *contents;
	struct compressor *compressor;
	size_t block_bytes, ram_blocks;
	uint32_t first_number; /* of the stream's blocks */
	struct block *current;
	struct block **ring; /* the last ram_blocks, by block number */
	uint32_t turns;	     /* blocks begun so far */
	struct run *runs;
	size_t run_count, run_room;
	struct page pages[PAGE_COUNT];
	uint8_t *page_bytes; /* of all of them */
	struct open_source sources[OPEN_SOURCES];
	size_t next_source; /* that is closed for another one */
	uint64_t work;
};

int dw_history_new(struct build_run *run, const struct tree *tree,
		   const struct contents *contents, struct compressor *compressor,
		   size_t block_bytes, uint64_t ram_bytes, struct history **history_out,
		   dwarfs_error **err)
{
	DW_AUTO(history) struct history *history = dw_calloc(1, sizeof(*history));

	if (!history)
		return dw_fail_nomem(err);
	history->run = run;
	history->tree = tree;
	history->contents = contents;
	history->compressor = compressor;
	history->block_bytes = block_bytes;
	history->ram_blocks = (size_t)(ram_bytes / block_bytes) + 1;
	history->ring = dw_calloc(history->ram_blocks, sizeof(struct block *));
	history->page_bytes = dw_pages_new(PAGE_COUNT * PAGE_BYTES);
	for (size_t i = 0; i < OPEN_SOURCES; i++)
		history->sources[i].content = DW_NONE;
	if (!history->ring || !history->page_bytes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < PAGE_COUNT; i++)
		history->pages[i] = (struct page){
			.data = history->page_bytes + i * PAGE_BYTES,
			.number = UINT64_MAX,
		};
	*history_out = dw_steal(history);
	return 0;
}

static void close_source(struct open_source *open)
{
	if (open->content != DW_NONE)
		dw_source_end(&open->source);
	open->content = DW_NONE;
}

void dw_history_free(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < OPEN_SOURCES; i++)
		close_source(&history->sources[i]);
	for (size_t i = 0; history->ring && i < history->ram_blocks; i++)
		dw_block_release(history->compressor, history->ring[i]);
	dw_pages_free(history->page_bytes, PAGE_COUNT * PAGE_BYTES);
	free(history->ring);
	free(history->runs);
	free(history);
}

void dw_history_turn(struct history *history, struct block *block)
{
	struct block **slot;

	history->current = block;
	if (history->turns == 0)
		history->first_number = block->number;
	history->turns++;
	slot = &history->ring[(block->number - history->first_number) %
			      history->ram_blocks];
	dw_block_release(history->compressor, *slot);
	*slot = block;
	dw_block_keep(block);
}

static uint64_t end_of(const struct history *history)
{
	const struct block *block = history->current;

	return (block->number - history->first_number) * (uint64_t)history->block_bytes +
	       block->size;
}

int dw_history_note(struct history *history, uint32_t content, uint64_t offset,
		    dwarfs_error **err)
{
	struct run run = { end_of(history), offset, content };
	int ret;

	while (history->run_count > 0 &&
	       history->runs[history->run_count - 1].place >= run.place)
		history->run_count--;
	if ((ret = dw_grow(&history->runs, &history->run_room, history->run_count + 1,
			   err)) < 0)
		return ret;
	history->runs[history->run_count++] = run;
	return 0;
}

/* -- reading again ------------------------------------------------------------------ */

/* The run that a place is in. */
static size_t find_run(const struct history *history, uint64_t place)
{
	size_t low = 0, high = history->run_count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (history->runs[middle].place <= place)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The open source of some contents, or NULL. */
static struct source *open_source(struct history *history, uint32_t content)
{
	struct open_source *open;

	for (size_t i = 0; i < OPEN_SOURCES; i++)
		if (history->sources[i].content == content)
			return &history->sources[i].source;
	open = &history->sources[history->next_source];
	history->next_source = (history->next_source + 1) % OPEN_SOURCES;
	close_source(open);
	history->work += WORK_OF_OPEN;
	if (dw_source_begin(history->run, history->tree, history->contents, content,
			    &open->source) < 0)
		return NULL;
	open->content = content;
	return &open->source;
}

/* Some bytes of a file, if it is still as it was. */
static bool read_again(struct history *history, uint32_t content, uint64_t offset,
		       uint8_t *out, size_t size)
{
	struct source *source = open_source(history, content);

	history->work += WORK_OF_CALL + size / WORK_OF_READ;
	return source && dw_source_read_at(source, out, size, offset) == (int64_t)size &&
	       dw_source_is_unchanged(source) == 1;
}

/* Where the blocks that are still in memory begin: what is there may yet change. */
static uint64_t start_of_ram(const struct history *history)
{
	uint64_t blocks = history->turns < history->ram_blocks ? history->turns
							       : history->ram_blocks;

	return (history->turns - blocks) * history->block_bytes;
}

/* Fill a page with the runs around a place, as far as they can be read. */
static void fill(struct history *history, struct page *page, uint64_t place)
{
	uint64_t start = place / PAGE_BYTES * PAGE_BYTES, stop = start + PAGE_BYTES;
	uint64_t end = start_of_ram(history), at = start;

	page->number = start / PAGE_BYTES;
	page->limit = end;
	page->from = page->to = 0;
	for (size_t i = find_run(history, start); i < history->run_count; i++) {
		const struct run *run = &history->runs[i];
		uint64_t run_end = i + 1 < history->run_count ? run[1].place : end;
		uint64_t from = run->place > start ? run->place : start;
		uint64_t to = run_end < stop ? run_end : stop;

		to = to < end ? to : end;
		if (from >= stop)
			break;
		if (from != at || to <= from)
			continue;
		at = to;
		if (read_again(history, run->content, run->offset + (from - run->place),
			       page->data + (from - start), (size_t)(to - from))) {
			page->to = (size_t)(to - start);
			continue;
		}
		if (to > place)
			break;
		page->from = page->to = (size_t)(to - start);
	}
}

static const struct page *page_of(struct history *history, uint64_t place)
{
	struct page *page = &history->pages[place / PAGE_BYTES % PAGE_COUNT];

	if (page->number != place / PAGE_BYTES || place >= page->limit)
		fill(history, page, place);
	return page;
}

uint64_t dw_history_work(const struct history *history)
{
	return history->work;
}

/* -- looking ------------------------------------------------------------------------ */

/* The block that is still in memory, or NULL. */
static const struct block *block_in_ram(const struct history *history, uint64_t number)
{
	if (number >= history->turns || history->turns - number > history->ram_blocks)
		return NULL;
	return history->ring[number % history->ram_blocks];
}

const uint8_t *dw_history_at(struct history *history, uint64_t place, size_t *size_out)
{
	uint64_t number = place / history->block_bytes;
	size_t offset = (size_t)(place % history->block_bytes), in_page;
	const struct block *block = block_in_ram(history, number);
	const struct page *page;

	if (block) {
		if (offset >= block->size)
			return NULL;
		*size_out = block->size - offset;
		return block->data + offset;
	}
	if (place >= end_of(history) || !(page = page_of(history, place)))
		return NULL;
	in_page = (size_t)(place % PAGE_BYTES);
	if (in_page < page->from || in_page >= page->to)
		return NULL;
	*size_out = page->to - in_page;
	if (*size_out > history->block_bytes - offset)
		*size_out = history->block_bytes - offset;
	return page->data + in_page;
}

const uint8_t *dw_history_before(struct history *history, uint64_t place,
				 size_t *size_out)
{
	size_t offset = (size_t)(place % history->block_bytes), in_page;
	const struct block *block = block_in_ram(history, place / history->block_bytes);
	const struct page *page;

	if (offset == 0)
		return NULL;
	if (block) {
		*size_out = offset;
		return block->data + offset;
	}
	if (!(page = page_of(history, place - 1)))
		return NULL;
	in_page = (size_t)((place - 1) % PAGE_BYTES);
	if (in_page < page->from || in_page >= page->to)
		return NULL;
	*size_out = in_page + 1 - page->from;
	if (*size_out > offset)
		*size_out = offset;
	return page->data + in_page + 1;
}
