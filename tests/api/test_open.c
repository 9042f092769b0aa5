/* SPDX-License-Identifier: MIT */
/*
 * api/open: errors, contexts, sources, offsets, and lifetimes of objects.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* -- errors and NULL ----------------------------------------------------------------- */

static void no_error_is_an_answer_too(void **state)
{
	uint64_t offset;

	(void)state;
	assert_int_equal(dwarfs_error_code(NULL), 0);
	assert_string_equal(dwarfs_error_message(NULL), "no error");
	assert_null(dwarfs_error_path(NULL));
	assert_false(dwarfs_error_offset(NULL, &offset));
	assert_int_equal(dwarfs_error_errno(NULL), 0);
	assert_string_equal(dwarfs_strerror(DWARFS_ERR_CORRUPT), "corrupt image");
	assert_string_equal(dwarfs_strerror(-12345), "unknown error");
}

#if DWARFS_VERSION_NUMBER < DWARFS_MAKE_VERSION(0, 1, 0) ||                              \
	DWARFS_VERSION_NUMBER >= DWARFS_MAKE_VERSION(255, 0, 0)
#error "versions cannot be compared by the preprocessor"
#endif
_Static_assert(_Generic(DWARFS_VERSION_NUMBER, uint32_t : 1), "type of the version");

static void the_version_is_that_of_the_headers(void **state)
{
	unsigned major, minor, patch;

	(void)state;
	assert_int_equal(
		sscanf(dwarfs_version_string(), "%u.%u.%u", &major, &minor, &patch), 3);
	assert_int_equal(dwarfs_version_number(),
			 DWARFS_MAKE_VERSION(major, minor, patch));
	assert_int_equal(dwarfs_version_number(), DWARFS_VERSION_NUMBER);
	assert_true(DWARFS_MAKE_VERSION(1, 2, 3) > DWARFS_MAKE_VERSION(1, 1, 255));
	assert_true(DWARFS_MAKE_VERSION(1, 0, 0) > DWARFS_MAKE_VERSION(0, 255, 255));
}

static void every_free_accepts_null(void **state)
{
	(void)state;
	dwarfs_error_free(NULL);
	dwarfs_context_free(NULL);
	dwarfs_io_free(NULL);
	dwarfs_sink_free(NULL);
	dwarfs_memory_free(NULL);
	dwarfs_task_free(NULL);
	dwarfs_task_cancel(NULL);
	assert_false(dwarfs_task_is_cancelled(NULL));
	dwarfs_digest_free(NULL);
	dwarfs_image_options_free(NULL);
	dwarfs_image_free(NULL);
	dwarfs_history_free(NULL);
	dwarfs_stat_free(NULL);
	dwarfs_walk_free(NULL);
	dwarfs_file_free(NULL);
	dwarfs_builder_free(NULL);
	dwarfs_extract_free(NULL);
}

static void an_error_says_what_and_where(void **state)
{
	dwarfs_error *err = NULL;
	dwarfs_image *image = (dwarfs_image *)&err;

	(void)state;
	assert_int_equal(dwarfs_image_open(NULL, "/no/such/image", NULL, &image, &err),
			 DWARFS_ERR_NOT_FOUND);
	assert_ptr_equal(image, &err); /* outputs are set on success only */
	assert_non_null(strstr(dwarfs_error_message(err), "/no/such/image"));
	assert_string_equal(dwarfs_error_path(err), "/no/such/image");
	assert_int_equal(dwarfs_error_errno(err), ENOENT);
	dwarfs_error_free(err);
}

static void an_earlier_error_is_replaced_and_success_leaves_it(void **state)
{
	dwarfs_error *err = NULL, *before;
	dwarfs_image *image = NULL;
	dwarfs_context *context = NULL;

	(void)state;
	dwarfs_image_open(NULL, "/no/such/image", NULL, &image, &err);
	dwarfs_image_open(NULL, "/", NULL, &image, &err);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IS_DIR);
	before = err;
	assert_int_equal(dwarfs_context_new(&context, &err), 0);
	assert_ptr_equal(err, before);
	dwarfs_context_free(context);
	dwarfs_error_free(err);
}

static void details_may_be_declined(void **state)
{
	dwarfs_image *image = NULL;

	(void)state;
	assert_int_equal(dwarfs_image_open(NULL, "/no/such/image", NULL, &image, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_null(image);
}

/* -- contexts ------------------------------------------------------------------------ */

static void a_context_in_use_does_not_change(void **state)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_cache_bytes(context, 0, &err), err);
	assert_success(dwarfs_context_set_workers(context, 1024, &err), err);
	assert_failure(dwarfs_context_set_workers(context, 1025, &err), DWARFS_ERR_RANGE,
		       err);
	assert_success(dwarfs_context_set_finish_percent(context, 100, &err), err);
	assert_failure(dwarfs_context_set_finish_percent(context, 101, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_context_set_log(context, 7, NULL, NULL, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_context_set_log(context, -1, NULL, NULL, &err),
		       DWARFS_ERR_RANGE, err);
	image = open_image(*state, context);
	assert_success(dwarfs_context_set_cache_bytes(context, 1, &err), err);
	assert_success(dwarfs_context_set_workers(context, 1, &err), err);
	assert_failure(dwarfs_context_set_workers(context, 1025, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_context_set_finish_percent(context, 1, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_context_set_log(context, 0, NULL, NULL, &err),
		       DWARFS_ERR_INVALID, err);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
}

/* -- memory -------------------------------------------------------------------------- */

/* An image in a context with this setting. */
static dwarfs_image *open_with_finish(void **state, uint32_t percent)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_finish_percent(context, percent, NULL), 0);
	image = open_image(*state, context);
	dwarfs_context_free(context);
	return image;
}

static uint64_t count_of(const dwarfs_image *image, int what)
{
	return dwarfs_context_cache_count(dwarfs_image_context(image), what);
}

static void a_block_is_decoded_as_far_as_is_wanted(void **state)
{
	uint64_t decoded[2];

	for (int i = 0; i < 2; i++) {
		dwarfs_image *image = open_with_finish(state, i ? 0 : 100);
		dwarfs_inode inode = find_inode(image, "big");
		size_t got;
		char byte;

		assert_int_equal(dwarfs_read(image, inode, &byte, 1, 0, &got, NULL), 0);
		assert_int_equal(got, 1);
		decoded[i] = count_of(image, DWARFS_CACHE_DECODED_BYTES);
		dwarfs_image_free(image);
	}
	assert_true(decoded[0] <= decoded[1]);
	assert_int_equal(decoded[1], 1 << BLOCK_BITS);
}

static void loaded_blocks_are_not_decoded_again(void **state)
{
	dwarfs_error *err = NULL;
	dwarfs_image *image = open_with_finish(state, 100);
	dwarfs_inode inode = find_inode(image, "big");
	uint64_t decoded, misses;
	char *buffer = malloc(BIG_BYTES);
	size_t got;

	assert_non_null(buffer);
	for (uint32_t i = 0; i < dwarfs_image_block_count(image); i++)
		assert_success(dwarfs_image_preload_block(image, i, &err), err);
	assert_failure(
		dwarfs_image_preload_block(image, dwarfs_image_block_count(image), &err),
		DWARFS_ERR_RANGE, err);
	decoded = count_of(image, DWARFS_CACHE_DECODED_BYTES);
	misses = count_of(image, DWARFS_CACHE_MISSES);
	assert_true(decoded > 0);
	assert_success(dwarfs_read(image, inode, buffer, BIG_BYTES, 0, &got, &err), err);
	assert_int_equal(got, BIG_BYTES);
	assert_int_equal(count_of(image, DWARFS_CACHE_DECODED_BYTES), decoded);
	assert_int_equal(count_of(image, DWARFS_CACHE_MISSES), misses);
	free(buffer);
	dwarfs_image_free(image);
}

static void metadata_is_locked_or_there_is_a_reason(void **state)
{
	dwarfs_error *err = NULL;
	dwarfs_image *image = open_image(*state, NULL);
	int ret = dwarfs_image_lock_metadata(image, &err);

	assert_true(ret == 0 || ret == DWARFS_ERR_NOMEM || ret == DWARFS_ERR_ACCESS);
	assert_int_equal(ret, dwarfs_error_code(err));
	dwarfs_error_free(err);
	dwarfs_image_free(image);
}

/* -- sources ------------------------------------------------------------------------- */

/* It is the test's image: all its entries are found. */
static void assert_whole(const dwarfs_image *image)
{
	dwarfs_walk *walk = NULL;
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	int count = 0, ret;

	assert_success(
		dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err),
		err);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0)
		count++;
	assert_success(ret, err);
	assert_int_equal(count, TREE_ENTRIES);
	dwarfs_walk_free(walk);
	assert_success(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					  NULL, &err),
		       err);
}

static void opens_a_path(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_image_open(NULL, fixture->path, NULL, &image, &err), err);
	assert_whole(image);
	dwarfs_image_free(image);
}

/* -- when hashes are verified -------------------------------------------------------- */

static int open_lazily(const char *path, dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_image_options *options;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, DWARFS_VERIFY_LAZY);
	ret = dwarfs_image_open(NULL, path, options, image_out, err);
	dwarfs_image_options_free(options);
	return ret;
}

static void a_good_image_may_be_verified_late(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	assert_success(open_lazily(fixture->path, &image, &err), err);
	assert_whole(image);
	assert_success(dwarfs_image_verify(image, &err), err);
	assert_whole(image);
	dwarfs_image_free(image);
	/* It may be freed while it is being verified. */
	for (int i = 0; i < 50; i++) {
		assert_success(open_lazily(fixture->path, &image, &err), err);
		dwarfs_image_free(image);
	}
}

/* A copy of the image whose metadata is uncompressed, and does not match its hash. */
static void store_damaged(const struct fixture *fixture, const char *path)
{
	dwarfs_builder *builder = new_builder(fixture, NULL);
	struct bytes image = { 0 };
	dwarfs_image *opened;
	dwarfs_io *io;
	uint64_t type, offset;

	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA, "null", NULL),
		0);
	assert_int_equal(write_to_function(builder, append_bytes, &image, NULL), 0);
	dwarfs_builder_free(builder);
	assert_int_equal(
		dwarfs_io_from_memory(image.data, image.size, NULL, NULL, &io, NULL), 0);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &opened, NULL), 0);
	dwarfs_io_free(io);
	for (uint32_t i = 0; i < dwarfs_image_section_count(opened); i++) {
		assert_int_equal(dwarfs_image_section(opened, i,
						      DWARFS_SECTION_FIELD_TYPE, &type,
						      NULL),
				 0);
		assert_int_equal(dwarfs_image_section(opened, i,
						      DWARFS_SECTION_FIELD_OFFSET,
						      &offset, NULL),
				 0);
		if (type == DWARFS_SECTION_METADATA)
			image.data[offset + 0x28] ^= 1; /* of the hash itself */
	}
	dwarfs_image_free(opened);
	store_path(path, image.data, image.size);
	free(image.data);
}

static void damage_shows_at_once_or_late(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_error *err = NULL;
	dwarfs_image *image = NULL;
	dwarfs_entry entry;
	char path[100];

	snprintf(path, sizeof(path), "%s/damaged.dwarfs", fixture->dir);
	store_damaged(fixture, path);
	assert_failure(dwarfs_image_open(NULL, path, NULL, &image, &err),
		       DWARFS_ERR_CHECKSUM, err);
	assert_success(open_lazily(path, &image, &err), err);
	/* The thread detects it, too. */
	while (dwarfs_find(image, "big", &entry, NULL) == 0)
		sched_yield();
	assert_failure(dwarfs_image_verify(image, &err), DWARFS_ERR_CHECKSUM, err);
	assert_failure(dwarfs_find(image, "big", &entry, &err), DWARFS_ERR_CHECKSUM, err);
	dwarfs_image_free(image);
	remove(path);
}

static void a_message_names_the_source(void **state)
{
	static const char text[] = "not an image";
	int ends[2];
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	(void)state;
	assert_success(dwarfs_io_from_memory(text, sizeof(text), NULL, NULL, &io, &err),
		       err);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, &err),
			 DWARFS_ERR_NOT_IMAGE);
	assert_null(dwarfs_error_path(err));
	assert_success(dwarfs_io_set_name(io, "https://a/b.dwarfs", &err), err);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, &err),
			 DWARFS_ERR_NOT_IMAGE);
	assert_non_null(strstr(dwarfs_error_message(err), "'https://a/b.dwarfs': "));
	assert_string_equal(dwarfs_error_path(err), "https://a/b.dwarfs");
	dwarfs_io_free(io);
	/* A stream is refused, and named. */
	assert_int_equal(pipe(ends), 0);
	assert_success(dwarfs_io_from_stream(ends[0], &io, &err), err);
	assert_true(dwarfs_io_is_stream(io));
	assert_success(dwarfs_io_set_name(io, "a pipe", &err), err);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, &err),
			 DWARFS_ERR_INVALID);
	assert_string_equal(dwarfs_error_path(err), "a pipe");
	close(ends[0]);
	close(ends[1]);
	dwarfs_error_free(err);
	dwarfs_io_free(io);
}

static void opens_a_descriptor_wherever_it_stands(void **state)
{
	struct fixture *fixture = *state;
	int fd = open(fixture->path, O_RDONLY | O_CLOEXEC), pipes[2];
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	lseek(fd, 77, SEEK_SET);
	assert_success(dwarfs_io_from_fd(fd, &io, &err), err);
	assert_int_equal(dwarfs_io_bytes(io), fixture->image.size);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 77);
	assert_int_equal(close(fd), 0); /* it was duplicated */
	dwarfs_io_free(io);
	assert_whole(image);
	dwarfs_image_free(image);

	assert_int_equal(pipe(pipes), 0);
	io = NULL;
	assert_failure(dwarfs_io_from_fd(pipes[0], &io, &err), DWARFS_ERR_INVALID, err);
	close(pipes[0]);
	close(pipes[1]);
	assert_failure(dwarfs_io_from_fd(pipes[0], &io, &err), DWARFS_ERR_INVALID, err);
	assert_null(io);
}

static void count_call(void *user)
{
	++*(int *)user;
}

static void memory_is_closed_once_by_its_last_user(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	int closed = 0;
	char byte;
	size_t bytes;

	assert_success(dwarfs_io_from_memory(fixture->image.data, fixture->image.size,
					     count_call, &closed, &io, &err),
		       err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	assert_success(dwarfs_file_open(image, find_inode(image, "big"), &file, &err),
		       err);
	dwarfs_image_free(image);
	assert_int_equal(closed, 0);
	assert_success(dwarfs_file_read(file, &byte, 1, 0, &bytes, &err), err);
	dwarfs_file_free(file);
	assert_int_equal(closed, 1);
}

static void a_source_reads_ranges_within_it(void **state)
{
	struct fixture *fixture = *state;
	size_t size = fixture->image.size;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	uint8_t buffer[16];

	assert_success(dwarfs_io_open(fixture->path, &io, &err), err);
	assert_success(dwarfs_io_read(io, buffer, 16, size - 16, &err), err);
	assert_memory_equal(buffer, fixture->image.data + size - 16, 16);
	assert_success(dwarfs_io_read(io, buffer, 0, size, &err), err);
	assert_failure(dwarfs_io_read(io, buffer, 16, size - 15, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_io_read(io, buffer, 1, UINT64_MAX, &err), DWARFS_ERR_RANGE,
		       err);
	dwarfs_io_free(io);
}

static void sources_that_are_none_are_refused(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	char path[128];
	int ends[2];

	assert_failure(dwarfs_io_open("/no/such/file", &io, &err), DWARFS_ERR_NOT_FOUND,
		       err);
	assert_failure(dwarfs_io_open(fixture->dir, &io, &err), DWARFS_ERR_IS_DIR, err);
	assert_failure(dwarfs_io_open("/dev/null", &io, &err), DWARFS_ERR_INVALID, err);
	snprintf(path, sizeof(path), "%s/pipe", fixture->dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	/* It has no writer, so an open() that waits would not return. */
	assert_failure(dwarfs_io_open(path, &io, &err), DWARFS_ERR_INVALID, err);
	assert_int_equal(dwarfs_io_open(path, &io, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "pipe"));
	assert_string_equal(dwarfs_error_path(err), path);
	dwarfs_error_free(err);
	err = NULL;
	assert_int_equal(pipe(ends), 0);
	assert_failure(dwarfs_io_from_fd(ends[0], &io, &err), DWARFS_ERR_INVALID, err);
	close(ends[0]);
	close(ends[1]);
	assert_failure(dwarfs_io_new(NULL, 10, NULL, NULL, &io, &err), DWARFS_ERR_INVALID,
		       err);
	assert_null(io);
}

/* A source that counts its calls, reads a few bytes at a time, and fails at one call. */
struct slow {
	const struct fixture *fixture;
	size_t most; /* bytes at a time */
	int calls;
	int fail_at;	/* number of the call that fails; 0: none */
	int failure;	/* the result of that call */
	size_t claimed; /* the number of bytes that this call returns */
	int closed;
};

static int slow_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		     dwarfs_error **err, void *user)
{
	struct slow *slow = user;

	assert_true(bytes > 0 && offset + bytes <= slow->fixture->image.size);
	if (++slow->calls == slow->fail_at) {
		*bytes_out = slow->claimed;
		if (slow->failure != DWARFS_ERR_IO)
			return slow->failure;
		return dwarfs_error_set(err, DWARFS_ERR_IO, ETIMEDOUT, "connection lost");
	}
	if (bytes > slow->most)
		bytes = slow->most;
	memcpy(buffer, slow->fixture->image.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

static void slow_close(void *user)
{
	((struct slow *)user)->closed++;
}

/* Open, check and read one file through callbacks. */
static int use_slow(struct slow *slow, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	char *data = malloc(BIG_BYTES);
	size_t bytes = 0;
	int ret;

	assert_non_null(data);
	ret = dwarfs_io_new(slow_read, slow->fixture->image.size, slow_close, slow, &io,
			    err);
	assert_int_equal(ret, 0);
	ret = dwarfs_image_open_io(NULL, io, NULL, &image, err);
	dwarfs_io_free(io);
	if (ret == 0)
		ret = dwarfs_read(image, find_inode(image, "big"), data, BIG_BYTES, 0,
				  &bytes, err);
	if (ret == 0) {
		struct bytes whole = load(slow->fixture, "big");

		assert_int_equal(bytes, whole.size);
		assert_memory_equal(data, whole.data, whole.size);
		free(whole.data);
	}
	dwarfs_image_free(image);
	free(data);
	return ret;
}

static void short_reads_are_continued(void **state)
{
	struct slow slow = { .fixture = *state, .most = 1000 };
	dwarfs_error *err = NULL;

	assert_success(use_slow(&slow, &err), err);
	assert_true(slow.calls > BIG_BYTES / 2000);
	assert_int_equal(slow.closed, 1);
	slow = (struct slow){ .fixture = *state, .most = 1 };
	assert_success(use_slow(&slow, &err), err);
}

/* The reason of a failed call of the source is returned, once, with its errno. */
static void a_failing_source_is_an_error_wherever_it_fails(void **state)
{
	struct slow whole = { .fixture = *state, .most = SIZE_MAX }, slow;
	dwarfs_error *err = NULL;
	int n, failed = 0;

	assert_success(use_slow(&whole, &err), err);
	assert_true(whole.calls > 2);
	for (n = 1; n <= whole.calls; n++) {
		slow = (struct slow){ .fixture = *state,
				      .most = SIZE_MAX,
				      .fail_at = n,
				      .failure = DWARFS_ERR_IO };
		if (use_slow(&slow, &err) == 0)
			continue; /* those bytes were not needed */
		failed++;
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_errno(err), ETIMEDOUT);
		assert_non_null(strstr(dwarfs_error_message(err), "connection lost"));
		assert_int_equal(slow.closed, 1);
	}
	assert_true(failed > 2);
	dwarfs_error_free(err);
}

/* An end before the size of the source, or more bytes than were requested. */
static void a_source_with_a_wrong_number_of_bytes_is_an_error(void **state)
{
	static const size_t claims[] = { 0, SIZE_MAX };
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct slow slow = { .fixture = *state,
				     .most = SIZE_MAX,
				     .fail_at = 1,
				     .claimed = claims[i] };

		assert_failure(use_slow(&slow, &err), DWARFS_ERR_IO, err);
		assert_int_equal(slow.closed, 1);
	}
}

static void results_of_a_source_that_are_no_codes_cancel(void **state)
{
	static const int results[] = { 1, INT_MAX, INT_MIN, -1000000 };
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		struct slow slow = { .fixture = *state,
				     .most = SIZE_MAX,
				     .fail_at = 1,
				     .failure = results[i] };

		assert_failure(use_slow(&slow, &err), DWARFS_ERR_CANCELLED, err);
		assert_int_equal(slow.closed, 1);
	}
}

/* -- where the image is in its source ------------------------------------------------ */

static int open_bytes(const struct bytes *bytes, uint64_t offset, uint64_t size,
		      dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, err), 0);
	dwarfs_image_options_set_offset(options, offset);
	dwarfs_image_options_set_bytes(options, size);
	assert_int_equal(
		dwarfs_io_from_memory(bytes->data, bytes->size, NULL, NULL, &io, err), 0);
	ret = dwarfs_image_open_io(NULL, io, options, image_out, err);
	dwarfs_image_options_free(options);
	dwarfs_io_free(io);
	return ret;
}

#define PREFIX "#!/bin/sh\n# DWARFS\2\5 is not here yet\n"

static void an_image_is_found_behind_a_prefix(void **state)
{
	struct fixture *fixture = *state;
	size_t prefix = strlen(PREFIX);
	struct bytes bytes = { 0 };
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	char header[64];
	uint64_t at[] = { DWARFS_OFFSET_AUTO, prefix };
	size_t i;

	append_bytes(PREFIX, prefix, NULL, &bytes);
	append_bytes(fixture->image.data, fixture->image.size, NULL, &bytes);
	for (i = 0; i < 2; i++) {
		assert_success(open_bytes(&bytes, at[i], DWARFS_SIZE_AUTO, &image, &err),
			       err);
		assert_int_equal(dwarfs_image_offset(image), prefix);
		assert_int_equal(dwarfs_image_bytes(image), fixture->image.size);
		assert_success(dwarfs_image_read_header(image, header, prefix, 0, &err),
			       err);
		assert_memory_equal(header, PREFIX, prefix);
		assert_failure(
			dwarfs_image_read_header(image, header, 2, prefix - 1, &err),
			DWARFS_ERR_RANGE, err);
		assert_whole(image);
		dwarfs_image_free(image);
	}
	image = NULL;
	assert_failure(open_bytes(&bytes, prefix - 1, DWARFS_SIZE_AUTO, &image, &err),
		       DWARFS_ERR_NOT_IMAGE, err);
	assert_failure(open_bytes(&bytes, bytes.size, DWARFS_SIZE_AUTO, &image, &err),
		       DWARFS_ERR_NOT_IMAGE, err);
	assert_true(open_bytes(&bytes, bytes.size + 1, DWARFS_SIZE_AUTO, &image, &err) <
		    0);
	assert_true(open_bytes(&bytes, UINT64_MAX - 1, DWARFS_SIZE_AUTO, &image, &err) <
		    0);
	assert_null(image);
	dwarfs_error_free(err);
	free(bytes.data);
}

static void what_stands_behind_an_image_is_cut_off_by_its_size(void **state)
{
	struct fixture *fixture = *state;
	struct bytes bytes = { 0 };
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	append_bytes(fixture->image.data, fixture->image.size, NULL, &bytes);
	append_bytes("rubbish", 7, NULL, &bytes);
	assert_success(open_bytes(&bytes, 0, fixture->image.size, &image, &err), err);
	assert_int_equal(dwarfs_image_bytes(image), fixture->image.size);
	assert_whole(image);
	dwarfs_image_free(image);
	image = NULL;
	assert_true(open_bytes(&bytes, 0, bytes.size, &image, &err) < 0);
	assert_true(open_bytes(&bytes, 0, fixture->image.size - 1, &image, &err) < 0);
	assert_true(open_bytes(&bytes, 0, bytes.size + 1, &image, &err) < 0);
	assert_null(image);
	dwarfs_error_free(err);
	free(bytes.data);
}

static void what_is_no_image_is_none(void **state)
{
	uint8_t zeros[4096] = { 0 };
	struct bytes bytes = { zeros, sizeof(zeros) };
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	(void)state;
	assert_failure(
		open_bytes(&bytes, DWARFS_OFFSET_AUTO, DWARFS_SIZE_AUTO, &image, &err),
		DWARFS_ERR_NOT_IMAGE, err);
	bytes.size = 0;
	assert_failure(
		open_bytes(&bytes, DWARFS_OFFSET_AUTO, DWARFS_SIZE_AUTO, &image, &err),
		DWARFS_ERR_NOT_IMAGE, err);
	assert_failure(open_bytes(&bytes, 0, DWARFS_SIZE_AUTO, &image, &err),
		       DWARFS_ERR_NOT_IMAGE, err);
	assert_null(image);
}

/* -- identity ------------------------------------------------------------------------ */

static void an_image_says_what_it_is(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_image *image = open_image(fixture, NULL);
	int64_t seconds = 0;

	assert_int_equal(dwarfs_image_format_minor(image), 5);
	assert_int_equal(dwarfs_image_offset(image), 0);
	assert_int_equal(dwarfs_image_bytes(image), fixture->image.size);
	assert_int_equal(dwarfs_image_block_bytes(image), 1 << BLOCK_BITS);
	assert_true(dwarfs_image_block_count(image) >= BIG_BYTES >> BLOCK_BITS);
	assert_int_equal(dwarfs_image_entry_count(image), TREE_ENTRIES);
	assert_int_equal(dwarfs_image_inode_count(image),
			 TREE_ENTRIES - 1); /* a hard link */
	assert_int_equal(dwarfs_image_hardlink_bytes(image), BIG_BYTES);
	assert_non_null(strstr(dwarfs_image_created_by(image), "libdwarfs"));
	assert_true(dwarfs_image_created_on(image, &seconds));
	assert_true(seconds > 1700000000);
	assert_true(dwarfs_image_has_index(image));
	assert_true(dwarfs_image_is_mtime_only(image));
	assert_int_equal(dwarfs_image_time_resolution_ns(image), 1000000000);
	assert_string_equal(dwarfs_image_feature(image, 0), "sparsefiles");
	assert_null(dwarfs_image_feature(image, 1));
	assert_null(dwarfs_image_category(image, 0));
	assert_int_equal(dwarfs_image_block_category(image, 0), -1);
	dwarfs_image_free(image);
}

static void sections_can_be_listed(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_image *image = open_image(fixture, NULL);
	uint32_t count = dwarfs_image_section_count(image), i;
	uint64_t at = 0, type, offset, stored, number;
	dwarfs_error *err = NULL;

	assert_true(count >= 5);
	for (i = 0; i < count; i++) {
		assert_success(dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_TYPE,
						    &type, &err),
			       err);
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_OFFSET, &offset,
				     NULL);
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_STORED_BYTES, &stored,
				     NULL);
		dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_NUMBER, &number,
				     NULL);
		assert_int_equal(offset, at);
		assert_int_equal(number, i);
		at += 64 + stored;
	}
	assert_int_equal(at, fixture->image.size);
	assert_int_equal(type, DWARFS_SECTION_INDEX);
	assert_failure(dwarfs_image_section(image, count, 0, &type, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_image_section(image, 0, 99, &type, &err), DWARFS_ERR_RANGE,
		       err);
	assert_string_equal(dwarfs_section_type_name(DWARFS_SECTION_BLOCK), "BLOCK");
	assert_string_equal(dwarfs_section_type_name(77), "UNKNOWN");
	assert_string_equal(dwarfs_compression_name(2), "ZSTD");
	assert_string_equal(dwarfs_compression_name(77), "UNKNOWN");
	dwarfs_image_free(image);
}

static void history_outlives_its_image(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_history *history = NULL;
	dwarfs_error *err = NULL;
	int64_t seconds;

	assert_success(dwarfs_history_new(image, &history, &err), err);
	dwarfs_image_free(image);
	assert_int_equal(dwarfs_history_count(history), 1);
	assert_non_null(strstr(dwarfs_history_text(history, 0, DWARFS_HISTORY_VERSION),
			       dwarfs_version_string()));
	assert_true(dwarfs_history_time(history, 0, &seconds));
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 0));
	assert_string_equal(dwarfs_history_text(history, 1, DWARFS_HISTORY_VERSION), "");
	assert_string_equal(dwarfs_history_text(history, 0, 99), "");
	assert_null(dwarfs_history_item(history, 1, DWARFS_HISTORY_LIBRARIES, 0));
	assert_false(dwarfs_history_time(history, 1, &seconds));
	dwarfs_history_free(history);
}

/* -- checks -------------------------------------------------------------------------- */

struct findings {
	int errors, warnings, calls, stop_at;
	int64_t section;
};

static void note_finding(enum dwarfs_finding severity, int code, int64_t section,
			 const char *message, void *user)
{
	struct findings *findings = user;

	assert_true(strlen(message) > 0);
	if (severity == DWARFS_FINDING_ERROR) {
		findings->errors++;
		findings->section = section;
	} else {
		findings->warnings++;
	}
}

static int note_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct findings *findings = user;

	(void)err;
	assert_true(strlen(dwarfs_phase_name(dwarfs_progress_phase(progress))) > 0);
	return ++findings->calls == findings->stop_at;
}

static void a_flipped_bit_is_found_and_named(void **state)
{
	struct fixture *fixture = *state;
	struct fixture damaged = *fixture;
	struct bytes copy = { 0 };
	struct findings findings = { 0 };
	dwarfs_task *task = new_task(note_progress, &findings);
	uint64_t errors = 0;
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	append_bytes(fixture->image.data, fixture->image.size, NULL, &copy);
	copy.data[100] ^= 1; /* in the first block */
	damaged.image = copy;
	image = open_image(&damaged, NULL);
	assert_success(dwarfs_image_check(image, DWARFS_CHECK_METADATA, note_finding,
					  &findings, NULL, &errors, &err),
		       err);
	assert_int_equal(errors, 0);
	assert_failure(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, note_finding,
					  &findings, task, &errors, &err),
		       DWARFS_ERR_CHECKSUM, err);
	assert_int_equal(errors, 1);
	assert_int_equal(findings.errors, 1);
	assert_int_equal(findings.section, 0);
	assert_true(findings.calls > 0);
	dwarfs_image_free(image);
	dwarfs_task_free(task);
	free(copy.data);
}

static void a_check_can_be_stopped(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	struct findings findings = { .stop_at = 1 };
	dwarfs_task *task = new_task(note_progress, &findings);
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, task,
					  NULL, &err),
		       DWARFS_ERR_CANCELLED, err);
	dwarfs_image_free(image);
	dwarfs_task_free(task);
}

/* -- lifetimes ----------------------------------------------------------------------- */

static void things_may_be_freed_in_any_order(void **state)
{
	struct fixture *fixture = *state;
	dwarfs_context *context = NULL;
	dwarfs_extract *extract = NULL;
	dwarfs_image *image = NULL;
	dwarfs_walk *walk = NULL;
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	size_t bytes;
	char buffer[5];
	int count = 0;

	assert_success(dwarfs_context_new(&context, &err), err);
	image = open_image(fixture, context);
	dwarfs_context_free(context);
	assert_success(
		dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_DATA, &walk, &err),
		err);
	assert_success(
		dwarfs_file_open(image, find_inode(image, "dir/sub/deep"), &file, &err),
		err);
	assert_success(dwarfs_extract_new(image, &extract, &err), err);
	dwarfs_image_free(image);
	while (dwarfs_walk_next(walk, &entry, &err) > 0)
		count++;
	assert_int_equal(count, TREE_ENTRIES);
	dwarfs_walk_free(walk);
	dwarfs_extract_free(extract);
	assert_success(dwarfs_file_read(file, buffer, 5, 0, &bytes, &err), err);
	assert_memory_equal(buffer, "deep\n", 5);
	dwarfs_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_error_is_an_answer_too),
		cmocka_unit_test(the_version_is_that_of_the_headers),
		cmocka_unit_test(every_free_accepts_null),
		cmocka_unit_test(an_error_says_what_and_where),
		cmocka_unit_test(an_earlier_error_is_replaced_and_success_leaves_it),
		cmocka_unit_test(details_may_be_declined),
		cmocka_unit_test(a_context_in_use_does_not_change),
		cmocka_unit_test(a_block_is_decoded_as_far_as_is_wanted),
		cmocka_unit_test(loaded_blocks_are_not_decoded_again),
		cmocka_unit_test(metadata_is_locked_or_there_is_a_reason),
		cmocka_unit_test(opens_a_path),
		cmocka_unit_test(a_good_image_may_be_verified_late),
		cmocka_unit_test(damage_shows_at_once_or_late),
		cmocka_unit_test(a_message_names_the_source),
		cmocka_unit_test(opens_a_descriptor_wherever_it_stands),
		cmocka_unit_test(memory_is_closed_once_by_its_last_user),
		cmocka_unit_test(a_source_reads_ranges_within_it),
		cmocka_unit_test(sources_that_are_none_are_refused),
		cmocka_unit_test(short_reads_are_continued),
		cmocka_unit_test(a_failing_source_is_an_error_wherever_it_fails),
		cmocka_unit_test(a_source_with_a_wrong_number_of_bytes_is_an_error),
		cmocka_unit_test(results_of_a_source_that_are_no_codes_cancel),
		cmocka_unit_test(an_image_is_found_behind_a_prefix),
		cmocka_unit_test(what_stands_behind_an_image_is_cut_off_by_its_size),
		cmocka_unit_test(what_is_no_image_is_none),
		cmocka_unit_test(an_image_says_what_it_is),
		cmocka_unit_test(sections_can_be_listed),
		cmocka_unit_test(history_outlives_its_image),
		cmocka_unit_test(a_flipped_bit_is_found_and_named),
		cmocka_unit_test(a_check_can_be_stopped),
		cmocka_unit_test(things_may_be_freed_in_any_order),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
