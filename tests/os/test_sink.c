/* SPDX-License-Identifier: MIT */
/*
 * os/sink: bytes to a file, a descriptor, memory and a callback; each sink is used once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/sink.h"
#include "support/task.h"
#include "support/write_run.h"

static int write_text(dwarfs_sink *sink, const char *text, const dwarfs_task *task,
		      dwarfs_error **err)
{
	struct dwarfs_progress progress;

	dw_progress_start(&progress, task);
	return dw_sink_write(sink, text, strlen(text), &progress, err);
}

static void write_all(dwarfs_sink *sink, const char *text)
{
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	assert_int_equal(write_text(sink, text, NULL, NULL), 0);
	assert_int_equal(dw_sink_commit(sink, NULL), 0);
}

/* -- memory -------------------------------------------------------------------------- */

static void memory_grows_and_is_taken(void **state)
{
	dwarfs_sink *sink = NULL;
	size_t bytes = 0, sum = 0;
	void *data = NULL;

	assert_int_equal(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL), 0);
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(write_text(sink, "many bytes", NULL, NULL), 0);
		sum += 10;
	}
	/* Only after the commit. */
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dw_sink_commit(sink, NULL), 0);
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
	assert_int_equal(bytes, sum);
	for (size_t i = 0; i < bytes; i += 10)
		assert_memory_equal((char *)data + i, "many bytes", 10);
	dwarfs_sink_free(sink);
	dwarfs_memory_free(data); /* outlives the sink */
	dwarfs_memory_free(NULL);
}

/* -- a dry run ------------------------------------------------------------------------ */

static void nothing_is_written(void **state)
{
	char path[] = "/tmp/dwarfs-sink-XXXXXX";
	struct dwarfs_progress progress;
	struct os_stat found = { 0 };
	dwarfs_sink *sink = NULL;
	size_t bytes;
	void *data;
	struct stat st;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(dw_stat_fd(fd, &found), 0);
	close(fd);
	assert_int_equal(dwarfs_sink_to_nothing(path, false, &sink, NULL),
			 DWARFS_ERR_EXISTS);
	assert_int_equal(dwarfs_sink_to_nothing("/tmp", true, &sink, NULL),
			 DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_sink_to_nothing(path, true, &sink, NULL), 0);
	assert_true(dw_sink_is(sink, &found));
	found.inode++;
	assert_false(dw_sink_is(sink, &found));
	dw_progress_start(&progress, NULL);
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	assert_int_equal(dw_sink_write(sink, "bytes", 5, &progress, NULL), 0);
	assert_int_equal(progress.bytes_out, 5);
	assert_int_equal(dw_sink_commit(sink, NULL), 0);
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), DWARFS_ERR_INVALID);
	dwarfs_sink_free(sink);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 3);
	unlink(path);
	assert_int_equal(dwarfs_sink_to_nothing(path, false, &sink, NULL), 0);
	dwarfs_sink_free(sink);
	assert_int_not_equal(stat(path, &st), 0);
	assert_int_equal(dwarfs_sink_to_nothing(NULL, false, &sink, NULL), 0);
	assert_false(dw_sink_is(sink, &found));
	dwarfs_sink_free(sink);
	assert_int_equal(dwarfs_sink_to_nothing(NULL, false, NULL, NULL),
			 DWARFS_ERR_INVALID);
}

/* A link is followed, and where it cannot be, no file takes its place. */
static void links_stay(void **state)
{
	char folder[] = "/tmp/dwarfs-sink-XXXXXX", path[64], link[64];
	dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;
	struct stat st;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink("file", link), 0);
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		assert_int_equal(dwarfs_sink_open(link, overwrite, &sink, &err),
				 DWARFS_ERR_NOT_FOUND);
		assert_non_null(strstr(dwarfs_error_message(err), "symbolic link"));
		assert_int_equal(dwarfs_sink_to_nothing(link, overwrite, &sink, &err),
				 DWARFS_ERR_NOT_FOUND);
		dwarfs_error_free(err);
		err = NULL;
	}
	assert_int_equal(dwarfs_sink_open(path, false, &sink, NULL), 0);
	write_all(sink, "file");
	dwarfs_sink_free(sink);
	assert_int_equal(dwarfs_sink_open(link, true, &sink, NULL), 0);
	write_all(sink, "changed");
	dwarfs_sink_free(sink);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 7);
	unlink(link);
	unlink(path);
	rmdir(folder);
}

static void paths_that_cannot_be_made_are_refused_at_once(void **state)
{
	static const char *const paths[] = { "", "/tmp/dwarfs-none/image" };
	static const int codes[] = { DWARFS_ERR_INVALID, DWARFS_ERR_NOT_FOUND };
	dwarfs_sink *sink = NULL;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(dwarfs_sink_open(paths[i], true, &sink, NULL), codes[i]);
		assert_int_equal(dwarfs_sink_to_nothing(paths[i], true, &sink, NULL),
				 codes[i]);
	}
}

/* The bytes are given to the caller only once. */
static void taken_memory_is_gone(void **state)
{
	dwarfs_sink *sink = NULL;
	void *data = NULL, *again = NULL;
	size_t bytes, more = 99;
	int ret;

	assert_int_equal(dwarfs_sink_to_memory(8, &sink, NULL), 0);
	write_all(sink, "12345678");
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
	assert_int_equal(bytes, 8);
	ret = dwarfs_sink_take(sink, &again, &more, NULL);
	assert_true(ret == DWARFS_ERR_INVALID || (ret == 0 && more == 0));
	assert_ptr_not_equal(data, again);
	dwarfs_memory_free(again);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
}

static void memory_has_a_limit(void **state)
{
	for (size_t limit = 0; limit < 10; limit++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_sink *sink = NULL;
		size_t bytes = 99;
		void *data = NULL;
		int ret = 0;

		assert_int_equal(dwarfs_sink_to_memory(limit, &sink, NULL), 0);
		assert_int_equal(dw_sink_begin(sink, NULL), 0);
		for (int i = 0; i < 3 && ret == 0; i++)
			ret = write_text(sink, "abc", NULL, &err);
		assert_int_equal(ret, limit < 9 ? DWARFS_ERR_LIMIT : 0);
		assert_int_equal(dwarfs_error_code(err), ret);
		if (ret < 0) {
			assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL),
					 DWARFS_ERR_INVALID);
			assert_null(data);
		} else {
			assert_int_equal(dw_sink_commit(sink, NULL), 0);
			assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
			assert_int_equal(bytes, 9);
			assert_memory_equal(data, "abcabcabc", 9);
			dwarfs_memory_free(data);
		}
		dwarfs_sink_free(sink);
	}
}

/* -- callbacks ----------------------------------------------------------------------- */

struct taken {
	char text[64];
	size_t bytes;
	int closed, fails_with;
	const char *message;
};

static int take(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct taken *taken = user;

	assert_true(bytes > 0 && bytes <= sizeof(taken->text) - taken->bytes);
	if (taken->message)
		return dwarfs_error_set(err, taken->fails_with, ENOSPC, taken->message);
	if (taken->fails_with)
		return taken->fails_with;
	memcpy(taken->text + taken->bytes, data, bytes);
	taken->bytes += bytes;
	return 0;
}

static void close_taken(void *user)
{
	((struct taken *)user)->closed++;
}

static void a_callback_takes_bytes(void **state)
{
	struct taken taken = { .bytes = 0 };
	dwarfs_sink *sink = NULL;
	size_t bytes;
	void *data;

	assert_int_equal(dwarfs_sink_new(take, close_taken, &taken, &sink, NULL), 0);
	write_all(sink, "text");
	assert_int_equal(taken.bytes, 4);
	assert_memory_equal(taken.text, "text", 4);
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(taken.closed, 0);
	dwarfs_sink_free(sink);
	assert_int_equal(taken.closed, 1);
	assert_int_equal(dwarfs_sink_new(NULL, close_taken, &taken, &sink, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(taken.closed, 1);
	assert_int_equal(dwarfs_sink_new(take, NULL, &taken, &sink, NULL), 0);
	dwarfs_sink_free(sink);
	dwarfs_sink_free(NULL);
}

static void a_callback_fails_with_its_own_code(void **state)
{
	static const struct {
		int returned;
		const char *message;
		int code, errnum;
		const char *part;
	} cases[] = {
		{ DWARFS_ERR_NO_SPACE, "bucket full", DWARFS_ERR_NO_SPACE, ENOSPC,
		  "bucket full" },
		{ DWARFS_ERR_CANCELLED, "enough", DWARFS_ERR_CANCELLED, ENOSPC,
		  "enough" },
		{ DWARFS_ERR_ACCESS, NULL, DWARFS_ERR_ACCESS, 0, "a callback failed" },
		{ 1, NULL, DWARFS_ERR_CANCELLED, 0, "cancelled" },
		{ INT_MIN, NULL, DWARFS_ERR_CANCELLED, 0, "cancelled" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		struct taken taken = { .fails_with = cases[i].returned,
				       .message = cases[i].message };
		dwarfs_sink *sink = NULL;

		assert_int_equal(dwarfs_sink_new(take, close_taken, &taken, &sink, NULL),
				 0);
		assert_int_equal(dw_sink_begin(sink, NULL), 0);
		assert_int_equal(write_text(sink, "text", NULL, &err), cases[i].code);
		assert_int_equal(dwarfs_error_code(err), cases[i].code);
		assert_int_equal(dwarfs_error_errno(err), cases[i].errnum);
		assert_non_null(strstr(dwarfs_error_message(err), cases[i].part));
		dwarfs_sink_free(sink);
		assert_int_equal(taken.closed, 1);
	}
}

static void a_cancelled_task_stops_the_writing(void **state)
{
	auto_test_task dwarfs_task *task = new_task(NULL, NULL);
	struct taken taken = { .bytes = 0 };
	dwarfs_sink *sink = NULL;

	dwarfs_task_cancel(task);
	assert_int_equal(dwarfs_sink_new(take, close_taken, &taken, &sink, NULL), 0);
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	assert_int_equal(write_text(sink, "text", task, NULL), DWARFS_ERR_CANCELLED);
	assert_int_equal(taken.bytes, 0);
	dwarfs_sink_free(sink);
}

/* -- files and descriptors ----------------------------------------------------------- */

static void expect_output(const struct place *place, const char *text)
{
	char found[64] = "";
	FILE *file = fopen(place->image, "rb");

	assert_non_null(file);
	(void)!fread(found, 1, sizeof(found) - 1, file);
	fclose(file);
	assert_string_equal(found, text);
}

static void a_file_appears_when_it_is_complete(void **state)
{
	const struct place *place = *state;
	dwarfs_sink *sink = NULL;

	for (int sync = 0; sync < 2; sync++) {
		assert_int_equal(dwarfs_sink_open(place->image, false, &sink, NULL), 0);
		dwarfs_sink_set_sync(sink, sync);
		assert_int_equal(dw_sink_begin(sink, NULL), 0);
		assert_int_equal(write_text(sink, "text", NULL, NULL), 0);
		assert_int_equal(access(place->image, F_OK), -1);
		assert_int_equal(dw_sink_commit(sink, NULL), 0);
		expect_output(place, "text");
		dwarfs_sink_free(sink);
		assert_int_equal(unlink(place->image), 0);
	}
	/* Without a commit nothing is left. */
	assert_int_equal(dwarfs_sink_open(place->image, false, &sink, NULL), 0);
	assert_int_equal(write_text(sink, "text", NULL, NULL), 0);
	dwarfs_sink_free(sink);
	assert_int_equal(count_entries(place->outputs), 0);
}

static void an_existing_file_is_replaced_on_request(void **state)
{
	const struct place *place = *state;
	auto_error dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;

	assert_int_equal(dwarfs_sink_open(place->image, false, &sink, NULL), 0);
	write_all(sink, "old");
	dwarfs_sink_free(sink);
	assert_int_equal(dwarfs_sink_open(place->image, false, &sink, &err),
			 DWARFS_ERR_EXISTS);
	assert_string_equal(dwarfs_error_path(err), place->image);
	assert_int_equal(dwarfs_sink_open(place->image, true, &sink, NULL), 0);
	assert_int_equal(write_text(sink, "new", NULL, NULL), 0);
	dwarfs_sink_free(sink); /* not complete */
	expect_output(place, "old");
	assert_int_equal(dwarfs_sink_open(place->image, true, &sink, NULL), 0);
	write_all(sink, "new");
	dwarfs_sink_free(sink);
	expect_output(place, "new");
	assert_int_equal(count_entries(place->outputs), 1);
	assert_int_equal(dwarfs_sink_open(place->outputs, true, &sink, NULL),
			 DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_sink_open(NULL, true, &sink, NULL), DWARFS_ERR_INVALID);
}

static void a_descriptor_stays_open(void **state)
{
	const struct place *place = *state;
	int fd = open(place->image, O_WRONLY | O_CREAT, 0644);
	dwarfs_sink *sink = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before ", 7), 7);
	assert_int_equal(dwarfs_sink_from_fd(fd, &sink, NULL), 0);
	write_all(sink, "text");
	dwarfs_sink_free(sink);
	assert_int_equal(write(fd, " after", 6), 6);
	close(fd);
	expect_output(place, "before text after");
	assert_int_equal(dwarfs_sink_from_fd(-1, &sink, NULL), DWARFS_ERR_INVALID);
}

/* A pipe and a socket without a reader. SIGPIPE, which would end this process, is neither
 * delivered nor pending, and its mask is as before; one that was pending before still is. */
static void a_missing_reader_is_an_error(void **state)
{
	sigset_t broken, pending, mask;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	for (int i = 0; i < 4; i++) {
		auto_error dwarfs_error *err = NULL;
		const bool was_pending = i / 2;
		dwarfs_sink *sink = NULL;
		int ends[2];

		if (was_pending) {
			assert_int_equal(pthread_sigmask(SIG_BLOCK, &broken, NULL), 0);
			assert_int_equal(raise(SIGPIPE), 0);
		}
		assert_int_equal(i % 2 ? pipe(ends)
				       : socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
				 0);
		close(ends[0]);
		assert_int_equal(dwarfs_sink_from_fd(ends[1], &sink, NULL), 0);
		assert_int_equal(dw_sink_begin(sink, NULL), 0);
		assert_int_equal(write_text(sink, "text", NULL, &err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_errno(err), EPIPE);
		dwarfs_sink_free(sink);
		close(ends[1]);
		assert_int_equal(sigpending(&pending), 0);
		assert_int_equal(sigismember(&pending, SIGPIPE), was_pending);
		assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
		assert_int_equal(sigismember(&mask, SIGPIPE), was_pending);
		if (was_pending) {
			int taken;

			assert_int_equal(sigwait(&broken, &taken), 0);
			pthread_sigmask(SIG_UNBLOCK, &broken, NULL);
		}
	}
}

static void each_kind_is_used_once(void **state)
{
	const struct place *place = *state;
	struct taken taken = { .bytes = 0 };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	for (int kind = 0; kind < 4; kind++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_sink *sink = NULL;

		if (kind == 0)
			assert_int_equal(
				dwarfs_sink_open(place->image, true, &sink, NULL), 0);
		else if (kind == 1)
			assert_int_equal(dwarfs_sink_from_fd(ends[1], &sink, NULL), 0);
		else if (kind == 2)
			assert_int_equal(dwarfs_sink_to_memory(100, &sink, NULL), 0);
		else
			assert_int_equal(
				dwarfs_sink_new(take, close_taken, &taken, &sink, NULL),
				0);
		write_all(sink, "text");
		assert_int_equal(dw_sink_begin(sink, &err), DWARFS_ERR_INVALID);
		assert_non_null(strstr(dwarfs_error_message(err), "already"));
		dwarfs_sink_free(sink);
	}
	assert_int_equal(taken.closed, 1);
	close(ends[0]);
	close(ends[1]);
}

/* A pipe that no process reads yet is opened when it is written, so that the task can end
 * the wait. */
static void a_pipe_without_a_reader_can_be_cancelled(void **state)
{
	const struct place *place = *state;
	auto_test_task dwarfs_task *task = new_task(NULL, NULL);
	dwarfs_sink *sink = NULL;
	char found[8] = "";
	int reader;

	assert_int_equal(mkfifo(place->image, 0600), 0);
	assert_int_equal(dwarfs_sink_open(place->image, false, &sink, NULL), 0);
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	dwarfs_task_cancel(task);
	assert_int_equal(write_text(sink, "text", task, NULL), DWARFS_ERR_CANCELLED);
	reader = open(place->image, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(write_text(sink, "text", NULL, NULL), 0);
	assert_int_equal(dw_sink_commit(sink, NULL), 0);
	assert_int_equal(read(reader, found, sizeof(found)), 4);
	assert_string_equal(found, "text");
	dwarfs_sink_free(sink);
	close(reader);
}

/* As if a process had opened the pipe for writing, and closed it. */
static void the_reader_of_a_fifo_sees_its_end(void **state)
{
	const struct place *place = *state;
	struct pollfd poller = { .events = POLLIN };
	dwarfs_sink *sink;

	assert_int_equal(mkfifo(place->image, 0600), 0);
	assert_int_equal(dwarfs_sink_open(place->image, false, &sink, NULL), 0);
	assert_int_equal(dw_sink_begin(sink, NULL), 0);
	poller.fd = open(place->image, O_RDONLY | O_NONBLOCK);
	assert_true(poller.fd >= 0);
	assert_int_equal(poll(&poller, 1, 0), 0);
	dwarfs_sink_free(sink);
	assert_int_equal(poll(&poller, 1, 0), 1);
	assert_true(poller.revents & POLLHUP);
	close(poller.fd);
}

/* -- sharing ------------------------------------------------------------------------- */

/* None of these can share: a descriptor may be that of a file that others write. */
static void what_cannot_share_is_written(void **state)
{
	const struct place *place = *state;
	const char text[] = "text";
	int fd = open(place->image, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	for (int kind = 0; kind < 3; kind++) {
		struct dwarfs_progress progress;
		struct shared_bytes shared;
		dwarfs_sink *sink;

		if (kind == 0)
			assert_int_equal(dwarfs_sink_from_fd(fd, &sink, NULL), 0);
		else if (kind == 1)
			assert_int_equal(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL), 0);
		else
			assert_int_equal(dwarfs_sink_to_nothing(NULL, false, &sink, NULL),
					 0);
		dw_progress_start(&progress, NULL);
		assert_int_equal(dw_sink_write(sink, "4096", 4, &progress, NULL), 0);
		assert_int_equal(
			dw_sink_share(sink, fd, 4, 1 << 19, &progress, &shared, NULL), 0);
		assert_int_equal(shared.from, shared.to);
		assert_int_equal(
			dw_sink_write_shared(sink, text, sizeof(text), &progress, NULL),
			0);
		assert_int_equal(dw_sink_bytes(sink), 4 + sizeof(text));
		assert_int_equal(progress.bytes_out, 4 + sizeof(text));
		dwarfs_sink_free(sink);
	}
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_written),
		cmocka_unit_test(memory_grows_and_is_taken),
		cmocka_unit_test(taken_memory_is_gone),
		cmocka_unit_test(memory_has_a_limit),
		cmocka_unit_test(a_callback_takes_bytes),
		cmocka_unit_test(links_stay),
		cmocka_unit_test(paths_that_cannot_be_made_are_refused_at_once),
		cmocka_unit_test(a_callback_fails_with_its_own_code),
		cmocka_unit_test(a_cancelled_task_stops_the_writing),
		TEST(a_file_appears_when_it_is_complete),
		TEST(an_existing_file_is_replaced_on_request),
		TEST(a_descriptor_stays_open),
		cmocka_unit_test(a_missing_reader_is_an_error),
		TEST(each_kind_is_used_once),
		TEST(a_pipe_without_a_reader_can_be_cancelled),
		TEST(the_reader_of_a_fifo_sees_its_end),
		TEST(what_cannot_share_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
