/* SPDX-License-Identifier: MIT */
/*
 * write/order/unrelated/part_samples: which short runs of bytes are in samples of directories.
 *
 * Lines of a log, or records, may have a form in common without any long run of bytes, and under
 * names that say nothing. A codec makes use of that, so samples show it.
 */
#ifndef DW_WRITE_ORDER_UNRELATED_PART_SAMPLES_H
#define DW_WRITE_ORDER_UNRELATED_PART_SAMPLES_H

#include "write/order/order.h"

/* Of each part: pieces at even distances. */
#define PART_SAMPLES	  64
#define PART_SAMPLE_BYTES ((size_t)4 << 10)

/* Hashes of the short runs of a part, in ascending order, each once. */
struct part_sample {
	uint32_t *runs;
	size_t count, room;
};

/* Sample parts, given by the number of the part at each place of numbers, and their bytes. Files
 * that cannot be read have no samples. The caller frees each sample, also after an error. */
int dw_part_samples_take(const struct order_input *input, const uint32_t *numbers,
			 const uint32_t *part_of, size_t count,
			 const uint64_t *part_bytes, struct part_sample *samples,
			 size_t part_count, dwarfs_error **err);
void dw_part_samples_free(struct part_sample *samples, size_t part_count);

/* The number of runs that are in both. */
size_t dw_part_samples_common(const struct part_sample *a, const struct part_sample *b);

#endif
