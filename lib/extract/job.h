/* SPDX-License-Identifier: MIT */
/*
 * extract/job: the state of one run, shared by the files of this module.
 */
#ifndef DW_EXTRACT_JOB_H
#define DW_EXTRACT_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include <dwarfs/extract.h>

#include "base/patterns.h"
#include "base/progress.h"
#include "extract/hard_links.h"
#include "extract/plan.h"
#include "extract/write_files.h"
#include "extract/write_xattrs.h"

struct dwarfs_extract {
	dwarfs_image *image;
	bool skip_devices, skip_specials, continue_on_error;
	bool owners_given, owners;
	bool uid_given, gid_given, no_xattrs;
	uint32_t uid, gid;
	uint32_t writers;
	struct patterns *patterns;
	const dwarfs_task *task; /* or NULL */
	uint64_t failures, damaged;
};

/* The state of one thread. */
struct worker {
	struct cursor cursor;
	dwarfs_stat *stat;
};

/* Numbers for the progress, from all threads. */
struct counts {
	atomic_uint_least64_t bytes_done, bytes_out, items_done, failures, damaged;
	_Atomic uint32_t shown;
};

/* One run. */
struct job {
	dwarfs_extract *extract;
	const dwarfs_image *image;
	const char *target;
	int root_fd;
	bool set_owner;
	pthread_t caller;
	atomic_bool stopped;   /* by a failure that ends the run */
	atomic_bool abandoned; /* at once, without attributes of directories */
	bool finishing;	       /* only errors that abandon the run stop it */
	struct plan plan;
	struct files files;
	struct links links;
	struct entries others; /* neither files nor directories */
	size_t level_from;     /* where a depth of directories begins */
	struct worker *workers;
	uint32_t worker_count;
	struct cursor link_cursor; /* where hard links point to */
	char *path;		   /* as shown in the progress */
	struct dwarfs_progress progress;
	struct counts counts;
	uint64_t token; /* of names of files under way */
	struct xattr_losses losses;
	atomic_bool lost_xattrs; /* those of the image cannot be read */

	pthread_mutex_t lock; /* of the following members */
	int first_code;	      /* of the first failure */
	dwarfs_error *first;
	int damage_code; /* of the first damage, for which a default was used */
	dwarfs_error *damage;
};

/* Count and log the failure of an entry, and stop unless continue_on_error is set. Takes
 * ownership of why. Threads: any. */
void dw_job_fail(struct job *job, dwarfs_entry entry, int code, dwarfs_error *why);

/* Count an entry that cannot be made because of a failure that was reported already. */
void dw_job_miss(struct job *job);

/* Log and count an entry with an invalid attribute in the image; the entry is still made.
 * Threads: any. */
void dw_job_note_damage(struct job *job, dwarfs_entry entry, const dwarfs_stat *stat);
/* Warn of a device whose number is damaged; nothing is made of it. */
void dw_job_lose_device(struct job *job, dwarfs_entry entry, const dwarfs_stat *stat);

/* The same for extended attributes, once for all. Takes nothing. */
void dw_job_note_xattrs(struct job *job, const dwarfs_error *why);

/* Call the progress callback, and check for cancellation; only from the thread of the
 * caller. */
void dw_job_tick(struct job *job);

/* Whether the run continues with the next entry. */
bool dw_job_continues(struct job *job);

/*
 * Call a function for all numbers below count, in several threads if there are many.
 * Neighbouring numbers are mostly processed by the same thread.
 */
typedef void (*job_fn)(struct job *job, struct worker *worker, size_t number);
int dw_job_each(struct job *job, size_t count, job_fn fn, dwarfs_error **err);

#endif
