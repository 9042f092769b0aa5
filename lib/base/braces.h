/* SPDX-License-Identifier: MIT */
/*
 * base/braces: expand the alternatives of a pattern.
 */
#ifndef DW_BASE_BRACES_H
#define DW_BASE_BRACES_H

#include <stddef.h>

#include "base/error.h"

/* Receives one variant; an error ends the expansion. */
typedef int (*dw_braces_fn)(const char *variant, void *user, dwarfs_error **err);

/* Call back with each variant of a pattern: "a{b,c}" gives "ab" and "ac", "x{1}" gives
 * "x1". Braces may be nested. A brace after \ or within [] has no meaning, nor has a }
 * without {. DWARFS_ERR_INVALID for a { without }, or more than max_variants. */
int dw_braces_expand(const char *text, size_t max_variants, dw_braces_fn each, void *user,
		     dwarfs_error **err);

/* The text after its first unit: an escaped character, a set, or one byte. */
const char *dw_braces_skip(const char *text);

#endif
