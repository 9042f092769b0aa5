/* SPDX-License-Identifier: MIT */
/*
 * build/scan: directories -> tree.
 *
 * Takes the input directory, gives the tree, without recursion and with one directory
 * open at a time. Looks at names, attributes and link targets; reads no contents.
 */
#include <errno.h>
#include <string.h>

#include "build/scan.h"
#include "format/metadata.h"
#include "os/file.h"

/* A file with several names, to be found again. */
struct seen {
	uint64_t device, inode;
	uint32_t number; /* of tree.inodes, + 1; 0 for an empty slot */
};

struct scanner {
	struct build_run *run;
	struct tree *tree;
	struct seen *seen; /* open addressing */
	size_t seen_count, seen_room;
	uint32_t *stack; /* entries of directories yet to be read, the next one last */
	size_t stack_count, stack_room;
	struct os_names names;
	struct buffer path, target;
	size_t path_bytes; /* of the directory being read */
};

static void free_scanner(struct scanner *scanner)
{
	free(scanner->seen);
	free(scanner->stack);
	dw_os_names_free(&scanner->names);
	dw_buffer_free(&scanner->path);
	dw_buffer_free(&scanner->target);
}
#define auto_scanner __attribute__((cleanup(free_scanner)))

/* -- hard links ---------------------------------------------------------------------- */

static struct seen *find_seen(const struct scanner *scanner, uint64_t device,
			      uint64_t inode)
{
	size_t mask = scanner->seen_room - 1;
	size_t slot =
		(size_t)((inode ^ device << 32) * UINT64_C(0x9E3779B97F4A7C15) >> 20);

	for (slot &= mask;; slot = (slot + 1) & mask) {
		struct seen *seen = &scanner->seen[slot];

		if (seen->number == 0 || (seen->device == device && seen->inode == inode))
			return seen;
	}
}

static int grow_seen(struct scanner *scanner, dwarfs_error **err)
{
	struct seen *old = scanner->seen;
	size_t old_room = scanner->seen_room;

	scanner->seen_room = old_room ? old_room * 2 : 64;
	scanner->seen = dw_calloc(scanner->seen_room, sizeof(*scanner->seen));
	if (!scanner->seen) {
		scanner->seen = old;
		scanner->seen_room = old_room;
		return dw_fail_nomem(err);
	}
	for (size_t i = 0; i < old_room; i++)
		if (old[i].number != 0)
			*find_seen(scanner, old[i].device, old[i].inode) = old[i];
	free(old);
	return 0;
}

/* The inode of a file: a new one, or that of an earlier name. */
static int inode_of_file(struct scanner *scanner, const struct os_stat *stat,
			 uint32_t *inode_out, dwarfs_error **err)
{
	bool keep_times = scanner->run->options->keep_all_times;
	struct seen *seen;
	int ret;

	if (stat->links < 2)
		return dw_tree_add_inode(scanner->tree, stat, keep_times, inode_out, err);
	if (scanner->seen_count * 2 >= scanner->seen_room &&
	    (ret = grow_seen(scanner, err)) < 0)
		return ret;
	seen = find_seen(scanner, stat->device, stat->inode);
	if (seen->number != 0) {
		*inode_out = seen->number - 1;
		scanner->run->counts[DWARFS_COUNT_HARDLINKS]++;
		return 0;
	}
	if ((ret = dw_tree_add_inode(scanner->tree, stat, keep_times, inode_out, err)) <
	    0)
		return ret;
	*seen = (struct seen){ stat->device, stat->inode, *inode_out + 1 };
	scanner->seen_count++;
	return 0;
}

/* -- entries ------------------------------------------------------------------------- */

/* What the options make of the attributes that were found. Times stay as they are until
 * the metadata is made, since they also show whether a file has changed. */
static void adjust(struct scanner *scanner, struct os_stat *stat, const char *path)
{
	const struct build_options *options = scanner->run->options;

	if ((stat->mode & DW_S_IFMT) != DW_S_IFLNK)
		stat->mode =
			dw_mode_change_apply(&options->chmod, stat->mode, options->umask);
	if (options->set_uid)
		stat->uid = options->uid;
	if (options->set_gid)
		stat->gid = options->gid;
	if (stat->mtime.seconds < 0 && !options->set_time)
		dw_log(scanner->run->context, DWARFS_LOG_WARN,
		       "'%s/%s': time before 1970 is stored as 1970",
		       scanner->run->root_path, path);
}

static const char *path_of_child(struct scanner *scanner, const char *name,
				 dwarfs_error **err)
{
	scanner->path.size = scanner->path_bytes;
	if ((scanner->path_bytes && dw_buffer_append(&scanner->path, "/", 1, err) < 0) ||
	    dw_buffer_append(&scanner->path, name, strlen(name) + 1, err) < 0)
		return NULL;
	return (const char *)scanner->path.data;
}

static bool is_left_out(struct scanner *scanner, const struct os_stat *stat,
			const char *path)
{
	const struct build_options *options = scanner->run->options;
	int class = dw_class_of_mode(stat->mode);
	const char *what = NULL;

	if (class == CLASS_DEV && !options->devices)
		what = "device";
	else if (class == CLASS_OTH && !options->specials)
		what = "fifo or socket";
	else if (class < 0)
		what = "file of unknown type";
	else if (dw_output_is(scanner->run->output, stat))
		what = "the output itself";
	if (!what)
		return false;
	dw_log(scanner->run->context, DWARFS_LOG_VERBOSE, "skipping '%s/%s': %s",
	       scanner->run->root_path, path, what);
	scanner->run->counts[DWARFS_COUNT_SKIPPED]++;
	return true;
}

static int add_inode(struct scanner *scanner, int class, const struct os_stat *stat,
		     uint32_t *inode_out, dwarfs_error **err)
{
	struct tree *tree = scanner->tree;
	struct tree_inode *inode;
	int ret;

	if (class == CLASS_REG)
		return inode_of_file(scanner, stat, inode_out, err);
	ret = dw_tree_add_inode(tree, stat, scanner->run->options->keep_all_times,
				inode_out, err);
	if (ret < 0)
		return ret;
	inode = &tree->inodes[*inode_out];
	inode->size = class == CLASS_DEV ? stat->rdev : 0;
	if (class != CLASS_LNK)
		return 0;
	return dw_texts_add(&tree->targets, dw_buffer_span(&scanner->target),
			    &inode->target, err);
}

static void count_entry(struct scanner *scanner, int class, const struct os_stat *stat,
			bool is_new)
{
	static const int kinds[] = {
		[CLASS_DIR] = DWARFS_COUNT_DIRECTORIES,
		[CLASS_LNK] = DWARFS_COUNT_LINKS,
		[CLASS_REG] = DWARFS_COUNT_FILES,
		[CLASS_DEV] = DWARFS_COUNT_DEVICES,
		[CLASS_OTH] = DWARFS_COUNT_SPECIALS,
	};

	scanner->run->counts[kinds[class]]++;
	if (class == CLASS_REG && is_new)
		scanner->run->counts[DWARFS_COUNT_BYTES_IN] += stat->size;
}

/* One name of the directory that is open. */
static int scan_name(struct scanner *scanner, int fd, uint32_t parent, const char *name,
		     dwarfs_error **err)
{
	struct tree *tree = scanner->tree;
	struct os_stat stat;
	uint32_t inode = 0, entry = (uint32_t)tree->entry_count;
	const char *path = path_of_child(scanner, name, err);
	int class, ret;

	if (!path)
		return DWARFS_ERR_NOMEM;
	if ((ret = dw_stat_at(fd, name, &stat)) < 0) {
		dw_build_complain(scanner->run, path, -ret, "cannot inspect",
				  "leaving it out");
		return 0;
	}
	if (is_left_out(scanner, &stat, path))
		return 0;
	class = dw_class_of_mode(stat.mode);
	if (class == CLASS_LNK &&
	    (ret = dw_readlink_at(fd, name, &scanner->target)) < 0) {
		if (ret == -ENOMEM)
			return dw_fail_nomem(err);
		dw_build_complain(scanner->run, path, -ret, "cannot read link",
				  "leaving it out");
		return 0;
	}
	adjust(scanner, &stat, path);
	if ((ret = add_inode(scanner, class, &stat, &inode, err)) < 0 ||
	    (ret = dw_tree_add_entry(tree, parent,
				     (struct span){ (const uint8_t *)name, strlen(name) },
				     inode, err)) < 0)
		return ret;
	count_entry(scanner, class, &stat, tree->inodes[inode].links == 1);
	if (class != CLASS_DIR)
		return 0;
	if ((ret = dw_grow(&scanner->stack, &scanner->stack_room,
			   scanner->stack_count + 1, err)) < 0)
		return ret;
	scanner->stack[scanner->stack_count++] = entry;
	return 0;
}

/* The stack gives directories from its end, so the first of them must stand there. */
static void reverse(uint32_t *list, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t kept = list[i];

		list[i] = list[count - 1 - i];
		list[count - 1 - i] = kept;
	}
}

static int scan_names(struct scanner *scanner, int fd, uint32_t entry, dwarfs_error **err)
{
	struct dwarfs_progress *progress = &scanner->run->progress;
	size_t before = scanner->stack_count;
	int ret;

	for (size_t i = 0; i < scanner->names.count; i++) {
		const char *name = (const char *)scanner->names.text.data +
				   scanner->names.offsets[i];

		if ((ret = scan_name(scanner, fd, entry, name, err)) < 0)
			return ret;
		progress->items_done = scanner->tree->entry_count;
		progress->bytes_done = scanner->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = (const char *)scanner->path.data;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	if (scanner->stack_count > before)
		reverse(scanner->stack + before, scanner->stack_count - before);
	return 0;
}

static int scan_directory(struct scanner *scanner, uint32_t entry, dwarfs_error **err)
{
	struct tree *tree = scanner->tree;
	auto_fd int fd = -1;
	int ret;

	if ((ret = dw_grow(&tree->directories, &tree->directory_room,
			   tree->directory_count + 1, err)) < 0 ||
	    (ret = dw_tree_path(tree, entry, &scanner->path, err)) < 0)
		return ret;
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ entry, (uint32_t)tree->entry_count };
	scanner->path_bytes = scanner->path.size;
	ret = dw_dir_open_at(scanner->run->root_fd, (const char *)scanner->path.data,
			     &fd);
	if (ret == 0)
		ret = dw_dir_list(fd, &scanner->names);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) {
		dw_build_complain(scanner->run, (const char *)scanner->path.data, -ret,
				  "cannot read directory", "storing it empty");
		return 0;
	}
	return scan_names(scanner, fd, entry, err);
}

static int add_root(struct scanner *scanner, dwarfs_error **err)
{
	struct os_stat stat;
	uint32_t inode;
	int ret;

	if ((ret = dw_stat_fd(scanner->run->root_fd, &stat)) < 0)
		return dw_fail_errno(err, -ret, "cannot inspect '%s'",
				     scanner->run->root_path);
	adjust(scanner, &stat, "");
	if ((ret = add_inode(scanner, CLASS_DIR, &stat, &inode, err)) < 0)
		return ret;
	count_entry(scanner, CLASS_DIR, &stat, true);
	return dw_tree_add_entry(scanner->tree, 0, (struct span){ 0 }, inode, err);
}

int dw_scan(struct build_run *run, struct tree *tree, dwarfs_error **err)
{
	auto_scanner struct scanner scanner = { .run = run, .tree = tree };
	int ret;

	if ((ret = dw_progress_enter(&run->progress, DWARFS_PHASE_SCAN, err)) < 0 ||
	    (ret = add_root(&scanner, err)) < 0 ||
	    (ret = scan_directory(&scanner, 0, err)) < 0)
		return ret;
	while (scanner.stack_count > 0)
		if ((ret = scan_directory(&scanner, scanner.stack[--scanner.stack_count],
					  err)) < 0)
			break;
	run->progress.path = NULL;
	return ret;
}
