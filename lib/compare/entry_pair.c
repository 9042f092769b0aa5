/* SPDX-License-Identifier: MIT */
/*
 * compare/entry_pair: what differs between two entries of the same path.
 *
 * Types, attributes, contents by their sums, targets, device numbers, hard links and
 * extended attributes. Reads no files.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <dwarfs/walk.h>

#include "compare/difference.h"
#include "compare/entry_pair.h"

/* Buffer size for the text of any number or time, and for names of attributes. */
#define VALUE_ROOM 64
#define TEXT_ROOM  256

#define NS_PER_SECOND 1000000000

static bool both_know(const struct entry_pair *pair, uint32_t what)
{
	return pair->entries[0]->known & pair->entries[1]->known & what;
}

static int tell_numbers(struct differ *differ, int kind, uint64_t a, uint64_t b,
			dwarfs_error **err)
{
	const char *format = kind == DWARFS_DIFFERENCE_MODE ? "%04" PRIo64 : "%" PRIu64;
	char left[VALUE_ROOM], right[VALUE_ROOM];

	if (a == b)
		return 0;
	snprintf(left, sizeof(left), format, a);
	snprintf(right, sizeof(right), format, b);
	return dw_differ_tell_texts(differ, kind, left, right, err);
}

/* To the start of its step. */
static void round_time(int64_t *seconds, uint32_t *nanoseconds, uint64_t resolution_ns)
{
	const int64_t step = (int64_t)(resolution_ns / NS_PER_SECOND);
	int64_t over;

	if (resolution_ns < NS_PER_SECOND) {
		*nanoseconds -= *nanoseconds % (uint32_t)resolution_ns;
		return;
	}
	*nanoseconds = 0;
	over = *seconds % step;
	if (over < 0)
		over += step;
	*seconds = *seconds < INT64_MIN + over ? INT64_MIN : *seconds - over;
}

static void format_time(char text[VALUE_ROOM], int64_t seconds, uint32_t nanoseconds,
			bool has_fraction)
{
	const time_t time = (time_t)seconds;
	struct tm parts;
	size_t length = 0;

	if (gmtime_r(&time, &parts))
		length = strftime(text, VALUE_ROOM, "%Y-%m-%d %H:%M:%S", &parts);
	if (length == 0)
		length = (size_t)snprintf(text, VALUE_ROOM, "%" PRId64, seconds);
	if (has_fraction)
		snprintf(text + length, VALUE_ROOM - length, ".%09" PRIu32, nanoseconds);
}

static int compare_times(struct differ *differ, const struct entry_pair *pair,
			 dwarfs_error **err)
{
	const bool has_fraction = differ->resolution_ns < NS_PER_SECOND;
	char texts[2][VALUE_ROOM];
	int64_t seconds[2];
	uint32_t ns[2];

	if (!both_know(pair, KNOWN_TIME))
		return 0;
	for (int i = 0; i < 2; i++) {
		seconds[i] = pair->entries[i]->seconds;
		ns[i] = pair->entries[i]->nanoseconds;
		round_time(&seconds[i], &ns[i], differ->resolution_ns);
		format_time(texts[i], seconds[i], ns[i], has_fraction);
	}
	if (seconds[0] == seconds[1] && ns[0] == ns[1])
		return 0;
	return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_MTIME, texts[0], texts[1],
				    err);
}

/* The attributes that were not compared, as a side has no valid value for them. */
static bool name_invalid(const struct differ *differ, const struct entry_pair *pair,
			 int side, char text[TEXT_ROOM])
{
	static const struct {
		uint32_t known, attribute;
		int kind;
	} all[] = {
		{ KNOWN_MODE, DWARFS_ATTRIBUTE_MODE, DWARFS_DIFFERENCE_MODE },
		{ KNOWN_OWNER, DWARFS_ATTRIBUTE_UID, DWARFS_DIFFERENCE_OWNER },
		{ KNOWN_GROUP, DWARFS_ATTRIBUTE_GID, DWARFS_DIFFERENCE_GROUP },
		{ KNOWN_TIME, DWARFS_ATTRIBUTE_MTIME, DWARFS_DIFFERENCE_MTIME },
	};
	size_t length = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((pair->entries[side]->known & KNOWN_INVALID(all[i].known)) &&
		    !(differ->ignored & 1u << all[i].kind) && length < TEXT_ROOM)
			length += (size_t)snprintf(
				text + length, TEXT_ROOM - length, "%s%s",
				length ? ", " : "the image has no valid value for: ",
				dwarfs_attribute_name(all[i].attribute));
	return length > 0;
}

static int tell_invalid(struct differ *differ, const struct entry_pair *pair,
			dwarfs_error **err)
{
	char texts[2][TEXT_ROOM];
	const char *found[2] = { NULL, NULL };

	for (int i = 0; i < 2; i++)
		if (name_invalid(differ, pair, i, texts[i]))
			found[i] = texts[i];
	if (!found[0] && !found[1])
		return 0;
	return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_TROUBLE, found[0], found[1],
				    err);
}

static int compare_attributes(struct differ *differ, const struct entry_pair *pair,
			      dwarfs_error **err)
{
	const struct side_entry *a = pair->entries[0], *b = pair->entries[1];
	int ret = 0;

	if (both_know(pair, KNOWN_MODE) && !S_ISLNK(a->mode))
		ret = tell_numbers(differ, DWARFS_DIFFERENCE_MODE, a->mode & 07777,
				   b->mode & 07777, err);
	if (ret == 0 && both_know(pair, KNOWN_OWNER))
		ret = tell_numbers(differ, DWARFS_DIFFERENCE_OWNER, a->uid, b->uid, err);
	if (ret == 0 && both_know(pair, KNOWN_GROUP))
		ret = tell_numbers(differ, DWARFS_DIFFERENCE_GROUP, a->gid, b->gid, err);
	if (ret == 0)
		ret = compare_times(differ, pair, err);
	return ret < 0 ? ret : tell_invalid(differ, pair, err);
}

static int compare_targets(struct differ *differ, const struct entry_pair *pair,
			   dwarfs_error **err)
{
	dwarfs_difference difference = {
		.kind = DWARFS_DIFFERENCE_TARGET,
	};

	for (int i = 0; i < 2; i++) {
		difference.values[i] =
			dw_side_at(differ->sides[i], pair->entries[i]->target);
		difference.bytes[i] = pair->entries[i]->target_bytes;
	}
	if (difference.bytes[0] == difference.bytes[1] &&
	    memcmp(difference.values[0], difference.values[1], difference.bytes[0]) == 0)
		return 0;
	return dw_differ_tell(differ, difference, err);
}

static int compare_devices(struct differ *differ, const struct entry_pair *pair,
			   dwarfs_error **err)
{
	const struct side_entry *const *entries = pair->entries;
	char texts[2][VALUE_ROOM];

	if (entries[0]->major == entries[1]->major &&
	    entries[0]->minor == entries[1]->minor)
		return 0;
	for (int i = 0; i < 2; i++)
		snprintf(texts[i], VALUE_ROOM, "%" PRIu32 ",%" PRIu32, entries[i]->major,
			 entries[i]->minor);
	return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_DEVICE, texts[0], texts[1],
				    err);
}

static const struct side_contents *contents_of(const struct differ *differ,
					       const struct entry_pair *pair, int side)
{
	return &differ->sides[side]->files[pair->entries[side]->file];
}

static int compare_contents(struct differ *differ, const struct entry_pair *pair,
			    dwarfs_error **err)
{
	const struct side_contents *a = contents_of(differ, pair, 0);
	const struct side_contents *b = contents_of(differ, pair, 1);
	const char *why[2] = { NULL, NULL };

	if (a->size != b->size)
		return tell_numbers(differ, DWARFS_DIFFERENCE_SIZE, a->size, b->size,
				    err);
	if (differ->ignored & 1u << DWARFS_DIFFERENCE_CONTENTS)
		return 0;
	for (int i = 0; i < 2; i++) {
		const struct side_contents *one = contents_of(differ, pair, i);

		if (one->trouble != NO_TEXT)
			why[i] = dw_side_at(differ->sides[i], one->trouble);
	}
	if (why[0] || why[1])
		return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_TROUBLE, why[0],
					    why[1], err);
	if (a->has_sum && b->has_sum &&
	    (a->sum[0] != b->sum[0] || a->sum[1] != b->sum[1]))
		return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_CONTENTS, NULL,
					    NULL, err);
	return 0;
}

/* The first path that is the same file and that both sides have; NO_PATH when it is this
 * one. */
static uint32_t first_name(const struct differ *differ, const struct entry_pair *pair,
			   int side)
{
	const struct side_listing *listing = differ->sides[side];
	const uint64_t first = contents_of(differ, pair, side)->first;

	if (first >= listing->count ||
	    listing->list[first].path == pair->entries[side]->path)
		return NO_PATH;
	return listing->list[first].path;
}

static int tell_links(struct differ *differ, const uint32_t paths[2], dwarfs_error **err)
{
	auto_buffer struct buffer left = { 0 };
	auto_buffer struct buffer right = { 0 };
	struct buffer *const to[2] = { &left, &right };
	const char *found[2] = { NULL, NULL };

	if (differ->ignored & 1u << DWARFS_DIFFERENCE_LINKS)
		return 0;
	for (int i = 0; i < 2; i++) {
		int ret;

		if (paths[i] == NO_PATH)
			continue;
		ret = dw_side_path_text(differ->sides[i], paths[i], to[i], err);
		if (ret < 0)
			return ret;
		found[i] = (const char *)to[i]->data;
	}
	if (!found[0] && !found[1])
		return 0;
	if (found[0] && found[1] && strcmp(found[0], found[1]) == 0)
		return 0;
	return dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_LINKS, found[0], found[1],
				    err);
}

static int compare_links(struct differ *differ, const struct entry_pair *pair,
			 dwarfs_error **err)
{
	uint32_t paths[2];

	if (!differ->sides[0]->has_links || !differ->sides[1]->has_links)
		return 0;
	for (int i = 0; i < 2; i++)
		paths[i] = first_name(differ, pair, i);
	return tell_links(differ, paths, err);
}

/* -- extended attributes ------------------------------------------------------------- */

static int tell_xattr(struct differ *differ, const struct entry_pair *pair,
		      const struct side_xattr *a, const struct side_xattr *b,
		      dwarfs_error **err)
{
	const dwarfs_difference difference = {
		.kind = DWARFS_DIFFERENCE_XATTR,
		.name = a ? a->name : b->name,
		.values = { a ? a->value : NULL, b ? b->value : NULL },
		.bytes = { a ? a->bytes : 0, b ? b->bytes : 0 },
	};

	if (a && b && a->bytes == b->bytes && memcmp(a->value, b->value, a->bytes) == 0)
		return 0;
	return dw_differ_tell(differ, difference, err);
}

int dw_entry_pair_tell_lost(struct differ *differ, const struct entry_pair *pair,
			    enum known how, dwarfs_error **err)
{
	const char *found[2] = { NULL, NULL };
	int ret;

	for (int i = 0; i < 2; i++)
		if (pair->entries[i] && (pair->entries[i]->known & how))
			found[i] = dw_side_at(differ->sides[i], pair->entries[i]->xattrs);
	if (!found[0] && !found[1])
		return 0;
	ret = dw_differ_tell_texts(differ, DWARFS_DIFFERENCE_TROUBLE, found[0], found[1],
				   err);
	return ret < 0 ? ret : 1;
}

static int compare_xattrs(struct differ *differ, const struct entry_pair *pair,
			  dwarfs_error **err)
{
	struct side_xattr next[2];
	uint32_t at[2] = { 0, 0 };
	bool has[2];
	int ret = 0;

	if (!(differ->ignored & 1u << DWARFS_DIFFERENCE_XATTR))
		ret = dw_entry_pair_tell_lost(differ, pair, KNOWN_NO_XATTRS, err);
	if (ret != 0 || !both_know(pair, KNOWN_XATTRS))
		return ret < 0 ? ret : 0;
	for (int i = 0; i < 2; i++)
		has[i] = dw_side_xattr(differ->sides[i], pair->entries[i], &at[i],
				       &next[i]);
	while (has[0] || has[1]) {
		int order = !has[0]   ? 1
			    : !has[1] ? -1
				      : strcmp(next[0].name, next[1].name);

		ret = tell_xattr(differ, pair, order <= 0 ? &next[0] : NULL,
				 order >= 0 ? &next[1] : NULL, err);
		if (ret < 0)
			return ret;
		if (order <= 0)
			has[0] = dw_side_xattr(differ->sides[0], pair->entries[0], &at[0],
					       &next[0]);
		if (order >= 0)
			has[1] = dw_side_xattr(differ->sides[1], pair->entries[1], &at[1],
					       &next[1]);
	}
	return 0;
}

/* -- all of an entry ----------------------------------------------------------------- */

int dw_entry_pair_compare(struct differ *differ, const struct entry_pair *pair,
			  dwarfs_error **err)
{
	const uint32_t mode = pair->entries[0]->mode;
	int ret = dw_entry_pair_tell_lost(differ, pair, KNOWN_LOST, err);

	if (ret != 0)
		return ret < 0 ? ret : 0;
	if (((mode ^ pair->entries[1]->mode) & S_IFMT) != 0)
		return dw_differ_tell_texts(
			differ, DWARFS_DIFFERENCE_TYPE, dw_difference_type_name(mode),
			dw_difference_type_name(pair->entries[1]->mode), err);
	if ((ret = compare_attributes(differ, pair, err)) < 0)
		return ret;
	if (S_ISLNK(mode))
		ret = compare_targets(differ, pair, err);
	else if (S_ISBLK(mode) || S_ISCHR(mode))
		ret = compare_devices(differ, pair, err);
	else if (S_ISREG(mode) && (ret = compare_contents(differ, pair, err)) == 0)
		ret = compare_links(differ, pair, err);
	return ret < 0 ? ret : compare_xattrs(differ, pair, err);
}
