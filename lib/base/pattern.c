/* SPDX-License-Identifier: MIT */
/*
 * base/pattern: a pattern of paths.
 *
 * A pattern is a row of items that take one character each; bit n of the state says that
 * n of them have been matched so far. A star takes nothing by itself: it lets the state
 * before the next item stay. So each byte of a path is a few operations on all states at
 * once, and no byte is looked at twice.
 */
#include <ctype.h>
#include <string.h>

#include "base/pattern.h"

#define MAX_ITEMS 4095
#define BYTES	  256
#define WORD_BITS 64

struct pattern {
	bool is_anchored, crosses_slashes;
	uint32_t slashes; /* items that are one */
	uint32_t items;
	size_t words;
	uint64_t *masks; /* words for each of those below */
};

/* Sets of states, behind those of items that take a byte. */
enum {
	STAY_IN_NAME = BYTES, /* stars before the next item */
	STAY_ALWAYS,	      /* double stars */
	STAY_IN_CHARACTER,    /* the item behind takes any character: its other bytes */
	TAKES_ANY, /* the item before which takes any byte of a path that is not
		      UTF-8 */
	SET_COUNT
};

void dw_pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->masks);
	free(pattern);
}
DW_DEFINE_AUTO(pattern, struct pattern *, dw_pattern_free)

static uint64_t *set_of(const struct pattern *pattern, size_t set)
{
	return pattern->masks + set * pattern->words;
}

static void put(struct pattern *pattern, size_t set, uint32_t state)
{
	set_of(pattern, set)[state / WORD_BITS] |= UINT64_C(1) << state % WORD_BITS;
}

/* -- parsing ------------------------------------------------------------------------- */

struct parser {
	const char *at, *end;
	bool ignore_case;
	struct pattern *pattern;
	dwarfs_error **err;
};

static void take_byte(struct parser *parser, unsigned char byte)
{
	put(parser->pattern, byte, parser->pattern->items);
	if (parser->ignore_case && byte < 0x80) {
		put(parser->pattern, (unsigned char)tolower(byte),
		    parser->pattern->items);
		put(parser->pattern, (unsigned char)toupper(byte),
		    parser->pattern->items);
	}
}

/* The first byte of any character that is not ASCII; the others follow. */
static void take_other_characters(struct parser *parser)
{
	for (unsigned byte = 0xC0; byte < BYTES; byte++)
		put(parser->pattern, byte, parser->pattern->items);
	put(parser->pattern, STAY_IN_CHARACTER, parser->pattern->items + 1);
	put(parser->pattern, TAKES_ANY, parser->pattern->items);
}

static void add_any(struct parser *parser)
{
	for (unsigned byte = 0; byte < 0x80; byte++)
		if (byte != '/')
			put(parser->pattern, byte, parser->pattern->items);
	take_other_characters(parser);
	parser->pattern->items++;
}

static void add_literal(struct parser *parser, unsigned char byte)
{
	take_byte(parser, byte);
	parser->pattern->slashes += byte == '/';
	parser->pattern->items++;
}

static void add_star(struct parser *parser)
{
	if (parser->at < parser->end && *parser->at == '*') {
		while (parser->at < parser->end && *parser->at == '*')
			parser->at++;
		put(parser->pattern, STAY_ALWAYS, parser->pattern->items);
		parser->pattern->crosses_slashes = true;
	} else {
		put(parser->pattern, STAY_IN_NAME, parser->pattern->items);
	}
}

static int bad_set(struct parser *parser, const char *why)
{
	return dw_fail(parser->err, DWARFS_ERR_INVALID, "%s in filter pattern", why);
}

/* One end of a range; members are ASCII. */
static int set_member(struct parser *parser, unsigned char *member_out)
{
	if (parser->at < parser->end && *parser->at == '\\')
		parser->at++;
	if (parser->at == parser->end)
		return bad_set(parser, "unmatched [");
	*member_out = (unsigned char)*parser->at++;
	if (*member_out >= 0x80)
		return bad_set(parser, "a character that is not ASCII between [ and ]");
	return 0;
}

static int set_members(struct parser *parser, bool *members)
{
	const char *first = parser->at;

	while (parser->at == first || parser->at == parser->end || *parser->at != ']') {
		unsigned char from, to;
		int ret = set_member(parser, &from);

		if (ret < 0)
			return ret;
		to = from;
		if (parser->end - parser->at >= 2 && parser->at[0] == '-' &&
		    parser->at[1] != ']') {
			parser->at++;
			if ((ret = set_member(parser, &to)) < 0)
				return ret;
		}
		if (to < from)
			return bad_set(parser, "a range that ends before it begins");
		for (unsigned byte = from; byte <= to; byte++)
			members[byte] = true;
	}
	parser->at++;
	return 0;
}

static int add_set(struct parser *parser)
{
	bool members[0x80] = { false }, negated = false;
	int ret;

	if (parser->at < parser->end && (*parser->at == '!' || *parser->at == '^')) {
		parser->at++;
		negated = true;
	}
	if ((ret = set_members(parser, members)) < 0)
		return ret;
	for (unsigned byte = 0; parser->ignore_case && byte < 0x80; byte++) {
		if (members[byte])
			members[tolower((int)byte)] = members[toupper((int)byte)] = true;
	}
	for (unsigned byte = 0; byte < 0x80; byte++)
		if (members[byte] != negated && byte != '/')
			put(parser->pattern, byte, parser->pattern->items);
	if (negated)
		take_other_characters(parser);
	parser->pattern->items++;
	return 0;
}

static int parse(struct parser *parser)
{
	while (parser->at < parser->end) {
		char here = *parser->at++;
		int ret = 0;

		if (here == '*')
			add_star(parser);
		else if (here == '?')
			add_any(parser);
		else if (here == '[')
			ret = add_set(parser);
		else if (here == '\\' && parser->at == parser->end)
			return bad_set(parser, "nothing behind \\");
		else
			add_literal(parser,
				    (unsigned char)(here == '\\' ? *parser->at++ : here));
		if (ret < 0)
			return ret;
	}
	return 0;
}

int dw_pattern_new(const char *text, size_t length, bool ignore_case,
		   struct pattern **pattern_out, dwarfs_error **err)
{
	DW_AUTO(pattern) struct pattern *pattern = dw_calloc(1, sizeof(*pattern));
	struct parser parser = { text, text + length, ignore_case, pattern, err };
	int ret;

	if (!pattern)
		return dw_fail_nomem(err);
	if (length > MAX_ITEMS)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a filter pattern of over %d characters", MAX_ITEMS);
	pattern->words = (length + 1) / WORD_BITS + 1;
	pattern->masks = dw_calloc(SET_COUNT * pattern->words, sizeof(*pattern->masks));
	if (!pattern->masks)
		return dw_fail_nomem(err);
	if (length > 0 && *text == '/') {
		pattern->is_anchored = true;
		parser.at++;
	}
	if ((ret = parse(&parser)) < 0)
		return ret;
	pattern->words = pattern->words ? pattern->words : 1;
	*pattern_out = dw_steal(pattern);
	return 0;
}

/* -- matching ------------------------------------------------------------------------ */

static bool is_utf8(const unsigned char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		unsigned char lead = text[i++];
		unsigned more = lead < 0x80   ? 0
				: lead < 0xC2 ? 9
				: lead < 0xE0 ? 1
				: lead < 0xF0 ? 2
				: lead < 0xF5 ? 3
					      : 9;

		if (more > length - i)
			return false;
		for (; more > 0; more--)
			if ((text[i++] & 0xC0) != 0x80)
				return false;
	}
	return true;
}

/* The path from its last names on, as many as the pattern has. */
static size_t skip_names(const struct pattern *pattern, const char *path, size_t length)
{
	uint32_t names = 0;

	for (size_t at = length; at > 0; at--)
		if (path[at - 1] == '/' && names++ == pattern->slashes)
			return at;
	return 0;
}

struct matcher {
	const struct pattern *pattern;
	bool is_utf8;
};

/* All that can be reached from these states by one byte, except for the carry. */
static uint64_t step(const struct matcher *matcher, size_t word, uint64_t state,
		     unsigned char byte, uint64_t *carry)
{
	const struct pattern *pattern = matcher->pattern;
	uint64_t takes = set_of(pattern, byte)[word];
	uint64_t stays = set_of(pattern, STAY_ALWAYS)[word];
	uint64_t moved;

	if (byte != '/')
		stays |= set_of(pattern, STAY_IN_NAME)[word];
	if (byte >= 0x80 && !matcher->is_utf8)
		takes |= set_of(pattern, TAKES_ANY)[word];
	else if ((byte & 0xC0) == 0x80)
		stays |= set_of(pattern, STAY_IN_CHARACTER)[word];
	moved = state & takes;
	state = (state & stays) | moved << 1 | *carry;
	*carry = moved >> (WORD_BITS - 1);
	return state;
}

static bool has(const uint64_t *states, uint32_t state)
{
	return states[state / WORD_BITS] >> state % WORD_BITS & 1;
}

static bool run(const struct matcher *matcher, uint64_t *states, const char *path,
		size_t length)
{
	const struct pattern *pattern = matcher->pattern;
	bool floats = !pattern->is_anchored && pattern->crosses_slashes;

	states[0] = 1;
	for (size_t i = 0; i < length; i++) {
		uint64_t carry = 0;

		for (size_t word = 0; word < pattern->words; word++)
			states[word] = step(matcher, word, states[word],
					    (unsigned char)path[i], &carry);
		if (floats && path[i] == '/')
			states[0] |= 1;
	}
	return has(states, pattern->items);
}

bool dw_pattern_matches(const struct pattern *pattern, const char *path, size_t length)
{
	uint64_t states[MAX_ITEMS / WORD_BITS + 2];
	struct matcher matcher = { pattern,
				   is_utf8((const unsigned char *)path, length) };

	if (!pattern->is_anchored && !pattern->crosses_slashes) {
		size_t skipped = skip_names(pattern, path, length);

		path += skipped;
		length -= skipped;
	}
	memset(states, 0, pattern->words * sizeof(states[0]));
	return run(&matcher, states, path, length);
}
