/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_cache: open directories of the input, so that a path need not be
 * walked from the root for each file.
 *
 * Descriptors of some directories are kept, the later one of two that compete. What is
 * opened next starts from the nearest directory above it that is open, or from the root.
 */
#ifndef DW_WRITE_INPUT_DIRECTORY_CACHE_H
#define DW_WRITE_INPUT_DIRECTORY_CACHE_H

#include <stdatomic.h>

#include "write/tree/tree.h"

#define DIRECTORY_SLOTS 64

/* An open directory; shared by those who still open something below it. */
struct cached_directory {
	atomic_uint users;
	int fd;
};

/* Belongs to one thread; the folders it gives may be used, and released, by others. */
struct directory_cache {
	int root_fd;
	const struct tree *tree;
	uint32_t slot_count; /* a power of two, up to FOLDER_SLOTS */
	uint32_t last;	     /* directory that was asked for last */
	struct {
		uint32_t entry;
		struct cached_directory *directory; /* or NULL */
	} slots[DIRECTORY_SLOTS];
	struct buffer path;
};

void dw_directory_cache_init(struct directory_cache *cache, int root_fd,
			     const struct tree *tree, uint32_t slot_count);
void dw_directory_cache_free(struct directory_cache *cache);

/* One more user, and one less: the last one closes it. NULL is accepted. */
struct cached_directory *dw_cached_directory_share(struct cached_directory *directory);
void dw_cached_directory_release(struct cached_directory *directory);

/*
 * The nearest open directory above an entry, and the path from there to the entry. NULL
 * in folder_out stands for the root. Both are valid until the next call.
 */
int dw_directory_cache_find_ancestor(struct directory_cache *cache, uint32_t entry,
				     struct cached_directory **directory_out,
				     const char **path_out, dwarfs_error **err);

/* Take over a descriptor of the directory that this entry is. */
int dw_directory_cache_keep(struct directory_cache *cache, uint32_t entry, int fd,
			    dwarfs_error **err);

/* Open a file: 0 or a negative errno value (-ENOMEM too). */
int dw_directory_cache_open_file(struct directory_cache *cache, uint32_t entry,
				 int *fd_out);

#endif
