/* SPDX-License-Identifier: MIT */
/*
 * base/patterns: which paths somebody has asked for.
 *
 * Takes patterns as people write them, and turns each into one or more of base/pattern:
 * alternatives are written out, and so is that "**" may stand for no name at all.
 */
#include <string.h>

#include "base/pattern.h"
#include "base/patterns.h"

/* So many may come of one by writing its alternatives out. */
#define MOST_VARIANTS 4096
#define MOST_BYTES    4096

struct one {
	struct pattern *pattern;
	bool of_directories;
};

struct patterns {
	struct one *list;
	size_t count, room;
};

int dw_patterns_new(struct patterns **patterns_out, dwarfs_error **err)
{
	struct patterns *patterns = dw_calloc(1, sizeof(*patterns));

	if (!patterns)
		return dw_fail_nomem(err);
	*patterns_out = patterns;
	return 0;
}

/* Patterns from this one on. */
static void drop(struct patterns *patterns, size_t from)
{
	for (size_t i = from; i < patterns->count; i++)
		dw_pattern_free(patterns->list[i].pattern);
	patterns->count = from;
}

void dw_patterns_free(struct patterns *patterns)
{
	if (!patterns)
		return;
	drop(patterns, 0);
	free(patterns->list);
	free(patterns);
}

bool dw_patterns_are_none(const struct patterns *patterns)
{
	return !patterns || patterns->count == 0;
}

/* -- adding -------------------------------------------------------------------------- */

/* What is being written out. */
struct adder {
	struct patterns *patterns;
	bool ignore_case;
	size_t left; /* variants that may still come */
	dwarfs_error **err;
};

/* One without alternatives; text begins with a slash. */
static int add_plain(struct adder *adder, const char *text)
{
	struct patterns *patterns = adder->patterns;
	size_t length = strlen(text);
	struct one one = { 0 };
	int ret;

	if (adder->left-- == 0)
		return dw_fail(adder->err, DWARFS_ERR_INVALID,
			       "more than %d alternatives in filter pattern",
			       MOST_VARIANTS);
	if (length > 1 && text[length - 1] == '/' && text[length - 2] != '\\') {
		one.of_directories = true;
		length--;
	}
	if (length <= 1)
		return dw_fail(adder->err, DWARFS_ERR_INVALID, "an empty pattern");
	if ((ret = dw_grow(&patterns->list, &patterns->room, patterns->count + 1,
			   adder->err)) < 0 ||
	    (ret = dw_pattern_new(text, length, adder->ignore_case, &one.pattern,
				  adder->err)) < 0)
		return ret;
	patterns->list[patterns->count++] = one;
	return 0;
}

/* Behind what is one thing: an escaped character, a set, or any other character. */
static const char *skip_one(const char *at)
{
	const char *end = at + 1;

	if (*at == '\\')
		return *end ? end + 1 : end;
	if (*at != '[')
		return end;
	if (*end == '!' || *end == '^')
		end++;
	if (*end == ']')
		end++;
	for (; *end && *end != ']'; end++)
		if (*end == '\\' && end[1])
			end++;
	return *end ? end + 1 : at + 1; /* if it has no end, it is for others to refuse */
}

/* The } of a {, or the next comma between these; NULL for none. */
static const char *end_of_alternative(const char *at)
{
	size_t depth = 0;

	for (; *at; at = skip_one(at)) {
		if (depth == 0 && (*at == ',' || *at == '}'))
			return at;
		if (*at == '{')
			depth++;
		else if (*at == '}')
			depth--;
	}
	return NULL;
}

static int expand(struct adder *adder, const char *text, size_t from);

/* The text with what is between begin and end replaced. */
static int expand_with(struct adder *adder, const char *text, const char *begin,
		       const char *end, const char *by, size_t by_length)
{
	size_t before = (size_t)(begin - text), behind = strlen(end) + 1;
	auto_free char *made = malloc(before + by_length + behind);

	if (!made)
		return dw_fail_nomem(adder->err);
	memcpy(made, text, before);
	memcpy(made + before, by, by_length);
	memcpy(made + before + by_length, end, behind);
	return expand(adder, made, before);
}

static int expand_braces(struct adder *adder, const char *text, const char *open)
{
	const char *close = open + 1, *at = open + 1, *end;
	int ret = 0;

	while ((close = end_of_alternative(close)) && *close == ',')
		close++;
	if (!close)
		return dw_fail(adder->err, DWARFS_ERR_INVALID,
			       "unmatched { in filter pattern");
	for (; ret == 0 && at <= close; at = end + 1) {
		end = end_of_alternative(at);
		ret = expand_with(adder, text, open, close + 1, at, (size_t)(end - at));
	}
	return ret;
}

/* Everything before from has no alternatives. */
static int expand(struct adder *adder, const char *text, size_t from)
{
	for (const char *at = text + from; *at; at = skip_one(at)) {
		if (*at == '{')
			return expand_braces(adder, text, at);
		if (at > text && strncmp(at, "**/", 3) == 0 && at[-1] == '/' &&
		    (at - text < 2 || at[-2] != '\\')) {
			int ret = expand_with(adder, text, at, at + 3, "", 0);

			if (ret < 0)
				return ret;
			at += 2;
		}
	}
	return add_plain(adder, text);
}

int dw_patterns_add(struct patterns *patterns, const char *text, dwarfs_error **err)
{
	struct adder adder = { .patterns = patterns, .left = MOST_VARIANTS, .err = err };
	size_t before = patterns->count, length;
	const char *at = text;
	auto_free char *rooted = NULL;
	int ret;

	if (strncmp(at, "i:", 2) == 0) {
		adder.ignore_case = true;
		at += 2;
	}
	while (*at == '/' || strncmp(at, "./", 2) == 0)
		at += *at == '/' ? 1 : 2;
	length = strlen(at);
	if (length > MOST_BYTES)
		return dw_fail(err, DWARFS_ERR_INVALID, "a pattern of over %d bytes",
			       MOST_BYTES);
	rooted = malloc(length + 2);
	if (!rooted)
		return dw_fail_nomem(err);
	rooted[0] = '/';
	memcpy(rooted + 1, at, length + 1);
	ret = expand(&adder, rooted, 1);
	if (ret < 0) {
		drop(patterns, before);
		return dw_explain(err, ret, "'%s'", text);
	}
	return 0;
}

bool dw_patterns_match(const struct patterns *patterns, const char *path, size_t length,
		       bool is_dir)
{
	for (size_t i = 0; patterns && i < patterns->count; i++) {
		const struct one *one = &patterns->list[i];

		if ((is_dir || !one->of_directories) &&
		    dw_pattern_matches(one->pattern, path, length))
			return true;
	}
	return false;
}
