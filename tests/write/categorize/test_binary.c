/* SPDX-License-Identifier: MIT */
/*
 * Programs: ELF, PE and Mach-O files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/categorized.h"

static int setup(void **state)
{
	*state = categorized_new("binary");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

static void make_elf(uint8_t class, bool big, struct bytes *out)
{
	void (*word)(struct bytes *, uint64_t, unsigned) = big ? put_big : put_little;

	out->size = 0;
	put(out, "\177ELF", 4);
	put_little(out, class, 1);
	put_little(out, big ? 2 : 1, 1);
	put_little(out, 1, 1);
	put_zeros(out, 9);
	word(out, 3, 2);
	word(out, 62, 2);
	word(out, 1, 4);
	put_zeros(out, class == 2 ? 24 : 12);
	word(out, 0, 4); /* flags */
	word(out, class == 2 ? 64 : 52, 2);
	word(out, class == 2 ? 56 : 32, 2);
	word(out, 1, 2);
	word(out, class == 2 ? 64 : 40, 2);
	word(out, 1, 2);
	word(out, 0, 2);
	put_zeros(out, 36);
}

static void elf_of_any_class_and_order_is_known(void **state)
{
	struct bytes bytes;

	make_elf(1, false, &bytes);
	assert_parts(*state, &bytes, "binary/elf 88");
	make_elf(1, true, &bytes);
	assert_parts(*state, &bytes, "binary/elf 88");
	make_elf(2, false, &bytes);
	assert_parts(*state, &bytes, "binary/elf 100");
	make_elf(2, true, &bytes);
	assert_parts(*state, &bytes, "binary/elf 100");
	bytes.size = 64;
	assert_no_prefix(*state, &bytes);
}

static void corrupted_elf_is_none(void **state)
{
	/* type, machine, version, sizes of the header and of the tables' items */
	static const size_t places[] = { 0, 3, 4, 5, 6, 17, 20, 23, 52, 54, 58 };
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		make_elf(2, false, &bytes);
		bytes.data[places[i]] ^= 0x40;
		assert_nothing(*state, &bytes);
	}
	make_elf(2, false, &bytes);
	memset(bytes.data + 18, 0, 2);
	assert_nothing(*state, &bytes);
}

static void make_pe(uint32_t header_at, struct bytes *out)
{
	out->size = 0;
	append_text(out, "MZ");
	put_zeros(out, 58);
	put_little(out, header_at, 4);
	put_zeros(out, 64);
	put(out, "PE\0", 4);
	put_little(out, 0x14c, 2);
	put_little(out, 3, 2);
	put_zeros(out, 12);
	put_little(out, 224, 2);
	put_little(out, 0, 2);
	put_little(out, 0x10b, 2);
}

static void pe_needs_a_good_header(void **state)
{
	static const size_t places[] = { 0, 1, 128, 131, 135, 152, 153 };
	struct categorized *all = *state;
	struct bytes bytes;

	make_pe(128, &bytes);
	assert_parts(all, &bytes, "binary/pe 154");
	assert_int_equal(all->parts.list[0].variant, ARCHITECTURE_X86);
	assert_no_prefix(all, &bytes);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		make_pe(128, &bytes);
		bytes.data[places[i]] ^= 0x40;
		assert_nothing(all, &bytes);
	}
	make_pe(UINT32_MAX, &bytes);
	assert_nothing(all, &bytes);
	make_pe(0, &bytes);
	assert_nothing(all, &bytes);
}

/* A file for one processor: 28 bytes of header, one command of 8 bytes, 4 bytes. */
static void put_macho(struct bytes *out, uint32_t cpu)
{
	put_little(out, 0xfeedface, 4);
	put_little(out, cpu, 4);
	put_little(out, 3, 4);
	put_little(out, 2, 4);
	put_little(out, 1, 4);
	put_little(out, 8, 4);
	put_little(out, 0, 4);
	put_little(out, 2, 4);
	put_little(out, 8, 4);
	append_text(out, "text");
}

#define MACHO_BYTES 40

static void macho_needs_a_good_header(void **state)
{
	static const size_t places[] = { 0, 3, 13, 17, 22, 32, 33 };
	struct categorized *all = *state;
	struct bytes bytes = { .size = 0 };

	put_macho(&bytes, 7);
	assert_parts(all, &bytes, "binary/macho-section 40");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		bytes.data[places[i]] ^= 0x20;
		assert_nothing(all, &bytes);
		bytes.data[places[i]] ^= 0x20;
	}
	bytes.size = 36;
	assert_no_prefix(all, &bytes);
}

struct fat_slice {
	uint32_t cpu, offset, size;
};

static void make_fat(const struct fat_slice *slices, size_t count, bool wide,
		     struct bytes *out)
{
	out->size = 0;
	put_big(out, wide ? 0xcafebabf : 0xcafebabe, 4);
	put_big(out, count, 4);
	for (size_t i = 0; i < count; i++) {
		put_big(out, slices[i].cpu, 4);
		put_big(out, 3, 4);
		put_big(out, slices[i].offset, wide ? 8 : 4);
		put_big(out, slices[i].size, wide ? 8 : 4);
		put_big(out, 0, wide ? 8 : 4); /* alignment */
	}
	put_zeros(out, 100 - out->size);
	put_macho(out, 7);
	put_zeros(out, 60);
	put_macho(out, 12);
	put_zeros(out, 10);
}

static void fat_files_are_cut_into_slices(void **state)
{
	static const struct fat_slice in_order[] = { { 7, 100, MACHO_BYTES },
						     { 12, 200, MACHO_BYTES } };
	static const struct fat_slice reversed[] = { { 12, 200, MACHO_BYTES },
						     { 7, 100, 100 } };
	struct categorized *all = *state;
	struct bytes bytes;

	for (unsigned wide = 0; wide <= 1; wide++) {
		make_fat(in_order, 2, wide, &bytes);
		assert_parts(all, &bytes,
			     "binary/macho-header 100, binary/macho-section 40, "
			     "binary/macho-header 60, binary/macho-section 40, "
			     "binary/macho-header 10");
		make_fat(reversed, 2, wide, &bytes);
		assert_parts(all, &bytes,
			     "binary/macho-header 100, binary/macho-section 100, "
			     "binary/macho-section 40, binary/macho-header 10");
		assert_int_equal(all->parts.list[1].variant, ARCHITECTURE_X86);
		assert_int_equal(all->parts.list[2].variant, ARCHITECTURE_ARM);
	}
}

static void fat_files_must_hold_together(void **state)
{
	static const struct fat_slice cases[][2] = {
		{ { 7, 100, MACHO_BYTES }, { 7, 200, MACHO_BYTES } },  /* other CPU */
		{ { 7, 100, MACHO_BYTES }, { 12, 201, MACHO_BYTES } }, /* none */
		{ { 7, 100, MACHO_BYTES }, { 12, 200, 51 } },	       /* too long */
		{ { 7, 100, 101 }, { 12, 200, MACHO_BYTES } },	       /* overlap */
		{ { 7, 100, MACHO_BYTES }, { 12, 200, 0 } },	       /* empty */
		{ { 7, 100, MACHO_BYTES }, { 12, UINT32_MAX, 40 } },   /* past the end */
		{ { 7, 100, MACHO_BYTES }, { 12, 200, UINT32_MAX } },
		{ { 7, 40, MACHO_BYTES }, { 12, 200, MACHO_BYTES } }, /* in the table */
		{ { 7, 0, 250 }, { 12, 200, MACHO_BYTES } },	      /* itself */
	};
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_fat(cases[i], 2, false, &bytes);
		assert_nothing(*state, &bytes);
	}
	make_fat(cases[0], 0, false, &bytes);
	assert_nothing(*state, &bytes);
	make_fat(cases[0], 1, false, &bytes);
	bytes.data[4] = 0x7f; /* very many slices */
	assert_nothing(*state, &bytes);
	bytes.data[4] = 0;
	bytes.data[7] = 52; /* a class of Java */
	assert_nothing(*state, &bytes);
}

static void nested_fat_files_are_none(void **state)
{
	static const struct fat_slice inner[] = { { 7, 100, MACHO_BYTES } };
	struct bytes nested, bytes = { .size = 0 };

	make_fat(inner, 1, false, &nested);
	put_big(&bytes, 0xcafebabe, 4);
	put_big(&bytes, 1, 4);
	put_big(&bytes, 7, 4);
	put_big(&bytes, 3, 4);
	put_big(&bytes, 64, 4);
	put_big(&bytes, nested.size, 4);
	put_zeros(&bytes, 64 - bytes.size);
	put(&bytes, nested.data, nested.size);
	assert_nothing(*state, &bytes);
}

static void libraries_may_be_slices(void **state)
{
	struct bytes bytes = { .size = 0 };

	put_big(&bytes, 0xcafebabe, 4);
	put_big(&bytes, 1, 4);
	put_big(&bytes, 7, 4);
	put_big(&bytes, 3, 4);
	put_big(&bytes, 64, 4);
	put_big(&bytes, 20, 4);
	put_zeros(&bytes, 64 - bytes.size);
	append_text(&bytes, "!<arch>\n");
	put_zeros(&bytes, 12);
	assert_parts(*state, &bytes, "binary/macho-header 64, binary/macho-section 20");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(elf_of_any_class_and_order_is_known),
		TEST(corrupted_elf_is_none),
		TEST(pe_needs_a_good_header),
		TEST(macho_needs_a_good_header),
		TEST(fat_files_are_cut_into_slices),
		TEST(fat_files_must_hold_together),
		TEST(nested_fat_files_are_none),
		TEST(libraries_may_be_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
