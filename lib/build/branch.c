/* SPDX-License-Identifier: MIT */
/*
 * build/branch: a directory of the system becomes entries of the assembly. See
 * <dwarfs/item.h>.
 *
 * Looks at names, attributes and link targets; contents are read by the run. No
 * recursion, and one directory open at a time.
 */
#include <errno.h>
#include <string.h>

#include "build/assembly.h"
#include "build/collect.h"
#include "build/item.h"
#include "format/metadata.h"
#include "os/file.h"

/* A file with several names. */
struct seen {
	uint64_t device, inode;
	uint32_t node; /* + 1; 0 for an empty slot */
};

struct branch {
	dwarfs_builder *builder;
	struct assembly *assembly;
	struct build_run run; /* for messages */
	int root_fd;
	struct buffer disk;  /* path of the directory on disk, without a NUL */
	size_t disk_root;    /* bytes of it that are the root */
	struct buffer path;  /* in the image */
	size_t prefix_bytes; /* of it */
	struct buffer target, xattrs;
	struct buffer *stack; /* paths below the root of directories yet to be added */
	size_t stack_count, stack_room;
	struct seen *seen; /* open addressing */
	size_t seen_count, seen_room;
};

static void free_branch(struct branch *branch)
{
	dw_fd_close(branch->root_fd);
	dw_buffer_free(&branch->disk);
	dw_buffer_free(&branch->path);
	dw_buffer_free(&branch->target);
	dw_buffer_free(&branch->xattrs);
	while (branch->stack_count > 0)
		dw_buffer_free(&branch->stack[--branch->stack_count]);
	free(branch->stack);
	free(branch->seen);
}

/* -- hard links ---------------------------------------------------------------------- */

static struct seen *find_seen(const struct branch *branch, uint64_t device,
			      uint64_t inode)
{
	size_t mask = branch->seen_room - 1;
	size_t slot =
		(size_t)((inode ^ device << 32) * UINT64_C(0x9E3779B97F4A7C15) >> 20);

	for (slot &= mask;; slot = (slot + 1) & mask) {
		struct seen *seen = &branch->seen[slot];

		if (seen->node == 0 || (seen->device == device && seen->inode == inode))
			return seen;
	}
}

static int grow_seen(struct branch *branch, dwarfs_error **err)
{
	struct seen *old = branch->seen;
	size_t old_room = branch->seen_room, room = old_room ? old_room * 2 : 64;

	if (branch->seen_count * 2 < branch->seen_room)
		return 0;
	if (!(branch->seen = dw_calloc(room, sizeof(*old)))) {
		branch->seen = old;
		return dw_fail_nomem(err);
	}
	branch->seen_room = room;
	for (size_t i = 0; i < old_room; i++)
		if (old[i].node != 0)
			*find_seen(branch, old[i].device, old[i].inode) = old[i];
	free(old);
	return 0;
}

/* -- entries ------------------------------------------------------------------------- */

static void complain(struct branch *branch, int errnum, const char *what,
		     const char *consequence)
{
	const char *path = (const char *)branch->path.data;

	dw_build_complain(&branch->run, path ? path : "", errnum, what, consequence);
}

/* The path of an entry of the image, with a NUL that does not count. */
static int set_path(struct branch *branch, struct span below, const char *name,
		    dwarfs_error **err)
{
	struct buffer *path = &branch->path;
	struct span parts[2] = { below, { (const uint8_t *)name, strlen(name) } };
	int ret;

	path->size = branch->prefix_bytes;
	for (int i = 0; i < 2; i++) {
		if (parts[i].size == 0)
			continue;
		if ((path->size > 0 && (ret = dw_buffer_append(path, "/", 1, err)) < 0) ||
		    (ret = dw_buffer_append(path, parts[i].data, parts[i].size, err)) < 0)
			return ret;
	}
	if ((ret = dw_buffer_append(path, "", 1, err)) == 0)
		path->size--;
	return ret;
}

static int put(struct branch *branch, uint32_t record, uint32_t *node_out,
	       dwarfs_error **err)
{
	int ret = dw_assembly_put(branch->assembly, dw_buffer_span(&branch->path), record,
				  node_out, err);

	if (ret < 0 && branch->assembly->records[record].names == 0)
		dw_assembly_drop_record(branch->assembly, record);
	return ret;
}

/* A record of what stands there, "" for the directory itself. */
static int add_record(struct branch *branch, int fd, const char *name,
		      struct disk_entry *entry, uint32_t *record_out, dwarfs_error **err)
{
	int errnum = 0;

	branch->xattrs.size = 0;
	if (dw_collect_extras(&branch->builder->options, fd, name, &entry->stat,
			      &branch->xattrs, &errnum) < 0)
		return dw_fail_nomem(err);
	if (errnum)
		complain(branch, errnum, "cannot read all extended attributes of",
			 "storing those that can be read");
	entry->xattrs = dw_buffer_span(&branch->xattrs);
	return dw_assembly_add_disk_entry(branch->assembly, entry, record_out, err);
}

static int add_new(struct branch *branch, int fd, const char *name,
		   const struct os_stat *stat, uint32_t *node_out, dwarfs_error **err)
{
	struct disk_entry entry = {
		.stat = *stat,
		.directory = dw_buffer_span(&branch->disk),
		.name = { (const uint8_t *)name, strlen(name) },
	};
	uint32_t record;
	int ret;

	*node_out = DW_NONE;
	if ((stat->mode & DW_S_IFMT) == DW_S_IFLNK) {
		ret = dw_readlink_at(fd, name, &branch->target);
		if (ret == -ENOMEM)
			return dw_fail_nomem(err);
		if (ret < 0) {
			complain(branch, -ret, "cannot read link", "leaving it out");
			return 0;
		}
		entry.target = dw_buffer_span(&branch->target);
	}
	if ((ret = add_record(branch, fd, name, &entry, &record, err)) < 0)
		return ret;
	return put(branch, record, node_out, err);
}

static bool may_have_names(const struct os_stat *stat)
{
	return (stat->mode & DW_S_IFMT) == DW_S_IFREG && stat->links > 1;
}

/* A further name of a file, or its first one. What was added in between may have replaced
 * that. */
static int add_name(struct branch *branch, int fd, const char *name,
		    const struct os_stat *stat, dwarfs_error **err)
{
	struct seen *seen;
	uint32_t node;
	int ret;

	if ((ret = grow_seen(branch, err)) < 0)
		return ret;
	seen = find_seen(branch, stat->device, stat->inode);
	if (seen->node != 0)
		return put(branch, branch->assembly->nodes[seen->node - 1].record, &node,
			   err);
	if ((ret = add_new(branch, fd, name, stat, &node, err)) < 0 || node == DW_NONE)
		return ret;
	*seen = (struct seen){ stat->device, stat->inode, node + 1 };
	branch->seen_count++;
	return 0;
}

static int push(struct branch *branch, struct span below, const char *name,
		dwarfs_error **err)
{
	auto_buffer struct buffer path = { 0 };
	int ret = dw_grow(&branch->stack, &branch->stack_room, branch->stack_count + 1,
			  err);

	if (ret < 0 || (ret = dw_buffer_append(&path, below.data, below.size, err)) < 0)
		return ret;
	if ((below.size > 0 && (ret = dw_buffer_append(&path, "/", 1, err)) < 0) ||
	    (ret = dw_buffer_append(&path, name, strlen(name) + 1, err)) < 0)
		return ret;
	path.size--;
	branch->stack[branch->stack_count++] = path;
	path = (struct buffer){ 0 };
	return 0;
}

static int add_entry(struct branch *branch, int fd, struct span below, const char *name,
		     dwarfs_error **err)
{
	struct os_stat stat;
	uint32_t node;
	int ret;

	if (dwarfs_cancel_is_set(branch->builder->cancel))
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	if ((ret = set_path(branch, below, name, err)) < 0)
		return ret;
	if ((ret = dw_stat_at(fd, name, &stat)) < 0) {
		complain(branch, -ret, "cannot inspect", "leaving it out");
		return 0;
	}
	if (dw_class_of_mode(stat.mode) < 0)
		return 0;
	if (may_have_names(&stat))
		return add_name(branch, fd, name, &stat, err);
	if ((ret = add_new(branch, fd, name, &stat, &node, err)) < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) == DW_S_IFDIR)
		return push(branch, below, name, err);
	return 0;
}

/* -- directories --------------------------------------------------------------------- */

/* Where the files of a directory are. */
static int set_disk(struct branch *branch, struct span below, dwarfs_error **err)
{
	int ret;

	branch->disk.size = branch->disk_root;
	if (below.size == 0)
		return 0;
	if ((ret = dw_buffer_append(&branch->disk, "/", 1, err)) < 0)
		return ret;
	return dw_buffer_append(&branch->disk, below.data, below.size, err);
}

static int add_directory(struct branch *branch, struct span below, dwarfs_error **err)
{
	auto_os_names struct os_names names = { 0 };
	const char *path = below.size ? (const char *)below.data : "";
	auto_fd int fd = -1;
	int ret;

	if ((ret = set_disk(branch, below, err)) < 0 ||
	    (ret = set_path(branch, below, "", err)) < 0)
		return ret;
	if ((ret = dw_dir_open_at(branch->root_fd, path, &fd)) == 0)
		ret = dw_dir_list(fd, &names);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) {
		complain(branch, -ret, "cannot read directory", "storing it empty");
		return 0;
	}
	for (size_t i = 0; i < names.count; i++)
		if ((ret = add_entry(branch, fd, below, dw_os_name(&names, i), err)) < 0)
			return ret;
	return 0;
}

static int add_root(struct branch *branch, dwarfs_error **err)
{
	struct disk_entry entry = { 0 };
	uint32_t record, node;
	int ret = dw_stat_fd(branch->root_fd, &entry.stat);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot inspect the directory");
	if ((ret = set_path(branch, (struct span){ 0 }, "", err)) < 0 ||
	    (ret = add_record(branch, branch->root_fd, "", &entry, &record, err)) < 0 ||
	    (ret = put(branch, record, &node, err)) < 0)
		return ret;
	return add_directory(branch, (struct span){ 0 }, err);
}

static int add_all(struct branch *branch, dwarfs_error **err)
{
	int ret = add_root(branch, err);

	while (ret == 0 && branch->stack_count > 0) {
		auto_buffer struct buffer below = branch->stack[--branch->stack_count];

		ret = add_directory(branch, dw_buffer_span(&below), err);
	}
	return ret;
}

/* Its path must stand, whatever becomes of the working directory. */
static int open_root(struct branch *branch, const char *directory, dwarfs_error **err)
{
	auto_free char *real = realpath(directory, NULL);
	int ret = real ? dw_dir_open(real, &branch->root_fd) : -errno;
	size_t length = real ? strlen(real) : 0;

	if (ret == -ENOTDIR)
		ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' must be a directory",
			      directory);
	else if (ret < 0)
		ret = dw_fail_errno(err, -ret, "cannot open '%s'", directory);
	if (ret < 0)
		return dw_error_at_path(err, ret, directory);
	if (length == 1) /* "/": a name follows behind the slash that is put there */
		length = 0;
	branch->disk_root = length;
	return dw_buffer_append(&branch->disk, real, length, err);
}

int dwarfs_builder_add_tree(dwarfs_builder *builder, const char *directory,
			    const char *prefix, size_t bytes, dwarfs_error **err)
{
	__attribute__((cleanup(free_branch))) struct branch branch = {
		.builder = builder,
		.root_fd = -1,
		.prefix_bytes = bytes,
		.run = {
			.context = builder->context,
			.root_path = directory,
			.counts = builder->counts,
		},
	};
	struct span span = { (const uint8_t *)prefix, bytes };
	int ret;

	if ((ret = dw_item_check_path(span, err)) < 0 ||
	    (ret = open_root(&branch, directory, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &branch.assembly, err)) < 0 ||
	    (ret = dw_buffer_append(&branch.path, prefix, bytes, err)) < 0)
		return ret;
	return add_all(&branch, err);
}
