/* SPDX-License-Identifier: MIT */
/*
 * exercise: call every reading function on an image.
 *
 * Takes any bytes. Returns the result of each step; the caller detects crashes, hangs and
 * large allocations. The bytes read of each file, and of all files, are bounded, since a
 * few bytes of metadata may claim any amount of contents.
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE		65536u
#define FILE_BYTES_MAX	(1u << 20)
#define IMAGE_BYTES_MAX (16u << 20)
#define ENTRIES_MAX	20000u

static unsigned char piece[PIECE];

struct visit {
	const dwarfs_image *image;
	dwarfs_stat *stat;
	struct outcome *outcome;
	uint64_t read;
};

static void note(struct visit *visit, int ret)
{
	if (ret < 0)
		visit->outcome->reads++;
}

static void read_contents(struct visit *visit, dwarfs_inode inode)
{
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	uint64_t offset = 0;
	uint64_t place;
	size_t got;
	int ret;

	ret = dwarfs_file_open(visit->image, inode, &file, &err);
	note(visit, ret);
	if (ret < 0) {
		dwarfs_error_free(err);
		return;
	}
	while (offset < FILE_BYTES_MAX && visit->read < IMAGE_BYTES_MAX) {
		ret = dwarfs_file_read(file, piece, sizeof(piece), offset, &got, &err);
		note(visit, ret);
		if (ret < 0 || got == 0)
			break;
		offset += got;
		visit->read += got;
	}
	/* The claimed end, and past it. */
	place = dwarfs_file_bytes(file);
	note(visit,
	     dwarfs_file_read(file, piece, 16, place > 8 ? place - 8 : 0, &got, &err));
	note(visit, dwarfs_file_read(file, piece, 16, UINT64_MAX - 8, &got, &err));
	if (dwarfs_file_seek_hole(file, 0, &place, NULL) == 0)
		dwarfs_file_seek_data(file, place, &place, NULL);
	dwarfs_file_seek_data(file, UINT64_MAX, &place, NULL);
	dwarfs_error_free(err);
	dwarfs_file_free(file);
}

static void visit_entry(struct visit *visit, dwarfs_entry entry)
{
	char text[DWARFS_LINK_BUFFER_BYTES];
	dwarfs_error *err = NULL;
	dwarfs_inode inode;
	dwarfs_inode parent;
	dwarfs_entry found;
	uint32_t count;
	uint32_t mode;
	int ret;

	note(visit, dwarfs_entry_name(visit->image, entry, text, DWARFS_NAME_BUFFER_BYTES,
				      NULL, &err));
	ret = dwarfs_entry_stat(visit->image, entry, visit->stat, &err);
	note(visit, ret);
	if (ret == 0) {
		inode = dwarfs_stat_inode(visit->stat);
		note(visit, dwarfs_xattr_list(visit->image, inode, text, sizeof(text),
					      NULL, &err));
		note(visit, dwarfs_entry_dir(visit->image, entry, &parent, &err));
		mode = dwarfs_stat_mode(visit->stat);
		if (S_ISDIR(mode)) {
			note(visit,
			     dwarfs_dir_range(visit->image, inode, &found, &count, &err));
			note(visit,
			     dwarfs_dir_parent(visit->image, inode, &parent, &err));
			dwarfs_dir_find(visit->image, inode, "no such name", 12, &found,
					NULL);
		} else if (S_ISLNK(mode)) {
			note(visit, dwarfs_link_read(visit->image, inode, text,
						     sizeof(text), NULL, &err));
		} else if (S_ISREG(mode)) {
			read_contents(visit, inode);
		}
	}
	dwarfs_error_free(err);
}

static void walk(struct visit *visit, int order)
{
	dwarfs_error *err = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	dwarfs_entry found;
	uint32_t steps = 0;
	int ret;

	ret = dwarfs_walk_new(visit->image, DWARFS_ROOT_ENTRY, order, &walk, &err);
	note(visit, ret);
	while (ret >= 0 && steps++ < ENTRIES_MAX) {
		ret = dwarfs_walk_next(walk, &entry, &err);
		note(visit, ret);
		if (ret <= 0)
			break;
		if (order == DWARFS_WALK_TREE)
			visit_entry(visit, entry);
		if (steps < 200)
			dwarfs_find(visit->image, dwarfs_walk_path(walk), &found, NULL);
	}
	dwarfs_walk_free(walk);
	dwarfs_error_free(err);
}

static void ask_about_image(const dwarfs_image *image)
{
	dwarfs_history *history = NULL;
	int64_t seconds;
	uint64_t value;
	uint32_t i;
	size_t j;
	int field;

	for (i = 0; i < dwarfs_image_section_count(image) && i < 1000; i++) {
		for (field = 0; field <= DWARFS_SECTION_FIELD_NUMBER; field++)
			dwarfs_image_section(image, i, field, &value, NULL);
		dwarfs_image_block_category(image, i);
	}
	for (j = 0; j < 100 && dwarfs_image_category(image, j); j++)
		;
	for (j = 0; j < 100 && dwarfs_image_feature(image, j); j++)
		;
	for (j = 0; j < 100 && dwarfs_image_packing(image, j); j++)
		;
	if (dwarfs_history_new(image, &history, NULL) == 0) {
		for (j = 0; j < dwarfs_history_count(history); j++) {
			dwarfs_history_text(history, j, DWARFS_HISTORY_VERSION);
			dwarfs_history_item(history, j, DWARFS_HISTORY_ARGUMENTS, 0);
			dwarfs_history_time(history, j, &seconds);
		}
	}
	dwarfs_history_free(history);
}

/* Every stored value of the metadata: there are not many more than bits. */
static void read_tables(const dwarfs_image *image)
{
	const uint64_t most = 64 * (dwarfs_metadata_total_bytes(image) +
				    dwarfs_image_block_count(image) + 100);
	dwarfs_metadata *metadata = NULL;
	uint64_t steps = 0;
	uint64_t sum = 0;
	size_t bytes;
	enum dwarfs_metadata_kind kind;

	if (dwarfs_metadata_new(image, &metadata, NULL) < 0)
		return;
	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0) {
		const unsigned char *data = dwarfs_metadata_bytes(metadata, &bytes);

		if (bytes > 0)
			sum += data[0] + data[bytes - 1];
		sum += dwarfs_metadata_number(metadata) + dwarfs_metadata_bits(metadata);
		if (++steps > most)
			abort(); /* more than the bytes can contain */
	}
	piece[0] = (unsigned char)sum;
	dwarfs_metadata_free(metadata);
}

static void check(const dwarfs_image *image, int level, uint64_t *errors)
{
	dwarfs_error *err = NULL;
	int ret;

	ret = dwarfs_image_check(image, level, NULL, NULL, NULL, errors, &err);
	if (ret < 0 && *errors == 0)
		*errors = 1;
	if ((ret < 0) != (*errors > 0) || (ret < 0 && !*dwarfs_error_message(err)))
		abort(); /* results of one call contradict each other */
	dwarfs_error_free(err);
}

void exercise(dwarfs_io *io, struct outcome *outcome)
{
	struct visit visit = { .outcome = outcome };
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	uint32_t i;

	memset(outcome, 0, sizeof(*outcome));
	outcome->open = dwarfs_image_open_io(NULL, io, NULL, &image, &err);
	if (outcome->open < 0 && (image || !*dwarfs_error_message(err)))
		abort(); /* failed but returned an image, or no message */
	dwarfs_error_free(err);
	if (outcome->open < 0)
		return;
	check(image, DWARFS_CHECK_METADATA, &outcome->structure);
	check(image, DWARFS_CHECK_CHECKSUMS, &outcome->checksums);
	check(image, DWARFS_CHECK_INTEGRITY, &outcome->integrity);
	ask_about_image(image);
	read_tables(image);
	visit.image = image;
	if (dwarfs_stat_new(&visit.stat, NULL) == 0) {
		walk(&visit, DWARFS_WALK_TREE);
		walk(&visit, DWARFS_WALK_DATA);
		for (i = 0; i < dwarfs_image_inode_count(image) && i < ENTRIES_MAX; i++)
			dwarfs_inode_stat(image, dwarfs_inode_at(i), visit.stat, NULL);
		dwarfs_stat_free(visit.stat);
	}
	dwarfs_image_free(image);
}

int outcome_is_bad(const struct outcome *outcome)
{
	return outcome->open < 0 || outcome->integrity > 0;
}
