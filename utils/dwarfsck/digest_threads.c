/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/digest_threads: threads that compute the digests of files.
 *
 * Each has a queue of work with a limit in bytes; the producer waits when it is full.
 * Files whose pieces are not in the order of the file are marked, to be read again one by
 * one.
 */
#include "dwarfsck/digest_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	READ_BYTES = 256 * 1024,
	ZERO_BYTES = 64 * 1024,
	QUEUE_BYTES = 4 << 20, /* that wait for one thread */
};

static const unsigned char zeros[ZERO_BYTES];

/* The queue of a thread. */
struct item {
	struct item *next;
	struct hashed *file;
	enum hash_step step;
	uint64_t offset;
	uint64_t bytes;
	char data[];
};

struct hasher {
	pthread_t thread;
	const struct hashers *all;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, **last;
	size_t bytes;  /* in the queue */
	bool is_busy;  /* with an item that is in it no more */
	bool is_ended; /* no more work will be queued */
	dwarfs_digest **idle;
	size_t idle_count, idle_room;
	void *buffer;
};

struct hashers {
	const dwarfs_image *image;
	const char *algorithm;
	uint64_t count;	       /* one at least */
	uint64_t thread_count; /* 0: the first does its work at once */
	struct hasher list[];
};

/* -- one thread ---------------------------------------------------------------------- */

static void set_error(struct hashed *file, const char *text)
{
	file->is_failed = true;
	free(file->error);
	file->error = strdup(text);
}

static dwarfs_digest *take_digest(struct hasher *hasher)
{
	dwarfs_digest *digest = NULL;

	if (hasher->idle_count > 0)
		return hasher->idle[--hasher->idle_count];
	dwarfs_digest_new(hasher->all->algorithm, &digest, NULL);
	return digest;
}

/* hex is always set: finishing a digest resets it for the next file. */
static void give_digest(struct hasher *hasher, struct hashed *file, char *hex)
{
	dwarfs_digest *digest = file->digest;
	dwarfs_digest **grown;

	file->digest = NULL;
	if (!digest)
		return;
	dwarfs_digest_finish(digest, hex);
	if (hasher->idle_count == hasher->idle_room) {
		grown = realloc(hasher->idle,
				(hasher->idle_room * 2 + 8) * sizeof(*grown));
		if (!grown) {
			dwarfs_digest_free(digest);
			return;
		}
		hasher->idle = grown;
		hasher->idle_room = hasher->idle_room * 2 + 8;
	}
	hasher->idle[hasher->idle_count++] = digest;
}

static void update(struct hasher *hasher, struct hashed *file, const void *data,
		   uint64_t bytes)
{
	if (!file->digest)
		file->digest = take_digest(hasher);
	if (!file->digest) {
		set_error(file, "out of memory");
		return;
	}
	file->next += bytes;
	if (data)
		dwarfs_digest_update(file->digest, data, bytes);
	for (; !data && bytes > 0; bytes -= bytes < ZERO_BYTES ? bytes : ZERO_BYTES)
		dwarfs_digest_update(file->digest, zeros,
				     bytes < ZERO_BYTES ? bytes : ZERO_BYTES);
}

/* The established tool prints XXH3 with its lowest byte first, the library in the
 * canonical form, where that is the last. */
static void order_bytes(const char *algorithm, char *hex)
{
	size_t low = 0;
	size_t high = strlen(hex);

	if (strncmp(algorithm, "xxh3-", 5) != 0)
		return;
	for (; low + 2 < high; low += 2, high -= 2) {
		char pair[2] = { hex[low], hex[low + 1] };

		memcpy(hex + low, hex + high - 2, 2);
		memcpy(hex + high - 2, pair, 2);
	}
}

static void finish_digest(struct hasher *hasher, struct hashed *file)
{
	char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];

	update(hasher, file, zeros, 0);
	if (file->is_failed)
		return;
	give_digest(hasher, file, hex);
	order_bytes(hasher->all->algorithm, hex);
	file->hex = strdup(hex);
	if (!file->hex)
		set_error(file, "out of memory");
}

static void give_up(struct hasher *hasher, struct hashed *file)
{
	char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];

	give_digest(hasher, file, hex);
	file->is_failed = true;
}

static int hash_file(struct hasher *hasher, struct hashed *file, dwarfs_error **err)
{
	dwarfs_file *open;
	uint64_t at = 0;
	size_t bytes;
	int ret;

	if (!hasher->buffer && !(hasher->buffer = malloc(READ_BYTES)))
		return DWARFS_ERR_NOMEM;
	if ((ret = dwarfs_file_open(hasher->all->image, file->inode, &open, err)) < 0)
		return ret;
	do {
		ret = dwarfs_file_read(open, hasher->buffer, READ_BYTES, at, &bytes, err);
		if (ret < 0)
			break;
		update(hasher, file, hasher->buffer, bytes);
		at += bytes;
	} while (bytes > 0 && !file->is_failed);
	dwarfs_file_free(open);
	return ret;
}

/* All over again. */
static void hash_aside(struct hasher *hasher, struct hashed *file)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret;

	file->is_failed = file->is_aside = false;
	file->next = 0;
	ret = hash_file(hasher, file, &err);
	if (ret < 0) {
		give_up(hasher, file);
		set_error(file, err ? dwarfs_error_message(err) : dwarfs_strerror(ret));
	}
	if (!file->is_failed)
		finish_digest(hasher, file);
}

static void process(struct hasher *hasher, struct hashed *file, enum hash_step step,
		    const void *data, uint64_t bytes, uint64_t offset)
{
	if (step == HASH_ASIDE) {
		hash_aside(hasher, file);
		return;
	}
	if (file->is_failed)
		return;
	if (step == HASH_FAILURE) {
		give_up(hasher, file);
		set_error(file, data);
	} else if (step == HASH_END) {
		finish_digest(hasher, file);
	} else if (offset == file->next) {
		update(hasher, file, step == HASH_HOLE ? NULL : data, bytes);
	} else {
		give_up(hasher, file);
		file->is_aside = true;
	}
}

static void *work(void *user)
{
	struct hasher *hasher = user;

	pthread_mutex_lock(&hasher->lock);
	for (;;) {
		struct item *item;

		while (!hasher->first && !hasher->is_ended)
			pthread_cond_wait(&hasher->changed, &hasher->lock);
		item = hasher->first;
		if (!item)
			break;
		hasher->first = item->next;
		if (!hasher->first)
			hasher->last = &hasher->first;
		hasher->is_busy = true;
		pthread_mutex_unlock(&hasher->lock);
		process(hasher, item->file, item->step, item->data, item->bytes,
			item->offset);
		pthread_mutex_lock(&hasher->lock);
		hasher->is_busy = false;
		hasher->bytes -= item->step == HASH_PIECE ? item->bytes : 0;
		free(item);
		pthread_cond_broadcast(&hasher->changed);
	}
	pthread_mutex_unlock(&hasher->lock);
	return NULL;
}

/* -- the queues ---------------------------------------------------------------------- */

static int enqueue(struct hasher *hasher, struct hashed *file, enum hash_step step,
		   const void *data, size_t size, uint64_t bytes, uint64_t offset)
{
	struct item *item = malloc(sizeof(*item) + size);

	if (!item)
		return tool_error("out of memory");
	*item = (struct item){
		.file = file, .step = step, .offset = offset, .bytes = bytes
	};
	if (size > 0)
		memcpy(item->data, data, size);
	pthread_mutex_lock(&hasher->lock);
	while (hasher->bytes > QUEUE_BYTES)
		pthread_cond_wait(&hasher->changed, &hasher->lock);
	*hasher->last = item;
	hasher->last = &item->next;
	hasher->bytes += step == HASH_PIECE ? bytes : 0;
	pthread_cond_broadcast(&hasher->changed);
	pthread_mutex_unlock(&hasher->lock);
	return 0;
}

int hashers_give(struct hashers *hashers, struct hashed *file, enum hash_step step,
		 const void *data, size_t size, uint64_t bytes, uint64_t offset)
{
	if (hashers->thread_count == 0) {
		process(&hashers->list[0], file, step, data, bytes, offset);
		return 0;
	}
	return enqueue(&hashers->list[file->inode.number % hashers->thread_count], file,
		       step, data, size, bytes, offset);
}

void hashers_wait(struct hashers *hashers)
{
	uint64_t i;

	for (i = 0; i < hashers->thread_count; i++) {
		struct hasher *hasher = &hashers->list[i];

		pthread_mutex_lock(&hasher->lock);
		while (hasher->first || hasher->is_busy)
			pthread_cond_wait(&hasher->changed, &hasher->lock);
		pthread_mutex_unlock(&hasher->lock);
	}
}

/* -- all of them --------------------------------------------------------------------- */

void hashed_free(struct hashed *file)
{
	free(file->hex);
	free(file->error);
	dwarfs_digest_free(file->digest);
}

static void hasher_init(struct hasher *hasher, const struct hashers *all)
{
	hasher->all = all;
	hasher->last = &hasher->first;
	pthread_mutex_init(&hasher->lock, NULL);
	pthread_cond_init(&hasher->changed, NULL);
}

static void hasher_end(struct hasher *hasher)
{
	while (hasher->idle_count > 0)
		dwarfs_digest_free(hasher->idle[--hasher->idle_count]);
	free(hasher->idle);
	free(hasher->buffer);
	pthread_cond_destroy(&hasher->changed);
	pthread_mutex_destroy(&hasher->lock);
}

/* Fewer than requested, or none, if the system cannot start more. */
static void start_threads(struct hashers *hashers, uint64_t wanted)
{
	uint64_t *count = &hashers->thread_count;

	while (*count < wanted && pthread_create(&hashers->list[*count].thread, NULL,
						 work, &hashers->list[*count]) == 0)
		(*count)++;
}

static void end_threads(struct hashers *hashers)
{
	uint64_t i;

	for (i = 0; i < hashers->thread_count; i++) {
		struct hasher *hasher = &hashers->list[i];

		pthread_mutex_lock(&hasher->lock);
		hasher->is_ended = true;
		pthread_cond_broadcast(&hasher->changed);
		pthread_mutex_unlock(&hasher->lock);
		pthread_join(hasher->thread, NULL);
	}
}

struct hashers *hashers_new(const dwarfs_image *image, const char *algorithm,
			    uint64_t workers)
{
	uint64_t count = workers > 1 ? workers : 1, i;
	struct hashers *hashers =
		calloc(1, sizeof(*hashers) + count * sizeof(hashers->list[0]));

	if (!hashers)
		return NULL;
	hashers->image = image;
	hashers->algorithm = algorithm;
	hashers->count = count;
	for (i = 0; i < count; i++)
		hasher_init(&hashers->list[i], hashers);
	start_threads(hashers, workers > 1 ? workers : 0);
	return hashers;
}

void hashers_free(struct hashers *hashers)
{
	uint64_t i;

	if (!hashers)
		return;
	end_threads(hashers);
	for (i = 0; i < hashers->count; i++)
		hasher_end(&hashers->list[i]);
	free(hashers);
}
