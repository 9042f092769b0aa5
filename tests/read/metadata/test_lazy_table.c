/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view and read/metadata/lazy_table: opening reads a few pages of the
 * metadata and builds no table, for any number of files. Pages are counted, no time is
 * measured: the metadata are in protected memory, and each page becomes readable at its
 * first access.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/section.h"
#include "read/image/image.h"
#include "read/metadata/chunk.h"
#include "read/metadata/chunk_sums.h"
#include "support/crowd.h"

#include <dwarfs/walk.h>

#define SECTION_START 64 /* bytes of a header */

/* -- pages that count ---------------------------------------------------------------- */

static struct {
	uint8_t *data;
	size_t bytes, page;
	volatile size_t touched;
	struct sigaction before;
} area;

static void let_in(int signal, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	if (at < area.data || at >= area.data + area.bytes) {
		sigaction(SIGSEGV, &area.before, NULL);
		return;
	}
	area.touched++;
	mprotect(area.data + (size_t)(at - area.data) / area.page * area.page, area.page,
		 PROT_READ);
}

static void area_new(const void *bytes, size_t size)
{
	struct sigaction action = { .sa_sigaction = let_in, .sa_flags = SA_SIGINFO };

	area.page = (size_t)sysconf(_SC_PAGESIZE);
	area.bytes = (size + DW_FROZEN_PADDING + area.page - 1) / area.page * area.page;
	area.data = mmap(NULL, area.bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(area.data != MAP_FAILED);
	memcpy(area.data, bytes, size);
	assert_int_equal(mprotect(area.data, area.bytes, PROT_NONE), 0);
	area.touched = 0;
	assert_int_equal(sigaction(SIGSEGV, &action, &area.before), 0);
}

static void area_free(void)
{
	sigaction(SIGSEGV, &area.before, NULL);
	munmap(area.data, area.bytes);
}

/* The number of pages accessed since the previous call. */
static size_t touched(void)
{
	size_t count = area.touched;

	area.touched = 0;
	return count;
}

/* -- very many files ----------------------------------------------------------------- */

static struct view *open_view(struct craft *craft, bool is_packed)
{
	struct view *view = NULL;
	uint64_t schema, metadata;

	crowd_craft(craft, is_packed);
	schema = craft->index[0] & DW_INDEX_OFFSET_MASK;
	metadata = craft->index[1] & DW_INDEX_OFFSET_MASK;
	area_new(craft->bytes.data + metadata + SECTION_START,
		 craft->bytes.size - metadata - SECTION_START);
	assert_int_equal(
		dw_view_new((struct span){ craft->bytes.data + schema + SECTION_START,
					   metadata - schema - SECTION_START },
			    (struct span){ area.data,
					   craft->bytes.size - metadata - SECTION_START },
			    1, &view, NULL),
		0);
	return view;
}

static void assert_nothing_made(const struct view *view)
{
	const struct lazy *all[] = {
		&view->first_entries, &view->chunk_numbers,    &view->shared_numbers,
		&view->names.offsets, &view->symlinks.offsets, &view->parents,
		&view->sums,	      &view->nlinks,	       &view->prints,
		&view->pivots,	      &view->entries,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_null(dw_lazy_items(all[i]));
}

/* Most of it is the binary search for the first inode of each class. */
#define PAGES_TO_OPEN	 40
#define PAGES_TO_STAT	 8
#define PAGES_TO_LOOK_UP 40

static void opening_looks_at_a_few_places(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		auto_craft struct craft craft = { 0 };
		auto_view struct view *view = open_view(&craft, packed);

		assert_true(area.bytes / area.page > 4 * PAGES_TO_OPEN);
		assert_in_range(touched(), 1, PAGES_TO_OPEN);
		assert_nothing_made(view);
		area_free();
	}
}

static void plain_tables_are_used_where_they_are(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_view struct view *view = open_view(&craft, false);
	struct dwarfs_stat stat;
	uint32_t first, count, entry;

	touched();
	assert_int_equal(dw_view_inode_stat(view, CROWD_FIRST + 54321, &stat, NULL), 0);
	assert_int_equal(stat.bytes, 1 + 54321 % 500);
	assert_in_range(touched(), 0, PAGES_TO_STAT);
	assert_int_equal(dw_view_dir_range(view, 1 + 543, &first, &count, NULL), 0);
	assert_int_equal(first, CROWD_FIRST + 543 * CROWD_FILES_OF_ONE);
	assert_int_equal(count, CROWD_FILES_OF_ONE);
	assert_in_range(touched(), 0, PAGES_TO_STAT);
	assert_nothing_made(view);
	assert_int_equal(
		dw_view_find_name(view, first, count, "f0055321", 8, &entry, NULL), 0);
	assert_int_equal(entry, CROWD_FIRST + 54321);
	assert_in_range(touched(), 0, PAGES_TO_LOOK_UP);
	area_free();
}

/* Each table is built when it is needed. */
static void packed_tables_are_unpacked_one_by_one(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_view struct view *view = open_view(&craft, true);
	struct dwarfs_stat stat;
	uint32_t first, count, entry;

	touched();
	assert_int_equal(dw_view_inode_stat(view, CROWD_FIRST + 54321, &stat, NULL), 0);
	assert_non_null(dw_lazy_items(&view->chunk_numbers));
	assert_null(dw_lazy_items(&view->first_entries));
	assert_null(dw_lazy_items(&view->names.offsets));
	assert_in_range(touched(), 0,
			PAGES_TO_STAT + (view->chunk_table.count *
					 view->chunk_table.stride / 8 / area.page));
	assert_int_equal(dw_view_inode_stat(view, CROWD_FIRST + 99, &stat, NULL), 0);
	assert_in_range(touched(), 0, PAGES_TO_STAT);
	assert_int_equal(dw_view_dir_range(view, 1 + 543, &first, &count, NULL), 0);
	assert_non_null(dw_lazy_items(&view->first_entries));
	assert_null(dw_lazy_items(&view->names.offsets));
	assert_int_equal(
		dw_view_find_name(view, first, count, "f0055321", 8, &entry, NULL), 0);
	assert_int_equal(entry, CROWD_FIRST + 54321);
	assert_non_null(dw_lazy_items(&view->names.offsets));
	assert_null(dw_lazy_items(&view->parents));
	assert_null(dw_lazy_items(&view->nlinks));
	area_free();
}

/* A file that has all chunks: every offset costs the same. */
static void places_among_many_chunks_are_found_at_once(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_view struct view *view = open_view(&craft, false);
	const struct chunk_range range = { 77, CROWD_FILES - 5 };
	uint64_t offset = 0, bytes;
	struct chunk_cursor cursor;

	assert_int_equal(dw_chunk_seek(view, range, NULL, 1, &cursor, NULL), 0);
	assert_non_null(dw_lazy_items(&view->sums));
	for (uint64_t index = range.first; index < range.end; index++) {
		uint64_t size = 1 + index % 500;

		if (index % 997 == 0) {
			assert_int_equal(mprotect(area.data, area.bytes, PROT_NONE), 0);
			touched();
			assert_int_equal(dw_chunk_seek(view, range, NULL,
						       offset + size - 1, &cursor, NULL),
					 0);
			assert_int_equal(cursor.index, index);
			assert_int_equal(cursor.skip, size - 1);
			assert_in_range(touched(), 1, PAGES_TO_STAT);
		}
		offset += size;
	}
	for (int i = 0; i < 3; i++) {
		const uint64_t behind[] = { offset, offset + 1, UINT64_MAX };

		assert_int_equal(
			dw_chunk_seek(view, range, NULL, behind[i], &cursor, NULL), 0);
		assert_int_equal(cursor.index, range.end);
	}
	touched();
	assert_int_equal(mprotect(area.data, area.bytes, PROT_NONE), 0);
	assert_true(dw_sums_between(view, range, &bytes));
	assert_int_equal(bytes, offset);
	assert_in_range(touched(), 1, PAGES_TO_STAT);
	area_free();
}

/* -- processes and threads ----------------------------------------------------------- */

#define FORK_SECONDS 20 /* after which a child that waits for its parent is ended */

/* A table, and a thread that builds it until it is told to go on. */
struct build {
	struct lazy lazy;
	atomic_int builds;
	atomic_bool may_end;
};

static int build_one(struct build *build, uint32_t **items_out)
{
	*items_out = dw_calloc(1, sizeof(**items_out));
	atomic_fetch_add(&build->builds, 1);
	return *items_out ? 0 : DWARFS_ERR_NOMEM;
}

static int build_slowly(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	struct build *build = (struct build *)owner;
	int ret = build_one(build, items_out);

	while (!atomic_load(&build->may_end))
		usleep(100);
	return ret;
}

static int build_at_once(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	return build_one((struct build *)owner, items_out);
}

static void *run_slow_build(void *argument)
{
	struct build *build = argument;

	assert_int_equal(dw_lazy_make(&build->lazy, build_slowly, build, NULL), 0);
	return NULL;
}

static void *run_quick_build(void *argument)
{
	struct build *build = argument;

	assert_int_equal(dw_lazy_make(&build->lazy, build_at_once, build, NULL), 0);
	return NULL;
}

/* A child has no thread that would end what a thread of its parent has started. */
static void a_child_builds_what_its_parent_is_building(void **state)
{
	struct build build = { .may_end = false };
	pthread_t first, second;
	int status = -1;
	pid_t child;

	assert_int_equal(pthread_create(&first, NULL, run_slow_build, &build), 0);
	while (atomic_load(&build.builds) == 0)
		usleep(100);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(FORK_SECONDS);
		if (dw_lazy_make(&build.lazy, build_at_once, &build, NULL) != 0 ||
		    !dw_lazy_items(&build.lazy) || atomic_load(&build.builds) != 2)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);

	assert_null(dw_lazy_items(&build.lazy));
	assert_int_equal(pthread_create(&second, NULL, run_quick_build, &build), 0);
	usleep(2000);
	atomic_store(&build.may_end, true);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	assert_non_null(dw_lazy_items(&build.lazy));
	assert_int_equal(atomic_load(&build.builds), 1);
	dw_lazy_free(&build.lazy);
}

/* -- images by other writers --------------------------------------------------------- */

static void open_one(const char *path, int verify, int *opened)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, verify);
	/* Some are damaged, and those of version 1 have no hashes. */
	if (dwarfs_image_open(NULL, path, options, &image, NULL) == 0 &&
	    !dw_image_is_v1(image)) {
		assert_nothing_made(image->view);
		(*opened)++;
	}
	dwarfs_image_free(image);
	dwarfs_image_options_free(options);
}

static void open_folder(const char *folder, int *opened)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			open_folder(path, opened);
		else if (strstr(entry->d_name, ".dwarfs")) {
			open_one(path, DWARFS_VERIFY_EAGER, opened);
			open_one(path, DWARFS_VERIFY_LAZY, opened);
		}
	}
	if (dir)
		closedir(dir);
}

static void no_image_has_its_tables_made(void **state)
{
	const char *data = getenv("DWARFS_TEST_DATA");
	char folder[4096];
	int opened = 0;

	snprintf(folder, sizeof(folder), "%s/images", data ? data : "");
	if (!data || access(folder, R_OK) < 0)
		skip();
	open_folder(folder, &opened);
	assert_in_range(opened, 10, INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening_looks_at_a_few_places),
		cmocka_unit_test(plain_tables_are_used_where_they_are),
		cmocka_unit_test(packed_tables_are_unpacked_one_by_one),
		cmocka_unit_test(places_among_many_chunks_are_found_at_once),
		cmocka_unit_test(a_child_builds_what_its_parent_is_building),
		cmocka_unit_test(no_image_has_its_tables_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
