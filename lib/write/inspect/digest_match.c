/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/digest_match: files of images whose digest another file has.
 *
 * Sorts the files whose digest is known, or was computed, by size and digest. Files of one
 * group are equal without comparison if the digests are trusted; otherwise those that were
 * not read are marked, to be read and compared.
 */
#include <string.h>

#include "write/inspect/digest_match.h"
#include "write/items/assembly.h"

bool dw_may_be_equal(const struct build_run *run, const struct tree *tree,
		     const struct subject *a, const struct subject *b)
{
	if (!a->is_kept || !b->is_kept)
		return true;
	return dw_kept_file_of(run, &tree->inodes[a->inode])->image !=
	       dw_kept_file_of(run, &tree->inodes[b->inode])->image;
}

static uint64_t bytes_of(const struct file_reader *reader, uint32_t subject)
{
	return reader->tree->inodes[reader->subjects[subject].inode].size;
}

/* A file whose digest is known, or was computed. */
struct digested {
	const struct file_reader *reader;
	uint32_t subject;
};

static int compare_digested(const void *left, const void *right)
{
	const struct digested *a = left, *b = right;
	const struct known_digest *digests = a->reader->digests;
	uint64_t x = bytes_of(a->reader, a->subject), y = bytes_of(b->reader, b->subject);
	int order = memcmp(digests[a->subject].bytes, digests[b->subject].bytes,
			   DW_FILE_DIGEST_BYTES);

	if (x != y)
		return x < y ? -1 : 1;
	if (order != 0)
		return order;
	return a->subject < b->subject ? -1 : a->subject > b->subject;
}

static bool is_same_digest(const struct digested *a, const struct digested *b)
{
	const struct known_digest *digests = a->reader->digests;

	return bytes_of(a->reader, a->subject) == bytes_of(b->reader, b->subject) &&
	       memcmp(digests[a->subject].bytes, digests[b->subject].bytes,
		      DW_FILE_DIGEST_BYTES) == 0;
}

/* Files with the same size and digest are equal: without comparison, if the images are
 * trusted. A file that was read decides which contents these are. */
static int trust_group(struct file_reader *reader, const struct digested *group,
		       size_t count, dwarfs_error **err)
{
	struct subject *subjects = reader->subjects;
	uint32_t number = DW_NONE;

	for (size_t i = 0; i < count && number == DW_NONE; i++)
		number = subjects[group[i].subject].distinct;
	if (number == DW_NONE) {
		struct finding finding = { .size = bytes_of(reader, group[0].subject) };
		bool is_new;
		int ret = dw_distinct_add(&reader->set, &finding, &number, &is_new, err);

		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < count; i++)
		if (subjects[group[i].subject].distinct == DW_NONE &&
		    subjects[group[i].subject].is_kept)
			subjects[group[i].subject].distinct = number;
	return 0;
}

/* Mark the files of a group that are to be read, so that their bytes are compared. */
static int match_group(struct file_reader *reader, const struct digested *group,
		       size_t count, uint8_t *is_matched, dwarfs_error **err)
{
	bool may_match = false;

	for (size_t i = 1; i < count; i++)
		may_match |= dw_may_be_equal(reader->run, reader->tree,
					     &reader->subjects[group[0].subject],
					     &reader->subjects[group[i].subject]);
	if (!may_match)
		return 0;
	if (reader->run->options->trust_digests)
		return trust_group(reader, group, count, err);
	for (size_t i = 0; i < count; i++)
		is_matched[group[i].subject] =
			reader->subjects[group[i].subject].state == SUBJECT_NEW;
	return 0;
}

int dw_digests_match(struct file_reader *reader, size_t subject_count,
		     uint8_t *is_matched, dwarfs_error **err)
{
	auto_free struct digested *list = dw_calloc(subject_count, sizeof(*list));
	size_t count = 0;

	if (!list)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < subject_count; i++)
		if (reader->subjects[i].wants_hash && reader->digests[i].is_known &&
		    (reader->subjects[i].state == SUBJECT_DONE ||
		     reader->subjects[i].is_kept))
			list[count++] = (struct digested){ reader, (uint32_t)i };
	if (count > 1)
		qsort(list, count, sizeof(*list), compare_digested);
	for (size_t i = 0, end; i < count; i = end) {
		int ret;

		for (end = i + 1; end < count && is_same_digest(&list[i], &list[end]);)
			end++;
		if ((ret = match_group(reader, list + i, end - i, is_matched, err)) < 0)
			return ret;
	}
	return 0;
}
