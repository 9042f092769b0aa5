/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/ops: the table of functions that each encoder fills in its own file.
 *
 * Only encode.c calls them; it checks their preconditions.
 */
#ifndef DW_CODEC_ENCODE_OPS_H
#define DW_CODEC_ENCODE_OPS_H

#include "codec/encode/encode.h"

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

struct encoder_ops {
	/* For users: what can be packed, and its options. */
	const char *help;

	/* The specification of a text without options, and the options; ends with a
	 * NULL name. */
	struct codec_spec defaults;
	const struct codec_option *options;

	/* The layout of the samples that it packs; NULL for a codec that packs bytes. */
	const struct samples_kind *samples;

	/* Finds repeated data in a block as well as the segmenter does. */
	bool finds_matches;

	/* Compresses slowly, from this level on, and at medium speed from another one on. */
	bool is_slow;
	int slow_from_level, medium_from_level;

	/* Whether its library is there: 0 or an error; NULL: it is linked. */
	int (*check_usable)(dwarfs_error **err);

	/* Name and version of the library that does the work, such as "zstd-1.5.4"; NULL
	 * when it is this one, or another member names it. */
	void (*library)(char *out, size_t room);

	/* The id of packed blocks. */
	enum codec_id packs_as;

	/* Maximum distance of a match in a block of this size, in bytes, which may be more
	 * than the block has; NULL: the block. */
	size_t (*reach)(const struct codec_spec *spec, size_t block_bytes);

	/* Make and free the working memory of a compressor; open may be NULL. */
	int (*open)(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		    dwarfs_error **err);
	void (*close)(void *state);

	/* As dw_codec_set_records(); NULL if it makes no use of that. */
	void (*set_records)(void *state, const struct record_ranges *records);

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

extern const struct encoder_ops dw_encoder_none;
extern const struct encoder_ops dw_encoder_lzma;
extern const struct encoder_ops dw_encoder_zstd;
extern const struct encoder_ops dw_encoder_lz4;
extern const struct encoder_ops dw_encoder_lz4hc;
extern const struct encoder_ops dw_encoder_brotli;
extern const struct encoder_ops dw_encoder_flac;
extern const struct encoder_ops dw_encoder_ricepp;

/* Input of a slow codec between checks of the stop flag: at most about 100 ms. */
#define DW_CODEC_SLICE_BYTES ((size_t)128 << 10)

/* Report how much of the input is packed. 0, or CANCELLED if the stop flag is set. */
int dw_codec_go_on(struct codec_watch *watch, size_t done, dwarfs_error **err);

/* Fill a sample with pieces of a block, whose number is a multiple of 4, at equal distances that
 * are multiples of 16 bytes. Each quarter of the sample is from all over the block, which is at
 * least as large as all pieces. */
int dw_codec_take_sample(struct span in, size_t count, size_t piece_bytes,
			 struct buffer *sample, dwarfs_error **err);

#endif
