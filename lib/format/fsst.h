/* SPDX-License-Identifier: MIT */
/*
 * format/fsst: string tables compressed with "Fast Static Symbol Table" codes.
 *
 * Each byte of a compressed string is the code of a symbol of 1 to 8 bytes; 255 precedes
 * a literal byte. fsst.c parses the layout of a symbol table. The scheme is by Boncz,
 * Neumann and Leis, "FSST: Fast Random Access String Compression", VLDB 2020.
 */
#ifndef DW_FORMAT_FSST_H
#define DW_FORMAT_FSST_H

#include "base/memory.h"

#define DW_FSST_MAX_SYMBOLS 255

struct fsst_decoder {
	unsigned count;
	uint8_t length[DW_FSST_MAX_SYMBOLS];
	uint64_t symbol[DW_FSST_MAX_SYMBOLS]; /* first byte lowest */
};

/* Parse a symbol table, which must fill bytes exactly. */
int dw_fsst_decoder_init(struct fsst_decoder *decoder, struct span bytes,
			 dwarfs_error **err);

/* Decode one string into out. Returns the length, which may exceed room: then only
 * room bytes were written. SIZE_MAX for an invalid code. */
size_t dw_fsst_decode(const struct fsst_decoder *decoder, struct span in, uint8_t *out,
		      size_t room);

/* Compare a text with an encoded string, as memcmp(); a shorter one comes first. The
 * text is followed by at least 8 zeros. False for an invalid code before the first
 * difference. */
bool dw_fsst_compare(const struct fsst_decoder *decoder, struct span codes,
		     const uint8_t *text, size_t size, int *order_out);

/* Train a symbol table on strings and compress them with it. symtab receives the
 * table, out the compressed strings, concatenated, and lengths[i] the compressed
 * length of string i. The result is the same on every machine. */
int dw_fsst_encode(const struct span *strings, size_t count, struct buffer *symtab,
		   struct buffer *out, uint32_t *lengths, dwarfs_error **err);

#endif
