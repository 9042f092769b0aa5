/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_directory: a directory of the system becomes entries of the assembly. See
 * <dwarfs/item.h>.
 *
 * Looks at names, attributes and link targets; contents are read by the run. No
 * recursion, and few directories open at a time: directory_stack.c.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/input/directory_stack.h"
#include "write/input/entry_details.h"
#include "write/items/assembly.h"
#include "write/items/item.h"

/* A file with several names. */
struct seen {
	uint64_t device, inode;
	uint32_t node; /* + 1; 0 for an empty slot */
};

/* A directory yet to be added. What is above it is on the way to the present one. */
struct pending {
	size_t below;	/* bytes of the path of the directory that it is in */
	uint32_t place; /* of that */
	size_t name;	/* of names */
};

struct branch {
	dwarfs_builder *builder;
	struct assembly *assembly;
	struct build_run run; /* for messages */
	struct directory_stack depth;   /* directories that are open */
	uint32_t place;	      /* of the directory being added */
	struct buffer path;   /* in the image */
	size_t prefix_bytes;  /* of it */
	size_t below; /* bytes of it below the prefix: the directory being added */
	struct buffer target, xattrs;
	struct pending *stack; /* the next one last */
	size_t stack_count, stack_room;
	struct buffer names; /* of these, each with a NUL */
	struct seen *seen;   /* open addressing */
	size_t seen_count, seen_room;
};

static void free_branch(struct branch *branch)
{
	dw_directory_stack_free(&branch->depth);
	dw_buffer_free(&branch->path);
	dw_buffer_free(&branch->target);
	dw_buffer_free(&branch->xattrs);
	dw_buffer_free(&branch->names);
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

/* Bytes of a path that are a root and so many below it. */
static size_t bytes_with(size_t root, size_t below)
{
	return root + below + (root > 0 && below > 0);
}

/* Bytes, then a name, with a slash between them and a NUL that does not count. */
static int set_name(struct buffer *path, size_t bytes, const char *name,
		    dwarfs_error **err)
{
	int ret;

	path->size = bytes;
	if (*name && bytes > 0 && (ret = dw_buffer_append(path, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(path, name, strlen(name) + 1, err)) == 0)
		path->size--;
	return ret;
}

/* The path in the image of what is in the present directory; "": of itself. */
static int set_path(struct branch *branch, const char *name, dwarfs_error **err)
{
	return set_name(&branch->path, bytes_with(branch->prefix_bytes, branch->below),
			name, err);
}

/* What goes when something that is no directory comes to the present path. */
static uint64_t count_replaced(const struct branch *branch, uint32_t record)
{
	struct assembly *assembly = branch->assembly;
	uint32_t node;

	if ((assembly->records[record].mode & DW_S_IFMT) == DW_S_IFDIR)
		return 0;
	node = dw_assembly_find(assembly, dw_buffer_span(&branch->path));
	return node == DW_NONE ? 0 : dw_assembly_count_below(assembly, node, false);
}

static int put(struct branch *branch, uint32_t record, uint32_t *node_out,
	       dwarfs_error **err)
{
	uint64_t replaced = count_replaced(branch, record);
	int ret = dw_assembly_put(branch->assembly, dw_buffer_span(&branch->path), record,
				  node_out, err);

	if (ret < 0 && branch->assembly->records[record].names == 0)
		dw_assembly_drop_record(branch->assembly, record);
	if (ret == 0 && replaced > 0)
		dw_log(branch->run.context, DWARFS_LOG_WARN,
		       "entry '%s': replaces a directory with %" PRIu64 " entr%s",
		       (const char *)branch->path.data, replaced,
		       replaced == 1 ? "y" : "ies");
	return ret;
}

/* A record of what stands there, "" for the directory itself. */
static int add_record(struct branch *branch, int fd, const char *name,
		      struct disk_entry *entry, uint32_t *record_out, dwarfs_error **err)
{
	int errnum = 0;

	branch->xattrs.size = 0;
	if (dw_entry_details(&branch->builder->options, fd, name, &entry->stat,
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
		.directory = branch->place,
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

static int push(struct branch *branch, const char *name, dwarfs_error **err)
{
	struct pending pending = { branch->below, branch->place, branch->names.size };
	int ret = dw_grow(&branch->stack, &branch->stack_room, branch->stack_count + 1,
			  err);

	if (ret < 0 ||
	    (ret = dw_buffer_append(&branch->names, name, strlen(name) + 1, err)) < 0)
		return ret;
	branch->stack[branch->stack_count++] = pending;
	return 0;
}

static int add_entry(struct branch *branch, int fd, const char *name, dwarfs_error **err)
{
	struct os_stat stat;
	uint32_t node;
	int ret;

	if (dwarfs_cancel_is_set(branch->builder->cancel))
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	if ((ret = set_path(branch, name, err)) < 0)
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
		return push(branch, name, err);
	return 0;
}

/* -- directories --------------------------------------------------------------------- */

static int add_directory(struct branch *branch, dwarfs_error **err)
{
	auto_os_names struct os_names names = { 0 };
	char *path;
	int fd, ret;

	if ((ret = set_path(branch, "", err)) < 0)
		return ret;
	path = (char *)branch->path.data + branch->path.size - branch->below;
	if ((ret = dw_directory_stack_open(&branch->depth, path, branch->below, &fd)) == 0)
		ret = dw_dir_list(fd, &names);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) {
		complain(branch, -ret, "cannot read directory", "storing it empty");
		return 0;
	}
	for (size_t i = 0; i < names.count; i++)
		if ((ret = add_entry(branch, fd, dw_os_name(&names, i), err)) < 0)
			return ret;
	return 0;
}

static int add_root(struct branch *branch, dwarfs_error **err)
{
	struct disk_entry entry = { 0 };
	uint32_t record, node;
	int ret = dw_stat_fd(branch->depth.root_fd, &entry.stat);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot inspect the directory");
	if ((ret = set_path(branch, "", err)) < 0 ||
	    (ret = add_record(branch, branch->depth.root_fd, "", &entry, &record, err)) <
		    0 ||
	    (ret = put(branch, record, &node, err)) < 0)
		return ret;
	return add_directory(branch, err);
}

/* Go to the next directory: the path begins with what it is in. */
static int turn_to_next(struct branch *branch, dwarfs_error **err)
{
	struct pending next = branch->stack[--branch->stack_count];
	const char *name = (const char *)branch->names.data + next.name;
	int ret;

	branch->below = next.below;
	if ((ret = set_path(branch, name, err)) < 0)
		return ret;
	if ((ret = dw_assembly_add_place(
		     branch->assembly, next.place,
		     (struct span){ (const uint8_t *)name, strlen(name) }, &branch->place,
		     err)) < 0)
		return ret;
	branch->below = bytes_with(next.below, strlen(name));
	branch->names.size = next.name;
	return 0;
}

static int add_all(struct branch *branch, dwarfs_error **err)
{
	int ret = add_root(branch, err);

	while (ret == 0 && branch->stack_count > 0)
		if ((ret = turn_to_next(branch, err)) == 0)
			ret = add_directory(branch, err);
	return ret;
}

/* Its path must stand, whatever becomes of the working directory. */
static int open_root(struct branch *branch, const char *directory, char **real_out,
		     dwarfs_error **err)
{
	char *real = *real_out = realpath(directory, NULL);
	int ret = real ? dw_dir_open(real, &branch->depth.root_fd) : -errno;

	if (ret == -ENOTDIR)
		ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' must be a directory",
			      directory);
	else if (ret < 0)
		ret = dw_fail_errno(err, -ret, "cannot open '%s'", directory);
	return ret < 0 ? dw_error_at_path(err, ret, directory) : 0;
}

int dwarfs_builder_add_tree(dwarfs_builder *builder, const char *directory,
			    const char *prefix, size_t bytes, dwarfs_error **err)
{
	__attribute__((cleanup(free_branch))) struct branch branch = {
		.builder = builder,
		.depth.root_fd = -1,
		.prefix_bytes = bytes,
		.run = {
			.context = builder->context,
			.root_path = directory,
			.counts = builder->counts,
		},
	};
	struct span span = { (const uint8_t *)prefix, bytes }, below_slash;
	auto_free char *real = NULL;
	int ret;

	if ((ret = dw_item_check_path(span, err)) < 0 ||
	    (ret = open_root(&branch, directory, &real, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &branch.assembly, err)) < 0 ||
	    (ret = dw_buffer_append(&branch.path, prefix, bytes, err)) < 0)
		return ret;
	below_slash = (struct span){ (const uint8_t *)real + 1, strlen(real + 1) };
	if ((ret = dw_assembly_add_place(branch.assembly, 0, below_slash, &branch.place,
					 err)) < 0)
		return ret;
	return add_all(&branch, err);
}
