/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digests: images with digests are merged and appended to without decompressing
 * what differs; wrong digests do no harm unless they are trusted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/section.h"
#include "format/side/digest_table.h"
#include "read/image/image.h"
#include "write/digests/content_hash.h"
#include "support/craft.h"
#include "support/made_image.h"

#define FILE_BYTES 20000 /* several blocks */
#define FILES	   6

static uint8_t texts[FILES][FILE_BYTES], sound[44 + 4000];

/* Files of one size: words in an order of their own, which compress. */
static int fill_texts(void **state)
{
	static const uint8_t head[44] =
		"RIFF\xc4\x0f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0"
		"\0\x88\x58\1\0\2\0\x10\0data\xa0\x0f\0";
	uint64_t random = 1;

	for (size_t file = 0; file < FILES; file++) {
		for (size_t i = 0; i + 5 <= FILE_BYTES; i += 5) {
			char word[8];

			random = random * UINT64_C(6364136223846793005) + 1;
			snprintf(word, sizeof(word), "%04u ",
				 (unsigned)(random >> 33) % 10000);
			memcpy(texts[file] + i, word, 5);
		}
	}
	memcpy(sound, head, sizeof(head));
	for (size_t i = sizeof(head); i < sizeof(sound); i++)
		sound[i] = (uint8_t)(i / 2 % 100);
	return 0;
}

static dwarfs_builder *new_builder(enum dwarfs_digests_use use)
{
	dwarfs_builder *builder;

	if (!dwarfs_has_codec("zstd"))
		skip();
	builder = made_builder();
	assert_int_equal(dwarfs_builder_set_level(builder, 5, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 16, NULL), 0);
	assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
						  "zstd:level=1", NULL),
			 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA, "null", NULL),
		0);
	assert_int_equal(dwarfs_builder_set_digests(builder, use, NULL), 0);
	dwarfs_builder_set_history(builder, false);
	return builder;
}

/* An image of some files, named by their numbers. */
static void make(struct made_image *made, enum dwarfs_digests_use use, const char *files)
{
	auto_made_builder dwarfs_builder *builder = new_builder(use);

	for (; *files; files++) {
		char name[2] = { *files };

		made_add(builder, name, texts[*files - '0'], FILE_BYTES);
	}
	made_finish(builder, made);
}

static void add_image(dwarfs_builder *builder, const struct made_image *made,
		      const char *prefix)
{
	assert_int_equal(dwarfs_builder_add_image(builder, made->image, prefix,
						  strlen(prefix), DWARFS_KEEP_BLOCKS,
						  NULL),
			 0);
}

static uint64_t decoded(const struct made_image *made)
{
	return dwarfs_context_cache_count(made->image->context,
					  DWARFS_CACHE_DECODED_BYTES);
}

static uint64_t decoded_again(const struct made_image *made)
{
	return dwarfs_context_cache_count(made->image->context,
					  DWARFS_CACHE_REDECODED_BYTES);
}

static bool get_table(const struct made_image *made, struct digest_table *table)
{
	int ret = dw_image_need_digests(made->image, table, NULL);

	assert_true(ret >= 0);
	return ret > 0;
}

static uint64_t number_of(const struct made_image *made, const char *path)
{
	uint64_t number;

	assert_int_equal(dw_view_file_contents(made->image->view,
					       made_inode(made, path).number, &number,
					       NULL),
			 0);
	return number;
}

static void expect_digest(const struct made_image *made, const char *path,
			  const uint8_t *data, size_t bytes)
{
	uint8_t found[DW_FILE_DIGEST_BYTES], wanted[DW_FILE_DIGEST_BYTES];
	struct digest_table table;

	assert_true(get_table(made, &table));
	assert_true(dw_digest_table_file(&table, number_of(made, path), found));
	dw_content_hash_once(data, bytes, wanted);
	assert_memory_equal(found, wanted, sizeof(found));
}

/* Change the bytes of the section, and open the image again. */
static uint8_t *section_bytes(struct made_image *made)
{
	struct span section = made_section(made, DWARFS_SECTION_DIGESTS, 0);

	assert_true(section.size > 0);
	return made->bytes.data + (section.data - made->bytes.data) + DW_HEADER_BYTES;
}

static void reopen(struct made_image *made)
{
	craft_rehash(made->bytes.data, made->bytes.size);
	made_open(made, DWARFS_VERIFY_EAGER);
}

/* Give a file the digest of other contents. */
static void forge(struct made_image *made, const char *path, const uint8_t *data,
		  size_t bytes)
{
	uint8_t *digests = section_bytes(made) + DW_DIGESTS_HEADER_BYTES;

	dw_content_hash_once(data, bytes,
			     digests + number_of(made, path) * DW_FILE_DIGEST_BYTES);
	reopen(made);
}

/* -- what is stored ------------------------------------------------------------------ */

static void each_content_has_its_digest(void **state)
{
	for (uint32_t workers = 0; workers < 4; workers += 3) {
		auto_made_builder dwarfs_builder *builder =
			new_builder(DWARFS_DIGESTS_ALWAYS);
		auto_made struct made_image made = { 0 };
		struct digest_table table;
		uint32_t first, end;

		assert_int_equal(dwarfs_builder_set_scan_workers(builder, workers, NULL),
				 0);
		assert_int_equal(
			dwarfs_builder_set_categorizers(builder, "pcmaudio", NULL), 0);
		made_add(builder, "sound.wav", sound, sizeof(sound));
		made_add(builder, "0", texts[0], FILE_BYTES);
		made_add(builder, "1", texts[1], FILE_BYTES);
		made_add(builder, "same", texts[1], FILE_BYTES);
		made_add(builder, "short", texts[2], 10);
		made_add(builder, "empty", "", 0);
		made_finish(builder, &made);
		expect_digest(&made, "sound.wav", sound, sizeof(sound));
		expect_digest(&made, "0", texts[0], FILE_BYTES);
		expect_digest(&made, "1", texts[1], FILE_BYTES);
		expect_digest(&made, "same", texts[1], FILE_BYTES);
		expect_digest(&made, "short", texts[2], 10);
		assert_true(get_table(&made, &table));
		assert_int_equal(table.block_count, made.image->block_count);
		assert_true(table.anchor_count > 0);
		for (uint32_t i = 0; i < table.block_count; i++)
			assert_true(dw_digest_table_block(&table, i, &first, &end));
	}
}

static void the_size_decides_by_default(void **state)
{
	auto_made struct made_image small = { 0 }, never = { 0 }, large = { 0 };
	auto_made_builder dwarfs_builder *builder = new_builder(DWARFS_DIGESTS_AUTO);
	auto_free uint8_t *data = dw_malloc(1 << 20);
	struct digest_table table;
	uint64_t random = 1;

	make(&small, DWARFS_DIGESTS_AUTO, "0");
	assert_true(get_table(&small, &table)); /* 40 bytes of 10 KB */
	assert_int_equal(table.file_count, 1);
	assert_int_equal(table.anchor_count, 0);
	make(&never, DWARFS_DIGESTS_NEVER, "0");
	assert_false(get_table(&never, &table));
	for (size_t i = 0; i < 1 << 20; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		data[i] = (uint8_t)(random >> 40);
	}
	made_add(builder, "random", data, 1 << 20);
	made_finish(builder, &large);
	assert_true(get_table(&large, &table));
	assert_true(table.anchor_count > 0);
	assert_true(made_section(&large, DWARFS_SECTION_DIGESTS, 0).size <
		    large.bytes.size / 200);
}

/* -- merging ------------------------------------------------------------------------- */

/* 0 is in all, 1 in two of them, the others in one. */
static void make_three(struct made_image *images, enum dwarfs_digests_use use)
{
	make(&images[0], use, "012");
	make(&images[1], use, "013");
	make(&images[2], use, "04");
}

static void merge(const struct made_image *images, bool trust, struct made_image *made)
{
	static const char *const prefixes[] = { "a", "b", "c" };
	auto_made_builder dwarfs_builder *builder = new_builder(DWARFS_DIGESTS_ALWAYS);

	dwarfs_builder_set_trust_digests(builder, trust);
	for (size_t i = 0; i < 3; i++)
		add_image(builder, &images[i], prefixes[i]);
	made_finish(builder, made);
}

static void expect_merged(const struct made_image *made)
{
	static const char *const paths[] = { "a/0", "a/1", "a/2", "b/0",
					     "b/1", "b/3", "c/0", "c/4" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const uint8_t *text = texts[paths[i][2] - '0'];

		made_expect(made, paths[i], text, FILE_BYTES);
		expect_digest(made, paths[i], text, FILE_BYTES);
	}
	assert_int_equal(number_of(made, "a/0"), number_of(made, "c/0"));
	assert_int_equal(number_of(made, "a/1"), number_of(made, "b/1"));
}

static void a_merge_decompresses_nothing_twice(void **state)
{
	struct made_image images[3] = { 0 };
	auto_made struct made_image plain = { 0 }, verified = { 0 }, trusted = { 0 };
	uint64_t most = 0;

	make_three(images, DWARFS_DIGESTS_NEVER);
	merge(images, false, &plain);
	expect_merged(&plain);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(decoded_again(&images[i]), 0);
		most += decoded(&images[i]);
		made_image_free(&images[i]);
	}

	make_three(images, DWARFS_DIGESTS_ALWAYS);
	merge(images, true, &trusted);
	expect_merged(&trusted);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(decoded(&images[i]), 0);
	merge(images, false, &verified);
	expect_merged(&verified);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(decoded_again(&images[i]), 0);
		assert_true(decoded(&images[i]) > 0);
		assert_true(decoded(&images[i]) <= (3 - i / 2) * FILE_BYTES);
		most -= decoded(&images[i]);
	}
	assert_true(most < UINT64_MAX / 2); /* no more than without digests */
	assert_int_equal(verified.bytes.size, trusted.bytes.size);
	assert_memory_equal(verified.bytes.data, trusted.bytes.data, trusted.bytes.size);
	for (size_t i = 0; i < 3; i++)
		made_image_free(&images[i]);
}

static void images_without_digests_are_compared(void **state)
{
	struct made_image images[3] = { 0 };
	auto_made struct made_image made = { 0 };

	make(&images[0], DWARFS_DIGESTS_ALWAYS, "012");
	make(&images[1], DWARFS_DIGESTS_NEVER, "013");
	make(&images[2], DWARFS_DIGESTS_ALWAYS, "04");
	merge(images, true, &made);
	expect_merged(&made);
	assert_int_equal(decoded(&images[0]), 0);
	assert_true(decoded(&images[1]) > 0);
	assert_int_equal(decoded(&images[2]), 0);
	for (size_t i = 0; i < 3; i++)
		made_image_free(&images[i]);
}

/* -- appending ----------------------------------------------------------------------- */

static void append(const struct made_image *base, bool trust, const uint8_t *data,
		   struct made_image *made)
{
	auto_made_builder dwarfs_builder *builder = new_builder(DWARFS_DIGESTS_ALWAYS);

	dwarfs_builder_set_trust_digests(builder, trust);
	add_image(builder, base, "");
	if (data)
		made_add(builder, "new", data, FILE_BYTES);
	made_finish(builder, made);
	made_expect(made, "0", texts[0], FILE_BYTES);
}

static void an_append_decompresses_only_what_matches(void **state)
{
	auto_made struct made_image base = { 0 }, same = { 0 }, other = { 0 };
	auto_made struct made_image equal = { 0 }, verified = { 0 };

	make(&base, DWARFS_DIGESTS_ALWAYS, "012");
	append(&base, false, NULL, &same);
	append(&base, false, texts[3], &other); /* of the same size */
	made_expect(&other, "new", texts[3], FILE_BYTES);
	append(&base, true, texts[1], &equal);
	assert_int_equal(number_of(&equal, "new"), number_of(&equal, "1"));
	assert_int_equal(decoded(&base), 0);
	append(&base, false, texts[1], &verified);
	assert_int_equal(number_of(&verified, "new"), number_of(&verified, "1"));
	assert_true(decoded(&base) > 0);
	assert_int_equal(decoded_again(&base), 0);
	assert_int_equal(same.image->block_count, base.image->block_count);
	expect_digest(&other, "new", texts[3], FILE_BYTES);
}

/* Part of a file that the base has: found by the anchors, and stored once. */
static void parts_are_found_by_anchors(void **state)
{
	static uint8_t mixed[FILE_BYTES];
	auto_made struct made_image base = { 0 }, with = { 0 }, without = { 0 };
	uint32_t blocks;

	memcpy(mixed, texts[4], FILE_BYTES);
	memcpy(mixed + 1000, texts[1] + 500, FILE_BYTES - 1000);
	for (int i = 0; i < 2; i++) {
		struct made_image *made = i ? &with : &without;

		made_image_free(&base);
		make(&base, i ? DWARFS_DIGESTS_ALWAYS : DWARFS_DIGESTS_NEVER, "012");
		append(&base, false, mixed, made);
		made_expect(made, "new", mixed, FILE_BYTES);
		assert_int_equal(decoded_again(&base), 0);
	}
	blocks = with.image->block_count;
	assert_int_equal(blocks, without.image->block_count);
	assert_int_equal(made_section(&with, DWARFS_SECTION_BLOCK, blocks - 1).size,
			 made_section(&without, DWARFS_SECTION_BLOCK, blocks - 1).size);
}

/* -- wrong digests ------------------------------------------------------------------- */

static void forged_digests_are_harmless_unless_trusted(void **state)
{
	auto_made struct made_image base = { 0 }, verified = { 0 }, trusted = { 0 };

	make(&base, DWARFS_DIGESTS_ALWAYS, "012");
	forge(&base, "1", texts[5], FILE_BYTES);
	append(&base, false, texts[5], &verified);
	made_expect(&verified, "new", texts[5], FILE_BYTES);
	made_expect(&verified, "1", texts[1], FILE_BYTES);
	expect_digest(&verified, "1", texts[1], FILE_BYTES); /* as it was read */
	/* This is what trust means. */
	append(&base, true, texts[5], &trusted);
	made_expect(&trusted, "new", texts[1], FILE_BYTES);
}

static void forged_anchors_are_harmless(void **state)
{
	auto_made struct made_image base = { 0 }, made = { 0 };
	struct digest_table table;
	uint8_t *hashes;

	make(&base, DWARFS_DIGESTS_ALWAYS, "012");
	assert_true(get_table(&base, &table));
	assert_true(table.anchor_count > 1);
	hashes = section_bytes(&base) + (table.hashes - table.digests) +
		 DW_DIGESTS_HEADER_BYTES;
	for (uint32_t i = 1; i < table.anchor_count;
	     i++) /* each is that of the one before */
		dw_store64(hashes + 8 * (size_t)(i - 1), dw_digest_table_hash(&table, i));
	reopen(&base);
	append(&base, false, texts[1] /* in parts */, &made);
	made_expect(&made, "new", texts[1], FILE_BYTES);
}

static void damaged_sections_are_ignored(void **state)
{
	for (int defect = 0; defect < 3; defect++) {
		auto_made struct made_image base = { 0 }, made = { 0 };
		struct digest_table table;
		uint8_t *section;

		make(&base, DWARFS_DIGESTS_ALWAYS, "012");
		section = section_bytes(&base);
		if (defect == 0) /* of other metadata */
			section[DIGESTS_AT_METADATA_XXH3]++;
		else if (defect == 1)
			dw_store32(section + DIGESTS_AT_ANCHOR_COUNT, UINT32_MAX);
		else
			dw_store32(section + DIGESTS_AT_VERSION, 2);
		reopen(&base);
		assert_true(dw_image_need_digests(base.image, &table, NULL) < 0);
		assert_true(dwarfs_image_check(base.image, DWARFS_CHECK_CHECKSUMS, NULL,
					       NULL, NULL, NULL, NULL) < 0);
		made_expect(&base, "0", texts[0], FILE_BYTES);
		append(&base, true, texts[1], &made);
		made_expect(&made, "new", texts[1], FILE_BYTES);
		assert_int_equal(number_of(&made, "new"), number_of(&made, "1"));
	}
}

/* -- rewriting ----------------------------------------------------------------------- */

static void rewriting_keeps_drops_or_makes_them(void **state)
{
	static const struct {
		enum dwarfs_digests_use had, use;
		uint32_t parts;
		bool has;
	} cases[] = {
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_AUTO, 0, true },
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_AUTO, DWARFS_REWRITE_METADATA,
		  true },
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_AUTO, DWARFS_REWRITE_BLOCKS,
		  true },
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_NEVER, DWARFS_REWRITE_BLOCKS,
		  false },
		{ DWARFS_DIGESTS_NEVER, DWARFS_DIGESTS_AUTO, DWARFS_REWRITE_METADATA,
		  false },
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_ALWAYS, DWARFS_REWRITE_REBUILD,
		  true },
		{ DWARFS_DIGESTS_ALWAYS, DWARFS_DIGESTS_NEVER, DWARFS_REWRITE_REBUILD,
		  false },
		{ DWARFS_DIGESTS_NEVER, DWARFS_DIGESTS_ALWAYS, DWARFS_REWRITE_REBUILD,
		  true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_made struct made_image old = { 0 }, new = { 0 };
		auto_made_builder dwarfs_builder *builder = new_builder(cases[i].use);
		struct digest_table before, after;

		make(&old, cases[i].had, "012");
		assert_int_equal(made_rewrite(&old, cases[i].parts, builder, &new, NULL),
				 0);
		made_open(&new, DWARFS_VERIFY_EAGER);
		assert_int_equal(dwarfs_image_check(new.image, DWARFS_CHECK_INTEGRITY,
						    NULL, NULL, NULL, NULL, NULL),
				 0);
		assert_int_equal(get_table(&new, &after), cases[i].has);
		if (!cases[i].has)
			continue;
		expect_digest(&new, "2", texts[2], FILE_BYTES);
		if (get_table(&old, &before))
			assert_int_equal(before.anchor_count, after.anchor_count);
		assert_true(after.anchor_count > 0);
	}
}

static void digests_cannot_be_made_without_the_files(void **state)
{
	auto_made struct made_image old = { 0 }, new = { 0 };
	auto_made_builder dwarfs_builder *builder = new_builder(DWARFS_DIGESTS_ALWAYS);

	make(&old, DWARFS_DIGESTS_NEVER, "0");
	assert_int_equal(made_rewrite(&old, DWARFS_REWRITE_METADATA, builder, &new, NULL),
			 DWARFS_ERR_INVALID);
}

static void options_are_checked(void **state)
{
	auto_made_builder dwarfs_builder *builder = made_builder();

	assert_int_equal(dwarfs_builder_set_digests(NULL, DWARFS_DIGESTS_AUTO, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_set_digests(builder, 3, NULL), DWARFS_ERR_RANGE);
	dwarfs_builder_set_trust_digests(NULL, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_content_has_its_digest),
		cmocka_unit_test(the_size_decides_by_default),
		cmocka_unit_test(a_merge_decompresses_nothing_twice),
		cmocka_unit_test(images_without_digests_are_compared),
		cmocka_unit_test(an_append_decompresses_only_what_matches),
		cmocka_unit_test(parts_are_found_by_anchors),
		cmocka_unit_test(forged_digests_are_harmless_unless_trusted),
		cmocka_unit_test(forged_anchors_are_harmless),
		cmocka_unit_test(damaged_sections_are_ignored),
		cmocka_unit_test(rewriting_keeps_drops_or_makes_them),
		cmocka_unit_test(digests_cannot_be_made_without_the_files),
		cmocka_unit_test(options_are_checked),
	};

	return cmocka_run_group_tests(tests, fill_texts, NULL);
}
