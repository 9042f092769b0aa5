/* SPDX-License-Identifier: MIT */
/*
 * write/order: the order in which fragments are stored.
 *
 * An order sorts the fragments of one stream, given as numbers in scan order, into
 * storing order: similar data close together, and data that is read together, too.
 */
#ifndef DW_WRITE_ORDER_ORDER_H
#define DW_WRITE_ORDER_ORDER_H

#include "write/build_run.h"
#include "write/categorize/categorize.h"
#include "write/inspect/unique_contents.h"

/* The kind of fingerprint that an order needs. */
enum fingerprint_kind {
	FINGERPRINT_NONE,
	FINGERPRINT_MINHASH,	/* for auto */
	FINGERPRINT_SIMILARITY, /* for similarity */
	FINGERPRINT_NILSIMSA,	/* for nilsimsa */
};

struct order_input {
	struct build_run *run;
	struct tree *tree;
	struct contents *contents;
	const struct order_spec *spec;
	const struct stream_settings *settings; /* of the stream's category */
	uint64_t block_bytes;
	uint64_t reach_bytes; /* as far back in a block the codec finds repeated bytes */
	bool finds_segments;  /* they are found in all blocks before, too */
	bool continues_kept;  /* the stream continues blocks that are kept */
	enum codec_speed
		speed; /* with a slow codec, more time is used to find a better order */
};

struct order_ops {
	const char *name; /* as written on the command line */
	enum fingerprint_kind fingerprint;

	/* Parse the options after ':'; NULL if there are none. */
	int (*parse)(const char *options, struct order_spec *spec, dwarfs_error **err);

	int (*sort)(const struct order_input *input, uint32_t *numbers, size_t count,
		    dwarfs_error **err);

	/* Divide fragments of the sorted list, and put their parts into an order; NULL: none. */
	int (*divide)(const struct order_input *input, struct fragment_list *list,
		      dwarfs_error **err);
};

extern const struct order_ops dw_order_none;
extern const struct order_ops dw_order_path;
extern const struct order_ops dw_order_revpath;
extern const struct order_ops dw_order_auto;
extern const struct order_ops dw_order_similarity;
extern const struct order_ops dw_order_nilsimsa;
extern const struct order_ops dw_order_explicit;
extern const struct order_ops dw_order_hotness; /* not in the list of names */

/* Parse "path", "nilsimsa:max-children=256" ...; DWARFS_ERR_INVALID with "invalid inode
 * order mode: ...". The spec owns what it points to; free it. */
int dw_order_parse(const char *text, struct order_spec *spec_out, dwarfs_error **err);
void dw_order_spec_free(struct order_spec *spec);

/* Sort fragments by spec->ops, which is one of those above, and then let the callback
 * sort them, where there is one. */
int dw_order_sort(const struct order_input *input, uint32_t *numbers, size_t count,
		  dwarfs_error **err);

/* Then let the order divide them, unless there is a callback. */
int dw_order_divide(const struct order_input *input, struct fragment_list *list,
		    dwarfs_error **err);

/*
 * Sort by a key for each entry of the tree, such as its rank by path. Fragments are
 * placed by the first file of their contents, those of one file in the order of their
 * bytes.
 */
int dw_order_by_rank(const struct order_input *input, const uint32_t *rank_of_entry,
		     uint32_t *numbers, size_t count, dwarfs_error **err);

/* Let the callback of the options sort fragments that are sorted already. */
int dw_order_by_callback(const struct order_input *input, uint32_t *numbers, size_t count,
			 dwarfs_error **err);

/* The entry that a fragment is placed by: the first file of its contents. */
uint32_t dw_order_entry(const struct order_input *input, uint32_t number);

/* Ranks of all entries by path, component by component; the caller frees them. */
int dw_order_path_ranks(const struct tree *tree, uint32_t **ranks_out,
			dwarfs_error **err);

/* Ranks by path, with sibling directories merged that have the same names in them, and
 * similar contents unless only_names: a file is followed by its other versions. */
int dw_order_sibling_ranks(const struct order_input *input, bool only_names,
			   uint32_t **ranks_out, dwarfs_error **err);

/* The number of the directory that an entry is, or DW_NONE; the caller frees them. */
int dw_order_directories(const struct tree *tree, uint32_t **numbers_out,
			 dwarfs_error **err);

/*
 * Group fragments whose MINHASH fingerprints are equal in `band` adjacent slots, 2 or 4. A
 * group has at most max_bytes, takes the position of its first member, and keeps the order
 * of its members.
 */
int dw_order_group_similar(const struct order_input *input, unsigned band,
			   uint64_t max_bytes, uint32_t *numbers, size_t count,
			   dwarfs_error **err);

/*
 * Reorder each sequence of three and more fragments of which each one is similar to the one before
 * it, by their MINHASH fingerprints: the middle one first, then the middle ones of both halves, and
 * so on.
 */
int dw_order_middle_first(const struct order_input *input, uint32_t *numbers,
			  size_t count, dwarfs_error **err);

/* -- fingerprints, on a worker while a file is read --------------------------------- */

/* Makes fingerprints, one after the other; belongs to one thread. */
struct fingerprinter;

int dw_fingerprinter_new(struct fingerprinter **maker_out, dwarfs_error **err);
void dw_fingerprinter_free(struct fingerprinter *maker);
DW_DEFINE_AUTO(fingerprinter, struct fingerprinter *, dw_fingerprinter_free)

/* Bytes come in order, in pieces of any size; the result does not depend on the pieces.
 */
void dw_fingerprint_begin(struct fingerprinter *maker, enum fingerprint_kind kind);
void dw_fingerprint_update(struct fingerprinter *maker, const uint8_t *data, size_t size);
void dw_fingerprint_finish(struct fingerprinter *maker, struct fingerprint *out);

/* A MINHASH is this many numbers of 16 bits; contents agree in about as many of them as
 * they have of their bytes in common. */
#define DW_MINHASH_SLOTS 16

/* The number of equal slots; 0 if one of the fingerprints is missing. */
unsigned dw_minhash_common(const struct fingerprint *a, const struct fingerprint *b);

#endif
