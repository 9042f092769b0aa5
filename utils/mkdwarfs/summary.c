/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/summary: the summary of a run: sizes, times and memory.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#define COUNT_ROOM 64

/* "3 files", "1 file" */
static const char *count_of(uint64_t count, const char *one, const char *many,
			    char buffer[COUNT_ROOM])
{
	snprintf(buffer, COUNT_ROOM, "%" PRIu64 " %s", count, count == 1 ? one : many);
	return buffer;
}

/* ", 3 symbolic links", or nothing for none */
static const char *also(uint64_t count, const char *one, const char *many,
			char buffer[COUNT_ROOM])
{
	buffer[0] = '\0';
	if (count)
		snprintf(buffer, COUNT_ROOM, ", %" PRIu64 " %s", count,
			 count == 1 ? one : many);
	return buffer;
}

static double ratio(uint64_t before, uint64_t after)
{
	return after ? (double)before / (double)after : 0;
}

/* ", ratio 3.14", or nothing where the size before is not known. */
static const char *ratio_of(uint64_t before, uint64_t after, char buffer[COUNT_ROOM])
{
	buffer[0] = '\0';
	if (before)
		snprintf(buffer, COUNT_ROOM, ", ratio %.2f", ratio(before, after));
	return buffer;
}

static void tell_entries(const dwarfs_builder *builder)
{
	const uint64_t skipped = dwarfs_builder_count(builder, DWARFS_COUNT_SKIPPED);
	const uint64_t hard_links = dwarfs_builder_count(builder, DWARFS_COUNT_HARDLINKS);
	char text[6][COUNT_ROOM];

	tool_log(DWARFS_LOG_INFO, "%s, %s%s%s%s%s",
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES),
			  "directory", "directories", text[0]),
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_FILES), "file",
			  "files", text[1]),
		 also(hard_links, "of them a hard link", "of them hard links", text[2]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_LINKS), "symbolic link",
		      "symbolic links", text[3]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_DEVICES), "device",
		      "devices", text[4]),
		 also(dwarfs_builder_count(builder, DWARFS_COUNT_SPECIALS),
		      "fifo or socket", "fifos and sockets", text[5]));
	if (skipped)
		tool_log(DWARFS_LOG_INFO, "%s left out (--with-devices, --with-specials)",
			 count_of(skipped, "device, fifo or socket was",
				  "devices, fifos and sockets were", text[0]));
}

static void tell_savings(const dwarfs_builder *builder)
{
	const uint64_t holes = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES);
	char size[4][TOOL_TEXT_ROOM];
	char count[2][COUNT_ROOM];

	tool_log(DWARFS_LOG_INFO, "input %s: saved %s in %s, %s in %s%s%s",
		 tool_format_bytes(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN),
				   size[0]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_DUPLICATE),
			 size[1]),
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES),
			  "duplicate", "duplicates", count[0]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_SEGMENTS),
			 size[2]),
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_SEGMENTS), "segment",
			  "segments", count[1]),
		 holes ? ", in holes " : "",
		 holes ? tool_format_bytes(holes, size[3]) : "");
}

static void tell_category(const dwarfs_builder *builder, size_t number)
{
	uint64_t in = 0;
	uint64_t stored = 0;
	uint64_t packed = 0;
	char size[3][TOOL_TEXT_ROOM];

	dwarfs_builder_category_bytes(builder, number, &in, &stored, &packed);
	if (in > 0)
		tool_log(DWARFS_LOG_INFO,
			 "%s: %s, %s in blocks, %s compressed, ratio %.2f",
			 dwarfs_builder_category_name(builder, number),
			 tool_format_bytes(in, size[0]),
			 tool_format_bytes(stored, size[1]),
			 tool_format_bytes(packed, size[2]), ratio(in, packed));
}

static void tell_blocks(const dwarfs_builder *builder)
{
	const uint64_t stored = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_STORED);
	const uint64_t packed = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_BLOCKS);
	char size[3][TOOL_TEXT_ROOM];
	char count[COUNT_ROOM];

	tool_log(DWARFS_LOG_INFO, "%s: %s before and %s after compression; metadata %s",
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS), "block",
			  "blocks", count),
		 tool_format_bytes(stored, size[0]), tool_format_bytes(packed, size[1]),
		 tool_format_bytes(
			 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_METADATA),
			 size[2]));
	tool_log(DWARFS_LOG_VERBOSE, "%s",
		 count_of(dwarfs_builder_count(builder, DWARFS_COUNT_CHUNKS), "chunk",
			  "chunks", count));
}

/*
 * The peak resident memory of the process. getrusage() may include that of the program
 * that started this one, so it is used only if /proc has no better value.
 */
static uint64_t peak_memory(const struct rusage *usage)
{
	FILE *status = fopen("/proc/self/status", "re");
	uint64_t peak = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmHWM: %" SCNu64 " kB", &peak) == 1)
			break;
	}
	if (status)
		fclose(status);
	return 1024 * (peak ? peak : (uint64_t)usage->ru_maxrss);
}

static uint64_t cpu_ns(const struct rusage *usage)
{
	const uint64_t seconds =
		(uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;
	const uint64_t micros =
		(uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;

	return seconds * 1000000000 + micros * 1000;
}

static void tell_costs(const dwarfs_builder *builder, uint64_t elapsed_ns)
{
	const uint64_t out = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_OUT);
	struct rusage usage = { 0 };
	char compared[COUNT_ROOM];
	char text[4][TOOL_TEXT_ROOM];

	getrusage(RUSAGE_SELF, &usage);
	tool_log(DWARFS_LOG_INFO,
		 "image %s%s, in %s (%s of processor time), peak memory %s",
		 tool_format_bytes(out, text[0]),
		 ratio_of(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_IN), out,
			  compared),
		 tool_format_duration(elapsed_ns, text[1]),
		 tool_format_duration(cpu_ns(&usage), text[2]),
		 tool_format_bytes(peak_memory(&usage), text[3]));
}

static void tell_images(const dwarfs_builder *builder, bool dry_run)
{
	static const struct {
		enum dwarfs_count blocks, bytes;
		const char *what;
	} rows[] = {
		{ DWARFS_COUNT_BLOCKS_COPIED, DWARFS_COUNT_BYTES_COPIED, "copied" },
		{ DWARFS_COUNT_BLOCKS_REWRITTEN, DWARFS_COUNT_BYTES_REWRITTEN,
		  "rewritten" },
		{ DWARFS_COUNT_BLOCKS_DROPPED, DWARFS_COUNT_BYTES_DROPPED, "dropped" },
	};
	char count[COUNT_ROOM];
	uint64_t blocks = 0;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		blocks += dwarfs_builder_count(builder, rows[i].blocks);
	for (i = 0; (blocks > 0 || dry_run) && i < sizeof(rows) / sizeof(rows[0]); i++)
		tool_log(DWARFS_LOG_INFO, "%s of images %s: %" PRIu64 " bytes",
			 count_of(dwarfs_builder_count(builder, rows[i].blocks), "block",
				  "blocks", count),
			 rows[i].what, dwarfs_builder_count(builder, rows[i].bytes));
	if (blocks > 0)
		tool_log(DWARFS_LOG_VERBOSE, "decompressed %" PRIu64 " bytes of images",
			 dwarfs_context_cache_count(dwarfs_builder_context(builder),
						    DWARFS_CACHE_DECODED_BYTES));
}

/* What a dry run would have written. */
static void tell_dry_run(const dwarfs_builder *builder)
{
	const uint64_t new_blocks =
		dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS) -
		dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS_COPIED);
	const uint64_t new_bytes =
		dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_BLOCKS) -
		dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_COPIED);
	char count[COUNT_ROOM];

	tool_log(DWARFS_LOG_INFO, "%s: %" PRIu64 " bytes",
		 count_of(new_blocks, "new block", "new blocks", count), new_bytes);
	tool_log(DWARFS_LOG_INFO,
		 "dry run: an image of %" PRIu64
		 " bytes would be made; nothing was written",
		 dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_OUT));
}

/* Such as one whose paths begin with the name of the input. */
static void tell_useless_list(const dwarfs_builder *builder,
			      const struct settings *settings)
{
	size_t i;

	if (!settings->hotness_list ||
	    !has_categorizer(settings, "hotness", strlen("hotness")))
		return;
	for (i = 0; i < dwarfs_builder_category_count(builder); i++) {
		uint64_t in = 0;
		uint64_t stored = 0;
		uint64_t packed = 0;

		if (strcmp(dwarfs_builder_category_name(builder, i), "hotness") != 0)
			continue;
		dwarfs_builder_category_bytes(builder, i, &in, &stored, &packed);
		if (in > 0)
			return;
	}
	tool_log(DWARFS_LOG_WARN,
		 "no path of --hotness-list is a file of the input with contents");
}

void summarize(const dwarfs_builder *builder, const struct settings *settings,
	       uint64_t elapsed_ns)
{
	size_t i;

	/* An image that is copied section by section has no entries that are counted. */
	if (dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES) > 0) {
		tell_entries(builder);
		tell_savings(builder);
	}
	tell_blocks(builder);
	for (i = 0; i < dwarfs_builder_category_count(builder); i++)
		tell_category(builder, i);
	tell_useless_list(builder, settings);
	tell_images(builder, settings->dry_run);
	tell_costs(builder, elapsed_ns);
	if (settings->dry_run)
		tell_dry_run(builder);
}
