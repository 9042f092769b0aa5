/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/checksum: a digest of each file, in the format of sha256sum.
 *
 * The library returns the pieces of all files in the order of their data, and
 * decompresses each block once on its workers. Threads of this program compute the
 * digests. The lines are printed in the order of the walk.
 *
 * A digest covers every byte of a hole. Once the holes that were read are huge, further
 * files with holes are reported and left out.
 */
#include "dwarfsck/digest_threads.h"
#include "dwarfsck/dwarfsck.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 1 << 18 }; /* files at a time */

/* A file of the batch. */
struct file {
	struct hashed hashed;
	uint32_t same; /* the first in the batch with this inode */
	char *path;
};

struct checksums {
	const dwarfs_image *image;
	struct hashers *hashers;
	struct file *files;
	size_t count;
	uint32_t *first_of;   /* by inode: the first file of the batch plus 1 */
	bool weighs_holes;    /* those of all files are huge */
	uint64_t data, holes; /* bytes of all files; of holes that are read */
	bool is_failed;
	bool is_terminal;
};

static struct hashed *hashed_of_inode(const struct checksums *checksums,
				      dwarfs_inode inode)
{
	return &checksums->files[checksums->first_of[inode.number] - 1].hashed;
}

static int give_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	struct checksums *checksums = user;
	enum hash_step step = bytes == 0 ? HASH_END : data ? HASH_PIECE : HASH_HOLE;

	return hashers_give(checksums->hashers, hashed_of_inode(checksums, inode), step,
			    data, data ? bytes : 0, bytes, offset);
}

static int give_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			void *user)
{
	struct checksums *checksums = user;
	const char *text = dwarfs_error_message(why);

	return hashers_give(checksums->hashers, hashed_of_inode(checksums, inode),
			    HASH_FAILURE, text, strlen(text) + 1, 0, 0);
}

/* -- a batch ------------------------------------------------------------------------- */

/* Print a whole character; returns its number of bytes after the first. */
static size_t print_character(const char *text)
{
	const size_t bytes =
		tool_printable_bytes((const unsigned char *)text, strlen(text));

	fwrite(text, 1, bytes > 1 ? bytes : 1, stdout);
	return bytes > 1 ? bytes - 1 : 0;
}

/*
 * "digest path". A path with line ends or backslashes is escaped, and the line then
 * begins with a backslash. sha256sum knows no other escapes, so all other bytes are
 * printed unchanged, except that control characters are printed as ? on a terminal.
 */
static void print_digest_line(const char *hex, const char *path, bool is_terminal)
{
	const bool escaped = strpbrk(path, "\\\n\r") != NULL;

	if (are_names_raw()) {
		printf("%s  %s", hex, path);
		end_line();
		return;
	}
	printf("%s%s  ", escaped ? "\\" : "", hex);
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\n", stdout);
		else if (*path == '\r')
			fputs("\\r", stdout);
		else if (*path == '\\')
			fputs("\\\\", stdout);
		else if (is_terminal && tool_printable_bytes((const unsigned char *)path,
							     strlen(path)) == 0)
			putchar('?');
		else
			path += print_character(path);
	}
	putchar('\n');
}

static void print_file_digest(struct checksums *checksums, const struct file *file)
{
	const struct file *first = &checksums->files[file->same];

	if (first->hashed.hex) {
		print_digest_line(first->hashed.hex, file->path, checksums->is_terminal);
		return;
	}
	tool_error("%s: %s", file->path,
		   first->hashed.error ? first->hashed.error : "out of memory");
	checksums->is_failed = true;
}

static void print_batch(struct checksums *checksums)
{
	size_t i;

	for (i = 0; i < checksums->count; i++)
		print_file_digest(checksums, &checksums->files[i]);
	for (i = 0; i < checksums->count; i++) {
		struct file *file = &checksums->files[i];

		checksums->first_of[file->hashed.inode.number] = 0;
		free(file->path);
		hashed_free(&file->hashed);
	}
	checksums->count = 0;
}

static int read_batch(struct checksums *checksums)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free dwarfs_inode *inodes = calloc(checksums->count + 1, sizeof(*inodes));
	size_t i;
	int ret;

	if (!inodes)
		return tool_error("out of memory");
	for (i = 0; i < checksums->count; i++)
		inodes[i] = checksums->files[i].hashed.inode;
	ret = dwarfs_read_in_order(checksums->image, inodes, checksums->count, give_piece,
				   give_failure, checksums, NULL, &err);
	hashers_wait(checksums->hashers);
	for (i = 0; i < checksums->count && ret == 0; i++)
		if (checksums->files[i].hashed.is_aside)
			ret = hashers_give(checksums->hashers,
					   &checksums->files[i].hashed, HASH_ASIDE, NULL,
					   0, 0, 0);
	hashers_wait(checksums->hashers);
	if (ret < 0)
		return tool_fail(err, NULL);
	return ret;
}

static int add_checksum_file(struct checksums *checksums, dwarfs_inode inode,
			     const char *path)
{
	struct file *file = &checksums->files[checksums->count];
	uint32_t *first = &checksums->first_of[inode.number];

	*file = (struct file){ .hashed.inode = inode, .path = strdup(path) };
	if (!file->path)
		return tool_error("out of memory");
	checksums->count++;
	if (*first == 0)
		*first = (uint32_t)checksums->count;
	file->same = *first - 1;
	return 0;
}

/* Whether a file is left out for its holes. */
static bool leaves_out(struct checksums *checksums, const dwarfs_stat *stat,
		       const char *path)
{
	const uint64_t holes =
		dwarfs_stat_bytes(stat) - dwarfs_stat_allocated_bytes(stat);

	if (!checksums->weighs_holes || holes == 0)
		return false;
	if (!dwarfs_holes_are_huge(checksums->holes + holes, checksums->data)) {
		checksums->holes += holes;
		return false;
	}
	tool_error("%s: not read: it has holes of %llu bytes; see --allow-huge-holes",
		   path, (unsigned long long)holes);
	checksums->is_failed = true;
	return true;
}

/* Sum up the data and holes of all files, up to INT64_MAX. */
static int sum_file_sizes(struct checksums *checksums)
{
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const uint32_t count = dwarfs_image_inode_count(checksums->image);
	uint64_t holes = 0;
	uint32_t i;

	if (dwarfs_stat_new(&stat, &err) < 0)
		return tool_fail(err, NULL);
	for (i = 0; i < count && holes < INT64_MAX; i++) {
		uint64_t data;

		if (dwarfs_inode_stat(checksums->image, dwarfs_inode_at(i), stat, NULL) <
			    0 ||
		    !S_ISREG(dwarfs_stat_mode(stat)))
			continue;
		data = dwarfs_stat_allocated_bytes(stat);
		holes += dwarfs_stat_bytes(stat) - data;
		if (checksums->data < INT64_MAX)
			checksums->data += data;
	}
	checksums->weighs_holes = dwarfs_holes_are_huge(holes, checksums->data);
	return 0;
}

static int read_and_print_batch(struct checksums *checksums)
{
	int ret = read_batch(checksums);

	if (ret == 0)
		print_batch(checksums);
	return ret;
}

static int read_all_files(struct checksums *checksums)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	uint64_t lost = 0;
	dwarfs_entry entry;
	int ret;

	if (begin_walk(checksums->image, DWARFS_WALK_DATA, &walk, &stat))
		return 1;
	while ((ret = next_intact(checksums->image, walk, &entry, stat, &lost)) > 0) {
		if (!S_ISREG(dwarfs_stat_mode(stat)) ||
		    leaves_out(checksums, stat, dwarfs_walk_path(walk)))
			continue;
		if (add_checksum_file(checksums, dwarfs_stat_inode(stat),
				      dwarfs_walk_path(walk)) ||
		    (checksums->count == BATCH && read_and_print_batch(checksums)))
			return 1;
	}
	checksums->is_failed |= lost > 0;
	return read_and_print_batch(checksums);
}

/* The library of an algorithm may be missing: say so once, and not for each file. */
static int check_algorithm(const char *algorithm)
{
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_digest *digest = NULL;

	if (dwarfs_digest_new(algorithm, &digest, &err) < 0)
		return tool_fail(err, "cannot compute checksums");
	dwarfs_digest_free(digest);
	return 0;
}

int print_checksums(const dwarfs_image *image, const struct settings *s)
{
	auto_hashers *hashers = hashers_new(
		image, s->checksum,
		s->workers == TOOL_DEFAULT ? dwarfs_usable_processors() : s->workers);
	auto_free struct file *files = calloc(BATCH, sizeof(*files));
	auto_free uint32_t *first_of =
		calloc((size_t)dwarfs_image_inode_count(image) + 1, sizeof(*first_of));
	struct checksums checksums = {
		.image = image,
		.hashers = hashers,
		.files = files,
		.first_of = first_of,
		.is_terminal = isatty(STDOUT_FILENO),
	};
	int ret;

	if (!hashers || !files || !first_of)
		return tool_error("out of memory");
	if (check_algorithm(s->checksum))
		return 1;
	if (!s->allow_huge_holes && sum_file_sizes(&checksums))
		return 1;
	ret = read_all_files(&checksums);
	return ret || checksums.is_failed;
}
