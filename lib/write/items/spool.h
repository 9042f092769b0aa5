/* SPDX-License-Identifier: MIT */
/*
 * write/items/spool: contents that cannot be read twice.
 *
 * They are written one after the other, each from its first byte to its last, and read at
 * any place once all are there. The first ones stay in memory, as far as there is room,
 * the others are in a file without a name. Holes are kept as holes; long runs of zeros
 * take no room either, but are data.
 */
#ifndef DW_WRITE_ITEMS_SPOOL_H
#define DW_WRITE_ITEMS_SPOOL_H

#include "base/memory.h"

struct spool;

/* Takes nothing over. */
int dw_spool_new(const char *directory, uint64_t memory_bytes, struct spool **spool_out,
		 dwarfs_error **err);
void dw_spool_free(struct spool *spool); /* NULL is accepted */
DW_DEFINE_AUTO(spool, struct spool *, dw_spool_free)

/* -- writing, by one thread ---------------------------------------------------------- */

/* Begin some contents. What was begun before and not ended is forgotten. */
void dw_spool_begin(struct spool *spool);

/*
 * Bytes for a place that is not in front of the end of those before; what is between is a
 * hole. NO_SPACE when the disk is full: begin again then, all that was ended stays.
 */
int dw_spool_add(struct spool *spool, const void *data, size_t bytes, uint64_t offset,
		 dwarfs_error **err);

/* Bytes that were added so far, holes included. */
uint64_t dw_spool_reached(const struct spool *spool);

/* End the contents, at least where their bytes do. Gives their number. */
int dw_spool_end(struct spool *spool, uint64_t size, uint32_t *number_out,
		 dwarfs_error **err);

/* Nobody will ask for these contents. Their room is used again where that is possible. */
void dw_spool_drop(struct spool *spool, uint32_t number);

/* Nothing more will be written. */
int dw_spool_finish(struct spool *spool, dwarfs_error **err);

/* -- reading, on any thread ---------------------------------------------------------- */

uint64_t dw_spool_size(const struct spool *spool, uint32_t number);

/* Bytes that are not in holes. */
uint64_t dw_spool_data_bytes(const struct spool *spool, uint32_t number);

/* As dw_fd_read_at(), but fewer bytes than asked for only at the end of the contents. */
int64_t dw_spool_read_at(const struct spool *spool, uint32_t number, void *buffer,
			 size_t size, uint64_t offset);

/* As dw_next_data(); cannot fail. */
void dw_spool_next_data(const struct spool *spool, uint32_t number, uint64_t from,
			uint64_t end, uint64_t *start_out, uint64_t *end_out);

/* -- what there is ------------------------------------------------------------------- */

/* Bytes of contents that are in memory, and in the file. */
uint64_t dw_spool_memory_bytes(const struct spool *spool);
uint64_t dw_spool_file_bytes(const struct spool *spool);

#endif
