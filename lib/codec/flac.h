/* SPDX-License-Identifier: MIT */
/*
 * codec/flac: the header of a payload, for decoder and encoder: a thrift struct after the
 * size, with the layout of the samples in bytes.
 */
#ifndef DW_CODEC_FLAC_H
#define DW_CODEC_FLAC_H

#define DW_FLAC_MAX_CHANNELS 8

/* Fields of the struct. */
enum { DW_FLAC_H_CHANNELS = 1, DW_FLAC_H_BITS, DW_FLAC_H_FLAGS };

/* Bits of the field of flags. */
#define DW_FLAC_FLAG_BIG_ENDIAN 0x80
#define DW_FLAC_FLAG_SIGNED	0x40
#define DW_FLAC_FLAG_LOW_PADDED 0x20
#define DW_FLAC_FLAG_BYTES	0x03 /* bytes of a sample, minus one */

#endif
