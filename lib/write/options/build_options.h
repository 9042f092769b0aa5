/* SPDX-License-Identifier: MIT */
/*
 * write/options/build_options: what the user of a builder has chosen, and the settings of a
 * category that follow from it.
 */
#ifndef DW_WRITE_OPTIONS_BUILD_OPTIONS_H
#define DW_WRITE_OPTIONS_BUILD_OPTIONS_H

#include <dwarfs/builder.h>

#include "codec/encode/encode.h"
#include "os/dir.h"
#include "write/options/chmod.h"
#include "write/options/xattr_rules.h"

#define DW_CODEC_USES	 (DWARFS_CODEC_HISTORY + 1)
#define DW_NS_PER_SECOND UINT64_C(1000000000)

struct order_ops;
struct filter;

/* An order and its parsed options. */
struct order_spec {
	const struct order_ops *ops;
	uint32_t max_children, max_cluster_size; /* nilsimsa */
	bool has_max_trials;			 /* auto */
	uint32_t max_trials;
	char **paths; /* explicit */
	size_t path_count;
};

/* How the fragments of a category are ordered, segmented and compressed. */
struct stream_settings {
	struct codec_spec codec;
	struct codec_spec dense;   /* for blocks that compress very well */
	struct codec_spec literal; /* for blocks with few repeats */
	bool has_dense, has_literal;
	bool dense_has_numbers;	     /* dense is for numbers, too */
	bool dense_only_has_numbers; /* in a trial, for lack of memory */
	bool is_trial;		     /* of an order, see block_packer.c */
	bool falls_back;	     /* to another codec where that compresses better: */
	struct codec_spec fallback;  /* that of the default category */
	struct order_spec order;
	uint32_t window_bits; /* log2 of the shortest match; 0: no matching */
	uint32_t step_bits;   /* one anchor for each 2^(window_bits - step_bits) bytes */
	uint32_t lookback;    /* how many blocks back a match may be; UINT32_MAX: any */
	uint32_t foreign_blocks; /* that a directory may refer to; UINT32_MAX: no limit */
};

/* Leave out the codecs besides the usual one. */
static inline void dw_use_one_codec(struct stream_settings *settings)
{
	settings->falls_back = settings->has_dense = settings->has_literal = false;
}

/* Settings that the user can give for each category. */
enum setting {
	SETTING_CODEC,
	SETTING_ORDER,
	SETTING_WINDOW,
	SETTING_STEP,
	SETTING_LOOKBACK,
	SETTING_COUNT
};

struct settings_override {
	uint32_t
		category; /* DW_ANY_CATEGORY: every category without an override of its own */
	bool was_set[SETTING_COUNT];
	struct stream_settings values;
};

#define DW_ANY_CATEGORY UINT32_MAX

enum categorizer {
	CATEGORIZER_FITS,
	CATEGORIZER_PCMAUDIO,
	CATEGORIZER_BINARY,
	CATEGORIZER_INCOMPRESSIBLE,
	CATEGORIZER_HOTNESS,
	CATEGORIZER_COUNT
};

struct categorize_options {
	enum categorizer list[CATEGORIZER_COUNT]; /* tried in this order */
	size_t count;
	char **hot_paths; /* in the order of their ranks */
	size_t hot_count, hot_room;
	uint32_t *hot_slots; /* hash table of hot_paths: number + 1, or 0 */
	size_t hot_slot_count;
	char **names; /* user-defined: numbers from CATEGORY_COUNT on */
	size_t name_count, name_room;
	dwarfs_category_fn callback;
	void *callback_user;

	/* incompressible */
	uint64_t min_input_bytes, probe_bytes;
	double ratio;
	int zstd_level;
	bool fragments;
};

struct input_options {
	struct filter *filter; /* NULL: include everything */
	bool remove_empty_directories;
	dwarfs_include_fn include;
	void *include_user;
	dwarfs_filter_report_fn report;
	void *report_user;
	char **paths; /* of an input list; NULL: the whole directory */
	size_t path_count, path_room;
	const char *file_hash; /* a name of <dwarfs/digest.h>; NULL: none */
	bool hollow;
	uint32_t workers; /* for scanning and hashing; UINT32_MAX: those of the context */
};

struct build_packing {
	bool is_auto; /* choose by the codec of the metadata */
	bool chunk_table, directories, shared_files;
	bool names, names_index, symlinks, symlinks_index;
	bool force; /* even if that is larger */
	bool plain; /* lists of strings instead of string tables */
};

static inline struct build_packing dw_packing_auto(void)
{
	return (struct build_packing){ .is_auto = true, .names = true, .symlinks = true };
}

struct build_options {
	uint32_t block_bits;
	uint32_t least_block_bits; /* of the blocks that are kept; 0: none */
	struct codec_spec codecs[DW_CODEC_USES];
	bool codec_was_set[DW_CODEC_USES];
	bool has_dense_metadata;
	struct codec_spec dense_metadata; /* tried besides the codec of the level */
	struct settings_override *overrides;
	size_t override_count, override_room;
	struct categorize_options categorize;
	struct input_options input;
	uint64_t max_similarity_bytes; /* UINT64_MAX: unlimited */
	dwarfs_order_fn order_callback;
	void *order_callback_user;
	int compress_niceness;
	uint64_t own_limit;	/* of the memory of the builder; 0: none */
	uint64_t process_limit; /* of that of the process; 0: none */
	uint64_t
		memory_limit; /* the lower one of them, in a run the one that leaves less;
				   0: a quarter of the machine */
	uint64_t
		near_bytes; /* the first bytes of a stream may be referred to without limit */
	uint64_t
		foreign_bytes; /* limit for the blocks of others that a directory may refer to */
	bool category_names, category_metadata;

	bool devices, specials, sparse_files;
	bool set_uid, set_gid, set_time;
	uint32_t uid, gid;
	struct os_time time;
	struct mode_change chmod;
	uint32_t umask;
	uint64_t resolution_ns;
	bool resolution_was_set, resolution_was_adopted; /* by the user, from an image */
	bool keep_all_times, keep_birth_times;
	struct xattr_rules xattrs;

	struct build_packing packing;
	bool hardlink_table, section_index, create_timestamp;
	bool version_history;
	char *recompress_categories; /* NULL: all */
	uint32_t max_unused;	     /* percent of a block that is kept */
	int digests;		     /* a dwarfs_digests_use */
	bool trust_digests; /* of images: files are not compared by their bytes */
	bool history, history_timestamps;
	char **arguments;
	size_t argument_count, argument_room;
	struct buffer header;
};

#endif
