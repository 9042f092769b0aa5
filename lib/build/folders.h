/* SPDX-License-Identifier: MIT */
/*
 * build/folders: open directories of the input, so that a path need not be walked from
 * the root for each file.
 *
 * Descriptors of some directories are kept, the later one of two that compete. What is
 * opened next starts from the nearest directory above it that is open, or from the root.
 */
#ifndef DW_BUILD_FOLDERS_H
#define DW_BUILD_FOLDERS_H

#include <stdatomic.h>

#include "build/tree.h"

#define FOLDER_SLOTS 64

/* An open directory; shared by those who still open something below it. */
struct folder {
	atomic_uint users;
	int fd;
};

/* Belongs to one thread; the folders it gives may be used, and released, by others. */
struct folders {
	int root_fd;
	const struct tree *tree;
	uint32_t slot_count; /* a power of two, up to FOLDER_SLOTS */
	uint32_t last;	     /* directory that was asked for last */
	struct {
		uint32_t entry;
		struct folder *folder; /* or NULL */
	} slots[FOLDER_SLOTS];
	struct buffer path;
};

void dw_folders_init(struct folders *folders, int root_fd, const struct tree *tree,
		     uint32_t slot_count);
void dw_folders_free(struct folders *folders);

/* One more user, and one less: the last one closes it. NULL is accepted. */
struct folder *dw_folder_share(struct folder *folder);
void dw_folder_release(struct folder *folder);

/*
 * The nearest open directory above an entry, and the path from there to the entry. NULL
 * in folder_out stands for the root. Both are valid until the next call.
 */
int dw_folders_above(struct folders *folders, uint32_t entry, struct folder **folder_out,
		     const char **path_out, dwarfs_error **err);

/* Take over a descriptor of the directory that this entry is. */
int dw_folders_keep(struct folders *folders, uint32_t entry, int fd, dwarfs_error **err);

/* Open a file: 0 or a negative errno value (-ENOMEM too). */
int dw_folders_open_file(struct folders *folders, uint32_t entry, int *fd_out);

#endif
