/* SPDX-License-Identifier: MIT */
/*
 * codec: decompression from buffer to buffer, one file for each codec; encode/ compresses.
 *
 * Ids and payloads are those of the format. Functions are stateless and thread-safe,
 * except that a struct decoder belongs to one thread at a time.
 */
#ifndef DW_CODEC_CODEC_H
#define DW_CODEC_CODEC_H

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

/* Whether the format defines it; the ids from 0 up have no gaps. */
bool dw_codec_is_known(uint32_t id);

/* As written on the command line, such as "zstd"; a static string. */
const char *dw_codec_name(enum codec_id id);

/* Its id, by this name; false if there is none. */
bool dw_codec_find(const char *name, enum codec_id *id_out);

/* Whether the library was built with its decoder. */
bool dw_codec_can_unpack(enum codec_id id);

/* -- unpacking ----------------------------------------------------------------------- */

/* The size that a payload claims, without unpacking it. Untrusted: check it before
 * allocating. For NONE it is in.size. An lzma payload stores it at its end, so in must
 * be the whole payload. */
int dw_codec_unpacked_size(uint32_t id, struct span in, uint64_t *size_out,
			   dwarfs_error **err);

/* Unpack a whole payload to exactly size bytes. CORRUPT if it yields more or fewer
 * bytes or is damaged; UNSUPPORTED for an id that is unknown or not built in (the
 * message names it). Uses at most the memory that size and the codec's window allow. */
int dw_codec_unpack(uint32_t id, struct span in, uint8_t *out, size_t size,
		    dwarfs_error **err);

/* Whether the size that a payload announces is at its end; if not, it is in the first 64
 * bytes. */
bool dw_codec_size_at_end(uint32_t id);

/* -- unpacking step by step --------------------------------------------------------- */

/* Unpacks a payload from its start up to a requested byte, and continues from there
 * later. One thread at a time. */
struct decoder;

/* in, and out with size bytes, stay the caller's and outlive the decoder; out must not
 * be changed meanwhile. Errors are those of dw_codec_unpack(), some only in
 * dw_decoder_run(). */
int dw_decoder_new(uint32_t id, struct span in, uint8_t *out, size_t size,
		   struct decoder **decoder_out, dwarfs_error **err);
void dw_decoder_free(struct decoder *decoder);
DW_DEFINE_AUTO(decoder, struct decoder *, dw_decoder_free)
#define auto_decoder DW_AUTO(decoder)

/* Decode until upto bytes are ready, or a few more: upto is at most size. Some codecs
 * can only decode all. Checks what was needed for these bytes; everything if upto is
 * size. After an error every further call fails. */
int dw_decoder_run(struct decoder *decoder, size_t upto, dwarfs_error **err);

/* How many bytes of out are ready. */
size_t dw_decoder_done(const struct decoder *decoder);

/* Maximum memory of the decoder when `done` bytes are ready, besides in and out. */
uint64_t dw_decoder_memory(const struct decoder *decoder, size_t done);

/* -- unpacking what arrives in pieces ------------------------------------------------- */

/* Whether the codec can do that. */
bool dw_codec_can_be_fed(uint32_t id);

/* As dw_decoder_new() for such a codec, but the payload is passed by dw_decoder_feed(), from its
 * start, in pieces of any size that need not stay. After the last one, size bytes are ready, or
 * it fails. */
int dw_decoder_new_fed(uint32_t id, uint8_t *out, size_t size,
		       struct decoder **decoder_out, dwarfs_error **err);
int dw_decoder_feed(struct decoder *decoder, struct span piece, bool is_last,
		    dwarfs_error **err);

/* -- parts of a payload -------------------------------------------------------------- */

/* A part of a payload that can be unpacked independently. */
struct codec_part {
	uint64_t stored_from, stored_size; /* in the payload, without padding */
	uint64_t from, size;		   /* of the unpacked data */
};

/*
 * The parts of a payload, in order and without gaps, none of them empty: the Blocks of
 * an .xz stream with an index of several. Their total size is that of
 * dw_codec_unpacked_size(). None, with *count_out 0 and *parts_out NULL, if the payload
 * is in one piece or its index is invalid: it is then unpacked as a whole, which reports
 * the error. Fails only with NOMEM. free() them.
 *
 * The parts are claims of the payload, verified only by unpacking them. If all of them
 * succeed, so does the whole, with the same result.
 */
int dw_codec_parts(uint32_t id, struct span in, struct codec_part **parts_out,
		   size_t *count_out, dwarfs_error **err);

/* Whether payloads of this codec may have parts. */
bool dw_codec_may_have_parts(uint32_t id);

/* As dw_decoder_new(), for a part of the payload in; out has part->size bytes. in is
 * the whole payload, at the same address as before or another one, but only its first
 * bytes and the part are read. Threads: decoders of the same payload are independent. */
int dw_decoder_new_part(uint32_t id, struct span in, const struct codec_part *part,
			uint8_t *out, struct decoder **decoder_out, dwarfs_error **err);

#endif
