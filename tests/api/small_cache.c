/* SPDX-License-Identifier: MIT */
#include "small_cache.h"

#include <time.h>

/* Of each file. Computed once: it took most of the time of the readers with a sanitizer. */
static uint8_t contents[GROUPS * EACH][FILE_BYTES];

/* Bytes that do not repeat in other files. */
static void fill(uint8_t *data, uint32_t file)
{
	uint32_t seed = file * 2654435761u + 1;

	for (uint32_t i = 0; i < FILE_BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (uint8_t)(seed >> 30) + 'a';
	}
}

/* Neighbours in the tree are in any blocks of their group. */
static uint32_t position_of(uint32_t file)
{
	uint32_t at = file % EACH;

	at = (at * 37 + at * at * 28) % EACH; /* a permutation, as EACH is a power of 2 */
	return file / EACH * EACH + at;
}

/* The order "revpath" compares the names of files before those of their directories. */
static void name_file(char *name, size_t room, uint32_t file)
{
	snprintf(name, room, "%06u/%06u", file, position_of(file));
}

static void make_image(struct bytes *image)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_set_order(builder, "revpath", &err), err);
	assert_success(dwarfs_builder_set_block_bits(builder, 18, &err), err);
	assert_success(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
						"zstd:level=1", &err),
		       err);
	for (uint32_t i = 0; i < GROUPS * EACH; i++) {
		char name[32];

		fill(contents[i], i);
		name_file(name, sizeof(name), i);
		add_bytes(builder, name, contents[i], FILE_BYTES);
	}
	*image = run(builder);
	dwarfs_builder_free(builder);
}

void open_world(struct world *world, uint64_t budget)
{
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	assert_success(dwarfs_context_new(&world->context, &err), err);
	assert_success(dwarfs_context_set_cache_bytes(world->context, budget, &err), err);
	assert_success(dwarfs_io_from_memory(world->image_bytes.data,
					     world->image_bytes.size, NULL, NULL, &io,
					     &err),
		       err);
	assert_success(
		dwarfs_image_open_io(world->context, io, NULL, &world->image, &err), err);
	dwarfs_io_free(io);
}

void close_world(struct world *world)
{
	dwarfs_image_free(world->image);
	dwarfs_context_free(world->context);
}

uint64_t count_of(const struct world *world, int what)
{
	return dwarfs_context_cache_count(world->context, what);
}

int find_file(const struct world *world, uint32_t file, dwarfs_inode *inode_out)
{
	dwarfs_entry entry;
	char name[32];

	name_file(name, sizeof(name), file);
	if (dwarfs_find(world->image, name, &entry, NULL) < 0)
		return -1;
	return dwarfs_entry_inode(world->image, entry, inode_out, NULL);
}

static void pause_reader(const struct reader *reader)
{
	nanosleep(&(struct timespec){ .tv_nsec = reader->pause_ns }, NULL);
}

int try_file(const struct world *world, uint32_t file)
{
	uint8_t data[FILE_BYTES + 1];
	dwarfs_inode inode;
	size_t bytes;

	return find_file(world, file, &inode) < 0 ||
	       dwarfs_read(world->image, inode, data, sizeof(data), 0, &bytes, NULL) <
		       0 ||
	       bytes != FILE_BYTES || memcmp(data, contents[file], FILE_BYTES) != 0;
}

/* Whether the parts of a file are right. */
static bool are_right(const dwarfs_borrowed *borrowed, const uint8_t *expected)
{
	size_t done = 0, bytes;

	for (size_t i = 0; i < dwarfs_borrowed_count(borrowed); i++, done += bytes) {
		const void *part = dwarfs_borrowed_part(borrowed, i, &bytes);

		if (!part || bytes > FILE_BYTES - done ||
		    memcmp(part, expected + done, bytes) != 0)
			return false;
	}
	return done == FILE_BYTES;
}

/* As try_file(); the bytes must not change while they are borrowed. */
static int borrow_file(const struct reader *reader, uint32_t file, bool pauses)
{
	const struct world *world = reader->world;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *opened = NULL;
	dwarfs_inode inode;
	bool right;

	right = find_file(world, file, &inode) == 0 &&
		dwarfs_file_open(world->image, inode, &opened, NULL) == 0 &&
		dwarfs_file_borrow(opened, FILE_BYTES + 1, 0, &borrowed, NULL) == 0 &&
		are_right(borrowed, contents[file]);
	if (right && pauses)
		pause_reader(reader);
	right = right && are_right(borrowed, contents[file]);
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(opened);
	return !right;
}

/* Before the reader's file number i, in the order in which it reads. */
static bool is_done(const struct reader *reader, uint32_t i)
{
	return i >= reader->count || (reader->others && atomic_load(reader->others) == 0);
}

static void read_next(struct reader *reader, uint32_t i)
{
	const uint32_t file = (reader->first + i) % (GROUPS * EACH);
	const bool pauses = reader->pause_every && i % reader->pause_every == 0;

	if (reader->may_go_on && i == reader->stops_at)
		sem_wait(reader->may_go_on);
	if (pauses && !reader->borrows)
		pause_reader(reader);
	reader->wrong |= reader->borrows ? borrow_file(reader, file, pauses)
					 : try_file(reader->world, file);
	reader->files_read++;
}

void *read_files(void *argument)
{
	struct reader *reader = argument;
	uint32_t i = reader->next ? atomic_fetch_add(reader->next, 1) : 0;

	while (!is_done(reader, i)) {
		read_next(reader, i);
		i = reader->next ? atomic_fetch_add(reader->next, 1) : i + 1;
	}
	if (reader->left)
		atomic_fetch_sub(reader->left, 1);
	return NULL;
}

void read_by_all(struct reader *readers)
{
	for (uint32_t i = 0; i < READERS; i++)
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_files, &readers[i]),
			0);
	for (uint32_t i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].wrong, 0);
	}
}

int setup_small_cache(void **state)
{
	struct bytes *image = calloc(1, sizeof(*image));

	make_image(image);
	*state = image;
	return 0;
}

int teardown_small_cache(void **state)
{
	free(((struct bytes *)*state)->data);
	free(*state);
	return 0;
}
