/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/file_reader: read a file of the input once: digest, categories,
 * fingerprint.
 */
#ifndef DW_WRITE_INSPECT_FILE_READER_H
#define DW_WRITE_INSPECT_FILE_READER_H

#include "format/side/digest_table.h"
#include "pool/pipeline.h"
#include "write/inspect/distinct_set.h"
#include "write/inspect/sparse_hash.h"
#include "write/order/order.h"

enum subject_state {
	SUBJECT_NEW,
	SUBJECT_DONE,
	SUBJECT_UNREADABLE,
	SUBJECT_CHANGED, /* not compared with others; the segmenter reports it */
};

/* The XXH3-128 of a file, for the comparison with what images say of their files. */
struct known_digest {
	uint8_t bytes[DW_FILE_DIGEST_BYTES];
	bool is_known;
};

/* A non-empty file. */
struct subject {
	uint32_t inode;
	uint32_t distinct; /* number of its contents if known, or DW_NONE */
	uint8_t state;
	bool wants_hash, may_have_holes;
	bool is_kept; /* its blocks are kept: only its digest is wanted */
	uint32_t
		alias; /* an earlier subject that has the same chunks of the same image, or
			   DW_NONE */
};

/* Shared by all workers. Constant, except for the set and the subjects of a worker's own
 * job. */
struct file_reader {
	struct build_run *run;
	const struct tree *tree;
	struct pipeline *pipeline;
	struct subject *subjects;
	const struct categorizers *categorizers; /* NULL: none */
	const uint8_t *fingerprint_kinds;	 /* kind of fingerprint, by category */
	/* category chosen by the callback, by subject; or DW_ANY_CATEGORY */
	const uint32_t *forced;
	/* the category depends on the path, so equal files may differ */
	bool goes_by_path;
	struct known_digest *digests; /* by subject, or NULL: computed of what is read */
	struct distinct_set set;
	atomic_uint_fast64_t bytes_done;
};

#define READER_JOB_SUBJECTS 256

struct read_failure {
	uint32_t subject;
	int errnum;
};

/* A batch of files, and the read errors. */
struct reader_job {
	uint32_t list[READER_JOB_SUBJECTS];
	size_t count;
	struct read_failure *failures;
	size_t failure_count, failure_room;
};

struct reader_worker;
int dw_file_reader_worker_new(struct file_reader *reader,
			      struct reader_worker **worker_out, dwarfs_error **err);
void dw_file_reader_worker_free(struct reader_worker *worker);

/* Read the files of a job. An unreadable file does not fail the run. */
int dw_file_reader_run(struct file_reader *reader, struct reader_worker *worker,
		       struct reader_job *job, dwarfs_error **err);

/* Length of the digests of an algorithm. */
int dw_file_reader_digest_bytes(const char *algorithm, size_t *bytes_out,
				dwarfs_error **err);

#endif
