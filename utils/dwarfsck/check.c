/* SPDX-License-Identifier: MIT */
/*
 * dwarfsck/check: check an image, and store and print the findings.
 */
#include "dwarfsck/dwarfsck.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/progress.h"

/* -- the check ----------------------------------------------------------------------- */

void report_free(struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		free(report->findings[i].message);
	free(report->findings);
	report->findings = NULL;
	report->count = 0;
}

enum section_state report_state(const struct report *report, uint32_t section)
{
	enum section_state state = SECTION_GOOD;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct finding *finding = &report->findings[i];

		if (finding->section != (int64_t)section)
			continue;
		if (finding->checksum)
			return SECTION_CHECKSUM;
		if (finding->severity == DWARFS_FINDING_ERROR)
			state = SECTION_DAMAGED;
		else if (state == SECTION_GOOD)
			state = SECTION_ODD;
	}
	return state;
}

/* The state of the callbacks of a check. */
struct checking {
	const dwarfs_image *image;
	const char *path;
	struct report *report;
	struct progress *progress;
};

static void print_finding(const struct checking *checking, const struct finding *finding)
{
	const char *what = "error";
	const char *type;

	if (finding->severity != DWARFS_FINDING_ERROR) {
		tool_log(DWARFS_LOG_WARN, "'%s': %s", checking->path, finding->message);
		return;
	}
	if (finding->section < 0) {
		tool_error("'%s': %s", checking->path, finding->message);
		return;
	}
	if (checking->report->level == DWARFS_CHECK_INTEGRITY)
		what = "integrity check error";
	else if (finding->checksum)
		what = "checksum error";
	type = dwarfs_section_type_name((uint32_t)section_fact(
		checking->image, (uint32_t)finding->section, DWARFS_SECTION_FIELD_TYPE));
	tool_error("'%s': %s in section: %s: %s", checking->path, what, type,
		   finding->message);
}

static void take_finding(enum dwarfs_finding severity, int code, int64_t section,
			 const char *message, void *user)
{
	struct checking *checking = user;
	struct report *report = checking->report;
	struct finding finding = { (int)severity, section, code == DWARFS_ERR_CHECKSUM,
				   strdup(message) };
	struct finding *grown;

	if (report->count == report->capacity) {
		const size_t capacity = 2 * report->capacity + 16;

		grown = realloc(report->findings, capacity * sizeof(*grown));
		if (grown) {
			report->findings = grown;
			report->capacity = capacity;
		}
	}
	if (!finding.message || report->count == report->capacity) {
		report->out_of_memory = true;
		free(finding.message);
		return;
	}
	report->findings[report->count++] = finding;
	print_finding(checking, &finding);
}

static int show_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	const struct checking *checking = user;

	return progress_show(progress, err, checking->progress);
}

/* Returns the exit code, with all findings printed on stderr. */
int check_image(const dwarfs_image *image, const struct settings *s, int level,
		struct report *report)
{
	auto_progress struct progress *progress = NULL;
	auto_handle(dwarfs_task) *task = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	const bool show = !s->quiet && isatty(STDERR_FILENO);
	struct checking checking = { image, s->input, report, NULL };
	int ret;

	report->level = level;
	if (dwarfs_task_new(&task, &err) < 0)
		return tool_fail(err, NULL);
	progress = progress_new(show ? PROGRESS_AUTO : PROGRESS_NONE);
	if (!progress)
		return 1;
	checking.progress = progress;
	dwarfs_task_set_progress(task, show_progress, &checking);
	ret = dwarfs_image_check(image, (enum dwarfs_check_level)level, take_finding,
				 &checking, task, &report->errors, &err);
	progress_free(progress);
	progress = NULL;

	if (report->out_of_memory)
		return tool_error("out of memory: not all findings are shown");
	if (ret < 0 && report->errors == 0)
		return tool_fail(err, "%s", s->input);
	return ret < 0 || report->errors > 0;
}
