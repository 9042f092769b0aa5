/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/digest_match: files of images whose digest another file has.
 */
#ifndef DW_WRITE_INSPECT_DIGEST_MATCH_H
#define DW_WRITE_INSPECT_DIGEST_MATCH_H

#include "write/inspect/file_reader.h"

/* Whether two files of the same size may be equal and have to be compared: files of one
 * image that share their blocks are aliases, and the others of that image differ. */
bool dw_may_be_equal(const struct build_run *run, const struct tree *tree,
		     const struct subject *a, const struct subject *b);

/* After all files but those of images were read. Sets is_matched, by subject, for
 * those that must be read; or, if digests are trusted, the contents of equal subjects. */
int dw_digests_match(struct file_reader *reader, size_t subject_count,
		     uint8_t *is_matched, dwarfs_error **err);

#endif
