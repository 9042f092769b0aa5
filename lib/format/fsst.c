/* SPDX-License-Identifier: MIT */
/*
 * format/fsst: decode strings by a symbol table.
 *
 * Takes an untrusted table and codes; invalid ones give an error, never an access
 * outside their bytes.
 */
#include "base/bytes.h"
#include "format/fsst.h"

#define VERSION		     UINT32_C(20190218)
#define HEADER_BYTES	     17
#define FLAG_ZERO_TERMINATED 1
#define ESCAPE		     255

/* Symbols of one length, in stored order; code 0 may be implied. */
static const uint8_t *take_symbols(struct fsst_decoder *decoder, const uint8_t *from,
				   unsigned length, unsigned count)
{
	for (unsigned i = 0; i < count; i++, from += length) {
		uint64_t symbol = 0;

		for (unsigned k = 0; k < length; k++)
			symbol |= (uint64_t)from[k] << (8 * k);
		decoder->symbol[decoder->count] = symbol;
		decoder->length[decoder->count] = (uint8_t)length;
		decoder->count++;
	}
	return from;
}

int dw_fsst_decoder_init(struct fsst_decoder *decoder, struct span bytes,
			 dwarfs_error **err)
{
	unsigned counts[9] = { 0 }, symbols = 0, implied;
	size_t expected = HEADER_BYTES;
	const uint8_t *at;

	decoder->count = 0;
	if (bytes.size < HEADER_BYTES || dw_load32(bytes.data + 4) != VERSION)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "symbol table: not one of the known version");
	implied = bytes.data[8] & FLAG_ZERO_TERMINATED;
	for (unsigned length = 1; length <= 8; length++) {
		counts[length] = bytes.data[8 + length];
		symbols += counts[length];
		expected += (size_t)length * counts[length];
	}
	if (implied && counts[1] == 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "symbol table: no terminator");
	if (symbols > DW_FSST_MAX_SYMBOLS || bytes.size != expected - implied)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "symbol table: %u symbols do not fill %zu bytes", symbols,
			       bytes.size);
	at = bytes.data + HEADER_BYTES;
	if (implied) {
		decoder->symbol[0] = 0;
		decoder->length[0] = 1;
		decoder->count = 1;
	}
	for (unsigned length = 2; length <= 8; length++)
		at = take_symbols(decoder, at, length, counts[length]);
	take_symbols(decoder, at, 1, counts[1] - implied);
	return 0;
}

size_t dw_fsst_decode(const struct fsst_decoder *decoder, struct span in, uint8_t *out,
		      size_t room)
{
	size_t size = 0;

	for (size_t i = 0; i < in.size; i++) {
		unsigned code = in.data[i], length = 1;
		uint64_t symbol;

		if (code == ESCAPE) {
			if (++i == in.size)
				return SIZE_MAX;
			symbol = in.data[i];
		} else if (code < decoder->count) {
			symbol = decoder->symbol[code];
			length = decoder->length[code];
		} else {
			return SIZE_MAX;
		}
		if (size + 8 <= room)
			dw_store64(out + size, symbol);
		else
			for (unsigned k = 0; k < length && size + k < room; k++)
				out[size + k] = (uint8_t)(symbol >> (8 * k));
		size += length;
	}
	return size;
}

/* Compare two words by their lowest byte that differs. */
static int order_of(uint64_t a, uint64_t b)
{
	unsigned shift = (unsigned)__builtin_ctzll(a ^ b) & ~7u;

	return (int)(a >> shift & 0xFF) - (int)(b >> shift & 0xFF);
}

bool dw_fsst_compare(const struct fsst_decoder *decoder, struct span codes,
		     const uint8_t *text, size_t size, int *order_out)
{
	size_t at = 0;

	for (size_t i = 0; i < codes.size && at <= size; i++) {
		unsigned code = codes.data[i], length = 1;
		uint64_t symbol, word;

		if (code == ESCAPE) {
			if (++i == codes.size)
				return false;
			symbol = codes.data[i];
		} else if (code < decoder->count) {
			symbol = decoder->symbol[code];
			length = decoder->length[code];
		} else {
			return false;
		}
		word = dw_load64(text + at) & UINT64_MAX >> (64 - 8 * length);
		if (word != symbol) {
			*order_out = order_of(word, symbol);
			return true;
		}
		at += length;
	}
	*order_out = (at < size) - (at > size);
	return true;
}
