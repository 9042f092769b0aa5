/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck: what its parts share: what is asked for, and what a check has found.
 */
#ifndef UTILS_DWARFSCK_H
#define UTILS_DWARFSCK_H

#include "common.h"

/* What can be told of an image, in the order in which it is told. */
enum detail {
	DETAIL_VERSION = 1 << 0,
	DETAIL_SUMMARY = 1 << 1,
	DETAIL_HISTORY = 1 << 2,
	DETAIL_METADATA = 1 << 3,
	DETAIL_SECTIONS = 1 << 4,
	DETAIL_TREE = 1 << 5,
};

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

/* What the findings say of a section. */
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

/* All print to stdout, and return the exit code after printing what went wrong. */
int print_info(const dwarfs_image *image, unsigned details, const struct report *report);
int print_json(const dwarfs_image *image, const struct report *report);
int print_list(const dwarfs_image *image, bool verbose);
int print_checksums(const dwarfs_image *image, const char *algorithm, uint64_t workers);

/* A name for one line of a terminal: control characters and backslashes as tar shows
 * them. */
void print_name(const char *name);

#endif
