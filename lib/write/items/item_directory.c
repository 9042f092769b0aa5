/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_directory: add a directory on disk to the assembly. See
 * <dwarfs/item.h>.
 *
 * Reads names, attributes and link targets; file contents are read by the run. Walks with
 * an explicit stack and few open directories (directory_stack.c).
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/input/directory_stack.h"
#include "write/input/entry_details.h"
#include "write/items/assembly.h"
#include "write/items/item.h"
#include "write/build_run.h"

/* A file with several names. */
struct linked_file {
	uint64_t device, inode;
	uint32_t node; /* + 1; 0 for an empty slot */
};

/* A directory that is not added yet. Its parents are ancestors of the current
 * directory. */
struct queued_disk_directory {
	size_t below;	    /* length of the path of its parent */
	uint32_t disk_path; /* disk path of its parent */
	size_t name;	    /* of names */
};

struct directory_walk {
	dwarfs_builder *builder;
	struct assembly *assembly;
	struct build_run run;			 /* for messages */
	struct directory_stack open_directories; /* open directories */
	uint32_t disk_path;			 /* disk path of the current directory */
	struct buffer path;			 /* in the image */
	size_t prefix_bytes;			 /* length of the prefix in path */
	size_t below; /* length of the current directory's path after the prefix */
	struct buffer target, xattrs;
	struct queued_disk_directory *stack; /* the next one last */
	size_t stack_count, stack_room;
	struct buffer names;		 /* of these, each with a NUL */
	struct linked_file *linked_file; /* open addressing */
	size_t linked_count, linked_room;
};

static void free_directory_walk(struct directory_walk *directory_walk)
{
	dw_directory_stack_free(&directory_walk->open_directories);
	dw_buffer_free(&directory_walk->path);
	dw_buffer_free(&directory_walk->target);
	dw_buffer_free(&directory_walk->xattrs);
	dw_buffer_free(&directory_walk->names);
	dw_free(directory_walk->stack);
	dw_free(directory_walk->linked_file);
}

/* -- hard links ---------------------------------------------------------------------- */

static struct linked_file *find_linked_file(const struct directory_walk *directory_walk,
					    uint64_t device, uint64_t inode)
{
	size_t mask = directory_walk->linked_room - 1;
	size_t slot =
		(size_t)((inode ^ device << 32) * UINT64_C(0x9E3779B97F4A7C15) >> 20);

	for (slot &= mask;; slot = (slot + 1) & mask) {
		struct linked_file *linked_file = &directory_walk->linked_file[slot];

		if (linked_file->node == 0 ||
		    (linked_file->device == device && linked_file->inode == inode))
			return linked_file;
	}
}

static int grow_linked_files(struct directory_walk *directory_walk, dwarfs_error **err)
{
	struct linked_file *old = directory_walk->linked_file;
	size_t old_room = directory_walk->linked_room,
	       room = old_room ? old_room * 2 : 64;

	if (directory_walk->linked_count * 2 < directory_walk->linked_room)
		return 0;
	if (!(directory_walk->linked_file = dw_calloc(room, sizeof(*old)))) {
		directory_walk->linked_file = old;
		return dw_fail_nomem(err);
	}
	directory_walk->linked_room = room;
	for (size_t i = 0; i < old_room; i++)
		if (old[i].node != 0)
			*find_linked_file(directory_walk, old[i].device, old[i].inode) =
				old[i];
	dw_free(old);
	return 0;
}

/* -- entries ------------------------------------------------------------------------- */

static int complain_at_path(struct directory_walk *directory_walk, int errnum,
			    const char *what, const char *consequence, dwarfs_error **err)
{
	const char *path = (const char *)directory_walk->path.data;

	return dw_build_complain(&directory_walk->run, path ? path : "", errnum, what,
				 consequence, err);
}

/* Length of a root joined with a path below it. */
static size_t joined_bytes(size_t root, size_t below)
{
	return root + below + (root > 0 && below > 0);
}

/* Append a name to the first bytes, with a slash between them and a NUL that does not
 * count. */
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

/* Set the path in the image of a name in the current directory; "": the directory
 * itself. */
static int set_image_path(struct directory_walk *directory_walk, const char *name,
			  dwarfs_error **err)
{
	return set_name(&directory_walk->path,
			joined_bytes(directory_walk->prefix_bytes, directory_walk->below),
			name, err);
}

static int put_walk_record(struct directory_walk *directory_walk, uint32_t record,
			   uint32_t *node_out, dwarfs_error **err)
{
	return dw_assembly_put_or_drop(directory_walk->assembly,
				       directory_walk->run.context, &directory_walk->path,
				       record, node_out, err);
}

/* Add a record for a name; "" is the directory itself. */
static int add_disk_record(struct directory_walk *directory_walk, int fd,
			   const char *name, struct disk_entry *entry,
			   uint32_t *record_out, dwarfs_error **err)
{
	int errnum = 0, ret;

	directory_walk->xattrs.size = 0;
	if (dw_entry_details(&directory_walk->builder->options, fd, name, &entry->stat,
			     &directory_walk->xattrs, &errnum) < 0)
		return dw_fail_nomem(err);
	if (errnum && (ret = complain_at_path(directory_walk, errnum,
					      "cannot read all extended attributes of",
					      "storing those that can be read", err)) < 0)
		return ret;
	entry->xattrs = dw_buffer_span(&directory_walk->xattrs);
	return dw_assembly_add_disk_entry(directory_walk->assembly, entry, record_out,
					  err);
}

static int add_new_record(struct directory_walk *directory_walk, int fd, const char *name,
			  const struct os_stat *stat, uint32_t *node_out,
			  dwarfs_error **err)
{
	struct disk_entry entry = {
		.stat = *stat,
		.directory = directory_walk->disk_path,
		.name = { (const uint8_t *)name, strlen(name) },
	};
	uint32_t record;
	int ret;

	*node_out = DW_NONE;
	if ((stat->mode & DW_S_IFMT) == DW_S_IFLNK) {
		ret = dw_readlink_at(fd, name, &directory_walk->target);
		if (ret == -ENOMEM)
			return dw_fail_nomem(err);
		if (ret < 0)
			return complain_at_path(directory_walk, -ret, "cannot read link",
						"leaving it out", err);
		entry.target = dw_buffer_span(&directory_walk->target);
	}
	if ((ret = add_disk_record(directory_walk, fd, name, &entry, &record, err)) < 0)
		return ret;
	return put_walk_record(directory_walk, record, node_out, err);
}

static bool may_have_names(const struct os_stat *stat)
{
	return (stat->mode & DW_S_IFMT) == DW_S_IFREG && stat->links > 1;
}

/* Add one of several hard links of a file. An item added before may have replaced the
 * first. */
static int add_linked_name(struct directory_walk *directory_walk, int fd,
			   const char *name, const struct os_stat *stat,
			   dwarfs_error **err)
{
	struct linked_file *linked_file;
	uint32_t node;
	int ret;

	if ((ret = grow_linked_files(directory_walk, err)) < 0)
		return ret;
	linked_file = find_linked_file(directory_walk, stat->device, stat->inode);
	if (linked_file->node != 0)
		return put_walk_record(
			directory_walk,
			directory_walk->assembly->nodes[linked_file->node - 1].record,
			&node, err);
	if ((ret = add_new_record(directory_walk, fd, name, stat, &node, err)) < 0 ||
	    node == DW_NONE)
		return ret;
	*linked_file = (struct linked_file){ stat->device, stat->inode, node + 1 };
	directory_walk->linked_count++;
	return 0;
}

static int push_subdirectory(struct directory_walk *directory_walk, const char *name,
			     dwarfs_error **err)
{
	struct queued_disk_directory queued_directory = { directory_walk->below,
							  directory_walk->disk_path,
							  directory_walk->names.size };
	int ret = dw_grow(&directory_walk->stack, &directory_walk->stack_room,
			  directory_walk->stack_count + 1, err);

	if (ret < 0 || (ret = dw_buffer_append(&directory_walk->names, name,
					       strlen(name) + 1, err)) < 0)
		return ret;
	directory_walk->stack[directory_walk->stack_count++] = queued_directory;
	return 0;
}

static int add_disk_name(struct directory_walk *directory_walk, int fd, const char *name,
			 dwarfs_error **err)
{
	struct os_stat stat;
	uint32_t node;
	int ret;

	if ((ret = dw_task_check(directory_walk->builder->task, err)) < 0 ||
	    (ret = set_image_path(directory_walk, name, err)) < 0)
		return ret;
	if ((ret = dw_stat_at(fd, name, &stat)) < 0)
		return complain_at_path(directory_walk, -ret, "cannot inspect",
					"leaving it out", err);
	if (dw_class_of_mode(stat.mode) < 0)
		return 0;
	if (may_have_names(&stat))
		return add_linked_name(directory_walk, fd, name, &stat, err);
	if ((ret = add_new_record(directory_walk, fd, name, &stat, &node, err)) < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) == DW_S_IFDIR)
		return push_subdirectory(directory_walk, name, err);
	return 0;
}

/* -- directories --------------------------------------------------------------------- */

/* A listing needs one more descriptor. */
static int list_names(struct directory_walk *directory_walk, int fd,
		      struct os_names *names)
{
	int ret = dw_dir_list(fd, names);

	if (!dw_fd_is_exhausted(-ret))
		return ret;
	dw_directory_stack_close_others(&directory_walk->open_directories);
	return dw_dir_list(fd, names);
}

static int add_directory_names(struct directory_walk *directory_walk, dwarfs_error **err)
{
	auto_os_names struct os_names names = { 0 };
	char *path;
	int fd, ret;

	if ((ret = set_image_path(directory_walk, "", err)) < 0)
		return ret;
	path = (char *)directory_walk->path.data + directory_walk->path.size -
	       directory_walk->below;
	if ((ret = dw_directory_stack_open(&directory_walk->open_directories, path,
					   directory_walk->below, &fd)) == 0)
		ret = list_names(directory_walk, fd, &names);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0)
		return complain_at_path(directory_walk, -ret, "cannot read directory",
					"storing it empty", err);
	for (size_t i = 0; i < names.count; i++)
		if ((ret = add_disk_name(directory_walk, fd, dw_os_name(&names, i),
					 err)) < 0)
			return ret;
	return 0;
}

static int add_root(struct directory_walk *directory_walk, dwarfs_error **err)
{
	struct disk_entry entry = { 0 };
	uint32_t record, node;
	int ret = dw_stat_fd(directory_walk->open_directories.root_fd, &entry.stat);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot inspect the directory");
	if ((ret = set_image_path(directory_walk, "", err)) < 0 ||
	    (ret = add_disk_record(directory_walk,
				   directory_walk->open_directories.root_fd, "", &entry,
				   &record, err)) < 0 ||
	    (ret = put_walk_record(directory_walk, record, &node, err)) < 0)
		return ret;
	return add_directory_names(directory_walk, err);
}

/* Enter the next directory of the stack. */
static int enter_next_directory(struct directory_walk *directory_walk, dwarfs_error **err)
{
	struct queued_disk_directory next =
		directory_walk->stack[--directory_walk->stack_count];
	const char *name = (const char *)directory_walk->names.data + next.name;
	int ret;

	directory_walk->below = next.below;
	if ((ret = set_image_path(directory_walk, name, err)) < 0)
		return ret;
	if ((ret = dw_assembly_add_disk_path(
		     directory_walk->assembly, next.disk_path,
		     (struct span){ (const uint8_t *)name, strlen(name) },
		     &directory_walk->disk_path, err)) < 0)
		return ret;
	directory_walk->below = joined_bytes(next.below, strlen(name));
	directory_walk->names.size = next.name;
	return 0;
}

static int walk_directories(struct directory_walk *directory_walk, dwarfs_error **err)
{
	int ret = add_root(directory_walk, err);

	while (ret == 0 && directory_walk->stack_count > 0)
		if ((ret = enter_next_directory(directory_walk, err)) == 0)
			ret = add_directory_names(directory_walk, err);
	return ret;
}

/* Keep an absolute path: the working directory may change before the run. */
static int open_root(struct directory_walk *directory_walk, const char *directory,
		     char **real_out, dwarfs_error **err)
{
	char *real = *real_out = dw_real_path(directory);
	int ret = real ? dw_dir_open(real, &directory_walk->open_directories.root_fd)
		       : -errno;

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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !directory || !prefix)
		return dw_fail_null(err, "builder, directory and prefix");

	__attribute__((cleanup(free_directory_walk))) struct directory_walk directory_walk = {
		.builder = builder,
		.open_directories.root_fd = -1,
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
	    (ret = open_root(&directory_walk, directory, &real, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &directory_walk.assembly, err)) < 0 ||
	    (ret = dw_buffer_append(&directory_walk.path, prefix, bytes, err)) < 0)
		return ret;
	below_slash = (struct span){ (const uint8_t *)real + 1, strlen(real + 1) };
	if ((ret = dw_assembly_add_disk_path(directory_walk.assembly, 0, below_slash,
					     &directory_walk.disk_path, err)) < 0)
		return ret;
	return walk_directories(&directory_walk, err);
}
