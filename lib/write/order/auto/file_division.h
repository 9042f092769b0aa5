/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/file_division: large files divided into pieces, which are fragments of their own
 * for as long as the order is chosen.
 */
#ifndef DW_WRITE_ORDER_AUTO_FILE_DIVISION_H
#define DW_WRITE_ORDER_AUTO_FILE_DIVISION_H

#include "write/order/order.h"

/* A file and its pieces. */
struct divided {
	uint32_t number; /* of its fragment */
	struct fragment fragment;
	uint32_t first_piece, count; /* numbers of fragments */
	bool is_similar;	     /* one of its pieces resembles one of another file */
};

struct file_division {
	struct contents *contents;
	struct divided *files; /* in storing order */
	size_t file_count;
	size_t fragment_count; /* without pieces */
	uint32_t *pieces;      /* fragments, in storing order of the files */
	uint32_t *similar; /* index of the piece that each piece resembles, or DW_NONE */
	size_t piece_count;
};

/* Find the large files of a list, of at least two pieces; `division` is zero but for contents. */
int dw_file_division_find(const struct order_input *input,
			  const struct fragment_list *list,
			  struct file_division *division, dwarfs_error **err);

/* Give each of them its pieces. There are none if fragments would have too large numbers. */
int dw_file_division_divide(const struct order_input *input,
			    struct file_division *division, dwarfs_error **err);

/* A file has no pieces any more; or no file has. */
void dw_file_division_use_whole(struct file_division *division,
				const struct divided *file);
void dw_file_division_undo(struct file_division *division);

/* Bytes of all of them. */
uint64_t dw_file_division_bytes(const struct file_division *division);

/* Index of the file of a piece. */
size_t dw_file_division_file_of(const struct file_division *division, uint32_t number);

/* Whether a piece follows one that it resembles. */
bool dw_file_division_is_follower(const struct file_division *division, uint32_t number);

void dw_file_division_free(struct file_division *division);

#endif
