/* SPDX-License-Identifier: MIT */
/*
 * build/segment: files -> chunks in blocks.
 *
 * Reads each file once, straight into the block being filled. A file that reaches the end
 * of a block goes on in the next one. Holes become chunks without bytes. What a file has
 * beyond its scanned size is left out, and one that ends earlier is stored that short.
 *
 * Whether bytes were stored already elsewhere is not looked for: a finder of matches
 * would stand between read_run() and the block.
 */
#include <errno.h>

#include "build/segment.h"
#include "build/source.h"

/* Read at once at most, so that a cancellation is seen in time. */
#define PIECE_BYTES ((size_t)1 << 20)

struct segmenter {
	struct build_run *run;
	struct tree *tree;
	struct contents *contents;
	struct compressor *compressor;
	struct chunks *chunks;
	struct block *block; /* being filled, or NULL */
	size_t block_bytes;
	struct buffer path; /* of the file being read */
};

static int add_chunk(struct segmenter *segmenter, struct content *content,
		     struct chunk chunk, dwarfs_error **err)
{
	struct chunks *chunks = segmenter->chunks;
	int ret;

	if (content->chunk_count == UINT32_MAX || chunks->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many chunks for one image");
	if ((ret = dw_grow(&chunks->list, &chunks->room, chunks->count + 1, err)) < 0)
		return ret;
	chunks->list[chunks->count++] = chunk;
	content->chunk_count++;
	content->size += chunk.size;
	return 0;
}

static int add_hole(struct segmenter *segmenter, struct content *content, uint64_t size,
		    dwarfs_error **err)
{
	struct chunk hole = { .block = DW_NONE, .size = size };

	if (size == 0)
		return 0;
	content->hole_bytes += size;
	return add_chunk(segmenter, content, hole, err);
}

/* Bytes that were just put at the end of the block. */
static int add_data(struct segmenter *segmenter, struct content *content, size_t size,
		    dwarfs_error **err)
{
	struct chunks *chunks = segmenter->chunks;
	struct block *block = segmenter->block;
	struct chunk chunk = { block->number, (uint32_t)block->size, size };
	struct chunk *last = NULL;

	if (size == 0)
		return 0;
	block->size += size;
	if (content->chunk_count > 0)
		last = &chunks->list[chunks->count - 1];
	if (last && last->block == block->number &&
	    last->offset + last->size == chunk.offset) {
		last->size += size;
		content->size += size;
		return 0;
	}
	return add_chunk(segmenter, content, chunk, err);
}

static int close_block(struct segmenter *segmenter, dwarfs_error **err)
{
	struct block *block = dw_steal(segmenter->block);

	return block ? dw_compressor_close(segmenter->compressor, block, err) : 0;
}

static int room_in_block(struct segmenter *segmenter, size_t *room_out,
			 dwarfs_error **err)
{
	int ret;

	if (segmenter->block && segmenter->block->size == segmenter->block_bytes &&
	    (ret = close_block(segmenter, err)) < 0)
		return ret;
	if (!segmenter->block &&
	    (ret = dw_compressor_open(segmenter->compressor, &segmenter->block, err)) < 0)
		return ret;
	*room_out = segmenter->block_bytes - segmenter->block->size;
	return 0;
}

/*
 * How reading a file went. Errors of the input are no errors of the run: they end the
 * file, not the image.
 */
struct reading {
	int fd;
	int errnum; /* reading failed here */
	bool ended; /* the file was shorter than expected */
};

/* A run of data of the file, to the block. */
static int read_run(struct segmenter *segmenter, struct content *content,
		    struct reading *reading, uint64_t from, uint64_t to,
		    dwarfs_error **err)
{
	struct dwarfs_progress *progress = &segmenter->run->progress;

	while (from < to) {
		size_t want;
		int64_t got;
		int ret = room_in_block(segmenter, &want, err);

		if (ret < 0)
			return ret;
		want = want < PIECE_BYTES ? want : PIECE_BYTES;
		want = to - from < want ? (size_t)(to - from) : want;
		got = dw_fd_read_at(reading->fd,
				    segmenter->block->data + segmenter->block->size, want,
				    from);
		if (got < 0) {
			reading->errnum = (int)-got;
			return 0;
		}
		if ((ret = add_data(segmenter, content, (size_t)got, err)) < 0)
			return ret;
		from += (uint64_t)got;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
		if ((size_t)got < want) {
			reading->ended = true;
			return 0;
		}
	}
	return 0;
}

static int read_runs(struct segmenter *segmenter, struct content *content,
		     struct reading *reading, uint64_t size, dwarfs_error **err)
{
	bool sparse = segmenter->run->options->sparse_files;
	uint64_t at = 0, from = 0, to;
	struct os_stat stat;
	int ret;

	if ((ret = dw_stat_fd(reading->fd, &stat)) < 0) {
		reading->errnum = -ret;
		return 0;
	}
	if (stat.size < size) { /* what is missing must not look like a hole */
		reading->ended = true;
		size = stat.size;
	}
	to = size;
	while (at < size) {
		if (sparse &&
		    (ret = dw_next_data(reading->fd, at, size, &from, &to)) < 0) {
			reading->errnum = -ret;
			return 0;
		}
		segmenter->run->progress.bytes_done += from - at;
		if ((ret = add_hole(segmenter, content, from - at, err)) < 0 ||
		    (ret = read_run(segmenter, content, reading, from, to, err)) < 0)
			return ret;
		if (reading->errnum || (reading->ended && content->size < to))
			return 0;
		at = to;
	}
	return 0;
}

/* Report what went wrong with a file; false when all is well. */
static bool complain(struct segmenter *segmenter, const struct content *content,
		     const struct reading *reading, int unchanged)
{
	const char *path = (const char *)segmenter->path.data;

	if (reading->errnum)
		dw_build_complain(segmenter->run, path, reading->errnum, "cannot read",
				  content->size ? "storing what was read before"
						: "creating empty inode");
	else if (reading->ended)
		dw_build_complain(segmenter->run, path, 0,
				  "file became shorter while it was read",
				  "storing what was read");
	else if (unchanged != 1)
		dw_build_complain(segmenter->run, path, 0,
				  "file changed while it was read",
				  "storing what was read");
	else
		return false;
	return true;
}

/* The bytes of the first file of some contents. */
static int store_file(struct segmenter *segmenter, struct content *content,
		      bool *differs_out, dwarfs_error **err)
{
	struct tree *tree = segmenter->tree;
	struct source_mark mark = dw_source_mark(&tree->inodes[content->inode]);
	struct reading reading = { .fd = -1 };
	auto_fd int fd = -1;
	int ret, unchanged = 1;

	if ((ret = dw_tree_path(tree, tree->inodes[content->inode].entry,
				&segmenter->path, err)) < 0)
		return ret;
	segmenter->run->progress.path = (const char *)segmenter->path.data;
	content->size = content->hole_bytes = 0;
	content->chunk_count = 0;
	content->first_chunk = segmenter->chunks->count;
	ret = dw_source_open(segmenter->run->root_fd, (const char *)segmenter->path.data,
			     &fd);
	if (ret < 0) {
		reading.errnum = -ret;
	} else {
		reading.fd = fd;
		ret = read_runs(segmenter, content, &reading, mark.size, err);
		if (ret < 0)
			return ret;
		unchanged = dw_source_is_unchanged(fd, &mark);
	}
	*differs_out = complain(segmenter, content, &reading, unchanged);
	return 0;
}

/* What shared the contents of a file that changed in the meantime no longer does. */
static int store_content(struct segmenter *segmenter, uint32_t number, dwarfs_error **err)
{
	struct tree *tree = segmenter->tree;

	for (;;) {
		struct content *content = &segmenter->contents->list[number];
		uint32_t next = tree->inodes[content->inode].next;
		bool differs;
		int ret = store_file(segmenter, content, &differs, err);

		if (ret < 0)
			return ret;
		if (!differs || next == DW_NONE)
			return 0;
		tree->inodes[content->inode].next = DW_NONE;
		number = (uint32_t)segmenter->contents->count;
		if ((ret = dw_contents_add(segmenter->contents, tree, next, err)) < 0)
			return ret;
	}
}

static int store_all(struct segmenter *segmenter, const uint32_t *numbers, size_t count,
		     dwarfs_error **err)
{
	struct dwarfs_progress *progress = &segmenter->run->progress;
	int ret;

	for (size_t i = 0; i < count; i++) {
		if ((ret = store_content(segmenter, numbers[i], err)) < 0)
			return ret;
		progress->items_done++;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	return close_block(segmenter, err);
}

int dw_segment(struct build_run *run, struct tree *tree, struct contents *contents,
	       const uint32_t *numbers, size_t count, struct compressor *compressor,
	       struct chunks *chunks, dwarfs_error **err)
{
	struct segmenter segmenter = {
		.run = run,
		.tree = tree,
		.contents = contents,
		.compressor = compressor,
		.chunks = chunks,
		.block_bytes = (size_t)1 << run->options->block_bits,
	};
	int ret = store_all(&segmenter, numbers, count, err);

	run->progress.path = NULL;
	dw_buffer_free(&segmenter.path);
	return ret;
}
