/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/inode_cost: the size of inode numbers in the metadata.
 *
 * Files have inode numbers in storing order, and directory entries are in the order of paths: the
 * entries of files that are stored by path have consecutive numbers, which compress well.
 */
#ifndef DW_WRITE_ORDER_AUTO_INODE_COST_H
#define DW_WRITE_ORDER_AUTO_INODE_COST_H

#include "write/order/order.h"

/*
 * About the size of the inode numbers of files in compressed metadata, if these fragments, whose
 * contents are of one file each, are stored in the order of `numbers`. The same fragments are in
 * `by_path` by path. A file counts where its first fragment is.
 */
int dw_inode_numbers_bytes(const struct contents *contents, const uint32_t *by_path,
			   const uint32_t *numbers, size_t count, uint64_t *bytes_out,
			   dwarfs_error **err);

#endif
