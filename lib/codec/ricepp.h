/* SPDX-License-Identifier: MIT */
/*
 * codec/ricepp: the layout of a payload, for decoder and encoder; see ricepp.c.
 */
#ifndef DW_CODEC_RICEPP_H
#define DW_CODEC_RICEPP_H

#include "base/bytes.h"

#define DW_RICE_VERSION		1
#define DW_RICE_MAX_COMPONENTS	2
#define DW_RICE_MAX_BLOCK	512
#define DW_RICE_MAX_UNUSED_BITS 8
#define DW_RICE_SAMPLE_BYTES	2
#define DW_RICE_SAMPLE_BITS	16
#define DW_RICE_K_BITS		4
#define DW_RICE_K_CONSTANT	0
#define DW_RICE_K_STORED	15

/* Fields of the header. */
enum {
	DW_RICE_H_BLOCK = 1,
	DW_RICE_H_COMPONENTS,
	DW_RICE_H_BYTES,
	DW_RICE_H_UNUSED,
	DW_RICE_H_BIG_ENDIAN,
	DW_RICE_H_VERSION
};

struct rice_header {
	int64_t block, components, version;
	unsigned sample_bytes, unused_bits;
	bool big_endian;
};

static inline uint16_t dw_rice_swap_if(uint16_t word, bool swap)
{
	return swap ? dw_swap16(word) : word;
}

static inline uint16_t dw_rice_word_of(const struct rice_header *header, uint16_t value)
{
	return dw_rice_swap_if((uint16_t)(value << header->unused_bits),
			       header->big_endian);
}

static inline uint16_t dw_rice_value_of(const struct rice_header *header, uint16_t word)
{
	return (uint16_t)(dw_rice_swap_if(word, header->big_endian) >>
			  header->unused_bits);
}

/* The words of one component: from at on, every step-th, up to end. */
struct rice_words {
	size_t at, end, step;
};

#endif
