/* SPDX-License-Identifier: MIT */
/*
 * api/items: see items.h.
 */
#include "items.h"

/* -- building ------------------------------------------------------------------------ */

/* A builder whose images are reproducible. */
dwarfs_builder *new_plain_builder(void)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_new(NULL, &builder, &err), err);
	assert_success(dwarfs_builder_set_level(builder, 1, &err), err);
	assert_success(dwarfs_builder_set_block_bits(builder, BLOCK_BITS, &err), err);
	dwarfs_builder_set_history(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	dwarfs_builder_set_devices(builder, true);
	dwarfs_builder_set_specials(builder, true);
	return builder;
}

dwarfs_item *new_item(uint32_t mode)
{
	dwarfs_item *item = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_item_new(mode, &item, &err), err);
	return item;
}

int add_item(dwarfs_builder *builder, const char *path, const dwarfs_item *item,
	     dwarfs_error **err)
{
	return dwarfs_builder_add_item(builder, path, strlen(path), item, err);
}

void add(dwarfs_builder *builder, const char *path, dwarfs_item *item)
{
	dwarfs_error *err = NULL;

	assert_success(add_item(builder, path, item, &err), err);
	dwarfs_item_free(item);
}

void add_bytes(dwarfs_builder *builder, const char *path, const void *data, size_t bytes)
{
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;

	assert_success(dwarfs_item_set_memory(item, data, bytes, &err), err);
	add(builder, path, item);
}

void add_text(dwarfs_builder *builder, const char *path, const char *text)
{
	add_bytes(builder, path, text, strlen(text));
}

int set_stream(dwarfs_item *item, int fd, dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_from_stream(fd, &io, err);

	if (ret == 0)
		ret = dwarfs_item_set_io(item, io, err);
	dwarfs_io_free(io);
	return ret;
}

int add_link(dwarfs_builder *builder, const char *path, const char *target,
	     dwarfs_error **err)
{
	dwarfs_item *item = new_item(FILE_MODE);
	int ret;

	assert_success(dwarfs_item_set_hard_link(item, target, strlen(target), err),
		       *err);
	ret = add_item(builder, path, item, err);
	dwarfs_item_free(item);
	return ret;
}

void hard_link(dwarfs_builder *builder, const char *path, const char *target)
{
	dwarfs_error *err = NULL;

	assert_success(add_link(builder, path, target, &err), err);
}

struct bytes run(dwarfs_builder *builder)
{
	struct bytes image = { 0 };
	dwarfs_error *err = NULL;

	assert_success(write_to_function(builder, append_bytes, &image, &err), err);
	return image;
}

/* Run, free the builder, open the image; its bytes are freed with it. */
dwarfs_image *finish(dwarfs_builder *builder, struct bytes *bytes)
{
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	*bytes = run(builder);
	dwarfs_builder_free(builder);
	assert_success(
		dwarfs_io_from_memory(bytes->data, bytes->size, NULL, NULL, &io, &err),
		err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	assert_success(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					  NULL, &err),
		       err);
	dwarfs_io_free(io);
	return image;
}

void end(dwarfs_image *image, struct bytes *bytes)
{
	dwarfs_image_free(image);
	free(bytes->data);
}

/* -- reading ------------------------------------------------------------------------- */

dwarfs_stat *stat_of(const dwarfs_image *image, const char *path)
{
	dwarfs_stat *stat = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_stat_new(&stat, &err), err);
	assert_success(dwarfs_entry_stat(image, find_entry(image, path), stat, &err),
		       err);
	return stat;
}

uint32_t mode_of(const dwarfs_image *image, const char *path)
{
	dwarfs_stat *stat = stat_of(image, path);
	uint32_t mode = dwarfs_stat_mode(stat);

	dwarfs_stat_free(stat);
	return mode;
}

bool exists(const dwarfs_image *image, const char *path)
{
	dwarfs_entry entry;

	return dwarfs_find(image, path, &entry, NULL) == 0;
}

void expect_bytes(const dwarfs_image *image, const char *path, const void *data,
		  size_t bytes)
{
	uint8_t *buffer = malloc(bytes + 2);
	dwarfs_error *err = NULL;
	size_t got = 0;

	assert_non_null(buffer);
	assert_success(dwarfs_read(image, find_inode(image, path), buffer, bytes + 1, 0,
				   &got, &err),
		       err);
	assert_int_equal(got, bytes);
	assert_memory_equal(buffer, data, bytes);
	free(buffer);
}

void expect_text(const dwarfs_image *image, const char *path, const char *text)
{
	expect_bytes(image, path, text, strlen(text));
}

void expect_same(struct bytes *a, struct bytes *b)
{
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->data, b->data, a->size);
	free(a->data);
	free(b->data);
}
