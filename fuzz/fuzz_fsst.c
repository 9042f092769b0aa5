/* SPDX-License-Identifier: MIT */
/*
 * fuzz_fsst: a symbol table (its length is the first byte) and a string packed with it;
 * and the whole input as strings to pack and unpack again.
 */
#include <string.h>

#include "format/fsst.h"
#include "fuzz.h"

#define MAX_STRINGS 64

static void decode(const uint8_t *data, size_t size)
{
	size_t table = data[0] < size - 1 ? data[0] : size - 1, length;
	struct fsst_decoder decoder;
	uint8_t out[300], text[300] = { 0 };
	struct span codes;
	size_t known;
	int order = 0;

	if (dw_fsst_decoder_init(&decoder, (struct span){ data + 1, table }, NULL) < 0)
		return;
	codes = (struct span){ data + 1 + table, size - 1 - table };
	length = dw_fsst_decode(&decoder, codes, out, sizeof(out));
	known = length < sizeof(out) ? length : length == SIZE_MAX ? 0 : sizeof(out);
	fuzz_use(out, known);
	if (known > sizeof(text) - 8)
		return;
	memcpy(text, out, known);
	if (!dw_fsst_compare(&decoder, codes, text, known, &order))
		fuzz_require(length == SIZE_MAX);
	else
		fuzz_require(length == SIZE_MAX || order == 0);
}

static size_t split(const uint8_t *data, size_t size, struct span *strings)
{
	size_t count = 0, length;

	while (size > 0 && count < MAX_STRINGS) {
		length = data[0] % 32u < size - 1 ? data[0] % 32u : size - 1;
		strings[count++] = (struct span){ data + 1, length };
		data += 1 + length;
		size -= 1 + length;
	}
	return count;
}

static void round_trip(const uint8_t *data, size_t size)
{
	struct buffer table = { 0 }, packed = { 0 };
	struct span strings[MAX_STRINGS];
	uint32_t lengths[MAX_STRINGS];
	struct fsst_decoder decoder;
	size_t count = split(data, size, strings), at = 0, i;
	uint8_t out[32];

	if (dw_fsst_encode(strings, count, &table, &packed, lengths, NULL) == 0) {
		fuzz_require(dw_fsst_decoder_init(&decoder, dw_buffer_span(&table),
						  NULL) == 0);
		for (i = 0; i < count; i++) {
			struct span in = { packed.data + at, lengths[i] };

			fuzz_require(dw_fsst_decode(&decoder, in, out, sizeof(out)) ==
				     strings[i].size);
			fuzz_require(memcmp(out, strings[i].data, strings[i].size) == 0);
			at += lengths[i];
		}
		fuzz_require(at == packed.size);
	}
	dw_buffer_free(&table);
	dw_buffer_free(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	decode(data, size);
	round_trip(data, size);
	return 0;
}
