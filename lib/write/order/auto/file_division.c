/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/file_division: large files divided into pieces, which are fragments of their own
 * for as long as the order is chosen.
 */
#include "write/order/auto/file_division.h"

/* In parts of a block: files that are divided are larger than one, pieces are about the other. */
#define FILE_PART  8
#define PIECE_PART 32

#define MIN_PIECE_BYTES ((uint64_t)16 << 10)
#define GRAIN_BYTES	4096
#define MAX_FILE_BYTES	((uint64_t)1 << 40)

/* Pieces together; larger files have larger ones. */
#define MAX_PIECES ((uint64_t)1 << 14)

void dw_file_division_free(struct file_division *division)
{
	dw_free(division->files);
	dw_free(division->pieces);
	dw_free(division->similar);
}

static bool is_large(const struct order_input *input, uint32_t number)
{
	const struct contents *contents = input->contents;
	const struct fragment *fragment = &contents->fragments[number];
	uint64_t most = input->run->options->max_similarity_bytes;

	return fragment->size >= input->block_bytes / FILE_PART &&
	       fragment->size <= MAX_FILE_BYTES && fragment->size <= most &&
	       contents->list[fragment->content].fragment_count == 1 &&
	       !contents->streams.list[fragment->stream].samples.is_known;
}

/* So that there are at most MAX_PIECES pieces of large files. */
static uint64_t choose_piece_bytes(const struct order_input *input,
				   const struct fragment_list *list)
{
	uint64_t piece_bytes = input->block_bytes / PIECE_PART, bytes = 0;

	for (size_t i = 0; i < list->count; i++)
		if (is_large(input, list->numbers[i]) &&
		    !dw_add(bytes, input->contents->fragments[list->numbers[i]].size,
			    &bytes))
			return MAX_FILE_BYTES;
	if (piece_bytes < MIN_PIECE_BYTES)
		piece_bytes = MIN_PIECE_BYTES;
	return piece_bytes > bytes / MAX_PIECES ? piece_bytes : bytes / MAX_PIECES;
}

int dw_file_division_find(const struct order_input *input,
			  const struct fragment_list *list,
			  struct file_division *division, dwarfs_error **err)
{
	const struct fragment *fragments = input->contents->fragments;
	uint64_t piece_bytes = choose_piece_bytes(input, list);
	size_t room = 0;
	int ret;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t number = list->numbers[i];

		if (!is_large(input, number) || fragments[number].size < 2 * piece_bytes)
			continue;
		if ((ret = dw_grow(&division->files, &room, division->file_count + 1,
				   err)) < 0)
			return ret;
		division->files[division->file_count++] = (struct divided){
			.number = number,
			.fragment = fragments[number],
			.count = (uint32_t)(fragments[number].size / piece_bytes),
		};
	}
	return 0;
}

uint64_t dw_file_division_bytes(const struct file_division *division)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < division->file_count; i++)
		bytes += division->files[i].fragment.size;
	return bytes;
}

/* Pieces of a file are consecutive fragments; those of later files have higher numbers. */
size_t dw_file_division_file_of(const struct file_division *division, uint32_t number)
{
	size_t low = 0, high = division->file_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (division->files[middle].first_piece <= number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

bool dw_file_division_is_follower(const struct file_division *division, uint32_t number)
{
	size_t low = 0, high = division->piece_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (division->pieces[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	return division->similar[low] != DW_NONE;
}

/* The content has the pieces instead of its fragment, which is of no stream then. */
static void use_pieces(struct file_division *division, const struct divided *file)
{
	struct contents *contents = division->contents;
	struct content *content = &contents->list[file->fragment.content];

	contents->fragments[file->number].stream = DW_NONE;
	contents->fragments[file->number].size = 0;
	content->first_fragment = file->first_piece;
	content->fragment_count = file->count;
}

void dw_file_division_use_whole(struct file_division *division,
				const struct divided *file)
{
	struct contents *contents = division->contents;
	struct content *content = &contents->list[file->fragment.content];

	contents->fragments[file->number] = file->fragment;
	content->first_fragment = file->number;
	content->fragment_count = 1;
	for (uint32_t i = 0; i < file->count; i++) {
		struct fragment *piece = &contents->fragments[file->first_piece + i];

		piece->stream = DW_NONE;
		piece->size = 0;
	}
}

void dw_file_division_undo(struct file_division *division)
{
	for (size_t i = 0; i < division->file_count; i++)
		dw_file_division_use_whole(division, &division->files[i]);
	division->contents->fragment_count = division->fragment_count;
}

/* A multiple of GRAIN_BYTES, as filters of code need, but for the end of the file. */
static uint64_t piece_offset(const struct fragment *whole, uint32_t count, uint32_t index)
{
	uint64_t offset = whole->size / count * index;

	return index < count ? offset - offset % GRAIN_BYTES : whole->size;
}

static void divide_file(struct file_division *division, struct divided *file)
{
	struct contents *contents = division->contents;
	const struct fragment whole = file->fragment;

	file->first_piece = (uint32_t)contents->fragment_count;
	for (uint32_t i = 0; i < file->count; i++) {
		uint64_t from = piece_offset(&whole, file->count, i);
		uint64_t to = piece_offset(&whole, file->count, i + 1);
		uint32_t number = (uint32_t)contents->fragment_count++;

		contents->fragments[number] = (struct fragment){
			.offset = whole.offset + from,
			.size = to - from,
			.stream = whole.stream,
			.content = whole.content,
			.group = whole.group,
		};
		division->pieces[division->piece_count++] = number;
	}
	use_pieces(division, file);
}

int dw_file_division_divide(const struct order_input *input,
			    struct file_division *division, dwarfs_error **err)
{
	struct contents *contents = input->contents;
	size_t total = 0;
	int ret;

	for (size_t i = 0; i < division->file_count; i++)
		total += division->files[i].count;
	division->pieces = dw_calloc(total, sizeof(uint32_t));
	division->similar = dw_calloc(total, sizeof(uint32_t));
	if (!division->pieces || !division->similar)
		return dw_fail_nomem(err);
	if (contents->fragment_count + total >= UINT32_MAX - 1)
		return 0;
	if ((ret = dw_grow(&contents->fragments, &contents->fragment_room,
			   contents->fragment_count + total, err)) < 0)
		return ret;
	for (size_t i = 0; i < division->file_count; i++)
		divide_file(division, &division->files[i]);
	return 0;
}
