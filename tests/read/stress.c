/* SPDX-License-Identifier: MIT */
/*
 * stress: many threads read from several images in two contexts, all at once.
 *
 *	stress [SECONDS [THREADS]]
 *
 * Makes a tree whose contents follow from a number for each file, packs it in several
 * ways, damages one block of one image, and then reads at random by every reading
 * function, while images are opened and closed and caches are emptied. All bytes read
 * must be right; reads of the damaged block must always fail, and no others. One context
 * has a very small budget. Neither may ever exceed its budget, and after everything is
 * freed no memory may be in use.
 *
 * Without SECONDS, those of DWARFS_STRESS_SECONDS, or 3. Uses public headers only.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#include "../support/temporary.h"

#define SMALL_BUDGET (UINT64_C(8) << 20)
#define LARGE_BUDGET (UINT64_C(64) << 20)
#define FILES	     160
#define BUFFER_BYTES (3u << 20) /* the largest file fits */
#define POCKETS	     3
#define MAX_TOGETHER 6

static _Atomic(uint64_t) wrong;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	if (atomic_fetch_add(&wrong, 1) > 20)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

__attribute__((noreturn)) static void give_up(const char *what, const dwarfs_error *error)
{
	fprintf(stderr, "stress: %s: %s\n", what,
		error ? dwarfs_error_message(error) : strerror(errno));
	exit(2);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static uint64_t next(uint64_t *state)
{
	return mix(*state += UINT64_C(0x9E3779B97F4A7C15));
}

/* -- the tree ------------------------------------------------------------------------ */

struct item {
	char path[64];
	size_t bytes;
	uint64_t seed;
	size_t hole_from, hole_end; /* zeros, stored as holes */
};

static struct item items[FILES];
static char directory[TEMPORARY_BYTES];

/* The contents of the file at an offset: words of 8 bytes that repeat, and noise. */
static void fill(const struct item *item, size_t from, size_t bytes, uint8_t *out)
{
	const size_t end = from + bytes;

	for (size_t at = from; at < end;) {
		const size_t next_word = at / 8 * 8 + 8;
		const size_t stop = next_word < end ? next_word : end;
		uint64_t word = mix(item->seed + at / 8);

		if (word % 8)
			word = mix(word % 37);
		for (; at < stop; at++)
			out[at - from] = (uint8_t)(word >> at % 8 * 8);
	}
	for (size_t at = from > item->hole_from ? from : item->hole_from;
	     at < end && at < item->hole_end; at++)
		out[at - from] = 0;
}

static void describe(int number)
{
	static const size_t sizes[] = { 0,     1,     100,    3000,   4096,
					20000, 65536, 150000, 400000, 1000 };
	struct item *item = &items[number];

	snprintf(item->path, sizeof(item->path), "dir%d/file%03d", number / 16, number);
	item->seed = (uint64_t)(number % 50) << 32;
	item->bytes = sizes[number % 10] + (size_t)number;
	if (number == 77)
		item->bytes = BUFFER_BYTES - 1000;
	if (number % 40 == 18) {
		item->bytes = 1 << 20;
		item->hole_from = 128 << 10;
		item->hole_end = 768 << 10;
	}
}

static void store(int number, uint8_t *buffer)
{
	const struct item *item = &items[number];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/tree/dir%d", directory, number / 16);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		give_up(path, NULL);
	snprintf(path, sizeof(path), "%s/tree/%.60s", directory, item->path);
	fill(item, 0, item->bytes, buffer);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)item->bytes) < 0)
		give_up(path, NULL);
	for (size_t at = 0; at < item->bytes;) {
		size_t end = at < item->hole_from ? item->hole_from : item->bytes;

		if (at >= item->hole_from && at < item->hole_end) {
			at = item->hole_end;
			continue;
		}
		if (pwrite(fd, buffer + at, end - at, (off_t)at) != (ssize_t)(end - at))
			give_up(path, NULL);
		at = end;
	}
	close(fd);
}

static void make_tree(void)
{
	uint8_t *buffer = malloc(BUFFER_BYTES);
	char path[256];

	if (!buffer || !temporary_folder(directory, "dwarfs-stress"))
		give_up("a temporary directory", NULL);
	snprintf(path, sizeof(path), "%s/tree", directory);
	if (mkdir(path, 0755) < 0)
		give_up(path, NULL);
	for (int i = 0; i < FILES; i++) {
		describe(i);
		store(i, buffer);
	}
	free(buffer);
}

static int remove_entry(const char *path, const struct stat *stat, int type,
			struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* -- the images ---------------------------------------------------------------------- */

/* One way to pack the tree, and to open the image. */
struct kind {
	const char *codec;
	uint32_t block_bits;
	int verify;
	bool is_damaged;
	bool is_costly; /* a decoder takes more than the small budget */
};

static const struct kind kinds[] = {
	{ "zstd:level=3", 16, DWARFS_VERIFY_EAGER },
	{ "zstd:level=3", 20, DWARFS_VERIFY_EAGER },
	{ "zstd:level=3", 19, DWARFS_VERIFY_LAZY },
	{ "lzma:level=1", 18, DWARFS_VERIFY_EAGER },
	{ "brotli:quality=2", 17, DWARFS_VERIFY_EAGER, .is_costly = true },
	{ "lz4", 17, DWARFS_VERIFY_LAZY },
	{ "null", 18, DWARFS_VERIFY_EAGER },
	{ "zstd:level=3", 18, DWARFS_VERIFY_EAGER, .is_damaged = true },
	{ "zstd:level=3", 18, DWARFS_VERIFY_LAZY, .is_damaged = true },
	{ "null", 18, DWARFS_VERIFY_EAGER, .is_damaged = true },
};
#define KINDS	 (int)(sizeof(kinds) / sizeof(kinds[0]))
#define CONTEXTS 2

struct source {
	const struct kind *kind;
	char path[128];
	dwarfs_inode inodes[FILES];
	bool is_bad[FILES]; /* it cannot be read as a whole */
	dwarfs_image *images[CONTEXTS];
};

static struct source sources[KINDS];
static int source_count;
static dwarfs_context *contexts[CONTEXTS];

static dwarfs_image *open_source(const struct source *source, dwarfs_context *context)
{
	dwarfs_image_options *options;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	if (dwarfs_image_options_new(&options, &err) < 0)
		give_up("options", err);
	dwarfs_image_options_set_verify(options, source->kind->verify);
	if (dwarfs_image_open(context, source->path, options, &image, &err) < 0)
		give_up(source->path, err);
	dwarfs_image_options_free(options);
	return image;
}

/* Change a byte in the middle of the block in the middle. */
static void damage(const struct source *source)
{
	dwarfs_image *image = open_source(source, NULL);
	uint32_t block = dwarfs_image_block_count(image) / 2;
	uint64_t offset, bytes;
	uint8_t byte;
	int fd = open(source->path, O_RDWR | O_CLOEXEC);

	/* Blocks come first, so a block's number is that of its section. */
	if (dwarfs_image_section(image, block, DWARFS_SECTION_FIELD_OFFSET, &offset,
				 NULL) < 0 ||
	    dwarfs_image_section(image, block, DWARFS_SECTION_FIELD_STORED_BYTES, &bytes,
				 NULL) < 0 ||
	    fd < 0 || pread(fd, &byte, 1, (off_t)(offset + 64 + bytes / 2)) != 1)
		give_up("damaging a block", NULL);
	dwarfs_image_free(image);
	byte ^= 0x40;
	if (pwrite(fd, &byte, 1, (off_t)(offset + 64 + bytes / 2)) != 1)
		give_up("damaging a block", NULL);
	close(fd);
}

/* With one thread, in order: which files are intact. */
static void inspect(struct source *source, uint8_t *buffer, uint8_t *expected)
{
	const struct kind whole = { .verify = DWARFS_VERIFY_EAGER };
	struct source eager = { .kind = &whole };
	dwarfs_image *image;
	int bad = 0;

	memcpy(eager.path, source->path, sizeof(eager.path));
	image = open_source(&eager, NULL);
	for (int i = 0; i < FILES; i++) {
		dwarfs_error *err = NULL;
		dwarfs_entry entry;
		size_t bytes = 0;
		int ret;

		if (dwarfs_find(image, items[i].path, &entry, &err) < 0 ||
		    dwarfs_entry_inode(image, entry, &source->inodes[i], &err) < 0)
			give_up(items[i].path, err);
		ret = dwarfs_read(image, source->inodes[i], buffer, BUFFER_BYTES, 0,
				  &bytes, &err);
		dwarfs_error_free(err);
		source->is_bad[i] = ret < 0;
		bad += ret < 0;
		fill(&items[i], 0, items[i].bytes, expected);
		if (ret == 0 &&
		    (bytes != items[i].bytes || memcmp(buffer, expected, bytes) != 0))
			complain("%s in %s is wrong before the test\n", items[i].path,
				 source->path);
	}
	dwarfs_image_free(image);
	if ((bad > 0) != source->kind->is_damaged || bad == FILES)
		complain("%s: %d files cannot be read\n", source->path, bad);
}

/* False when there is no such codec. */
static bool pack(const struct kind *kind, const char *path)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;
	char tree[128];
	int ret;

	snprintf(tree, sizeof(tree), "%s/tree", directory);
	if (dwarfs_builder_new(NULL, &builder, &err) < 0)
		give_up("a builder", err);
	ret = dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, kind->codec, &err);
	if (ret == DWARFS_ERR_UNSUPPORTED) {
		dwarfs_error_free(err);
		dwarfs_builder_free(builder);
		return false;
	}
	/* The default order is slow to find. */
	if (ret < 0 ||
	    dwarfs_builder_set_block_bits(builder, kind->block_bits, &err) < 0 ||
	    dwarfs_builder_set_order(builder, "path", &err) < 0 ||
	    dwarfs_builder_add_directory(builder, tree, &err) < 0 ||
	    dwarfs_builder_write_path(builder, path, false, &err) < 0)
		give_up(kind->codec, err);
	dwarfs_builder_free(builder);
	return true;
}

static void make_images(void)
{
	uint8_t *buffer = malloc(BUFFER_BYTES), *expected = malloc(BUFFER_BYTES);

	if (!buffer || !expected)
		give_up("memory", NULL);
	for (int i = 0; i < KINDS; i++) {
		struct source *source = &sources[source_count];

		source->kind = &kinds[i];
		snprintf(source->path, sizeof(source->path), "%s/image%d", directory, i);
		if (!pack(&kinds[i], source->path))
			continue;
		if (kinds[i].is_damaged)
			damage(source);
		inspect(source, buffer, expected);
		source_count++;
	}
	free(buffer);
	free(expected);
}

/* -- one thread ---------------------------------------------------------------------- */

/* Borrowed bytes, and their file and offset. */
struct pocket {
	dwarfs_borrowed *borrowed;
	const struct source *source;
	const struct item *item;
	size_t from, bytes;
};

struct reader {
	pthread_t thread;
	uint64_t random;
	uint64_t done, failed; /* reads */
	uint8_t *buffer, *expected;
	struct pocket pockets[POCKETS];
	/* While files are read in order. */
	const struct source *source;
	size_t seen[FILES];
	bool is_complete[FILES];
	int stop_after;
};

static atomic_bool is_over;

static uint64_t draw(struct reader *reader, uint64_t below)
{
	return next(&reader->random) % below;
}

static void check(struct reader *reader, const struct source *source,
		  const struct item *item, size_t from, const void *data, size_t bytes)
{
	fill(item, from, bytes, reader->expected);
	if (memcmp(data, reader->expected, bytes) != 0)
		complain("%s (%s): %zu bytes at %zu of %s are wrong\n", source->path,
			 source->kind->codec, bytes, from, item->path);
	reader->done++;
}

/* The permitted results of a read. If the hash is verified late, or only a part of a file
 * is read, the damage may be detected or not; unless the hash is verified later, the
 * bytes must be right. Returns whether to compare the bytes. */
static bool judge(struct reader *reader, const struct source *source, int file, int ret,
		  bool is_whole, const dwarfs_error *err)
{
	bool is_late = source->kind->verify == DWARFS_VERIFY_LAZY;

	if (ret < 0)
		reader->failed++;
	if (!source->is_bad[file]) {
		if (ret < 0)
			complain("%s: %s cannot be read: %s\n", source->path,
				 items[file].path, dwarfs_error_message(err));
		return ret == 0;
	}
	if (ret == 0)
		if (is_whole && !is_late)
			complain("%s: %s can be read\n", source->path, items[file].path);
	if (ret < 0 && ret != DWARFS_ERR_CHECKSUM &&
	    (!is_late || ret != DWARFS_ERR_CORRUPT))
		complain("%s: %s fails as it should not: %s\n", source->path,
			 items[file].path, dwarfs_error_message(err));
	return ret == 0 && !is_late;
}

static void draw_range(struct reader *reader, const struct item *item, size_t *from_out,
		       size_t *bytes_out)
{
	*from_out = 0;
	*bytes_out = BUFFER_BYTES;
	if (draw(reader, 3) == 0 || item->bytes == 0)
		return;
	*from_out = (size_t)draw(reader, item->bytes + 10);
	*bytes_out = (size_t)draw(reader, draw(reader, 2) ? 4097 : 300000);
}

static size_t expected_bytes(const struct item *item, size_t from, size_t wanted)
{
	size_t left = from < item->bytes ? item->bytes - from : 0;

	return left < wanted ? left : wanted;
}

static void read_range(struct reader *reader, const struct source *source,
		       const dwarfs_image *image, int file, bool is_opened)
{
	const struct item *item = &items[file];
	size_t from, wanted, got = 0, bytes;
	dwarfs_error *err = NULL;
	dwarfs_file *open = NULL;
	int ret;

	draw_range(reader, item, &from, &wanted);
	bytes = expected_bytes(item, from, wanted);
	if (is_opened) {
		if (dwarfs_file_open(image, source->inodes[file], &open, &err) < 0)
			give_up(item->path, err);
		if (dwarfs_file_bytes(open) != item->bytes)
			complain("%s has a wrong size\n", item->path);
		ret = dwarfs_file_read(open, reader->buffer, wanted, from, &got, &err);
		dwarfs_file_free(open);
	} else {
		ret = dwarfs_read(image, source->inodes[file], reader->buffer, wanted,
				  from, &got, &err);
	}
	if (judge(reader, source, file, ret, bytes == item->bytes, err)) {
		if (got != bytes)
			complain("%s: %zu bytes of %s instead of %zu\n", source->path,
				 got, item->path, bytes);
		else
			check(reader, source, item, from, reader->buffer, got);
	}
	dwarfs_error_free(err);
}

static void empty_pocket(struct reader *reader, struct pocket *pocket)
{
	size_t at = 0;

	for (size_t i = 0; i < dwarfs_borrowed_count(pocket->borrowed); i++) {
		size_t bytes;
		const void *part = dwarfs_borrowed_part(pocket->borrowed, i, &bytes);

		check(reader, pocket->source, pocket->item, pocket->from + at, part,
		      bytes);
		at += bytes;
	}
	if (at != pocket->bytes || at != dwarfs_borrowed_bytes(pocket->borrowed))
		complain("%s: %zu bytes were borrowed instead of %zu\n",
			 pocket->item->path, at, pocket->bytes);
	dwarfs_borrowed_free(pocket->borrowed);
	pocket->borrowed = NULL;
}

/* It stays borrowed for some time. */
static void borrow(struct reader *reader, const struct source *source,
		   const dwarfs_image *image, int file)
{
	struct pocket *pocket = &reader->pockets[draw(reader, POCKETS)];
	const struct item *item = &items[file];
	size_t from, wanted;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_error *err = NULL;
	dwarfs_file *open;
	int ret;

	if (pocket->borrowed)
		empty_pocket(reader, pocket);
	draw_range(reader, item, &from, &wanted);
	if (dwarfs_file_open(image, source->inodes[file], &open, &err) < 0)
		give_up(item->path, err);
	ret = dwarfs_file_borrow(open, wanted, from, &borrowed, &err);
	dwarfs_file_free(open);
	*pocket = (struct pocket){ borrowed, source, item, from,
				   expected_bytes(item, from, wanted) };
	if (!judge(reader, source, file, ret, pocket->bytes == item->bytes, err)) {
		dwarfs_borrowed_free(borrowed);
		pocket->borrowed = NULL;
	}
	dwarfs_error_free(err);
}

static int file_of(const struct reader *reader, dwarfs_inode inode)
{
	for (int i = 0; i < FILES; i++)
		if (reader->source->inodes[i].number == inode.number)
			return i;
	return -1;
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	struct reader *reader = user;
	int file = file_of(reader, inode);

	if (file < 0 || offset + bytes > items[file].bytes) {
		complain("a piece that was not requested\n");
		return 0;
	}
	if (bytes == 0) {
		if (offset != items[file].bytes || reader->seen[file] != offset)
			complain("%s ends early\n", items[file].path);
		reader->is_complete[file] = true;
	}
	if (data)
		check(reader, reader->source, &items[file], offset, data, bytes);
	reader->seen[file] += bytes;
	return reader->stop_after > 0 && --reader->stop_after == 0 ? DWARFS_ERR_CANCELLED
								   : 0;
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			void *user)
{
	struct reader *reader = user;
	int file = file_of(reader, inode);

	reader->failed++;
	if (file < 0 || !reader->source->is_bad[file])
		complain("%s cannot be read: %s\n", file < 0 ? "?" : items[file].path,
			 dwarfs_error_message(why));
	else
		reader->is_complete[file] = true;
	return 0;
}

static void read_in_order(struct reader *reader, const struct source *source,
			  const dwarfs_image *image)
{
	int count = 1 + (int)draw(reader, MAX_TOGETHER), files[MAX_TOGETHER], ret;
	dwarfs_inode inodes[MAX_TOGETHER];
	dwarfs_error *err = NULL;

	reader->source = source;
	reader->stop_after = draw(reader, 4) ? 0 : 1 + (int)draw(reader, 5);
	for (int i = 0; i < count; i++) {
		files[i] = (int)draw(reader, FILES);
		inodes[i] = source->inodes[files[i]];
		reader->seen[files[i]] = 0;
		reader->is_complete[files[i]] = false;
	}
	ret = dwarfs_read_in_order(image, inodes, (size_t)count, take_piece, take_failure,
				   reader, NULL, &err);
	if (ret != 0 && ret != DWARFS_ERR_CANCELLED)
		complain("reading in order: %s\n", dwarfs_error_message(err));
	for (int i = 0; i < count && ret == 0; i++)
		if (!reader->is_complete[files[i]])
			complain("%s was not read\n", items[files[i]].path);
	dwarfs_error_free(err);
}

static void prefetch(struct reader *reader, const struct source *source,
		     const dwarfs_image *image)
{
	int count = 1 + (int)draw(reader, 16), first = (int)draw(reader, FILES - 16), ret;
	dwarfs_error *err = NULL;

	ret = dwarfs_prefetch(image, source->inodes + first, (size_t)count, &err);
	if (ret < 0 || ret > count)
		complain("prefetching: %d\n", ret);
	dwarfs_error_free(err);
}

static void look_up(struct reader *reader, const struct source *source,
		    const dwarfs_image *image, int file)
{
	dwarfs_entry entry;
	dwarfs_inode inode;
	dwarfs_stat *stat = NULL;
	char none[80];

	if (dwarfs_stat_new(&stat, NULL) < 0)
		give_up("memory", NULL);
	if (dwarfs_find(image, items[file].path, &entry, NULL) < 0 ||
	    dwarfs_entry_inode(image, entry, &inode, NULL) < 0 ||
	    inode.number != source->inodes[file].number ||
	    dwarfs_inode_stat(image, inode, stat, NULL) < 0 ||
	    dwarfs_stat_bytes(stat) != items[file].bytes)
		complain("%s: %s is not found\n", source->path, items[file].path);
	snprintf(none, sizeof(none), "%s%c", items[file].path,
		 'a' + (char)draw(reader, 26));
	if (dwarfs_find(image, none, &entry, NULL) != DWARFS_ERR_NOT_FOUND)
		complain("%s: %s is found\n", source->path, none);
	dwarfs_stat_free(stat);
}

static void act(struct reader *reader)
{
	int number = (int)draw(reader, CONTEXTS), file = (int)draw(reader, FILES);
	const struct source *source = &sources[draw(reader, (uint64_t)source_count)];
	dwarfs_image *image, *own = NULL;
	uint64_t what = draw(reader, 100);

	if (source->kind->is_costly)
		number = 1;
	image = source->images[number];
	if (what >= 98) {
		dwarfs_context_trim(contexts[number], draw(reader, 2) * 100);
		return;
	}
	if (draw(reader, 20) == 0)
		image = own = open_source(source, contexts[number]);
	if (what < 40)
		read_range(reader, source, image, file, false);
	else if (what < 65)
		read_range(reader, source, image, file, true);
	else if (what < 80)
		borrow(reader, source, image, file);
	else if (what < 90)
		look_up(reader, source, image, file);
	else if (what < 95)
		prefetch(reader, source, image);
	else if (!source->kind->is_damaged || source->kind->verify == DWARFS_VERIFY_EAGER)
		read_in_order(reader, source, image);
	dwarfs_image_free(own);
}

static void *run(void *argument)
{
	struct reader *reader = argument;

	while (!atomic_load(&is_over))
		act(reader);
	for (int i = 0; i < POCKETS; i++)
		if (reader->pockets[i].borrowed)
			empty_pocket(reader, &reader->pockets[i]);
	return NULL;
}

/* -- all threads --------------------------------------------------------------------- */

static void open_all(void)
{
	const uint64_t budgets[CONTEXTS] = { SMALL_BUDGET, LARGE_BUDGET };

	for (int i = 0; i < CONTEXTS; i++) {
		dwarfs_error *err = NULL;

		if (dwarfs_context_new(&contexts[i], &err) < 0 ||
		    dwarfs_context_set_cache_bytes(contexts[i], budgets[i], &err) < 0 ||
		    dwarfs_context_set_workers(contexts[i], i ? 2 : 0, &err) < 0)
			give_up("a context", err);
		for (int k = 0; k < source_count; k++)
			sources[k].images[i] = open_source(&sources[k], contexts[i]);
	}
}

static void watch(double seconds)
{
	struct timespec step = { 0, 5000000 }, now;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + seconds;
	do {
		nanosleep(&step, NULL);
		for (int i = 0; i < CONTEXTS; i++) {
			uint64_t used = dwarfs_context_cache_count(contexts[i],
								   DWARFS_CACHE_USED);
			uint64_t budget = dwarfs_context_cache_count(contexts[i],
								     DWARFS_CACHE_BUDGET);

			if (used > budget)
				complain("%llu bytes are used of %llu\n",
					 (unsigned long long)used,
					 (unsigned long long)budget);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < end);
}

static void close_all(void)
{
	static const struct {
		int number;
		const char *name;
	} numbers[] = { { DWARFS_CACHE_USED, "bytes" },
			{ DWARFS_CACHE_BLOCKS, "blocks" },
			{ DWARFS_CACHE_EXTENTS, "extents" } };

	for (int i = 0; i < CONTEXTS; i++) {
		uint64_t most =
			dwarfs_context_cache_count(contexts[i], DWARFS_CACHE_MOST_USED);

		printf("# context %d: most used %llu, misses %llu, hits %llu\n", i,
		       (unsigned long long)most,
		       (unsigned long long)dwarfs_context_cache_count(
			       contexts[i], DWARFS_CACHE_MISSES),
		       (unsigned long long)dwarfs_context_cache_count(contexts[i],
								      DWARFS_CACHE_HITS));
		if (most > dwarfs_context_cache_count(contexts[i], DWARFS_CACHE_BUDGET))
			complain("at its worst, context %d used %llu bytes\n", i,
				 (unsigned long long)most);
		dwarfs_context_trim(contexts[i], 0);
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			uint64_t left = dwarfs_context_cache_count(contexts[i],
								   numbers[k].number);

			if (left > 0)
				complain("context %d: %llu %s are left\n", i,
					 (unsigned long long)left, numbers[k].name);
		}
		dwarfs_context_free(contexts[i]);
		for (int k = 0; k < source_count; k++)
			dwarfs_image_free(sources[k].images[i]);
	}
}

static void run_all(double seconds, int count)
{
	struct reader *readers = calloc((size_t)count, sizeof(*readers));
	uint64_t done = 0, failed = 0;

	if (!readers)
		give_up("memory", NULL);
	for (int i = 0; i < count; i++) {
		struct reader *reader = &readers[i];

		reader->random = (uint64_t)i;
		reader->buffer = malloc(BUFFER_BYTES);
		reader->expected = malloc(BUFFER_BYTES);
		if (!reader->buffer || !reader->expected ||
		    pthread_create(&reader->thread, NULL, run, reader) != 0)
			give_up("a thread", NULL);
	}
	watch(seconds);
	atomic_store(&is_over, true);
	for (int i = 0; i < count; i++) {
		pthread_join(readers[i].thread, NULL);
		done += readers[i].done;
		failed += readers[i].failed;
		free(readers[i].buffer);
		free(readers[i].expected);
	}
	free(readers);
	printf("# %d threads: %llu pieces right, %llu reads of what is damaged\n", count,
	       (unsigned long long)done, (unsigned long long)failed);
	if (done == 0 || failed == 0)
		complain("nothing was read\n");
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 1 ? argv[1] : getenv("DWARFS_STRESS_SECONDS");
	double seconds = wanted ? strtod(wanted, NULL) : 2;
	int threads = argc > 2 ? atoi(argv[2]) : 64;

	make_tree();
	make_images();
	open_all();
	run_all(seconds, threads);
	close_all();
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	printf("%sok 1 - many threads read the right bytes, and no memory remains in use"
	       "\n1..1\n",
	       atomic_load(&wrong) ? "not " : "");
	return atomic_load(&wrong) != 0;
}
