/* SPDX-License-Identifier: MIT */
/*
 * The files of the test data, and their categories.
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
	*state = categorized_new("fits,pcmaudio,binary");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

static const struct {
	const char *name, *parts, *json;
} inputs[] = {
	{ "binary/elf-aarch64", "binary/elf 1024", NULL },
	{ "binary/elf-arm", "binary/elf 1024", NULL },
	{ "binary/elf-i386", "binary/elf 1024", NULL },
	{ "binary/elf-loongarch64", "binary/elf 1024", NULL },
	{ "binary/elf-ppc64", "binary/elf 1024", NULL },
	{ "binary/elf-ppc64le", "binary/elf 1024", NULL },
	{ "binary/elf-riscv64", "binary/elf 1024", NULL },
	{ "binary/elf-s390x", "binary/elf 1024", NULL },
	{ "binary/elf-x86_64", "binary/elf 1024", NULL },
	{ "binary/macho-arm64", "binary/macho-section 16840", NULL },
	{ "binary/macho-arm64-x86_64",
	  "binary/macho-header 4096, binary/macho-section 4272, "
	  "binary/macho-header 8016, binary/macho-section 16840",
	  NULL },
	{ "binary/macho-fat64-arm64-x86_64",
	  "binary/macho-header 4096, binary/macho-section 4272, "
	  "binary/macho-header 8016, binary/macho-section 16840",
	  NULL },
	{ "binary/macho-x86_64", "binary/macho-section 4272", NULL },
	{ "binary/pe-amd64", "binary/pe 1024", NULL },
	{ "fits/dark.fits", "fits/metadata 2880, fits/image 5406, fits/metadata 354",
	  "{\"bytes_per_sample\":2,\"component_count\":1,\"endianness\":\"big\","
	  "\"unused_lsb_count\":4}" },
	{ "fits/test.fits", "fits/metadata 5760, fits/image 6144, fits/metadata 2496",
	  "{\"bytes_per_sample\":2,\"component_count\":2,\"endianness\":\"big\","
	  "\"unused_lsb_count\":2}" },
#define FLAC_JSON(bits, bytes, order, sign)                                              \
	"{\"bits_per_sample\":" bits ",\"bytes_per_sample\":" bytes                      \
	",\"endianness\":\"" order "\",\"number_of_channels\":1,\"padding\":\"lsb\","    \
	"\"signedness\":\"" sign "\"}"
#define SOUND(name, metadata, bytes, json)                                               \
	{                                                                                \
		"pcmaudio/" name,                                                        \
			"pcmaudio/metadata " metadata ", pcmaudio/waveform " bytes, json \
	}
	/* Files made from 12 bits declare 16 bits, from 20 bits 24. */
	SOUND("test12.aiff", "88", "14", FLAC_JSON("16", "2", "big", "signed")),
	SOUND("test12.caf", "4096", "14", FLAC_JSON("16", "2", "big", "signed")),
	SOUND("test12.w64", "104", "14", FLAC_JSON("16", "2", "little", "signed")),
	SOUND("test12.wav", "44", "14", FLAC_JSON("16", "2", "little", "signed")),
	SOUND("test16.aiff", "88", "14", FLAC_JSON("16", "2", "big", "signed")),
	SOUND("test16.caf", "4096", "14", FLAC_JSON("16", "2", "big", "signed")),
	SOUND("test16.w64", "104", "14", FLAC_JSON("16", "2", "little", "signed")),
	SOUND("test16.wav", "44", "14", FLAC_JSON("16", "2", "little", "signed")),
	SOUND("test20.aiff", "88", "21", FLAC_JSON("24", "3", "big", "signed")),
	SOUND("test20.caf", "4096", "21, pcmaudio/metadata 1",
	      FLAC_JSON("24", "3", "big", "signed")),
	SOUND("test20.w64", "104", "21", FLAC_JSON("24", "3", "little", "signed")),
	SOUND("test20.wav", "80", "21, pcmaudio/metadata 1",
	      FLAC_JSON("24", "3", "little", "signed")),
	SOUND("test24.aiff", "88", "21", FLAC_JSON("24", "3", "big", "signed")),
	SOUND("test24.caf", "4096", "21, pcmaudio/metadata 1",
	      FLAC_JSON("24", "3", "big", "signed")),
	SOUND("test24.w64", "104", "21", FLAC_JSON("24", "3", "little", "signed")),
	SOUND("test24.wav", "80", "21, pcmaudio/metadata 1",
	      FLAC_JSON("24", "3", "little", "signed")),
	SOUND("test32.aiff", "88", "28", FLAC_JSON("32", "4", "big", "signed")),
	SOUND("test32.caf", "4096", "28", FLAC_JSON("32", "4", "big", "signed")),
	SOUND("test32.w64", "104", "28", FLAC_JSON("32", "4", "little", "signed")),
	SOUND("test32.wav", "80", "28", FLAC_JSON("32", "4", "little", "signed")),
	SOUND("test8.aiff", "88", "7, pcmaudio/metadata 1",
	      FLAC_JSON("8", "1", "big", "signed")),
	SOUND("test8.caf", "4096", "7, pcmaudio/metadata 1",
	      FLAC_JSON("8", "1", "big", "signed")),
	SOUND("test8.w64", "104", "7", FLAC_JSON("8", "1", "little", "unsigned")),
	SOUND("test8.wav", "44", "7, pcmaudio/metadata 1",
	      FLAC_JSON("8", "1", "little", "unsigned")),
	{ "sparse.tar", "", NULL },
};

/* Of the part that has samples; "" in a build without JSON. */
static const char *json_of(const struct categorized *all)
{
	for (size_t i = 0; i < all->parts.count; i++)
		if (all->parts.list[i].samples.is_known)
			return all->parts.list[i].metadata_json
				       ? all->parts.list[i].metadata_json
				       : "";
	return NULL;
}

static void inputs_have_known_parts(void **state)
{
	struct categorized *all = *state;

	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
		const char *json;

		if (strcmp(categorize_input(all, inputs[i].name), inputs[i].parts) != 0)
			fail_msg("%s: %s", inputs[i].name, all->text);
		assert_string_equal(all->warnings, "");
		json = json_of(all);
		assert_int_equal(!json, !inputs[i].json);
		if (json && *json)
			assert_string_equal(json, inputs[i].json);
	}
}

static const struct {
	const char *name;
	enum architecture architecture;
} variants[] = {
	{ "binary/elf-aarch64", ARCHITECTURE_ARM64 },
	{ "binary/elf-arm", ARCHITECTURE_ARM },
	{ "binary/elf-i386", ARCHITECTURE_X86 },
	{ "binary/elf-loongarch64", ARCHITECTURE_LOONGARCH },
	{ "binary/elf-ppc64", ARCHITECTURE_POWERPC },
	{ "binary/elf-ppc64le", ARCHITECTURE_POWERPC_LITTLE },
	{ "binary/elf-riscv64", ARCHITECTURE_RISCV },
	{ "binary/elf-s390x", ARCHITECTURE_S390 },
	{ "binary/elf-x86_64", ARCHITECTURE_X86_64 },
	{ "binary/macho-arm64", ARCHITECTURE_ARM64 },
	{ "binary/macho-x86_64", ARCHITECTURE_X86_64 },
	{ "binary/pe-amd64", ARCHITECTURE_X86_64 },
};

static void variants_are_architectures(void **state)
{
	struct categorized *all = *state;

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		categorize_input(all, variants[i].name);
		assert_int_equal(all->parts.count, 1);
		assert_int_equal(all->parts.list[0].variant, variants[i].architecture);
	}
	categorize_input(all, "binary/macho-arm64-x86_64");
	assert_int_equal(all->parts.list[0].variant, ARCHITECTURE_NONE);
	assert_int_equal(all->parts.list[1].variant, ARCHITECTURE_X86_64);
	assert_int_equal(all->parts.list[3].variant, ARCHITECTURE_ARM64);
}

static void nothing_is_of_no_category(void **state)
{
	struct bytes bytes = { .size = 0 };

	assert_nothing(*state, &bytes);
	append_text(&bytes, "a text");
	assert_nothing(*state, &bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(inputs_have_known_parts),
		TEST(variants_are_architectures),
		TEST(nothing_is_of_no_category),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
