/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/options: the command line of dwarfs.
 */
#ifndef UTILS_DWARFS_OPTIONS_H
#define UTILS_DWARFS_OPTIONS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "common/common.h"

enum lock_mode { LOCK_NONE, LOCK_TRY, LOCK_MUST };
enum tidy_mode { TIDY_NONE, TIDY_TIME, TIDY_SWAP };
enum affinity_mode { AFFINITY_AUTO, AFFINITY_CALLER, AFFINITY_NONE };
/* Polling for the next request: never, while requests come soon and one at a time, or always. */
enum busy_poll_mode { BUSY_POLL_OFF, BUSY_POLL_AUTO, BUSY_POLL_ON };
/* Requests by io_uring: not, where it is possible, or as a condition. */
enum io_uring_mode { IO_URING_OFF, IO_URING_TRY, IO_URING_ON };
/* Whether the kernel caches files with holes: not, always, or unless holes are large. */
enum sparse_mode { SPARSE_DROP, SPARSE_KEEP, SPARSE_AUTO };

/* Parts of the program whose latencies are measured: bits of settings.perfmon. */
enum perf_part { PERF_FUSE, PERF_FILESYSTEM, PERF_READER, PERF_CACHE, PERF_PART_COUNT };

struct settings {
	char *image;
	uint64_t offset, image_bytes;
	uint64_t cache_bytes;
	uint64_t workers; /* threads that decode ahead */
	uint64_t readahead_bytes;
	uint64_t sequence;	 /* reads in a row that make it decode ahead; 0: never */
	uint32_t finish_percent; /* of a block: decode the rest, too */
	int verify;		 /* a dwarfs_verify */
	bool mapped;		 /* map the image file */
	int lock;		 /* a lock_mode */
	int tidy;		 /* a tidy_mode */
	uint64_t tidy_interval_ms, tidy_age_ms;
	int affinity;  /* an affinity_mode */
	int busy_poll; /* a busy_poll_mode */
	int io_uring;  /* an io_uring_mode */
	bool preload_all;
	char *preload_category; /* NULL: none */

	uint64_t block_bytes;	 /* st_blksize */
	uint64_t max_read_bytes; /* of one request; 0: as the kernel has it */
	bool set_uid, set_gid;
	uint32_t uid, gid;
	bool readonly;	  /* hide the write bits */
	bool fold;	  /* names match ignoring case */
	bool cache_files; /* let the kernel cache contents */
	enum sparse_mode sparse;

	char *analysis_file;			/* NULL: none */
	unsigned perfmon;			/* bits by perf_part */
	char *perfmon_trace;			/* NULL: none */
	int log_level;				/* -1: by where it runs */
	bool auto_unmount;			/* also when it is killed */
	uint64_t max_threads, max_idle_threads; /* UINT_MAX: as libfuse has it */
};

/* Other actions. */
struct command {
	struct settings settings;
	struct fuse_cmdline_opts fuse; /* owns the mount point */
	char *made_mount_point;	       /* a directory that is removed at the end */
	bool man, fake, auto_mount_point;
	bool has_fsname, has_subtype;
	bool is_helper; /* called by mount(8) */
};

/* Exit codes of failure other than 1. */
enum { EXIT_BAD_OPTION = 3, EXIT_BAD_MOUNT_POINT = 4 };

/* -- dwarfs/mount_options.c ---------------------------------------------------------- */

/* An option after -o: 0 if it was put into the settings, 1 if it is not in the table, or -1
 * after printing what is wrong with its value. */
int mount_option_take(const char *text, struct settings *settings);
/* 0, or 1 after printing which options need or exclude each other. */
int mount_options_check(const struct settings *settings);
void mount_options_print(FILE *out);

/* -- dwarfs/options.c ---------------------------------------------------------------- */

/*
 * Parse the arguments; those that remain in args are for libfuse. 0, or the exit code
 * after printing an error. Free the command in both cases.
 */
int command_parse(struct command *command, struct fuse_args *args);
void command_free(struct command *command);

#endif
