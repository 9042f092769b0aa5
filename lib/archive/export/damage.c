/* SPDX-License-Identifier: MIT */
/*
 * archive/export/damage: entries that are archived with altered attributes.
 *
 * An attribute without a valid value in the image, or a time outside the range of the
 * format, gets a default: it is reported and counted as a failure, and the run continues.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dwarfs/walk.h>

#include "archive/export/export.h"
#include "base/context.h"

#define TEXT_ROOM 256

/* Takes why. */
static void report_altered(struct export_run *run, const char *path, int code,
			   dwarfs_error *why)
{
	struct dwarfs_archive_export *export = run->export;

	if (export->report)
		export->report(DWARFS_EXPORT_ALTERED, path, dwarfs_error_message(why),
			       export->report_user);
	dw_explain(&why, code, "%s", path);
	dw_error_at_path(&why, code, path);
	dw_log(dwarfs_image_context(run->image), DWARFS_LOG_WARN, "%s",
	       dwarfs_error_message(why));
	export->failures++;
	if (run->first_code == 0) {
		run->first_code = code;
		run->first = dw_steal(why);
	}
	dwarfs_error_free(why);
}

static void report_invalid(struct export_run *run, const char *path)
{
	uint32_t invalid = dwarfs_stat_invalid(run->stat);
	char names[TEXT_ROOM] = "";
	dwarfs_error *why = NULL;
	size_t length = 0;
	int code;

	if (dwarfs_image_is_mtime_only(run->image))
		invalid &= ~(uint32_t)(DWARFS_ATTRIBUTE_ATIME | DWARFS_ATTRIBUTE_CTIME);
	if (invalid == 0)
		return;
	for (uint32_t bit = 1; invalid != 0; invalid &= ~bit, bit <<= 1)
		if ((invalid & bit) && length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length,
						   "%s%s", length ? ", " : "",
						   dwarfs_attribute_name(bit));
	code = dw_fail(&why, DWARFS_ERR_CORRUPT,
		       "the image has no valid value for: %s; a default is used", names);
	report_altered(run, path, code, why);
}

static int64_t clamp(struct export_run *run, int64_t seconds)
{
	const struct export_format *format = run->format;
	int64_t nearest = seconds;

	if (format->most_time != 0 && seconds < format->least_time)
		nearest = format->least_time;
	else if (format->most_time != 0 && seconds > format->most_time)
		nearest = format->most_time;
	/* libarchive's time_t may have 32 bits. */
	if ((time_t)nearest != nearest)
		nearest = nearest < 0 ? INT32_MIN : INT32_MAX;
	run->has_other_time |= nearest != seconds;
	return nearest;
}

/* Where the sign is that of the seconds only, minus 60.5 is -60 and .5 for libarchive, and
 * there is no minus 0.5: the second before 1970 loses its fraction. */
static void spread_sign(struct export_run *run, struct export_time *time)
{
	if (run->signs == 0)
		run->signs = dw_archive_misreads_signs(run->la) ? 2 : 1;
	if (run->signs == 1)
		return;
	if (time->seconds == -1) {
		time->nanoseconds = 0;
		run->has_other_time = true;
		return;
	}
	time->seconds++;
	time->nanoseconds = 1000000000 - time->nanoseconds;
}

struct export_time dw_export_time(struct export_run *run, int which)
{
	struct export_time time = {
		.seconds = clamp(run, dwarfs_stat_seconds(run->stat, which)),
		.nanoseconds = (long)dwarfs_stat_nanoseconds(run->stat, which),
	};

	/* Of the nearest time, not of the one that it replaces. */
	if (time.seconds != dwarfs_stat_seconds(run->stat, which))
		time.nanoseconds = 0;
	if (time.seconds < 0 && time.nanoseconds > 0 && run->format->pax_times)
		spread_sign(run, &time);
	return time;
}

void dw_export_tell_altered(struct export_run *run, const char *path,
			    const dwarfs_error *lost_xattrs)
{
	const char *name = run->format->help;
	dwarfs_error *why = NULL;
	int code;

	report_invalid(run, path);
	if (run->has_other_time) {
		code = dw_fail(
			&why, DWARFS_ERR_UNSUPPORTED,
			"the %.*s format cannot hold its time; the nearest one is used",
			(int)strcspn(name, " "), name);
		report_altered(run, path, code, dw_steal(why));
	}
	if (lost_xattrs) {
		code = dwarfs_error_code(lost_xattrs);
		dw_error_copy(&why, code, lost_xattrs);
		report_altered(run, path, code, why);
	}
}
