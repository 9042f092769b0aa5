/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/record_ranges: which bytes of the metadata are records of one size.
 */
#ifndef DW_WRITE_METADATA_RECORD_RANGES_H
#define DW_WRITE_METADATA_RECORD_RANGES_H

#include "codec/encode/encode.h"

/*
 * The ranges of the data of a METADATA section, by the content of the SCHEMA section: one for
 * each table and string that is not an item of a table, and for the bytes between these. They
 * cover all bytes. The capacity of the buffer grows.
 */
int dw_record_ranges_find(struct span schema, struct buffer *data,
			  struct record_ranges *ranges_out, dwarfs_error **err);

#endif
