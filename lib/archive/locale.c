/* SPDX-License-Identifier: MIT */
/*
 * archive/locale: a locale in which libarchive does not convert names.
 *
 * Copies the locale of the thread and replaces only its character encoding.
 */
#include <iconv.h>
#include <langinfo.h>
#include <string.h>

#include "archive/locale.h"

#ifdef __APPLE__
#include <xlocale.h>
#endif

static locale_t with_utf8(locale_t base)
{
	/* As it is called on Linux, FreeBSD and macOS. */
	static const char *const names[] = { "C.UTF-8", "C.utf8", "UTF-8",
					     "en_US.UTF-8" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		/* On success, the returned locale owns base. */
		const locale_t made = newlocale(LC_CTYPE_MASK, names[i], base);

		if (made)
			return made;
	}
	return (locale_t)0;
}

/* Does a conversion fail for a letter after some others? */
static bool refuses_at(iconv_t conversion, size_t others)
{
	char text[] = "0123456789abcde\xc3\xa9";
	char room[2 * sizeof(text)];
	char *out = room;
	size_t in_bytes = others + strlen("\xc3\xa9");
	char *in = text + strlen(text) - in_bytes;
	size_t out_bytes = sizeof(room);

	iconv(conversion, NULL, NULL, NULL, NULL);
	return iconv(conversion, &in, &in_bytes, &out, &out_bytes) == (size_t)-1;
}

/*
 * Whether a letter that the encoding lacks is an error, wherever it is in a name. Some
 * systems replace it by "*"; glibc 2.36 on an emulated s390x stores its lowest byte if
 * eight to ten others are before it.
 */
static bool refuses_to_convert(locale_t locale)
{
	const iconv_t conversion = iconv_open(nl_langinfo_l(CODESET, locale), "UTF-8");
	bool refuses = true;

	if (conversion == (iconv_t)-1)
		return false;
	for (size_t others = 0; others < 16 && refuses; others++)
		refuses = refuses_at(conversion, others);
	iconv_close(conversion);
	return refuses;
}

static locale_t with_ascii(locale_t base)
{
	const locale_t made = newlocale(LC_CTYPE_MASK, "C", base);

	if (!made)
		return with_utf8(base);
	return refuses_to_convert(made) ? made : with_utf8(made);
}

static int enter(struct text_locale *locale, locale_t (*make)(locale_t base),
		 dwarfs_error **err)
{
	const locale_t base = duplocale(uselocale((locale_t)0));

	*locale = (struct text_locale){ 0 };
	if (!base)
		return dw_fail_nomem(err);
	locale->other = make(base);
	if (!locale->other) {
		freelocale(base);
		return dw_fail(
			err, DWARFS_ERR_UNSUPPORTED,
			"the system has no locale with UTF-8, which archives need");
	}
	dw_locale_resume(locale);
	return 0;
}

int dw_locale_enter(struct text_locale *locale, dwarfs_error **err)
{
	return enter(locale, with_utf8, err);
}

int dw_locale_enter_plain(struct text_locale *locale, dwarfs_error **err)
{
	return enter(locale, with_ascii, err);
}

void dw_locale_pause(struct text_locale *locale)
{
	if (locale->is_on)
		uselocale(locale->before);
	locale->is_on = false;
}

void dw_locale_resume(struct text_locale *locale)
{
	if (locale->other && !locale->is_on) {
		locale->before = uselocale(locale->other);
		locale->is_on = true;
	}
}

void dw_locale_leave(struct text_locale *locale)
{
	dw_locale_pause(locale);
	if (locale->other)
		freelocale(locale->other);
	*locale = (struct text_locale){ 0 };
}
