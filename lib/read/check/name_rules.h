/* SPDX-License-Identifier: MIT */
/*
 * read/check/name_rules: the rules for names of entries and targets of links.
 */
#ifndef DW_READ_CHECK_NAME_RULES_H
#define DW_READ_CHECK_NAME_RULES_H

#include "read/check/checker.h"

/* Every name is used, valid, and sorted within its directory. */
bool dw_name_rules_check_entries(struct checker *checker);

/* Every target is used, and valid. */
bool dw_name_rules_check_links(struct checker *checker);

#endif
