/* SPDX-License-Identifier: MIT */
/*
 * common/progress: a live display of a long operation on stderr.
 *
 * On a terminal one line that is drawn over itself: a bar, the share that is done, the
 * rate, the ratio and the time left. Elsewhere a plain line now and then.
 */
#ifndef UTILS_COMMON_PROGRESS_H
#define UTILS_COMMON_PROGRESS_H

#include "common/common.h"

enum progress_mode {
	PROGRESS_AUTO,	  /* unicode or ascii on a terminal, by its locale; else simple */
	PROGRESS_NONE,	  /* nothing */
	PROGRESS_SIMPLE,  /* a line every few seconds */
	PROGRESS_ASCII,	  /* a bar of # */
	PROGRESS_UNICODE, /* a bar of eighths */
};

/* "none", "simple", "ascii", "unicode". Returns 0, or 1 after printing "invalid progress
 * mode". */
int progress_parse_mode(const char *text, int *mode_out);

struct progress;

/*
 * Start a display: of a progress_mode; quiet if the log level is above info, and
 * PROGRESS_AUTO then is PROGRESS_NONE. Returns NULL after printing that memory is
 * exhausted.
 */
struct progress *progress_new(int mode);

/* A dwarfs_progress_fn that draws; user is a struct progress or NULL. Always returns 0.
 */
int progress_show(const dwarfs_progress *state, dwarfs_error **err, void *user);

/* Take the display away and free it; NULL is accepted. Call it before printing results.
 */
void progress_free(struct progress *progress);

static inline void tool_cleanup_progress(struct progress **progress)
{
	progress_free(*progress);
}
#define auto_progress __attribute__((cleanup(tool_cleanup_progress)))

#endif
