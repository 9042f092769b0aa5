/* SPDX-License-Identifier: MIT */
/*
 * api/file: reads at any offset, holes, and many threads.
 */
#include <pthread.h>
#include <unistd.h>

#include "support.h"

#define THREADS 8

/* Read a range by both functions and compare it with the file on disk. */
static void assert_range(const dwarfs_image *image, const dwarfs_file *file,
			 dwarfs_inode inode, const struct bytes *whole, uint64_t offset,
			 size_t wanted)
{
	size_t left = offset < whole->size ? whole->size - (size_t)offset : 0;
	size_t expected = wanted < left ? wanted : left, bytes = 77;
	uint8_t *buffer = malloc(wanted + 1);
	dwarfs_error *err = NULL;

	assert_non_null(buffer);
	buffer[wanted] = 0xa5;
	assert_success(dwarfs_file_read(file, buffer, wanted, offset, &bytes, &err), err);
	assert_int_equal(bytes, expected);
	if (expected)
		assert_memory_equal(buffer, whole->data + offset, expected);
	memset(buffer, 0x5a, wanted);
	assert_success(dwarfs_read(image, inode, buffer, wanted, offset, &bytes, &err),
		       err);
	assert_int_equal(bytes, expected);
	if (expected)
		assert_memory_equal(buffer, whole->data + offset, expected);
	assert_int_equal(buffer[wanted], 0xa5);
	free(buffer);
}

static void read_all_over(const struct fixture *fixture, const dwarfs_image *image,
			  const char *path)
{
	static const size_t sizes[] = { 0, 1, 7, 4096, 65535, 65536, 65537, 200000 };
	dwarfs_inode inode = find_inode(image, path);
	struct bytes whole = load(fixture, path);
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	uint64_t offset;
	size_t i;

	assert_success(dwarfs_file_open(image, inode, &file, &err), err);
	assert_int_equal(dwarfs_file_bytes(file), whole.size);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (offset = 0; offset < whole.size + 65536; offset += 65521)
			assert_range(image, file, inode, &whole, offset, sizes[i]);
	assert_range(image, file, inode, &whole, 0, whole.size + 1);
	assert_range(image, file, inode, &whole, whole.size - (whole.size > 0), 10);
	assert_range(image, file, inode, &whole, whole.size, 10);
	assert_range(image, file, inode, &whole, UINT64_MAX, 10);
	assert_range(image, file, inode, &whole, UINT64_MAX - 5, 10);
	dwarfs_file_free(file);
	free(whole.data);
}

static void reads_give_what_is_on_disk_at_any_place(void **state)
{
	static const char *const paths[] = { "big",	  "dir/copy", "dir/hard",
					     "sparse",	  "empty",    "dir/sub/deep",
					     "\xff\xfe\n" };
	static const uint64_t caches[] = { 0, 65536, 16 << 20 };
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	size_t i, j;

	for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		assert_success(dwarfs_context_new(&context, &err), err);
		assert_success(dwarfs_context_set_cache_bytes(context, caches[i], &err),
			       err);
		image = open_image(*state, context);
		for (j = 0; j < sizeof(paths) / sizeof(paths[0]); j++)
			read_all_over(*state, image, paths[j]);
		dwarfs_image_free(image);
		dwarfs_context_free(context);
	}
}

static void only_files_have_contents(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_inode dir = find_inode(image, "dir"), link = find_inode(image, "link");
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	size_t bytes = 77;
	char byte;

	assert_failure(dwarfs_read(image, dir, &byte, 1, 0, &bytes, &err),
		       DWARFS_ERR_IS_DIR, err);
	assert_failure(dwarfs_read(image, link, &byte, 1, 0, &bytes, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_read(image, dwarfs_inode_at(UINT32_MAX), &byte, 1, 0,
				   &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_file_open(image, dir, &file, &err), DWARFS_ERR_IS_DIR, err);
	assert_failure(dwarfs_file_open(image, link, &file, &err), DWARFS_ERR_INVALID,
		       err);
	assert_failure(dwarfs_file_open(image, dwarfs_inode_at(UINT32_MAX), &file, &err),
		       DWARFS_ERR_RANGE, err);
	assert_int_equal(bytes, 77);
	assert_null(file);
	dwarfs_image_free(image);
}

static dwarfs_file *open_file(const dwarfs_image *image, const char *path)
{
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_file_open(image, find_inode(image, path), &file, &err),
		       err);
	return file;
}

static void holes_are_found(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_file *file = open_file(image, "sparse");
	const uint64_t data = SPARSE_DATA_AT, end = SPARSE_DATA_AT + SPARSE_DATA_BYTES;
	dwarfs_error *err = NULL;
	uint64_t at = 77;

	assert_success(dwarfs_file_seek_hole(file, 0, &at, &err), err);
	assert_int_equal(at, 0);
	assert_success(dwarfs_file_seek_data(file, 0, &at, &err), err);
	assert_int_equal(at, data);
	assert_success(dwarfs_file_seek_data(file, data + 1, &at, &err), err);
	assert_int_equal(at, data + 1);
	assert_success(dwarfs_file_seek_hole(file, data, &at, &err), err);
	assert_int_equal(at, end);
	assert_success(dwarfs_file_seek_hole(file, end + 100, &at, &err), err);
	assert_int_equal(at, end + 100);
	at = 77;
	assert_failure(dwarfs_file_seek_data(file, end, &at, &err), DWARFS_ERR_NOT_FOUND,
		       err);
	assert_failure(dwarfs_file_seek_hole(file, SPARSE_BYTES, &at, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_file_seek_data(file, UINT64_MAX, &at, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_int_equal(at, 77);
	dwarfs_file_free(file);
	dwarfs_image_free(image);
}

static void a_file_without_holes_has_one_at_its_end(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_file *file = open_file(image, "big");
	dwarfs_error *err = NULL;
	uint64_t at;

	assert_success(dwarfs_file_seek_data(file, 5, &at, &err), err);
	assert_int_equal(at, 5);
	assert_success(dwarfs_file_seek_hole(file, 5, &at, &err), err);
	assert_int_equal(at, BIG_BYTES);
	dwarfs_file_free(file);
	file = open_file(image, "empty");
	assert_failure(dwarfs_file_seek_data(file, 0, &at, &err), DWARFS_ERR_NOT_FOUND,
		       err);
	assert_failure(dwarfs_file_seek_hole(file, 0, &at, &err), DWARFS_ERR_NOT_FOUND,
		       err);
	dwarfs_file_free(file);
	dwarfs_image_free(image);
}

static void a_damaged_block_is_never_handed_out(void **state)
{
	const struct fixture *fixture = *state;
	struct fixture damaged = *fixture;
	struct bytes whole = load(fixture, "big"), copy = { 0 };
	uint64_t offset, stored;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	uint8_t buffer[4096];
	size_t bytes, bad = 0, at;
	uint32_t i;

	append_bytes(fixture->image.data, fixture->image.size, NULL, &copy);
	damaged.image = copy;
	image = open_image(fixture, NULL);
	for (i = 0; i < dwarfs_image_block_count(image); i++) {
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_OFFSET, &offset,
				     NULL);
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_STORED_BYTES, &stored,
				     NULL);
		copy.data[offset + 64 + stored / 2] ^= 0x10;
	}
	dwarfs_image_free(image);
	image = open_image(&damaged, NULL);
	for (at = 0; at < whole.size; at += sizeof(buffer)) {
		if (dwarfs_read(image, find_inode(image, "big"), buffer, sizeof(buffer),
				at, &bytes, &err) == 0)
			assert_memory_equal(buffer, whole.data + at, bytes);
		else
			bad++;
	}
	assert_true(bad > 0);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CHECKSUM);
	dwarfs_error_free(err);
	dwarfs_image_free(image);
	free(copy.data);
	free(whole.data);
}

static void expect_named(dwarfs_error **err, const char *name, uint64_t offset)
{
	uint64_t found = 0;

	assert_int_equal(dwarfs_error_code(*err), DWARFS_ERR_CHECKSUM);
	assert_non_null(strstr(dwarfs_error_message(*err), name));
	assert_string_equal(dwarfs_error_path(*err), name);
	assert_true(dwarfs_error_offset(*err, &found) && found == offset);
	dwarfs_error_free(*err);
	*err = NULL;
}

/* The path of an error is that of the image on disk, to which the offset refers. */
static void a_damaged_block_names_the_image(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_image *image = open_image(fixture, NULL);
	struct bytes copy = { 0 };
	dwarfs_error *err = NULL;
	dwarfs_inode inode;
	uint64_t offset;
	uint8_t buffer[16];
	size_t bytes;
	char path[120];

	append_bytes(fixture->image.data, fixture->image.size, NULL, &copy);
	for (uint32_t i = 0; i < dwarfs_image_block_count(image); i++) {
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_OFFSET, &offset,
				     NULL);
		copy.data[offset + 64 + 4] ^= 0x10;
	}
	dwarfs_image_free(image);
	snprintf(path, sizeof(path), "%s/damaged", fixture->dir);
	store_path(path, copy.data, copy.size);
	assert_success(dwarfs_image_open(NULL, path, NULL, &image, &err), err);
	inode = find_inode(image, "big");
	assert_int_equal(
		dwarfs_read(image, inode, buffer, sizeof(buffer), 0, &bytes, &err),
		DWARFS_ERR_CHECKSUM);
	expect_named(&err, path, 0);
	assert_int_equal(dwarfs_read_in_order(image, &inode, 1, ignore_piece, NULL, NULL,
					      NULL, &err),
			 DWARFS_ERR_CHECKSUM);
	expect_named(&err, path, 0);
	dwarfs_image_free(image);
	unlink(path);
	free(copy.data);
}

/* -- without a copy, and many files -------------------------------------------------- */

static void borrowed_bytes_are_those_of_the_file(void **state)
{
	static const uint64_t caches[] = { 0, 65536, 16 << 20 };
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	struct bytes whole = load(*state, "big");
	dwarfs_image *image;
	size_t i, k, part, total;

	for (i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		dwarfs_borrowed *borrowed = NULL;
		dwarfs_file *file;

		assert_success(dwarfs_context_new(&context, &err), err);
		assert_success(dwarfs_context_set_cache_bytes(context, caches[i], &err),
			       err);
		image = open_image(*state, context);
		file = open_file(image, "big");
		assert_success(dwarfs_file_borrow(file, whole.size, 77, &borrowed, &err),
			       err);
		dwarfs_file_free(file);
		dwarfs_image_free(image);
		total = 0;
		for (k = 0; k < dwarfs_borrowed_count(borrowed); k++) {
			const void *data = dwarfs_borrowed_part(borrowed, k, &part);

			assert_memory_equal(data, whole.data + 77 + total, part);
			total += part;
		}
		assert_int_equal(total, whole.size - 77);
		assert_int_equal(dwarfs_borrowed_bytes(borrowed), total);
		dwarfs_borrowed_free(borrowed);
		dwarfs_context_free(context);
	}
	dwarfs_borrowed_free(NULL);
	free(whole.data);
}

static const char *const many[] = { "big",   "dir/copy",     "sparse",
				    "empty", "dir/sub/deep", "\xff\xfe\n" };
#define MANY (sizeof(many) / sizeof(many[0]))

struct gathered {
	dwarfs_inode inodes[MANY];
	struct bytes files[MANY];
	int complete[MANY];
};

static int gather(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		  dwarfs_error **err, void *user)
{
	struct gathered *gathered = user;
	size_t i;

	for (i = 0; i < MANY; i++) {
		struct bytes *file = &gathered->files[i];

		if (gathered->inodes[i].number != inode.number)
			continue;
		if (offset + bytes > file->size)
			return dwarfs_error_set(err, DWARFS_ERR_RANGE, 0, "past the end");
		if (data && memcmp(file->data + offset, data, bytes) != 0)
			return dwarfs_error_set(err, DWARFS_ERR_CORRUPT, 0,
						"wrong bytes");
		while (!data && bytes > 0)
			if (file->data[offset + --bytes] != 0)
				return dwarfs_error_set(err, DWARFS_ERR_CORRUPT, 0,
							"a hole with data");
		gathered->complete[i] += offset == file->size;
	}
	return 0;
}

static void many_files_are_read_in_the_order_of_their_data(void **state)
{
	struct gathered gathered = { 0 };
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	size_t i;

	assert_success(dwarfs_context_new(&context, &err), err);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_BUDGET),
			 512 << 20);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_USED), 0);
	image = open_image(*state, context);
	for (i = 0; i < MANY; i++) {
		gathered.inodes[i] = find_inode(image, many[i]);
		gathered.files[i] = load(*state, many[i]);
	}
	assert_success(dwarfs_read_in_order(image, gathered.inodes, MANY, gather, NULL,
					    &gathered, NULL, &err),
		       err);
	for (i = 0; i < MANY; i++)
		assert_true(gathered.complete[i] >= 1);
	/* That did not change the cache; this does. */
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_MISSES), 0);
	assert_int_equal(dwarfs_prefetch(image, gathered.inodes, MANY, &err), MANY);
	assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_MISSES) > 0);
	assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_BLOCKS) > 0);
	dwarfs_context_trim(context, 1000000);
	assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_BLOCKS) > 0);
	dwarfs_context_trim(context, 0);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_BLOCKS), 0);
	assert_int_equal(dwarfs_context_cache_count(context, DWARFS_CACHE_USED), 0);
	assert_int_equal(dwarfs_context_cache_count(context, 1000), 0);
	for (i = 0; i < MANY; i++)
		free(gathered.files[i].data);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

static uint64_t times_of(const dwarfs_context *context, int what)
{
	uint64_t sum = 0, from, until = 1;

	for (uint32_t i = 0; until > 0; i++)
		sum += dwarfs_context_latency_bucket(context, what, i, &from, &until);
	assert_int_equal(sum,
			 dwarfs_context_latency(context, what, DWARFS_LATENCY_TIMES));
	return sum;
}

/* Cached bytes are read without decoding; either all reads are timed or none. */
static void reads_are_timed_when_asked(void **state)
{
	for (int timed = 0; timed <= 1; timed++) {
		dwarfs_context *context = NULL;
		dwarfs_error *err = NULL;
		uint64_t decodes = 0;
		dwarfs_image *image;
		char buffer[100];
		size_t got;

		assert_success(dwarfs_context_new(&context, &err), err);
		assert_success(dwarfs_context_set_timing(context, timed, &err), err);
		image = open_image(*state, context);
		assert_int_equal(dwarfs_context_set_timing(context, true, NULL),
				 DWARFS_ERR_INVALID);
		for (uint64_t i = 1; i <= 5; i++) {
			assert_success(dwarfs_read(image, find_inode(image, many[0]),
						   buffer, sizeof(buffer), 0, &got, &err),
				       err);
			assert_int_equal(times_of(context, DWARFS_LATENCY_READ),
					 timed ? i : 0);
			if (i == 1)
				decodes = times_of(context, DWARFS_LATENCY_DECODE);
		}
		assert_true(timed ? decodes > 0 : decodes == 0);
		assert_int_equal(times_of(context, DWARFS_LATENCY_DECODE), decodes);
		assert_int_equal(times_of(context, DWARFS_LATENCY_LOAD), decodes);
		assert_int_equal(times_of(context, DWARFS_LATENCY_WAIT), 0);
		assert_true(dwarfs_context_latency(context, DWARFS_LATENCY_READ,
						   DWARFS_LATENCY_SUM_NS) >=
			    dwarfs_context_latency(context, DWARFS_LATENCY_DECODE,
						   DWARFS_LATENCY_SUM_NS));
		assert_true(dwarfs_context_latency_quantile(context, DWARFS_LATENCY_READ,
							    500) <=
			    dwarfs_context_latency(context, DWARFS_LATENCY_READ,
						   DWARFS_LATENCY_MOST_NS));
		dwarfs_image_free(image);
		dwarfs_context_free(context);
	}
}

/* -- what is cached ------------------------------------------------------------------ */

static void what_was_read_is_cached_until_it_is_evicted(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_file *file, *sparse;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	uint64_t size;
	size_t bytes;
	char byte;

	assert_success(dwarfs_context_new(&context, &err), err);
	image = open_image(*state, context);
	file = open_file(image, "big");
	sparse = open_file(image, "sparse");
	size = dwarfs_file_bytes(file);
	assert_false(dwarfs_file_is_cached(file, 1, 0));
	assert_false(dwarfs_file_is_cached(file, SIZE_MAX, size - 1));
	assert_true(dwarfs_file_is_cached(file, 1, size));
	assert_true(dwarfs_file_is_cached(file, SIZE_MAX, UINT64_MAX));
	assert_true(dwarfs_file_is_cached(file, 0, 0));
	assert_true(dwarfs_file_is_cached(sparse, 100, 0)); /* a hole */
	assert_false(dwarfs_file_is_cached(NULL, 1, 0));

	assert_success(dwarfs_file_read(file, &byte, 1, size - 1, &bytes, &err), err);
	assert_true(dwarfs_file_is_cached(file, 1, size - 1));
	assert_false(dwarfs_file_is_cached(file, SIZE_MAX, 0));
	for (uint64_t at = 0; at < size; at++)
		assert_success(dwarfs_file_read(file, &byte, 1, at, &bytes, &err), err);
	assert_true(dwarfs_file_is_cached(file, SIZE_MAX, 0));

	assert_success(dwarfs_context_set_cache_bytes(context, 0, &err), err);
	assert_false(dwarfs_file_is_cached(file, SIZE_MAX, 0));
	dwarfs_file_free(file);
	dwarfs_file_free(sparse);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* -- many threads -------------------------------------------------------------------- */

/* The data of a thread; it reports instead of asserting, as cmocka supports one thread
 * only. */
struct reader {
	pthread_t thread;
	const dwarfs_image *image;
	const dwarfs_file *file; /* shared by all */
	const struct bytes *big, *sparse;
	dwarfs_inode big_inode, sparse_inode;
	unsigned seed;
	const char *failure;
};

static const char *read_one(struct reader *reader, uint8_t *buffer, size_t room)
{
	unsigned random = reader->seed = reader->seed * 1103515245 + 12345;
	bool sparse = random >> 16 & 1;
	const struct bytes *whole = sparse ? reader->sparse : reader->big;
	size_t offset = (random >> 3) % whole->size, wanted = random % room, bytes;
	int ret;

	if (!sparse && random >> 17 & 1)
		ret = dwarfs_file_read(reader->file, buffer, wanted, offset, &bytes,
				       NULL);
	else
		ret = dwarfs_read(reader->image,
				  sparse ? reader->sparse_inode : reader->big_inode,
				  buffer, wanted, offset, &bytes, NULL);
	if (ret < 0)
		return dwarfs_strerror(ret);
	if (bytes != (wanted < whole->size - offset ? wanted : whole->size - offset))
		return "a wrong number of bytes";
	return memcmp(buffer, whole->data + offset, bytes) == 0 ? NULL : "wrong bytes";
}

static void *read_much(void *user)
{
	struct reader *reader = user;
	const size_t room = 150000;
	uint8_t *buffer = malloc(room);
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	int i;

	if (!buffer || dwarfs_walk_new(reader->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_DATA,
				       &walk, NULL) < 0)
		reader->failure = "no walk";
	for (i = 0; i < 150 && !reader->failure; i++) {
		reader->failure = read_one(reader, buffer, room);
		if (dwarfs_walk_next(walk, &entry, NULL) < 0)
			reader->failure = "the walk failed";
	}
	dwarfs_walk_free(walk);
	free(buffer);
	return NULL;
}

static void read_with_threads(const struct fixture *fixture, uint64_t cache_bytes)
{
	struct bytes big = load(fixture, "big"), sparse = load(fixture, "sparse");
	struct reader readers[THREADS];
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_file *file;
	unsigned i;

	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_cache_bytes(context, cache_bytes, &err), err);
	image = open_image(fixture, context);
	file = open_file(image, "big");
	for (i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .image = image,
					      .file = file,
					      .big = &big,
					      .sparse = &sparse,
					      .big_inode = find_inode(image, "big"),
					      .sparse_inode = find_inode(image, "sparse"),
					      .seed = i };
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_much, &readers[i]),
			0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(readers[i].thread, NULL);
	for (i = 0; i < THREADS; i++)
		if (readers[i].failure)
			fail_msg("thread %u: %s", i, readers[i].failure);
	dwarfs_file_free(file);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	free(big.data);
	free(sparse.data);
}

static void threads_read_at_once_without_a_cache(void **state)
{
	read_with_threads(*state, 0);
}

static void threads_read_at_once_with_room_for_one_block(void **state)
{
	read_with_threads(*state, 65536);
}

static void threads_read_at_once_with_room_for_all(void **state)
{
	read_with_threads(*state, 64 << 20);
}

static void chunks_say_where_the_bytes_are(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	static const char *const names[] = { "big", "sparse", "empty", "dir/sub/deep" };
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		dwarfs_file *file = open_file(image, names[i]);
		const uint64_t count = dwarfs_file_chunk_count(file);
		uint64_t at = 0, offset, bytes, hole;
		int64_t block;

		for (uint64_t k = 0; k < count; k++) {
			assert_success(
				dwarfs_file_chunk(file, k, &block, &offset, &bytes, &err),
				err);
			assert_true(bytes > 0);
			assert_true(block < (int64_t)dwarfs_image_block_count(image));
			assert_true(block < 0 ? offset == 0
					      : offset + bytes <= 1 << BLOCK_BITS);
			assert_success(dwarfs_file_seek_hole(file, at, &hole, &err), err);
			assert_int_equal(hole == at, block < 0);
			at += bytes;
		}
		assert_int_equal(at, dwarfs_file_bytes(file));
		assert_int_equal(count == 0, strcmp(names[i], "empty") == 0);
		block = 77;
		assert_failure(
			dwarfs_file_chunk(file, count, &block, &offset, &bytes, &err),
			DWARFS_ERR_RANGE, err);
		assert_int_equal(block, 77);
		dwarfs_file_free(file);
	}
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_say_where_the_bytes_are),
		cmocka_unit_test(reads_give_what_is_on_disk_at_any_place),
		cmocka_unit_test(only_files_have_contents),
		cmocka_unit_test(holes_are_found),
		cmocka_unit_test(a_file_without_holes_has_one_at_its_end),
		cmocka_unit_test(a_damaged_block_is_never_handed_out),
		cmocka_unit_test(a_damaged_block_names_the_image),
		cmocka_unit_test(borrowed_bytes_are_those_of_the_file),
		cmocka_unit_test(many_files_are_read_in_the_order_of_their_data),
		cmocka_unit_test(reads_are_timed_when_asked),
		cmocka_unit_test(what_was_read_is_cached_until_it_is_evicted),
		cmocka_unit_test(threads_read_at_once_without_a_cache),
		cmocka_unit_test(threads_read_at_once_with_room_for_one_block),
		cmocka_unit_test(threads_read_at_once_with_room_for_all),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
