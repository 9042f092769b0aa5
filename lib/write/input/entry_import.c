/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_import: one entry of the input -> one entry of the tree.
 *
 * Applies the options (owner, mode, include callback, skipped types) and joins hard
 * links. Files are the same if device and inode number are, since other file systems may
 * be mounted below the root.
 */
#include <string.h>

#include "format/metadata.h"
#include "write/budget/memory_estimate.h"
#include "write/input/entry_details.h"
#include "write/input/entry_import.h"
#include "write/input/source.h"

struct linked_inode {
	uint64_t device, inode;
	uint32_t number; /* of tree.inodes, + 1; 0 for an empty slot */
};

void dw_entry_import_free(struct entry_import *import)
{
	dw_free(import->linked);
}

/* -- hard links ---------------------------------------------------------------------- */

static struct linked_inode *find_linked_inode(const struct entry_import *import,
					      uint64_t device, uint64_t inode)
{
	size_t mask = import->linked_room - 1;
	size_t slot =
		(size_t)((inode ^ device << 32) * UINT64_C(0x9E3779B97F4A7C15) >> 20);

	for (slot &= mask;; slot = (slot + 1) & mask) {
		struct linked_inode *linked = &import->linked[slot];

		if (linked->number == 0 ||
		    (linked->device == device && linked->inode == inode))
			return linked;
	}
}

static int grow_linked_inodes(struct entry_import *import, dwarfs_error **err)
{
	struct linked_inode *old = import->linked;
	size_t old_room = import->linked_room;

	import->linked_room = old_room ? old_room * 2 : 64;
	import->linked = dw_calloc(import->linked_room, sizeof(*import->linked));
	if (!import->linked) {
		import->linked = old;
		import->linked_room = old_room;
		return dw_fail_nomem(err);
	}
	for (size_t i = 0; i < old_room; i++)
		if (old[i].number != 0)
			*find_linked_inode(import, old[i].device, old[i].inode) = old[i];
	dw_free(old);
	return 0;
}

/* The inode of a file: new, or that of an earlier hard link. */
static int import_file_inode(struct entry_import *import, const struct os_stat *stat,
			     uint32_t *inode_out, bool *is_new_out, dwarfs_error **err)
{
	bool keep_times = dw_keeps_times(import->run->options);
	struct linked_inode *linked;
	int ret;

	*is_new_out = true;
	if (stat->links < 2)
		return dw_tree_add_inode(import->tree, stat, keep_times, inode_out, err);
	if (import->linked_count * 2 >= import->linked_room &&
	    (ret = grow_linked_inodes(import, err)) < 0)
		return ret;
	linked = find_linked_inode(import, stat->device, stat->inode);
	if (linked->number != 0) {
		*inode_out = linked->number - 1;
		*is_new_out = false;
		import->run->counts[DWARFS_COUNT_HARDLINKS]++;
		return 0;
	}
	if ((ret = dw_tree_add_inode(import->tree, stat, keep_times, inode_out, err)) < 0)
		return ret;
	*linked = (struct linked_inode){ stat->device, stat->inode, *inode_out + 1 };
	import->linked_count++;
	return 0;
}

/* -- entries ------------------------------------------------------------------------- */

/* Apply the options to the attributes. Times are changed when the metadata is made: until
 * then they show whether a file has changed. */
static void apply_attribute_options(struct entry_import *import, struct os_stat *stat)
{
	const struct build_options *options = import->run->options;

	if ((stat->mode & DW_S_IFMT) != DW_S_IFLNK)
		stat->mode =
			dw_mode_change_apply(&options->chmod, stat->mode, options->umask);
	if (options->set_uid)
		stat->uid = options->uid;
	if (options->set_gid)
		stat->gid = options->gid;
}

static bool is_skipped(struct entry_import *import, const struct found_entry *found)
{
	int class = dw_class_of_mode(found->stat.mode);
	const char *what = NULL;

	if (class == CLASS_DEV && !import->devices && !found->is_of_image)
		what = "device";
	else if (class == CLASS_OTH && !import->specials && !found->is_of_image)
		what = "fifo or socket";
	else if (class < 0)
		what = "file of unknown type";
	else if (import->run->output && dw_sink_is(import->run->output, &found->stat))
		what = "the output itself";
	if (!what)
		return false;
	dw_log(import->run->context, DWARFS_LOG_VERBOSE, "skipping '%s/%s': %s",
	       import->run->root_path, found->path, what);
	import->run->counts[DWARFS_COUNT_SKIPPED]++;
	return true;
}

/* Sparse files may have any size; the sum of sizes must not overflow. */
static int count_entry(struct entry_import *import, const struct os_stat *stat,
		       bool is_new, dwarfs_error **err)
{
	static const int count_of_class[] = {
		[CLASS_DIR] = DWARFS_COUNT_DIRECTORIES,
		[CLASS_LNK] = DWARFS_COUNT_LINKS,
		[CLASS_REG] = DWARFS_COUNT_FILES,
		[CLASS_DEV] = DWARFS_COUNT_DEVICES,
		[CLASS_OTH] = DWARFS_COUNT_SPECIALS,
	};
	uint64_t *bytes = &import->run->counts[DWARFS_COUNT_BYTES_IN];
	int class = dw_class_of_mode(stat->mode);

	if (class < 0) /* skipped by is_skipped() */
		return 0;
	import->run->counts[count_of_class[class]]++;
	if (class != CLASS_REG || !is_new)
		return 0;
	if (stat->size > INT64_MAX - *bytes)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "the files have more than 2^63 bytes in all");
	*bytes += stat->size;
	return 0;
}

static int add_inode(struct entry_import *import, const struct os_stat *stat,
		     struct span target, uint32_t *inode_out, bool *is_new_out,
		     dwarfs_error **err)
{
	struct tree *tree = import->tree;
	int class = dw_class_of_mode(stat->mode);
	struct tree_inode *inode;
	int ret;

	*is_new_out = true;
	if (class == CLASS_REG)
		return import_file_inode(import, stat, inode_out, is_new_out, err);
	ret = dw_tree_add_inode(tree, stat, dw_keeps_times(import->run->options),
				inode_out, err);
	if (ret < 0)
		return ret;
	inode = &tree->inodes[*inode_out];
	inode->size = class == CLASS_DEV ? stat->rdev : 0;
	if (class != CLASS_LNK)
		return 0;
	return dw_string_set_add(&tree->targets, target, &inode->target, err);
}

/* Call the include callback. */
static int ask_include_callback(struct entry_import *import,
				const struct found_entry *found, bool *is_taken_out,
				dwarfs_error **err)
{
	const struct input_options *options = &import->run->options->input;
	struct dwarfs_input input = {
		.path = found->path,
		.size = dw_class_of_mode(found->stat.mode) == CLASS_REG ? found->stat.size
									: 0,
		.mtime = found->stat.mtime.seconds,
		.mode = found->stat.mode,
		.uid = found->stat.uid,
		.gid = found->stat.gid,
	};
	auto_error dwarfs_error *why = NULL;
	int answer = 1;

	if (options->include)
		answer = options->include(&input, &why, options->include_user);
	if (answer != 0 && answer != 1)
		return dw_callback_fail(answer, &why, err);
	*is_taken_out = answer != 0;
	return 0;
}

/* If the tree exceeds the memory limit, only count further entries, so that the message
 * can say which limit would suffice. Directories are still added, as the scan continues
 * through them. */
static bool is_only_counted(struct entry_import *import, const struct found_entry *found)
{
	struct excess *excess = &import->run->excess;
	int class = dw_class_of_mode(found->stat.mode);
	const char *name = strrchr(found->path, '/');

	/* Without an output (scan only) the whole tree is built. */
	if (!excess->is_full && import->run->output)
		excess->is_full = dw_estimate_exceeds_limit(import->run, import->tree);
	if (!excess->is_full || class == CLASS_DIR)
		return false;
	excess->entries++;
	excess->name_bytes += strlen(name ? name : found->path) + found->target.size;
	if (class != CLASS_REG || found->stat.size == 0)
		return true;
	excess->files++;
	excess->bytes += found->stat.size;
	if (found->stat.size <= KEPT_FILE_BYTES)
		excess->small_bytes += found->stat.size;
	return true;
}

/* All hard links of a file have the same attributes, so those of the first one suffice.
 * The rules for attributes were not applied to items yet. */
static int import_xattrs(struct entry_import *import, const struct found_entry *found,
			 uint32_t inode, dwarfs_error **err)
{
	struct tree *tree = import->tree;
	uint32_t mode = tree->inodes[inode].mode;
	struct span xattrs = found->xattrs;
	auto_buffer struct buffer changed = { 0 };
	int ret;

	if (found->xattrs_errnum &&
	    (ret = dw_build_complain(import->run, found->path, found->xattrs_errnum,
				     "cannot read all extended attributes of",
				     "storing those that can be read", err)) < 0)
		return ret;
	if (xattrs.size > 0 && mode != found->stat.mode) {
		if ((ret = dw_buffer_append(&changed, xattrs.data, xattrs.size, err)) < 0)
			return ret;
		dw_xattr_list_set_mode(&changed, mode);
		xattrs = dw_buffer_span(&changed);
	}
	return dw_xattrs_add_list(&tree->xattrs, xattrs,
				  found->is_item ? &import->run->options->xattrs : NULL,
				  &tree->inodes[inode].xattrs, err);
}

int dw_entry_import_one(struct entry_import *import, const struct found_entry *found,
			uint32_t *inode_out, dwarfs_error **err)
{
	struct os_stat stat = found->stat;
	bool is_included = true, is_new;
	int ret;

	*inode_out = DW_NONE;
	if (is_skipped(import, found))
		return 0;
	if ((ret = ask_include_callback(import, found, &is_included, err)) < 0 ||
	    !is_included)
		return ret;
	if (is_only_counted(import, found))
		return 0;
	if (found->is_item) {
		stat.device = UINT64_MAX;
		stat.inode = found->record;
	}
	apply_attribute_options(import, &stat);
	if ((ret = add_inode(import, &stat, found->target, inode_out, &is_new, err)) < 0)
		return ret;
	if (found->is_item && dw_class_of_mode(stat.mode) == CLASS_REG)
		import->tree->inodes[*inode_out].record = found->record;
	if ((ret = count_entry(import, &stat, is_new, err)) < 0)
		return ret;
	return is_new ? import_xattrs(import, found, *inode_out, err) : 0;
}

int dw_entry_import_root(struct entry_import *import, dwarfs_error **err)
{
	int fd = import->run->root_fd;
	auto_buffer struct buffer xattrs = { 0 };
	struct found_entry root = { .path = "" };
	int ret = dw_stat_fd(fd, &root.stat);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot inspect '%s'",
				     import->run->root_path);
	if (dw_entry_details(import->run->options, fd, "", &root.stat, &xattrs,
			     &root.xattrs_errnum) < 0)
		return dw_fail_nomem(err);
	root.xattrs = dw_buffer_span(&xattrs);
	return dw_entry_import_found_root(import, &root, err);
}

int dw_entry_import_found_root(struct entry_import *import,
			       const struct found_entry *found, dwarfs_error **err)
{
	struct os_stat stat = found->stat;
	uint32_t inode;
	bool is_new;
	int ret;

	apply_attribute_options(import, &stat);
	if ((ret = add_inode(import, &stat, (struct span){ 0 }, &inode, &is_new, err)) <
	    0)
		return ret;
	if ((ret = count_entry(import, &stat, true, err)) < 0 ||
	    (ret = import_xattrs(import, found, inode, err)) < 0)
		return ret;
	return dw_tree_add_entry(import->tree, 0, (struct span){ 0 }, inode, err);
}
