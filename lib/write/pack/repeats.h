/* SPDX-License-Identifier: MIT */
/*
 * write/pack/repeats: how many runs of bytes occur more than once in data.
 */
#ifndef DW_WRITE_PACK_REPEATS_H
#define DW_WRITE_PACK_REPEATS_H

#include "base/error.h"
#include "base/memory.h"

/* Runs are not longer. */
#define DW_MAX_REPEAT 24

struct repeats {
	uint64_t tested; /* runs, chosen by their contents */
	uint64_t found;	 /* that occurred before */
};

/* Memory that counting takes. */
uint64_t dw_repeats_memory(size_t data_bytes);

/* Count runs of a length, 4 to DW_MAX_REPEAT bytes, at any distance. Of old ones up to 40 % are
 * overlooked. */
int dw_repeats_count(struct span in, size_t run_bytes, struct repeats *repeats_out,
		     dwarfs_error **err);

#endif
