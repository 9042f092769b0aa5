/* SPDX-License-Identifier: MIT */
/*
 * api/archives: the bytes of small archives.
 */
#ifndef TESTS_API_ARCHIVES_H
#define TESTS_API_ARCHIVES_H

#include "support.h"

#define TAR_BLOCK 512

/* At the end of an archive: bytes, and zeros up to a size. */
void append_padded(struct bytes *archive, const void *data, size_t size, size_t padded);

/* An entry of ustar with a text of at most one block; and the end of a tar. */
void add_tar(struct bytes *archive, char kind, const char *name, const char *target,
	     const char *text);
void add_tar_end(struct bytes *archive);

/* An extended attribute of the next entry. */
void add_tar_xattr(struct bytes *archive, const char *name, const char *value);

/* A regular file of cpio with this link count and inode number; and the end of a cpio. */
void add_cpio(struct bytes *archive, unsigned number, unsigned names, const char *name,
	      const char *text);
void add_cpio_end(struct bytes *archive);

/* Read an archive in memory. */
int import_bytes(dwarfs_archive_import *import, const struct bytes *archive,
		 dwarfs_error **err);

/* Whether the library was built with libarchive. */
bool are_archives_built_in(void);

#endif
