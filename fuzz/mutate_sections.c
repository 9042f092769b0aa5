/* SPDX-License-Identifier: MIT */
/*
 * mutate_sections: change an image inside its sections and recompute their hashes.
 *
 * A reader verifies the hash of a section before it uses the payload, so an arbitrary
 * change gets no further than that. This mutator uses the headers of version 2 (64 bytes:
 * magic, version, SHA-512/256, XXH3 at 0x28 over everything from 0x30 on, length at
 * 0x38), without the library.
 */
#include <string.h>
#include <xxhash.h>

#include "fuzz.h"
#include "image_mode.h"

#define HEADER_BYTES 64
#define XXH3_AT	     0x28
#define XXH3_FROM    0x30
#define LENGTH_AT    0x38
#define MAX_SECTIONS 256

struct section {
	size_t at;
	size_t length; /* after the header */
};

static uint64_t load64(const uint8_t *from)
{
	uint64_t value = 0;
	int i;

	for (i = 7; i >= 0; i--)
		value = value << 8 | from[i];
	return value;
}

static void store64(uint8_t *to, uint64_t value)
{
	int i;

	for (i = 0; i < 8; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

/* The sections from the first magic on, up to the first invalid header. */
static size_t find_sections(const uint8_t *data, size_t size, struct section *sections)
{
	const uint8_t *start = memmem(data, size, "DWARFS\2", 7);
	size_t at = start ? (size_t)(start - data) : size, count = 0;
	uint64_t length;

	while (count < MAX_SECTIONS && size - at >= HEADER_BYTES &&
	       memcmp(data + at, "DWARFS", 6) == 0) {
		length = load64(data + at + LENGTH_AT);
		if (length > size - at - HEADER_BYTES)
			break;
		sections[count++] = (struct section){ at, (size_t)length };
		at += HEADER_BYTES + (size_t)length;
	}
	return count;
}

static void set_hash(uint8_t *data, const struct section *section)
{
	store64(data + section->at + XXH3_AT,
		XXH3_64bits(data + section->at + XXH3_FROM,
			    HEADER_BYTES - XXH3_FROM + section->length));
}

/* Mutate the payload of a section, and move the data after it. Returns the new size.
 */
static size_t change(uint8_t *data, size_t size, size_t room, struct section *section)
{
	size_t from = section->at + HEADER_BYTES, behind = size - from - section->length;
	size_t most = section->length + (room - size), length;
	uint8_t *payload = calloc(1, most);

	if (!payload)
		return size;
	memcpy(payload, data + from, section->length);
	length = LLVMFuzzerMutate(payload, section->length, most);
	memmove(data + from + length, data + from + section->length, behind);
	memcpy(data + from, payload, length);
	free(payload);
	section->length = length;
	store64(data + section->at + LENGTH_AT, length);
	return from + length + behind;
}

/* Occasionally another mode of opening it. */
static size_t change_mode(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	const int has_mode =
		size >= MODE_BYTES && memcmp(data + size - MODE_BYTES, MODE_MARK, 2) == 0;

	if (seed % 4 != 0 || (!has_mode && room - size < MODE_BYTES))
		return size;
	if (!has_mode)
		size += MODE_BYTES;
	memcpy(data + size - MODE_BYTES, MODE_MARK, 2);
	data[size - 2] = (uint8_t)(seed >> 2);
	data[size - 1] = (uint8_t)((seed >> 10) * 37 + seed);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	struct section sections[MAX_SECTIONS];
	size_t count, i;

	if (seed % 16 == 0)
		size = LLVMFuzzerMutate(data, size, room);
	count = find_sections(data, size, sections);
	if (count == 0)
		return LLVMFuzzerMutate(data, size, room);
	i = (seed >> 4) % count;
	if (sections[i].length > 0 && room > size)
		size = change(data, size, room, &sections[i]);
	count = find_sections(data, size, sections);
	for (i = 0; i < count; i++)
		set_hash(data, &sections[i]);
	return change_mode(data, size, room, seed >> 16);
}
