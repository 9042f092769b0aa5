/* SPDX-License-Identifier: MIT */
/*
 * mutated: valid images with changed schema, metadata, history or index bytes, and with
 * matching hashes, must not cause a crash or hang. An error is not required: some changes
 * are valid.
 *
 * mutated COUNT IMAGE...
 *
 * Makes COUNT variants of each image, the same in every run.
 */
#include "exercise.h"

#include <nettle/sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define HEADER_BYTES 64u
#define SECTIONS_MAX 256u
#define SECONDS_EACH 30

struct section {
	size_t offset;
	size_t bytes; /* without the header */
	unsigned int type;
};

static char current[4096];
static uint64_t state;

static void too_slow(int signal)
{
	(void)signal;
	if (write(1, "# hangs: ", 9) < 0 || write(1, current, strlen(current)) < 0 ||
	    write(1, "\n", 1) < 0)
		_exit(98);
	_exit(99);
}

/* The generator splitmix64. */
static uint64_t next_random(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(size_t limit)
{
	return limit ? (size_t)(next_random() % limit) : 0;
}

static uint64_t little(const unsigned char *bytes, unsigned int count)
{
	uint64_t value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

static size_t find_sections(const unsigned char *image, size_t size,
			    struct section *sections)
{
	size_t offset = 0;
	size_t count = 0;

	while (count < SECTIONS_MAX && size - offset >= HEADER_BYTES) {
		uint64_t bytes = little(image + offset + 0x38, 8);

		if (memcmp(image + offset, "DWARFS\2", 7) != 0 ||
		    bytes > size - offset - HEADER_BYTES)
			return 0;
		sections[count++] = (struct section){
			.offset = offset,
			.bytes = (size_t)bytes,
			.type = (unsigned int)little(image + offset + 0x34, 2),
		};
		offset += HEADER_BYTES + (size_t)bytes;
	}
	return count;
}

static void rehash(unsigned char *image, const struct section *section)
{
	unsigned char *header = image + section->offset;
	struct sha512_256_ctx sha;
	uint64_t xxh = XXH3_64bits(header + 0x30, section->bytes + 0x10);
	unsigned int i;

	for (i = 0; i < 8; i++)
		header[0x28 + i] = (unsigned char)(xxh >> (8 * i));
	sha512_256_init(&sha);
	sha512_256_update(&sha, section->bytes + 0x18, header + 0x28);
	sha512_256_digest(&sha, 32, header + 8);
}

/* Change a few bytes in one of several ways. */
static void change(unsigned char *bytes, size_t size)
{
	static const unsigned char telling[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe };
	size_t times = 1 + below(4);

	while (times--) {
		size_t at = below(size);
		size_t run = 1 + below(size - at < 8 ? size - at : 8);

		switch (below(5)) {
		case 0:
			bytes[at] ^= (unsigned char)(1u << below(8));
			break;
		case 1:
			bytes[at] = (unsigned char)next_random();
			break;
		case 2:
			memset(bytes + at, telling[below(sizeof(telling))], run);
			break;
		case 3:
			memmove(bytes + at, bytes + below(size - run + 1), run);
			break;
		default:
			bytes[at] = (unsigned char)(bytes[at] + (below(2) ? 1 : -1));
			break;
		}
	}
}

/* Usually the tables; sometimes a block, for the codecs. */
static void pick_section(const struct section *sections, size_t count,
			 struct section *picked)
{
	bool blocks = below(4) == 0;
	size_t tries;

	for (tries = 0; tries < 100000; tries++) {
		*picked = sections[below(count)];
		if ((blocks || picked->type != DWARFS_SECTION_BLOCK) && picked->bytes > 0)
			return;
	}
	exit(99);
}

static void one_variant(const unsigned char *whole, size_t size,
			const struct section *sections, size_t count,
			unsigned int *refused)
{
	unsigned char *variant = malloc(size);
	struct outcome outcome;
	struct section section;
	dwarfs_io *io = NULL;

	if (!variant)
		exit(99);
	pick_section(sections, count, &section);
	memcpy(variant, whole, size);
	if (below(16) == 0)
		change(variant + section.offset + 0x30,
		       0x10); /* number, type, codec, length */
	else
		change(variant + section.offset + HEADER_BYTES, section.bytes);
	rehash(variant, &section);
	if (dwarfs_io_from_memory(variant, size, NULL, NULL, &io, NULL) < 0)
		exit(99);
	exercise(io, &outcome);
	dwarfs_io_free(io);
	free(variant);
	*refused += outcome_is_bad(&outcome) != 0;
}

/* @return how many variants were refused, or -1 without the image */
static int every_variant(const char *name, unsigned int variants)
{
	const char *root = getenv("DWARFS_TEST_DATA");
	struct section sections[SECTIONS_MAX];
	unsigned int refused = 0;
	unsigned char *whole;
	char path[4096];
	unsigned int i;
	size_t count;
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/images/%s.dwarfs", root ? root : ".", name);
	file = fopen(path, "rb");
	if (!file)
		return -1;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	whole = malloc((size_t)size);
	if (!whole || fread(whole, 1, (size_t)size, file) != (size_t)size)
		exit(99);
	fclose(file);
	count = find_sections(whole, (size_t)size, sections);
	if (count < 2)
		exit(99);
	for (i = 0; i < variants; i++) {
		snprintf(current, sizeof(current), "%s, variant %u", name, i);
		state = (uint64_t)i << 32 | (uint64_t)size;
		alarm(SECONDS_EACH);
		one_variant(whole, (size_t)size, sections, count, &refused);
		alarm(0);
	}
	free(whole);
	return (int)refused;
}

int main(int argc, char **argv)
{
	unsigned int variants = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, too_slow);
	for (i = 2; i < argc; i++) {
		int refused = every_variant(argv[i], variants);

		if (refused < 0) {
			printf("1..0 # SKIP no test data: set DWARFS_TEST_DATA\n");
			return 77;
		}
		/* If almost no variant is refused, the changes do not reach the data that
		 * are read. */
		printf("%sok %d - %u variants of %s\n# %d refused\n",
		       (unsigned int)refused * 10 < variants ? "not " : "", i - 1,
		       variants, argv[i], refused);
		if ((unsigned int)refused * 10 < variants)
			return 1;
	}
	printf("1..%d\n", argc - 2);
	return argc > 2 ? 0 : 2;
}
