/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_steps: the steps by which a plan takes less memory.
 */
#ifndef DW_WRITE_BUDGET_MEMORY_STEPS_H
#define DW_WRITE_BUDGET_MEMORY_STEPS_H

#include "write/budget/memory_plan.h"

enum memory_steps {
	STEPS_OF_SPEED,	  /* these do not change the image */
	STEPS_OF_WORKERS, /* the only step for the default limit */
	STEPS_OF_SIZE,
};

/* Take steps until the plan fits the limit. Without a context nothing is logged. */
void dw_memory_plan_fit(struct memory_plan *plan, dwarfs_context *context, uint64_t limit,
			enum memory_steps which, int log_level);

/* Codecs for literals: the other steps may have left room for them; if not, there are none. */
void dw_memory_plan_drop_literals(struct memory_plan *plan, dwarfs_context *context,
				  uint64_t limit);

/* Plan half as many chunks; false if there are few already. */
bool dw_memory_plan_shrink_chunks(struct memory_plan *plan);

#endif
