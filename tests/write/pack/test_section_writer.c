/* SPDX-License-Identifier: MIT */
/*
 * write/pack/section_writer: numbered and hashed sections, and their index.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "write/pack/section_writer.h"

struct written {
	uint8_t bytes[4096];
	size_t size;
};

static int append(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct written *written = user;

	assert_true(bytes <= sizeof(written->bytes) - written->size);
	memcpy(written->bytes + written->size, data, bytes);
	written->size += bytes;
	return 0;
}

static void expect_section(const struct written *written, size_t at, uint32_t number,
			   uint32_t type, struct span data)
{
	struct section_header header, sealed;
	auto_xxh3 struct xxh3 *hash = NULL;

	assert_true(dw_section_header_parse(written->bytes + at, &header));
	assert_int_equal(header.number, number);
	assert_int_equal(header.type, type);
	assert_int_equal(header.compression, CODEC_NONE);
	assert_int_equal(header.length, data.size);
	assert_memory_equal(written->bytes + at + DW_HEADER_BYTES, data.data, data.size);
	assert_int_equal(dw_xxh3_new(&hash, NULL), 0);
	sealed = (struct section_header){ .number = number, .type = type };
	dw_section_seal(&sealed, data, hash);
	assert_true(header.xxh3 == sealed.xxh3);
	assert_memory_equal(header.sha512_256, sealed.sha512_256, 32);
}

static void sections_are_numbered_and_listed(void **state)
{
	struct written written = { .size = 0 };
	struct build_run run = { 0 };
	struct section_writer sections = { .run = &run };
	struct span schema = { (const uint8_t *)"schema", 6 };
	struct span metadata = { (const uint8_t *)"metadata", 8 };
	struct codec_spec none = { .id = CODEC_NONE };
	uint64_t index[3];
	size_t second = DW_HEADER_BYTES + 6, third = second + DW_HEADER_BYTES + 8;

	dw_progress_start(&run.progress, NULL);
	assert_int_equal(dwarfs_sink_new(append, NULL, &written, &run.output, NULL), 0);
	assert_int_equal(dw_section_writer_pack(&sections, DWARFS_SECTION_SCHEMA, &none,
						schema, NULL),
			 0);
	assert_int_equal(sections.bytes, second);
	assert_int_equal(dw_section_writer_pack(&sections, DWARFS_SECTION_METADATA, &none,
						metadata, NULL),
			 0);
	assert_int_equal(dw_section_writer_write_index(&sections, NULL), 0);
	assert_int_equal(dw_sink_commit(run.output, NULL), 0);
	expect_section(&written, 0, 0, DWARFS_SECTION_SCHEMA, schema);
	expect_section(&written, second, 1, DWARFS_SECTION_METADATA, metadata);
	index[0] = dw_le64((uint64_t)DWARFS_SECTION_SCHEMA << 48);
	index[1] = dw_le64((uint64_t)DWARFS_SECTION_METADATA << 48 | second);
	index[2] = dw_le64((uint64_t)DWARFS_SECTION_INDEX << 48 | third);
	expect_section(&written, third, 2, DWARFS_SECTION_INDEX,
		       (struct span){ (const uint8_t *)index, sizeof(index) });
	assert_int_equal(written.size, third + DW_HEADER_BYTES + sizeof(index));
	assert_int_equal(sections.bytes, written.size);
	assert_true(sections.metadata_xxh3 == dw_load64(written.bytes + second + 40));
	dwarfs_sink_free(run.output);
	dw_section_writer_free(&sections);
}

static void hashes_are_of_header_and_data(void **state)
{
	struct section_header one = { .type = 1, .number = 4 }, two = one, three = one;
	auto_xxh3 struct xxh3 *hash = NULL;

	two.number = 5;
	assert_int_equal(dw_xxh3_new(&hash, NULL), 0);
	dw_section_seal(&one, (struct span){ (const uint8_t *)"a", 1 }, hash);
	dw_section_seal(&two, (struct span){ (const uint8_t *)"a", 1 }, hash);
	dw_section_seal(&three, (struct span){ (const uint8_t *)"b", 1 }, hash);
	assert_true(one.xxh3 != two.xxh3 && one.xxh3 != three.xxh3);
	assert_memory_not_equal(one.sha512_256, two.sha512_256, 32);
	assert_memory_not_equal(one.sha512_256, three.sha512_256, 32);
}

static int keep_header(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct written *written = user;

	if (bytes == DW_HEADER_BYTES && written->size == 0) {
		memcpy(written->bytes, data, bytes);
		written->size = bytes;
	}
	return 0;
}

/* The codec that a section was stored with, and its stored size. */
static uint32_t pack_with_zstd(uint32_t type, const struct denser_codec *denser,
			       struct span data, uint64_t *stored_out)
{
	struct written written = { .size = 0 };
	struct build_run run = { 0 };
	struct section_writer sections = { .run = &run };
	auto_packed_section struct packed_section packed = { 0 };
	struct codec_spec codec;
	struct section_header header;

	assert_int_equal(dw_codec_parse("zstd:level=1", &codec, NULL), 0);
	dw_progress_start(&run.progress, NULL);
	assert_int_equal(dwarfs_sink_new(keep_header, NULL, &written, &run.output, NULL),
			 0);
	assert_int_equal(dw_section_pack(&sections, type, &codec, denser, data, NULL,
					 &packed, NULL),
			 0);
	assert_int_equal(sections.bytes, 0);
	assert_int_equal(dw_section_writer_write_packed(&sections, &packed, NULL), 0);
	*stored_out = packed.stored.size;
	dwarfs_sink_free(run.output);
	dw_section_writer_free(&sections);
	assert_true(dw_section_header_parse(written.bytes, &header));
	assert_int_equal(header.length, *stored_out);
	return header.compression;
}

static uint32_t codec_of_zeros(uint32_t type, uint64_t bytes)
{
	auto_free uint8_t *zeros = dw_calloc((size_t)bytes, 1);
	uint64_t stored;

	assert_non_null(zeros);
	return pack_with_zstd(type, NULL, (struct span){ zeros, (size_t)bytes }, &stored);
}

static void metadata_that_readers_would_refuse_is_not_compressed(void **state)
{
	if (!dw_codec_can_pack(CODEC_ZSTD))
		skip();
	assert_int_equal(codec_of_zeros(DWARFS_SECTION_METADATA, DW_METADATA_LIMIT),
			 CODEC_ZSTD);
	assert_int_equal(codec_of_zeros(DWARFS_SECTION_METADATA, DW_METADATA_LIMIT + 1),
			 CODEC_NONE);
	assert_int_equal(codec_of_zeros(DWARFS_SECTION_XATTRS, DW_METADATA_LIMIT + 1),
			 CODEC_NONE);
	assert_int_equal(codec_of_zeros(DWARFS_SECTION_BLOCK, DW_METADATA_LIMIT + 1),
			 CODEC_ZSTD);
}

static void a_denser_codec_is_used_where_it_saves_enough(void **state)
{
	static uint8_t rows[1 << 16];
	const struct span data = { rows, sizeof(rows) };
	struct denser_codec denser = { .least_bytes = 1 };
	uint64_t by_zstd, stored;

	(void)state;
	if (!dw_codec_can_pack(CODEC_ZSTD) || !dw_codec_can_pack(CODEC_LZMA))
		skip();
	/* Numbers that grow, as of names and inodes in directories: only differences repeat. */
	for (uint32_t i = 0; i < sizeof(rows) / 8; i++)
		dw_store32(rows + (size_t)i * 8, i | i * 5 << 16);
	assert_int_equal(dw_codec_parse("lzma:level=9:adapt", &denser.codec, NULL), 0);
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, NULL, data, &by_zstd),
			 CODEC_ZSTD);
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_LZMA);
	assert_true(stored < by_zstd / 2);
	denser.least_bytes = by_zstd / 2;
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_LZMA);
	denser.least_bytes = by_zstd / 4 * 3 + 1; /* not tried */
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_ZSTD);
	assert_int_equal(stored, by_zstd);
	/* A part of all that is stored, here of this section alone. */
	denser.least_bytes = 0;
	denser.least_share = SHARE_OF_ALL / 2;
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_LZMA);
	denser.least_share = SHARE_OF_ALL / 10 * 8;
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_ZSTD);
	/* Tried, and it saves nothing of noise that zstd stores in fewer bytes. */
	for (size_t i = 0; i < sizeof(rows); i++)
		rows[i] = (uint8_t)((i * i * 2654435761u >> 13) & 15);
	(void)pack_with_zstd(DWARFS_SECTION_METADATA, NULL, data, &by_zstd);
	denser.least_share = SHARE_OF_ALL / 2;
	assert_int_equal(pack_with_zstd(DWARFS_SECTION_METADATA, &denser, data, &stored),
			 CODEC_ZSTD);
	assert_int_equal(stored, by_zstd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_numbered_and_listed),
		cmocka_unit_test(hashes_are_of_header_and_data),
		cmocka_unit_test(metadata_that_readers_would_refuse_is_not_compressed),
		cmocka_unit_test(a_denser_codec_is_used_where_it_saves_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
