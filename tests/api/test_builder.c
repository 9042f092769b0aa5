/* SPDX-License-Identifier: MIT */
/*
 * api/builder: options, outputs, misuse, progress, cancelling; and extraction.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* -- options ------------------------------------------------------------------------- */

static void options_outside_their_range_are_refused(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_builder_set_level(b, 10, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_builder_set_block_bits(b, 9, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_builder_set_block_bits(b, 31, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_builder_set_time(b, 0, 1000000000, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_builder_set_umask(b, 01000, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_builder_set_time_resolution(b, 0, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_builder_set_time_resolution(b, 1500000000, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_builder_set_time_resolution(b, 300000000, &err),
		       DWARFS_ERR_RANGE, err);
	assert_success(dwarfs_builder_set_time_resolution(b, 1, &err), err);
	assert_success(dwarfs_builder_set_time_resolution(b, UINT64_C(2000000000), &err),
		       err);
	dwarfs_builder_free(b);
}

static void texts_that_mean_nothing_are_refused(void **state)
{
	static const char *const codecs[] = {
		"", "zst", "null:", "null:level=1", "null:level", ":", "null "
	};
	static const char *const modes[] = { "",  "a",	 "u=q",	     "u+",   ",",
					     "8", "Z=r", "u=r,,o=r", "77777" };
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;
	size_t i;

	for (i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++) {
		int ret =
			dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS, codecs[i], &err);

		if (ret != DWARFS_ERR_INVALID && ret != DWARFS_ERR_RANGE)
			fail_msg("'%s' gave %d", codecs[i], ret);
	}
	assert_failure(dwarfs_builder_set_codec(b, 99, "null", &err), DWARFS_ERR_INVALID,
		       err);
	assert_success(dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS, "null", &err),
		       err);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (modes[i][0] && strcmp(modes[i], "u+") != 0)
			if (dwarfs_builder_set_chmod(b, modes[i], &err) !=
			    DWARFS_ERR_INVALID)
				fail_msg("'%s' was taken", modes[i]);
	assert_success(dwarfs_builder_set_chmod(b, "ug-st,=Xr", &err), err);
	assert_success(dwarfs_builder_set_chmod(b, "D755,F0644", &err), err);
	assert_failure(dwarfs_builder_set_order(b, "random", &err), DWARFS_ERR_INVALID,
		       err);
	assert_failure(dwarfs_builder_set_pack_metadata(b, "tight", &err),
		       DWARFS_ERR_INVALID, err);
	assert_true(strncmp(dwarfs_codec_help(0), "null", 4) == 0);
	dwarfs_error_free(err);
	dwarfs_builder_free(b);
}

static bool is_built_in(const char *codec)
{
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++)
		if (strncmp(help, codec, strlen(codec)) == 0 &&
		    strcspn(help, " ") == strlen(codec))
			return true;
	return false;
}

static void levels_describe_themselves_in_values_that_setters_accept(void **state)
{
	static const int uses[] = { DWARFS_CODEC_BLOCKS, DWARFS_CODEC_BLOCKS,
				    DWARFS_CODEC_METADATA, DWARFS_CODEC_SCHEMA,
				    DWARFS_CODEC_HISTORY };
	const char *literal = dwarfs_level_text(9, DWARFS_LEVEL_LITERAL_BLOCKS);
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;

	for (uint32_t level = 0; level <= 9; level++) {
		for (int i = DWARFS_LEVEL_BLOCKS; i <= DWARFS_LEVEL_HISTORY; i++) {
			const char *codec = dwarfs_level_text(level, i);

			assert_true(codec || i == DWARFS_LEVEL_DENSE_BLOCKS);
			if (codec)
				assert_success(dwarfs_builder_set_codec(
						       b, uses[i - DWARFS_LEVEL_BLOCKS],
						       codec, &err),
					       err);
			assert_int_equal(dwarfs_level_number(level, i), 0);
		}
		assert_success(
			dwarfs_builder_set_order(
				b, dwarfs_level_text(level, DWARFS_LEVEL_ORDER), &err),
			err);
		assert_success(
			dwarfs_builder_set_block_bits(
				b, dwarfs_level_number(level, DWARFS_LEVEL_BLOCK_BITS),
				&err),
			err);
		assert_null(dwarfs_level_text(level, DWARFS_LEVEL_WINDOW));
	}
	assert_null(dwarfs_level_text(0, DWARFS_LEVEL_DENSE_BLOCKS));
	assert_null(dwarfs_level_text(4, DWARFS_LEVEL_LITERAL_BLOCKS));
	if (literal)
		assert_success(
			dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS, literal, &err),
			err);
	assert_int_equal(dwarfs_level_number(0, DWARFS_LEVEL_WINDOW), 0);
	assert_true(dwarfs_level_number(9, DWARFS_LEVEL_WINDOW) > 0);
	assert_null(dwarfs_level_text(10, DWARFS_LEVEL_ORDER));
	assert_null(dwarfs_level_text(9, DWARFS_LEVEL_LITERAL_BLOCKS + 1));
	assert_null(dwarfs_level_text(9, -1));
	assert_int_equal(dwarfs_level_number(10, DWARFS_LEVEL_BLOCK_BITS), 0);
	assert_int_equal(dwarfs_level_number(9, -1), 0);
	dwarfs_builder_free(b);
}

static void options_of_a_codec_that_mean_nothing_are_refused(void **state)
{
	static const char *const codecs[] = { "zstd:", "zstd:x=1", "zstd:level",
					      "zstd " };
	const bool built_in = is_built_in("zstd");
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;
	size_t i;

	for (i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++) {
		int ret =
			dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS, codecs[i], &err);

		if (ret != DWARFS_ERR_INVALID && ret != DWARFS_ERR_RANGE &&
		    (built_in || ret != DWARFS_ERR_UNSUPPORTED))
			fail_msg("'%s' gave %d", codecs[i], ret);
	}
	assert_failure(
		dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS, "zstd:level=23", &err),
		built_in ? DWARFS_ERR_RANGE : DWARFS_ERR_UNSUPPORTED, err);
	dwarfs_builder_free(b);
}

static void a_codec_that_is_not_built_in_is_refused(void **state)
{
	static const char *const names[] = { "lz4", "lz4hc", "zstd", "lzma", "brotli" };
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (is_built_in(names[i]))
			assert_success(dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS,
								names[i], &err),
				       err);
		else
			assert_failure(dwarfs_builder_set_codec(b, DWARFS_CODEC_BLOCKS,
								names[i], &err),
				       DWARFS_ERR_UNSUPPORTED, err);
	}
	dwarfs_builder_free(b);
}

static void codecs_that_are_built_in_are_known_by_name(void **state)
{
	static const char *const names[] = { "null", "lz4",    "lz4hc", "zstd",
					     "lzma", "brotli", "flac",	"ricepp" };
	const char *help;
	size_t i;

	(void)state;
	for (i = 0; (help = dwarfs_codec_help(i)); i++) {
		char name[32] = { 0 };

		memcpy(name, help, strcspn(help, " "));
		assert_true(dwarfs_has_codec(name));
		name[0] ^= 'a' ^ 'A';
		assert_true(dwarfs_has_codec(name));
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(dwarfs_has_codec(names[i]), is_built_in(names[i]));
	assert_true(dwarfs_has_codec("ZSTD") == dwarfs_has_codec("zstd"));
	assert_false(dwarfs_has_codec(""));
	assert_false(dwarfs_has_codec(NULL));
	assert_false(dwarfs_has_codec("zst"));
	assert_false(dwarfs_has_codec("zstd:level=1"));
	assert_false(dwarfs_has_codec("nothing"));
}

static dwarfs_image *open_bytes(const struct bytes *bytes)
{
	struct fixture fixture = { .image = *bytes };

	return open_image(&fixture, NULL);
}

static struct bytes build(dwarfs_builder *builder)
{
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;

	assert_success(write_to_function(builder, append_bytes, &bytes, &err), err);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_OUT),
			 bytes.size);
	dwarfs_builder_free(builder);
	return bytes;
}

static void options_change_what_is_stored(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_stat *stat = NULL;
	dwarfs_history *history = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;
	int64_t seconds;

	dwarfs_builder_set_owner(b, 1234567);
	dwarfs_builder_set_group(b, UINT32_MAX - 1);
	assert_success(dwarfs_builder_set_time(b, 5000000000, 123456789, &err), err);
	assert_success(dwarfs_builder_set_time_resolution(b, 1000, &err), err);
	assert_success(dwarfs_builder_set_chmod(b, "D0710,F640", &err), err);
	dwarfs_builder_set_section_index(b, false);
	dwarfs_builder_set_create_timestamp(b, false);
	dwarfs_builder_set_history_timestamps(b, false);
	dwarfs_builder_set_sparse_files(b, false);
	assert_success(dwarfs_builder_add_history_argument(b, "pack", &err), err);
	assert_success(dwarfs_builder_add_history_argument(b, "--that", &err), err);
	assert_success(dwarfs_builder_set_header(b, "hello", 5, &err), err);
	bytes = build(b);

	assert_memory_equal(bytes.data, "helloDWARFS", 11);
	image = open_bytes(&bytes);
	assert_int_equal(dwarfs_image_offset(image), 5);
	assert_false(dwarfs_image_has_index(image));
	assert_false(dwarfs_image_created_on(image, &seconds));
	assert_int_equal(dwarfs_image_time_resolution_ns(image), 1000);
	assert_null(dwarfs_image_feature(image, 0));
	assert_success(dwarfs_stat_new(&stat, &err), err);
	assert_success(dwarfs_inode_stat(image, find_inode(image, "big"), stat, &err),
		       err);
	assert_int_equal(dwarfs_stat_uid(stat), 1234567);
	assert_int_equal(dwarfs_stat_gid(stat), UINT32_MAX - 1);
	assert_int_equal(dwarfs_stat_mode(stat), S_IFREG | 0640);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 5000000000);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_MTIME), 123456000);
	assert_success(dwarfs_inode_stat(image, DWARFS_ROOT_INODE, stat, &err), err);
	assert_int_equal(dwarfs_stat_mode(stat), S_IFDIR | 0710);
	assert_success(dwarfs_history_new(image, &history, &err), err);
	assert_false(dwarfs_history_time(history, 0, &seconds));
	assert_string_equal(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 1),
			    "--that");
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 2));
	dwarfs_history_free(history);
	dwarfs_stat_free(stat);
	dwarfs_image_free(image);
	free(bytes.data);
}

static void the_number_of_workers_does_not_show(void **state)
{
	static const uint32_t workers[] = { 0, 1, 8 };
	struct bytes first = { 0 }, bytes;
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_builder *b;
	size_t i;

	for (i = 0; i < 3; i++) {
		assert_success(dwarfs_context_new(&context, &err), err);
		assert_success(dwarfs_context_set_workers(context, workers[i], &err),
			       err);
		b = new_builder(*state, context);
		dwarfs_context_free(context);
		dwarfs_builder_set_create_timestamp(b, false);
		dwarfs_builder_set_history_timestamps(b, false);
		bytes = build(b);
		if (i == 0) {
			first = bytes;
			continue;
		}
		assert_int_equal(bytes.size, first.size);
		assert_memory_equal(bytes.data, first.data, first.size);
		free(bytes.data);
	}
	free(first.data);
}

static void a_run_counts(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;

	assert_success(write_to_function(b, append_bytes, &bytes, &err), err);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_DIRECTORIES), 6);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_FILES), TREE_FILES);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_LINKS), 2);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_HARDLINKS), 1);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_DUPLICATES), 1);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_BYTES_DUPLICATE),
			 BIG_BYTES);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_BYTES_HOLES),
			 SPARSE_BYTES - SPARSE_DATA_BYTES);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_BYTES_IN),
			 2 * BIG_BYTES + SPARSE_BYTES + 5 + 3 + 4);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_BYTES_OUT), bytes.size);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_ERRORS), 0);
	assert_true(dwarfs_builder_count(b, DWARFS_COUNT_BLOCKS) > 10);
	assert_int_equal(dwarfs_builder_count(b, 999), 0);
	assert_int_equal(dwarfs_builder_count(b, -1), 0);
	dwarfs_builder_free(b);
	free(bytes.data);
}

/* -- misuse -------------------------------------------------------------------------- */

static void a_builder_takes_one_input_and_runs_once(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *b = NULL;
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_new(NULL, &b, &err), err);
	assert_failure(write_to_function(b, append_bytes, &bytes, &err),
		       DWARFS_ERR_INVALID, err);
	assert_int_equal(bytes.size, 0);
	dwarfs_builder_free(b);

	assert_success(dwarfs_builder_new(NULL, &b, &err), err);
	assert_failure(dwarfs_builder_add_directory(b, "/no/such/directory", &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_builder_add_directory(b, fixture->path, &err),
		       DWARFS_ERR_NOT_DIR, err);
	assert_success(dwarfs_builder_add_directory(b, fixture->tree, &err), err);
	assert_failure(dwarfs_builder_add_directory(b, fixture->tree, &err),
		       DWARFS_ERR_INVALID, err);
	assert_success(dwarfs_builder_set_level(b, 0, &err), err);
	assert_success(write_to_function(b, append_bytes, &bytes, &err), err);
	assert_failure(write_to_function(b, append_bytes, &bytes, &err),
		       DWARFS_ERR_INVALID, err);
	dwarfs_builder_free(b);
	free(bytes.data);
}

/* -- outputs ------------------------------------------------------------------------- */

static int count_files(const char *dir)
{
	char command[256];
	FILE *pipe;
	int count = -1;

	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", dir);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%d", &count), 1);
	pclose(pipe);
	return count;
}

static void a_file_is_replaced_only_when_asked(void **state)
{
	const struct fixture *fixture = *state;
	char path[128], missing[128];
	dwarfs_error *err = NULL;
	struct bytes after;
	dwarfs_builder *b;
	int files;

	snprintf(path, sizeof(path), "%s/there", fixture->dir);
	snprintf(missing, sizeof(missing), "%s/no/there", fixture->dir);
	store_path(path, "before", 6);
	files = count_files(fixture->dir);

	b = new_builder(fixture, NULL);
	assert_failure(dwarfs_builder_write_path(b, path, false, &err), DWARFS_ERR_EXISTS,
		       err);
	dwarfs_builder_free(b);
	after = load_path(path);
	assert_int_equal(after.size, 6);
	free(after.data);

	b = new_builder(fixture, NULL);
	assert_success(dwarfs_builder_write_path(b, path, true, &err), err);
	after = load_path(path);
	assert_int_equal(after.size, dwarfs_builder_count(b, DWARFS_COUNT_BYTES_OUT));
	dwarfs_builder_free(b);
	dwarfs_image_free(open_bytes(&after));
	free(after.data);

	b = new_builder(fixture, NULL);
	assert_failure(dwarfs_builder_write_path(b, missing, true, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	dwarfs_builder_free(b);
	b = new_builder(fixture, NULL);
	assert_true(dwarfs_builder_write_path(b, fixture->dir, true, &err) < 0);
	dwarfs_builder_free(b);
	dwarfs_error_free(err);
	assert_int_equal(count_files(fixture->dir),
			 files); /* no temporary file is left */
	unlink(path);
}

struct pipe_reader {
	int fd;
	struct bytes bytes;
};

static void *read_pipe(void *user)
{
	struct pipe_reader *reader = user;
	char buffer[5000];
	ssize_t count;

	while ((count = read(reader->fd, buffer, sizeof(buffer))) > 0)
		append_bytes(buffer, (size_t)count, NULL, &reader->bytes);
	return NULL;
}

static void a_pipe_gets_the_same_image(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	struct pipe_reader reader = { 0 };
	struct bytes memory;
	dwarfs_error *err = NULL;
	pthread_t thread;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	reader.fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, read_pipe, &reader), 0);
	dwarfs_builder_set_history(b, false);
	dwarfs_builder_set_create_timestamp(b, false);
	assert_success(write_to_fd(b, fds[1], &err), err);
	assert_int_equal(close(fds[1]), 0); /* it remains owned by the caller */
	pthread_join(thread, NULL);
	close(fds[0]);
	dwarfs_builder_free(b);

	b = new_builder(*state, NULL);
	dwarfs_builder_set_history(b, false);
	dwarfs_builder_set_create_timestamp(b, false);
	memory = build(b);
	assert_int_equal(reader.bytes.size, memory.size);
	assert_memory_equal(reader.bytes.data, memory.data, memory.size);
	free(memory.data);
	free(reader.bytes.data);
}

static void a_full_or_closed_output_is_reported(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	dwarfs_error *err = NULL;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		assert_failure(write_to_fd(b, fd, &err), DWARFS_ERR_NO_SPACE, err);
		close(fd);
	}
	dwarfs_builder_free(b);
	b = new_builder(*state, NULL);
	assert_failure(write_to_fd(b, -1, &err), DWARFS_ERR_INVALID, err);
	dwarfs_builder_free(b);
}

struct failing_output {
	int calls, fail_at;
};

static int fail_to_write(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct failing_output *output = user;

	assert_true(data && bytes > 0);
	if (++output->calls != output->fail_at)
		return 0;
	return dwarfs_error_set(err, DWARFS_ERR_NO_SPACE, EDQUOT, "the store is full");
}

static int answer_nonsense(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)bytes;
	(void)err;
	return *(const int *)user;
}

/* A result that is neither 0 nor a code counts as cancelling. */
static void a_write_callback_that_answers_nonsense(void **state)
{
	static const int answers[] = { 1, INT_MAX, INT_MIN, -ENOSPC };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		dwarfs_builder *b = new_builder(*state, NULL);
		int answer = answers[i];
		dwarfs_error *err = NULL;

		assert_failure(write_to_function(b, answer_nonsense, &answer, &err),
			       DWARFS_ERR_CANCELLED, err);
		dwarfs_builder_free(b);
	}
}

/* The code and errno of the failed call are returned, and no call follows it. */
static void a_failing_write_callback_ends_the_run(void **state)
{
	struct failing_output output = { 0, 0 }, failing;
	dwarfs_error *err = NULL;
	dwarfs_builder *b = new_builder(*state, NULL);
	int n;

	assert_success(write_to_function(b, fail_to_write, &output, &err), err);
	dwarfs_builder_free(b);
	assert_true(output.calls > 2);
	for (n = 1; n <= output.calls; n++) {
		failing = (struct failing_output){ 0, n };
		b = new_builder(*state, NULL);
		assert_int_equal(write_to_function(b, fail_to_write, &failing, &err),
				 DWARFS_ERR_NO_SPACE);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NO_SPACE);
		assert_int_equal(dwarfs_error_errno(err), EDQUOT);
		assert_non_null(strstr(dwarfs_error_message(err), "the store is full"));
		assert_int_equal(failing.calls, n);
		dwarfs_builder_free(b);
	}
	dwarfs_error_free(err);
}

/* -- progress and cancelling --------------------------------------------------------- */

struct watch {
	int calls, stop_at;
	enum dwarfs_phase last_phase;
	uint64_t bytes_done, bytes_total, bytes_out, elapsed;
	dwarfs_task *task;  /* cancelled at the first call */
	const char *remove; /* at the first call after the scan */
};

static int watch_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watch *watch = user;

	(void)err;
	watch->calls++;
	assert_true(dwarfs_progress_phase(progress) >= watch->last_phase ||
		    dwarfs_progress_phase(progress) == DWARFS_PHASE_DONE);
	assert_true(dwarfs_progress_number(progress, DWARFS_PROGRESS_ELAPSED_NS) >=
		    watch->elapsed);
	assert_true(dwarfs_progress_number(progress, DWARFS_PROGRESS_WRITTEN_BYTES) >=
		    watch->bytes_out);
	watch->last_phase = dwarfs_progress_phase(progress);
	watch->elapsed = dwarfs_progress_number(progress, DWARFS_PROGRESS_ELAPSED_NS);
	watch->bytes_done = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	watch->bytes_total =
		dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_BYTES);
	watch->bytes_out =
		dwarfs_progress_number(progress, DWARFS_PROGRESS_WRITTEN_BYTES);
	if (watch->remove && watch->last_phase != DWARFS_PHASE_SCAN) {
		unlink(watch->remove);
		watch->remove = NULL;
	}
	if (watch->task)
		dwarfs_task_cancel(watch->task);
	return watch->calls == watch->stop_at;
}

static void a_run_can_be_watched(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	struct watch watch = { 0 };
	dwarfs_task *task = new_task(watch_progress, &watch);
	struct bytes bytes;

	dwarfs_builder_set_task(b, task);
	bytes = build(b);
	dwarfs_task_free(task);
	assert_true(watch.calls >= 3);
	assert_int_equal(watch.last_phase, DWARFS_PHASE_DONE);
	assert_int_equal(watch.bytes_done, watch.bytes_total);
	assert_int_equal(watch.bytes_out, bytes.size);
	free(bytes.data);
}

/* No file remains, whichever call of the callback cancels the run. */
static void a_run_can_be_stopped_at_any_call(void **state)
{
	const struct fixture *fixture = *state;
	int files = count_files(fixture->dir), n;
	char path[128];
	dwarfs_error *err = NULL;

	snprintf(path, sizeof(path), "%s/stopped", fixture->dir);
	for (n = 1; n <= 4; n++) {
		dwarfs_builder *b = new_builder(fixture, NULL);
		struct watch watch = { .stop_at = n };
		dwarfs_task *task = new_task(watch_progress, &watch);

		dwarfs_builder_set_task(b, task);
		if (dwarfs_builder_write_path(b, path, true, &err) == 0) {
			assert_true(watch.calls < n);
			unlink(path);
		} else {
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
			assert_int_equal(watch.calls, n);
		}
		dwarfs_builder_free(b);
		dwarfs_task_free(task);
		assert_int_equal(count_files(fixture->dir), files);
		if (n == 1)
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
	}
	dwarfs_error_free(err);
}

static void a_cancelled_task_stops_a_run(void **state)
{
	dwarfs_builder *b = new_builder(*state, NULL);
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;
	struct watch watch = { 0 };
	dwarfs_task *task = new_task(watch_progress, &watch);

	assert_false(dwarfs_task_is_cancelled(task));
	watch.task = task;
	dwarfs_builder_set_task(b, task);
	assert_failure(write_to_function(b, append_bytes, &bytes, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_true(dwarfs_task_is_cancelled(task));
	dwarfs_builder_free(b);
	dwarfs_task_free(task);
	free(bytes.data);
}

struct log {
	int messages;
	bool named;
};

static void note_message(enum dwarfs_log_level level, const char *message, void *user)
{
	struct log *log = user;

	assert_true(level <= DWARFS_LOG_WARN);
	assert_true(strlen(message) > 0 && !strchr(message, '\n'));
	log->messages++;
	log->named |= strstr(message, "vanishing") != NULL;
}

static void a_file_that_vanishes_is_logged_and_counted(void **state)
{
	struct fixture fixture = *(struct fixture *)*state;
	dwarfs_context *context = NULL;
	struct log log = { 0 };
	struct watch watch = { 0 };
	dwarfs_task *task = new_task(watch_progress, &watch);
	dwarfs_error *err = NULL;
	struct bytes bytes = { 0 };
	dwarfs_builder *b;
	char path[256];

	snprintf(fixture.tree, sizeof(fixture.tree), "%s/small", fixture.dir);
	assert_int_equal(mkdir(fixture.tree, 0755), 0);
	snprintf(path, sizeof(path), "%s/vanishing", fixture.tree);
	store_path(path, "here", 4);
	watch.remove = path;
	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_log(context, DWARFS_LOG_WARN, note_message,
					      &log, &err),
		       err);
	b = new_builder(&fixture, context);
	dwarfs_builder_set_task(b, task);
	assert_success(write_to_function(b, append_bytes, &bytes, &err), err);
	assert_null(watch.remove);
	assert_int_equal(dwarfs_builder_count(b, DWARFS_COUNT_ERRORS), 1);
	assert_true(log.messages > 0);
	assert_true(log.named);
	dwarfs_builder_free(b);
	dwarfs_task_free(task);
	dwarfs_context_free(context);
	free(bytes.data);
}

/* -- extraction ---------------------------------------------------------------------- */

static void what_was_packed_comes_back(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_image *image = open_image(fixture, NULL);
	dwarfs_extract *extract = NULL;
	struct watch watch = { 0 };
	dwarfs_task *task = new_task(watch_progress, &watch);
	dwarfs_error *err = NULL;
	char target[128], command[300];

	snprintf(target, sizeof(target), "%s/out", fixture->dir);
	assert_success(dwarfs_extract_new(image, &extract, &err), err);
	dwarfs_extract_set_task(extract, task);
	assert_success(dwarfs_extract_to_directory(extract, target, &err), err);
	assert_int_equal(dwarfs_extract_failures(extract), 0);
	assert_int_equal(watch.last_phase, DWARFS_PHASE_DONE);
	snprintf(command, sizeof(command), "diff -r --no-dereference '%s' '%s'",
		 fixture->tree, target);
	assert_int_equal(system(command), 0);
	watch = (struct watch){ 0 };
	assert_failure(dwarfs_extract_to_directory(extract, target, &err),
		       DWARFS_ERR_EXISTS, err);
	dwarfs_extract_free(extract);

	extract = NULL;
	assert_success(dwarfs_extract_new(image, &extract, &err), err);
	dwarfs_image_free(image);
	watch = (struct watch){ .stop_at = 1 };
	snprintf(target, sizeof(target), "%s/stopped", fixture->dir);
	dwarfs_extract_set_task(extract, task);
	assert_failure(dwarfs_extract_to_directory(extract, target, &err),
		       DWARFS_ERR_CANCELLED, err);
	watch = (struct watch){ 0 };
	assert_failure(dwarfs_extract_to_directory(extract, "/no/such/place", &err),
		       DWARFS_ERR_NOT_FOUND, err);
	dwarfs_extract_free(extract);
	dwarfs_task_free(task);
}

/* -- digests ------------------------------------------------------------------------- */

static void digests_are_known_by_name(void **state)
{
	static const char *const abc =
		"53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23";
	char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	dwarfs_digest *digest = NULL;
	dwarfs_error *err = NULL;
	const char *name;
	size_t i;

	(void)state;
	for (i = 0; (name = dwarfs_digest_name(i)); i++) {
		assert_success(dwarfs_digest_new(name, &digest, &err), err);
		dwarfs_digest_update(digest, "", 0);
		dwarfs_digest_finish(digest, hex);
		assert_true(strlen(hex) >= 8);
		dwarfs_digest_free(digest);
	}
	assert_true(i > 2);
	assert_success(dwarfs_digest_new("sha512-256", &digest, &err), err);
	for (i = 0; i < 2; i++) {
		dwarfs_digest_update(digest, "a", 1);
		dwarfs_digest_update(digest, "bc", 2);
		dwarfs_digest_finish(digest, hex);
		assert_string_equal(hex, abc);
	}
	dwarfs_digest_free(digest);
	assert_failure(dwarfs_digest_new("sum", &digest, &err), DWARFS_ERR_UNSUPPORTED,
		       err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_outside_their_range_are_refused),
		cmocka_unit_test(texts_that_mean_nothing_are_refused),
		cmocka_unit_test(
			levels_describe_themselves_in_values_that_setters_accept),
		cmocka_unit_test(options_of_a_codec_that_mean_nothing_are_refused),
		cmocka_unit_test(a_codec_that_is_not_built_in_is_refused),
		cmocka_unit_test(codecs_that_are_built_in_are_known_by_name),
		cmocka_unit_test(options_change_what_is_stored),
		cmocka_unit_test(the_number_of_workers_does_not_show),
		cmocka_unit_test(a_run_counts),
		cmocka_unit_test(a_builder_takes_one_input_and_runs_once),
		cmocka_unit_test(a_file_is_replaced_only_when_asked),
		cmocka_unit_test(a_pipe_gets_the_same_image),
		cmocka_unit_test(a_full_or_closed_output_is_reported),
		cmocka_unit_test(a_failing_write_callback_ends_the_run),
		cmocka_unit_test(a_write_callback_that_answers_nonsense),
		cmocka_unit_test(a_run_can_be_watched),
		cmocka_unit_test(a_run_can_be_stopped_at_any_call),
		cmocka_unit_test(a_cancelled_task_stops_a_run),
		cmocka_unit_test(a_file_that_vanishes_is_logged_and_counted),
		cmocka_unit_test(what_was_packed_comes_back),
		cmocka_unit_test(digests_are_known_by_name),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
