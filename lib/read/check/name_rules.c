/* SPDX-License-Identifier: MIT */
/*
 * read/check/name_rules: the rules for names of entries and targets of links.
 *
 * Takes a view whose directories have been checked.
 */
#include "read/check/name_rules.h"

#define MAX_NAME_BYTES	      255
#define MAX_LINK_BYTES	      4095 /* maximum of symlink() */
#define MAX_STORED_NAME_BYTES 512
#define MAX_STORED_LINK_BYTES 8190

static uint64_t entry_name_index(const struct view *view, uint32_t entry)
{
	if (view->has_dir_entries)
		return dw_column_get(&view->dir_entries, view->de_name, entry);
	return dw_column_get(&view->inodes, view->inode.name_index, entry);
}

static bool check_string_index(struct checker *checker, const struct strings *strings,
			       const char *what)
{
	uint64_t previous = 0;

	if (strings->is_packed)
		return true; /* the sums were checked when it was unpacked */
	if (strings->index.count == 0 ||
	    dw_column_get(&strings->index, strings->index_column, 0) != 0)
		return dw_checker_broken(checker,
					 "the index of the %s does not start at 0", what);
	for (uint64_t i = 0; i < strings->index.count; i++) {
		uint64_t offset =
			dw_column_get(&strings->index, strings->index_column, i);

		if (offset < previous)
			return dw_checker_broken(
				checker, "the index of the %s is not sorted", what);
		previous = offset;
	}
	if (previous != strings->buffer.size)
		return dw_checker_broken(
			checker, "the index of the %s does not fill its buffer", what);
	return true;
}

/* The strings of a plain list follow each other without gaps. */
static bool check_contiguous(struct checker *checker, const struct strings *strings,
			     const char *what)
{
	const uint8_t *first = NULL, *end = NULL;
	uint64_t total = 0;

	for (uint64_t i = 0; i < strings->count; i++) {
		auto_error dwarfs_error *error = NULL;
		struct span text;
		int ret = dw_strings_stored(strings, i, &text, &error);

		if (ret < 0)
			return dw_checker_broken_by(checker, ret, error);
		if (text.size == 0)
			continue;
		if (!first)
			first = text.data;
		end = text.data + text.size;
		total += text.size;
	}
	if (total > 0 && (end < first || (uint64_t)(end - first) != total))
		return dw_checker_broken(checker, "the %s do not follow each other",
					 what);
	return true;
}

static bool check_strings(struct checker *checker, const struct strings *strings,
			  uint64_t max_stored, const char *what)
{
	if (strings->is_compact ? !check_string_index(checker, strings, what)
				: !check_contiguous(checker, strings, what))
		return false;
	for (uint64_t i = 0; i < strings->count; i++) {
		auto_error dwarfs_error *error = NULL;
		struct span text;
		int ret = dw_strings_stored(strings, i, &text, &error);

		if (ret < 0)
			return dw_checker_broken_by(checker, ret, error);
		if (text.size > max_stored)
			return dw_checker_broken(checker, "one of the %s is too long",
						 what);
	}
	return true;
}

bool dw_name_rules_check_entries(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t used = 0;

	if (!check_strings(checker, &view->names, MAX_STORED_NAME_BYTES, "names"))
		return false;
	/* The root's name counts as used, unless it is the only one. */
	for (uint32_t entry = 0; entry < view->entry_count && view->entry_count > 1;
	     entry++)
		if (entry_name_index(view, entry) + 1 > used)
			used = entry_name_index(view, entry) + 1;
	if (used != view->names.count)
		return dw_checker_broken(
			checker, "there are %" PRIu64 " names, and %" PRIu64 " are used",
			view->names.count, used);
	for (uint32_t dir = 0; dir < view->directory_count; dir++) {
		uint64_t first = dw_view_first_entry(view, dir);
		uint64_t end = dw_view_first_entry(view, (uint64_t)dir + 1);
		char names[2][MAX_NAME_BYTES + 1];
		size_t sizes[2] = { 0 };

		for (uint64_t entry = first; entry < end; entry++) {
			auto_error dwarfs_error *error = NULL;
			char *name = names[entry & 1], *previous = names[~entry & 1];
			size_t *size = &sizes[entry & 1],
			       *previous_size = &sizes[~entry & 1];
			size_t shorter;
			int ret = dw_view_entry_name(view, (uint32_t)entry, name,
						     sizeof(names[0]), size, &error);
			int order;

			if (ret < 0)
				return dw_checker_broken_by(checker, ret, error);
			if (entry == first)
				continue;
			shorter = *size < *previous_size ? *size : *previous_size;
			order = memcmp(previous, name, shorter);
			if (order > 0 || (order == 0 && *previous_size >= *size))
				return dw_checker_broken(checker,
							 "the names of directory %" PRIu32
							 " are not sorted",
							 dir);
		}
	}
	return true;
}

/* Systems have no links with an empty or longer target. */
static bool check_targets(struct checker *checker)
{
	const struct strings *links = &checker->view->symlinks;

	for (uint64_t i = 0; i < links->count; i++) {
		auto_error dwarfs_error *error = NULL;
		char target[MAX_LINK_BYTES + 1];
		size_t size = 0;
		int ret = dw_strings_get(links, i, target, sizeof(target), &size, &error);

		if (ret == DWARFS_ERR_RANGE)
			return dw_checker_broken(checker,
						 "the target of link %" PRIu64
						 " has more than %d bytes",
						 i, MAX_LINK_BYTES);
		if (ret < 0)
			return dw_checker_broken_by(checker, ret, error);
		if (size == 0)
			return dw_checker_broken(
				checker, "the target of link %" PRIu64 " is empty", i);
		if (memchr(target, '\0', size))
			return dw_checker_broken(
				checker, "the target of link %" PRIu64 " contains a NUL",
				i);
	}
	return true;
}

bool dw_name_rules_check_links(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t used = 0;

	if (!check_strings(checker, &view->symlinks, MAX_STORED_LINK_BYTES, "links") ||
	    !check_targets(checker))
		return false;
	for (uint64_t i = 0; i < view->symlink_table.count; i++) {
		uint64_t index =
			dw_column_get(&view->symlink_table, view->symlink_table_item, i);

		if (index + 1 > used)
			used = index + 1;
	}
	if (used != view->symlinks.count)
		return dw_checker_broken(
			checker, "there are %" PRIu64 " links, and %" PRIu64 " are used",
			view->symlinks.count, used);
	return true;
}
