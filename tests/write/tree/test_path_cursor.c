/* SPDX-License-Identifier: MIT */
/*
 * write/tree/path_cursor, write/input/directory_stack: a sequence of paths gives the same
 * result as each path alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/dir.h"
#include "os/file_io.h"
#include "support/temporary.h"
#include "write/input/directory_stack.h"
#include "write/items/assembly.h"
#include "write/tree/path_cursor.h"

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

/* -- trails -------------------------------------------------------------------------- */

/* Each entry is below one of the previous few, so that the tree gets deep. */
static void grow_tree(struct tree *tree, size_t count, uint32_t *random)
{
	struct os_stat stat = { .mode = 0040755 };
	uint32_t inode;
	char name[16];

	for (size_t i = 0; i < count; i++) {
		uint32_t near = next_random(random) % 4 + 1;
		uint32_t parent = i < 5 ? 0 : (uint32_t)i - near;

		snprintf(name, sizeof(name), "%u", next_random(random) % 1000);
		assert_int_equal(dw_tree_add_inode(tree, &stat, false, &inode, NULL), 0);
		assert_int_equal(
			dw_tree_add_entry(tree, parent, span_of(name), inode, NULL), 0);
	}
}

static void trails_lead_where_paths_do(void **state)
{
	enum { ENTRIES = 3000, QUESTIONS = 8000 };
	struct path_cursor cursor = { 0 };
	struct buffer path = { 0 };
	struct tree tree = { 0 };
	uint32_t random = 7;

	(void)state;
	grow_tree(&tree, ENTRIES, &random);
	for (uint32_t i = 0; i < QUESTIONS; i++) {
		uint32_t entry = i < ENTRIES ? i : next_random(&random) % ENTRIES;

		assert_int_equal(dw_tree_path(&tree, entry, &path, NULL), 0);
		assert_int_equal(dw_path_cursor_go(&cursor, &tree, entry, NULL), 0);
		assert_string_equal((const char *)cursor.path.data,
				    (const char *)path.data);
		assert_int_equal(cursor.path.size, path.size);
		/* The caller may overwrite the bytes after the path. */
		assert_int_equal(dw_buffer_append(&cursor.path, "/x", 3, NULL), 0);
	}
	dw_path_cursor_free(&cursor);
	dw_buffer_free(&path);
	dw_tree_free(&tree);
}

/* -- ways ---------------------------------------------------------------------------- */

#define NAMES  3
#define PLACES (NAMES + NAMES * NAMES + NAMES * NAMES * NAMES)

enum place { PLACE_NONE, PLACE_FILE, PLACE_DIR };

/* The simplest implementation of an assembly. */
struct model {
	char paths[PLACES][8];
	enum place places[PLACES];
};

static void name_places(struct model *model)
{
	size_t count = 0;

	for (int a = 0; a < NAMES; a++)
		snprintf(model->paths[count++], 8, "%c", 'a' + a);
	for (size_t i = 0; i < NAMES + NAMES * NAMES; i++) {
		char parent[8];

		memcpy(parent, model->paths[i], sizeof(parent));
		for (int a = 0; a < NAMES; a++)
			snprintf(model->paths[count++], 8, "%.5s/%c", parent, 'a' + a);
	}
	assert_int_equal(count, PLACES);
}

static bool is_below(const char *path, const char *top)
{
	size_t bytes = strlen(top);

	return strncmp(path, top, bytes) == 0 && path[bytes] == '/';
}

static void model_clear(struct model *model, const char *path)
{
	for (size_t i = 0; i < PLACES; i++)
		if (is_below(model->paths[i], path))
			model->places[i] = PLACE_NONE;
}

/* Whether it can be added there. */
static bool model_put(struct model *model, size_t place, enum place what)
{
	const char *path = model->paths[place];

	for (size_t i = 0; i < PLACES; i++)
		if (is_below(path, model->paths[i]) && model->places[i] == PLACE_FILE)
			return false;
	for (size_t i = 0; i < PLACES; i++)
		if (is_below(path, model->paths[i]))
			model->places[i] = PLACE_DIR;
	if (what != PLACE_DIR)
		model_clear(model, path);
	model->places[place] = what;
	return true;
}

static void put_at(struct assembly *assembly, struct model *model, size_t place,
		   enum place what)
{
	struct record record = {
		.kind = RECORD_PLAIN,
		.mode = what == PLACE_DIR ? 0040700 : 0100644,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
	};
	uint32_t number, node;
	int ret;

	assert_int_equal(dw_assembly_add_record(assembly, &record, &number, NULL), 0);
	ret = dw_assembly_put(assembly, span_of(model->paths[place]), number, &node,
			      NULL);
	if (ret < 0)
		dw_assembly_drop_record(assembly, number);
	assert_int_equal(ret, model_put(model, place, what) ? 0 : DWARFS_ERR_NOT_DIR);
}

static void must_agree(const struct assembly *assembly, const struct model *model)
{
	for (size_t i = 0; i < PLACES; i++) {
		uint32_t node = dw_assembly_find(assembly, span_of(model->paths[i]));
		uint64_t below = 0;

		assert_int_equal(node != DW_NONE, model->places[i] != PLACE_NONE);
		if (node == DW_NONE)
			continue;
		assert_int_equal(dw_assembly_is_directory(assembly, node),
				 model->places[i] == PLACE_DIR);
		for (size_t j = 0; j < PLACES; j++)
			below += model->places[j] != PLACE_NONE &&
				 is_below(model->paths[j], model->paths[i]);
		assert_int_equal(dw_assembly_count_below(assembly, node, false), below);
	}
}

static void ways_are_forgotten_in_time(void **state)
{
	struct assembly *assembly = NULL;
	struct model model = { 0 };
	uint32_t random = 3;

	(void)state;
	name_places(&model);
	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	for (int i = 0; i < 4000; i++) {
		size_t place = next_random(&random) % PLACES;
		uint32_t what = next_random(&random) % 8, node;

		if (what < 7) {
			put_at(assembly, &model, place,
			       what < 3 ? PLACE_FILE : PLACE_DIR);
		} else {
			node = dw_assembly_find(assembly, span_of(model.paths[place]));
			assert_int_equal(node != DW_NONE,
					 model.places[place] != PLACE_NONE);
			if (node != DW_NONE)
				dw_assembly_remove(assembly, node);
			model_clear(&model, model.paths[place]);
			model.places[place] = PLACE_NONE;
		}
		must_agree(assembly, &model);
	}
	dw_assembly_free(assembly);
}

/* -- depths -------------------------------------------------------------------------- */

/* A path of this many levels, with a sibling directory at each. */
#define LEVELS 3000

static int make_comb(const char *root)
{
	int at;

	assert_int_equal(dw_dir_open(root, &at), 0);
	for (int i = 0; i < LEVELS; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		assert_int_equal(mkdirat(at, "s", 0700), 0);
		assert_int_equal(dw_dir_open_at(at, "d", &next), 0);
		dw_fd_close(at);
		at = next;
	}
	return at;
}

static void remove_comb(int at, const char *root)
{
	for (int i = 0; i < LEVELS; i++) {
		int above;

		assert_int_equal(dw_dir_open_at(at, "..", &above), 0);
		dw_fd_close(at);
		at = above;
		assert_int_equal(unlinkat(at, "d", AT_REMOVEDIR), 0);
		assert_int_equal(unlinkat(at, "s", AT_REMOVEDIR), 0);
	}
	dw_fd_close(at);
	assert_int_equal(rmdir(root), 0);
}

static uint64_t inode_below(int fd, const char *path)
{
	struct os_stat stat;
	int found;

	assert_int_equal(dw_dir_open_at(fd, path, &found), 0);
	assert_int_equal(dw_stat_fd(found, &stat), 0);
	dw_fd_close(found);
	return stat.inode;
}

static void look(struct directory_stack *depth, char *path, int root)
{
	struct os_stat stat;
	int fd;

	assert_int_equal(dw_directory_stack_open(depth, path, strlen(path), &fd), 0);
	assert_int_equal(dw_stat_fd(fd, &stat), 0);
	assert_int_equal(stat.inode, inode_below(root, path));
	assert_in_range(depth->count, 1, DIRECTORY_STACK_SLOTS);
}

static void depths_find_what_is_there(void **state)
{
	static char path[2 * LEVELS + 2];
	char root[TEMPORARY_BYTES];
	struct directory_stack depth = { 0 };
	int bottom, fd;

	(void)state;
	assert_non_null(temporary_folder(root, "dwarfs-depth"));
	bottom = make_comb(root);
	assert_int_equal(dw_dir_open(root, &depth.root_fd), 0);
	assert_int_equal(dw_directory_stack_open(&depth, path, 0, &fd), 0);
	assert_int_equal(fd, depth.root_fd);
	for (int i = 0; i < LEVELS; i++) {
		path[2 * i] = 'd';
		path[2 * i + 1] = '\0';
		if (i % 10 == 0 || i > LEVELS - 10)
			look(&depth, path, depth.root_fd);
		else
			assert_int_equal(
				dw_directory_stack_open(&depth, path, strlen(path), &fd),
				0);
		path[2 * i + 1] = '/';
	}
	for (int i = LEVELS; i-- > 0;) {
		path[2 * i] = 's';
		path[2 * i + 1] = '\0';
		if (i % 10 == 0)
			look(&depth, path, depth.root_fd);
		else
			assert_int_equal(
				dw_directory_stack_open(&depth, path, strlen(path), &fd),
				0);
	}
	strcpy(path, "gone");
	assert_int_equal(dw_directory_stack_open(&depth, path, 4, &fd), -ENOENT);
	dw_directory_stack_free(&depth);
	remove_comb(bottom, root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trails_lead_where_paths_do),
		cmocka_unit_test(ways_are_forgotten_in_time),
		cmocka_unit_test(depths_find_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
