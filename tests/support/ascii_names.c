/* SPDX-License-Identifier: MIT */
/*
 * Exits with 0 if iconv() refuses to convert a letter that ASCII lacks, wherever it is in a name: then
 * libarchive leaves names of tar archives unchanged in the locale C. Run while tests are configured.
 * The C library musl converts such a letter to "*", and glibc 2.36 on an emulated s390x to a byte.
 */
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>

static int is_refused(iconv_t conversion, size_t others)
{
	char name[32], ascii[64];
	char *from = name, *to = ascii;
	size_t bytes = others + 2, room = sizeof(ascii);

	memset(name, 'a', others);
	memcpy(name + others, "\xc3\xa9", 2);
	iconv(conversion, NULL, NULL, NULL, NULL);
	return iconv(conversion, &from, &bytes, &to, &room) == (size_t)-1;
}

int main(void)
{
	iconv_t conversion;

	setlocale(LC_ALL, "C");
	conversion = iconv_open(nl_langinfo(CODESET), "UTF-8");
	if (conversion == (iconv_t)-1)
		return 1;
	for (size_t others = 0; others < 16; others++)
		if (!is_refused(conversion, others))
			return 1;
	iconv_close(conversion);
	return 0;
}
