/* SPDX-License-Identifier: MIT */
/*
 * rewrite/rewrite: an image is written anew, part by part; what cannot be met is refused before
 * there is output.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/section.h"
#include "format/thrift.h"
#include "support/craft.h"
#include "support/made_image.h"
#include "support/random.h"

#define BIG_BYTES 10000

static uint8_t big[BIG_BYTES];

static void make(struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	for (size_t i = 0; i < BIG_BYTES; i++)
		big[i] = "words, "[i % 7];
	big[5000] = 'x';
	made_add(builder, "d/big", big, BIG_BYTES);
	made_add_text(builder, "text", "some text");
	for (int i = 0; i < 200; i++) { /* so that the metadata can be compressed */
		char name[30];

		snprintf(name, sizeof(name), "empty/file number %d", i);
		made_add_text(builder, name, "");
	}
	made_finish(builder, made);
}

static void rewrite(const struct made_image *from, uint32_t parts,
		    dwarfs_builder *builder, struct made_image *to)
{
	dwarfs_error *err = NULL;

	if (made_rewrite(from, parts, builder, to, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	made_open(to, DWARFS_VERIFY_EAGER);
	if (dwarfs_image_check(to->image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL,
			       &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	made_expect(to, "d/big", big, BIG_BYTES);
	made_expect_text(to, "text", "some text");
}

static bool is_same(const struct made_image *a, const struct made_image *b, uint32_t type)
{
	struct span left = made_section(a, type, 0), right = made_section(b, type, 0);

	return left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
}

static uint32_t count(const struct made_image *made, uint32_t type)
{
	uint32_t number = 0;

	while (made_section(made, type, number).size > 0)
		number++;
	return number;
}

static size_t stored_bytes(const struct made_image *made)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < count(made, DWARFS_SECTION_BLOCK); i++)
		bytes += made_section(made, DWARFS_SECTION_BLOCK, i).size -
			 DW_HEADER_BYTES;
	return bytes;
}

static void parts_that_are_not_named_stay(void **state)
{
	static const uint32_t all[] = {
		0,
		DWARFS_REWRITE_BLOCKS,
		DWARFS_REWRITE_METADATA,
		DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA,
		DWARFS_REWRITE_REBUILD,
		DWARFS_REWRITE_REBUILD | DWARFS_REWRITE_BLOCKS,
	};
	auto_made struct made_image made = { 0 };

	if (!dwarfs_has_codec("zstd"))
		skip();
	make(&made);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		auto_made struct made_image to = { 0 };
		bool anew = all[i] & (DWARFS_REWRITE_METADATA | DWARFS_REWRITE_REBUILD);

		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  "zstd:level=1", NULL),
				 0);
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA,
							  "zstd:level=1", NULL),
				 0);
		rewrite(&made, all[i], builder, &to);
		assert_int_equal(is_same(&made, &to, DWARFS_SECTION_BLOCK),
				 !(all[i] & DWARFS_REWRITE_BLOCKS));
		assert_int_equal(
			dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_METADATA),
			made_section(&to, DWARFS_SECTION_METADATA, 0).size -
				DW_HEADER_BYTES);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN),
				 dwarfs_image_original_bytes(made.image));
		assert_int_equal(is_same(&made, &to, DWARFS_SECTION_METADATA), !anew);
		assert_int_equal(count(&to, DWARFS_SECTION_HISTORY), 2);
		assert_int_equal(count(&to, DWARFS_SECTION_INDEX), 1);
	}
}

static size_t rewrite_metadata(const struct made_image *from, const char *codec,
			       struct made_image *to)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA, codec, NULL), 0);
	rewrite(from, DWARFS_REWRITE_METADATA, builder, to);
	return made_section(to, DWARFS_SECTION_METADATA, 0).size;
}

/* Metadata that is only compressed again is compressed by its tables, too, as if rebuilt. */
static void tables_are_found_in_metadata(void **state)
{
	static const char adapting[] = "lzma:level=6:adapt";
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 }, written = { 0 }, plain = { 0 },
				    again = { 0 };
	size_t before;

	(void)state;
	if (!dwarfs_has_codec("lzma"))
		skip();
	make(&made);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA, adapting, NULL),
		0);
	rewrite(&made, DWARFS_REWRITE_REBUILD, builder, &written);
	before = rewrite_metadata(&written, "lzma:level=6", &plain);
	assert_true(rewrite_metadata(&plain, adapting, &again) + 128 < before);
	assert_true(is_same(&again, &written, DWARFS_SECTION_METADATA));
}

/* An allocator whose allocation of this number fails; 0: none. */
static void *allocate(size_t bytes, void *user)
{
	size_t *fails_at = user;

	return *fails_at > 0 && --*fails_at == 0 ? NULL : malloc(bytes);
}

static void release(void *block, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	free(block);
}

/* Rewrite with an allocation that fails: false if there were fewer. The metadata is the same if that
 * is no error. */
static bool rewrite_with_failure(const struct made_image *from, size_t *fails_at,
				 size_t number, struct span expected)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image to = { 0 };
	dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;
	bool failed;
	int ret;

	assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA,
						  "lzma:level=6:adapt", NULL),
			 0);
	assert_int_equal(dwarfs_sink_to_memory(1 << 20, &sink, NULL), 0);
	*fails_at = number;
	ret = dwarfs_rewrite(from->image, DWARFS_REWRITE_METADATA, builder, sink, &err);
	failed = *fails_at == 0;
	*fails_at = 0;
	dwarfs_error_free(err);
	if (ret == 0) {
		void *data = NULL;
		size_t bytes;
		struct span metadata;

		assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
		assert_int_equal(dw_buffer_append(&to.bytes, data, bytes, NULL), 0);
		dwarfs_memory_free(data);
		metadata = made_section(&to, DWARFS_SECTION_METADATA, 0);
		assert_int_equal(metadata.size, expected.size);
		assert_memory_equal(metadata.data, expected.data, expected.size);
	} else {
		assert_int_equal(ret, DWARFS_ERR_NOMEM);
	}
	dwarfs_sink_free(sink);
	return failed;
}

/* Tables that are not found for lack of memory are an error: what is written does not depend on the
 * memory. */
static void lack_of_memory_does_not_hide_tables(void **state)
{
	size_t fails_at = 0, number = 1;
	const dwarfs_allocator allocator = { .struct_bytes = sizeof(allocator),
					     .user = &fails_at,
					     .allocate = allocate,
					     .release = release };
	auto_made struct made_image made = { 0 }, expected = { 0 };

	(void)state;
	if (!dwarfs_has_codec("lzma"))
		skip();
	make(&made);
	rewrite_metadata(&made, "lzma:level=6:adapt", &expected);
	made_image_free(&made);
	assert_int_equal(dwarfs_allocator_use(&allocator, NULL, NULL), 0);
	make(&made);
	while (rewrite_with_failure(&made, &fails_at, number,
				    made_section(&expected, DWARFS_SECTION_METADATA, 0)))
		number++;
	assert_true(number > 20);
	made_image_free(&made);
	assert_int_equal(dwarfs_allocator_use(NULL, NULL, NULL), 0);
}

static void the_block_size_changes(void **state)
{
	const uint32_t parts = DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_REBUILD |
			       DWARFS_REWRITE_BLOCK_SIZE;
	auto_made struct made_image made = { 0 };

	make(&made);
	for (uint32_t bits = 10; bits <= 16; bits++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		auto_made struct made_image to = { 0 };
		size_t bytes = (size_t)1 << bits;

		assert_int_equal(dwarfs_builder_set_block_bits(builder, bits, NULL), 0);
		rewrite(&made, parts, builder, &to);
		assert_int_equal(dwarfs_image_block_bytes(to.image), bytes);
		assert_int_equal(count(&to, DWARFS_SECTION_BLOCK),
				 (stored_bytes(&made) + bytes - 1) / bytes);
		assert_int_equal(stored_bytes(&to), stored_bytes(&made));
	}
}

static void expect_refused(const struct made_image *made, uint32_t parts,
			   dwarfs_builder *builder, const char *why)
{
	auto_made struct made_image to = { 0 };
	dwarfs_error *err = NULL;

	assert_int_equal(made_rewrite(made, parts, builder, &to, &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), why));
	assert_int_equal(to.bytes.size, 0);
	dwarfs_error_free(err);
}

static void parts_that_cannot_be(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();
	auto_made struct made_image made = { 0 };

	make(&made);
	expect_refused(&made, 16, builder, "no such part");
	expect_refused(&made, DWARFS_REWRITE_BLOCK_SIZE, builder, "another block size");
	expect_refused(&made, DWARFS_REWRITE_BLOCK_SIZE | DWARFS_REWRITE_BLOCKS, builder,
		       "another block size");
	expect_refused(&made, DWARFS_REWRITE_BLOCK_SIZE | DWARFS_REWRITE_REBUILD, builder,
		       "another block size");
	assert_int_equal(dwarfs_builder_set_recompress_categories(builder, "!x,y", NULL),
			 0);
	expect_refused(&made, DWARFS_REWRITE_BLOCKS, builder,
		       "no category 'x' in input filesystem");
}

static void builders_that_cannot_be_used(void **state)
{
	auto_made_builder dwarfs_builder *used = made_builder(), *full = made_builder();
	auto_made struct made_image made = { 0 }, to = { 0 };

	make(&made);
	rewrite(&made, 0, used, &to);
	expect_refused(&made, 0, used, "has run");
	made_add_text(full, "x", "y");
	expect_refused(&made, 0, full, "has an input");
	expect_refused(&made, DWARFS_REWRITE_REBUILD, full, "has an input");
	assert_int_equal(dwarfs_rewrite(NULL, 0, full, NULL, NULL), DWARFS_ERR_INVALID);
}

static void times_cannot_become_finer(void **state)
{
	auto_made_builder dwarfs_builder *finer = made_builder(),
					 *uneven = made_builder(),
					 *coarser = made_builder(),
					 *base = made_builder();
	auto_made struct made_image made = { 0 }, minutes = { 0 }, to = { 0 };

	make(&made);
	assert_int_equal(dwarfs_builder_set_time_resolution(base, 60000000000, NULL), 0);
	assert_int_equal(
		made_rewrite(&made, DWARFS_REWRITE_REBUILD, base, &minutes, NULL), 0);
	made_open(&minutes, DWARFS_VERIFY_EAGER);
	assert_int_equal(dwarfs_builder_set_time_resolution(finer, 1000000000, NULL), 0);
	expect_refused(&minutes, DWARFS_REWRITE_REBUILD, finer, "cannot give times");
	assert_int_equal(dwarfs_builder_set_time_resolution(uneven, 90000000000, NULL),
			 0);
	expect_refused(&minutes, DWARFS_REWRITE_REBUILD, uneven, "not a multiple");
	assert_int_equal(dwarfs_builder_set_time_resolution(coarser, 120000000000, NULL),
			 0);
	rewrite(&minutes, DWARFS_REWRITE_REBUILD, coarser, &to);
	assert_int_equal(dwarfs_image_time_resolution_ns(to.image), 120000000000);
}

/* Insert a section before another one. The index is dropped, if there is one. */
static void add_section(struct made_image *made, uint32_t added, struct span payload,
			uint32_t type, uint32_t number)
{
	auto_buffer struct buffer bytes = { 0 };
	struct span next = made_section(made, type, number);
	struct span index = made_section(made, DWARFS_SECTION_INDEX, 0);
	size_t before = (size_t)(next.data - made->bytes.data);
	size_t end = index.size > 0 ? (size_t)(index.data - made->bytes.data)
				    : made->bytes.size;
	size_t after = end - before;
	uint8_t section[DW_HEADER_BYTES];
	const struct section_header header = { .type = (uint16_t)added,
					       .number = 5,
					       .length = payload.size };

	dw_section_header_store(&header, section);
	assert_int_equal(dw_buffer_append(&bytes, made->bytes.data, before, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, section, sizeof(section), NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, payload.data, payload.size, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, next.data, after, NULL), 0);
	dwarfs_image_free(made->image);
	made->image = NULL;
	dw_buffer_free(&made->bytes);
	made->bytes = bytes;
	bytes = (struct buffer){ 0 };
}

/* A section of a type that is not known. */
static void add_unknown_text(struct made_image *made, const char *text, uint32_t type,
			     uint32_t number)
{
	add_section(made, 4711, (struct span){ (const uint8_t *)text, strlen(text) },
		    type, number);
}

static void add_unknown(struct made_image *made, uint32_t type, uint32_t number)
{
	add_unknown_text(made, "hello", type, number);
}

static void expect_unknown(const struct made_image *made, uint32_t number,
			   const char *text)
{
	struct span section = made_section(made, 4711, number);

	assert_int_equal(section.size, DW_HEADER_BYTES + strlen(text));
	assert_memory_equal(section.data + DW_HEADER_BYTES, text, strlen(text));
}

static void unknown_sections_are_copied(void **state)
{
	static const uint32_t all[] = { 0, DWARFS_REWRITE_REBUILD };
	auto_made struct made_image made = { 0 };

	make(&made);
	add_unknown(&made, DWARFS_SECTION_INDEX, 0);
	craft_rehash(made.bytes.data, made.bytes.size);
	made_open(&made, DWARFS_VERIFY_EAGER);
	for (size_t i = 0; i < 2; i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		auto_made struct made_image to = { 0 };

		rewrite(&made, all[i], builder, &to);
		expect_unknown(&to, 0, "hello");
		assert_int_equal(count(&to, 4711), 1);
	}
}

/* The format allows one section of such a type; an image that has more keeps all of them. */
static void unknown_sections_of_one_type_are_copied(void **state)
{
	static const uint32_t all[] = { 0, DWARFS_REWRITE_METADATA, DWARFS_REWRITE_BLOCKS,
					DWARFS_REWRITE_REBUILD };
	static const char *const texts[] = { "first", "second", "first" };
	auto_made struct made_image made = { 0 };

	make(&made);
	add_unknown_text(&made, texts[2], DWARFS_SECTION_INDEX, 0);
	add_unknown_text(&made, texts[1], 4711, 0);
	add_unknown_text(&made, texts[0], 4711, 0);
	craft_rehash(made.bytes.data, made.bytes.size);
	made_open(&made, DWARFS_VERIFY_EAGER);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		auto_made struct made_image to = { 0 };

		rewrite(&made, all[i], builder, &to);
		assert_int_equal(count(&to, 4711), 3);
		for (uint32_t j = 0; j < 3; j++)
			expect_unknown(&to, j, texts[j]);
	}
}

/* A history of one entry, without a description; -1: without is_release. */
static void make_history(struct buffer *out, int is_release, bool has_branch,
			 bool has_description)
{
	struct thrift_writer writer;
	int32_t entry, version;

	out->size = 0;
	dw_thrift_put_start(&writer, out);
	dw_thrift_put_list(&writer, 1, THRIFT_LIST, THRIFT_STRUCT, 1);
	entry = dw_thrift_put_begin(&writer, 0);
	version = dw_thrift_put_begin(&writer, 1);
	for (int i = 1; i <= 3; i++)
		dw_thrift_put_int(&writer, i, THRIFT_I16, i);
	if (is_release >= 0)
		dw_thrift_put_bool(&writer, 4, is_release);
	if (has_branch)
		dw_thrift_put_string(&writer, 6, "main", 4);
	if (has_description)
		dw_thrift_put_string(&writer, 7, "v9", 2);
	dw_thrift_put_end(&writer, version);
	dw_thrift_put_string(&writer, 2, "system", 6);
	dw_thrift_put_string(&writer, 3, "compiler", 8);
	dw_thrift_put_end(&writer, entry);
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
}

static bool contains(struct span bytes, const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i + size <= bytes.size; i++)
		if (memcmp(bytes.data + i, text, size) == 0)
			return true;
	return false;
}

static void expect_history(struct span stored, struct span before, bool gets_branch,
			   bool gets_description)
{
	size_t more = (gets_branch ? 7 : 0) + (gets_description ? 6 : 0);

	assert_int_equal(contains(stored, "unknown"), gets_branch);
	assert_int_equal(contains(stored, "v1.2.3"), gets_description);
	assert_true(contains(stored, "system") && contains(stored, "compiler"));
	/* Texts, and up to two bytes for the type and the size of each. */
	assert_in_range(stored.size - DW_HEADER_BYTES, before.size + more,
			before.size + more + 6);
	if (more == 0)
		assert_memory_equal(stored.data + DW_HEADER_BYTES, before.data,
				    before.size);
}

/* Upstream's dwarfsck ends at an entry without a description, and at one that is no release
 * and has no branch. */
static void history_is_completed(void **state)
{
	static const uint32_t parts[] = { 0, DWARFS_REWRITE_BLOCKS,
					  DWARFS_REWRITE_REBUILD };

	for (int i = 0; i < 12; i++) {
		int is_release = i % 3 - 1;
		bool has_branch = i / 3 % 2, has_description = i / 6;
		auto_made struct made_image made = { 0 };
		auto_buffer struct buffer history = { 0 };

		make(&made);
		make_history(&history, is_release, has_branch, has_description);
		add_section(&made, DWARFS_SECTION_HISTORY, dw_buffer_span(&history),
			    DWARFS_SECTION_HISTORY, 0);
		craft_rehash(made.bytes.data, made.bytes.size);
		made_open(&made, DWARFS_VERIFY_EAGER);
		for (size_t j = 0; j < 3; j++) {
			auto_made_builder dwarfs_builder *builder = made_builder();
			auto_made struct made_image to = { 0 };

			rewrite(&made, parts[j], builder, &to);
			expect_history(made_section(&to, DWARFS_SECTION_HISTORY, 0),
				       dw_buffer_span(&history),
				       is_release <= 0 && !has_branch, !has_description);
		}
	}
}

static void count_left_out(enum dwarfs_log_level level, const char *message, void *user)
{
	int *number = user;

	*number += level == DWARFS_LOG_WARN && strstr(message, "is left out") != NULL;
}

/* Merge images that have a section of unknown type each: how many are left out, as warnings say. */
static int merge(const struct made_image *all, int number, struct made_image *to)
{
	static const char *const names[] = { "", "second", "third" };
	int left_out = 0;
	auto_made_builder dwarfs_builder *builder =
		made_builder_with_log(count_left_out, &left_out);

	for (int i = 0; i < number; i++)
		assert_int_equal(dwarfs_builder_add_image(builder, all[i].image, names[i],
							  strlen(names[i]),
							  DWARFS_KEEP_BLOCKS, NULL),
				 0);
	made_finish(builder, to);
	assert_int_equal(count(to, DWARFS_SECTION_HISTORY), (uint32_t)number + 1);
	return left_out;
}

/* The format allows one section of such a type: that of the first image is kept. */
static void unknown_sections_of_one_type_are_not_merged(void **state)
{
	static const struct {
		const char *texts[3];
		int left_out;
	} cases[] = {
		{ { "hello", "hello", "hello" }, 0 },
		{ { "hello", "other", "hello" }, 1 },
		{ { "hello", "other", "other" }, 2 },
		{ { "hello", "", "hello!" }, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made_image all[3] = { 0 };
		auto_made struct made_image to = { 0 };

		for (int j = 0; j < 3; j++) {
			make(&all[j]);
			add_unknown_text(&all[j], cases[i].texts[j], DWARFS_SECTION_INDEX,
					 0);
			craft_rehash(all[j].bytes.data, all[j].bytes.size);
			made_open(&all[j], DWARFS_VERIFY_EAGER);
		}
		assert_int_equal(merge(all, 3, &to), cases[i].left_out);
		assert_int_equal(count(&to, 4711), 1);
		expect_unknown(&to, 0, "hello");
		for (int j = 0; j < 3; j++)
			made_image_free(&all[j]);
	}
}

/* Where a section begins in its image. */
static size_t offset_of(const struct made_image *made, uint32_t type, uint32_t number)
{
	return (size_t)(made_section(made, type, number).data - made->bytes.data);
}

/* Between the blocks, a section of a type that is not known stays there. */
static void sections_keep_their_order(void **state)
{
	static const uint32_t modes[] = {
		0, DWARFS_REWRITE_BLOCKS, DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA
	};

	auto_made_builder dwarfs_builder *first = made_builder();
	auto_made struct made_image made = { 0 };
	uint32_t random = 1, blocks;

	for (size_t i = 0; i < BIG_BYTES; i++)
		big[i] = (uint8_t)next_random(&random);
	assert_int_equal(dwarfs_builder_set_block_bits(first, 10, NULL), 0);
	made_add(first, "d/big", big, BIG_BYTES);
	made_add_text(first, "text", "some text");
	made_finish(first, &made);
	blocks = count(&made, DWARFS_SECTION_BLOCK);
	assert_true(blocks > 3);
	add_unknown(&made, DWARFS_SECTION_BLOCK, 2);
	craft_rehash(made.bytes.data, made.bytes.size);
	made_open(&made, DWARFS_VERIFY_EAGER);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		auto_made_builder dwarfs_builder *builder = made_builder();
		auto_made struct made_image to = { 0 };

		rewrite(&made, modes[i], builder, &to);
		assert_int_equal(count(&to, DWARFS_SECTION_BLOCK), blocks);
		assert_int_equal(count(&to, 4711), 1);
		assert_true(offset_of(&to, DWARFS_SECTION_BLOCK, 1) <
			    offset_of(&to, 4711, 0));
		assert_true(offset_of(&to, 4711, 0) <
			    offset_of(&to, DWARFS_SECTION_BLOCK, 2));
	}
}

static int in_mine(const dwarfs_input *input, const char **category_out,
		   dwarfs_error **err, void *user)
{
	*category_out =
		strcmp(dwarfs_input_path(input), "d/big") == 0 ? "mine" : "<default>";
	return 0;
}

/* Compress blocks of the categories in a list again. */
static void rewrite_categories(const struct made_image *made, const char *list,
			       struct made_image *to)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
						  "zstd:level=1", NULL),
			 0);
	assert_int_equal(dwarfs_builder_set_recompress_categories(builder, list, NULL),
			 0);
	rewrite(made, DWARFS_REWRITE_BLOCKS, builder, to);
}

/* Only blocks of the categories that were named, and those without one. */
static void only_some_categories(void **state)
{
	static const struct {
		const char *list;
		bool changes_mine;
	} cases[] = { { NULL, true }, { "mine", true }, { "!mine", false } };
	auto_made_builder dwarfs_builder *base = made_builder();
	auto_made struct made_image made = { 0 };
	uint32_t blocks;

	if (!dwarfs_has_codec("zstd"))
		skip();
	make(&made);
	made_image_free(&made);
	assert_int_equal(dwarfs_builder_add_category(base, "mine", NULL), 0);
	dwarfs_builder_set_category_callback(base, in_mine, NULL);
	made_add(base, "d/big", big, BIG_BYTES);
	made_add_text(base, "text", "some text");
	made_finish(base, &made);
	blocks = count(&made, DWARFS_SECTION_BLOCK);
	for (size_t i = 0; i < 3; i++) {
		auto_made struct made_image to = { 0 };

		rewrite_categories(&made, cases[i].list, &to);
		assert_int_equal(count(&to, DWARFS_SECTION_BLOCK), blocks);
		for (uint32_t j = 0; j < blocks; j++) {
			struct span old = made_section(&made, DWARFS_SECTION_BLOCK, j);
			struct span new = made_section(&to, DWARFS_SECTION_BLOCK, j);
			int64_t category = dwarfs_image_block_category(made.image, j);
			bool is_mine = strcmp(dwarfs_image_category(made.image,
								    (size_t)category),
					      "mine") == 0;

			if (is_mine && !cases[i].changes_mine)
				assert_memory_equal(old.data, new.data, old.size);
			else if (is_mine)
				assert_true(new.size < old.size);
		}
	}
}

/* A list cannot leave them out. */
static void blocks_without_a_category_are_compressed_again(void **state)
{
	static const char *const lists[] = { "", "!" };
	auto_made struct made_image made = { 0 };

	if (!dwarfs_has_codec("zstd"))
		skip();
	make(&made);
	assert_true(dwarfs_image_block_category(made.image, 0) < 0);
	for (size_t i = 0; i < 2; i++) {
		auto_made struct made_image to = { 0 };

		rewrite_categories(&made, lists[i], &to);
		for (uint32_t j = 0; j < count(&made, DWARFS_SECTION_BLOCK) - 1; j++)
			assert_true(made_section(&to, DWARFS_SECTION_BLOCK, j).size <
				    made_section(&made, DWARFS_SECTION_BLOCK, j).size);
	}
}

static void a_limit_of_unused_bytes(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	assert_int_equal(dwarfs_builder_set_max_unused(builder, 101, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_builder_set_max_unused(NULL, 1, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_max_unused(builder, 100, NULL), 0);
	assert_int_equal(dwarfs_builder_set_max_unused(builder, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_that_are_not_named_stay),
		cmocka_unit_test(tables_are_found_in_metadata),
		cmocka_unit_test(lack_of_memory_does_not_hide_tables),
		cmocka_unit_test(the_block_size_changes),
		cmocka_unit_test(parts_that_cannot_be),
		cmocka_unit_test(builders_that_cannot_be_used),
		cmocka_unit_test(times_cannot_become_finer),
		cmocka_unit_test(unknown_sections_are_copied),
		cmocka_unit_test(unknown_sections_of_one_type_are_copied),
		cmocka_unit_test(history_is_completed),
		cmocka_unit_test(unknown_sections_of_one_type_are_not_merged),
		cmocka_unit_test(sections_keep_their_order),
		cmocka_unit_test(only_some_categories),
		cmocka_unit_test(blocks_without_a_category_are_compressed_again),
		cmocka_unit_test(a_limit_of_unused_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
