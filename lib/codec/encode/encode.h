/* SPDX-License-Identifier: MIT */
/*
 * codec/encode: compression from buffer to buffer, one file for each codec.
 *
 * Functions are stateless and thread-safe, except that a struct codec (a compressor with its
 * tables) belongs to one thread at a time.
 */
#ifndef DW_CODEC_ENCODE_ENCODE_H
#define DW_CODEC_ENCODE_ENCODE_H

#include <stdatomic.h>

#include "codec/codec.h"

/* More than metadata has tables and strings, with a gap before each. */
#define DW_MAX_RECORD_RANGES 64

/* Records of one size in an input, from the end of the range before. */
struct record_range {
	size_t upto;	       /* an offset */
	uint32_t record_bytes; /* 1: bytes, or records that do not begin at bytes */
};

struct record_ranges {
	struct record_range list[DW_MAX_RECORD_RANGES];
	size_t count;
};

/* The layout of the samples of a block: audio for FLAC, images for RICEPP; unused by
 * other codecs. A block consists of whole frames: one sample of each channel. */
struct codec_samples {
	bool is_known;
	bool big_endian;
	bool is_unsigned;	  /* FLAC */
	bool lsb_padding;	  /* FLAC: unused bits are the low ones */
	uint8_t bytes_per_sample; /* FLAC 1..4, RICEPP 2 */
	uint8_t bits_per_sample;  /* FLAC: 8..32 */
	uint8_t unused_lsb_count; /* RICEPP: low bits that are always 0 */
	uint16_t channels;	  /* FLAC: channels; RICEPP: components */
};

/* The meaning of a text such as "zstd:level=19:long". Plain data, may be copied.
 * Numbers that are 0 follow from the level, as in the codec's library. */
struct codec_spec {
	enum codec_id id;
	struct codec_samples samples; /* not from the text: the layout of the input */
	int level;		      /* level or quality; 0 is a level */
	int window_log;	   /* zstd wlog, lzma dict_size, brotli lgwin: log2 of bytes */
	bool extreme;	   /* lzma */
	bool exhaustive;   /* flac */
	int block_samples; /* ricepp: samples that share a parameter */

	/* zstd: log2 of entries, of tries; bytes; search effort */
	int hash_log, chain_log, search_log;
	int min_match, target_length, strategy;
	bool adapts; /* zstd, lzma: tries other options on a sample of a block */

	/* zstd: find distant matches by a separate table */
	bool long_matches;
	int long_hash_log, long_min_match, long_bucket_log, long_rate_log;

	/* lzma */
	int bcj;	  /* LZMA_FILTER_* id of liblzma; 1: chosen by the data */
	int mode;	  /* an LZMA_MODE_* number */
	int match_finder; /* an LZMA_MF_* number */
	int check;	  /* an LZMA_CHECK_* number */
	int part_log;	  /* log2 of the bytes of an independent part; 0: all */
	int nice;	  /* length of a match in bytes that ends the search */
	int depth;	  /* candidates tried by the match finder */
};

/* Parse "null", "zstd", "zstd:level=19" ...; DWARFS_ERR_INVALID, _RANGE or
 * _UNSUPPORTED. */
int dw_codec_parse(const char *text, struct codec_spec *spec_out, dwarfs_error **err);

/* Whether the library was built with its encoder. */
bool dw_codec_can_pack(enum codec_id id);

/*
 * Name and version of a compressor's library, such as "zstd-1.5.4", for an index from 0.
 * False past the last one.
 */
bool dw_codec_library(size_t index, char *out, size_t room);

/* -- packing ------------------------------------------------------------------------- */

/* A compressor for one kind of blocks, with its working memory, used repeatedly. */
struct codec;

/*
 * block_bytes: the largest input it will be given; it sizes windows and tables. INVALID
 * for options that do not go together, and for samples that dw_samples_check() refuses.
 */
int dw_codec_new(const struct codec_spec *spec, size_t block_bytes,
		 struct codec **codec_out, dwarfs_error **err);
void dw_codec_free(struct codec *codec);
DW_DEFINE_AUTO(codec, struct codec *, dw_codec_free)
#define auto_codec DW_AUTO(codec)

/*
 * Pack a block. *id_out is the id to store. If the result would not be smaller than the
 * input it is CODEC_NONE, out is empty, and the caller stores the input. The same input
 * and spec give the same bytes whatever was packed before. out must be empty; its
 * capacity is used again.
 */
int dw_codec_pack(struct codec *codec, struct span in, struct buffer *out,
		  uint32_t *id_out, dwarfs_error **err);

/* Let a flag cancel dw_codec_pack(), with CANCELLED. Slow codecs check it between
 * slices of the input. stop outlives the codec; NULL for none. */
void dw_codec_set_stop(struct codec *codec, const atomic_bool *stop);

/* Let dw_codec_pack() add the bytes of its input to a number as they are packed; all
 * of them by its end. meter outlives the codec; NULL for none. */
void dw_codec_set_meter(struct codec *codec, atomic_uint_fast64_t *meter);

/* Say which bytes of the next inputs, all of this size, are records; NULL: not known. lzma with
 * the option adapt packs each range in the way that suits it. ranges outlive the codec. */
void dw_codec_set_records(struct codec *codec, const struct record_ranges *ranges);

/* Maximum memory of such a compressor, in bytes, for blocks of this size, besides the
 * block and the buffer for the result, which is never larger. */
uint64_t dw_codec_memory(const struct codec_spec *spec, size_t block_bytes);

/* Maximum distance of repeated bytes that the compressor finds in a block of this
 * size; 0: it finds none. */
size_t dw_codec_reach(const struct codec_spec *spec, size_t block_bytes);

/* Reduce memory by one step, that which costs least in ratio. False, and nothing
 * changes, if no step is worth it. */
bool dw_codec_shrink(struct codec_spec *spec, size_t block_bytes);

/* How long it takes, compared with the other stages of packing. */
enum codec_speed {
	CODEC_FAST,
	CODEC_MEDIUM, /* about as long as them: zstd 7 to 12 */
	CODEC_SLOW, /* so long that their time does not matter: lzma, brotli, zstd from 13 on */
};
enum codec_speed dw_codec_speed(const struct codec_spec *spec);

/* Whether it finds repeated data in a block as well as the segmenter does. */
bool dw_codec_finds_matches(const struct codec_spec *spec);

/* -- samples ------------------------------------------------------------------------- */

/* What samples are of: dw_samples_audio for FLAC, dw_samples_image for RICEPP. */
struct samples_kind;
extern const struct samples_kind dw_samples_audio, dw_samples_image;

/* The samples that a codec packs; NULL for a codec that packs bytes or is not built in. */
const struct samples_kind *dw_codec_samples(enum codec_id id);

/* Whether samples of a kind can be packed in this layout: 0, or INVALID and why. */
int dw_samples_check(const struct samples_kind *kind, const struct codec_samples *samples,
		     dwarfs_error **err);

/*
 * Append the JSON text of a layout, which images store, to out: compact, with sorted keys. A
 * NUL follows that is not counted. Fails as dw_samples_check(), or with NOMEM.
 */
int dw_samples_to_json(const struct samples_kind *kind,
		       const struct codec_samples *samples, struct buffer *out,
		       dwarfs_error **err);

/* The layout in such a text, also of another writer. What the text lacks is 0, and samples
 * that cannot be packed then are refused by dw_samples_check(). */
void dw_samples_from_json(const struct samples_kind *kind, const char *text,
			  struct codec_samples *samples_out);

#endif
