/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/mkdwarfs: the settings of its command line.
 */
#ifndef UTILS_MKDWARFS_MKDWARFS_H
#define UTILS_MKDWARFS_MKDWARFS_H

#include "common/common.h"
#include "common/progress.h"

/* The ids of options that have no letter and that the program acts on. */
enum option_id {
	OPT_VERSION = 256,
	OPT_MAN,
	OPT_ORDER,
	OPT_XATTRS_INCLUDE,
	OPT_XATTRS_EXCLUDE,
};

/* An option that may be repeated: for several categories, or as a list of rules. */
struct choice {
	const struct tool_option *option;
	char *category;	   /* NULL: all categories without a value of their own */
	const char *value; /* text after the category */
	uint32_t number;   /* the same, where it is one */
};

/* The modes of --debug-filter. */
struct filter_report {
	bool included;
	bool excluded;
	bool files_only;
	const char *root; /* absolute */
};

/* Everything is checked for its form; NULL, TOOL_DEFAULT or false is "not given". */
struct settings {
	struct tool_list inputs;  /* directories, archives and images, in this order */
	const char *input_format; /* of archives */
	uint64_t strip;
	const char *prefix;
	bool whiteouts;
	bool repack;
	struct tool_list bases;
	bool has_base_trust, trusts_no_base;
	int on_conflict; /* a dwarfs_conflict */
	int digests;	 /* a dwarfs_digests_use */
	bool trust_digests;
	uint64_t max_unused;	/* percent */
	const char *recompress; /* the mode, or NULL */
	bool rebuild_metadata;
	bool change_block_size;
	const char *recompress_categories;
	bool no_version_history;
	bool no_check;
	uint32_t rewrite_parts; /* what these ask for */
	bool remove_header;
	bool continue_on_error; /* past entries of archives */
	const char *spool_dir;
	const char *input_list;
	const char *output;
	bool force;
	bool dry_run;
	struct tool_list
		dry_run_words; /* of the command line, which the history leaves out */
	bool no_sync;
	uint64_t level;
	uint64_t block_bits;
	uint64_t workers;
	uint64_t scan_workers;
	uint64_t niceness;
	uint64_t memory_limit;	/* 0: auto */
	struct choice *choices; /* in the order of the command line */
	size_t choice_count;
	const char *codecs[4]; /* by dwarfs_codec_use, without that of blocks */
	uint64_t max_similarity_bytes;
	const char *file_hash;

	const char *categorizers;
	const char *hotness_list;
	bool has_probe;
	uint64_t probe_min_bytes, probe_block_bytes;
	double probe_ratio;
	int probe_zstd_level;
	bool probe_fragments;
	bool no_category_names;
	bool no_category_metadata;

	bool has_filter;
	bool debug_filter;
	struct filter_report report;
	bool remove_empty_directories;

	const char *chmod;
	const char *pack_metadata;
	const char *header;
	bool has_owner;
	uint32_t owner;
	bool has_group;
	uint32_t group;
	bool has_time;
	int64_t time_seconds;
	uint32_t time_nanoseconds;
	const char *time_resolution; /* as it was given */
	uint64_t time_resolution_ns;
	bool keep_all_times;
	bool keep_birth_times;
	bool no_xattrs;
	bool with_devices;
	bool with_specials;
	bool no_sparse_files;
	bool hollow;
	bool no_history;
	bool no_history_timestamps;
	bool no_history_command_line;
	bool no_create_timestamp;
	bool no_section_index;
	bool no_hardlink_table;
	int progress_mode;
};

enum settings_result { SETTINGS_RUN, SETTINGS_DONE, SETTINGS_BAD };

/*
 * Read the command line. SETTINGS_DONE when it asked for help, which was printed;
 * SETTINGS_BAD when it is wrong, and why was printed.
 */
int settings_parse(struct settings *settings, int argc, char **argv);

void settings_free(struct settings *settings);

/* What the long help has besides options: levels, codecs, categories, formats. */
void print_tables(void);

/* Whether the library can write with a codec; the name is that of the first length bytes. */
bool has_encoder(const char *codec, size_t length);

/* Configure a builder by the settings. Returns 0, or 1 after printing an error. */
int settings_apply(const struct settings *settings, char **argv, dwarfs_builder *builder);

/* Progress and cancellation while a builder is filled and runs, and the result. */
struct watch {
	dwarfs_task *task;
	struct progress *progress; /* NULL for none */
	uint64_t warnings;	   /* entries of archives that lost something */
	uint64_t failures;	   /* entries left out */
};

/* Open the input and the input list, or read archives; the same results. */
int input_apply(const struct settings *settings, dwarfs_builder *builder,
		struct watch *watch);

/* Whether the input is one directory that becomes the root, and nothing else. */
bool input_is_tree(const struct settings *settings);

/* 0, or 1 after printing an option for archives if no input is an archive. */
int inputs_check(const struct settings *settings);

/* Merge all inputs into items; the same results. */
int inputs_merge(const struct settings *settings, dwarfs_builder *builder,
		 struct watch *watch);

/* Whether a file begins as an image does; whether one can be opened that begins later. */
bool is_image(const char *path);
bool is_image_with_header(const char *path);

/* Add an image that is an input, with a prefix that was cleaned; the same results. */
int image_add(const struct settings *settings, dwarfs_builder *builder,
	      const struct watch *watch, const char *path, const char *prefix,
	      bool is_first);

/* Add the images that are bases; the same results. */
int bases_add(const struct settings *settings, dwarfs_builder *builder,
	      const struct watch *watch);

/* Whether an image is to be rewritten. */
bool is_rewrite(const struct settings *settings);

/* Check the options for that, and find the parts to be rewritten. 0, or 1 after printing why
 * not. */
int rewrite_check(struct settings *settings);

/* Rewrite the image that is the only input; the same results. */
int rewrite_image(const struct settings *settings, dwarfs_builder *builder,
		  const struct watch *watch, dwarfs_sink *sink);

/* Only apply the filter rules, and print their results; the same return values. */
int filter_show(const struct settings *settings, dwarfs_builder *builder);

/*
 * Read a whole file, or standard input for "-". Returns 0, or 1 after printing "cannot
 * open|read what 'path'"; free the data in both cases.
 */
int read_file(const char *what, const char *path, char **data_out, size_t *bytes_out);

/* Its lines, without empty ones, likewise; free lines and text. */
int read_lines(const char *what, const char *path, char ***lines_out, char **text_out);

/* Whether --categorize names this categorizer, given by its first bytes. */
bool has_categorizer(const struct settings *settings, const char *name, size_t length);

/* Print the summary of a successful run: sizes, times and memory; of a dry run, also exact
 * sizes. */
void summarize(const dwarfs_builder *builder, const struct settings *settings,
	       uint64_t elapsed_ns);

/* "now", "epoch", seconds since 1970, or a date and time. Returns 0, or 1 after printing.
 */
int parse_time_point(const char *text, int64_t *seconds_out, uint32_t *nanoseconds_out);

#endif
