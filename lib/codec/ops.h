/* SPDX-License-Identifier: MIT */
/*
 * codec/ops: the table of functions that each codec fills in its own file.
 *
 * Only codec.c calls these; it checks what they rely on.
 */
#ifndef DW_CODEC_OPS_H
#define DW_CODEC_OPS_H

#include "codec/codec.h"

/* One of the words an option accepts. */
struct codec_word {
	const char *text;
	int value;
};

/*
 * An option of a codec, as in "lzma:dict_size=20:extreme", and the field of struct
 * codec_spec that it sets: an int, or for a flag a bool.
 */
struct codec_option {
	const char *name;
	size_t field;			/* offset */
	bool is_flag;			/* takes no value */
	int min, max;			/* of a number */
	const struct codec_word *words; /* instead of a number; ends with a NULL text */
};
#define DW_CODEC_FIELD(name) offsetof(struct codec_spec, name)

static inline int *dw_codec_number(struct codec_spec *spec, size_t field)
{
	return (int *)((char *)spec + field);
}

/* Cancels packing, and shows its progress. */
struct codec_watch {
	const atomic_bool *stop;     /* stop flag; NULL for none */
	atomic_uint_fast64_t *meter; /* likewise */
	size_t shown;		     /* of this input, already added to the meter */
};

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
	/* For users: what can be packed, and its options; NULL if it cannot pack. */
	const char *help;

	/* The specification of a text without options, and the options; ends with a
	 * NULL name. */
	struct codec_spec defaults;
	const struct codec_option *options;

	/* The layout of the samples that it packs; NULL for a codec that packs bytes. */
	const struct samples_kind *samples;

	/* The size announced by a payload is at its end, not in its first 64 bytes. */
	bool size_at_end;

	/* Finds repeated data in a block as well as the segmenter does. */
	bool finds_matches;

	/* Compresses slowly, from this level on. */
	bool is_slow;
	int slow_from_level;

	/* Name and version of the library that does the work, such as "zstd-1.5.4"; NULL
	 * when it is this one, or another member names it. */
	void (*library)(char *out, size_t room);

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

	/* As dw_codec_parts(), and start for a part: decoder->out and ->size are those
	 * of the part. NULL if payloads are in one piece. */
	int (*parts)(struct span in, struct codec_part **parts_out, size_t *count_out,
		     dwarfs_error **err);
	int (*start_part)(struct decoder *decoder, const struct codec_part *part,
			  dwarfs_error **err);

	/* The id of packed blocks. */
	enum codec_id packs_as;

	/* Maximum distance of a match in a block, in bytes; 0: the window of the
	 * specification, or the block. */
	size_t reach;

	/* Make and free the working memory of a compressor; open may be NULL. */
	int (*open)(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		    dwarfs_error **err);
	void (*close)(void *state);

	/* Append the packed form of a non-empty block to out, which is empty. The size
	 * may be 0, or exceed that of the input, if packing does not help. A slow
	 * codec calls dw_codec_go_on() before each slice. */
	int (*pack)(void *state, struct span in, struct buffer *out,
		    struct codec_watch *watch, dwarfs_error **err);

	/* As dw_codec_memory(). */
	uint64_t (*memory)(const struct codec_spec *spec, size_t block_bytes);

	/* As dw_codec_shrink(), which checks the effect; NULL if there is no step. */
	bool (*shrink)(struct codec_spec *spec, size_t block_bytes);
};

extern const struct codec_ops dw_codec_none;
extern const struct codec_ops dw_codec_lzma;
extern const struct codec_ops dw_codec_zstd;
extern const struct codec_ops dw_codec_lz4;
extern const struct codec_ops dw_codec_lz4hc;
extern const struct codec_ops dw_codec_brotli;
extern const struct codec_ops dw_codec_flac;
extern const struct codec_ops dw_codec_ricepp;

/* Input of a slow codec between checks of the stop flag: at most about 100 ms. */
#define DW_CODEC_SLICE_BYTES ((size_t)128 << 10)

/* Report how much of the input is packed. 0, or CANCELLED if the stop flag is set. */
int dw_codec_go_on(struct codec_watch *watch, size_t done, dwarfs_error **err);

/* The size before a payload, as a varint; see unpacked_size. */
int dw_codec_varint_size(struct span in, uint64_t *size_out, dwarfs_error **err);

#endif
