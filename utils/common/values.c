/* SPDX-License-Identifier: MIT */
/*
 * common/values: numbers and words of the command line, and numbers for people.
 */
#include "common/common.h"

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

/* The dashes before the name of an option; a name with a dash is printed as typed. */
static const char *dashes(const char *option)
{
	return *option == '-' ? "" : "--";
}

/* Digits only, no sign and no space; *end_out is where they stop. */
static bool parse_digits(const char *text, uint64_t *value_out, const char **end_out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*value_out = strtoull(text, &end, 10);
	*end_out = end;
	return errno == 0;
}

int tool_parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
		      uint64_t *value_out)
{
	const char *end;
	uint64_t value;

	if (!parse_digits(text, &value, &end) || *end || value < min || value > max)
		return tool_error("invalid number '%s' for %s%s: must be between %" PRIu64
				  " and %" PRIu64,
				  text, dashes(option), option, min, max);
	*value_out = value;
	return 0;
}

/* The power of 1024 of a suffix, or -1. */
static int suffix_power(const char *suffix)
{
	static const char letters[] = "kmgt";
	const char *letter;

	if (!*suffix || strcasecmp(suffix, "b") == 0)
		return 0;
	letter = strchr(letters, tolower((unsigned char)*suffix));
	suffix++;
	if (!letter ||
	    (*suffix && strcasecmp(suffix, "b") != 0 && strcasecmp(suffix, "ib") != 0))
		return -1;
	return (int)(letter - letters) + 1;
}

int tool_parse_bytes(const char *option, const char *text, uint64_t *value_out)
{
	const char *end;
	uint64_t value;
	int power;

	if (!parse_digits(text, &value, &end) || (power = suffix_power(end)) < 0 ||
	    value > UINT64_MAX >> (10 * power))
		return tool_error("invalid size '%s' for %s%s: use a number of bytes, or "
				  "one with k, m, g or t",
				  text, dashes(option), option);
	*value_out = value << (10 * power);
	return 0;
}

/* "none, time or swap" of a list that ends with NULL. */
static void list_words(const char *const *words, char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; words[i] && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s",
					 i == 0		? ""
					 : words[i + 1] ? ", "
							: " or ",
					 words[i]);
}

int tool_parse_word(const char *option, const char *text, const char *const *words,
		    int *position_out)
{
	char all[128];

	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0) {
			*position_out = i;
			return 0;
		}
	list_words(words, all, sizeof(all));
	return tool_error("invalid value '%s' for %s%s: use %s", text, dashes(option),
			  option, all);
}

void tool_append_word(char *names, size_t room, const char *word, size_t length)
{
	const size_t used = strlen(names);

	snprintf(names + used, room - used, "%s%.*s", used ? ", " : "", (int)length,
		 word);
}

int tool_parse_offset(const char *option, const char *text, uint64_t *value_out)
{
	const char *end;

	if (strcmp(text, "auto") == 0) {
		*value_out = DWARFS_OFFSET_AUTO;
		return 0;
	}
	if (!parse_digits(text, value_out, &end) || *end ||
	    *value_out == DWARFS_OFFSET_AUTO)
		return tool_error(
			"invalid offset '%s' for %s%s: use a number of bytes or 'auto'",
			text, dashes(option), option);
	return 0;
}

int tool_parse_log_level(const char *option, const char *text, int *level_out)
{
	static const char *const names[] = { "fatal",	"error", "warn", "info",
					     "verbose", "debug", "trace" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*level_out = (int)i;
			return 0;
		}
	}
	return tool_error("invalid level '%s' for %s%s: use fatal, error, warn, info, "
			  "verbose, debug or trace",
			  text, dashes(option), option);
}

int tool_take_log_level(const struct tool_option *option, const char *text,
			void *settings)
{
	int level;

	(void)settings;
	if (tool_parse_log_level(option->name, text, &level))
		return 1;
	tool_set_log_level(level);
	return 0;
}

int tool_take_log_context(const struct tool_option *option, const char *text,
			  void *settings)
{
	(void)option;
	(void)text;
	(void)settings;
	tool_set_log_context(true);
	return 0;
}

int tool_parse_user(const char *option, const char *text, uint32_t *uid_out)
{
	const struct passwd *user = getpwnam(text);
	uint64_t value;

	if (user) {
		*uid_out = user->pw_uid;
		return 0;
	}
	if (*text && !isdigit((unsigned char)*text))
		return tool_error("unknown user '%s' for %s%s", text, dashes(option),
				  option);
	/* UINT32_MAX is not a valid user: chown(2) takes it as "no change". */
	if (tool_parse_number(option, text, 0, UINT32_MAX - 1, &value))
		return 1;
	*uid_out = (uint32_t)value;
	return 0;
}

int tool_parse_group(const char *option, const char *text, uint32_t *gid_out)
{
	const struct group *group = getgrnam(text);
	uint64_t value;

	if (group) {
		*gid_out = group->gr_gid;
		return 0;
	}
	if (*text && !isdigit((unsigned char)*text))
		return tool_error("unknown group '%s' for %s%s", text, dashes(option),
				  option);
	/* UINT32_MAX is not a valid group: chown(2) takes it as "no change". */
	if (tool_parse_number(option, text, 0, UINT32_MAX - 1, &value))
		return 1;
	*gid_out = (uint32_t)value;
	return 0;
}

const char *tool_format_bytes(uint64_t bytes, char buffer[TOOL_TEXT_ROOM])
{
	static const char *const units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"
	};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(buffer, TOOL_TEXT_ROOM, "%" PRIu64 " B", bytes);
	else
		snprintf(buffer, TOOL_TEXT_ROOM, "%.*f %s",
			 value < 9.995 ? 2 : (value < 99.95 ? 1 : 0), value, units[unit]);
	return buffer;
}

const char *tool_format_duration(uint64_t ns, char buffer[TOOL_TEXT_ROOM])
{
	const uint64_t seconds = ns / 1000000000;

	if (seconds < 60)
		snprintf(buffer, TOOL_TEXT_ROOM, "%.1fs", (double)ns / 1e9);
	else if (seconds < 3600)
		snprintf(buffer, TOOL_TEXT_ROOM, "%" PRIu64 "m%02us", seconds / 60,
			 (unsigned)(seconds % 60));
	else
		snprintf(buffer, TOOL_TEXT_ROOM, "%" PRIu64 "h%02um", seconds / 3600,
			 (unsigned)(seconds / 60 % 60));
	return buffer;
}

const char *tool_format_time(int64_t seconds, char buffer[TOOL_TEXT_ROOM])
{
	const time_t time = (time_t)seconds;
	struct tm parts;

	if (!gmtime_r(&time, &parts) ||
	    strftime(buffer, TOOL_TEXT_ROOM, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		snprintf(buffer, TOOL_TEXT_ROOM, "%" PRId64, seconds);
	return buffer;
}

static char type_letter(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return '-';
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	default:
		return '?';
	}
}

/* The letter for an execute bit combined with a set-id or sticky bit. */
static char execute_letter(bool execute, bool special, char letter)
{
	if (special)
		return execute ? letter : (char)toupper((unsigned char)letter);
	return execute ? 'x' : '-';
}

const char *tool_format_mode(uint32_t mode, char buffer[TOOL_TEXT_ROOM])
{
	buffer[0] = type_letter(mode);
	buffer[1] = mode & 0400 ? 'r' : '-';
	buffer[2] = mode & 0200 ? 'w' : '-';
	buffer[3] = execute_letter(mode & 0100, mode & S_ISUID, 's');
	buffer[4] = mode & 0040 ? 'r' : '-';
	buffer[5] = mode & 0020 ? 'w' : '-';
	buffer[6] = execute_letter(mode & 0010, mode & S_ISGID, 's');
	buffer[7] = mode & 0004 ? 'r' : '-';
	buffer[8] = mode & 0002 ? 'w' : '-';
	buffer[9] = execute_letter(mode & 0001, mode & S_ISVTX, 't');
	buffer[10] = '\0';
	return buffer;
}

/* -- steps of time ------------------------------------------------------------------- */

int tool_parse_time_resolution(const char *option, const char *text, uint64_t *ns_out)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", 1000000000 },	 { "ns", 1 },
		{ "us", 1000 },		 { "ms", 1000000 },
		{ "s", 1000000000 },	 { "sec", 1000000000 },
		{ "m", 60000000000 },	 { "min", 60000000000 },
		{ "h", 3600000000000 },	 { "hour", 3600000000000 },
		{ "d", 86400000000000 }, { "day", 86400000000000 },
	};
	char *end = (char *)text;
	uint64_t count = 1;
	size_t i;

	errno = 0;
	if (isdigit((unsigned char)*text))
		count = strtoull(text, &end, 10);
	else if (!*text)
		return tool_error(
			"invalid time resolution '' for --%s: use a number with "
			"one of ns, us, ms, s, m, h, d",
			option);

	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].name) == 0)
			break;
	}
	if (errno || i == sizeof(units) / sizeof(*units) ||
	    __builtin_mul_overflow(count, units[i].ns, ns_out))
		return tool_error(
			"invalid time resolution '%s' for --%s: use a number with one of "
			"ns, us, ms, s, m, h, d",
			text, option);
	if (*ns_out == 0)
		return tool_error(
			"invalid time resolution '%s' for --%s: must be nonzero", text,
			option);
	return 0;
}
