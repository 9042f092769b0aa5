/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/interleave: pieces of large files that resemble each other in one block.
 *
 * A codec finds repeats within a block only. Programs of 30 MB that were linked from the
 * same objects, or versions of one, have few long runs of bytes in common, as addresses
 * in them differ, and many short ones, at about the same part of the file. So large files
 * are divided into pieces, and each piece is followed by the pieces of other files that
 * resemble it.
 */
#ifndef DW_WRITE_ORDER_AUTO_INTERLEAVE_H
#define DW_WRITE_ORDER_AUTO_INTERLEAVE_H

#include "write/categorize/categorize.h"
#include "write/order/order.h"

/*
 * Divide large files of an ordered list and interleave their pieces, if packing with this codec
 * shows that it makes them smaller. A forecast decides if the codec is NULL, and for an image of a
 * codec of medium speed unless the files are near-equal. Fragments and the
 * list are changed then, and only then: a divided file has several fragments, and its former
 * fragment is of no stream.
 */
int dw_interleave(const struct order_input *input, const char *trial_codec,
		  struct fragment_list *list, dwarfs_error **err);

#endif
