/* SPDX-License-Identifier: MIT */
/*
 * common/names: bytes of names as text that a terminal and a script can take.
 */
#include "common/common.h"

#include <string.h>

size_t tool_character_bytes(const unsigned char *text, size_t left)
{
	static const struct {
		unsigned char first_min, first_max, second_min, second_max, bytes;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t form;
	size_t i;

	if (left > 0 && text[0] < 0x80)
		return 1;
	for (form = 0; form < sizeof(forms) / sizeof(*forms); form++) {
		if (left >= forms[form].bytes && text[0] >= forms[form].first_min &&
		    text[0] <= forms[form].first_max)
			break;
	}
	if (form == sizeof(forms) / sizeof(*forms) || text[1] < forms[form].second_min ||
	    text[1] > forms[form].second_max)
		return 0;
	for (i = 2; i < forms[form].bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return forms[form].bytes;
}

bool tool_is_utf8(const void *text, size_t bytes)
{
	const unsigned char *at = text;
	size_t step;

	for (; bytes > 0; at += step, bytes -= step) {
		step = tool_character_bytes(at, bytes);
		if (step == 0)
			return false;
	}
	return true;
}

size_t tool_printable_bytes(const unsigned char *text, size_t left)
{
	const size_t bytes = tool_character_bytes(text, left);

	if (bytes == 1 && (text[0] < ' ' || text[0] == 127))
		return 0;
	if (bytes == 2 && text[0] == 0xc2 && text[1] < 0xa0) /* U+0080 to U+009F */
		return 0;
	return bytes;
}

/* A byte that is not shown. */
static void print_escaped(FILE *out, unsigned char byte)
{
	static const char letters[] = "abtnvfr"; /* of the characters 7 to 13 */

	if (byte >= 7 && byte <= 13)
		fprintf(out, "\\%c", letters[byte - 7]);
	else
		fprintf(out, "\\%03o", byte);
}

/* Bytes of the character at a position, or 0 if tool_print_text() escapes it. */
static size_t shown_bytes(const unsigned char *at, size_t left)
{
	const size_t bytes = tool_printable_bytes(at, left);

	/* Outside of UTF-8, a terminal may interpret bytes below this one. */
	return bytes == 0 && *at >= 0xa0 && tool_character_bytes(at, left) == 0 ? 1
										: bytes;
}

/* Each call of fwrite() is a system call if out is stderr, so all bytes up to one that is escaped
 * are written by one. */
void tool_print_text(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + strlen(text);

	while (at < end) {
		const unsigned char *begin = at;
		size_t bytes;

		while (at < end && (bytes = shown_bytes(at, (size_t)(end - at))) > 0)
			at += bytes;
		fwrite(begin, 1, (size_t)(at - begin), out);
		if (at < end)
			print_escaped(out, *at++);
	}
}

static bool needs_quotes(const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	const unsigned char *end = at + strlen(name);
	size_t bytes;

	if (*name == '\'' || *name == '"')
		return true;
	for (; at < end; at += bytes) {
		bytes = tool_printable_bytes(at, (size_t)(end - at));
		if (bytes == 0)
			return true;
	}
	return false;
}

void tool_print_name(FILE *out, const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	const unsigned char *end = at + strlen(name);
	bool is_escaped = false; /* within $'...' */

	if (!needs_quotes(name)) {
		fputs(name, out);
		return;
	}
	putc('\'', out);
	while (at < end) {
		const size_t bytes = tool_printable_bytes(at, (size_t)(end - at));

		if (is_escaped != (bytes == 0))
			fputs(bytes == 0 ? "'$'" : "''", out);
		is_escaped = bytes == 0;
		if (is_escaped)
			print_escaped(out, *at++);
		else if (*at == '\'')
			fputs("'\\''", out);
		else
			fwrite(at, 1, bytes, out);
		at += bytes;
	}
	putc('\'', out);
}
