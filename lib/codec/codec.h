/* SPDX-License-Identifier: MIT */
/*
 * codec: buffer -> buffer, one file for each compressor.
 *
 * Ids and payload framing are those of the format. Stateless and thread-safe, except that
 * a struct codec (a compressor with its tables) belongs to one thread at a time.
 */
#ifndef DW_CODEC_CODEC_H
#define DW_CODEC_CODEC_H

#include <stdatomic.h>

#include "base/memory.h"

/* As stored in section headers. */
enum codec_id {
	CODEC_NONE = 0,
	CODEC_LZMA = 1,
	CODEC_ZSTD = 2,
	CODEC_LZ4 = 3,
	CODEC_LZ4HC = 4,
	CODEC_BROTLI = 5,
	CODEC_FLAC = 6,
	CODEC_RICEPP = 7,
};

/* What a text such as "zstd:level=19:long" asks for. Plain data: copy it as you like. */
struct codec_spec {
	enum codec_id id;
	int level;	     /* level or quality */
	unsigned window_log; /* lzma dict_size, brotli lgwin; 0: the codec's default */
	bool long_matches;   /* zstd long */
	bool extreme;	     /* lzma */
	unsigned bcj;	     /* lzma: an LZMA_FILTER_* id as liblzma numbers them, or 0 */
	unsigned mode;	     /* lzma: an LZMA_MODE_* number; 0 here and below: by level */
	unsigned match_finder; /* lzma: an LZMA_MF_* number */
	unsigned nice;	       /* lzma: a match this long, in bytes, is good enough */
	unsigned depth;	       /* lzma: how many candidates the match finder looks at */
};

/* "null", "zstd", "zstd:level=19" ... ; DWARFS_ERR_INVALID, _RANGE or _UNSUPPORTED. */
int dw_codec_parse(const char *text, struct codec_spec *spec_out, dwarfs_error **err);

/* Whether the library was built with it. */
bool dw_codec_can_unpack(uint32_t id);
bool dw_codec_can_pack(enum codec_id id);

/*
 * Name and version of a compressor's library, such as "zstd-1.5.4", for an index from 0.
 * False past the last one.
 */
bool dw_codec_library(size_t index, char *out, size_t room);

/* -- unpacking ----------------------------------------------------------------------- */

/*
 * The size that a payload announces, without unpacking it. Not to be trusted: check it
 * against what the caller expects before allocating. For NONE it is in.size. An lzma
 * payload keeps it at its end, so in must be the whole payload.
 */
int dw_codec_unpacked_size(uint32_t id, struct span in, uint64_t *size_out,
			   dwarfs_error **err);

/*
 * Unpack a whole payload to exactly size bytes. CORRUPT when it yields more or fewer
 * bytes or is damaged; UNSUPPORTED for an id that is unknown or not built in (the message
 * names it). No more memory is used than size and the codec's window allow.
 */
int dw_codec_unpack(uint32_t id, struct span in, uint8_t *out, size_t size,
		    dwarfs_error **err);

/* -- packing ------------------------------------------------------------------------- */

/* A compressor for blocks of one kind, with its working memory, to be used again and
 * again. */
struct codec;

/* block_bytes: the largest input it will be given; it sizes windows and tables. */
int dw_codec_new(const struct codec_spec *spec, size_t block_bytes,
		 struct codec **codec_out, dwarfs_error **err);
void dw_codec_free(struct codec *codec);
DW_DEFINE_AUTO(codec, struct codec *, dw_codec_free)
#define auto_codec DW_AUTO(codec)

/*
 * Pack a block. *id_out is the id to store. When the result would not be smaller than the
 * input it is CODEC_NONE, out is left empty, and the caller stores the input as it is.
 * The same input and spec give the same bytes whatever the codec object packed before.
 * out must be empty; its capacity is reused.
 */
int dw_codec_pack(struct codec *codec, struct span in, struct buffer *out,
		  uint32_t *id_out, dwarfs_error **err);

/*
 * Let a switch end dw_codec_pack() early, with CANCELLED. It is looked at between slices
 * of the input, by all codecs that are slow. stop outlives the codec; NULL for none.
 */
void dw_codec_set_stop(struct codec *codec, const atomic_bool *stop);

/* Working memory that one such compressor takes, about, in bytes. */
uint64_t dw_codec_memory(const struct codec_spec *spec, size_t block_bytes);

#endif
