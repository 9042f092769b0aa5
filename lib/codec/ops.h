/* SPDX-License-Identifier: MIT */
/*
 * codec/ops: the table of functions that each decoder fills in its own file.
 *
 * Only codec.c calls them; it checks their preconditions.
 */
#ifndef DW_CODEC_OPS_H
#define DW_CODEC_OPS_H

#include "codec/codec.h"

/* A payload being unpacked; see codec.h. */
struct decoder {
	const struct codec_ops *ops;
	const char *name; /* of the codec */
	struct span in;
	uint8_t *out; /* never NULL */
	size_t size, done;
	uint64_t fixed;	 /* bytes of state */
	uint64_t window; /* and bytes that grow with `done`, at most */
	void *state;
	int failed;	    /* 0, or the error; then it stays there */
	uint8_t nothing[1]; /* output of an empty payload */
};

struct codec_ops {
	/* Whether its library is there; NULL: it is linked. */
	bool (*is_usable)(void);

	/* The size announced by a payload is at its end, not in its first 64 bytes. */
	bool size_at_end;

	/* The size that a payload claims. */
	int (*unpacked_size)(struct span in, uint64_t *size_out, dwarfs_error **err);

	/* As dw_codec_unpack(); NULL if the steps below do it as well. */
	int (*unpack)(struct span in, uint8_t *out, size_t size, dwarfs_error **err);

	/*
	 * Decoding in steps; NULL if the codec cannot. start makes decoder->state, or
	 * nothing if it fails, and sets decoder->fixed and ->window. step decodes at
	 * least up to upto bytes and sets decoder->done; at the end it also checks that
	 * the payload ends there. It is not called after an error or after the end. stop
	 * frees the state.
	 */
	int (*start)(struct decoder *decoder, dwarfs_error **err);
	int (*step)(struct decoder *decoder, size_t upto, dwarfs_error **err);
	void (*stop)(struct decoder *decoder);

	/* As dw_decoder_new_fed() and dw_decoder_feed(), with stop; NULL if the codec cannot. feed
	 * sets decoder->done, and checks at the end that the payload ends there. */
	int (*start_fed)(struct decoder *decoder, dwarfs_error **err);
	int (*feed)(struct decoder *decoder, struct span piece, bool is_last,
		    dwarfs_error **err);

	/* As dw_codec_parts(), and start for a part: decoder->out and ->size are those
	 * of the part. NULL if payloads are in one piece. */
	int (*parts)(struct span in, struct codec_part **parts_out, size_t *count_out,
		     dwarfs_error **err);
	int (*start_part)(struct decoder *decoder, const struct codec_part *part,
			  dwarfs_error **err);
};

extern const struct codec_ops dw_codec_none;
extern const struct codec_ops dw_codec_lzma;
extern const struct codec_ops dw_codec_zstd;
extern const struct codec_ops dw_codec_lz4;
extern const struct codec_ops dw_codec_brotli;
extern const struct codec_ops dw_codec_flac;
extern const struct codec_ops dw_codec_ricepp;

/* The size before a payload, as a varint; see unpacked_size. */
int dw_codec_varint_size(struct span in, uint64_t *size_out, dwarfs_error **err);

#endif
