/* SPDX-License-Identifier: MIT */
/*
 * archive/locale: a locale in which libarchive does not convert names.
 *
 * In the C locale libarchive loses names that are not ASCII. These functions set a UTF-8
 * locale for the calling thread only, while archives are processed, and restore the
 * previous one. Names that are not UTF-8 are passed through byte for byte.
 */
#ifndef DW_ARCHIVE_LOCALE_H
#define DW_ARCHIVE_LOCALE_H

#include <locale.h>

#include "base/memory.h"

/* All zero: the thread has its own locale. */
struct text_locale {
	locale_t other;	 /* owned; (locale_t)0: none */
	locale_t before; /* the previous locale of the thread */
	bool is_on;
};

/* Change the locale of this thread; leave it in the same thread. */
int dw_locale_enter(struct text_locale *locale, dwarfs_error **err);

/*
 * The same, to one where text is ASCII, if the system refuses to convert anything else to
 * that. libarchive composes names in UTF-8 where it can convert them, but leaves the
 * names of a tar unchanged where it cannot.
 */
int dw_locale_enter_plain(struct text_locale *locale, dwarfs_error **err);
void dw_locale_leave(struct text_locale *locale);
#define auto_locale __attribute__((cleanup(dw_locale_leave))) struct text_locale

/* Restore the locale of the thread during a callback. */
void dw_locale_pause(struct text_locale *locale);
void dw_locale_resume(struct text_locale *locale);

#endif
