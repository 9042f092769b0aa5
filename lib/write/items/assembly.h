/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembly: the entries that were added one by one, until the run makes a
 * tree of them.
 *
 * A node is a name in a directory and refers to a record: attributes and the source of
 * the contents. Hard links are nodes with the same record. A hard link whose target the
 * current layer does not have yet has a record of its own until the layer ends, or until the
 * run if there is no target by then.
 *
 * A hard link refers to the entry of the same input. So entries of the current layer that
 * a conflict has renamed or left out are also in a second tree, by their original paths,
 * until the layer ends: the displaced entries (displaced_entries.c).
 */
#ifndef DW_WRITE_ITEMS_ASSEMBLY_H
#define DW_WRITE_ITEMS_ASSEMBLY_H

#include <dwarfs/item.h>

#include "write/builder.h"
#include "write/images/source_image.h"
#include "write/items/spool.h"
#include "write/tree/path_cursor.h"
#include "write/tree/tree.h"
#include "write/build_run.h"

enum record_kind {
	RECORD_FREE,
	RECORD_PLAIN,	/* attributes only; an empty file */
	RECORD_TARGET,	/* a symbolic link: source is of texts */
	RECORD_LINK,	/* an unresolved hard link: source is of strings */
	RECORD_FILE,	/* source is of files */
	RECORD_SPOOLED, /* source is a number of the spool */
	RECORD_IMAGE,	/* a file of an image: source is of image_files */
};

#define NO_XATTRS UINT32_MAX
#define NO_TIMES  UINT32_MAX

struct record {
	uint64_t size; /* of a regular file; of a device, its number */
	int64_t mtime;
	uint32_t mtime_ns;
	uint32_t mode, uid, gid;
	uint32_t names;	 /* nodes that refer to it */
	uint32_t xattrs; /* of xattrs, or NO_XATTRS */
	uint32_t times;	 /* of times, or NO_TIMES */
	uint32_t source; /* of a free one: the next free one, or DW_NONE */
	uint32_t layer;	 /* of the input that it was added by */
	uint8_t kind;
	bool is_implicit; /* of a directory that no input has listed */
	bool is_of_image; /* stored whatever its type: an image has it already */
};

/* A file on disk, with its attributes when it was added. */
struct record_file {
	uint64_t device, inode;
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
	uint32_t disk_path; /* entry of disk */
};

/* Node 0 is the root, node 1 that of the displaced entries; both are their own parents. */
#define DISPLACED_ROOT 1
struct assembly_node {
	uint32_t parent;
	uint32_t name;	 /* of texts */
	uint32_t record; /* DW_NONE: free, or the root of the displaced entries */
	uint32_t child;	 /* the one added last, or DW_NONE */
	uint32_t next,
		previous; /* in the same directory; of a free one, the next free one */
	uint32_t chain;	  /* next in the same bucket, or DW_NONE */
	uint32_t layer;	  /* last layer that changed it or an entry below it */
};

struct assembly {
	struct string_set strings; /* names and targets */
	struct string_set xattrs;  /* lists as by dw_xattr_list_append() */
	struct assembly_node *nodes;
	size_t node_count, node_room;
	uint32_t free_node;	     /* or DW_NONE */
	struct path_stack last_path; /* directories of the last path */
	uint32_t *buckets;
	size_t bucket_count;
	struct record *records;
	size_t record_count, record_room;
	uint32_t free_record; /* or DW_NONE */
	size_t link_count;    /* records that are RECORD_LINK */
	bool resolves_layer;  /* the end of the current layer resolves its links */
	uint32_t layer;	      /* current layer: see layers.c */
	int on_conflict;      /* between layers: a dwarfs_conflict */
	struct tree_times *times;
	size_t time_count, time_room;
	struct record_file *files;
	size_t file_count, file_room;
	struct tree disk;    /* names and entries only: paths of files, below "/" */
	int disk_fd;	     /* of "/", if there are any; or -1 */
	struct spool *spool; /* made when it is needed first */
	struct source_image **images;
	size_t image_count, image_room;
	struct image_file *image_files;
	size_t image_file_count, image_file_room;
};

int dw_assembly_new(struct assembly **assembly_out, dwarfs_error **err);
void dw_assembly_free(struct assembly *assembly); /* NULL is accepted */

/* Memory of names, attributes and records; of NULL: 0. */
uint64_t dw_assembly_bytes(const struct assembly *assembly);

DW_DEFINE_AUTO(assembly, struct assembly *, dw_assembly_free)

/* Free the nodes and the tables that find them; records stay. */
void dw_assembly_drop_nodes(struct assembly *assembly);

/* -- records ------------------------------------------------------------------------- */

/* Add a record that no node refers to; drop one with its contents in the spool. */
int dw_assembly_add_record(struct assembly *assembly, const struct record *record,
			   uint32_t *number_out, dwarfs_error **err);
void dw_assembly_drop_record(struct assembly *assembly, uint32_t number);

/* -- images, in write/images/image_files.c ----------------------------------------------- */

/* Add an image, which belongs to the assembly from then on, or a file of one. */
int dw_assembly_add_image(struct assembly *assembly, struct source_image *image,
			  uint32_t *number_out, dwarfs_error **err);
int dw_assembly_add_image_file(struct assembly *assembly, const struct image_file *file,
			       uint32_t *number_out, dwarfs_error **err);
void dw_assembly_free_images(struct assembly *assembly);

/* Files of images whose blocks are kept keep their holes: DWARFS_ERR_INVALID if the
 * options do not allow holes. */
int dw_assembly_check_holes(const struct assembly *assembly,
			    const struct build_options *options, dwarfs_error **err);

/* log2 of the largest block of the images whose blocks are kept; 0: none. */
uint32_t dw_assembly_block_bits(const struct assembly *assembly);

/* Whether the blocks of an image get another size. */
bool dw_assembly_changes_block_size(const struct assembly *assembly);

/* The file of an image that an inode of a run has its contents from, or NULL. */
const struct image_file *dw_image_file_of(const struct build_run *run,
					  const struct tree_inode *inode);

/* The same, if the new image keeps the blocks of that image. */
const struct image_file *dw_kept_file_of(const struct build_run *run,
					 const struct tree_inode *inode);

/* Whether a file that cannot be read ends the run: one of an image does, unless damage of the
 * image is accepted. 0, or the error of the image. */
int dw_image_file_unreadable(const struct build_run *run, const struct tree_inode *inode,
			     dwarfs_error **err);

/* -- nodes --------------------------------------------------------------------------- */

static inline struct span dw_assembly_name(const struct assembly *assembly, uint32_t node)
{
	return dw_string_set_at(&assembly->strings, assembly->nodes[node].name);
}

static inline const struct record *dw_assembly_record(const struct assembly *assembly,
						      uint32_t node)
{
	return &assembly->records[assembly->nodes[node].record];
}

/* The node of a path, or DW_NONE. The path is one that dw_item_check_path() takes. */
uint32_t dw_assembly_find(const struct assembly *assembly, struct span path);

/* The deepest known directory on a path; *from_out bytes of the path lead there. */
uint32_t dw_assembly_start(const struct assembly *assembly, struct span path,
			   size_t *from_out);

/* A child of a directory by its name, or DW_NONE. */
uint32_t dw_assembly_child(const struct assembly *assembly, uint32_t parent,
			   struct span name);

/* Find or create the parents of a path; also give its last name, empty for the root. NOT_DIR if
 * one of them is not a directory. */
int dw_assembly_make_parents(struct assembly *assembly, struct span path,
			     uint32_t *parent_out, struct span *name_out,
			     dwarfs_error **err);

/* Give a node another record; remove the entries below it, unless both are directories. */
void dw_assembly_replace_record(struct assembly *assembly, uint32_t node,
				uint32_t record);
bool dw_assembly_keeps_children(const struct assembly *assembly, uint32_t node,
				uint32_t record);

/* Add a node with a name that its directory does not have. */
int dw_assembly_add_node(struct assembly *assembly, uint32_t parent, struct span name,
			 uint32_t record, uint32_t *node_out, dwarfs_error **err);

/* Find or create a directory in its parent. */
int dw_assembly_enter(struct assembly *assembly, uint32_t parent, struct span name,
		      uint32_t *node_out, dwarfs_error **err);

/* Give a node another record. */
void dw_assembly_set_record(struct assembly *assembly, uint32_t node, uint32_t record);

/* Remove the entries below a node; remove the node, too. */
void dw_assembly_clear(struct assembly *assembly, uint32_t node);
void dw_assembly_remove(struct assembly *assembly, uint32_t node);

/*
 * Number of entries below a node; of_layer: only those that the current layer has
 * changed.
 */
uint64_t dw_assembly_count_below(const struct assembly *assembly, uint32_t node,
				 bool of_layer);

bool dw_assembly_is_directory(const struct assembly *assembly, uint32_t node);

/* The path of a node, with a NUL; of a displaced one, the one that its input has. */
int dw_assembly_path(const struct assembly *assembly, uint32_t node, struct buffer *path,
		     dwarfs_error **err);

/* Give unresolved links the records of their targets (late_links.c). Links without a
 * target are reported to lost (may be NULL) and removed. */
int dw_assembly_resolve(struct assembly *assembly, dwarfs_lost_link_fn lost, void *user,
			dwarfs_error **err);

/* End the current layer: links that have a target get the record of it, before a later layer
 * replaces it; displaced entries are dropped (late_links.c). */
int dw_assembly_end_layer(struct assembly *assembly, dwarfs_error **err);

/* -- conflicts, in conflicts.c -------------------------------------------------------- */

/*
 * Put a record at a path and create missing parents. An entry at the path is replaced
 * with all below it, unless both are directories: then only the attributes are. NOT_DIR
 * if a parent is not a directory. Takes ownership of the record, except on failure.
 * Conflicts with earlier layers are settled by on_conflict: the node has another name then,
 * or is DW_NONE if the record was left out.
 */
int dw_assembly_put(struct assembly *assembly, struct span path, uint32_t record,
		    uint32_t *node_out, dwarfs_error **err);

/* -- displaced entries, in displaced_entries.c ---------------------------------------- */

/* Note that the entry of a path was renamed, left out or removed. */
int dw_assembly_displace(struct assembly *assembly, struct span path, uint32_t record,
			 dwarfs_error **err);

/* A record was put at its own path: what was displaced from there before is replaced. */
void dw_assembly_replace_displaced(struct assembly *assembly, struct span path,
				   uint32_t record);

/* Before a node is removed or cleared: entries of earlier layers at or below it, other than
 * directories, become displaced ones if hard links of the current layer may refer to them. */
int dw_assembly_keep_older(struct assembly *assembly, uint32_t top, dwarfs_error **err);

/* The displaced entry that had this path, or DW_NONE. */
uint32_t dw_assembly_find_displaced(const struct assembly *assembly, struct span path);

bool dw_assembly_has_displaced(const struct assembly *assembly);
bool dw_assembly_is_displaced(const struct assembly *assembly, uint32_t node);

/* The node that a hard link refers to, or DW_NONE: an entry of the layer of the link, if
 * there is one. */
uint32_t dw_assembly_find_target(const struct assembly *assembly, struct span path,
				 uint32_t layer);

/* -- disk paths, in disk_paths.c ----------------------------------------------------- */

/* Add a path on disk: that of its directory (0 for "/") and a name, which may contain
 * slashes; an empty name is the directory itself. */
int dw_assembly_add_disk_path(struct assembly *assembly, uint32_t directory,
			      struct span name, uint32_t *disk_path_out,
			      dwarfs_error **err);

/* -- of a builder, in add_item.c ----------------------------------------------------- */

/* The assembly of a builder, created if there is none; INVALID if the builder cannot have
 * one. */
int dw_assembly_of(dwarfs_builder *builder, struct assembly **assembly_out,
		   dwarfs_error **err);

/* -- records of entries, in entry_record.c ------------------------------------------- */

/* Add a record for an entry on disk. Its contents are read by the run. */
struct disk_entry {
	struct os_stat stat;
	uint32_t directory; /* disk path of its directory */
	struct span name;   /* of a regular file */
	struct span target; /* of a symbolic link */
	struct span xattrs; /* as by dw_xattr_list_append() */
};
int dw_assembly_add_disk_entry(struct assembly *assembly, const struct disk_entry *entry,
			       uint32_t *record_out, dwarfs_error **err);

/* Add a record for an entry of an image. */
struct image_entry {
	struct os_stat stat;
	struct span target;	/* of a symbolic link */
	struct span xattrs;	/* as by dw_xattr_list_append() */
	struct image_file file; /* of a regular file that is not empty */
};
int dw_assembly_add_image_entry(struct assembly *assembly,
				const struct image_entry *entry, uint32_t *record_out,
				dwarfs_error **err);

/* Put a record at a path, as dw_assembly_put(), or drop it; log when it replaces a directory
 * that is not empty. */
int dw_assembly_put_or_drop(struct assembly *assembly, dwarfs_context *context,
			    const struct buffer *path, uint32_t record,
			    uint32_t *node_out, dwarfs_error **err);

/* -- the run, in assembled_tree.c ---------------------------------------------------- */

struct entry_import;

/* Fill an empty tree. Inodes of regular files refer to their record
 * (tree_inode.record). */
int dw_assembly_to_tree(struct build_run *run, struct tree *tree,
			struct entry_import *import, dwarfs_error **err);

#endif
