/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/mount_options: the options after -o that are not those of libfuse or mount(8).
 *
 * One table of them, from which the settings and the help come.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "dwarfs/options.h"

#define MAX_WORKERS    1024
#define LEAST_MAX_READ 4096   /* the kernel takes this for less */
#define MAX_THREADS    100000 /* as libfuse has it */
#define MINUTE_MS      UINT64_C(60000)

/* Names are printed in messages as they are here. */
#define PREFIX	     "-o "
#define PREFIX_BYTES 3

/* -- values -------------------------------------------------------------------------- */

/* A number of seconds, or with a unit: ms, s, m, h, d. */
static int parse_duration(const char *name, const char *text, uint64_t *ms_out)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "", 1000 },
		      { "ms", 1 },
		      { "s", 1000 },
		      { "m", MINUTE_MS },
		      { "h", 60 * MINUTE_MS },
		      { "d", 1440 * MINUTE_MS } };
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && errno == 0 && value <= UINT32_MAX)
		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
			if (strcmp(end, units[i].unit) == 0) {
				*ms_out = value * units[i].ms;
				return 0;
			}
	return tool_error("invalid duration '%s' for %s: use a number of seconds, or one "
			  "with ms, s, m, h or d",
			  text, name);
}

static int parse_interval(const struct tool_option *option, const char *text, void *to)
{
	struct settings *settings = to;

	if (parse_duration(option->name, text, &settings->tidy_interval_ms) != 0)
		return 1;
	if (settings->tidy_interval_ms > 0)
		return 0;
	return tool_error("invalid duration '%s' for %s: must not be 0", text,
			  option->name);
}

static int parse_age(const struct tool_option *option, const char *text, void *settings)
{
	return parse_duration(option->name, text,
			      &((struct settings *)settings)->tidy_age_ms);
}

static int parse_decode_ratio(const struct tool_option *option, const char *text,
			      void *settings)
{
	char *end;
	double ratio = strtod(text, &end);

	if (end == text || *end || !(ratio >= 0 && ratio <= 1))
		return tool_error("invalid ratio '%s' for %s: must be between 0 and 1",
				  text, option->name);
	((struct settings *)settings)->finish_percent = (uint32_t)(ratio * 100 + 0.5);
	return 0;
}

/* "fuse+block_cache" */
static int parse_parts(const struct tool_option *option, const char *text, void *settings)
{
	static const char *const words[] = { "fuse", "filesystem_v2", "inode_reader_v2",
					     "block_cache", NULL };
	auto_free char *copy = strdup(text);
	char *rest = copy;

	if (!copy)
		return tool_error("out of memory");
	for (char *word; (word = strsep(&rest, "+"));) {
		int part = 0;

		if (tool_parse_word(option->name, word, words, &part) != 0)
			return 1;
		((struct settings *)settings)->perfmon |= 1u << part;
	}
	return 0;
}

static int parse_allocator(const struct tool_option *option, const char *text,
			   void *settings)
{
	static const char *const words[] = { "malloc", "mmap", NULL };
	int word = 0;

	(void)settings;
	if (tool_parse_word(option->name, text, words, &word) != 0)
		return 1;
	if (word == 0)
		tool_log(DWARFS_LOG_WARN,
			 "option 'block_allocator=%s' has no effect: decoded blocks are "
			 "always in mapped memory",
			 text);
	return 0;
}

static int parse_level(const struct tool_option *option, const char *text, void *settings)
{
	return tool_parse_log_level(option->name, text,
				    &((struct settings *)settings)->log_level);
}

/* A size from the minimum of the option on that the kernel takes as 32 bits. */
static int parse_small_size(const struct tool_option *option, const char *text,
			    void *settings)
{
	uint64_t *bytes = (uint64_t *)(void *)((char *)settings + option->target);

	if (tool_parse_bytes(option->name, text, bytes) != 0)
		return 1;
	if (*bytes >= option->min && *bytes <= UINT32_MAX)
		return 0;
	return tool_error("invalid size '%s' for %s: must be from %" PRIu64 " to 4g - 1",
			  text, option->name, option->min);
}

/* The argument is not valid for long. */
static int store_text(const struct tool_option *option, const char *text, void *settings)
{
	char **copy = (char **)(void *)((char *)settings + option->target);

	free(*copy);
	*copy = strdup(text);
	return *copy ? 0 : tool_error("out of memory");
}

static int clear_flag(const struct tool_option *option, const char *text, void *settings)
{
	(void)text;
	*(bool *)(void *)((char *)settings + option->target) = false;
	return 0;
}

static int keep_sparse(const struct tool_option *option, const char *text, void *settings)
{
	(void)option;
	(void)text;
	((struct settings *)settings)->sparse = SPARSE_KEEP;
	return 0;
}

static int drop_sparse(const struct tool_option *option, const char *text, void *settings)
{
	(void)option;
	(void)text;
	((struct settings *)settings)->sparse = SPARSE_DROP;
	return 0;
}

static int warn_no_effect(const struct tool_option *option, const char *text,
			  void *settings)
{
	(void)text;
	(void)settings;
	tool_log(DWARFS_LOG_WARN, "option '%s' has no effect any more",
		 option->name + PREFIX_BYTES);
	return 0;
}

/* -- the table ----------------------------------------------------------------------- */

static const char *const verify_modes[] = {
	[DWARFS_VERIFY_EAGER] = "eager",
	[DWARFS_VERIFY_LAZY] = "lazy",
	NULL,
};
static const char *const tidy_modes[] = {
	[TIDY_NONE] = "none",
	[TIDY_TIME] = "time",
	[TIDY_SWAP] = "swap",
	NULL,
};
static const char *const affinity_modes[] = {
	[AFFINITY_AUTO] = "auto",
	[AFFINITY_CALLER] = "caller",
	[AFFINITY_NONE] = "none",
	NULL,
};
static const char *const busy_poll_modes[] = {
	[BUSY_POLL_OFF] = "off", [BUSY_POLL_AUTO] = "auto", [BUSY_POLL_ON] = "on", NULL
};
static const char *const io_uring_modes[] = {
	[IO_URING_OFF] = "off",
	[IO_URING_TRY] = "try",
	[IO_URING_ON] = "on",
	NULL,
};
static const char *const lock_modes[] = {
	[LOCK_NONE] = "none",
	[LOCK_TRY] = "try",
	[LOCK_MUST] = "must",
	NULL,
};

#define PARSED(function)     .kind = TOOL_PARSED, .parse = function
#define INTO_COPY(member)    PARSED(store_text), .target = TOOL_TARGET(char *, member)
#define INTO_CLEARED(member) PARSED(clear_flag), .target = TOOL_TARGET(bool, member)
#define INTO_SMALL(member, least)                                                        \
	PARSED(parse_small_size), .target = TOOL_TARGET(uint64_t, member), .min = least

/* Rows with an empty name are headings; others of TOOL_ACTION are for libfuse. */
static const struct tool_option mount_options[] = {
	{ 0, "", NULL, "the image", 0, TOOL_ACTION },
	{ 0, "-o offset", "N|auto", "where it starts in its file (0)", 0,
	  TOOL_INTO_OFFSET(offset) },
	{ 0, "-o image_offset", "N|auto", "the same, for mount(8)", 0,
	  TOOL_INTO_OFFSET(offset) },
	{ 0, "-o imagesize", "N", "its size (to the end of the file)", 0,
	  TOOL_INTO_NUMBER(image_bytes, 0, UINT64_MAX - 1) },
	{ 0, "-o verify", "eager|lazy",
	  "check hashes before use, or not to wait for that (eager)", 0,
	  TOOL_INTO_WORD(verify, verify_modes) },
	{ 0, "-o mmap", NULL, "map the file; it must not shrink", 0,
	  TOOL_INTO_FLAG(mapped) },
	{ 0, "-o no_mmap", NULL, "read the file (default)", 0, INTO_CLEARED(mapped) },

	{ 0, "", NULL, "memory and speed", 0, TOOL_ACTION },
	{ 0, "-o cachesize", "SIZE", "decoded blocks to keep in memory (512m)", 0,
	  TOOL_INTO_BYTES(cache_bytes) },
	{ 0, "-o workers", "N", "threads that decompress in advance (2)", 0,
	  TOOL_INTO_NUMBER(workers, 0, MAX_WORKERS) },
	{ 0, "-o seq_detector", "N",
	  "reads in a row that start decoding ahead; 0: none (4)", 0,
	  TOOL_INTO_NUMBER(sequence, 0, UINT32_MAX) },
	{ 0, "-o readahead", "SIZE",
	  "bytes to decompress in advance after every read (0)", 0,
	  TOOL_INTO_BYTES(readahead_bytes) },
	{ 0, "-o max_read", "SIZE", "most bytes that the kernel requests at a time", 0,
	  INTO_SMALL(max_read_bytes, LEAST_MAX_READ) },
	{ 0, "-o decratio", "R",
	  "decode a block to its end if a read needs this share (1)", 0,
	  PARSED(parse_decode_ratio) },
	{ 0, "-o preload_all", NULL, "decode all blocks that fit into the cache", 0,
	  TOOL_INTO_FLAG(preload_all) },
	{ 0, "-o preload_category", "C", "decode the blocks of a category", 0,
	  INTO_COPY(preload_category) },
	{ 0, "-o tidy_strategy", "none|time|swap",
	  "evict blocks that were not read for a while (none)", 0,
	  TOOL_INTO_WORD(tidy, tidy_modes) },
	{ 0, "-o tidy_interval", "TIME", "how often to look for them (5m)", 0,
	  PARSED(parse_interval) },
	{ 0, "-o tidy_max_age", "TIME", "how long a while is (10m)", 0,
	  PARSED(parse_age) },
	{ 0, "-o affinity", "auto|caller|none",
	  "serve on the CPU of the calling process (auto: unless\n"
	  "there are several at a time)",
	  0, TOOL_INTO_WORD(affinity, affinity_modes) },
	{ 0, "-o busy_poll", "auto|on|off",
	  "poll for the next request before sleeping (auto: for\n"
	  "200 us if the last ones came sooner; on: always)",
	  0, TOOL_INTO_WORD(busy_poll, busy_poll_modes) },
	{ 0, "-o io_uring", "off|try|on",
	  "receive requests by io_uring; on: or fail (off)", 0,
	  TOOL_INTO_WORD(io_uring, io_uring_modes) },
	{ 0, "-o mlock", "none|try|must", "keep the metadata in memory (none)", 0,
	  TOOL_INTO_WORD(lock, lock_modes) },
	{ 0, "-o cache_files", NULL, "let the kernel cache contents (default)", 0,
	  TOOL_INTO_FLAG(cache_files) },
	{ 0, "-o no_cache_files", NULL, "do not", 0, INTO_CLEARED(cache_files) },
	{ 0, "-o cache_sparse", NULL, "also of files with holes (unless those are large)",
	  0, PARSED(keep_sparse) },
	{ 0, "-o no_cache_sparse", NULL, "not of files with holes", 0,
	  PARSED(drop_sparse) },
	{ 0, "-o block_allocator", "malloc|mmap",
	  "no difference here: always mapped memory", 0, PARSED(parse_allocator) },

	{ 0, "", NULL, "names and attributes", 0, TOOL_ACTION },
	{ 0, "-o uid", "N", "owner of everything (as in the image)", 0,
	  TOOL_INTO_USER(uid), TOOL_GIVEN(set_uid) },
	{ 0, "-o gid", "N", "group of everything (as in the image)", 0,
	  TOOL_INTO_GROUP(gid), TOOL_GIVEN(set_gid) },
	{ 0, "-o readonly", NULL, "no write permissions", 0, TOOL_INTO_FLAG(readonly) },
	{ 0, "-o case_insensitive", NULL, "ignore the case of names", 0,
	  TOOL_INTO_FLAG(fold) },
	{ 0, "-o blocksize", "SIZE", "preferred size of reads, st_blksize (512k)", 0,
	  INTO_SMALL(block_bytes, 0) },

	{ 0, "", NULL, "messages and statistics", 0, TOOL_ACTION },
	{ 0, "-o debuglevel", "LEVEL",
	  "fatal, error, warn, info, verbose, debug or trace\n"
	  "(info in the foreground, else warn)",
	  0, PARSED(parse_level) },
	{ 0, "-o analysis_file", "FILE",
	  "write which files were opened, in order, at the end", 0,
	  INTO_COPY(analysis_file) },
	{ 0, "-o perfmon", "PART+...",
	  "take times: fuse, filesystem_v2, inode_reader_v2,\n"
	  "block_cache; see user.dwarfs.driver.perfmon",
	  0, PARSED(parse_parts) },
	{ 0, "-o perfmon_trace", "FILE", "write each of them, as trace events in JSON", 0,
	  INTO_COPY(perfmon_trace) },

	{ 0, "", NULL, "as for every FUSE file system", 0, TOOL_ACTION },
	{ 0, "-o auto_unmount", NULL, "unmount also when this program is killed", 0,
	  TOOL_INTO_FLAG(auto_unmount) },
	{ 0, "-o max_threads", "N", "most threads that serve requests (10)", 0,
	  TOOL_INTO_NUMBER(max_threads, 1, MAX_THREADS) },
	{ 0, "-o max_idle_threads", "N", "how many of them stay without requests (all)",
	  0, TOOL_INTO_NUMBER(max_idle_threads, 0, MAX_THREADS) },
	{ 0, "-o suid", NULL, "setuid programs take effect; nosuid (default)", 0,
	  TOOL_ACTION },
	{ 0, "-o dev", NULL, "devices can be opened; nodev (default)", 0, TOOL_ACTION },
	{ 0, "-o allow_suid", NULL, "the same as suid, for mount(8)", 0, TOOL_ACTION },
	{ 0, "-o allow_dev", NULL, "the same as dev, for mount(8)", 0, TOOL_ACTION },
	{ 0, "-o allow_other", NULL, "access by other users", 0, TOOL_ACTION },
	{ 0, "-o allow_root", NULL, "access by root", 0, TOOL_ACTION },
	{ 0, "-o clone_fd", NULL, "a descriptor for each thread", 0, TOOL_ACTION },

	{ 0, "-o enable_nlink", NULL, NULL, 0, PARSED(warn_no_effect) },
	{ 0, "-o cache_image", NULL, NULL, 0, PARSED(warn_no_effect) },
	{ 0, "-o no_cache_image", NULL, NULL, 0, PARSED(warn_no_effect) },
	{ 0 },
};

/* The option of a text such as "name" or "name=value"; NULL: none. */
static const struct tool_option *find_option(const char *text)
{
	const size_t bytes = strcspn(text, "=");
	const struct tool_option *option = mount_options;

	for (; option->name; option++) {
		const char *name = option->name + (*option->name ? PREFIX_BYTES : 0);

		if (option->kind != TOOL_ACTION && strlen(name) == bytes &&
		    memcmp(name, text, bytes) == 0 &&
		    (text[bytes] == '=') == (option->argument != NULL))
			return option;
	}
	return NULL;
}

int mount_option_take(const char *text, struct settings *settings)
{
	const struct tool_option *option = find_option(text);
	const char *value = NULL;

	if (!option)
		return 1;
	if (option->argument)
		value = strchr(text, '=') + 1;
	return tool_option_set(option, value, settings) == 0 ? 0 : -1;
}

/* Options that need each other, or exclude each other. */
int mount_options_check(const struct settings *settings)
{
	if (settings->preload_all && settings->preload_category)
		return tool_error(
			"-o preload_all and -o preload_category exclude each other");
	if (settings->perfmon_trace && !settings->perfmon)
		return tool_error("-o perfmon_trace needs -o perfmon");
	if (settings->busy_poll == BUSY_POLL_ON && settings->io_uring != IO_URING_OFF)
		return tool_error("-o busy_poll=on and -o io_uring exclude each other");
	return 0;
}

/* -- help ----------------------------------------------------------------------------- */

static void print_mount_option(FILE *out, const struct tool_option *option)
{
	const int column = 28;
	int width = fprintf(out, "    %s%s%s", option->name, option->argument ? "=" : "",
			    option->argument ? option->argument : "");

	if (width >= column) {
		fputc('\n', out);
		width = 0;
	}
	for (const char *line = option->help; line;) {
		const int bytes = (int)strcspn(line, "\n");

		fprintf(out, "%*s%.*s\n", column - width, "", bytes, line);
		width = 0;
		line = line[bytes] ? line + bytes + 1 : NULL;
	}
}

void mount_options_print(FILE *out)
{
	for (const struct tool_option *option = mount_options; option->name; option++)
		if (!*option->name)
			fprintf(out, "\n  %s\n", option->help);
		else if (option->help)
			print_mount_option(out, option);
}
