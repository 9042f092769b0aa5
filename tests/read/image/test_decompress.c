/* SPDX-License-Identifier: MIT */
/*
 * read/image/decompress: contents of small sections, with limits before memory is allocated.
 */
#include "read/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config.h"
#include "os/file_io.h"
#include "read/image/image.h"
#include "support/crowd.h"

#if HAVE_ZSTD
#include <zstd.h>
#endif

/* Decompress bytes as if they were the payload of section 5, a history. */
static int unpack(uint32_t codec, const void *payload, size_t size, uint64_t max_bytes,
		  size_t padding, uint8_t **data, uint64_t *size_out, dwarfs_error **err)
{
	const struct dwarfs_image image = { .minor = 5 };
	const struct stored stored = {
		.header = { .type = DWARFS_SECTION_HISTORY,
			    .compression = codec,
			    .length = size },
		.bytes = payload,
	};

	return dw_unpack_section(&image, 5, &stored, max_bytes, padding, data, size_out,
				 err);
}

static void padding_is_zero(void **state)
{
	for (size_t padding = 0; padding < 40; padding++) {
		auto_free uint8_t *data = NULL;
		uint64_t size = 0;

		assert_int_equal(
			unpack(CODEC_NONE, "contents", 8, 8, padding, &data, &size, NULL),
			0);
		assert_int_equal(size, 8);
		assert_memory_equal(data, "contents", 8);
		for (size_t i = 0; i < padding; i++)
			assert_int_equal(data[8 + i], 0);
	}
}

static void errors_name_the_section(void **state)
{
	static const struct {
		uint32_t codec;
		const char *payload;
		uint64_t max_bytes;
		int code; /* 0: any */
	} cases[] = {
		{ CODEC_NONE, "contents", 7, DWARFS_ERR_CORRUPT },
		{ CODEC_NONE, "contents", 0, DWARFS_ERR_CORRUPT },
		{ 77, "contents", 100, DWARFS_ERR_UNSUPPORTED },
		{ CODEC_ZSTD, "contents", 100, 0 },
		{ CODEC_LZMA, "contents", 100, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		uint8_t *data = NULL;
		uint64_t size = 99;
		int ret = unpack(cases[i].codec, cases[i].payload, 8, cases[i].max_bytes,
				 0, &data, &size, &err);

		assert_true(ret < 0);
		if (cases[i].code)
			assert_int_equal(ret, cases[i].code);
		assert_null(data);
		assert_int_equal(size, 99);
		assert_non_null(strstr(dwarfs_error_message(err), "section 5 (HISTORY)"));
	}
}

/* The schema of the known image. */
static void a_section_is_verified_before_it_is_used(void **state)
{
	uint8_t copy[sizeof(one_file)];
	auto_test_image dwarfs_image *image = NULL;
	auto_free uint8_t *data = NULL;
	uint8_t *none = NULL;
	uint64_t size = 0;

	memcpy(copy, one_file, sizeof(copy));
	assert_int_equal(craft_try(copy, sizeof(copy), NULL, &image, NULL), 0);
	assert_int_equal(dw_load_section(image, 1, 552, 1, &data, &size, NULL), 0);
	assert_int_equal(size, 552);
	assert_memory_equal(data, one_file + ONE_FILE_SCHEMA + 64, 552);
	copy[ONE_FILE_SCHEMA + 64 + 100] ^= 1;
	assert_int_equal(dw_load_section(image, 1, 552, 1, &none, &size, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_null(none);
}

/* Its hash does not match either, but is not verified. */
static void a_section_that_is_too_long_is_not_read(void **state)
{
	enum { MOST = 1000, STORED = 2 * MOST + 65536 };

	for (size_t more = 0; more < 2; more++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		auto_free uint8_t *bytes = dw_calloc(1, STORED + 1);
		uint8_t *data = NULL;
		uint64_t size;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, 0, bytes, STORED + more);
		craft.bytes.data[craft.bytes.size - 1] ^= 1;
		image = craft_open(&craft, NULL);
		assert_int_equal(dw_load_section(image, 3, MOST, 0, &data, &size, NULL),
				 more ? DWARFS_ERR_CORRUPT : DWARFS_ERR_CHECKSUM);
	}
}

#if HAVE_ZSTD

/* -- in pieces ----------------------------------------------------------------------- */

enum change {
	CHANGE_NONE,
	CHANGE_BYTE, /* in the middle; the hash does not match */
	CHANGE_DATA, /* the same, with a hash that does */
	CHANGE_CUT,  /* the last byte is missing */
	CHANGE_REST, /* bytes follow that are no frame */
	CHANGE_TWO,  /* two frames, of which the first one has the size of one */
	CHANGE_COUNT,
	CHANGE_LONG, /* a frame follows that is skipped, as a hole would be; no error */
};

static bool is_hashed(enum change change)
{
	return change != CHANGE_BYTE;
}

/* The metadata of a crowd as a frame of zstd, changed. */
static void compress_crowd(struct span metadata, enum change change, struct buffer *out)
{
	const size_t skipped = 2 * metadata.size + 65536;
	const size_t room = 2 * ZSTD_compressBound(metadata.size) + skipped;
	size_t got;

	assert_int_equal(dw_buffer_reserve(out, room, NULL), 0);
	got = ZSTD_compress(out->data, room, metadata.data, metadata.size, 1);
	assert_false(ZSTD_isError(got));
	if (change == CHANGE_DATA)
		out->data[got / 2] ^= 1;
	else if (change == CHANGE_CUT)
		got--;
	else if (change == CHANGE_REST)
		out->data[got++] = 'x';
	else if (change == CHANGE_TWO)
		got += ZSTD_compress(out->data + got, room - got, "more", 4, 1);
	if (change == CHANGE_LONG) {
		dw_store32(out->data + got, 0x184d2a50);
		dw_store32(out->data + got + 4, (uint32_t)skipped);
		memset(out->data + got + 8, 0, skipped);
		got += 8 + skipped;
	}
	out->size = got;
}

static void craft_crowd(struct craft *craft, enum change change)
{
	auto_craft struct craft plain = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	auto_buffer struct buffer packed = { 0 };
	auto_free uint8_t *schema = NULL, *metadata = NULL;
	uint64_t schema_bytes, bytes;

	crowd_craft(&plain, true);
	image = craft_open(&plain, NULL);
	assert_int_equal(dw_load_section(image, image->schema, 1 << 20, 0, &schema,
					 &schema_bytes, NULL),
			 0);
	assert_int_equal(dw_load_section(image, image->metadata, 1 << 30, 0, &metadata,
					 &bytes, NULL),
			 0);
	compress_crowd((struct span){ metadata, (size_t)bytes }, change, &packed);
	assert_true(packed.size > 4 * DW_STORED_PIECE_BYTES);
	craft_section(craft, DWARFS_SECTION_SCHEMA, CODEC_NONE, schema,
		      (size_t)schema_bytes);
	craft_section(craft, DWARFS_SECTION_METADATA, CODEC_ZSTD, packed.data,
		      packed.size);
	craft_index(craft, 0);
	if (!is_hashed(change))
		craft->bytes.data[craft->bytes.size / 2] ^= 1;
}

static int open_as_file(const struct craft *craft, dwarfs_image **image_out,
			dwarfs_error **err)
{
	char path[] = "decompress.XXXXXX";
	const int fd = mkstemp(path);
	int ret;

	assert_true(fd >= 0);
	assert_int_equal(dw_fd_write(fd, craft->bytes.data, craft->bytes.size), 0);
	ret = dwarfs_image_open(NULL, path, NULL, image_out, err);
	unlink(path);
	dw_fd_close(fd);
	return ret;
}

static void large_metadata_is_unpacked_in_pieces(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	auto_free uint8_t *pieces = NULL, *whole = NULL;
	uint64_t pieces_bytes, whole_bytes;

	craft_crowd(&craft, CHANGE_NONE);
	assert_int_equal(open_as_file(&craft, &image, NULL), 0);
	assert_true(dw_unpacks_in_pieces(image, image->metadata));
	assert_false(dw_unpacks_in_pieces(image, image->schema));
	assert_true(dw_unpack_in_pieces(image, image->metadata, 1 << 30, 40, &pieces,
					&pieces_bytes));
	assert_int_equal(dw_load_section(image, image->metadata, 1 << 30, 40, &whole,
					 &whole_bytes, NULL),
			 0);
	assert_int_equal(pieces_bytes, whole_bytes);
	assert_memory_equal(pieces, whole, whole_bytes + 40);
	assert_int_equal(dwarfs_image_inode_count(image), CROWD_FIRST + CROWD_FILES);
	/* Limits are those of a section that is unpacked at once. */
	dw_free(dw_steal(pieces));
	assert_false(dw_unpack_in_pieces(image, image->metadata, whole_bytes - 1, 40,
					 &pieces, &pieces_bytes));
	assert_null(pieces);
}

/* More stored bytes than any codec needs are not read in pieces: in a sparse file they could be
 * without end. */
static void long_metadata_is_not_unpacked_in_pieces(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	auto_free uint8_t *pieces = NULL;
	uint64_t bytes;

	craft_crowd(&craft, CHANGE_LONG);
	assert_int_equal(open_as_file(&craft, &image, NULL), 0);
	assert_true(dw_unpacks_in_pieces(image, image->metadata));
	assert_false(dw_unpack_in_pieces(image, image->metadata, 1 << 30, 40, &pieces,
					 &bytes));
	assert_int_equal(dwarfs_image_inode_count(image), CROWD_FIRST + CROWD_FILES);
}

/* Errors of a file are those of an image in memory. */
static void damaged_metadata_is_refused_as_at_once(void **state)
{
	for (int change = CHANGE_NONE; change < CHANGE_COUNT; change++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL, *in_memory = NULL;
		auto_error dwarfs_error *err = NULL, *wanted = NULL;
		int ret;

		craft_crowd(&craft, (enum change)change);
		ret = open_as_file(&craft, &image, &err);
		assert_int_equal(craft_try(craft.bytes.data, craft.bytes.size, NULL,
					   &in_memory, &wanted),
				 ret);
		if (change == CHANGE_NONE)
			assert_int_equal(ret, 0);
		else if (change == CHANGE_BYTE)
			assert_int_equal(ret, DWARFS_ERR_CHECKSUM);
		else if (change != CHANGE_DATA) /* which may be other data */
			assert_int_equal(ret, DWARFS_ERR_CORRUPT);
		if (ret < 0) /* after the path */
			assert_non_null(strstr(dwarfs_error_message(err),
					       dwarfs_error_message(wanted)));
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(padding_is_zero),
		cmocka_unit_test(errors_name_the_section),
		cmocka_unit_test(a_section_is_verified_before_it_is_used),
		cmocka_unit_test(a_section_that_is_too_long_is_not_read),
#if HAVE_ZSTD
		cmocka_unit_test(large_metadata_is_unpacked_in_pieces),
		cmocka_unit_test(long_metadata_is_not_unpacked_in_pieces),
		cmocka_unit_test(damaged_metadata_is_refused_as_at_once),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
