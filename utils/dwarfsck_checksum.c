/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck_checksum: a digest of the contents of each file, as sha256sum prints and
 * checks it.
 *
 * The library gives the pieces of all files in the order of their data, each block
 * decoded once by its workers. Here they are handed on to threads that compute the
 * digests, each file to one of them. Files whose pieces do not come in the order of the
 * file are read once more, by themselves. The lines are printed in the order of the walk.
 */
#include "dwarfsck.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BATCH = 1 << 18, /* files at a time */
	READ_BYTES = 256 * 1024,
	ZERO_BYTES = 64 * 1024,
	QUEUE_BYTES = 4 << 20, /* that wait for one thread */
};

static const unsigned char zeros[ZERO_BYTES];

/* A file of the batch. */
struct file {
	dwarfs_inode inode;
	uint32_t same; /* the first in the batch with this inode */
	char *path;
	char *hex;
	char *error;	/* why there is no digest, when there is none */
	uint64_t next;	/* where the piece begins that can be taken */
	bool is_failed; /* or out of order, for now */
	bool is_aside;	/* it is to be read by itself */
	dwarfs_digest *digest;
};

/* What a thread has to do. */
struct item {
	struct item *next;
	struct file *file;
	enum { PIECE, HOLE, END, FAILURE, ASIDE } kind;
	uint64_t offset;
	uint64_t bytes;
	char data[];
};

struct hasher {
	pthread_t thread;
	const struct checksums *checksums;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, **last;
	size_t bytes;  /* in the queue */
	bool is_busy;  /* with an item that is in it no more */
	bool is_ended; /* no more will come */
	dwarfs_digest **idle;
	size_t idle_count, idle_room;
	void *buffer;
};

struct checksums {
	const dwarfs_image *image;
	const char *algorithm;
	struct hasher *hashers; /* one at least */
	uint64_t thread_count;	/* 0: the first does its work at once */
	struct file *files;
	size_t count;
	uint32_t *first_of; /* by inode: the first file of the batch plus 1 */
	bool is_failed;
};

/* -- one thread ---------------------------------------------------------------------- */

static void set_error(struct file *file, const char *text)
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
	dwarfs_digest_new(hasher->checksums->algorithm, &digest, NULL);
	return digest;
}

/* hex is set in any case, so that the next file starts anew. */
static void give_digest(struct hasher *hasher, struct file *file, char *hex)
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

static void update(struct hasher *hasher, struct file *file, const void *data,
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

static void finish(struct hasher *hasher, struct file *file)
{
	char hex[DWARFS_DIGEST_HEX_MAX];

	update(hasher, file, zeros, 0);
	if (file->is_failed)
		return;
	give_digest(hasher, file, hex);
	file->hex = strdup(hex);
	if (!file->hex)
		set_error(file, "out of memory");
}

static void give_up(struct hasher *hasher, struct file *file)
{
	char hex[DWARFS_DIGEST_HEX_MAX];

	give_digest(hasher, file, hex);
	file->is_failed = true;
}

static int read_file(struct hasher *hasher, struct file *file, dwarfs_error **err)
{
	dwarfs_file *open;
	uint64_t at = 0;
	size_t bytes;
	int ret;

	if (!hasher->buffer && !(hasher->buffer = malloc(READ_BYTES)))
		return DWARFS_ERR_NOMEM;
	if ((ret = dwarfs_file_open(hasher->checksums->image, file->inode, &open, err)) <
	    0)
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
static void hash_aside(struct hasher *hasher, struct file *file)
{
	auto_handle(dwarfs_error) *err = NULL;
	int ret;

	file->is_failed = file->is_aside = false;
	file->next = 0;
	ret = read_file(hasher, file, &err);
	if (ret < 0) {
		give_up(hasher, file);
		set_error(file, err ? dwarfs_error_message(err) : dwarfs_strerror(ret));
	}
	if (!file->is_failed)
		finish(hasher, file);
}

static void process(struct hasher *hasher, struct file *file, int kind, const void *data,
		    uint64_t bytes, uint64_t offset)
{
	if (kind == ASIDE) {
		hash_aside(hasher, file);
		return;
	}
	if (file->is_failed)
		return;
	if (kind == FAILURE) {
		give_up(hasher, file);
		set_error(file, data);
	} else if (kind == END) {
		finish(hasher, file);
	} else if (offset == file->next) {
		update(hasher, file, kind == HOLE ? NULL : data, bytes);
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
		process(hasher, item->file, item->kind, item->data, item->bytes,
			item->offset);
		pthread_mutex_lock(&hasher->lock);
		hasher->is_busy = false;
		hasher->bytes -= item->kind == PIECE ? item->bytes : 0;
		free(item);
		pthread_cond_broadcast(&hasher->changed);
	}
	pthread_mutex_unlock(&hasher->lock);
	return NULL;
}

/* -- the queues ---------------------------------------------------------------------- */

static int enqueue(struct hasher *hasher, struct file *file, int kind, const void *data,
		   size_t size, uint64_t bytes, uint64_t offset)
{
	struct item *item = malloc(sizeof(*item) + size);

	if (!item)
		return tool_error("out of memory");
	*item = (struct item){
		.file = file, .kind = kind, .offset = offset, .bytes = bytes
	};
	if (size > 0)
		memcpy(item->data, data, size);
	pthread_mutex_lock(&hasher->lock);
	while (hasher->bytes > QUEUE_BYTES)
		pthread_cond_wait(&hasher->changed, &hasher->lock);
	*hasher->last = item;
	hasher->last = &item->next;
	hasher->bytes += kind == PIECE ? bytes : 0;
	pthread_cond_broadcast(&hasher->changed);
	pthread_mutex_unlock(&hasher->lock);
	return 0;
}

/* size: of data. Each file has its thread, which sees its pieces as they come. */
static int hand_on(struct checksums *checksums, struct file *file, int kind,
		   const void *data, size_t size, uint64_t bytes, uint64_t offset)
{
	if (checksums->thread_count == 0) {
		process(&checksums->hashers[0], file, kind, data, bytes, offset);
		return 0;
	}
	return enqueue(&checksums->hashers[file->inode % checksums->thread_count], file,
		       kind, data, size, bytes, offset);
}

static void wait_for_all(struct checksums *checksums)
{
	uint64_t i;

	for (i = 0; i < checksums->thread_count; i++) {
		struct hasher *hasher = &checksums->hashers[i];

		pthread_mutex_lock(&hasher->lock);
		while (hasher->first || hasher->is_busy)
			pthread_cond_wait(&hasher->changed, &hasher->lock);
		pthread_mutex_unlock(&hasher->lock);
	}
}

static struct file *file_of(const struct checksums *checksums, dwarfs_inode inode)
{
	return &checksums->files[checksums->first_of[inode] - 1];
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      void *user)
{
	struct checksums *checksums = user;
	int kind = bytes == 0 ? END : data ? PIECE : HOLE;

	return hand_on(checksums, file_of(checksums, inode), kind, data, data ? bytes : 0,
		       bytes, offset);
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *why, void *user)
{
	struct checksums *checksums = user;
	const char *text = dwarfs_error_message(why);

	return hand_on(checksums, file_of(checksums, inode), FAILURE, text,
		       strlen(text) + 1, 0, 0);
}

/* -- a batch ------------------------------------------------------------------------- */

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

static void print_file(struct checksums *checksums, const struct file *file)
{
	const struct file *first = &checksums->files[file->same];

	if (first->hex) {
		print_line(first->hex, file->path);
		return;
	}
	tool_error("%s: %s", file->path, first->error ? first->error : "out of memory");
	checksums->is_failed = true;
}

static void print_batch(struct checksums *checksums)
{
	size_t i;

	for (i = 0; i < checksums->count; i++)
		print_file(checksums, &checksums->files[i]);
	for (i = 0; i < checksums->count; i++) {
		struct file *file = &checksums->files[i];

		checksums->first_of[file->inode] = 0;
		free(file->path);
		free(file->hex);
		free(file->error);
		dwarfs_digest_free(file->digest);
	}
	checksums->count = 0;
}

static int read_batch(struct checksums *checksums)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_free dwarfs_inode *inodes = calloc(checksums->count + 1, sizeof(*inodes));
	size_t i;
	int ret;

	if (!inodes)
		return tool_error("out of memory");
	for (i = 0; i < checksums->count; i++)
		inodes[i] = checksums->files[i].inode;
	ret = dwarfs_read_in_order(checksums->image, inodes, checksums->count, take_piece,
				   take_failure, checksums, &err);
	wait_for_all(checksums);
	for (i = 0; i < checksums->count && ret == 0; i++)
		if (checksums->files[i].is_aside)
			ret = hand_on(checksums, &checksums->files[i], ASIDE, NULL, 0, 0,
				      0);
	wait_for_all(checksums);
	if (ret < 0)
		return tool_fail(err, NULL);
	return ret;
}

static int add_file(struct checksums *checksums, dwarfs_inode inode, const char *path)
{
	struct file *file = &checksums->files[checksums->count];
	uint32_t *first = &checksums->first_of[inode];

	*file = (struct file){ .inode = inode, .path = strdup(path) };
	if (!file->path)
		return tool_error("out of memory");
	checksums->count++;
	if (*first == 0)
		*first = (uint32_t)checksums->count;
	file->same = *first - 1;
	return 0;
}

static int finish_batch(struct checksums *checksums)
{
	int ret = read_batch(checksums);

	if (ret == 0)
		print_batch(checksums);
	return ret;
}

static int read_all(struct checksums *checksums)
{
	auto_handle(dwarfs_walk) *walk = NULL;
	auto_handle(dwarfs_stat) *stat = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_entry entry;
	int ret;

	if (dwarfs_stat_new(&stat, &err) < 0 ||
	    dwarfs_walk_new(checksums->image, DWARFS_ROOT, DWARFS_WALK_DATA, &walk,
			    &err) < 0)
		return tool_fail(err, NULL);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		if ((ret = dwarfs_entry_stat(checksums->image, entry, stat, &err)) < 0)
			break;
		if (!S_ISREG(dwarfs_stat_mode(stat)))
			continue;
		if (add_file(checksums, dwarfs_stat_inode(stat),
			     dwarfs_walk_path(walk)) ||
		    (checksums->count == BATCH && finish_batch(checksums)))
			return 1;
	}
	if (ret < 0) {
		finish_batch(checksums);
		return tool_fail(err, NULL);
	}
	return finish_batch(checksums);
}

/* -- threads ------------------------------------------------------------------------- */

static uint64_t default_workers(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 0 ? (uint64_t)processors : 1;
}

static void hasher_init(struct hasher *hasher, const struct checksums *checksums)
{
	hasher->checksums = checksums;
	hasher->last = &hasher->first;
	pthread_mutex_init(&hasher->lock, NULL);
	pthread_cond_init(&hasher->changed, NULL);
}

static void hasher_free(struct hasher *hasher)
{
	while (hasher->idle_count > 0)
		dwarfs_digest_free(hasher->idle[--hasher->idle_count]);
	free(hasher->idle);
	free(hasher->buffer);
	pthread_cond_destroy(&hasher->changed);
	pthread_mutex_destroy(&hasher->lock);
}

/* Fewer than wanted, and in the end none, if the system gives no more. */
static void start_threads(struct checksums *checksums, uint64_t wanted)
{
	uint64_t *count = &checksums->thread_count;

	while (*count < wanted && pthread_create(&checksums->hashers[*count].thread, NULL,
						 work, &checksums->hashers[*count]) == 0)
		(*count)++;
}

static void end_threads(struct checksums *checksums)
{
	uint64_t i;

	for (i = 0; i < checksums->thread_count; i++) {
		struct hasher *hasher = &checksums->hashers[i];

		pthread_mutex_lock(&hasher->lock);
		hasher->is_ended = true;
		pthread_cond_broadcast(&hasher->changed);
		pthread_mutex_unlock(&hasher->lock);
		pthread_join(hasher->thread, NULL);
	}
}

int print_checksums(const dwarfs_image *image, const char *algorithm, uint64_t workers)
{
	auto_free struct hasher *hashers = NULL;
	auto_free struct file *files = calloc(BATCH, sizeof(*files));
	auto_free uint32_t *first_of =
		calloc((size_t)dwarfs_image_inode_count(image) + 1, sizeof(*first_of));
	struct checksums checksums = { .image = image, .algorithm = algorithm };
	uint64_t i, count;
	int ret;

	if (workers == TOOL_DEFAULT)
		workers = default_workers();
	count = workers > 1 ? workers : 1;
	hashers = calloc(count, sizeof(*hashers));
	if (!hashers || !files || !first_of)
		return tool_error("out of memory");
	checksums.hashers = hashers;
	checksums.files = files;
	checksums.first_of = first_of;
	for (i = 0; i < count; i++)
		hasher_init(&hashers[i], &checksums);
	start_threads(&checksums, workers > 1 ? workers : 0);
	ret = read_all(&checksums);
	end_threads(&checksums);
	for (i = 0; i < count; i++)
		hasher_free(&hashers[i]);
	return ret || checksums.is_failed;
}
