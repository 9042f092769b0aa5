/* SPDX-License-Identifier: MIT */
/*
 * read/check/rules: every rule of the format for the tables of the metadata.
 *
 * Takes a view, whose counts are bounded already, and makes linear passes over it.
 * Reports the first violation of each rule, so that the report stays short for any
 * damage.
 */
#include <stdarg.h>
#include <stdio.h>

#include <dwarfs/image.h>

#include "read/check/category_rules.h"
#include "read/metadata/inode_record.h"
#include "read/metadata/view.h"

#define MAX_NAME_BYTES	      255
#define MAX_LINK_BYTES	      4095 /* maximum of symlink() */
#define MAX_STORED_NAME_BYTES 512
#define MAX_STORED_LINK_BYTES 8190

struct checker {
	struct view *view;
	uint32_t block_count;
	dw_report_fn report;
	void *user;
	dwarfs_error **err;
	int first_code; /* code of the first violated rule, or 0 */
};

/* Report a violated rule. Gives false, so that checks can return it. */
static bool broken(struct checker *checker, const char *format, ...) DW_PRINTF(2, 3);
static bool broken(struct checker *checker, const char *format, ...)
{
	char message[256] = "metadata: ";
	size_t prefix = strlen(message);
	va_list args;

	va_start(args, format);
	vsnprintf(message + prefix, sizeof(message) - prefix, format, args);
	va_end(args);
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_ERROR, message);
	if (checker->first_code == 0)
		checker->first_code =
			dw_fail(checker->err, DWARFS_ERR_CORRUPT, "%s", message);
	return false;
}

/* Report the error of a function of the view. */
static bool broken_by(struct checker *checker, int code, dwarfs_error *error)
{
	const char *message = error ? dwarfs_error_message(error) : dwarfs_strerror(code);

	if (code == DWARFS_ERR_NOMEM) { /* not a property of the metadata */
		checker->first_code = dw_fail_nomem(checker->err);
		return false;
	}
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_ERROR, message);
	if (checker->first_code == 0)
		checker->first_code = dw_fail(checker->err, code, "%s", message);
	return false;
}

static void report_warning(struct checker *checker, const char *message)
{
	if (checker->report)
		checker->report(checker->user, DWARFS_FINDING_WARNING, message);
}

/* The inode that uses a record. */
static uint64_t inode_of_record(const struct view *view, uint64_t record)
{
	if (view->has_dir_entries)
		return record;
	return dw_column_get(&view->inodes, view->inode.inode, record);
}

/* -- inodes -------------------------------------------------------------------------- */

/* Each inode has a record that refers to it, and each record an inode. */
static bool check_records(struct checker *checker)
{
	const struct view *view = checker->view;

	if (view->has_dir_entries)
		return true;
	for (uint64_t record = 0; record < view->inodes.count; record++)
		if (inode_of_record(view, record) >= view->inode_count)
			return broken(checker, "entry %" PRIu64 " has no inode", record);
	for (uint32_t inode = 0; inode < view->inode_count; inode++) {
		uint64_t record =
			dw_column_get(&view->entry_table, view->entry_table_item, inode);

		if (record >= view->inodes.count ||
		    inode_of_record(view, record) != inode)
			return broken(checker, "inode %" PRIu32 " has no record", inode);
	}
	return true;
}

static void tell_attribute(struct checker *checker, uint32_t inode, uint64_t record,
			   uint32_t bit)
{
	uint32_t mode;

	if (bit == DWARFS_ATTRIBUTE_MODE &&
	    dw_record_raw_mode(checker->view, record, &mode))
		broken(checker,
		       "inode %" PRIu32 " has the mode %" PRIo32
		       ", which does not fit its number: inodes are sorted by type",
		       inode, mode);
	else
		broken(checker, "inode %" PRIu32 " has no valid %s", inode,
		       dwarfs_attribute_name(bit));
}

/* The first violation of each kind. */
static void check_inode_attributes(struct checker *checker)
{
	const struct view *view = checker->view;
	uint32_t told = view->bad_times ? DWARFS_ATTRIBUTE_TIMES : 0;

	for (size_t i = 0; i < view->damage_count; i++)
		broken(checker, "%s", view->damage[i]);
	for (uint64_t record = 0; record < view->inodes.count; record++) {
		uint32_t inode = (uint32_t)inode_of_record(view, record);
		uint32_t invalid = dw_view_record_invalid(view, inode, record) & ~told;

		if (view->mtime_only)
			invalid &= ~(uint32_t)(DWARFS_ATTRIBUTE_ATIME |
					       DWARFS_ATTRIBUTE_CTIME);
		told |= invalid;
		for (uint32_t bit = 1; invalid != 0; invalid &= ~bit, bit <<= 1)
			if (invalid & bit)
				tell_attribute(checker, inode, record, bit);
	}
}

/* Every entry names an inode; every inode is named; only files may be named twice. */
static bool check_entry_references(struct checker *checker)
{
	const struct view *view = checker->view;
	auto_free uint8_t *seen = dw_calloc(view->inode_count, 1);

	if (!seen)
		return broken_by(checker, DWARFS_ERR_NOMEM, NULL);
	for (uint32_t entry = 0; entry < view->entry_count; entry++) {
		auto_error dwarfs_error *error = NULL;
		uint32_t inode;
		int ret = dw_view_entry_inode(view, entry, &inode, &error);

		if (ret < 0)
			return broken_by(checker, ret, error);
		if (seen[inode] && view->has_dir_entries &&
		    dw_view_class(view, inode) != CLASS_REG)
			return broken(checker,
				      "inode %" PRIu32 " has two names and is not a file",
				      inode);
		seen[inode] = 1;
	}
	for (uint32_t inode = 0; inode < view->inode_count; inode++)
		if (!seen[inode])
			return broken(checker, "inode %" PRIu32 " has no name", inode);
	return true;
}

/* -- directories --------------------------------------------------------------------- */

/* The ranges of directories cover the entries 1 to the last, each once. */
static bool check_ranges(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 1;

	if (dw_view_first_entry(view, 0) != 1)
		return broken(checker, "the root directory does not start at entry 1");
	for (uint64_t dir = 0; dir <= view->directory_count; dir++) {
		uint64_t first = dw_view_first_entry(view, dir);

		if (first < previous || first > view->entry_count)
			return broken(checker,
				      "directory %" PRIu64 " has impossible entries",
				      dir);
		previous = first;
	}
	if (previous != view->entry_count)
		return broken(checker, "some entries are in no directory");
	return true;
}

/* Which entry names each directory, and in which directory. */
struct tree_place {
	uint32_t entry, parent;
	bool found;
};

static bool find_tree(struct checker *checker, struct tree_place *places)
{
	const struct view *view = checker->view;
	uint32_t root;

	if (dw_view_entry_inode(view, 0, &root, NULL) < 0 || root != 0)
		return broken(checker, "entry 0 is not the root directory");
	places[0].found = true;
	for (uint32_t dir = 0; dir < view->directory_count; dir++) {
		uint64_t end = dw_view_first_entry(view, (uint64_t)dir + 1);

		for (uint64_t entry = dw_view_first_entry(view, dir); entry < end;
		     entry++) {
			uint32_t inode;

			if (dw_view_entry_inode(view, (uint32_t)entry, &inode, NULL) <
				    0 ||
			    inode >= view->directory_count)
				continue;
			if (places[inode].found)
				return broken(checker,
					      "directory %" PRIu32 " is in two places",
					      inode);
			places[inode] = (struct tree_place){ (uint32_t)entry, dir, true };
		}
	}
	for (uint32_t dir = 1; dir < view->directory_count; dir++)
		if (!places[dir].found ||
		    places[dir].entry >= dw_view_first_entry(view, dir))
			return broken(checker,
				      "directory %" PRIu32 " comes before its parent",
				      dir);
	return true;
}

static uint64_t dir_value(const struct view *view, struct column column, uint64_t dir)
{
	return dw_column_get(&view->directories, column, dir);
}

static bool check_packed_links(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t dir = 0; dir <= view->directory_count; dir++)
		if (dir_value(view, view->dir_parent, dir) != 0 ||
		    dir_value(view, view->dir_self, dir) != 0)
			return broken(checker, "packed directories name their parents");
	return true;
}

/* The redundant columns, if stored. */
static bool check_stored_links(struct checker *checker, const struct tree_place *places)
{
	const struct view *view = checker->view;
	uint32_t count = view->directory_count;
	bool has_self = false;

	if (dir_value(view, view->dir_parent, 0) != 0 ||
	    dir_value(view, view->dir_parent, count) != 0 ||
	    dir_value(view, view->dir_self, 0) != 0)
		return broken(checker, "the root directory has a parent");
	if (dir_value(view, view->dir_self, count) != 0)
		report_warning(checker, "metadata: the sentinel directory names itself");
	for (uint32_t dir = 1; dir < count; dir++)
		has_self |= dir_value(view, view->dir_self, dir) != 0;
	for (uint32_t dir = 1; dir < count; dir++) {
		uint32_t parent = places[dir].parent;
		uint64_t expected = view->has_dir_entries ? places[parent].entry : parent;

		if (dir_value(view, view->dir_parent, dir) != expected)
			return broken(checker,
				      "directory %" PRIu32 " names a wrong parent", dir);
		if (has_self && view->has_dir_entries &&
		    dir_value(view, view->dir_self, dir) != places[dir].entry)
			return broken(checker,
				      "directory %" PRIu32 " names a wrong entry", dir);
	}
	return true;
}

static bool check_directories(struct checker *checker)
{
	struct view *view = checker->view;
	auto_free struct tree_place *places = NULL;

	if (!check_ranges(checker))
		return false;
	places = dw_calloc(view->directory_count, sizeof(*places));
	if (!places)
		return broken_by(checker, DWARFS_ERR_NOMEM, NULL);
	if (!find_tree(checker, places))
		return false;
	if (view->packed_directories)
		return check_packed_links(checker);
	return check_stored_links(checker, places);
}

/* -- names and links ----------------------------------------------------------------- */

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
		return broken(checker, "the index of the %s does not start at 0", what);
	for (uint64_t i = 0; i < strings->index.count; i++) {
		uint64_t offset =
			dw_column_get(&strings->index, strings->index_column, i);

		if (offset < previous)
			return broken(checker, "the index of the %s is not sorted", what);
		previous = offset;
	}
	if (previous != strings->buffer.size)
		return broken(checker, "the index of the %s does not fill its buffer",
			      what);
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
			return broken_by(checker, ret, error);
		if (text.size == 0)
			continue;
		if (!first)
			first = text.data;
		end = text.data + text.size;
		total += text.size;
	}
	if (total > 0 && (end < first || (uint64_t)(end - first) != total))
		return broken(checker, "the %s do not follow each other", what);
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
			return broken_by(checker, ret, error);
		if (text.size > max_stored)
			return broken(checker, "one of the %s is too long", what);
	}
	return true;
}

/* Every name is used, valid, and sorted within its directory. */
static bool check_entry_names(struct checker *checker)
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
		return broken(checker,
			      "there are %" PRIu64 " names, and %" PRIu64 " are used",
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
				return broken_by(checker, ret, error);
			if (entry == first)
				continue;
			shorter = *size < *previous_size ? *size : *previous_size;
			order = memcmp(previous, name, shorter);
			if (order > 0 || (order == 0 && *previous_size >= *size))
				return broken(checker,
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
			return broken(checker,
				      "the target of link %" PRIu64
				      " has more than %d bytes",
				      i, MAX_LINK_BYTES);
		if (ret < 0)
			return broken_by(checker, ret, error);
		if (size == 0)
			return broken(checker, "the target of link %" PRIu64 " is empty",
				      i);
		if (memchr(target, '\0', size))
			return broken(checker,
				      "the target of link %" PRIu64 " contains a NUL", i);
	}
	return true;
}

static bool check_links(struct checker *checker)
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
		return broken(checker,
			      "there are %" PRIu64 " links, and %" PRIu64 " are used",
			      view->symlinks.count, used);
	return true;
}

/* Numbers that no system has. */
static bool check_devices(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t i = 0; i < view->devices.count; i++) {
		uint64_t device = dw_column_get(&view->devices, view->devices_item, i);

		if (device > UINT32_MAX)
			return broken(checker,
				      "the number of device %" PRIu64
				      " has more than 32 bits",
				      i);
	}
	return true;
}

/* -- files --------------------------------------------------------------------------- */

static bool check_shared_files(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->shared_count; i++) {
		uint64_t value = dw_view_shared(view, i);

		if ((i == 0 && value != 0) || value < previous || value > previous + 1)
			return broken(checker,
				      "the table of shared files is not in order");
		previous = value;
	}
	return true;
}

static bool check_chunk_table(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->chunk_table.count; i++) {
		uint64_t value = dw_view_chunk_table(view, i);

		if ((i == 0 && value != 0) || value < previous ||
		    value > view->chunks.count)
			return broken(checker, "the chunk table is not in order");
		previous = value;
	}
	if (previous != view->chunks.count)
		return broken(checker, "some chunks belong to no file");
	return true;
}

static bool check_chunks(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t i = 0; i < view->chunks.count; i++) {
		auto_error dwarfs_error *error = NULL;
		struct file_chunk chunk;
		int ret = dw_view_chunk(view, i, &chunk, &error);

		if (ret < 0)
			return broken_by(checker, ret, error);
		if (!chunk.is_hole && chunk.block >= checker->block_count)
			return broken(checker,
				      "chunk %" PRIu64 " is in block %" PRIu32
				      " of %" PRIu32,
				      i, chunk.block, checker->block_count);
	}
	return true;
}

/* Once for each entry of the table, however many files share it. */
static bool check_file_sizes(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t file = 0; file + 1 < view->chunk_table.count; file++) {
		uint64_t end = dw_view_chunk_table(view, file + 1), sum = 0;

		for (uint64_t k = dw_view_chunk_table(view, file); k < end; k++) {
			struct file_chunk chunk;

			if (dw_view_chunk(view, k, &chunk, NULL) < 0)
				return false;
			sum += chunk.bytes;
			if (sum > INT64_MAX)
				return broken(checker, "file %" PRIu64 " is too large",
					      file);
		}
	}
	return true;
}

/* Sizes stored for files of many chunks. */
static bool check_size_cache(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 0;

	for (uint64_t i = 0; i < view->size_cache.count; i++) {
		uint64_t file = dw_column_get(&view->size_cache, view->size_key, i);
		uint64_t size = dw_column_get(&view->size_cache, view->size_value, i);
		uint64_t first, end, sum = 0;

		if (file + 1 >= view->chunk_table.count || (i > 0 && file <= previous))
			return broken(checker, "the cache of sizes is not in order");
		previous = file;
		first = dw_view_chunk_table(view, file);
		end = dw_view_chunk_table(view, file + 1);
		if (end - first < view->size_cache_min_chunks)
			return broken(checker,
				      "the cache of sizes has a file of few chunks");
		for (uint64_t k = first; k < end; k++) {
			struct file_chunk chunk;

			if (dw_view_chunk(view, k, &chunk, NULL) < 0)
				return false;
			sum += chunk.bytes;
		}
		if (sum != size)
			return broken(checker,
				      "the cache of sizes is wrong for file %" PRIu64,
				      file);
	}
	return true;
}

/* The same for sizes without holes. */
static bool check_allocated_cache(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t next = 0;

	for (uint64_t i = 0; i < view->allocated_cache.count; i++) {
		uint64_t file =
			dw_column_get(&view->allocated_cache, view->allocated_key, i);

		if (file + 1 >= view->chunk_table.count || file < next)
			return broken(checker,
				      "the cache of allocated sizes is not in order");
		next = file + 1;
	}
	return true;
}

static bool check_block_categories(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t names = 0;

	if (view->block_categories.count == 0)
		return true;
	while (view->categories[names])
		names++;
	if (view->block_categories.count != checker->block_count)
		return broken(checker,
			      "%" PRIu64 " of %" PRIu32 " blocks have a category",
			      view->block_categories.count, checker->block_count);
	for (uint64_t i = 0; i < view->block_categories.count; i++)
		if (dw_column_get(&view->block_categories, view->block_categories_item,
				  i) >= names)
			return broken(checker, "block %" PRIu64 " has no category", i);
	return true;
}

static bool check_category_metadata(struct checker *checker)
{
	auto_error dwarfs_error *error = NULL;
	int ret = dw_rules_check_category_metadata(checker->view, checker->block_count,
						   &error);

	return ret == 0 || broken_by(checker, ret, error);
}

/* Packed tables can be unpacked. */
static bool check_packed_tables(struct checker *checker)
{
	auto_error dwarfs_error *error = NULL;
	int ret = dw_view_unpack(checker->view, &error);

	return ret == 0 || broken_by(checker, ret, error);
}

int dw_view_check(struct view *view, uint32_t block_count, dw_report_fn report,
		  void *user, dwarfs_error **err)
{
	struct checker checker = {
		.view = view,
		.block_count = block_count,
		.report = report,
		.user = user,
		.err = err,
	};
	bool files;

	/* Later checks rely on earlier ones. */
	if (!check_packed_tables(&checker) || !check_records(&checker))
		return checker.first_code;
	check_inode_attributes(&checker);
	if (!check_entry_references(&checker))
		return checker.first_code;
	if (check_directories(&checker))
		check_entry_names(&checker);
	check_links(&checker);
	check_devices(&checker);
	files = check_shared_files(&checker);
	files = check_chunk_table(&checker) && files;
	files = check_chunks(&checker) && files;
	if (files && check_file_sizes(&checker))
		check_size_cache(&checker);
	check_allocated_cache(&checker);
	check_block_categories(&checker);
	check_category_metadata(&checker);
	return checker.first_code;
}
