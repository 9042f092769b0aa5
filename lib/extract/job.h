/* SPDX-License-Identifier: MIT */
/*
 * extract/job: one run, as the files of this room see it.
 */
#ifndef DW_EXTRACT_JOB_H
#define DW_EXTRACT_JOB_H

#include <dwarfs/extract.h>

#include "base/progress.h"
#include "extract/files.h"
#include "extract/links.h"
#include "extract/plan.h"

struct dwarfs_extract {
	dwarfs_image *image;
	bool skip_devices, skip_specials, continue_on_error;
	bool owners_given, owners;
	dwarfs_progress_fn progress;
	void *progress_user;
	const dwarfs_cancel *cancel;
	uint64_t failures;
};

/* One run. */
struct job {
	dwarfs_extract *extract;
	const dwarfs_image *image;
	const char *target;
	int root_fd;
	bool set_owner;
	bool stopped; /* a failure that ends the run */
	struct plan plan;
	struct cursor here;  /* where entries are made */
	struct cursor there; /* where hard links point to */
	struct links links;
	struct files files;
	dwarfs_stat *stat;
	void *buffer;
	char *path; /* as shown in the progress */
	struct dwarfs_progress progress;
	int first_code; /* of the first failure */
	dwarfs_error *first;
};

/* Count the failure of an entry, tell the log, and stop unless told to go on. Takes why.
 */
void dw_job_fail(struct job *job, dwarfs_entry entry, int code, dwarfs_error *why);

/* What job->stat says. */
struct attributes dw_job_attributes(const struct job *job);

/* Let the progress have the path of an entry. */
void dw_job_show(struct job *job, dwarfs_entry entry);

#endif
