/* SPDX-License-Identifier: MIT */
#include "read/known.h"

#include <stdio.h>

#include "format/thrift.h"

#include <dwarfs/salvage.h>

/* The sections of the known image, but for its index. */
const struct known_part parts[3] = {
	{ DWARFS_SECTION_BLOCK, 64, 3 },
	{ DWARFS_SECTION_SCHEMA, ONE_FILE_SCHEMA + 64, 552 },
	{ DWARFS_SECTION_METADATA, ONE_FILE_METADATA + 64, 36 },
};

dwarfs_image *open_one_file(void)
{
	dwarfs_image *image = NULL;

	assert_int_equal(craft_try(one_file, sizeof(one_file), NULL, &image, NULL), 0);
	return image;
}

dwarfs_image *open_for_salvage(const void *bytes, size_t size, int mode)
{
	dwarfs_context *context = quiet_context();
	auto_error dwarfs_error *err = NULL;
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_salvage(options, mode);
	assert_int_equal(dwarfs_io_from_memory(bytes, size, NULL, NULL, &io, NULL), 0);
	if (dwarfs_image_open_io(context, io, options, &image, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return image;
}

void add_part(struct craft *craft, int part)
{
	craft_section(craft, parts[part].type, 0, one_file + parts[part].at,
		      parts[part].size);
}

void find(enum dwarfs_finding severity, int code, int64_t section, const char *message,
	  void *user)
{
	struct findings *findings = user;

	if (severity == DWARFS_FINDING_ERROR)
		findings->errors++;
	else
		findings->warnings++;
	findings->silent += !message || !*message || (severity && code == 0);
}

dwarfs_context *quiet_context(void)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	return context;
}

void assert_reads_hi(const dwarfs_image *image)
{
	dwarfs_entry entry;
	char text[8];
	size_t got;

	assert_int_equal(dwarfs_find(image, "a.txt", &entry, NULL), 0);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), text, 8, 0, &got, NULL),
			 0);
	assert_int_equal(got, 3);
	assert_memory_equal(text, "hi\n", 3);
}

void add_history(struct craft *craft, uint64_t steps, size_t text)
{
	auto_buffer struct buffer out = { 0 };
	auto_free char *bytes = dw_calloc(text + 1, 1);
	struct thrift_writer writer;

	memset(bytes, 't', text);
	dw_thrift_put_start(&writer, &out);
	dw_thrift_put_list(&writer, 1, THRIFT_LIST, THRIFT_STRUCT, steps);
	for (uint64_t i = 0; i < steps; i++) {
		int32_t saved = dw_thrift_put_begin(&writer, 0);

		if (text)
			dw_thrift_put_string(&writer, 2, bytes, text);
		dw_thrift_put_end(&writer, saved);
	}
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
	craft_section(craft, DWARFS_SECTION_HISTORY, 0, out.data, out.size);
}

static void exercise_inode(dwarfs_image *image, dwarfs_inode inode)
{
	char text[DWARFS_LINK_BUFFER_BYTES], bytes[64];
	dwarfs_file *file = NULL;
	dwarfs_inode parent;
	dwarfs_entry first;
	uint64_t offset;
	uint32_t count;
	size_t got;

	dwarfs_dir_range(image, inode, &first, &count, NULL);
	dwarfs_dir_parent(image, inode, &parent, NULL);
	dwarfs_dir_find(image, inode, "a.txt", 5, &first, NULL);
	dwarfs_link_read(image, inode, text, sizeof(text), NULL, NULL);
	dwarfs_read(image, inode, bytes, sizeof(bytes), 1, &got, NULL);
	if (dwarfs_file_open(image, inode, &file, NULL) < 0)
		return;
	dwarfs_file_read(file, bytes, sizeof(bytes), 0, &got, NULL);
	dwarfs_file_seek_hole(file, 0, &offset, NULL);
	dwarfs_file_seek_data(file, 0, &offset, NULL);
	dwarfs_file_free(file);
}

static void exercise_walk(dwarfs_image *image, int order)
{
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	uint32_t steps = 0;

	if (dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, order, &walk, NULL) < 0)
		return;
	while (dwarfs_walk_next(walk, &entry, NULL) > 0)
		assert_true(steps++ < dwarfs_image_entry_count(image));
	dwarfs_walk_next(walk, &entry, NULL); /* also after the end, or an error */
	dwarfs_walk_free(walk);
}

void exercise(dwarfs_image *image)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_stat *stat = NULL;
	dwarfs_history *history = NULL;
	dwarfs_inode inode;
	uint64_t value;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	exercise_walk(image, DWARFS_WALK_TREE);
	exercise_walk(image, DWARFS_WALK_DATA);
	for (uint32_t i = 0; i < 10 && i <= dwarfs_image_entry_count(image); i++) {
		dwarfs_entry_name(image, dwarfs_entry_at(i), name, sizeof(name), NULL,
				  NULL);
		dwarfs_entry_inode(image, dwarfs_entry_at(i), &inode, NULL);
		dwarfs_entry_stat(image, dwarfs_entry_at(i), stat, NULL);
		dwarfs_inode_stat(image, dwarfs_inode_at(i), stat, NULL);
		exercise_inode(image, dwarfs_inode_at(i));
	}
	for (uint32_t i = 0; i < dwarfs_image_section_count(image); i++)
		for (int field = 0; field < 6; field++)
			dwarfs_image_section(image, i, field, &value, NULL);
	if (dwarfs_history_new(image, &history, NULL) == 0)
		dwarfs_history_free(history);
	dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL, NULL);
	dwarfs_stat_free(stat);
}
