/* SPDX-License-Identifier: MIT */
/*
 * small_tables: a tree with all kinds of files, whose metadata tables are to be filled.
 *
 *	entry 0 ""   inode 0  directory
 *	      1 a	   1  100 bytes, as b
 *	      2 b	   2  100 bytes, as a
 *	      3 c	   3  device 0x501
 *	      4 d	   4  directory
 *	      5 e	   5  symbolic link to "to"
 *	      6 f	   6  fifo
 *	      7 g	   7  50 bytes, stored last
 *	      8 h	   8  70 bytes and a hole
 *	      9 i	   8  hard link
 *	     10 d/a	   9  30 bytes
 */
#ifndef TESTS_SUPPORT_SMALL_TABLES_H
#define TESTS_SUPPORT_SMALL_TABLES_H

#include "write/metadata/tables.h"
#include "write/builder.h"

#define SMALL_HOLE_BYTES 5000
#define SMALL_BLOCKS	 3

struct small_tables {
	struct tree tree;
	struct contents contents;
	struct chunks chunks;
	struct block_streams blocks;
	struct build_options options;
	struct build_run run;
	uint64_t counts[DW_COUNT_KINDS];
	struct metadata_input in;
	struct tables tables;
};

/* No table is filled yet. Inode n has the mtime 1000 + n, the atime 2000 + n, the ctime
 * 3000 + n and the btime 500 + n, in seconds and in nanoseconds. */
struct small_tables *small_tables_new(void);
void small_tables_free(struct small_tables *all);

#endif
