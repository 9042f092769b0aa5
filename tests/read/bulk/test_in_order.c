/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/in_order: all files in the order of their data, by dwarfs_read_in_order().
 */
#include "read/bulk/world.h"
#include "support/task.h"

struct reading {
	int code; /* expected code of failures; 0: CHECKSUM */
	const struct world *world;
	uint64_t got[FILES];
	int complete[FILES], failed[FILES];
	uint32_t last_block;
	bool wrong, out_of_order;
	int stop_after, stop_with;
};

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	struct reading *reading = user;
	uint32_t file = inode.number - 1;

	reading->wrong |=
		file >= FILES || reading->complete[file] || reading->failed[file];
	if (reading->wrong)
		return DWARFS_ERR_INVALID;
	if (bytes == 0) {
		reading->complete[file]++;
		reading->wrong |= data || offset != size_of(reading->world, file) ||
				  reading->got[file] != offset;
		return 0;
	}
	reading->got[file] += bytes;
	reading->wrong |= !is_right(reading->world, file, data, bytes, offset);
	if (data) {
		/* A byte of the piece identifies its block. */
		uint64_t at = 0;
		uint32_t i = reading->world->table[file];

		while (at + bytes_of(&reading->world->chunks[i]) <= offset)
			at += bytes_of(&reading->world->chunks[i++]);
		reading->out_of_order |=
			reading->world->chunks[i].block < reading->last_block;
		reading->last_block = reading->world->chunks[i].block;
	}
	if (reading->stop_after == 0 || --reading->stop_after > 0)
		return 0;
	if (reading->stop_with < 0)
		dwarfs_error_set(err, reading->stop_with, 0, "no more pieces");
	return reading->stop_with;
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			void *user)
{
	struct reading *reading = user;
	uint32_t file = inode.number - 1;

	if (file >= FILES) {
		reading->wrong |= dwarfs_error_code(why) >= 0;
		return 0;
	}
	reading->failed[file]++;
	reading->wrong |= reading->complete[file] ||
			  dwarfs_error_code(why) !=
				  (reading->code ? reading->code : DWARFS_ERR_CHECKSUM);
	return 0;
}

static void all_pieces_come_in_order(void **state)
{
	static const uint64_t budgets[] = { 0, 600000, 64 << 20 };

	for (uint32_t workers = 0; workers < 5; workers += 2) {
		for (size_t b = 0; b < 3; b++) {
			auto_world struct world world;
			dwarfs_context *context = context_with(budgets[b], workers);
			struct reading reading = { .world = &world };
			dwarfs_inode inodes[2 * FILES];
			size_t count = list_all(inodes);
			dwarfs_image *image;

			make_world(&world, 0);
			image = open_world(&world, context);
			if (b == 2) /* a part of it is cached already */
				assert_true(dwarfs_prefetch(image, inodes, 20, NULL) ==
					    20);
			assert_int_equal(dwarfs_read_in_order(image, inodes, count,
							      take_piece, take_failure,
							      &reading, NULL, NULL),
					 0);
			assert_false(reading.wrong);
			assert_false(reading.out_of_order);
			for (uint32_t i = 0; i < FILES; i++)
				assert_int_equal(reading.complete[i], 1);
			assert_true(count_of(context, DWARFS_CACHE_MOST_USED) <=
				    budgets[b]);
			dwarfs_context_free(context);
			dwarfs_image_free(image);
		}
	}
}

/* A block that is shorter than some chunks require. */
static void chunks_behind_the_end_cost_their_files_only(void **state)
{
	for (uint32_t workers = 0; workers < 3; workers++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(0, workers);
		struct reading reading = { .world = &world, .code = DWARFS_ERR_CORRUPT };
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		uint32_t failed = 0;
		dwarfs_image *image;

		make_world(&world, SHORT);
		image = open_world(&world, context);
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, NULL, NULL),
				 0);
		assert_false(reading.wrong);
		for (uint32_t i = 0; i < FILES; i++) {
			bool bad = false;

			for (uint32_t k = world.table[i]; k < world.table[i + 1]; k++)
				bad |= world.chunks[k].block == BLOCKS - 1 &&
				       world.chunks[k].offset + world.chunks[k].size >
					       SHORT_BYTES;
			assert_int_equal(reading.failed[i], bad);
			assert_int_equal(reading.complete[i], !bad);
			failed += bad;
		}
		assert_true(failed >= 2 && failed < SMALL / BLOCKS);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

static void damage_costs_its_files_only(void **state)
{
	for (uint32_t workers = 0; workers < 4; workers++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(0, workers);
		struct reading reading = { .world = &world };
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		dwarfs_image *image;

		make_world(&world, DAMAGED);
		image = open_world(&world, context);
		inodes[count++] = DWARFS_ROOT_INODE;	    /* a directory */
		inodes[count++] = dwarfs_inode_at(1000000); /* nothing */
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, NULL, NULL),
				 0);
		assert_false(reading.wrong);
		for (uint32_t i = 0; i < FILES; i++) {
			bool bad = uses_block(&world, i, BAD);

			assert_int_equal(reading.failed[i], bad);
			assert_int_equal(reading.complete[i], !bad);
		}
		/* Without a callback for failures the first one ends the reading. */
		memset(&reading, 0, sizeof(reading));
		reading.world = &world;
		assert_int_equal(dwarfs_read_in_order(image, inodes, FILES, take_piece,
						      NULL, &reading, NULL, &err),
				 DWARFS_ERR_CHECKSUM);
		assert_non_null(err);
		assert_false(reading.wrong);
		assert_int_equal(dwarfs_read_in_order(image, &inodes[count - 2], 1,
						      take_piece, NULL, &reading, NULL,
						      NULL),
				 DWARFS_ERR_IS_DIR);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

static int refuse_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			  void *user)
{
	return dwarfs_error_set(err, DWARFS_ERR_LIMIT, 0, "one failure is enough");
}

static void a_failure_can_stop(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(0, 2);
	struct reading reading = { .world = &world };
	auto_error dwarfs_error *err = NULL;
	dwarfs_inode inodes[2 * FILES];
	size_t count = list_all(inodes);
	dwarfs_image *image;

	make_world(&world, DAMAGED);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
					      refuse_failure, &reading, NULL, &err),
			 DWARFS_ERR_LIMIT);
	assert_string_equal(dwarfs_error_message(err), "one failure is enough");
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static int note_read(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	*(uint64_t *)user = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	return dwarfs_progress_phase(progress) == DWARFS_PHASE_READ ||
			       dwarfs_progress_phase(progress) == DWARFS_PHASE_DONE
		       ? 0
		       : DWARFS_ERR_INVALID;
}

static void a_task_reports_and_cancels(void **state)
{
	uint64_t done = 0, sum = 0;
	auto_test_task dwarfs_task *task = new_task(note_read, &done);
	auto_world struct world world;
	dwarfs_context *context = context_with(0, 2);
	struct reading reading = { .world = &world };
	dwarfs_inode inodes[2 * FILES];
	size_t count = list_all(inodes);
	dwarfs_image *image;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
					      take_failure, &reading, task, NULL),
			 0);
	for (uint32_t i = 0; i < FILES; i++)
		sum += size_of(&world, i);
	assert_int_equal(done, sum);
	dwarfs_task_cancel(task);
	assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
					      take_failure, &reading, task, NULL),
			 DWARFS_ERR_CANCELLED);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void a_callback_can_stop(void **state)
{
	for (int after = 1; after < 40; after += 6) {
		const int code = after % 4 == 3 ? DWARFS_ERR_NO_SPACE : 77;
		auto_world struct world world;
		dwarfs_context *context = context_with(0, 3);
		struct reading reading = { .world = &world,
					   .stop_after = after,
					   .stop_with = code };
		auto_error dwarfs_error *err = NULL;
		dwarfs_inode inodes[2 * FILES];
		size_t count = list_all(inodes);
		dwarfs_image *image;

		make_world(&world, 0);
		image = open_world(&world, context);
		assert_int_equal(dwarfs_read_in_order(image, inodes, count, take_piece,
						      take_failure, &reading, NULL, &err),
				 code < 0 ? code : DWARFS_ERR_CANCELLED);
		assert_int_equal(reading.stop_after, 0);
		assert_string_equal(dwarfs_error_message(err),
				    code < 0 ? "no more pieces" : "cancelled");
		dwarfs_context_free(context);
		dwarfs_image_free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pieces_come_in_order),
		cmocka_unit_test(chunks_behind_the_end_cost_their_files_only),
		cmocka_unit_test(damage_costs_its_files_only),
		cmocka_unit_test(a_callback_can_stop),
		cmocka_unit_test(a_failure_can_stop),
		cmocka_unit_test(a_task_reports_and_cancels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
