/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/chunk_cost: the size of chunks in the metadata.
 *
 * Orders differ in the number of chunks by a third and more. A chunk takes 1.7 to 3 bytes of
 * compressed metadata, as measured with several sets, and 6 bytes of other metadata.
 */
#include "base/bytes.h"
#include "write/order/auto/chunk_cost.h"

static unsigned count_bits(uint64_t most)
{
	unsigned bits = 0;

	while (bits < 64 && most >> bits != 0)
		bits++;
	return bits;
}

void dw_chunk_bits(const struct chunks *chunks, struct chunk_bits *bits_out)
{
	uint64_t block = 0, offset = 0, size = 0;

	for (size_t i = 0; i < chunks->count; i++) {
		if (chunks->list[i].block == DW_NONE)
			continue;
		block |= chunks->list[i].block;
		offset |= chunks->list[i].offset;
		size |= chunks->list[i].size;
	}
	bits_out->block = count_bits(block);
	bits_out->offset = count_bits(offset);
	bits_out->size = count_bits(size);
}

uint64_t dw_chunks_bytes(const struct chunks *chunks, const struct chunk_bits *bits)
{
	return ((uint64_t)chunks->count * (bits->block + bits->offset + bits->size) + 7) /
	       8;
}

static int pack_piece(struct codec *codec, struct buffer *in, struct buffer *out,
		      uint64_t *bytes, dwarfs_error **err)
{
	uint32_t id;
	int ret;

	out->size = 0;
	if ((ret = dw_codec_pack(codec, dw_buffer_span(in), out, &id, err)) < 0)
		return ret;
	*bytes += id == CODEC_NONE ? in->size : out->size;
	in->size = 0;
	return 0;
}

/* Codecs find repeated bytes, not bits: each chunk takes whole bytes, at most eight; bits beyond
 * these are lost, as the size is an estimate. */
int dw_chunks_packed_bytes(const struct chunks *chunks, const struct chunk_bits *bits,
			   const struct codec_spec *spec, size_t piece_bytes,
			   uint64_t *bytes_out, dwarfs_error **err)
{
	unsigned all_bits = bits->block + bits->offset + bits->size;
	size_t chunk_bytes = all_bits > 56 ? sizeof(uint64_t) : (all_bits + 7) / 8;
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer in = { 0 }, out = { 0 };
	int ret;

	*bytes_out = 0;
	if (chunk_bytes == 0)
		return 0;
	if (piece_bytes / chunk_bytes > chunks->count)
		piece_bytes = chunks->count * chunk_bytes;
	if ((ret = dw_buffer_reserve(&in, piece_bytes + sizeof(uint64_t), err)) < 0 ||
	    (ret = dw_codec_new(spec, piece_bytes + sizeof(uint64_t), &codec, err)) < 0)
		return ret;
	for (size_t i = 0; i < chunks->count; i++) {
		const struct chunk *chunk = &chunks->list[i];

		if (chunk->block == DW_NONE)
			continue;
		dw_store64(in.data + in.size,
			   chunk->block | (uint64_t)chunk->offset << bits->block |
				   (uint64_t)chunk->size
					   << (bits->block + bits->offset) % 64);
		in.size += chunk_bytes;
		if (in.size >= piece_bytes &&
		    (ret = pack_piece(codec, &in, &out, bytes_out, err)) < 0)
			return ret;
	}
	return in.size > 0 ? pack_piece(codec, &in, &out, bytes_out, err) : 0;
}
