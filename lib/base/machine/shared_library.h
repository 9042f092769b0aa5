/* SPDX-License-Identifier: MIT */
/*
 * base/machine/shared_library: libraries that few programs need, linked or loaded when they are first needed.
 *
 * Each shared library that is linked to a program costs time until its main() begins. With the meson
 * option library_loading=on-demand, libarchive, libFLAC and libb2 are loaded by what uses them, and
 * the addresses of their functions are state of the handle or the decoder that does.
 *
 * A list has all symbols that are used of a library, as NAMED(member, symbol): the members of a table
 * have the types that the header of the library declares, and a table is filled in the same way,
 * linked or loaded.
 */
#ifndef DW_BASE_MACHINE_SHARED_LIBRARY_H
#define DW_BASE_MACHINE_SHARED_LIBRARY_H

#include <stddef.h>

#include "base/error.h"
#include "config.h"

/* For a struct that has a pointer to each symbol of a list, and nothing else. */
#define DW_SYMBOL_MEMBER(member, symbol) __typeof__(symbol) *member;

/* Fill such a struct: 0, or UNSUPPORTED where the library is missing or lacks a symbol, which begins
 * with the text needed_for. A library that was loaded stays so, as not all can be unloaded. Any thread,
 * at the same time as others, and after fork(). */
#if LOAD_LIBRARIES
#define DW_SYMBOL_NAME(member, symbol) #symbol,
#define DW_FILL_SYMBOLS(LIST, table, file, needed_for, err)                              \
	dw_load_symbols(file, needed_for,                                                \
			(const char *const[]){ LIST(DW_SYMBOL_NAME) NULL }, table, err)
#else
#define DW_SYMBOL_ADDRESS(member, symbol) .member = &symbol,
#define DW_FILL_SYMBOLS(LIST, table, file, needed_for, err)                              \
	((void)(err), *(table) = (__typeof__(*(table))){ LIST(DW_SYMBOL_ADDRESS) }, 0)
#endif

/* table_out: a pointer for each name, in their order. */
int dw_load_symbols(const char *file, const char *needed_for, const char *const *names,
		    void *table_out, dwarfs_error **err);

#endif
