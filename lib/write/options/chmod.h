/* SPDX-License-Identifier: MIT */
/*
 * write/options/chmod: parse and apply mode changes as chmod(1) does.
 *
 * Takes a mode string, gives a function from mode to mode. Opens no file.
 */
#ifndef DW_WRITE_OPTIONS_CHMOD_H
#define DW_WRITE_OPTIONS_CHMOD_H

#include "base/memory.h"

struct mode_step;

/* A parsed mode string. All zero changes nothing. */
struct mode_change {
	struct mode_step *steps;
	size_t count, room;
};

int dw_mode_change_parse(const char *text, struct mode_change *change_out,
			 dwarfs_error **err);
void dw_mode_change_free(struct mode_change *change);

/* The changed mode, with the same file type. umask applies to clauses that name no
 * class. */
uint32_t dw_mode_change_apply(const struct mode_change *change, uint32_t mode,
			      uint32_t umask);

#endif
