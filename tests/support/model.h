/* SPDX-License-Identifier: MIT */
/*
 * model: metadata of "/", "/dir", and many files in it, plain or packed, valid or
 * invalid.
 *
 * Entry and inode 0 are "/", 1 "/dir"; file i of FILES is entry and inode i + 2. The
 * first file has LONG_CHUNKS chunks, the others one each. The last four share two
 * contents.
 */
#ifndef TESTS_SUPPORT_MODEL_H
#define TESTS_SUPPORT_MODEL_H

#include "support/craft.h"

#define FILES	    700
#define LONG_CHUNKS 200
#define NAME_BYTES  10 /* of each name, at most */

struct model;

struct model *model_new(bool is_packed);
void model_free(struct model *model);
DW_DEFINE_AUTO(model, struct model *, model_free)
#define auto_model DW_AUTO(model)

/* Append schema and metadata. */
void model_craft(const struct model *model, struct craft *craft);

/* The name of file 0 to FILES - 1; -1 is "dir". Without a NUL. */
struct span model_name(const struct model *model, uint32_t file);

/* Packed tables that cannot be unpacked, or whose sizes do not fit each other. */
enum model_break {
	BREAK_DIRECTORIES,
	BREAK_CHUNK_TABLE,
	BREAK_SHARED,
	BREAK_NAMES,
	BREAK_PLACES_MORE,
	BREAK_PLACES_LESS,
};
void model_break(struct model *model, enum model_break what);

/* Number the names in descending order: only in a plain model. */
void model_mix(struct model *model);

/* Exchange the names of the first files, so that they are in descending order. */
void model_reverse(struct model *model, uint32_t files);

/* Set the cached size of the first file, for files with this many chunks. */
void model_store_size(struct model *model, uint64_t bytes, uint64_t min_chunks);

#endif
