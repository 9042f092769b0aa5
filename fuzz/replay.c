/* SPDX-License-Identifier: MIT */
/*
 * replay: run a harness over files, without a fuzzer.
 *
 *     NAME [-mutate=COUNT] FILE|DIRECTORY...
 *
 * A directory means all regular files in and below it. With -mutate each file is
 * also run COUNT times with pseudo-random changes, by the mutator of the harness if it
 * has one. Exits with 77 if there is no file.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define MAX_BYTES   (4u << 20) /* larger files are left out */
#define MAX_MUTATED (32u << 10)
#define GROWTH	    64
#define MAX_CHANGES 4

#pragma weak LLVMFuzzerCustomMutator

static struct {
	unsigned mutations;
	unsigned files;
	unsigned inputs;
	int failed;
	uint64_t random;
} replay = { .random = 1 };

static uint64_t next_random(void)
{
	replay.random ^= replay.random << 13;
	replay.random ^= replay.random >> 7;
	replay.random ^= replay.random << 17;
	return replay.random;
}

/* Change a few bytes or words, insert or remove some. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room)
{
	unsigned changes = 1 + next_random() % MAX_CHANGES;
	size_t at, count;

	while (changes-- > 0 && size > 0) {
		at = next_random() % size;
		count = 1 + next_random() % 8;
		switch (next_random() % 8) {
		case 0:
			if (room - size < count)
				break;
			memmove(data + at + count, data + at, size - at);
			size += count;
			break;
		case 1:
			if (size - at < count)
				break;
			memmove(data + at, data + at + count, size - at - count);
			size -= count;
			break;
		case 2:
			memset(data + at, next_random() % 2 ? 0xff : 0,
			       count < size - at ? count : size - at);
			break;
		case 3:
			data[at] = (uint8_t)next_random();
			break;
		default:
			data[at] ^= (uint8_t)(1 << next_random() % 8);
		}
	}
	return size;
}

/* Run a copy of exactly the right size, so that reading past its end is detected. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy) {
		replay.failed = 1;
		return;
	}
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	replay.inputs++;
}

static void run_mutated(const uint8_t *data, size_t size, uint8_t *changed)
{
	size_t room = size + GROWTH, changed_size;
	unsigned seed = (unsigned)next_random();

	memcpy(changed, data, size);
	if (LLVMFuzzerCustomMutator)
		changed_size = LLVMFuzzerCustomMutator(changed, size, room, seed);
	else
		changed_size = LLVMFuzzerMutate(changed, size, room);
	run(changed, changed_size);
}

static int replay_file(const char *path, const struct stat *stat, int type,
		       struct FTW *ftw)
{
	uint8_t *data, *changed;
	size_t size;
	FILE *file;
	unsigned i;

	if (type != FTW_F || !S_ISREG(stat->st_mode) || stat->st_size > MAX_BYTES)
		return 0;
	size = (size_t)stat->st_size;
	data = malloc(size + 1);
	changed = calloc(1, size + GROWTH);
	file = fopen(path, "rb");
	if (!data || !changed || !file || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		replay.failed = 1;
	} else {
		replay.files++;
		run(data, size);
		for (i = 0; i < replay.mutations && size <= MAX_MUTATED; i++)
			run_mutated(data, size, changed);
	}
	if (file)
		fclose(file);
	free(changed);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strncmp(argv[i], "-mutate=", 8) == 0)
			replay.mutations = (unsigned)strtoul(argv[i] + 8, NULL, 10);
		else if (nftw(argv[i], replay_file, 16, FTW_PHYS) != 0 &&
			 errno != ENOENT) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			replay.failed = 1;
		}
	}
	printf("%u inputs from %u files\n", replay.inputs, replay.files);
	if (replay.failed)
		return 1;
	return replay.files ? 0 : 77;
}
