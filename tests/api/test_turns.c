/* SPDX-License-Identifier: MIT */
/*
 * api/turns: of threads that read random places of files next to each other, with a cache
 * of two blocks, each reads on.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "items.h"

#define FILES	   24u
#define FILE_BYTES (UINT32_C(1) << 15)
#define READ_BYTES 4096u
#define BITS	   18u
#define BUDGET	   400000
#define THREADS	   3u
#define FEW_READS  200u
#define MANY_READS 20000u

struct reader {
	pthread_t thread;
	const dwarfs_image *image;
	uint32_t first_file, reads;
	const atomic_uint *others; /* that still read; NULL: it reads FEW_READS times */
	atomic_uint *left;
	int wrong;
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void fill(uint8_t *data, uint32_t file)
{
	uint32_t seed = file + 1;

	for (uint32_t i = 0; i < FILE_BYTES; i++)
		data[i] = (uint8_t)(next_random(&seed) >> 20) + 'a';
}

static struct bytes make_image(void)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	uint8_t data[FILE_BYTES];
	struct bytes image;

	assert_success(dwarfs_builder_set_order(builder, "path", &err), err);
	assert_success(dwarfs_builder_set_block_bits(builder, BITS, &err), err);
	assert_success(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
						"zstd:level=1", &err),
		       err);
	for (uint32_t i = 0; i < FILES; i++) {
		char name[8];

		fill(data, i);
		snprintf(name, sizeof(name), "%02u", i);
		add_bytes(builder, name, data, sizeof(data));
	}
	image = run(builder);
	dwarfs_builder_free(builder);
	return image;
}

/* 0 if the bytes are right; no assertions, which belong to the main thread. */
static int read_at(const dwarfs_image *image, uint32_t file, uint32_t offset)
{
	uint8_t data[READ_BYTES], expected[FILE_BYTES];
	dwarfs_entry entry;
	dwarfs_inode inode;
	char name[8];
	size_t bytes;

	fill(expected, file);
	snprintf(name, sizeof(name), "%02u", file);
	return dwarfs_find(image, name, &entry, NULL) < 0 ||
	       dwarfs_entry_inode(image, entry, &inode, NULL) < 0 ||
	       dwarfs_read(image, inode, data, sizeof(data), offset, &bytes, NULL) < 0 ||
	       bytes != sizeof(data) || memcmp(data, expected + offset, bytes) != 0;
}

static void *read_randomly(void *argument)
{
	struct reader *reader = argument;
	const uint32_t most = reader->others ? MANY_READS : FEW_READS;
	uint32_t seed = reader->first_file + 1;

	while (reader->reads < most && (!reader->others || atomic_load(reader->others))) {
		uint32_t file = next_random(&seed) % (FILES / THREADS);
		uint32_t at = next_random(&seed) % (FILE_BYTES / READ_BYTES);

		reader->wrong |= read_at(reader->image, reader->first_file + file,
					 at * READ_BYTES);
		reader->reads++;
	}
	if (reader->left)
		atomic_fetch_sub(reader->left, 1);
	return NULL;
}

/* Each of them reads one block, and is at most a few files from the position of the others. */
static void a_thread_at_a_low_position_does_not_stop_the_others(void **state)
{
	struct bytes bytes = make_image();
	struct reader readers[THREADS];
	dwarfs_context *context;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	atomic_uint others = THREADS - 1;
	dwarfs_io *io;

	(void)state;
	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_cache_bytes(context, BUDGET, &err), err);
	assert_success(
		dwarfs_io_from_memory(bytes.data, bytes.size, NULL, NULL, &io, &err),
		err);
	assert_success(dwarfs_image_open_io(context, io, NULL, &image, &err), err);
	for (uint32_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .image = image,
					      .first_file = i * (FILES / THREADS),
					      .others = i == 0 ? &others : NULL,
					      .left = i == 0 ? NULL : &others };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_randomly,
						&readers[i]),
				 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].wrong, 0);
	}
	print_message("# %u reads of the first thread, %llu waits\n", readers[0].reads,
		      (unsigned long long)dwarfs_context_cache_count(
			      context, DWARFS_CACHE_TURN_WAITS));
	assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_TURN_WAITS) > 0);
	/* The others were done first. */
	assert_true(readers[0].reads < MANY_READS);
	dwarfs_io_free(io);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_at_a_low_position_does_not_stop_the_others),
	};

	if (!dwarfs_has_codec("zstd")) {
		printf("1..0 # SKIP built without zstd\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
