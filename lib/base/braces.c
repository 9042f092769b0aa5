/* SPDX-License-Identifier: MIT */
/*
 * base/braces: expand the alternatives of a pattern.
 *
 * Takes a pattern; calls back with each variant. The first brace is replaced by each of
 * its alternatives in turn, and the results are expanded again, until no brace is left.
 */
#include <string.h>

#include "base/braces.h"
#include "base/memory.h"

struct expansion {
	dw_braces_fn each;
	void *user;
	size_t max_variants, variants;
	dwarfs_error **err;
};

const char *dw_braces_skip(const char *text)
{
	const char *end = text + 1;

	if (*text == '\\')
		return *end ? end + 1 : end;
	if (*text != '[')
		return end;
	if (*end == '!' || *end == '^')
		end++;
	if (*end == ']')
		end++;
	for (; *end && *end != ']'; end++) {
		const char *class_end = strncmp(end, "[:", 2) ? NULL : strstr(end, ":]");

		if (class_end)
			end = class_end + 1;
		else if (*end == '\\' && end[1])
			end++;
	}
	/* A set without an end is refused by the parser of the pattern. */
	return *end ? end + 1 : text + 1;
}

/* The next comma or } of the same nesting depth; NULL for none. */
static const char *end_of_alternative(const char *at)
{
	size_t depth = 0;

	for (; *at; at = dw_braces_skip(at)) {
		if (depth == 0 && (*at == ',' || *at == '}'))
			return at;
		if (*at == '{')
			depth++;
		else if (*at == '}')
			depth--;
	}
	return NULL;
}

static int expand(struct expansion *expansion, const char *text, size_t from);

/* The text with the range from begin to end replaced. */
static int expand_with(struct expansion *expansion, const char *text, const char *begin,
		       const char *end, const char *by, size_t by_length)
{
	size_t before = (size_t)(begin - text), after = strlen(end) + 1;
	auto_free char *made = dw_malloc(before + by_length + after);

	if (!made)
		return dw_fail_nomem(expansion->err);
	memcpy(made, text, before);
	memcpy(made + before, by, by_length);
	memcpy(made + before + by_length, end, after);
	return expand(expansion, made, before);
}

static int expand_braces(struct expansion *expansion, const char *text, const char *open)
{
	const char *close = open + 1, *at = open + 1, *end;
	int ret = 0;

	while ((close = end_of_alternative(close)) && *close == ',')
		close++;
	if (!close)
		return dw_fail(expansion->err, DWARFS_ERR_INVALID,
			       "unmatched { in the pattern (\\{ is the character)");
	for (; ret == 0 && at <= close; at = end + 1) {
		end = end_of_alternative(at);
		ret = expand_with(expansion, text, open, close + 1, at,
				  (size_t)(end - at));
	}
	return ret;
}

/* There are no braces before from. */
static int expand(struct expansion *expansion, const char *text, size_t from)
{
	for (const char *at = text + from; *at; at = dw_braces_skip(at))
		if (*at == '{')
			return expand_braces(expansion, text, at);
	if (expansion->variants++ == expansion->max_variants)
		return dw_fail(expansion->err, DWARFS_ERR_INVALID,
			       "more than %zu alternatives in the pattern",
			       expansion->max_variants);
	return expansion->each(text, expansion->user, expansion->err);
}

int dw_braces_expand(const char *text, size_t max_variants, dw_braces_fn each, void *user,
		     dwarfs_error **err)
{
	struct expansion expansion = { each, user, max_variants, 0, err };

	return expand(&expansion, text, 0);
}
