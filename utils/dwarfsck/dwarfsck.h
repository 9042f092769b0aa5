/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/dwarfsck: the settings, the findings of a check, and the interfaces of the
 * parts.
 */
#ifndef UTILS_DWARFSCK_DWARFSCK_H
#define UTILS_DWARFSCK_DWARFSCK_H

#include "common/common.h"

/* The parts of the output, in their order. */
enum detail {
	DETAIL_VERSION = 1 << 0,
	DETAIL_SUMMARY = 1 << 1,
	DETAIL_HISTORY = 1 << 2,
	DETAIL_METADATA = 1 << 3,
	DETAIL_SECTIONS = 1 << 4,
	DETAIL_TREE = 1 << 5,
	DETAIL_ANALYSIS = 1 << 6,
	DETAIL_FROZEN = 1 << 7,
	DETAIL_LAYOUT = 1 << 8,
	DETAIL_CHUNKS = 1 << 9,
	DETAIL_DUMP = 1 << 10,
	DETAIL_SCHEMA = 1 << 11,
};

/* The settings of the command line. */
struct settings {
	const char *input;
	const char *input_b; /* the other side of --diff */
	unsigned details;
	bool has_details; /* they were given */
	bool quiet;
	bool verbose;
	uint64_t offset;
	bool print_header;
	bool list;
	bool raw;  /* names as they are */
	bool null; /* the same, and lines end with NUL */
	const char *checksum;
	const char *export_to; /* a path, or "-" */
	bool allow_huge_holes;
	struct tool_list cats; /* paths to print */
	bool diff;
	unsigned ignored; /* bits of dwarfs_compare_kind */
	uint64_t resolution_ns;
	const char *salvage; /* a directory */
	bool zeros;
	uint64_t workers;
	uint64_t cache_bytes;
	bool integrity;
	bool no_check;
	bool json;
	bool done; /* help was printed */
};

/* The command line. Returns 0, or 1 after printing; free the settings in any case. */
int settings_parse(struct settings *settings, int argc, char **argv);
void settings_free(struct settings *settings);

static inline void settings_cleanup(struct settings *settings)
{
	settings_free(settings);
}
#define auto_settings __attribute__((cleanup(settings_cleanup))) struct settings

/* For opening an image; NULL after printing. */
dwarfs_image_options *image_options_new(const struct settings *settings);

struct finding {
	int severity;	 /* a dwarfs_finding */
	int64_t section; /* or -1 */
	bool checksum;	 /* bytes do not match their hash */
	char *message;
};

/* The findings of a check, in order; level is -1 before one was made. */
struct report {
	int level;
	struct finding *findings;
	size_t count;
	size_t capacity;
	uint64_t errors;
	bool out_of_memory;
};

void report_free(struct report *report);
#define auto_report __attribute__((cleanup(report_free))) struct report

/* Check an image: the exit code, with all findings printed on stderr. */
int check_image(const dwarfs_image *image, const struct settings *s, int level,
		struct report *report);

/* The findings of a section. */
enum section_state { SECTION_GOOD, SECTION_ODD, SECTION_DAMAGED, SECTION_CHECKSUM };
enum section_state report_state(const struct report *report, uint32_t section);

/* A fact of a section, or 0 if it cannot be had: a check has found that then. */
uint64_t section_fact(const dwarfs_image *image, uint32_t section, int field);

/* How many inodes there are of each kind; returns 0, or 1 after printing. */
struct inode_counts {
	uint64_t directories;
	uint64_t files;
	uint64_t links;
	uint64_t devices;
	uint64_t specials;
};
int count_inodes(const dwarfs_image *image, struct inode_counts *counts);

/* Begin a walk of all entries; the caller frees both, also on failure: 1 after printing. */
int begin_walk(const dwarfs_image *image, enum dwarfs_walk_order order,
	       dwarfs_walk **walk_out, dwarfs_stat **stat_out);

/*
 * Go to the next entry of a walk, and fill stat unless it is NULL. Damaged entries are printed
 * as errors, counted in *lost, and passed over. Returns 1, 0 at the end, or -1 if the walk
 * cannot go on, after printing.
 */
int next_intact(const dwarfs_image *image, dwarfs_walk *walk, dwarfs_entry *entry_out,
		dwarfs_stat *stat, uint64_t *lost);

/* All print to stdout, print errors, and return the exit code. */
/* Bytes of each block that no file refers to; free() them. NULL if the metadata is damaged, or
 * without memory. */
uint64_t *count_unused(const dwarfs_image *image);

int print_info(const dwarfs_image *image, unsigned details, const struct report *report);
int print_json(const dwarfs_image *image, const struct report *report, bool entries);
int print_list(const dwarfs_image *image, bool verbose);
int print_checksums(const dwarfs_image *image, const struct settings *s);

int print_files(const dwarfs_image *image, const char *const *paths, size_t count);

/* The sizes of the metadata tables; their offsets, by name and by number. */
int print_frozen_analysis(const dwarfs_image *image);
int print_frozen_details(const dwarfs_image *image);
int print_frozen_layout(const dwarfs_image *image);
int print_schema(const dwarfs_image *image);
/* Where the contents of each file are. */
int print_chunk_details(const dwarfs_image *image);

/* The tables of the metadata as JSON, to a file or ("-") stdout; or to an open file. The
 * file must not be input, that of the image. */
int export_metadata(const dwarfs_image *image, const char *input, const char *path);
int print_tables(const dwarfs_image *image, FILE *out);

/* Compare two sides and print the differences: 0, 1 for differences, 2 for errors. */
int print_differences(const struct settings *settings);

/* Extract intact files: 0 if nothing was lost, else 1. */
int salvage(const struct settings *settings);

/* A name as ls(1) shows it to a terminal, or as it is. */
void print_name(const char *name);

/* Set how names are written from now on, and the end of lines with names. */
void set_names(bool is_raw, char end);
void end_line(void);
bool are_names_raw(void);

#endif
