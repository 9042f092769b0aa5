/* SPDX-License-Identifier: MIT */
/*
 * base/pattern: match paths with one pattern.
 *
 * Takes a pattern and paths. A pattern is a sequence of items that match one character
 * each; bit n of the state says that the first n items have matched so far. A star
 * matches nothing itself: it lets the state before the next item persist. So each byte
 * of a path is a few operations on all states at once, and is read once (a bit-parallel
 * NFA, as in shift-and).
 */
#include <ctype.h>
#include <string.h>

#include "base/pattern.h"

#define MAX_ITEMS 4095
#define BYTES	  256
#define WORD_BITS 64

struct pattern {
	bool is_anchored, crosses_slashes;
	uint32_t slashes; /* items that match a slash */
	uint32_t items;
	size_t words;
	uint64_t *masks; /* words of each mask below */
};

/* Sets of states, after those of items that match a byte. */
enum {
	STAY_IN_NAME = BYTES, /* a star precedes the next item */
	STAY_ALWAYS,	      /* a double star does */
	STAY_IN_CHARACTER, /* the item after it matches any character: its other bytes */
	TAKES_ANY, /* the item after it matches any byte of a path that is not UTF-8 */
	SET_COUNT
};

void dw_pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	dw_free(pattern->masks);
	dw_free(pattern);
}
DW_DEFINE_AUTO(pattern, struct pattern *, dw_pattern_free)

static uint64_t *state_set(const struct pattern *pattern, size_t set)
{
	return pattern->masks + set * pattern->words;
}

static void put_state(struct pattern *pattern, size_t set, uint32_t state)
{
	state_set(pattern, set)[state / WORD_BITS] |= UINT64_C(1) << state % WORD_BITS;
}

/* -- parsing ------------------------------------------------------------------------- */

struct pattern_parser {
	const char *at, *end;
	bool ignore_case;
	struct pattern *pattern;
	dwarfs_error **err;
};

static void add_byte_set(struct pattern_parser *parser, unsigned char byte)
{
	put_state(parser->pattern, byte, parser->pattern->items);
	if (parser->ignore_case && byte < 0x80) {
		put_state(parser->pattern, (unsigned char)tolower(byte),
			  parser->pattern->items);
		put_state(parser->pattern, (unsigned char)toupper(byte),
			  parser->pattern->items);
	}
}

/* The first byte of any non-ASCII character; its other bytes follow. */
static void take_other_characters(struct pattern_parser *parser)
{
	for (unsigned byte = 0xC0; byte < BYTES; byte++)
		put_state(parser->pattern, byte, parser->pattern->items);
	put_state(parser->pattern, STAY_IN_CHARACTER, parser->pattern->items + 1);
	put_state(parser->pattern, TAKES_ANY, parser->pattern->items);
}

static void add_any(struct pattern_parser *parser)
{
	for (unsigned byte = 0; byte < 0x80; byte++)
		if (byte != '/')
			put_state(parser->pattern, byte, parser->pattern->items);
	take_other_characters(parser);
	parser->pattern->items++;
}

static void add_literal(struct pattern_parser *parser, unsigned char byte)
{
	add_byte_set(parser, byte);
	parser->pattern->slashes += byte == '/';
	parser->pattern->items++;
}

static void add_star(struct pattern_parser *parser)
{
	if (parser->at < parser->end && *parser->at == '*') {
		while (parser->at < parser->end && *parser->at == '*')
			parser->at++;
		put_state(parser->pattern, STAY_ALWAYS, parser->pattern->items);
		parser->pattern->crosses_slashes = true;
	} else {
		put_state(parser->pattern, STAY_IN_NAME, parser->pattern->items);
	}
}

static int bad_set(struct pattern_parser *parser, const char *why)
{
	return dw_fail(parser->err, DWARFS_ERR_INVALID, "%s in the pattern", why);
}

/* One end of a range; members are ASCII. */
static int set_member(struct pattern_parser *parser, unsigned char *member_out)
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

/* Classes of ASCII characters, as in "[[:digit:]]". */
static const struct {
	const char *name;
	int (*has)(int character);
} classes[] = {
	{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
	{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
	{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
	{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

static bool begins_class(const struct pattern_parser *parser)
{
	return parser->end - parser->at >= 2 && parser->at[0] == '[' &&
	       strchr(":.=", parser->at[1]) != NULL;
}

/* "[:name:]" within a set. */
static int set_class(struct pattern_parser *parser, bool *members)
{
	const char *name = parser->at + 2, *end = name;

	while (end < parser->end && *end >= 'a' && *end <= 'z')
		end++;
	if (parser->at[1] != ':' || parser->end - end < 2 || memcmp(end, ":]", 2) != 0)
		return bad_set(parser, "[: without :], or [. or [= (write \\[ for the "
				       "character) between [ and ]");
	parser->at = end + 2;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) != (size_t)(end - name) ||
		    memcmp(classes[i].name, name, (size_t)(end - name)) != 0)
			continue;
		for (int byte = 0; byte < 0x80; byte++)
			members[byte] = members[byte] || classes[i].has(byte);
		return 0;
	}
	return dw_fail(parser->err, DWARFS_ERR_INVALID,
		       "unknown character class [:%.*s:] in the pattern",
		       (int)(end - name), name);
}

static int parse_set_range(struct pattern_parser *parser, bool *members)
{
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
	return 0;
}

static int set_members(struct pattern_parser *parser, bool *members)
{
	const char *first = parser->at;

	while (parser->at == first || parser->at == parser->end || *parser->at != ']') {
		int ret = begins_class(parser) ? set_class(parser, members)
					       : parse_set_range(parser, members);

		if (ret < 0)
			return ret;
	}
	parser->at++;
	return 0;
}

static int add_character_set(struct pattern_parser *parser)
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
			put_state(parser->pattern, byte, parser->pattern->items);
	if (negated)
		take_other_characters(parser);
	parser->pattern->items++;
	return 0;
}

static int parse_pattern(struct pattern_parser *parser)
{
	while (parser->at < parser->end) {
		char here = *parser->at++;
		int ret = 0;

		if (here == '*')
			add_star(parser);
		else if (here == '?')
			add_any(parser);
		else if (here == '[')
			ret = add_character_set(parser);
		else if (here == '\\' && parser->at == parser->end)
			return bad_set(parser, "nothing after \\");
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
	struct pattern_parser parser = { text, text + length, ignore_case, pattern, err };
	int ret;

	if (!pattern)
		return dw_fail_nomem(err);
	if (length > MAX_ITEMS)
		return dw_fail(err, DWARFS_ERR_INVALID, "a pattern of over %d characters",
			       MAX_ITEMS);
	pattern->words = (length + 1) / WORD_BITS + 1;
	pattern->masks = dw_calloc(SET_COUNT * pattern->words, sizeof(*pattern->masks));
	if (!pattern->masks)
		return dw_fail_nomem(err);
	if (length > 0 && *text == '/') {
		pattern->is_anchored = true;
		parser.at++;
	}
	if ((ret = parse_pattern(&parser)) < 0)
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

/* The end of the path with as many names as the pattern has; `slashes` are added to
 * the path for matching. */
static size_t skip_names(const struct pattern *pattern, const char *path, size_t length,
			 uint32_t slashes)
{
	uint32_t names = slashes;

	for (size_t at = length; at > 0; at--)
		if (path[at - 1] == '/' && names++ == pattern->slashes)
			return at;
	return 0;
}

struct pattern_matcher {
	const struct pattern *pattern;
	bool is_utf8;
};

/* The states reached from these by one byte, without the carry. */
static uint64_t follow_byte(const struct pattern_matcher *matcher, size_t word,
			    uint64_t state, unsigned char byte, uint64_t *carry)
{
	const struct pattern *pattern = matcher->pattern;
	uint64_t takes = state_set(pattern, byte)[word];
	uint64_t stays = state_set(pattern, STAY_ALWAYS)[word];
	uint64_t moved;

	if (byte != '/')
		stays |= state_set(pattern, STAY_IN_NAME)[word];
	if (byte >= 0x80 && !matcher->is_utf8)
		takes |= state_set(pattern, TAKES_ANY)[word];
	else if ((byte & 0xC0) == 0x80)
		stays |= state_set(pattern, STAY_IN_CHARACTER)[word];
	moved = state & takes;
	state = (state & stays) | moved << 1 | *carry;
	*carry = moved >> (WORD_BITS - 1);
	return state;
}

static bool has_state(const uint64_t *states, uint32_t state)
{
	return states[state / WORD_BITS] >> state % WORD_BITS & 1;
}

static void consume_byte(const struct pattern_matcher *matcher, uint64_t *states,
			 unsigned char byte)
{
	uint64_t carry = 0;

	for (size_t word = 0; word < matcher->pattern->words; word++)
		states[word] = follow_byte(matcher, word, states[word], byte, &carry);
}

static void run_matcher(const struct pattern_matcher *matcher, uint64_t *states,
			const char *path, size_t length)
{
	const struct pattern *pattern = matcher->pattern;
	bool floats = !pattern->is_anchored && pattern->crosses_slashes;

	memset(states, 0, pattern->words * sizeof(states[0]));
	states[0] = 1;
	for (size_t i = 0; i < length; i++) {
		consume_byte(matcher, states, (unsigned char)path[i]);
		if (floats && path[i] == '/')
			states[0] |= 1;
	}
}

static bool ends_in_name_star(const struct pattern *pattern)
{
	return has_state(state_set(pattern, STAY_IN_NAME), pattern->items) &&
	       !has_state(state_set(pattern, STAY_ALWAYS), pattern->items);
}

bool dw_pattern_matches(const struct pattern *pattern, const char *path, size_t length)
{
	return dw_pattern_matches_entry(pattern, path, length, false);
}

bool dw_pattern_matches_entry(const struct pattern *pattern, const char *path,
			      size_t length, bool is_directory)
{
	uint64_t states[MAX_ITEMS / WORD_BITS + 2];
	struct pattern_matcher matcher = { pattern,
					   is_utf8((const unsigned char *)path, length) };

	/* "a/" followed by * matches the contents of a: no name is empty. */
	if (is_directory && ends_in_name_star(pattern))
		return false;
	if (!pattern->is_anchored && !pattern->crosses_slashes) {
		size_t skipped;

		if (pattern->slashes < is_directory)
			return false;
		skipped = skip_names(pattern, path, length, is_directory);
		path += skipped;
		length -= skipped;
	}
	run_matcher(&matcher, states, path, length);
	if (is_directory)
		consume_byte(&matcher, states, '/');
	return has_state(states, pattern->items);
}
