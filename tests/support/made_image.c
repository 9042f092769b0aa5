/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "format/section.h"
#include "support/made_image.h"

void made_image_free(struct made_image *made)
{
	dwarfs_image_free(made->image);
	dw_buffer_free(&made->bytes);
	*made = (struct made_image){ 0 };
}

static void succeed(int ret, dwarfs_error *err)
{
	if (ret < 0)
		fail_msg("%s", dwarfs_error_message(err));
}

dwarfs_builder *made_builder(void)
{
	return made_builder_with_log(NULL, NULL);
}

dwarfs_builder *made_builder_with_log(dwarfs_log_fn log, void *user)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	assert_int_equal(
		dwarfs_context_set_log(context, DWARFS_LOG_WARN, log, user, NULL), 0);
	assert_int_equal(dwarfs_builder_new(context, &builder, NULL), 0);
	dwarfs_context_free(context);
	assert_int_equal(dwarfs_builder_set_level(builder, 0, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, MADE_BLOCK_BITS, NULL),
			 0);
	dwarfs_builder_set_history_timestamps(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	dwarfs_builder_set_devices(builder, true);
	dwarfs_builder_set_specials(builder, true);
	return builder;
}

void made_add(dwarfs_builder *builder, const char *path, const void *data, size_t bytes)
{
	dwarfs_item *item = NULL;
	dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	succeed(dwarfs_item_set_memory(item, data, bytes, &err), err);
	succeed(dwarfs_builder_add_item(builder, path, strlen(path), item, &err), err);
	dwarfs_item_free(item);
}

void made_add_text(dwarfs_builder *builder, const char *path, const char *text)
{
	made_add(builder, path, text, strlen(text));
}

static int append(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	return dw_buffer_append(user, data, bytes, err);
}

void made_open(struct made_image *made, enum dwarfs_verify mode)
{
	dwarfs_image_options *options = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	dwarfs_image_free(made->image);
	made->image = NULL;
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_verify(options, mode);
	assert_int_equal(dwarfs_io_from_memory(made->bytes.data, made->bytes.size, NULL,
					       NULL, &io, NULL),
			 0);
	succeed(dwarfs_image_open_io(NULL, io, options, &made->image, &err), err);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
}

void made_finish(dwarfs_builder *builder, struct made_image *made)
{
	dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;

	*made = (struct made_image){ 0 };
	assert_int_equal(dwarfs_sink_new(append, NULL, &made->bytes, &sink, NULL), 0);
	succeed(dwarfs_builder_write(builder, sink, &err), err);
	dwarfs_sink_free(sink);
	made_open(made, DWARFS_VERIFY_EAGER);
	succeed(dwarfs_image_check(made->image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
				   NULL, &err),
		err);
}

int made_rewrite(const struct made_image *from, uint32_t parts, dwarfs_builder *builder,
		 struct made_image *to, dwarfs_error **err)
{
	dwarfs_sink *sink = NULL;
	int ret;

	*to = (struct made_image){ 0 };
	assert_int_equal(dwarfs_sink_new(append, NULL, &to->bytes, &sink, NULL), 0);
	ret = dwarfs_rewrite(from->image, parts, builder, sink, err);
	dwarfs_sink_free(sink);
	return ret;
}

/* -- reading ------------------------------------------------------------------------- */

bool made_has(const struct made_image *made, const char *path)
{
	dwarfs_entry entry;

	return dwarfs_find(made->image, path, &entry, NULL) == 0;
}

dwarfs_inode made_inode(const struct made_image *made, const char *path)
{
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;

	succeed(dwarfs_find(made->image, path, &entry, &err), err);
	succeed(dwarfs_entry_inode(made->image, entry, &inode, &err), err);
	return inode;
}

void made_expect(const struct made_image *made, const char *path, const void *data,
		 size_t bytes)
{
	auto_free uint8_t *found = dw_malloc(bytes + 1);
	dwarfs_error *err = NULL;
	size_t got = 0;

	assert_non_null(found);
	succeed(dwarfs_read(made->image, made_inode(made, path), found, bytes + 1, 0,
			    &got, &err),
		err);
	assert_int_equal(got, bytes);
	assert_memory_equal(found, data, bytes);
}

void made_expect_text(const struct made_image *made, const char *path, const char *text)
{
	made_expect(made, path, text, strlen(text));
}

struct span made_section(const struct made_image *made, uint32_t type, uint32_t number)
{
	const struct buffer *bytes = &made->bytes;
	size_t at = 0;

	while (bytes->size - at >= DW_HEADER_BYTES) {
		struct section_header header;
		size_t size;

		assert_true(dw_section_header_parse(bytes->data + at, &header));
		size = DW_HEADER_BYTES + (size_t)header.length;
		if (header.type == type && number-- == 0)
			return (struct span){ bytes->data + at, size };
		at += size;
	}
	return (struct span){ 0 };
}

void made_damage(struct made_image *made, uint32_t block, size_t at)
{
	struct span section = made_section(made, DWARFS_SECTION_BLOCK, block);

	assert_true(section.size > DW_HEADER_BYTES + at);
	made->bytes.data[section.data - made->bytes.data + DW_HEADER_BYTES + at] ^= 1;
}
