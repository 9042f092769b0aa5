/* SPDX-License-Identifier: MIT */
/*
 * mkdwarfs/time: points in time and steps of time, as written on the command line.
 */
#include "mkdwarfs/mkdwarfs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Parse exactly count digits; *text is advanced past them. */
static bool take_digits(const char **text, int count, int *value_out)
{
	int value = 0;

	for (; count > 0; count--, (*text)++) {
		if (!isdigit((unsigned char)**text))
			return false;
		value = 10 * value + (**text - '0');
	}
	*value_out = value;
	return true;
}

static bool take(const char **text, char wanted)
{
	if (**text != wanted)
		return false;
	(*text)++;
	return true;
}

/* YYYY-MM-DD or YYYYMMDD */
static bool take_date(const char **text, struct tm *parts)
{
	bool dashes;

	if (!take_digits(text, 4, &parts->tm_year))
		return false;
	dashes = take(text, '-');
	if (!take_digits(text, 2, &parts->tm_mon) || (dashes && !take(text, '-')) ||
	    !take_digits(text, 2, &parts->tm_mday))
		return false;
	parts->tm_year -= 1900;
	parts->tm_mon -= 1;
	return parts->tm_mon >= 0 && parts->tm_mon < 12 && parts->tm_mday >= 1 &&
	       parts->tm_mday <= 31;
}

/* .digits or nothing */
static bool take_fraction(const char **text, uint32_t *nanoseconds)
{
	uint32_t unit = 100000000;

	if (!take(text, '.'))
		return true;
	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text) && unit > 0; (*text)++, unit /= 10)
		*nanoseconds += unit * (uint32_t)(**text - '0');
	return !isdigit((unsigned char)**text);
}

/* HH:MM[:SS[.fraction]] or HHMM[SS[.fraction]] */
static bool take_clock(const char **text, struct tm *parts, uint32_t *nanoseconds)
{
	bool colons;

	if (!take_digits(text, 2, &parts->tm_hour))
		return false;
	colons = take(text, ':');
	if (!take_digits(text, 2, &parts->tm_min))
		return false;
	if (colons ? take(text, ':') : isdigit((unsigned char)**text) != 0) {
		if (!take_digits(text, 2, &parts->tm_sec) ||
		    !take_fraction(text, nanoseconds))
			return false;
	}
	return parts->tm_hour < 24 && parts->tm_min < 60 && parts->tm_sec < 60;
}

/* Z, +HH:MM, -HHMM or nothing, which is UTC, too */
static bool take_zone(const char **text, int *offset_seconds)
{
	int hours = 0;
	int minutes = 0;
	int sign;

	if (!**text || take(text, 'Z'))
		return true;
	sign = **text == '-' ? -1 : 1;
	if (!take(text, '+') && !take(text, '-'))
		return false;
	if (!take_digits(text, 2, &hours))
		return false;
	take(text, ':');
	if (**text && !take_digits(text, 2, &minutes))
		return false;
	*offset_seconds = sign * 60 * (60 * hours + minutes);
	return hours < 24 && minutes < 60;
}

static bool parse_date(const char *text, int64_t *seconds_out, uint32_t *nanoseconds_out)
{
	struct tm parts = { 0 };
	struct tm check;
	uint32_t nanoseconds = 0;
	int offset = 0;
	time_t time;

	if (!take_date(&text, &parts))
		return false;
	if (*text) {
		if (!take(&text, 'T') && !take(&text, ' '))
			return false;
		if (!take_clock(&text, &parts, &nanoseconds) ||
		    !take_zone(&text, &offset))
			return false;
	}
	check = parts;
	time = timegm(&check);
	/* February 30 would have become a day in March. */
	if (*text || check.tm_mday != parts.tm_mday || check.tm_mon != parts.tm_mon)
		return false;
	*seconds_out = time - offset;
	*nanoseconds_out = nanoseconds;
	return true;
}

/* Also before 1970, as -86400. */
static bool parse_seconds(const char *text, int64_t *seconds_out)
{
	char *end;

	if (!isdigit((unsigned char)text[*text == '-']))
		return false;
	errno = 0;
	*seconds_out = strtoll(text, &end, 10);
	return errno == 0 && !*end;
}

int parse_time_point(const char *text, int64_t *seconds_out, uint32_t *nanoseconds_out)
{
	struct timespec now;

	*nanoseconds_out = 0;
	if (strcmp(text, "now") == 0) {
		clock_gettime(CLOCK_REALTIME, &now);
		*seconds_out = now.tv_sec;
		*nanoseconds_out = (uint32_t)now.tv_nsec;
		return 0;
	}
	if (strcmp(text, "epoch") == 0) {
		*seconds_out = 0;
		return 0;
	}
	if (parse_seconds(text, seconds_out) ||
	    parse_date(text, seconds_out, nanoseconds_out))
		return 0;
	return tool_error(
		"cannot parse time point '%s' for --set-time: use now, epoch, seconds "
		"since 1970, or a date such as 2026-01-31 or 2026-01-31T12:30:00",
		text);
}
