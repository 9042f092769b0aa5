/* SPDX-License-Identifier: MIT */
/*
 * api/item_contents: callbacks, descriptors, holes, and contents larger than memory.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "items.h"

/* -- callbacks ----------------------------------------------------------------------- */

static int count_bytes(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)err;
	*(uint64_t *)user += bytes;
	return 0;
}

struct piece {
	uint64_t offset;
	const char *text;
};

struct script {
	const struct piece *pieces;
	size_t count, next;
	int result; /* at the end */
};

static int read_script(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		       dwarfs_error **err, void *user)
{
	struct script *script = user;
	const struct piece *piece = &script->pieces[script->next];

	(void)err;
	if (script->next++ == script->count)
		return script->result;
	*data_out = piece->text;
	*bytes_out = strlen(piece->text);
	if (piece->offset != UINT64_MAX)
		*offset_out = piece->offset;
	return 1;
}

static int add_script(dwarfs_builder *builder, const char *path, uint64_t bytes,
		      const struct piece *pieces, size_t count, int result,
		      dwarfs_error **err)
{
	struct script script = { pieces, count, 0, result };
	dwarfs_item *item = new_item(FILE_MODE);
	int ret = dwarfs_item_set_reader(item, bytes, read_script, &script, err);

	if (ret == 0)
		ret = add_item(builder, path, item, err);
	dwarfs_item_free(item);
	return ret;
}

static void pieces_make_a_file_with_holes(void **state)
{
	static const struct piece pieces[] = { { 65536, "first" },
					       { UINT64_MAX, " second" },
					       { UINT64_MAX, "" },
					       { 1 << 20, "third" } };
	dwarfs_builder *builder = new_plain_builder();
	uint8_t *expected = calloc(1, 2 << 20);
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;
	uint64_t at = 0;

	(void)state;
	assert_non_null(expected);
	memcpy(expected + 65536, "first second", 12);
	memcpy(expected + (1 << 20), "third", 5);
	assert_success(add_script(builder, "open", UINT64_MAX, pieces, 4, 0, &err), err);
	assert_success(add_script(builder, "closed", 2 << 20, pieces, 4, 0, &err), err);
	assert_success(add_script(builder, "hole", UINT64_C(1) << 60, NULL, 0, 0, &err),
		       err);
	assert_success(add_script(builder, "nothing", 0, NULL, 0, 0, &err), err);
	bytes = run(builder);
	assert_true(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES) >
		    (UINT64_C(1) << 60) + (2 << 20));
	dwarfs_builder_free(builder);
	builder = new_plain_builder();
	add(builder, "", new_item(DIR_MODE));
	free(bytes.data);
	assert_success(add_script(builder, "open", UINT64_MAX, pieces, 4, 0, &err), err);
	assert_success(add_script(builder, "closed", 2 << 20, pieces, 4, 0, &err), err);
	image = finish(builder, &bytes);
	expect_bytes(image, "open", expected, (1 << 20) + 5);
	expect_bytes(image, "closed", expected, 2 << 20);
	{
		dwarfs_file *file = NULL;

		assert_success(
			dwarfs_file_open(image, find_inode(image, "closed"), &file, &err),
			err);
		assert_success(dwarfs_file_seek_data(file, 0, &at, &err), err);
		assert_int_equal(at, 65536);
		assert_success(dwarfs_file_seek_hole(file, at, &at, &err), err);
		assert_int_equal(at, 65536 + 12);
		dwarfs_file_free(file);
	}
	free(expected);
	end(image, &bytes);
}

/* So a file can end with a hole whose size was not announced. */
static void an_empty_piece_ends_at_its_offset(void **state)
{
	static const struct piece hole_at_end[] = { { 0, "first" }, { 1 << 20, "" } },
				  hole_alone[] = { { 1 << 20, "" } },
				  nothing_new[] = { { 0, "first" }, { UINT64_MAX, "" } };
	dwarfs_builder *builder = new_plain_builder();
	uint8_t *expected = calloc(1, 1 << 20);
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	assert_non_null(expected);
	assert_success(add_script(builder, "alone", UINT64_MAX, hole_alone, 1, 0, &err),
		       err);
	assert_success(add_script(builder, "end", UINT64_MAX, hole_at_end, 2, 0, &err),
		       err);
	assert_success(add_script(builder, "known", 1 << 20, hole_at_end, 2, 0, &err),
		       err);
	assert_success(add_script(builder, "short", UINT64_MAX, nothing_new, 2, 0, &err),
		       err);
	image = finish(builder, &bytes);
	expect_bytes(image, "alone", expected, 1 << 20);
	memcpy(expected, "first", 5);
	expect_bytes(image, "end", expected, 1 << 20);
	expect_bytes(image, "known", expected, 1 << 20);
	expect_text(image, "short", "first");
	free(expected);
	end(image, &bytes);
}

static int read_null(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		     dwarfs_error **err, void *user)
{
	(void)offset_out;
	(void)err;
	(void)user;
	*data_out = NULL;
	*bytes_out = 7;
	return 1;
}

static void pieces_that_cannot_be_right_are_refused(void **state)
{
	static const struct piece back[] = { { 0, "some" }, { 2, "" } },
				  beyond[] = { { 0, "some" }, { 6, "" } };
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;

	(void)state;
	assert_failure(add_script(builder, "back", UINT64_MAX, back, 2, 0, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(add_script(builder, "beyond", 5, beyond, 2, 0, &err),
		       DWARFS_ERR_INVALID, err);
	assert_int_equal(dwarfs_item_set_reader(item, UINT64_MAX, read_null, NULL, NULL),
			 0);
	assert_int_equal(add_item(builder, "null", item, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "NULL"));
	dwarfs_error_free(err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
}

static void a_reader_that_fails_takes_nothing_else_with_it(void **state)
{
	static const struct piece good[] = { { 0, "good" } };
	static const struct piece back[] = { { 0, "some" }, { 2, "thing" } };
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add_text(builder, "before", "before");
	add_text(builder, "there", "already");
	assert_failure(
		add_script(builder, "bad", UINT64_MAX, good, 1, DWARFS_ERR_CORRUPT, &err),
		DWARFS_ERR_CORRUPT, err);
	assert_failure(
		add_script(builder, "there", UINT64_MAX, good, 1, DWARFS_ERR_IO, &err),
		DWARFS_ERR_IO, err);
	assert_failure(add_script(builder, "bad", UINT64_MAX, good, 1, -1234, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_failure(add_script(builder, "bad", UINT64_MAX, good, 1, 2, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_failure(add_script(builder, "bad", UINT64_MAX, back, 2, 0, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(add_script(builder, "bad", 3, good, 1, 0, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(add_script(builder, "bad", UINT64_C(1) << 63, good, 1, 0, &err),
		       DWARFS_ERR_RANGE, err);
	add_text(builder, "after", "after");
	image = finish(builder, &bytes);
	expect_text(image, "before", "before");
	expect_text(image, "after", "after");
	expect_text(image, "there", "already");
	assert_false(exists(image, "bad"));
	end(image, &bytes);
}

static void pieces_at_the_end_of_all_numbers_are_refused(void **state)
{
	static const struct piece far[] = { { UINT64_MAX - 2, "text" } };
	static const struct piece past[] = { { INT64_MAX, "text" } };
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;

	(void)state;
	assert_failure(add_script(builder, "bad", UINT64_MAX, far, 1, 0, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(add_script(builder, "bad", UINT64_MAX, past, 1, 0, &err),
		       DWARFS_ERR_INVALID, err);
	dwarfs_builder_free(builder);
}

static void files_too_large_for_any_number_are_refused(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	const uint64_t most = INT64_MAX;
	uint64_t written = 0;
	dwarfs_error *err = NULL;

	(void)state;
	assert_success(dwarfs_builder_set_level(builder, 7, &err), err);
	assert_success(add_script(builder, "a", most - 1000, NULL, 0, 0, &err), err);
	assert_success(add_script(builder, "b", 1000, NULL, 0, 0, &err), err);
	assert_success(write_to_function(builder, count_bytes, &written, &err), err);
	dwarfs_builder_free(builder);
	builder = new_plain_builder();
	assert_success(add_script(builder, "a", most, NULL, 0, 0, &err), err);
	assert_success(add_script(builder, "b", 1, NULL, 0, 0, &err), err);
	assert_failure(write_to_function(builder, count_bytes, &written, &err),
		       DWARFS_ERR_RANGE, err);
	dwarfs_builder_free(builder);
}

/* -- descriptors --------------------------------------------------------------------- */

struct feeding {
	int fd;
	const struct bytes *bytes;
};

static void *feed(void *user)
{
	const struct feeding *feeding = user;
	size_t done = 0;

	while (done < feeding->bytes->size) {
		ssize_t put = write(feeding->fd, feeding->bytes->data + done,
				    feeding->bytes->size - done);

		if (put <= 0)
			break;
		done += (size_t)put;
	}
	close(feeding->fd);
	return NULL;
}

static void a_pipe_is_read_to_its_end(void **state)
{
	struct bytes big = load(*state, "big"), bytes;
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;
	struct feeding feeding = { .bytes = &big };
	dwarfs_image *image;
	pthread_t thread;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	feeding.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, feed, &feeding), 0);
	assert_success(set_stream(item, fds[0], &err), err);
	add(builder, "piped", item);
	pthread_join(thread, NULL);
	close(fds[0]);
	image = finish(builder, &bytes);
	expect_bytes(image, "piped", big.data, big.size);
	free(big.data);
	end(image, &bytes);
}

static void a_pipe_that_gives_nothing_can_be_given_up(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_task *task = new_task(NULL, NULL);
	dwarfs_error *err = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	dwarfs_builder_set_task(builder, task);
	dwarfs_task_cancel(task);
	assert_success(set_stream(item, fds[0], &err), err);
	assert_failure(add_item(builder, "piped", item, &err), DWARFS_ERR_CANCELLED, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	dwarfs_task_free(task);
	close(fds[0]);
	close(fds[1]);
}

static void descriptors_and_paths_without_contents_are_refused(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_plain_builder();
	int directory = open(fixture->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;

	assert_true(directory >= 0);
	assert_failure(set_stream(item, -1, &err), DWARFS_ERR_INVALID, err);
	assert_failure(set_stream(item, directory, &err), DWARFS_ERR_IS_DIR, err);
	close(directory);
	assert_failure(set_stream(item, directory, &err), DWARFS_ERR_INVALID, err);
	assert_success(dwarfs_item_set_path(item, fixture->tree, &err), err);
	assert_failure(add_item(builder, "x", item, &err), DWARFS_ERR_IS_DIR, err);
	assert_success(dwarfs_item_set_path(item, "/nowhere/at/all", &err), err);
	assert_failure(add_item(builder, "x", item, &err), DWARFS_ERR_NOT_FOUND, err);
	assert_success(dwarfs_item_set_path(item, "/dev/null", &err), err);
	assert_failure(add_item(builder, "x", item, &err), DWARFS_ERR_INVALID, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
}

static void a_file_that_changes_before_the_run_is_reported(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;
	struct bytes bytes;
	char path[200];

	snprintf(path, sizeof(path), "%s/changing", fixture->dir);
	store_path(path, "before", 6);
	assert_success(dwarfs_item_set_path(item, path, &err), err);
	add(builder, "changing", item);
	item = new_item(FILE_MODE);
	store_path(path, "after", 5);
	bytes = run(builder);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 1);
	free(bytes.data);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	unlink(path);
}

/* -- large contents ------------------------------------------------------------------ */

#define MUCH_BYTES (UINT64_C(300) << 20)
#define PIECE	   (1u << 20)

struct noise {
	uint64_t left, seed;
	uint64_t *piece;
};

static int read_noise(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		      dwarfs_error **err, void *user)
{
	struct noise *noise = user;
	size_t i;

	(void)err;
	(void)offset_out;
	if (noise->left == 0)
		return 0;
	for (i = 0; i < PIECE / 8; i++) {
		noise->seed = noise->seed * UINT64_C(6364136223846793005) + 1;
		noise->piece[i] = noise->seed ^ noise->seed >> 32;
	}
	noise->left -= PIECE;
	*data_out = noise->piece;
	*bytes_out = PIECE;
	return 1;
}

/* In a child process: exits with the peak in MiB, or 255. */
static void build_much(uint64_t limit)
{
	struct noise noise = { MUCH_BYTES, 7, malloc(PIECE) };
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;
	struct rusage usage;
	uint64_t written = 0;

	if (!noise.piece || dwarfs_context_new(&context, NULL) < 0 ||
	    dwarfs_context_set_workers(context, 1, NULL) < 0 ||
	    dwarfs_builder_new(context, &builder, NULL) < 0 ||
	    dwarfs_builder_set_level(builder, 0, NULL) < 0 ||
	    dwarfs_builder_set_block_bits(builder, BLOCK_BITS, NULL) < 0 ||
	    dwarfs_builder_set_memory_limit(builder, limit, NULL) < 0 ||
	    dwarfs_item_new(FILE_MODE, &item, NULL) < 0 ||
	    dwarfs_item_set_reader(item, UINT64_MAX, read_noise, &noise, NULL) < 0 ||
	    dwarfs_builder_add_item(builder, "noise", 5, item, NULL) < 0 ||
	    write_to_function(builder, count_bytes, &written, NULL) < 0 ||
	    written < MUCH_BYTES || getrusage(RUSAGE_SELF, &usage) != 0)
		_exit(255);
	_exit((int)(usage.ru_maxrss >> 10 > 254 ? 254 : usage.ru_maxrss >> 10));
}

static void much_goes_through_little_memory(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	const uint64_t limit = 0; /* sanitizers themselves use more than that */
#else
	const uint64_t limit = 64; /* MiB, an eighth of which is for contents */
#endif
	pid_t child;
	int status;

	(void)state;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		build_much(limit << 20);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), 255);
	if (limit && WEXITSTATUS(status) > (int)limit)
		fail_msg("%d MiB at the peak", WEXITSTATUS(status));
}

static void zeros_take_no_room(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	static const char zeros[1 << 20];
	dwarfs_error *err = NULL;
	dwarfs_item *item;
	struct bytes bytes;
	int fds[2], i;

	(void)state;
	/* The directory does not exist, so nothing can be written to it. */
	assert_success(dwarfs_builder_set_spool(builder, "/nowhere/at/all", 0, &err),
		       err);
	for (i = 0; i < 3; i++) {
		char path[16];

		snprintf(path, sizeof(path), "zeros%d", i);
		add_bytes(builder, path, zeros, sizeof(zeros));
	}
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "text", 4), 4);
	close(fds[1]);
	item = new_item(FILE_MODE);
	assert_success(set_stream(item, fds[0], &err), err);
	assert_failure(add_item(builder, "text", item, &err), DWARFS_ERR_NOT_FOUND, err);
	dwarfs_item_free(item);
	close(fds[0]);
	bytes = run(builder);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES), 2);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN), 3 << 20);
	dwarfs_builder_free(builder);
	free(bytes.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_a_file_with_holes),
		cmocka_unit_test(an_empty_piece_ends_at_its_offset),
		cmocka_unit_test(pieces_that_cannot_be_right_are_refused),
		cmocka_unit_test(a_reader_that_fails_takes_nothing_else_with_it),
		cmocka_unit_test(files_too_large_for_any_number_are_refused),
		cmocka_unit_test(pieces_at_the_end_of_all_numbers_are_refused),
		cmocka_unit_test(a_pipe_is_read_to_its_end),
		cmocka_unit_test(a_pipe_that_gives_nothing_can_be_given_up),
		cmocka_unit_test(descriptors_and_paths_without_contents_are_refused),
		cmocka_unit_test(a_file_that_changes_before_the_run_is_reported),
		cmocka_unit_test(much_goes_through_little_memory),
		cmocka_unit_test(zeros_take_no_room),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
