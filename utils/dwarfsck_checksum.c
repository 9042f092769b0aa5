/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck_checksum: a digest of the contents of each file, as sha256sum prints and
 * checks it.
 *
 * Files come in the order of their data, so that blocks are decoded once. They are handed
 * to threads through a ring of jobs and printed in the order in which they came.
 */
#include "dwarfsck.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	RING = 256,
	READ_BYTES = 256 * 1024,
};

struct job {
	dwarfs_inode inode;
	char *path;
	char *error; /* why there is no digest, or NULL */
	char hex[DWARFS_DIGEST_HEX_MAX];
	bool done;
};

/* Jobs are numbered from 0; those from printed to filled are in the ring. */
struct queue {
	const dwarfs_image *image;
	const char *algorithm;
	pthread_mutex_t lock;
	pthread_cond_t work; /* a job was filled in, or there will be no more */
	pthread_cond_t result;
	uint64_t filled;
	uint64_t taken;
	uint64_t printed;
	bool closed;
	bool failed;
	struct job ring[RING];
};

/* What one thread reads with. */
struct reader {
	dwarfs_digest *digest;
	void *buffer;
};

static void reader_free(struct reader *reader)
{
	dwarfs_digest_free(reader->digest);
	free(reader->buffer);
}

static int reader_init(struct reader *reader, const char *algorithm, dwarfs_error **err)
{
	*reader = (struct reader){ .buffer = malloc(READ_BYTES) };
	if (!reader->buffer)
		return DWARFS_ERR_NOMEM;
	return dwarfs_digest_new(algorithm, &reader->digest, err);
}

static int hash_file(const dwarfs_image *image, struct reader *reader, struct job *job,
		     dwarfs_error **err)
{
	dwarfs_file *file;
	uint64_t at = 0;
	size_t bytes;
	int ret;

	if ((ret = dwarfs_file_open(image, job->inode, &file, err)) < 0)
		return ret;
	do {
		ret = dwarfs_file_read(file, reader->buffer, READ_BYTES, at, &bytes, err);
		if (ret < 0)
			break;
		dwarfs_digest_update(reader->digest, reader->buffer, bytes);
		at += bytes;
	} while (bytes > 0);
	dwarfs_file_free(file);
	/* Finished in any case, so that the next file starts anew. */
	dwarfs_digest_finish(reader->digest, job->hex);
	return ret;
}

static void run_job(const struct queue *queue, struct reader *reader, struct job *job)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret = DWARFS_ERR_NOMEM;

	if (!reader->digest)
		ret = reader_init(reader, queue->algorithm, &err);
	if (reader->digest)
		ret = hash_file(queue->image, reader, job, &err);
	if (ret < 0)
		job->error =
			strdup(err ? dwarfs_error_message(err) : dwarfs_strerror(ret));
	if (ret < 0 && !job->error)
		job->hex[0] = '\0';
}

static void *work(void *user)
{
	struct queue *queue = user;
	struct reader reader = { 0 };

	pthread_mutex_lock(&queue->lock);
	for (;;) {
		struct job *job;

		while (queue->taken == queue->filled && !queue->closed)
			pthread_cond_wait(&queue->work, &queue->lock);
		if (queue->taken == queue->filled)
			break;
		job = &queue->ring[queue->taken++ % RING];
		pthread_mutex_unlock(&queue->lock);
		run_job(queue, &reader, job);
		pthread_mutex_lock(&queue->lock);
		job->done = true;
		pthread_cond_signal(&queue->result);
	}
	pthread_mutex_unlock(&queue->lock);
	reader_free(&reader);
	return NULL;
}

/*
 * "digest  path". A path that would not be one line, or has backslashes, is escaped, and
 * the line then begins with a backslash.
 */
static void print_line(const char *hex, const char *path)
{
	const bool escaped = strpbrk(path, "\\\n\r") != NULL;

	printf("%s%s  ", escaped ? "\\" : "", hex);
	for (; *path; path++) {
		if (*path == '\n')
			fputs("\\n", stdout);
		else if (*path == '\r')
			fputs("\\r", stdout);
		else if (*path == '\\')
			fputs("\\\\", stdout);
		else
			putchar(*path);
	}
	putchar('\n');
}

static void print_job(struct queue *queue, struct job *job)
{
	if (job->error || !*job->hex) {
		tool_error("%s: %s", job->path,
			   job->error ? job->error : "out of memory");
		queue->failed = true;
	} else {
		print_line(job->hex, job->path);
	}
	free(job->path);
	free(job->error);
	*job = (struct job){ 0 };
}

/* Print the oldest job, once it is done. */
static void print_next(struct queue *queue)
{
	struct job *job = &queue->ring[queue->printed % RING];

	pthread_mutex_lock(&queue->lock);
	while (!job->done)
		pthread_cond_wait(&queue->result, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
	print_job(queue, job);
	queue->printed++;
}

/* Room for one more job, then fill it in. */
static int add_job(struct queue *queue, dwarfs_inode inode, const char *path)
{
	char *copy = strdup(path);
	struct job *job;

	if (!copy)
		return tool_error("out of memory");
	if (queue->filled - queue->printed == RING)
		print_next(queue);

	pthread_mutex_lock(&queue->lock);
	job = &queue->ring[queue->filled % RING];
	job->inode = inode;
	job->path = copy;
	queue->filled++;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

static int add_files(struct queue *queue)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_entry entry;
	int ret;

	if (dwarfs_stat_new(&stat, &err) < 0 ||
	    dwarfs_walk_new(queue->image, DWARFS_ROOT, DWARFS_WALK_DATA, &walk, &err) < 0)
		return tool_fail(err, NULL);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		if ((ret = dwarfs_entry_stat(queue->image, entry, stat, &err)) < 0)
			break;
		if (S_ISREG(dwarfs_stat_mode(stat)) &&
		    add_job(queue, dwarfs_stat_inode(stat), dwarfs_walk_path(walk)))
			return 1;
	}
	return ret < 0 ? tool_fail(err, NULL) : 0;
}

static uint64_t default_workers(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 0 ? (uint64_t)processors : 1;
}

/* At least one thread; fewer than wanted if the system gives no more. */
static uint64_t start_threads(struct queue *queue, pthread_t *threads, uint64_t wanted)
{
	uint64_t count = 0;

	while (count < wanted && pthread_create(&threads[count], NULL, work, queue) == 0)
		count++;
	return count;
}

static void close_queue(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

int print_checksums(const dwarfs_image *image, const char *algorithm, uint64_t workers)
{
	auto_free struct queue *queue = calloc(1, sizeof(*queue));
	auto_free pthread_t *threads = NULL;
	uint64_t count;
	uint64_t i;
	int ret;

	if (workers == TOOL_DEFAULT)
		workers = default_workers();
	threads = calloc(workers + 1, sizeof(*threads));
	if (!queue || !threads)
		return tool_error("out of memory");
	queue->image = image;
	queue->algorithm = algorithm;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->work, NULL);
	pthread_cond_init(&queue->result, NULL);

	count = start_threads(queue, threads, workers ? workers : 1);
	if (count == 0)
		return tool_error("cannot start a thread");
	ret = add_files(queue);
	close_queue(queue);
	while (queue->printed < queue->filled)
		print_next(queue);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&queue->result);
	pthread_cond_destroy(&queue->work);
	pthread_mutex_destroy(&queue->lock);
	return ret || queue->failed;
}
