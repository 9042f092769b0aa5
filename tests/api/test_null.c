/* SPDX-License-Identifier: MIT */
/*
 * api/null: every public function refuses NULL for each parameter that must not be NULL.
 *
 * make_null_calls.py makes the calls from the headers: one for each such parameter, with
 * valid objects for the others. Each call runs in its own process, so that every crash is
 * reported.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* The arguments. NULL for objects that exist only during a callback. */
static struct {
	dwarfs_image *image;
	dwarfs_image_options *image_options;
	const dwarfs_allocator *allocator; /* malloc() */
	dwarfs_context *context;
	dwarfs_builder *builder;
	dwarfs_item *item, *link_item;
	dwarfs_io *io;
	dwarfs_sink *sink;
	dwarfs_task *task;
	dwarfs_digest *digest;
	dwarfs_stat *stat;
	dwarfs_walk *walk;
	dwarfs_file *file;
	dwarfs_borrowed *borrowed;
	dwarfs_metadata *metadata;
	dwarfs_history *history;
	dwarfs_extract *extract;
	dwarfs_compare *compare;
	dwarfs_archive_import *archive_import;
	dwarfs_archive_export *archive_export;
	dwarfs_progress *progress;
	dwarfs_input *input;
	dwarfs_order_list *order_list;
	dwarfs_part *part;
	dwarfs_difference *difference;
	dwarfs_error *error;
	dwarfs_entry entry;
	dwarfs_inode inode, link_inode;
	struct dwarfs_iovec piece;
	uint64_t space[1024]; /* for outputs and buffers */
} objects;

#define WAS_CALLED 3

static void no_callback(void)
{
	_exit(WAS_CALLED);
}

struct null_call {
	const char *function, *parameter;
	bool has_err; /* run() returns the code of the function; otherwise 0, or 1 for a
			 result that is not 0, false or NULL */
	int (*run)(dwarfs_error **err);
};

#include "null_calls.h"

/* Some archive functions are not built in. */
static void make_archive_objects(void)
{
	if (dwarfs_archive_import_new(objects.builder, &objects.archive_import, NULL) ==
	    0)
		(void)dwarfs_archive_export_new(objects.image, &objects.archive_export,
						NULL);
}

static int make_objects(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_error *err = NULL;

	objects.image = open_image(fixture, NULL);
	objects.entry = find_entry(objects.image, "big");
	objects.inode = find_inode(objects.image, "big");
	objects.link_inode = find_inode(objects.image, "link");
	objects.piece = (struct dwarfs_iovec){ objects.space, sizeof(objects.space) };
	if (dwarfs_image_options_new(&objects.image_options, &err) < 0 ||
	    dwarfs_context_new(&objects.context, &err) < 0 ||
	    dwarfs_builder_new(NULL, &objects.builder, &err) < 0 ||
	    dwarfs_item_new(0100644, &objects.item, &err) < 0 ||
	    dwarfs_item_new(0120777, &objects.link_item, &err) < 0 ||
	    dwarfs_io_open(fixture->path, &objects.io, &err) < 0 ||
	    dwarfs_sink_to_memory(SIZE_MAX, &objects.sink, &err) < 0 ||
	    dwarfs_task_new(&objects.task, &err) < 0 ||
	    dwarfs_digest_new("sha256", &objects.digest, &err) < 0 ||
	    dwarfs_stat_new(&objects.stat, &err) < 0 ||
	    dwarfs_entry_stat(objects.image, objects.entry, objects.stat, &err) < 0 ||
	    dwarfs_walk_new(objects.image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE,
			    &objects.walk, &err) < 0 ||
	    dwarfs_file_open(objects.image, objects.inode, &objects.file, &err) < 0 ||
	    dwarfs_file_borrow(objects.file, 100, 0, &objects.borrowed, &err) < 0 ||
	    dwarfs_metadata_new(objects.image, &objects.metadata, &err) < 0 ||
	    dwarfs_history_new(objects.image, &objects.history, &err) < 0 ||
	    dwarfs_extract_new(objects.image, &objects.extract, &err) < 0 ||
	    dwarfs_compare_new(NULL, &objects.compare, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	make_archive_objects();
	return 0;
}

static void free_objects(void)
{
	dwarfs_archive_export_free(objects.archive_export);
	dwarfs_archive_import_free(objects.archive_import);
	dwarfs_compare_free(objects.compare);
	dwarfs_extract_free(objects.extract);
	dwarfs_history_free(objects.history);
	dwarfs_metadata_free(objects.metadata);
	dwarfs_borrowed_free(objects.borrowed);
	dwarfs_file_free(objects.file);
	dwarfs_walk_free(objects.walk);
	dwarfs_stat_free(objects.stat);
	dwarfs_digest_free(objects.digest);
	dwarfs_task_free(objects.task);
	dwarfs_sink_free(objects.sink);
	dwarfs_io_free(objects.io);
	dwarfs_item_free(objects.item);
	dwarfs_item_free(objects.link_item);
	dwarfs_builder_free(objects.builder);
	dwarfs_context_free(objects.context);
	dwarfs_image_options_free(objects.image_options);
	dwarfs_image_free(objects.image);
}

/* In the child. */
static int run_call(const struct null_call *call)
{
	dwarfs_error *err = NULL;
	int ret;

	/* The signal handlers of cmocka would continue with the next test. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	alarm(60);
	ret = call->run(&err);
	if (!call->has_err) {
		if (ret != 0)
			fprintf(stderr, "%s: a result that is not 0 when %s is NULL\n",
				call->function, call->parameter);
		return ret != 0;
	}
	/* Without libarchive, none of these functions does anything. */
	if (ret == DWARFS_ERR_UNSUPPORTED && !objects.archive_import &&
	    strncmp(call->function, "dwarfs_archive_", 15) == 0) {
		dwarfs_error_free(err);
		return 0;
	}
	if (ret == DWARFS_ERR_INVALID && dwarfs_error_code(err) == ret &&
	    strstr(dwarfs_error_message(err), "NULL")) {
		dwarfs_error_free(err);
		return 0;
	}
	fprintf(stderr, "%s: %d (%s) when %s is NULL\n", call->function, ret,
		dwarfs_error_message(err), call->parameter);
	return 1;
}

static bool is_refused(const struct null_call *call)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(run_call(call));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: signal %d when %s is NULL\n", call->function,
			WTERMSIG(status), call->parameter);
	if (WIFEXITED(status) && WEXITSTATUS(status) == WAS_CALLED)
		fprintf(stderr, "%s: runs when %s is NULL\n", call->function,
			call->parameter);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void run_all(bool has_err)
{
	size_t count = 0, failed = 0;

	for (size_t i = 0; i < sizeof(null_calls) / sizeof(null_calls[0]); i++) {
		if (null_calls[i].has_err != has_err)
			continue;
		count++;
		failed += !is_refused(&null_calls[i]);
	}
	assert_true(count > 100);
	if (failed > 0)
		fail_msg("%zu of %zu calls", failed, count);
}

static void functions_with_an_error_return_invalid(void **state)
{
	(void)state;
	run_all(true);
}

static void other_functions_return_nothing(void **state)
{
	(void)state;
	run_all(false);
}

/* NULL is valid for a size of 0 only. */
static void null_with_a_size_is_refused(void **state)
{
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	(void)state;
	assert_failure(dwarfs_io_from_memory(NULL, 1, NULL, NULL, &io, &err),
		       DWARFS_ERR_INVALID, err);
	assert_success(dwarfs_io_from_memory(NULL, 0, NULL, NULL, &io, &err), err);
	dwarfs_io_free(io);
	assert_failure(dwarfs_item_add_xattr(objects.item, "user.a", NULL, 1, &err),
		       DWARFS_ERR_INVALID, err);
	assert_success(dwarfs_item_add_xattr(objects.item, "user.a", NULL, 0, &err), err);
}

static int set_up(void **state)
{
	return fixture_setup(state) == 0 ? make_objects(state) : -1;
}

static int tear_down(void **state)
{
	free_objects();
	return fixture_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_with_an_error_return_invalid),
		cmocka_unit_test(other_functions_return_nothing),
		cmocka_unit_test(null_with_a_size_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
