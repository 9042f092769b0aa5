/* SPDX-License-Identifier: MIT */
/*
 * read/check/rules: every rule of the format for the tables of the metadata: here those of
 * inodes and directories; name_rules and file_rules have the others.
 *
 * Takes a view, whose counts are bounded already, and makes linear passes over it.
 * Reports the first violation of each rule, so that the report stays short for any
 * damage.
 */
#include <dwarfs/image.h>

#include "read/check/file_rules.h"
#include "read/check/name_rules.h"
#include "read/metadata/inode_record.h"

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
			return dw_checker_broken(
				checker, "entry %" PRIu64 " has no inode", record);
	for (uint32_t inode = 0; inode < view->inode_count; inode++) {
		uint64_t record =
			dw_column_get(&view->entry_table, view->entry_table_item, inode);

		if (record >= view->inodes.count ||
		    inode_of_record(view, record) != inode)
			return dw_checker_broken(
				checker, "inode %" PRIu32 " has no record", inode);
	}
	return true;
}

static void tell_attribute(struct checker *checker, uint32_t inode, uint64_t record,
			   uint32_t bit)
{
	uint32_t mode;

	if (bit == DWARFS_ATTRIBUTE_MODE &&
	    dw_record_raw_mode(checker->view, record, &mode))
		dw_checker_broken(
			checker,
			"inode %" PRIu32 " has the mode %" PRIo32
			", which does not fit its number: inodes are sorted by type",
			inode, mode);
	else
		dw_checker_broken(checker, "inode %" PRIu32 " has no valid %s", inode,
				  dwarfs_attribute_name(bit));
}

/* The first violation of each kind. */
static void check_inode_attributes(struct checker *checker)
{
	const struct view *view = checker->view;
	uint32_t told = view->bad_times ? DWARFS_ATTRIBUTE_TIMES : 0;

	for (size_t i = 0; i < view->damage_count; i++)
		dw_checker_broken(checker, "%s", view->damage[i]);
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
		return dw_checker_broken_by(checker, DWARFS_ERR_NOMEM, NULL);
	for (uint32_t entry = 0; entry < view->entry_count; entry++) {
		auto_error dwarfs_error *error = NULL;
		uint32_t inode;
		int ret = dw_view_entry_inode(view, entry, &inode, &error);

		if (ret < 0)
			return dw_checker_broken_by(checker, ret, error);
		if (seen[inode] && view->has_dir_entries &&
		    dw_view_class(view, inode) != CLASS_REG)
			return dw_checker_broken(checker,
						 "inode %" PRIu32
						 " has two names and is not a file",
						 inode);
		seen[inode] = 1;
	}
	for (uint32_t inode = 0; inode < view->inode_count; inode++)
		if (!seen[inode])
			return dw_checker_broken(checker, "inode %" PRIu32 " has no name",
						 inode);
	return true;
}

/* -- directories --------------------------------------------------------------------- */

/* The ranges of directories cover the entries 1 to the last, each once. */
static bool check_ranges(struct checker *checker)
{
	const struct view *view = checker->view;
	uint64_t previous = 1;

	if (dw_view_first_entry(view, 0) != 1)
		return dw_checker_broken(checker,
					 "the root directory does not start at entry 1");
	for (uint64_t dir = 0; dir <= view->directory_count; dir++) {
		uint64_t first = dw_view_first_entry(view, dir);

		if (first < previous || first > view->entry_count)
			return dw_checker_broken(
				checker, "directory %" PRIu64 " has impossible entries",
				dir);
		previous = first;
	}
	if (previous != view->entry_count)
		return dw_checker_broken(checker, "some entries are in no directory");
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
		return dw_checker_broken(checker, "entry 0 is not the root directory");
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
				return dw_checker_broken(
					checker, "directory %" PRIu32 " is in two places",
					inode);
			places[inode] = (struct tree_place){ (uint32_t)entry, dir, true };
		}
	}
	for (uint32_t dir = 1; dir < view->directory_count; dir++)
		if (!places[dir].found ||
		    places[dir].entry >= dw_view_first_entry(view, dir))
			return dw_checker_broken(
				checker, "directory %" PRIu32 " comes before its parent",
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
			return dw_checker_broken(checker,
						 "packed directories name their parents");
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
		return dw_checker_broken(checker, "the root directory has a parent");
	if (dir_value(view, view->dir_self, count) != 0)
		dw_checker_warn(checker, "metadata: the sentinel directory names itself");
	for (uint32_t dir = 1; dir < count; dir++)
		has_self |= dir_value(view, view->dir_self, dir) != 0;
	for (uint32_t dir = 1; dir < count; dir++) {
		uint32_t parent = places[dir].parent;
		uint64_t expected = view->has_dir_entries ? places[parent].entry : parent;

		if (dir_value(view, view->dir_parent, dir) != expected)
			return dw_checker_broken(
				checker, "directory %" PRIu32 " names a wrong parent",
				dir);
		if (has_self && view->has_dir_entries &&
		    dir_value(view, view->dir_self, dir) != places[dir].entry)
			return dw_checker_broken(
				checker, "directory %" PRIu32 " names a wrong entry",
				dir);
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
		return dw_checker_broken_by(checker, DWARFS_ERR_NOMEM, NULL);
	if (!find_tree(checker, places))
		return false;
	if (view->packed_directories)
		return check_packed_links(checker);
	return check_stored_links(checker, places);
}

/* Numbers that no system has. */
static bool check_devices(struct checker *checker)
{
	const struct view *view = checker->view;

	for (uint64_t i = 0; i < view->devices.count; i++) {
		uint64_t device = dw_column_get(&view->devices, view->devices_item, i);

		if (device > UINT32_MAX)
			return dw_checker_broken(checker,
						 "the number of device %" PRIu64
						 " has more than 32 bits",
						 i);
	}
	return true;
}

/* Packed tables can be unpacked. */
static bool check_packed_tables(struct checker *checker)
{
	auto_error dwarfs_error *error = NULL;
	int ret = dw_view_unpack(checker->view, &error);

	return ret == 0 || dw_checker_broken_by(checker, ret, error);
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

	/* Later checks rely on earlier ones. */
	if (!check_packed_tables(&checker) || !check_records(&checker))
		return checker.first_code;
	check_inode_attributes(&checker);
	if (!check_entry_references(&checker))
		return checker.first_code;
	if (check_directories(&checker))
		dw_name_rules_check_entries(&checker);
	dw_name_rules_check_links(&checker);
	check_devices(&checker);
	dw_file_rules_check(&checker);
	return checker.first_code;
}
