/* SPDX-License-Identifier: MIT */
/*
 * rewrite/versions: which programs wrote the metadata of an image
 * (metadata_version_history).
 */
#ifndef DW_REWRITE_VERSIONS_H
#define DW_REWRITE_VERSIONS_H

#include <dwarfs/image.h>

#include "write/images/source_image.h"

/* Append the entries of metadata_version_history of an image, and one for its metadata as
 * it is. Entries that are damaged are left out. */
int dw_versions_load(const dwarfs_image *image, struct source_image *to,
		     dwarfs_error **err);

/* Whether this library, in any version, made the metadata and all that it was made from. */
int dw_versions_are_own(const dwarfs_image *image, bool *own_out, dwarfs_error **err);

#endif
