/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/parallel: parts of files by several threads, by dwarfs_read_parallel().
 */
#include <pthread.h>

#include "read/bulk/world.h"
#include "support/task.h"

#define MOST_THREADS 8

struct gathering {
	pthread_mutex_t lock;
	const struct world *world;
	uint64_t got[FILES];
	int complete[FILES], failed[FILES], parts[FILES];
	bool busy[MOST_THREADS]; /* in a callback with this number */
	bool wrong;
	uint32_t threads; /* numbers below this are valid */
	int reports, stop_after, stop_with;
};

static void enter_thread(struct gathering *gathering, uint32_t thread)
{
	pthread_mutex_lock(&gathering->lock);
	gathering->wrong |= thread >= gathering->threads || gathering->busy[thread];
	gathering->busy[thread] = true;
}

static void leave_thread(struct gathering *gathering, uint32_t thread)
{
	gathering->busy[thread] = false;
	pthread_mutex_unlock(&gathering->lock);
}

static bool part_is_right(const struct gathering *gathering, const dwarfs_part *part,
			  uint32_t file, uint64_t *bytes_out)
{
	bool right = dwarfs_part_file_bytes(part) == size_of(gathering->world, file);
	uint64_t offset, after = 0;
	size_t bytes;

	*bytes_out = 0;
	for (size_t i = 0; i < dwarfs_part_count(part); i++) {
		const void *data = dwarfs_part_piece(part, i, &bytes, &offset);

		right &= data && bytes > 0 && offset >= after &&
			 is_right(gathering->world, file, data, bytes, offset);
		after = offset + bytes;
		*bytes_out += bytes;
	}
	return right &&
	       !dwarfs_part_piece(part, dwarfs_part_count(part), &bytes, &offset);
}

static int take_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	struct gathering *gathering = user;
	uint32_t file = dwarfs_part_inode(part).number - 1;
	bool right, is_last = dwarfs_part_is_last(part);
	uint64_t bytes;
	int ret = 0;

	/* Without the lock, so that other threads continue meanwhile. */
	right = file < FILES && part_is_right(gathering, part, file, &bytes);
	enter_thread(gathering, thread);
	gathering->wrong |= !right;
	if (right) {
		gathering->wrong |= gathering->complete[file] > 0;
		gathering->complete[file] += is_last;
		gathering->got[file] += bytes;
		/* The last call reports all bytes, or none. */
		gathering->wrong |= is_last && gathering->parts[file] > 0 && bytes > 0;
		gathering->wrong |= !is_last && dwarfs_part_count(part) == 0;
		gathering->parts[file]++;
	}
	if (gathering->stop_after > 0 && --gathering->stop_after == 0)
		ret = gathering->stop_with;
	leave_thread(gathering, thread);
	if (ret < 0)
		dwarfs_error_set(err, ret, 0, "no more parts");
	return ret;
}

static int take_part_failure(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
			     dwarfs_error **err, void *user)
{
	struct gathering *gathering = user;
	uint32_t file = inode.number - 1;

	enter_thread(gathering, thread);
	if (file < FILES)
		gathering->failed[file]++;
	gathering->wrong |= dwarfs_error_code(why) >= 0;
	leave_thread(gathering, thread);
	return 0;
}

static int count_report(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct gathering *gathering = user;

	gathering->reports++;
	return 0;
}

static uint64_t data_of(const struct world *world, uint32_t file)
{
	uint64_t bytes = 0;

	for (uint32_t i = world->table[file]; i < world->table[file + 1]; i++)
		if (world->chunks[i].block != HOLE_BLOCK)
			bytes += world->chunks[i].size;
	return bytes;
}

static void gather(const struct world *world, int trouble, uint32_t workers,
		   uint32_t more)
{
	struct gathering gathering = { .lock = PTHREAD_MUTEX_INITIALIZER,
				       .world = world };
	auto_test_task dwarfs_task *task = new_task(count_report, &gathering);
	dwarfs_context *context = context_with(trouble ? 0 : 64 << 20, workers);
	dwarfs_image *image = open_world((struct world *)world, context);
	dwarfs_inode inodes[2 * FILES + 2];
	size_t count = list_all(inodes);

	if (trouble) {
		inodes[count++] = DWARFS_ROOT_INODE;	    /* a directory */
		inodes[count++] = dwarfs_inode_at(1000000); /* nothing */
	} else {
		assert_true(dwarfs_prefetch(image, inodes, 20, NULL) == 20);
	}
	gathering.threads = dwarfs_read_parallel_threads(image, more);
	assert_int_equal(gathering.threads, workers + more ? workers + more : 1);
	assert_int_equal(dwarfs_read_parallel(image, inodes, count, more, take_part,
					      take_part_failure, &gathering, task, NULL),
			 0);
	assert_false(gathering.wrong);
	assert_true(gathering.reports > 0);
	for (uint32_t i = 0; i < FILES; i++) {
		bool bad = trouble && uses_block(world, i, BAD);

		assert_int_equal(gathering.complete[i], !bad);
		assert_int_equal(gathering.failed[i], bad);
		if (!bad)
			assert_int_equal(gathering.got[i], data_of(world, i));
	}
	assert_int_equal(gathering.parts[0],
			 trouble && uses_block(world, 0, BAD) ? 0 : 1);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void parts_come_from_any_thread(void **state)
{
	auto_world struct world world;

	make_world(&world, 0);
	for (uint32_t workers = 0; workers < 5; workers++)
		for (uint32_t more = 0; more < 4; more += 3)
			gather(&world, 0, workers, more);
}

static void damage_costs_the_parts_of_its_files_only(void **state)
{
	auto_world struct world world;

	make_world(&world, DAMAGED);
	for (uint32_t workers = 0; workers < 5; workers++)
		gather(&world, DAMAGED, workers, workers % 2);
}

static void a_part_can_stop(void **state)
{
	auto_world struct world world;

	make_world(&world, 0);
	for (int after = 1; after < 90; after += 11) {
		const int code = after % 2 ? DWARFS_ERR_NO_SPACE : 77;
		dwarfs_context *context = context_with(0, (uint32_t)after % 4);
		struct gathering gathering = { .lock = PTHREAD_MUTEX_INITIALIZER,
					       .world = &world,
					       .threads = MOST_THREADS,
					       .stop_after = after,
					       .stop_with = code };
		dwarfs_image *image = open_world(&world, context);
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);

		assert_int_equal(dwarfs_read_parallel(image, inodes, count, 0, take_part,
						      take_part_failure, &gathering, NULL,
						      &err),
				 code < 0 ? code : DWARFS_ERR_CANCELLED);
		assert_string_equal(dwarfs_error_message(err),
				    code < 0 ? "no more parts" : "cancelled");
		assert_false(gathering.wrong);
		assert_int_equal(dwarfs_read_parallel(image, inodes, 0, 0, take_part,
						      take_part_failure, &gathering, NULL,
						      &err),
				 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

static int note_reason(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
		       dwarfs_error **err, void *user)
{
	atomic_fetch_add((atomic_int *)user, 1);
	dwarfs_error_set(err, DWARFS_ERR_IO, 0, "noted");
	return 0;
}

/* The leak check verifies that it is freed. */
static void a_reason_without_a_stop_is_dropped(void **state)
{
	static const dwarfs_inode directory = { 0 };
	auto_world struct world world;
	dwarfs_context *context = context_with(0, 2);
	dwarfs_image *image;
	atomic_int failed = 0;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_read_parallel(image, &directory, 1, 0, take_part,
					      note_reason, &failed, NULL, NULL),
			 0);
	assert_int_equal(failed, 1);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void a_cancelled_task_stops(void **state)
{
	auto_test_task dwarfs_task *task = new_task(NULL, NULL);
	auto_world struct world world;

	make_world(&world, 0);
	dwarfs_task_cancel(task);
	for (uint32_t workers = 0; workers < 3; workers++) {
		struct gathering gathering = { .lock = PTHREAD_MUTEX_INITIALIZER,
					       .world = &world,
					       .threads = MOST_THREADS };
		dwarfs_context *context = context_with(0, workers);
		dwarfs_image *image = open_world(&world, context);
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);

		assert_int_equal(dwarfs_read_parallel(image, inodes, count, 0, take_part,
						      take_part_failure, &gathering, task,
						      NULL),
				 DWARFS_ERR_CANCELLED);
		assert_false(gathering.wrong);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_come_from_any_thread),
		cmocka_unit_test(damage_costs_the_parts_of_its_files_only),
		cmocka_unit_test(a_part_can_stop),
		cmocka_unit_test(a_reason_without_a_stop_is_dropped),
		cmocka_unit_test(a_cancelled_task_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
