/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembled_tree: the tree made of items, in the order of a scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/input/entry_import.h"
#include "write/items/assembly.h"
#include "write/options/filter.h"

struct lab {
	dwarfs_builder *builder;
	struct tree tree;
	struct build_run run;
	struct entry_import import;
	char log[1000];
};

static void keep_message(enum dwarfs_log_level level, const char *message, void *user)
{
	struct lab *lab = user;

	(void)level;
	strncat(lab->log, message, sizeof(lab->log) - strlen(lab->log) - 1);
}

static void begin(struct lab *lab)
{
	dwarfs_context *context = NULL;

	*lab = (struct lab){ 0 };
	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(
		dwarfs_context_set_log(context, DWARFS_LOG_WARN, keep_message, lab, NULL),
		0);
	assert_int_equal(dwarfs_builder_new(context, &lab->builder, NULL), 0);
	dwarfs_context_free(context);
}

static void end(struct lab *lab)
{
	dw_entry_import_free(&lab->import);
	dw_tree_free(&lab->tree);
	dwarfs_builder_free(lab->builder);
}

static void add_item(struct lab *lab, const char *path, dwarfs_item *item)
{
	assert_int_equal(
		dwarfs_builder_add_item(lab->builder, path, strlen(path), item, NULL), 0);
	dwarfs_item_free(item);
}

static dwarfs_item *item_of(uint32_t mode)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(mode, &item, NULL), 0);
	return item;
}

static void add_file(struct lab *lab, const char *path, const char *text)
{
	dwarfs_item *item = item_of(0100644);

	assert_int_equal(dwarfs_item_set_memory(item, text, strlen(text), NULL), 0);
	add_item(lab, path, item);
}

static void add_link(struct lab *lab, const char *path, const char *target)
{
	dwarfs_item *item = item_of(0100644);

	assert_int_equal(dwarfs_item_set_hard_link(item, target, strlen(target), NULL),
			 0);
	add_item(lab, path, item);
}

static int make_tree(struct lab *lab, dwarfs_error **err)
{
	lab->run = (struct build_run){ .context = lab->builder->context,
				       .options = &lab->builder->options,
				       .counts = lab->builder->counts,
				       .root_path = "items",
				       .assembly = lab->builder->assembly };
	dw_progress_start(&lab->run.progress, NULL);
	lab->import = (struct entry_import){
		.run = &lab->run, .tree = &lab->tree, .devices = true, .specials = true
	};
	return dw_assembly_to_tree(&lab->run, &lab->tree, &lab->import, err);
}

/* All paths in the order of entries, between spaces. */
static const char *paths_of(const struct lab *lab)
{
	static char text[1000];

	text[0] = '\0';
	for (uint32_t i = 1; i < lab->tree.entry_count; i++) {
		auto_buffer struct buffer path = { 0 };

		assert_int_equal(dw_tree_path(&lab->tree, i, &path, NULL), 0);
		strcat(text, i > 1 ? " " : "");
		strcat(text, (const char *)path.data);
	}
	return text;
}

static const struct tree_inode *inode_at(const struct lab *lab, uint32_t entry)
{
	return &lab->tree.inodes[lab->tree.entries[entry].inode];
}

static void entries_are_in_the_order_of_a_scan(void **state)
{
	struct lab lab;

	begin(&lab);
	add_file(&lab, "b/y", "12");
	add_file(&lab, "c", "");
	add_file(&lab, "b/x/deep", "1");
	add_file(&lab, "a/z", "123");
	add_file(&lab, "a.txt", "");
	assert_int_equal(make_tree(&lab, NULL), 0);
	assert_string_equal(paths_of(&lab), "a a.txt b c a/z b/x b/y b/x/deep");
	assert_int_equal(lab.tree.directory_count, 4);
	assert_int_equal(lab.tree.directories[1].entry, 1);
	assert_int_equal(lab.tree.directories[1].first_entry, 5);
	assert_int_equal(lab.tree.directories[2].first_entry, 6);
	assert_int_equal(lab.tree.directories[3].first_entry, 8);
	assert_int_equal(inode_at(&lab, 5)->size, 3);
	assert_int_equal(inode_at(&lab, 7)->size, 2);
	assert_int_equal(lab.builder->counts[DWARFS_COUNT_BYTES_IN], 6);
	assert_int_equal(lab.run.progress.items_done, 9);
	end(&lab);
}

static void attributes_are_those_of_the_item(void **state)
{
	dwarfs_item *link = item_of(0120777), *device = item_of(0020600);
	struct span target;
	struct lab lab;

	begin(&lab);
	lab.builder->options.keep_all_times = true;
	dwarfs_item_set_owner(link, 7, 8);
	dwarfs_item_set_time(link, DWARFS_MTIME, 100, 5);
	dwarfs_item_set_time(link, DWARFS_ATIME, 200, 6);
	assert_int_equal(dwarfs_item_set_target(link, "to", 2, NULL), 0);
	add_item(&lab, "link", link);
	dwarfs_item_set_device(device, 5, 1);
	add_item(&lab, "device", device);
	assert_int_equal(make_tree(&lab, NULL), 0);
	assert_string_equal(paths_of(&lab), "device link");
	assert_int_equal(inode_at(&lab, 0)->mode, 0040755);
	assert_int_equal(inode_at(&lab, 1)->size, 0x501);
	assert_int_equal(inode_at(&lab, 2)->uid, 7);
	assert_int_equal(inode_at(&lab, 2)->gid, 8);
	assert_int_equal(inode_at(&lab, 2)->mtime, 100);
	assert_int_equal(inode_at(&lab, 2)->mtime_ns, 5);
	assert_int_equal(lab.tree.times[lab.tree.entries[2].inode].atime.seconds, 200);
	target = dw_string_set_at(&lab.tree.targets, inode_at(&lab, 2)->target);
	assert_int_equal(target.size, 2);
	assert_memory_equal(target.data, "to", 2);
	end(&lab);
}

/* Also those that were added before their target; one without a target is an error. */
static void hard_links_share_an_inode(void **state)
{
	struct lab lab;

	begin(&lab);
	add_link(&lab, "early", "file");
	add_file(&lab, "file", "text");
	add_link(&lab, "late", "file");
	add_link(&lab, "lost", "nowhere");
	assert_int_equal(make_tree(&lab, NULL), 0);
	assert_string_equal(paths_of(&lab), "early file late");
	assert_int_equal(inode_at(&lab, 1)->links, 3);
	assert_ptr_equal(inode_at(&lab, 1), inode_at(&lab, 2));
	assert_ptr_equal(inode_at(&lab, 1), inode_at(&lab, 3));
	assert_int_equal(lab.builder->counts[DWARFS_COUNT_ERRORS], 1);
	assert_non_null(strstr(lab.log, "lost"));
	end(&lab);
}

struct report {
	char text[200];
	int stop_at; /* the call that fails; 0: none */
	int calls;
};

static int take_report(const char *path, bool is_directory, bool is_included,
		       dwarfs_error **why, void *user)
{
	struct report *report = user;

	(void)why;
	strcat(report->text, is_included ? "+" : "-");
	strcat(report->text, path);
	strcat(report->text, is_directory ? "/ " : " ");
	return ++report->calls == report->stop_at ? DWARFS_ERR_LIMIT : 0;
}

static void rules_apply(void **state)
{
	struct report report = { .stop_at = 0 };
	struct lab lab;

	begin(&lab);
	add_file(&lab, "a/x.c", "");
	add_file(&lab, "a/x.o", "");
	add_file(&lab, "b/y.c", "");
	assert_int_equal(dwarfs_builder_add_filter(lab.builder, "- *.o", NULL), 0);
	assert_int_equal(dwarfs_builder_add_filter(lab.builder, "- /b/", NULL), 0);
	dwarfs_builder_set_filter_report(lab.builder, take_report, &report);
	assert_int_equal(make_tree(&lab, NULL), 0);
	assert_string_equal(paths_of(&lab), "a a/x.c");
	assert_string_equal(report.text, "+a/ -b/ +a/x.c -a/x.o ");
	end(&lab);
}

static void a_report_can_stop_the_run(void **state)
{
	struct report report = { .stop_at = 2 };
	struct lab lab;

	begin(&lab);
	add_file(&lab, "a", "");
	add_file(&lab, "b", "");
	add_file(&lab, "c", "");
	dwarfs_builder_set_filter_report(lab.builder, take_report, &report);
	assert_int_equal(make_tree(&lab, NULL), DWARFS_ERR_LIMIT);
	assert_int_equal(report.calls, 2);
	end(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_in_the_order_of_a_scan),
		cmocka_unit_test(attributes_are_those_of_the_item),
		cmocka_unit_test(hard_links_share_an_inode),
		cmocka_unit_test(rules_apply),
		cmocka_unit_test(a_report_can_stop_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
