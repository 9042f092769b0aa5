/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_adapt: options of LZMA that suit the data of a block, found by packing a
 * sample.
 */
#ifndef DW_CODEC_ENCODE_LZMA_LZMA_ADAPT_H
#define DW_CODEC_ENCODE_LZMA_LZMA_ADAPT_H

#include <lzma.h>

#include "codec/encode/ops.h"

/* 0, or an error for a result of the encoder. Too little space for the output is not an error:
 * the output is discarded. */
int dw_lzma_result(lzma_ret coded, dwarfs_error **err);

/* For attempts: a coder, whose tables are kept, and an output that is dropped. */
struct lzma_probe {
	lzma_stream *stream;
	struct buffer *scratch;
	struct codec_watch *watch;
};

/*
 * The size of the data packed with the filters, without a container, or more than limit if it
 * is larger than that.
 */
int dw_lzma_count(const struct lzma_probe *probe, const lzma_filter *filters,
		  struct span in, uint64_t limit, uint64_t *bytes_out,
		  dwarfs_error **err);

/* The bits that determine the probabilities of a literal and of a symbol. */
struct lzma_contexts {
	uint8_t lc, lp, pb;
};

static inline bool dw_lzma_same_contexts(struct lzma_contexts a, struct lzma_contexts b)
{
	return a.lc == b.lc && a.lp == b.lp && a.pb == b.pb;
}

static inline void dw_lzma_set_contexts(lzma_options_lzma *options,
					struct lzma_contexts contexts)
{
	options->lc = contexts.lc;
	options->lp = contexts.lp;
	options->pb = contexts.pb;
}

struct lzma_choice {
	struct lzma_contexts contexts;
	unsigned distance; /* of differences; 0: none */
	uint32_t nice_len;
	uint64_t bytes; /* of what was packed to find it */
};

struct lzma_choices {
	struct lzma_choice best;
	struct lzma_choice plain; /* without differences */
	uint64_t saved; /* by differences in the block, by the sample, in bytes */
};

/*
 * Choose what makes samples of the block smallest. The sample consists of pieces of the block that
 * begin at multiples of 16 bytes. Differences are tried at the distance, unless that is 0.
 * full_nice_len is the default of nice_len. Samples below 256 KiB get the usual choice.
 */
int dw_lzma_adapt(const struct lzma_probe *probe, struct span block, struct span sample,
		  unsigned distance, uint32_t full_nice_len, lzma_mode mode,
		  struct lzma_choices *choices_out, dwarfs_error **err);

/* Take these contexts for a choice without differences, unless its own make the sample smaller by
 * 1 % or more. */
int dw_lzma_prefer_contexts(const struct lzma_probe *probe, struct span sample,
			    struct lzma_contexts contexts, struct lzma_choice *choice,
			    dwarfs_error **err);

/* What is chosen without a sample. */
struct lzma_choice dw_lzma_usual_choice(uint32_t nice_len);

/* Memory of attempts, without the sample, for blocks of this size, in this mode. */
uint64_t dw_lzma_adapt_memory(size_t block_bytes, lzma_mode mode);

#endif
