/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/affinity: run the threads that serve requests on the CPU of the calling process.
 */
#ifndef UTILS_DWARFS_AFFINITY_H
#define UTILS_DWARFS_AFFINITY_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dwarfs/options.h"

/* -- whether requests come one at a time ------------------------------------------- */

#define CALLERS_RECENT	   8
#define CALLERS_LARGE_READ ((uint64_t)256 << 10) /* bytes */

/* The callers of the last requests. All zero: none yet. */
struct callers {
	uint32_t last;			 /* caller of the last request */
	uint32_t recent[CALLERS_RECENT]; /* callers before */
	uint32_t turn;
	uint32_t unchanged; /* requests of the last caller in a row */
	uint64_t history;   /* one bit for each request: it was concurrent */
	bool are_concurrent;
	uint32_t moves; /* queries in a row that found the last caller on another CPU */
	uint32_t anywhere; /* requests of it that are still to be served on any CPU */
};

enum callers_advice {
	CALLERS_SAME,	  /* serve where the last request was served */
	CALLERS_QUERY,	  /* find out where the caller runs */
	CALLERS_ANYWHERE, /* serve on any CPU */
};

/*
 * A request of this task, which is not 0. is_overlapping: another one is being served;
 * bytes: of a read, otherwise 0. The caller waits for each of its small requests, but
 * while a large read is served it may consume the data of the previous one.
 */
enum callers_advice callers_note(struct callers *callers, uint32_t caller,
				 bool is_overlapping, uint64_t bytes);

/*
 * What the query that callers_note() asked for found: whether the caller runs on another CPU
 * than at the last query. The scheduler may move a caller that shares its CPU with the thread
 * that serves it; if it always does, following the caller costs a move each time for nothing.
 * A caller that is to be followed all the same is not reported here.
 */
void callers_queried(struct callers *callers, bool has_moved);

/* -- threads ----------------------------------------------------------------------- */

/* How the last requests came. */
enum affinity_state {
	AFFINITY_FREE,	    /* one at a time, and they are served on any CPU */
	AFFINITY_FOLLOWING, /* one at a time, and they are served on the CPU of their caller */
	AFFINITY_CONCURRENT, /* of several callers at once */
};

struct affinity {
	enum affinity_mode mode;
	atomic_uint in_service; /* requests */
	pthread_mutex_t lock;	/* of all below */
	bool is_on;
	cpu_set_t allowed; /* what the process may use */
	struct callers callers;
	int cpu; /* where to serve; -1: anywhere */
	uint64_t queries, moves, concurrent;
	atomic_bool is_polled;
	_Atomic(enum affinity_state) state; /* changes under the lock */
};

struct affinity_counts {
	int cpu;	     /* that the threads have the affinity of; -1: all */
	uint64_t queries;    /* of the CPU of a caller */
	uint64_t moves;	     /* changes of the affinity of a thread */
	uint64_t concurrent; /* requests that were served on any CPU */
};

/* 0, or 1 after printing why not. */
int affinity_new(enum affinity_mode mode, struct affinity **affinity_out);
void affinity_free(struct affinity *affinity);

/* With AFFINITY_AUTO, no caller is followed while a thread polls for requests. */
void affinity_set_polled(struct affinity *affinity, bool is_polled);
enum affinity_state affinity_state(const struct affinity *affinity);

/* Around each request, in the thread that serves it; caller is a task, 0: none. */
void affinity_begin(struct affinity *affinity, uint32_t caller, uint64_t bytes);
void affinity_end(struct affinity *affinity);

void affinity_counts(struct affinity *affinity, struct affinity_counts *counts_out);

/* The CPU in the text of /proc/PID/stat, or -1. */
int affinity_parse_cpu(const char *stat);

#endif
