/* SPDX-License-Identifier: MIT */
/*
 * describe: print facts and contents of images, for comparison by tests.
 *
 * describe [--offset N] [--size N] IMAGE...
 *
 * Uses public headers alone. For each image: a line "\f" and the path; facts, one a line,
 * as words between tabs; an empty line; then the columns of a manifest. It also looks
 * everything up by other functions, and fails when they disagree.
 */
#include <dwarfs/dwarfs.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE	    (1u << 20)
#define GRAIN	    4096u
#define LARGE	    ((uint64_t)64 << 20)
#define ENTRIES_MAX 1000000u

/* Digests of large files that were read as a whole. */
static char known_hashes[64][DWARFS_DIGEST_HEX_BUFFER_BYTES];
static size_t known_count;
static unsigned char piece[PIECE];
static const unsigned char zeros[GRAIN];

static void die(const char *what, const char *path, dwarfs_error *err)
{
	fprintf(stderr, "%s: %s: %s\n", path, what,
		err ? dwarfs_error_message(err) : "wrong");
	exit(1);
}

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\\\", stdout);
		else if (*text == '\t')
			fputs("\\t", stdout);
		else if (*text == '\n')
			fputs("\\n", stdout);
		else if (*text == '\r')
			fputs("\\r", stdout);
		else
			putchar(*text);
	}
}

static void print_fact(const char *name, const char *value)
{
	printf("%s\t", name);
	print_escaped(value);
	putchar('\n');
}

static void print_number(const char *name, uint64_t value)
{
	printf("%s\t%" PRIu64 "\n", name, value);
}

static void print_words(const dwarfs_image *image, const char *name,
			const char *(*word)(const dwarfs_image *, size_t))
{
	size_t i;

	for (i = 0; word(image, i); i++)
		print_fact(name, word(image, i));
}

static uint64_t section_fact(const dwarfs_image *image, const char *path,
			     uint32_t section, int field)
{
	dwarfs_error *err = NULL;
	uint64_t value;

	if (dwarfs_image_section(image, section, field, &value, &err) < 0)
		die("section", path, err);
	return value;
}

static void print_sections(const dwarfs_image *image, const char *path)
{
	uint32_t i;

	for (i = 0; i < dwarfs_image_section_count(image); i++) {
		uint64_t type = section_fact(image, path, i, DWARFS_SECTION_FIELD_TYPE);
		uint64_t codec =
			section_fact(image, path, i, DWARFS_SECTION_FIELD_COMPRESSION);

		printf("section\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\n",
		       dwarfs_section_type_name((uint32_t)type),
		       dwarfs_compression_name((uint32_t)codec),
		       section_fact(image, path, i, DWARFS_SECTION_FIELD_OFFSET),
		       section_fact(image, path, i, DWARFS_SECTION_FIELD_STORED_BYTES),
		       section_fact(image, path, i, DWARFS_SECTION_FIELD_BYTES),
		       section_fact(image, path, i, DWARFS_SECTION_FIELD_NUMBER));
	}
}

static void print_history(const dwarfs_image *image, const char *path)
{
	dwarfs_history *history = NULL;
	dwarfs_error *err = NULL;
	int64_t seconds;
	size_t step;
	size_t item;

	if (dwarfs_history_new(image, &history, &err) < 0)
		die("history", path, err);
	for (step = 0; step < dwarfs_history_count(history); step++) {
		const char *text;

		print_number("history", step);
		print_fact("version",
			   dwarfs_history_text(history, step, DWARFS_HISTORY_VERSION));
		print_fact("system",
			   dwarfs_history_text(history, step, DWARFS_HISTORY_SYSTEM));
		print_fact("compiler",
			   dwarfs_history_text(history, step, DWARFS_HISTORY_COMPILER));
		if (dwarfs_history_time(history, step, &seconds))
			print_number("time", seconds);
		for (item = 0; (text = dwarfs_history_item(
					history, step, DWARFS_HISTORY_ARGUMENTS, item));
		     item++)
			print_fact("argument", text);
		for (item = 0; (text = dwarfs_history_item(
					history, step, DWARFS_HISTORY_LIBRARIES, item));
		     item++)
			print_fact("library", text);
	}
	dwarfs_history_free(history);
}

static void print_facts(const dwarfs_image *image, const char *path)
{
	int64_t seconds;
	uint32_t i;

	print_number("format_minor", dwarfs_image_format_minor(image));
	print_number("offset", dwarfs_image_offset(image));
	print_number("bytes", dwarfs_image_bytes(image));
	print_number("block_size", dwarfs_image_block_bytes(image));
	print_number("blocks", dwarfs_image_block_count(image));
	print_number("inodes", dwarfs_image_inode_count(image));
	print_number("entries", dwarfs_image_entry_count(image));
	print_number("total_fs_size", dwarfs_image_original_bytes(image));
	print_number("total_hardlink_size", dwarfs_image_hardlink_bytes(image));
	if (dwarfs_image_created_by(image))
		print_fact("created_by", dwarfs_image_created_by(image));
	if (dwarfs_image_created_on(image, &seconds))
		print_number("created_on", seconds);
	print_number("has_index", dwarfs_image_has_index(image));
	print_number("mtime_only", dwarfs_image_is_mtime_only(image));
	print_number("time_resolution_ns", dwarfs_image_time_resolution_ns(image));
	print_words(image, "feature", dwarfs_image_feature);
	print_words(image, "category", dwarfs_image_category);
	print_words(image, "packing", dwarfs_image_packing);
	for (i = 0; i < dwarfs_image_block_count(image); i++)
		printf("block_category\t%" PRId64 "\n",
		       dwarfs_image_block_category(image, i));
	print_sections(image, path);
	print_history(image, path);
}

/* A number as eight bytes, the lowest one first, on each machine. */
static void hash_number(dwarfs_digest *digest, uint64_t number)
{
	unsigned char bytes[8];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	dwarfs_digest_update(digest, bytes, sizeof(bytes));
}

/* Feed those of the grains in the piece that are not all zeros to a digest, with their offsets. */
static void hash_grains(dwarfs_digest *digest, uint64_t offset, size_t bytes)
{
	size_t at;

	for (at = 0; at < bytes; at += GRAIN) {
		size_t room = bytes - at < GRAIN ? bytes - at : GRAIN;

		if (memcmp(piece + at, zeros, room) == 0)
			continue;
		hash_number(digest, offset + at);
		dwarfs_digest_update(digest, piece + at, room);
	}
}

/* A digest of the whole file, holes too; with grains: of its size and of the grains that are not all
 * zeros, as a digest of gigabytes of zeros takes seconds. */
static void hash_whole(const dwarfs_image *image, dwarfs_inode inode, uint64_t size,
		       int grains, dwarfs_digest *digest, char *hash, const char *path)
{
	dwarfs_error *err = NULL;
	uint64_t offset = 0;
	size_t got;

	if (grains)
		hash_number(digest, size);
	for (;;) {
		if (dwarfs_read(image, inode, piece, sizeof(piece), offset, &got, &err) <
		    0)
			die("read", path, err);
		if (got == 0)
			break;
		if (grains)
			hash_grains(digest, offset, got);
		else
			dwarfs_digest_update(digest, piece, got);
		offset += got;
	}
	if (offset != size)
		die("size of contents", path, NULL);
	dwarfs_digest_finish(digest, hash);
}

/* The digest of grains, of what is no hole alone. */
static void hash_data(const dwarfs_file *file, dwarfs_digest *digest, char *hash,
		      const char *path)
{
	uint64_t size = dwarfs_file_bytes(file);
	dwarfs_error *err = NULL;
	uint64_t start = 0;
	uint64_t end;

	hash_number(digest, size);
	while (start < size && dwarfs_file_seek_data(file, start, &start, NULL) == 0) {
		uint64_t offset = start - start % GRAIN;

		if (dwarfs_file_seek_hole(file, start, &end, &err) < 0)
			die("hole", path, err);
		while (offset < end) {
			size_t got;

			if (dwarfs_file_read(file, piece, sizeof(piece), offset, &got,
					     &err) < 0)
				die("read", path, err);
			if (got == 0)
				die("short read", path, NULL);
			if (got > end - offset)
				got = (size_t)(end - offset);
			hash_grains(digest, offset, got);
			offset += got;
		}
		start = end;
	}
	dwarfs_digest_finish(digest, hash);
}

/* SHA-256; of a large file the digest of grains, by which test_library.py knows it. */
static void hash_file(const dwarfs_image *image, dwarfs_inode inode,
		      dwarfs_digest *digest, char *hash, const char *path)
{
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	char whole[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	uint64_t size;
	size_t i;

	if (dwarfs_file_open(image, inode, &file, &err) < 0)
		die("open", path, err);
	size = dwarfs_file_bytes(file);
	if (size > LARGE) {
		hash_data(file, digest, hash, path);
		for (i = 0; i < known_count; i++) {
			if (strcmp(known_hashes[i], hash) == 0)
				break;
		}
		if (i == known_count) {
			if (known_count == sizeof(known_hashes) / sizeof(known_hashes[0]))
				die("too many large files", path, NULL);
			hash_whole(image, inode, size, 1, digest, whole, path);
			if (strcmp(whole, hash) != 0)
				die("holes are not all zeros", path, NULL);
			strcpy(known_hashes[known_count++], whole);
		}
	} else {
		hash_whole(image, inode, size, 0, digest, hash, path);
	}
	dwarfs_file_free(file);
}

static void print_time(const dwarfs_image *image, const dwarfs_stat *stat, int which)
{
	printf("\t%" PRIu64, dwarfs_stat_seconds(stat, which));
	if (dwarfs_image_time_resolution_ns(image) % 1000000000u)
		printf(".%09" PRIu32, dwarfs_stat_nanoseconds(stat, which));
	else if (dwarfs_stat_nanoseconds(stat, which))
		die("nanoseconds in an image of seconds", "time", NULL);
}

static char type_letter(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFREG:
		return 'f';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	}
	return '?';
}

/* Find an entry again by its path, and by its name in its directory. */
static void look_up(const dwarfs_image *image, dwarfs_entry entry, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char parent[65536];
	char buffer[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_entry found;
	dwarfs_inode inode;
	size_t bytes;

	if (dwarfs_find(image, path, &found, NULL) < 0 || found.number != entry.number)
		die("dwarfs_find", path, NULL);
	if (dwarfs_entry_name(image, entry, buffer, sizeof(buffer), &bytes, NULL) < 0 ||
	    bytes != strlen(name) || memcmp(buffer, name, bytes) != 0)
		die("dwarfs_entry_name", path, NULL);
	if (entry.number == 0)
		return;
	if (strlen(path) >= sizeof(parent))
		die("path too long for this test", path, NULL);
	memcpy(parent, path, (size_t)(name - path));
	parent[name - path] = '\0';
	if (dwarfs_find(image, parent, &found, NULL) < 0 ||
	    dwarfs_entry_inode(image, found, &inode, NULL) < 0 ||
	    dwarfs_dir_find(image, inode, name, bytes, &found, NULL) < 0 ||
	    found.number != entry.number)
		die("dwarfs_dir_find", path, NULL);
}

static void print_entry(const dwarfs_image *image, dwarfs_entry entry, dwarfs_stat *stat,
			dwarfs_digest *digest, const char *path)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	char hash[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	dwarfs_error *err = NULL;
	char type;

	if (dwarfs_entry_stat(image, entry, stat, &err) < 0)
		die("stat", path, err);
	type = type_letter(dwarfs_stat_mode(stat));
	print_escaped(*path ? path : ".");
	printf("\t%c\t%04" PRIo32 "\t%" PRIu32 "\t%" PRIu32, type,
	       dwarfs_stat_mode(stat) & 07777, dwarfs_stat_uid(stat),
	       dwarfs_stat_gid(stat));
	print_time(image, stat, DWARFS_MTIME);
	print_time(image, stat, DWARFS_ATIME);
	print_time(image, stat, DWARFS_CTIME);
	printf("\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32, dwarfs_stat_bytes(stat),
	       dwarfs_stat_nlink(stat), dwarfs_stat_inode(stat).number);
	if (type == 'c' || type == 'b')
		printf("\t%" PRIu32 ":%" PRIu32, dwarfs_stat_rdev_major(stat),
		       dwarfs_stat_rdev_minor(stat));
	else
		fputs("\t-", stdout);
	putchar('\t');
	if (type == 'l') {
		if (dwarfs_link_read_raw(image, dwarfs_stat_inode(stat), target,
					 sizeof(target), NULL, &err) < 0)
			die("link", path, err);
		print_escaped(target);
	} else {
		putchar('-');
	}
	if (type == 'f') {
		hash_file(image, dwarfs_stat_inode(stat), digest, hash, path);
		printf("\t%s\n", hash);
	} else {
		fputs("\t-\n", stdout);
	}
}

/* A walk in data order visits the same entries as one in tree order, each once. */
static void walk_in_data_order(const dwarfs_image *image, const char *path,
			       uint64_t visited)
{
	uint32_t entries = dwarfs_image_entry_count(image);
	unsigned char *seen = calloc(1, entries < ENTRIES_MAX ? entries + 1 : 1);
	dwarfs_error *err = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	int ret;

	if (!seen || entries >= ENTRIES_MAX)
		die("too many entries for this test", path, NULL);
	if (dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_DATA, &walk, &err) < 0)
		die("walk", path, err);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		if (entry.number >= entries || seen[entry.number]++)
			die("data order visits an entry twice", path, NULL);
		look_up(image, entry, dwarfs_walk_path(walk));
		visited--;
	}
	if (ret < 0)
		die("walk in data order", path, err);
	if (visited != 0)
		die("data order leaves out entries", path, NULL);
	dwarfs_walk_free(walk);
	free(seen);
}

static void print_tree(const dwarfs_image *image, const char *image_path)
{
	dwarfs_digest *digest = NULL;
	dwarfs_error *err = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_stat *stat = NULL;
	uint64_t visited = 0;
	dwarfs_entry entry;
	int ret;

	if (dwarfs_digest_new("sha256", &digest, &err) < 0 ||
	    dwarfs_stat_new(&stat, &err) < 0 ||
	    dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err) < 0)
		die("walk", image_path, err);
	puts("path\ttype\tmode\tuid\tgid\tmtime\tatime\tctime\tsize\tnlink\tinode\trdev\ttarget\t"
	     "sha256");
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		visited++;
		print_entry(image, entry, stat, digest, dwarfs_walk_path(walk));
		look_up(image, entry, dwarfs_walk_path(walk));
	}
	if (ret < 0)
		die("walk", image_path, err);
	walk_in_data_order(image, image_path, visited);
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	dwarfs_digest_free(digest);
}

static void finding(enum dwarfs_finding severity, int code, int64_t section,
		    const char *message, void *user)
{
	(void)section;
	(void)user;
	if (severity == DWARFS_FINDING_ERROR && code >= 0)
		die("an error without a code", message, NULL);
	print_fact(severity == DWARFS_FINDING_ERROR ? "error" : "warning", message);
}

static void describe(const char *path, uint64_t offset, uint64_t size)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	uint64_t errors = 0;

	if (dwarfs_image_options_new(&options, &err) < 0)
		die("options", path, err);
	dwarfs_image_options_set_offset(options, offset);
	dwarfs_image_options_set_bytes(options, size);
	if (dwarfs_image_open(NULL, path, options, &image, &err) < 0)
		die("open", path, err);
	printf("\f%s\n", path);
	if (dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, finding, NULL, NULL,
			       &errors, &err) < 0)
		die("check", path, err);
	print_number("check_errors", errors);
	print_facts(image, path);
	putchar('\n');
	print_tree(image, path);
	dwarfs_image_free(image);
	dwarfs_image_options_free(options);
}

int main(int argc, char **argv)
{
	uint64_t offset = DWARFS_OFFSET_AUTO;
	uint64_t size = DWARFS_SIZE_AUTO;
	int i = 1;

	while (i + 1 < argc && strncmp(argv[i], "--", 2) == 0) {
		if (strcmp(argv[i], "--offset") == 0)
			offset = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--size") == 0)
			size = strtoull(argv[i + 1], NULL, 10);
		else
			break;
		i += 2;
	}
	if (i >= argc) {
		fputs("usage: describe [--offset N] [--size N] IMAGE...\n", stderr);
		return 2;
	}
	for (; i < argc; i++)
		describe(argv[i], offset, size);
	return fflush(stdout) == 0 ? 0 : 1;
}
