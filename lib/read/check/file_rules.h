/* SPDX-License-Identifier: MIT */
/*
 * read/check/file_rules: the rules for files, their chunks and sizes, and blocks.
 */
#ifndef DW_READ_CHECK_FILE_RULES_H
#define DW_READ_CHECK_FILE_RULES_H

#include "read/check/checker.h"

void dw_file_rules_check(struct checker *checker);

#endif
