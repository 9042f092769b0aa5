/* SPDX-License-Identifier: MIT */
/*
 * write/options/chmod: change permissions as chmod(1) would.
 *
 * Takes clauses as text, gives a function from mode to mode. Touches no file.
 */
#ifndef DW_WRITE_OPTIONS_CHMOD_H
#define DW_WRITE_OPTIONS_CHMOD_H

#include "base/memory.h"

struct mode_step;

/* What a text asks for. All zero changes nothing. */
struct mode_change {
	struct mode_step *steps;
	size_t count, room;
};

int dw_mode_change_parse(const char *text, struct mode_change *change_out,
			 dwarfs_error **err);
void dw_mode_change_free(struct mode_change *change);

/* The new mode; type bits stay. umask holds for clauses that name nobody. */
uint32_t dw_mode_change_apply(const struct mode_change *change, uint32_t mode,
			      uint32_t umask);

#endif
