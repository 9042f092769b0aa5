/* SPDX-License-Identifier: MIT */
/*
 * build/intake: contents of an item go into the spool.
 *
 * Private to items.c, which begins and ends them.
 */
#ifndef DW_BUILD_INTAKE_H
#define DW_BUILD_INTAKE_H

#include "build/item.h"
#include "build/spool.h"

struct intake {
	struct spool *spool;
	const dwarfs_cancel *cancel; /* or NULL */
	uint64_t bytes;		     /* size of the contents, once they came */
};

int dw_intake_memory(struct intake *intake, struct span memory, dwarfs_error **err);
int dw_intake_fd(struct intake *intake, int fd, dwarfs_error **err);
int dw_intake_reader(struct intake *intake, const dwarfs_item *item, dwarfs_error **err);

#endif
