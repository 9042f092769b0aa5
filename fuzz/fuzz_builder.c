/* SPDX-License-Identifier: MIT */
/*
 * fuzz_builder: a sequence of calls of a builder, in any order, through public headers
 * only.
 *
 * The input is a list of calls: a byte that chooses the call, and its arguments. An
 * image that is written must open and pass the check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"

#define MAX_CALLS	400
#define MAX_WRITES	3
#define MAX_IMAGE_BYTES (1u << 20)
#define MAX_FILE_BYTES	20000

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t take_byte(struct input *input)
{
	if (input->size == 0)
		return 0;
	input->size--;
	return *input->data++;
}

/* Up to the given number of bytes, fewer at the end. */
static const uint8_t *take_bytes(struct input *input, size_t most, size_t *bytes_out)
{
	const uint8_t *data = input->data;

	*bytes_out = most < input->size ? most : input->size;
	input->data += *bytes_out;
	input->size -= *bytes_out;
	return data;
}

/* A text of up to 31 bytes, terminated. */
static const char *take_text(struct input *input, char buffer[32])
{
	size_t bytes;
	const uint8_t *data = take_bytes(input, take_byte(input) % 32, &bytes);

	memcpy(buffer, data, bytes);
	buffer[bytes] = 0;
	return buffer;
}

/* One of few fixed paths, so that calls use the same ones, or one from the input. */
static const char *take_path(struct input *input, char buffer[32])
{
	static const char *const paths[] = { "a", "b",	 "a/b", "a/b/c",
					     "d", "d/e", "",	"f/g" };
	unsigned choice = take_byte(input);

	return choice < 240 ? paths[choice % 8] : take_text(input, buffer);
}

/* A failing call has an error. */
static int require_error(int ret, dwarfs_error **err)
{
	fuzz_require((ret < 0) == (*err != NULL));
	dwarfs_error_free(*err);
	*err = NULL;
	return ret;
}

/* -- items --------------------------------------------------------------------------- */

/* A file of the requested size, of few repeating bytes. The caller frees them after
 * adding the item. */
static uint8_t *set_contents(dwarfs_item *item, struct input *input)
{
	size_t bytes = (size_t)take_byte(input) * (take_byte(input) % 80), unit, i;
	const uint8_t *pattern = take_bytes(input, 1 + take_byte(input) % 64, &unit);
	uint8_t *data;

	if (unit == 0 || bytes > MAX_FILE_BYTES)
		bytes = 0;
	data = malloc(bytes + 1);
	for (i = 0; data && i < bytes; i++)
		data[i] = (uint8_t)(pattern[i % unit] + i / 4096);
	if (data)
		dwarfs_item_set_memory(item, data, bytes, NULL);
	return data;
}

/* Returns memory to be freed after adding the item, or NULL. */
static uint8_t *describe(dwarfs_item *item, unsigned type, struct input *input)
{
	unsigned what = take_byte(input);
	uint8_t *contents = NULL;
	char text[32];
	const char *path;

	if (type == 0 && what % 4 == 0) {
		path = take_path(input, text);
		dwarfs_item_set_hard_link(item, path, strlen(path), NULL);
	} else if (type == 0) {
		contents = set_contents(item, input);
	} else if (type == 2) {
		take_text(input, text);
		dwarfs_item_set_target(item, text, strlen(text), NULL);
	}
	if (what & 8)
		dwarfs_item_set_time(item, what % 3, (int64_t)what * -123456789,
				     what * 1000);
	if (what & 16)
		dwarfs_item_add_xattr(item, "user.x", &what, what % 5, NULL);
	if (what & 32)
		dwarfs_item_add_xattr(item, take_text(input, text), "v", 1, NULL);
	if (what & 64)
		dwarfs_item_set_owner(item, what, what * 7);
	return contents;
}

static void add_item(dwarfs_builder *builder, struct input *input)
{
	static const uint32_t modes[] = { S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777,
					  S_IFIFO | 0600, S_IFCHR | 0660, 0 };
	unsigned type = take_byte(input) % 6;
	dwarfs_error *err = NULL;
	dwarfs_item *item = NULL;
	uint8_t *contents;
	const char *path;
	char text[32];

	if (dwarfs_item_new(modes[type], &item, NULL) < 0)
		return;
	contents = describe(item, type, input);
	path = take_path(input, text);
	if (require_error(
		    dwarfs_builder_add_item(builder, path, strlen(path), item, &err),
		    &err) == 0)
		fuzz_require(dwarfs_builder_has_item(builder, path, strlen(path)));
	dwarfs_item_free(item);
	free(contents);
}

static void change_tree(dwarfs_builder *builder, unsigned call, struct input *input)
{
	dwarfs_error *err = NULL;
	const char *path;
	char text[32];
	int ret = 0;

	path = take_path(input, text);
	switch (call) {
	case 0:
		ret = dwarfs_builder_remove_item(builder, path, strlen(path),
						 take_byte(input) & 1, &err);
		break;
	case 1:
		ret = dwarfs_builder_remove_older(builder, path, strlen(path),
						  take_byte(input) & 1, &err);
		break;
	case 2:
		ret = dwarfs_builder_begin_layer(builder, &err);
		break;
	case 3:
		dwarfs_builder_count_below(builder, path, strlen(path), false);
		ret = dwarfs_builder_check_links(builder, &err);
		break;
	default:
		ret = dwarfs_builder_resolve_links(builder, NULL, NULL, &err);
	}
	require_error(ret, &err);
}

/* -- options ------------------------------------------------------------------------- */

/* An order from a list, which is a file in memory. */
static int set_explicit_order(dwarfs_builder *builder, struct input *input,
			      dwarfs_error **err)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), ret = 0;
	char order[64];
	size_t bytes;
	const uint8_t *list = take_bytes(input, take_byte(input), &bytes);

	if (fd < 0)
		return 0;
	snprintf(order, sizeof(order), "explicit:file=/proc/self/fd/%d", fd);
	if (write(fd, list, bytes) == (ssize_t)bytes)
		ret = dwarfs_builder_set_order(builder, order, err);
	close(fd);
	return ret;
}

static int set_option(dwarfs_builder *builder, struct input *input, dwarfs_error **err)
{
	static const char *const orders[] = { "none", "path",	    "revpath",
					      "auto", "similarity", "nilsimsa" };
	static const char *const packings[] = { "auto", "all,force", "plain",
						"chunk_table,names_index" };
	static const char *const codecs[] = { "null", "zstd:level=1", "lz4",
					      "lzma:level=0", "brotli:quality=1" };
	unsigned what = take_byte(input), value = take_byte(input);
	char text[32];

	switch (what % 14) {
	case 0:
		return dwarfs_builder_set_level(builder, value % 4, err);
	case 1:
		return dwarfs_builder_set_block_bits(builder, 8 + value % 12, err);
	case 2:
		return dwarfs_builder_set_order(builder, orders[value % 6], err);
	case 3:
		return set_explicit_order(builder, input, err);
	case 4:
		return dwarfs_builder_add_hot_path(builder, take_path(input, text), err);
	case 5:
		return dwarfs_builder_set_categorizers(
			builder, value & 1 ? "hotness,incompressible" : "hotness", err);
	case 6:
		return dwarfs_builder_set_pack_metadata(builder, packings[value % 4],
							err);
	case 7:
		return dwarfs_builder_set_codec(builder,
						(enum dwarfs_codec_use)(value % 5),
						codecs[value / 5 % 5], err);
	case 8:
		return dwarfs_builder_set_window(builder, NULL, value % 20, err);
	case 9:
		return dwarfs_builder_set_lookback(builder, NULL, value % 4, err);
	case 10:
		return dwarfs_builder_set_time_resolution(builder,
							  UINT64_C(1) << value % 40, err);
	case 11:
		return dwarfs_builder_set_chmod(builder, take_text(input, text), err);
	case 12:
		return dwarfs_builder_add_filter(builder, take_text(input, text), err);
	default:
		dwarfs_builder_set_keep_all_times(builder, value & 1);
		dwarfs_builder_set_keep_birth_times(builder, value & 2);
		dwarfs_builder_set_hardlink_table(builder, value & 4);
		dwarfs_builder_set_section_index(builder, value & 8);
		dwarfs_builder_set_remove_empty_directories(builder, value & 16);
		dwarfs_builder_set_specials(builder, value & 32);
		return 0;
	}
}

/* -- the image ----------------------------------------------------------------------- */

static void check_image(const void *data, size_t bytes)
{
	dwarfs_image *image = NULL;
	uint64_t errors = 1;
	dwarfs_io *io = NULL;

	if (dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, NULL) < 0)
		return;
	fuzz_require(dwarfs_image_open_io(NULL, io, NULL, &image, NULL) == 0);
	fuzz_require(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					&errors, NULL) == 0);
	fuzz_require(errors == 0);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
}

static void write_image(dwarfs_builder *builder)
{
	dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;
	void *data = NULL;
	size_t bytes;

	if (dwarfs_sink_to_memory(MAX_IMAGE_BYTES, &sink, NULL) < 0)
		return;
	if (require_error(dwarfs_builder_write(builder, sink, &err), &err) == 0 &&
	    dwarfs_sink_take(sink, &data, &bytes, NULL) == 0)
		check_image(data, bytes);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
}

static void call(dwarfs_builder *builder, struct input *input, unsigned *writes)
{
	unsigned which = take_byte(input);
	dwarfs_error *err = NULL;

	if (which < 130)
		add_item(builder, input);
	else if (which < 180)
		change_tree(builder, which % 5, input);
	else if (which < 240)
		require_error(set_option(builder, input, &err), &err);
	else if ((*writes)++ < MAX_WRITES)
		write_image(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	unsigned calls, writes = 0;

	if (size > 0 && dwarfs_context_new(&context, NULL) == 0 &&
	    dwarfs_context_set_workers(context, take_byte(&input) % 3, NULL) == 0 &&
	    dwarfs_builder_new(context, &builder, NULL) == 0 &&
	    dwarfs_builder_set_level(builder, 0, NULL) == 0) {
		for (calls = 0; calls < MAX_CALLS && input.size > 0; calls++)
			call(builder, &input, &writes);
		write_image(builder);
	}
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return 0;
}
