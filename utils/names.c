/* SPDX-License-Identifier: MIT */
/*
 * names: bytes of names as text that a terminal and a script can take.
 */
#include "common.h"

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
