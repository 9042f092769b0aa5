/* SPDX-License-Identifier: MIT */
/*
 * write/tree/tree: the entries of the image in memory.
 *
 * Entries are in the order of the image: those of one directory together and sorted by
 * name, a directory before the entries below it. Names and link targets are stored once.
 */
#ifndef DW_WRITE_TREE_TREE_H
#define DW_WRITE_TREE_TREE_H

#include "os/dir.h"
#include "write/tree/interned.h"
#include "write/tree/xattr_sets.h"

#define DW_NONE UINT32_MAX

struct tree_entry {
	uint32_t parent; /* entry of its directory; the root is its own parent */
	uint32_t name;	 /* of tree.names */
	uint32_t inode;	 /* of tree.inodes */
};

/* Attributes of a file. Hard links share an inode. */
struct tree_inode {
	uint64_t size; /* bytes of a file; of a device, its number */
	int64_t mtime;
	uint32_t mtime_ns;
	uint32_t mode, uid, gid;
	uint32_t links; /* entries that refer to it */
	uint32_t entry; /* the first of them */
	union {
		uint32_t target; /* of a symbolic link: of tree.targets */
		uint32_t next; /* of a file: another with the same contents, or DW_NONE */
	};
	uint32_t content; /* of a file: of the contents */
	union {
		uint32_t number; /* in the image */
		uint32_t record; /* of an item, until inodes are numbered */
	};
	uint32_t xattrs; /* set of tree.xattrs, or DW_NO_XATTRS */
};

/* Stored only if the options ask for one of them. */
struct tree_times {
	struct os_time atime, ctime;
	struct os_time btime; /* all zero: not known */
};

struct tree_directory {
	uint32_t entry;	      /* its own */
	uint32_t first_entry; /* of its children */
};

struct tree {
	struct string_set names, targets;
	struct tree_entry *entries;
	size_t entry_count, entry_room;
	struct tree_inode *inodes;
	size_t inode_count, inode_room;
	struct tree_times *times; /* by inode, or NULL */
	size_t times_room;
	struct tree_directory *directories; /* in the order of their numbers */
	size_t directory_count, directory_room;
	struct xattr_sets xattrs;
};

void dw_tree_free(struct tree *tree);

/* Add an inode without entries, and an entry of an inode. */
int dw_tree_add_inode(struct tree *tree, const struct os_stat *stat, bool keep_times,
		      uint32_t *inode_out, dwarfs_error **err);
int dw_tree_add_entry(struct tree *tree, uint32_t parent, struct span name,
		      uint32_t inode, dwarfs_error **err);

/* End of the entries of a directory, which begin at first_entry. */
uint32_t dw_tree_last_entry(const struct tree *tree, size_t directory);

/* Remove empty directories, and those that contain only such; never the root. */
int dw_tree_prune(struct tree *tree, dwarfs_error **err);

/* The path of an entry below the root, with a NUL; "" for the root. */
int dw_tree_path(const struct tree *tree, uint32_t entry, struct buffer *path,
		 dwarfs_error **err);

#endif
