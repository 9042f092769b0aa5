/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/help: the tables of the long help: levels, codecs, categories, formats.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { CODEC_BYTES = 32 };

/* What the table of levels does not show. Number 0 of the format is no compression. */
static void print_absent_codecs(void)
{
	const char *between = "\nNot built in: ";
	char name[CODEC_BYTES];
	uint32_t number;
	size_t i;

	for (number = 1; strcmp(dwarfs_compression_name(number), "UNKNOWN") != 0;
	     number++) {
		snprintf(name, sizeof(name), "%s", dwarfs_compression_name(number));
		for (i = 0; name[i]; i++)
			name[i] = (char)tolower((unsigned char)name[i]);
		if (has_encoder(name, strlen(name)))
			continue;
		printf("%s%s", between, name);
		between = ", ";
	}
	if (*between == ',')
		printf("; a level uses the nearest codec that is, or null.\n");
}

/* "zstd:16" for "zstd:level=16:long": the options after the level are left out. */
static const char *shorten(const char *codec, char buffer[CODEC_BYTES])
{
	const size_t name = strcspn(codec, ":");
	const char *level = codec + name + strlen(":level=");

	if (strncmp(codec + name, ":level=", strlen(":level=")) != 0)
		snprintf(buffer, CODEC_BYTES, "%.*s", (int)name, codec);
	else
		snprintf(buffer, CODEC_BYTES, "%.*s:%.*s", (int)name, codec,
			 (int)strcspn(level, ":"), level);
	return buffer;
}

static void print_level(uint32_t level)
{
	static const int codecs[] = { DWARFS_LEVEL_BLOCKS, DWARFS_LEVEL_HISTORY,
				      DWARFS_LEVEL_METADATA };
	const uint32_t window = dwarfs_level_number(level, DWARFS_LEVEL_WINDOW);
	const uint32_t block_bits = dwarfs_level_number(level, DWARFS_LEVEL_BLOCK_BITS);
	char text[3][CODEC_BYTES], search[32] = "off";
	size_t i;

	for (i = 0; i < 3; i++)
		shorten(dwarfs_level_text(level, codecs[i]), text[i]);
	if (window)
		snprintf(search, sizeof(search), "%" PRIu32 "/%" PRIu32, window,
			 dwarfs_level_number(level, DWARFS_LEVEL_WINDOW_STEP));
	printf("  %5" PRIu32 "  %2u MiB  %-7s  %-7s  %-8s  %-6s  %s\n", level,
	       1u << (block_bits - 20), text[0], text[1], text[2], search,
	       dwarfs_level_text(level, DWARFS_LEVEL_ORDER));
}

/* The codecs that the table has shortened, and those for dense blocks and literals. */
static void print_codecs_of_level(uint32_t level)
{
	const char *blocks = dwarfs_level_text(level, DWARFS_LEVEL_BLOCKS);
	const char *dense = dwarfs_level_text(level, DWARFS_LEVEL_DENSE_BLOCKS);
	const char *literal = dwarfs_level_text(level, DWARFS_LEVEL_LITERAL_BLOCKS);
	const char *options = strchr(blocks, ':');

	if (options && strchr(options + 1, ':'))
		printf("  %5" PRIu32 "  blocks        %s\n", level, blocks);
	if (dense)
		printf("  %5" PRIu32 "  dense blocks  %s\n", level, dense);
	if (literal)
		printf("  %5" PRIu32 "  literals      %s\n", level, literal);
}

static void print_levels(void)
{
	uint32_t level;

	printf("\nLevels (window: -W/-w; history: also the layout of the metadata):\n"
	       "  level  block   blocks   history  metadata  window  order\n");
	for (level = 0; dwarfs_level_text(level, DWARFS_LEVEL_ORDER); level++)
		print_level(level);
	printf("Codecs of blocks with all options; dense blocks are those with a very high\n"
	       "compression ratio, and at levels 6 and 7 numbers that lzma makes much smaller;\n"
	       "literals are those with few repeated bytes:\n");
	for (level = 0; dwarfs_level_text(level, DWARFS_LEVEL_ORDER); level++)
		print_codecs_of_level(level);
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
