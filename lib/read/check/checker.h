/* SPDX-License-Identifier: MIT */
/*
 * read/check/checker: how the checks of the metadata report what they find.
 */
#ifndef DW_READ_CHECK_CHECKER_H
#define DW_READ_CHECK_CHECKER_H

#include "read/metadata/view.h"

struct checker {
	struct view *view;
	uint32_t block_count;
	dw_report_fn report;
	void *user;
	dwarfs_error **err;
	int first_code; /* code of the first violated rule, or 0 */
};

/* Report a violated rule. Gives false, so that checks can return it. */
bool dw_checker_broken(struct checker *checker, const char *format, ...) DW_PRINTF(2, 3);

/* Report the error of a function of the view. */
bool dw_checker_broken_by(struct checker *checker, int code, dwarfs_error *error);

void dw_checker_warn(struct checker *checker, const char *message);

#endif
