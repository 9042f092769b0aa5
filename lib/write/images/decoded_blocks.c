/* SPDX-License-Identifier: MIT */
/*
 * write/images/decoded_blocks: kept blocks that were decompressed, in one unnamed temporary file.
 */
#include <errno.h>

#include "os/file_io.h"
#include "os/scratch.h"
#include "write/images/decoded_blocks.h"

#define PIECE_BYTES ((size_t)256 << 10)

/* Of the free space of a file system, for the blocks at most. The new image may need the
 * rest. */
#define SPACE_SHARE 4

#define NOT_STORED UINT64_MAX

struct place {
	uint64_t at; /* in the file, or NOT_STORED */
	uint64_t bytes;
};

struct decoded_blocks {
	const struct build_run *run;
	const struct kept_blocks *kept;
	struct place *places; /* by number of the block */
	uint8_t *piece;
	int fd;
	uint64_t end, room; /* of the file */
	bool failed;
};

int dw_decoded_blocks_new(const struct build_run *run, const struct kept_blocks *kept,
			  struct decoded_blocks **blocks_out, dwarfs_error **err)
{
	DW_AUTO(decoded_blocks)
	struct decoded_blocks *blocks = dw_calloc(1, sizeof(*blocks));

	if (!blocks)
		return dw_fail_nomem(err);
	blocks->run = run;
	blocks->kept = kept;
	blocks->fd = -1;
	if (!(blocks->places = dw_calloc(kept->count, sizeof(*blocks->places))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < kept->count; i++)
		blocks->places[i].at = NOT_STORED;
	*blocks_out = dw_steal(blocks);
	return 0;
}

void dw_decoded_blocks_free(struct decoded_blocks *blocks)
{
	if (!blocks)
		return;
	dw_fd_close(blocks->fd);
	dw_free(blocks->piece);
	dw_free(blocks->places);
	dw_free(blocks);
}

static char *choose_directory(const struct build_run *run)
{
	char *directory = NULL;

	if (run->spool_directory)
		return dw_strdup(run->spool_directory);
	if (run->output)
		directory = dw_sink_directory(run->output);
	return directory ? directory : dw_strdup(DW_SPOOL_DIRECTORY);
}

static bool open_file(struct decoded_blocks *blocks)
{
	auto_free char *directory = NULL;

	if (blocks->fd >= 0 || blocks->failed)
		return !blocks->failed;
	directory = choose_directory(blocks->run);
	blocks->piece = dw_malloc(PIECE_BYTES);
	if (!directory || !blocks->piece || dw_scratch_open(directory, &blocks->fd) < 0) {
		blocks->failed = true;
		return false;
	}
	blocks->room = dw_scratch_space(directory) / SPACE_SHARE;
	return true;
}

bool dw_decoded_blocks_has(const struct decoded_blocks *blocks, uint32_t number)
{
	return !blocks->failed && blocks->places[number].at != NOT_STORED;
}

int dw_decoded_blocks_add(struct decoded_blocks *blocks, uint32_t number)
{
	struct place *place = &blocks->places[number];
	uint64_t done = 0;
	int64_t got;

	if (!open_file(blocks) ||
	    dw_kept_blocks_bytes(blocks->kept, number, 0) > blocks->room - blocks->end)
		return 0;
	do {
		got = dw_kept_blocks_read(blocks->kept, number, blocks->piece,
					  PIECE_BYTES, done, NULL);
		if (got < 0)
			return (int)got;
		if (blocks->room - blocks->end < done + (uint64_t)got)
			return 0;
		if (dw_fd_write_at(blocks->fd, blocks->piece, (size_t)got,
				   blocks->end + done) < 0) {
			dw_scratch_cut(blocks->fd, blocks->end);
			blocks->room = blocks->end;
			return 0;
		}
		done += (uint64_t)got;
	} while (got == (int64_t)PIECE_BYTES);
	*place = (struct place){ blocks->end, done };
	blocks->end += done;
	return 1;
}

int64_t dw_decoded_blocks_read(struct decoded_blocks *blocks, uint32_t number,
			       void *buffer, size_t size, uint64_t offset)
{
	const struct place *place = &blocks->places[number];
	int64_t got;

	if (offset >= place->bytes)
		return 0;
	if (size > place->bytes - offset)
		size = (size_t)(place->bytes - offset);
	got = dw_fd_read_at(blocks->fd, buffer, size, place->at + offset);
	if (got == (int64_t)size)
		return got;
	blocks->failed = true;
	return got < 0 ? got : -EIO;
}
