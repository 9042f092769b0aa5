/* SPDX-License-Identifier: MIT */
/*
 * api/fork: children of a process whose threads read.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "items.h"
#include "../support/wiped_pages.h"

#define FILES	   32u
#define FILE_BYTES 100000u
#define BUDGET	   (200u << 10)
#define READERS	   4
#define FORKS	   60

enum { READ_RIGHT, READ_REFUSED, READ_WRONG };

/* The C library's malloc() works in the child of a process with threads. The allocator of the
 * address sanitizer (gcc 12) does not: its locks stay taken if another thread held one. There
 * no reader is in malloc() during a fork. */
#ifdef __SANITIZE_ADDRESS__
static pthread_mutex_t no_fork = PTHREAD_MUTEX_INITIALIZER;

static void begin_fork(void)
{
	pthread_mutex_lock(&no_fork);
}

static void end_fork(void)
{
	pthread_mutex_unlock(&no_fork);
}

static void *allocate(size_t bytes, void *user)
{
	void *block;

	(void)user;
	begin_fork();
	block = malloc(bytes);
	end_fork();
	return block;
}

static void release(void *block, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	begin_fork();
	free(block);
	end_fork();
}

static const dwarfs_allocator used_allocator = {
	.struct_bytes = sizeof(used_allocator),
	.allocate = allocate,
	.release = release,
};

static int new_context(dwarfs_context **context_out)
{
	return dwarfs_context_new_with_allocator(&used_allocator, context_out, NULL);
}

static void prepare_forks(void)
{
	assert_int_equal(pthread_atfork(begin_fork, end_fork, end_fork), 0);
}
#else
static int new_context(dwarfs_context **context_out)
{
	return dwarfs_context_new(context_out, NULL);
}

static void prepare_forks(void)
{
}
#endif

static struct bytes image_bytes;
static uint8_t contents[FILES][FILE_BYTES];
static atomic_bool stop;
static atomic_int begun; /* readers that have read a file */

static uint8_t byte_of(uint32_t file, size_t at)
{
	return (uint8_t)(file * 31 + at / 7 + (at % 7) * file);
}

static void make_image(void)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_set_block_bits(builder, 18, &err), err);
	for (uint32_t i = 0; i < FILES; i++) {
		char name[16];

		for (size_t at = 0; at < FILE_BYTES; at++)
			contents[i][at] = byte_of(i, at);
		snprintf(name, sizeof(name), "%02u", i);
		add_bytes(builder, name, contents[i], FILE_BYTES);
	}
	image_bytes = run(builder);
	dwarfs_builder_free(builder);
}

static dwarfs_image *open_again(dwarfs_context **context_out)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	*context_out = NULL;
	if (new_context(context_out) == 0 &&
	    dwarfs_context_set_cache_bytes(*context_out, BUDGET, NULL) == 0 &&
	    dwarfs_context_set_workers(*context_out, 0, NULL) == 0 &&
	    dwarfs_io_from_memory(image_bytes.data, image_bytes.size, NULL, NULL, &io,
				  NULL) == 0)
		dwarfs_image_open_io(*context_out, io, NULL, &image, NULL);
	dwarfs_io_free(io);
	return image;
}

static int try_file(const dwarfs_image *image, uint32_t file)
{
	static _Thread_local uint8_t data[FILE_BYTES];
	dwarfs_entry entry;
	dwarfs_inode inode;
	char name[16];
	size_t bytes;
	int ret;

	snprintf(name, sizeof(name), "%02u", file);
	if (dwarfs_find(image, name, &entry, NULL) < 0 ||
	    dwarfs_entry_inode(image, entry, &inode, NULL) < 0)
		return READ_WRONG;
	ret = dwarfs_read(image, inode, data, FILE_BYTES, 0, &bytes, NULL);
	if (ret == DWARFS_ERR_INVALID)
		return READ_REFUSED;
	if (ret < 0 || bytes != FILE_BYTES ||
	    memcmp(data, contents[file], FILE_BYTES) != 0)
		return READ_WRONG;
	return READ_RIGHT;
}

static void *read_on(void *argument)
{
	for (uint32_t i = 0; !atomic_load(&stop); i++) {
		int found = try_file(argument, i * 7 % FILES);

		if (i == 0)
			atomic_fetch_add(&begun, 1);
		if (found != READ_RIGHT)
			return argument;
	}
	return NULL;
}

/* In the child: the parent's image works or returns an error, an image opened by the
 * child works. */
static int use_in_child(dwarfs_image *image, dwarfs_context *context)
{
	dwarfs_context *own_context;
	dwarfs_image *own = open_again(&own_context);
	int first = try_file(image, 3);

	for (uint32_t i = 0; i < FILES; i++)
		if (try_file(image, i) != first || !own || try_file(own, i) != READ_RIGHT)
			return READ_WRONG;
	dwarfs_context_trim(context, 0);
	dwarfs_context_cache_count(context, DWARFS_CACHE_USED);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	dwarfs_image_free(own);
	dwarfs_context_free(own_context);
	return first;
}

/* The result of the child; a child that hangs is killed by SIGALRM. */
static int fork_once(dwarfs_image *image, dwarfs_context *context)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		_exit(use_in_child(image, context));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_child_of_one_thread_reads_on(void **state)
{
	dwarfs_context *context;
	dwarfs_image *image = open_again(&context);

	(void)state;
	assert_int_equal(try_file(image, 3), READ_RIGHT);
	assert_int_equal(fork_once(image, context), READ_RIGHT);
	assert_int_equal(try_file(image, 4), READ_RIGHT);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

static void children_do_not_wait_for_threads_they_lack(void **state)
{
	dwarfs_context *context;
	dwarfs_image *image;
	pthread_t threads[READERS];
	int refused = 0;
	void *failed;

	(void)state;
	skip_without_wiped_pages();
	image = open_again(&context);
	assert_int_equal(try_file(image, 3), READ_RIGHT);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, image), 0);
	while (atomic_load(&begun) < READERS)
		sched_yield();
	for (int i = 0; i < FORKS; i++) {
		int found = fork_once(image, context);

		assert_int_not_equal(found, READ_WRONG);
		refused += found == READ_REFUSED;
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	print_message("# %d of %d children were refused\n", refused, FORKS);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* -- a thread that asks for counters -------------------------------------------------- */

#define POLLED_FORKS 200

static void *poll_counters(void *context)
{
	while (!atomic_load(&stop))
		dwarfs_context_cache_count(context, DWARFS_CACHE_USED);
	return NULL;
}

/* In the child. */
static void use_counters(dwarfs_context *context, int which)
{
	if (which % 3 == 0)
		dwarfs_context_cache_count(context, DWARFS_CACHE_HITS);
	else if (which % 3 == 1)
		dwarfs_context_trim(context, 0);
	else
		dwarfs_context_set_cache_bytes(context, BUDGET, NULL);
}

static void children_do_not_wait_for_a_thread_that_polls(void **state)
{
	dwarfs_context *context;
	dwarfs_image *image;
	pthread_t thread;

	(void)state;
	skip_without_wiped_pages();
	image = open_again(&context);
	assert_int_equal(try_file(image, 3), READ_RIGHT);
	atomic_store(&stop, false);
	assert_int_equal(pthread_create(&thread, NULL, poll_counters, context), 0);
	for (int i = 0; i < POLLED_FORKS; i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			alarm(60);
			use_counters(context, i);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* -- a thread that logs ---------------------------------------------------------------- */

static atomic_bool is_logging;
static pid_t parent;

/* In the parent it goes on until all children have ended. */
static void log_on(enum dwarfs_log_level level, const char *message, void *user)
{
	(void)level;
	(void)message;
	(void)user;
	atomic_store(&is_logging, true);
	while (getpid() == parent && !atomic_load(&stop))
		sched_yield();
}

static void *log_a_warning(void *context)
{
	dwarfs_context *image_context;
	dwarfs_image *image = open_again(&image_context);
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(context, &builder, NULL), 0);
	add_text(builder, "00/file", "replaced by the file of the image");
	assert_int_equal(
		dwarfs_builder_add_image(builder, image, "", 0, DWARFS_KEEP_BLOCKS, NULL),
		0);
	dwarfs_builder_free(builder);
	dwarfs_image_free(image);
	dwarfs_context_free(image_context);
	return NULL;
}

static void children_do_not_wait_for_a_thread_that_logs(void **state)
{
	dwarfs_context *context;
	pthread_t thread;

	(void)state;
	skip_without_wiped_pages();
	parent = getpid();
	atomic_store(&stop, false);
	assert_int_equal(new_context(&context), 0);
	assert_int_equal(
		dwarfs_context_set_log(context, DWARFS_LOG_WARN, log_on, NULL, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, log_a_warning, context), 0);
	while (!atomic_load(&is_logging))
		sched_yield();
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			alarm(60);
			atomic_store(&is_logging, false);
			log_a_warning(context);
			dwarfs_context_free(context);
			_exit(atomic_load(&is_logging) ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_of_one_thread_reads_on),
		cmocka_unit_test(children_do_not_wait_for_threads_they_lack),
		cmocka_unit_test(children_do_not_wait_for_a_thread_that_polls),
		cmocka_unit_test(children_do_not_wait_for_a_thread_that_logs),
	};
	int failed;

	prepare_forks();
	make_image();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(image_bytes.data);
	return failed;
}
