/* SPDX-License-Identifier: MIT */
/*
 * write/items/spool: a copy of contents that can be read only once.
 *
 * Contents are appended one after the other, and can be read at any offset afterwards.
 * The first bytes are stored in memory up to a limit, the others in an unnamed temporary
 * file. Holes stay holes; long runs of zeros use no space, but are data.
 */
#ifndef DW_WRITE_ITEMS_SPOOL_H
#define DW_WRITE_ITEMS_SPOOL_H

#include "base/memory.h"

struct spool;

/* Copies the path of the directory. */
int dw_spool_new(const char *directory, uint64_t memory_bytes, struct spool **spool_out,
		 dwarfs_error **err);
void dw_spool_free(struct spool *spool); /* NULL is accepted */
DW_DEFINE_AUTO(spool, struct spool *, dw_spool_free)

/* -- writing, by one thread ---------------------------------------------------------- */

/* Begin contents. Contents that were begun and not ended are discarded. */
void dw_spool_begin(struct spool *spool);

/*
 * Add bytes at an offset at or after the end of the previous ones; a gap is a hole.
 * NO_SPACE if the disk is full: then begin again; contents that were ended are intact.
 */
int dw_spool_add(struct spool *spool, const void *data, size_t bytes, uint64_t offset,
		 dwarfs_error **err);

/* End of the bytes added so far, holes included. */
uint64_t dw_spool_reached(const struct spool *spool);

/* End the contents with at least the size of their bytes. Gives their number. */
int dw_spool_end(struct spool *spool, uint64_t size, uint32_t *number_out,
		 dwarfs_error **err);

/* Remove contents. Their space is reused if possible. */
void dw_spool_drop(struct spool *spool, uint32_t number);

/* Memory that it uses now. */
uint64_t dw_spool_memory(const struct spool *spool);

/* End writing. */
int dw_spool_finish(struct spool *spool, dwarfs_error **err);

/* -- reading, on any thread ---------------------------------------------------------- */

uint64_t dw_spool_size(const struct spool *spool, uint32_t number);

/* Bytes outside of holes. */
uint64_t dw_spool_data_bytes(const struct spool *spool, uint32_t number);

/* As dw_fd_read_at(), but fewer bytes than requested only at the end of the contents. */
int64_t dw_spool_read_at(const struct spool *spool, uint32_t number, void *buffer,
			 size_t size, uint64_t offset);

/* As dw_next_data(); cannot fail. */
void dw_spool_next_data(const struct spool *spool, uint32_t number, uint64_t from,
			uint64_t end, uint64_t *start_out, uint64_t *end_out);

/* -- statistics ---------------------------------------------------------------------- */

/* Stored bytes in memory, and in the file. */
uint64_t dw_spool_memory_bytes(const struct spool *spool);
uint64_t dw_spool_file_bytes(const struct spool *spool);

#endif
