/* SPDX-License-Identifier: MIT */
/*
 * api/callbacks: the results of callbacks: a code stops the operation and is returned
 * with its message, anything else that is not 0 cancels it.
 */
#include <limits.h>
#include <sys/stat.h>

#include "support.h"

/* The result of the first call; later calls succeed. */
struct answer {
	int result;
	const char *message; /* set in the error; NULL for none */
	int calls;
	const struct fixture *fixture;
};

static int give(struct answer *answer, dwarfs_error **err)
{
	if (answer->calls++ > 0)
		return 0;
	if (answer->message)
		dwarfs_error_set(err, answer->result, 0, answer->message);
	return answer->result;
}

/* -- an operation for each type of callback: 0 or the code of the operation ---------- */

static int discard(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)bytes;
	(void)err;
	(void)user;
	return 0;
}

static int build(dwarfs_builder *builder, dwarfs_error **err)
{
	int ret = write_to_function(builder, discard, NULL, err);

	dwarfs_builder_free(builder);
	return ret;
}

static int give_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)progress;
	return give(user, err);
}

static int run_progress(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);
	dwarfs_task *task = new_task(give_progress, answer);
	int ret;

	dwarfs_builder_set_task(builder, task);
	ret = build(builder, err);
	dwarfs_task_free(task);
	return ret;
}

static int give_include(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	assert_true(strlen(dwarfs_input_path(input)) > 0);
	return give(user, err);
}

static int run_include(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);

	dwarfs_builder_set_include(builder, give_include, answer);
	return build(builder, err);
}

static int give_category(const dwarfs_input *input, const char **category_out,
			 dwarfs_error **err, void *user)
{
	assert_true(S_ISREG(dwarfs_input_mode(input)));
	*category_out = "<default>";
	return give(user, err);
}

static int run_category(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);

	dwarfs_builder_set_category_callback(builder, give_category, answer);
	return build(builder, err);
}

static int give_filter_report(const char *path, bool is_directory, bool included,
			      dwarfs_error **err, void *user)
{
	assert_non_null(path);
	(void)is_directory;
	(void)included;
	return give(user, err);
}

static int run_filter_report(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);

	assert_int_equal(dwarfs_builder_add_filter(builder, "- nothing", NULL), 0);
	dwarfs_builder_set_filter_report(builder, give_filter_report, answer);
	return build(builder, err);
}

static int give_order(dwarfs_order_list *files, dwarfs_error **err, void *user)
{
	assert_true(dwarfs_order_list_count(files) > 0);
	return give(user, err);
}

static int run_order(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);

	dwarfs_builder_set_order_callback(builder, give_order, answer);
	return build(builder, err);
}

static int give_item(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		     dwarfs_error **err, void *user)
{
	(void)data_out;
	(void)bytes_out;
	(void)offset_out;
	return give(user, err);
}

/* Add an item whose contents are set already. */
static int add_item(dwarfs_item *item, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	int ret;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	ret = dwarfs_builder_add_item(builder, "file", 4, item, err);
	dwarfs_builder_free(builder);
	dwarfs_item_free(item);
	return ret;
}

static int run_item(struct answer *answer, dwarfs_error **err)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	assert_int_equal(
		dwarfs_item_set_reader(item, UINT64_MAX, give_item, answer, NULL), 0);
	return add_item(item, err);
}

static int give_stream(void *buffer, size_t bytes, size_t *bytes_out, dwarfs_error **err,
		       void *user)
{
	assert_true(buffer && bytes > 0);
	*bytes_out = 0;
	return give(user, err);
}

static int run_stream(struct answer *answer, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	assert_int_equal(dwarfs_io_new_stream(give_stream, NULL, answer, &io, NULL), 0);
	assert_true(dwarfs_io_is_stream(io));
	assert_int_equal(dwarfs_io_bytes(io), UINT64_MAX);
	assert_int_equal(dwarfs_item_set_io(item, io, NULL), 0);
	dwarfs_io_free(io);
	return add_item(item, err);
}

static int give_write(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	assert_true(data && bytes > 0);
	return give(user, err);
}

static int run_write(struct answer *answer, dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(answer->fixture, NULL);
	int ret = write_to_function(builder, give_write, answer, err);

	dwarfs_builder_free(builder);
	return ret;
}

static void fill(const struct fixture *fixture, void *buffer, size_t bytes,
		 uint64_t offset)
{
	assert_true(offset + bytes <= fixture->image.size);
	memcpy(buffer, fixture->image.data + offset, bytes);
}

static int give_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		     dwarfs_error **err, void *user)
{
	struct answer *answer = user;

	fill(answer->fixture, buffer, bytes, offset);
	*bytes_out = bytes;
	return give(answer, err);
}

static int read_only(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		     dwarfs_error **err, void *user)
{
	struct answer *answer = user;

	(void)err;
	fill(answer->fixture, buffer, bytes, offset);
	*bytes_out = bytes;
	return 0;
}

static int give_read_many(const struct dwarfs_io_range *ranges, size_t count,
			  dwarfs_error **err, void *user)
{
	struct answer *answer = user;

	for (size_t i = 0; i < count; i++)
		fill(answer->fixture, ranges[i].buffer, ranges[i].bytes,
		     ranges[i].offset);
	return give(answer, err);
}

static int open_source(struct answer *answer, dwarfs_io_read_fn read,
		       dwarfs_io_read_many_fn read_many, dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(
		dwarfs_io_new(read, answer->fixture->image.size, NULL, answer, &io, NULL),
		0);
	dwarfs_io_set_read_many(io, read_many);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_offset(options, 0);
	ret = dwarfs_image_open_io(NULL, io, options, &image, err);
	dwarfs_image_options_free(options);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	return ret;
}

static int run_read(struct answer *answer, dwarfs_error **err)
{
	return open_source(answer, give_read, NULL, err);
}

static int run_read_many(struct answer *answer, dwarfs_error **err)
{
	return open_source(answer, read_only, give_read_many, err);
}

static int give_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	(void)inode;
	(void)data;
	(void)bytes;
	(void)offset;
	return give(user, err);
}

static int give_piece_fail(dwarfs_inode inode, const dwarfs_error *why,
			   dwarfs_error **err, void *user)
{
	(void)inode;
	assert_int_equal(dwarfs_error_code(why), DWARFS_ERR_IS_DIR);
	return give(user, err);
}

static int run_piece(struct answer *answer, dwarfs_error **err)
{
	dwarfs_image *image = open_image(answer->fixture, NULL);
	const dwarfs_inode inode = find_inode(image, "big");
	int ret = dwarfs_read_in_order(image, &inode, 1, give_piece, NULL, answer, NULL,
				       err);

	dwarfs_image_free(image);
	return ret;
}

static int run_piece_fail(struct answer *answer, dwarfs_error **err)
{
	dwarfs_image *image = open_image(answer->fixture, NULL);
	const dwarfs_inode inode = DWARFS_ROOT_INODE;
	int ret = dwarfs_read_in_order(image, &inode, 1, ignore_piece, give_piece_fail,
				       answer, NULL, err);

	dwarfs_image_free(image);
	return ret;
}

static int give_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	(void)part;
	(void)thread;
	return give(user, err);
}

static int give_part_fail(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
			  dwarfs_error **err, void *user)
{
	(void)inode;
	(void)thread;
	assert_int_equal(dwarfs_error_code(why), DWARFS_ERR_IS_DIR);
	return give(user, err);
}

/* Without workers: other threads may call once more before they are stopped. */
static int read_parallel(struct answer *answer, const char *path, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image;
	dwarfs_inode inode;
	int ret;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	image = open_image(answer->fixture, context);
	inode = find_inode(image, path);
	ret = dwarfs_read_parallel(image, &inode, 1, 0, give_part, give_part_fail, answer,
				   NULL, err);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return ret;
}

static int run_part(struct answer *answer, dwarfs_error **err)
{
	return read_parallel(answer, "big", err);
}

static int run_part_fail(struct answer *answer, dwarfs_error **err)
{
	return read_parallel(answer, "dir", err);
}

static int give_difference(const dwarfs_difference *difference, dwarfs_error **err,
			   void *user)
{
	(void)difference;
	return give(user, err);
}

static int run_difference(struct answer *answer, dwarfs_error **err)
{
	dwarfs_compare *compare = NULL;
	char path[100];
	int ret;

	snprintf(path, sizeof(path), "%s/none", answer->fixture->tree);
	assert_int_equal(dwarfs_compare_new(NULL, &compare, NULL), 0);
	assert_int_equal(dwarfs_compare_set_path(compare, DWARFS_COMPARE_A,
						 answer->fixture->path, NULL, NULL),
			 0);
	assert_int_equal(
		dwarfs_compare_set_directory(compare, DWARFS_COMPARE_B, path, NULL), 0);
	ret = dwarfs_compare_run(compare, give_difference, answer, NULL, err);
	dwarfs_compare_free(compare);
	return ret;
}

static int give_block(uint32_t block, const void *data, size_t bytes,
		      const dwarfs_error *why, dwarfs_error **err, void *user)
{
	(void)block;
	assert_true(data && bytes > 0 && !why);
	return give(user, err);
}

static int run_block(struct answer *answer, dwarfs_error **err)
{
	return dwarfs_salvage_blocks(NULL, answer->fixture->path, NULL, give_block,
				     answer, err);
}

/* -- the test ------------------------------------------------------------------------ */

static const struct {
	const char *name;
	int (*run)(struct answer *answer, dwarfs_error **err);
} callbacks[] = {
	{ "dwarfs_progress_fn", run_progress },
	{ "dwarfs_include_fn", run_include },
	{ "dwarfs_category_fn", run_category },
	{ "dwarfs_filter_report_fn", run_filter_report },
	{ "dwarfs_order_fn", run_order },
	{ "dwarfs_item_read_fn", run_item },
	{ "dwarfs_io_stream_fn", run_stream },
	{ "dwarfs_io_read_fn", run_read },
	{ "dwarfs_io_read_many_fn", run_read_many },
	{ "dwarfs_sink_write_fn", run_write },
	{ "dwarfs_piece_fn", run_piece },
	{ "dwarfs_piece_fail_fn", run_piece_fail },
	{ "dwarfs_part_fn", run_part },
	{ "dwarfs_part_fail_fn", run_part_fail },
	{ "dwarfs_difference_fn", run_difference },
	{ "dwarfs_salvage_block_fn", run_block },
};

/* All callbacks return this; the operations return `expected`, with a text in the
 * message. */
static void all_answer(void **state, int result, const char *message, int expected,
		       const char *text)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
		struct answer answer = { result, message, 0, *state };
		dwarfs_error *err = NULL;
		int ret = callbacks[i].run(&answer, &err);
		const bool is_good = ret == expected && dwarfs_error_code(err) == ret &&
				     strstr(dwarfs_error_message(err), text) &&
				     answer.calls > 0 && (ret == 0 || answer.calls == 1);

		if (!is_good) {
			fprintf(stderr, "%s: %d (%s) after %d calls\n", callbacks[i].name,
				ret, dwarfs_error_message(err), answer.calls);
			failed++;
		}
		dwarfs_error_free(err);
		/* And without an error object. */
		answer.calls = 0;
		if (callbacks[i].run(&answer, NULL) != expected) {
			fprintf(stderr, "%s without an error\n", callbacks[i].name);
			failed++;
		}
	}
	assert_int_equal(failed, 0);
}

static void nothing_stops_without_a_code(void **state)
{
	all_answer(state, 0, NULL, 0, "no error");
}

static void codes_are_returned_with_their_message(void **state)
{
	all_answer(state, DWARFS_ERR_ACCESS, "this is the reason", DWARFS_ERR_ACCESS,
		   "this is the reason");
	all_answer(state, DWARFS_ERR_NOMEM, "this is the reason", DWARFS_ERR_NOMEM,
		   "this is the reason");
}

static void codes_are_returned_without_a_message(void **state)
{
	all_answer(state, DWARFS_ERR_LIMIT, NULL, DWARFS_ERR_LIMIT, "callback");
	all_answer(state, DWARFS_ERR_CORRUPT, NULL, DWARFS_ERR_CORRUPT, "callback");
	all_answer(state, DWARFS_ERR_CANCELLED, NULL, DWARFS_ERR_CANCELLED, "cancelled");
}

static void other_results_cancel(void **state)
{
	all_answer(state, 7, NULL, DWARFS_ERR_CANCELLED, "cancelled");
	all_answer(state, INT_MAX, NULL, DWARFS_ERR_CANCELLED, "cancelled");
	all_answer(state, INT_MIN, NULL, DWARFS_ERR_CANCELLED, "cancelled");
	all_answer(state, DWARFS_ERR_LIMIT - 1, NULL, DWARFS_ERR_CANCELLED, "cancelled");
}

/* -- dwarfs_error_set() -------------------------------------------------------------- */

static void an_error_is_set_and_replaced(void **state)
{
	dwarfs_error *err = NULL;

	(void)state;
	assert_int_equal(dwarfs_error_set(NULL, DWARFS_ERR_IO, 0, "text"), DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_set(&err, DWARFS_ERR_LIMIT, 0, "first"),
			 DWARFS_ERR_LIMIT);
	assert_string_equal(dwarfs_error_message(err), "first");
	assert_int_equal(dwarfs_error_errno(err), 0);
	assert_int_equal(dwarfs_error_set(&err, DWARFS_ERR_IO, 2 /* ENOENT */, "second"),
			 DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_errno(err), 2);
	assert_string_equal(dwarfs_error_message(err),
			    "second: No such file or directory");
	assert_int_equal(dwarfs_error_set(&err, 5, 0, "%s"), DWARFS_ERR_IO);
	assert_string_equal(dwarfs_error_message(err), "%s");
	assert_int_equal(dwarfs_error_set(&err, -1000, 0, "x"), DWARFS_ERR_IO);
	dwarfs_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stops_without_a_code),
		cmocka_unit_test(codes_are_returned_with_their_message),
		cmocka_unit_test(codes_are_returned_without_a_message),
		cmocka_unit_test(other_results_cancel),
		cmocka_unit_test(an_error_is_set_and_replaced),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
