/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_cache: open directories of the input, so that files are not
 * opened by their whole path.
 *
 * A fixed number of slots; of two directories with the same slot, the later one is kept.
 */
#ifndef DW_WRITE_INPUT_DIRECTORY_CACHE_H
#define DW_WRITE_INPUT_DIRECTORY_CACHE_H

#include <stdatomic.h>

#include "write/tree/tree.h"

#define DIRECTORY_SLOTS 64

/* An open directory, shared by all users that open entries below it. */
struct cached_directory {
	atomic_uint users;
	int fd;
};

/* Owned by one thread. Other threads may use and release the directories it returns. */
struct directory_cache {
	int root_fd;
	const struct tree *tree;
	uint32_t slot_count; /* a power of two, up to DIRECTORY_SLOTS */
	uint32_t last;	     /* directory of the last file that was opened */
	struct {
		uint32_t entry;
		struct cached_directory *directory; /* or NULL */
	} slots[DIRECTORY_SLOTS];
	struct buffer path;
};

void dw_directory_cache_init(struct directory_cache *cache, int root_fd,
			     const struct tree *tree, uint32_t slot_count);
void dw_directory_cache_free(struct directory_cache *cache);

/* Remove all directories; those without other users are closed. */
void dw_directory_cache_empty(struct directory_cache *cache);

/* Add and remove a user; the last one closes the descriptor. NULL is accepted. */
struct cached_directory *dw_cached_directory_share(struct cached_directory *directory);
void dw_cached_directory_release(struct cached_directory *directory);

/*
 * The nearest cached ancestor of an entry (NULL: the root), and the path from there to
 * the entry. Both are valid until the next call.
 */
int dw_directory_cache_find_ancestor(struct directory_cache *cache, uint32_t entry,
				     struct cached_directory **directory_out,
				     const char **path_out, dwarfs_error **err);

/* Cache a directory by its entry. The descriptor is owned by the cache from then on, also
 * on failure. */
int dw_directory_cache_keep(struct directory_cache *cache, uint32_t entry, int fd,
			    dwarfs_error **err);

/* Open a file: 0 or a negative errno value, such as -ENOMEM. If no descriptor is left, the
 * cache is emptied first. */
int dw_directory_cache_open_file(struct directory_cache *cache, uint32_t entry,
				 int *fd_out);

#endif
