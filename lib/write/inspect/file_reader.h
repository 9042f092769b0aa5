/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/file_reader: reading one file of the input once, for all that is wanted of it.
 *
 * Private to inspect.c.
 */
#ifndef DW_WRITE_INSPECT_FILE_READER_H
#define DW_WRITE_INSPECT_FILE_READER_H

#include "pool/pipeline.h"
#include "write/inspect/distinct_set.h"
#include "write/inspect/sparse_hash.h"
#include "write/order/order.h"

enum subject_state {
	SUBJECT_NEW,
	SUBJECT_DONE,
	SUBJECT_UNREADABLE,
	SUBJECT_CHANGED, /* compared with no other; the segmenter reports it */
};

/* A file that is not empty. */
struct subject {
	uint32_t inode;
	uint32_t distinct; /* its contents, once they are known; or DW_NONE */
	uint8_t state;
	bool wants_hash, may_have_holes;
};

/* What all workers share. Constant, but for the set and the fields of a job's subjects.
 */
struct file_reader {
	struct build_run *run;
	const struct tree *tree;
	struct pipeline *pipeline;
	struct subject *subjects;
	const struct categorizers *categorizers; /* NULL: none */
	const uint8_t *kinds;			 /* of fingerprint, for each category */
	const uint32_t *forced; /* by the callback, of each subject; or DW_ANY_CATEGORY */
	bool goes_by_path;	/* equal files may be of different categories */
	struct distinct_set set;
	atomic_uint_fast64_t bytes_done;
};

#define READER_JOB_SUBJECTS 256

struct read_failure {
	uint32_t subject;
	int errnum;
};

/* A number of files, and what could not be read of them. */
struct reader_job {
	uint32_t list[READER_JOB_SUBJECTS];
	size_t count;
	struct read_failure *failures;
	size_t failure_count, failure_room;
};

struct reader_worker;
int dw_file_reader_worker_new(struct file_reader *reader, struct reader_worker **worker_out,
		       dwarfs_error **err);
void dw_file_reader_worker_free(struct reader_worker *worker);

/* Look at the files of a job. What is wrong with a file is no error of the run. */
int dw_file_reader_run(struct file_reader *reader, struct reader_worker *worker, struct reader_job *job,
		dwarfs_error **err);

/* How long the hashes are that this algorithm gives. */
int dw_file_reader_digest_bytes(const char *algorithm, size_t *bytes_out, dwarfs_error **err);

#endif
