/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/help: the tables of the long help: levels, codecs, categories, formats.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <string.h>

static bool is_built_in(const char *codec)
{
	const char *help;
	size_t i;

	for (i = 0; (help = dwarfs_codec_help(i)); i++) {
		if (strcspn(help, " ") == strlen(codec) &&
		    strncmp(help, codec, strlen(codec)) == 0)
			return true;
	}
	return false;
}

/* What the table of levels cannot know. */
static void print_absent_codecs(void)
{
	static const char *const names[] = { "lz4",  "lz4hc",  "zstd",
					     "lzma", "brotli", "flac" };
	const char *between = "\nNot built in: ";
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (is_built_in(names[i]))
			continue;
		printf("%s%s", between, names[i]);
		between = ", ";
	}
	if (*between == ',')
		printf("; a level uses the nearest codec that is, or null.\n");
}

static void print_levels(void)
{
	printf("\nLevels (window: -W/-w; history: also the layout of the metadata):\n"
	       "  level  block   blocks   history  metadata  window  order\n"
	       "      0   1 MiB  null     null     null      off     none\n"
	       "      1   1 MiB  lz4      zstd:16  null      off     path\n"
	       "      2   1 MiB  lz4hc:9  zstd:16  null      off     path\n"
	       "      3   2 MiB  lz4hc:9  zstd:16  null      8/1     auto\n"
	       "      4   4 MiB  zstd:11  zstd:16  null      8/1     auto\n"
	       "      5   8 MiB  zstd:19  zstd:16  null      8/1     auto\n"
	       "      6  16 MiB  zstd:19  zstd:16  null      8/1     auto\n"
	       "      7  16 MiB  zstd:19  zstd:16  zstd:22   8/1     auto\n"
	       "      8  16 MiB  lzma:9   zstd:16  lzma:9    8/2     auto\n"
	       "      9  64 MiB  lzma:9   zstd:16  lzma:9    8/2     auto\n");
	printf("Levels 6 and 7 use zstd:level=19:wlog=24:clog=24:hlog=21:slog=5,\n"
	       "and lzma:level=6:block_size=21:check=none for blocks that get very "
	       "small.\n"
	       "Level 8 uses lzma:level=9:binary=auto:nice=128,\n"
	       "and lzma:level=9:binary=auto:nice=273 for blocks that get very small.\n"
	       "Level 9 uses lzma:level=9:binary=auto:nice=273.\n");
	print_absent_codecs();
}

static void print_categories(void)
{
	static const struct {
		const char *name, *categories;
	} table[] = {
		{ "fits", "fits/image, fits/metadata" },
		{ "pcmaudio", "pcmaudio/waveform, pcmaudio/metadata" },
		{ "binary", "binary/elf, binary/pe, binary/macho-header,\n"
			    "                  binary/macho-section" },
		{ "incompressible", "incompressible" },
		{ "hotness", "hotness (the files of --hotness-list)" },
	};
	size_t i;

	printf("\nCategorizers and their categories (everything else is <default>):\n");
	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		printf("  %-14s  %s\n", table[i].name, table[i].categories);
}

static void print_formats(void)
{
	const char *help;
	size_t i;

	printf("\nFormats of archives, with any compression around them:\n");
	for (i = 0; (help = dwarfs_archive_import_format_help(i)); i++)
		printf("  %s\n", help);
	if (i == 0)
		printf("  none: archives were not built in\n");
}

void print_tables(void)
{
	size_t i;

	print_levels();
	printf("\nCodecs (CODEC is a name with options, such as zstd:level=19):\n");
	for (i = 0; dwarfs_codec_help(i); i++)
		printf("  %s\n", dwarfs_codec_help(i));
	print_categories();
	print_formats();
}
