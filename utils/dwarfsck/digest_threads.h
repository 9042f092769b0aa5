/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/digest_threads: threads that compute the digests of files, each file by one of them.
 */
#ifndef UTILS_DWARFSCK_DIGEST_THREADS_H
#define UTILS_DWARFSCK_DIGEST_THREADS_H

#include "common/common.h"

/* A file and its digest. All fields except inode are initially zero. */
struct hashed {
	dwarfs_inode inode;
	char *hex;	/* the digest */
	char *error;	/* why there is no digest */
	uint64_t next;	/* where the piece begins that can be taken */
	bool is_failed; /* or out of order, for now */
	bool is_aside;	/* its pieces are out of order: to be read again separately */
	dwarfs_digest *digest;
};
void hashed_free(struct hashed *file);

/* A step of the digest of a file. */
enum hash_step {
	HASH_PIECE,   /* data of a number of bytes at an offset */
	HASH_HOLE,    /* a number of zeros at an offset */
	HASH_END,     /* all pieces were given */
	HASH_FAILURE, /* reading failed; data is the error message */
	HASH_ASIDE,   /* read the file, from its start */
};

struct hashers;

/* Start the threads, none for fewer than two workers. NULL if out of memory. */
struct hashers *hashers_new(const dwarfs_image *image, const char *algorithm,
			    uint64_t workers);
/* All that was given must be done. */
void hashers_free(struct hashers *hashers);
#define auto_hashers __attribute__((cleanup(hashers_cleanup))) struct hashers
static inline void hashers_cleanup(struct hashers **hashers)
{
	hashers_free(*hashers);
}

/* size: of data, which is copied if need be. The steps of a file are done in the order in
 * which they are given. Returns 0, or 1 after printing. */
int hashers_give(struct hashers *hashers, struct hashed *file, enum hash_step step,
		 const void *data, size_t size, uint64_t bytes, uint64_t offset);
/* Until everything is done. */
void hashers_wait(struct hashers *hashers);

#endif
