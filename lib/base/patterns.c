/* SPDX-License-Identifier: MIT */
/*
 * base/patterns: a list of patterns that select paths.
 *
 * Takes patterns as users write them, and compiles each to one or more of base/pattern:
 * alternatives are expanded, and so are "**" that may match no name.
 */
#include <string.h>

#include "base/braces.h"
#include "base/pattern.h"
#include "base/patterns.h"

/* Maximum number of expanded patterns of one. */
#define MOST_VARIANTS 4096
#define MOST_BYTES    4096

struct one {
	struct pattern *pattern;
	size_t text; /* index of its text */
	bool of_directories;
};

/* A pattern as written by the user. */
struct text {
	char *text;
	bool has_matched;
};

struct patterns {
	struct one *list;
	size_t count, room;
	struct text *texts;
	size_t text_count, text_room;
};

int dw_patterns_new(struct patterns **patterns_out, dwarfs_error **err)
{
	struct patterns *patterns = dw_calloc(1, sizeof(*patterns));

	if (!patterns)
		return dw_fail_nomem(err);
	*patterns_out = patterns;
	return 0;
}

/* Drop the patterns from this one on. */
static void drop_patterns(struct patterns *patterns, size_t from)
{
	for (size_t i = from; i < patterns->count; i++)
		dw_pattern_free(patterns->list[i].pattern);
	patterns->count = from;
}

void dw_patterns_free(struct patterns *patterns)
{
	if (!patterns)
		return;
	drop_patterns(patterns, 0);
	for (size_t i = 0; i < patterns->text_count; i++)
		dw_free(patterns->texts[i].text);
	dw_free(patterns->texts);
	dw_free(patterns->list);
	dw_free(patterns);
}

bool dw_patterns_are_none(const struct patterns *patterns)
{
	return !patterns || patterns->count == 0;
}

/* -- adding -------------------------------------------------------------------------- */

/* State of an expansion. */
struct adder {
	struct patterns *patterns;
	bool ignore_case;
	size_t left; /* variants still allowed */
	dwarfs_error **err;
};

/* Add one without alternatives; text begins with a slash. */
static int add_plain(struct adder *adder, const char *text)
{
	struct patterns *patterns = adder->patterns;
	size_t length = strlen(text);
	struct one one = { .text = patterns->text_count };
	int ret;

	if (adder->left-- == 0)
		return dw_fail(adder->err, DWARFS_ERR_INVALID,
			       "more than %d alternatives in the pattern", MOST_VARIANTS);
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

/* A "**" that is a whole name, followed by a slash, also matches no name, but not as the whole
 * pattern. */
static int expand_stars(struct adder *adder, const char *text, size_t from)
{
	for (const char *at = text + from; *at; at = dw_braces_skip(at)) {
		auto_free char *without = NULL;
		int ret;

		if (at == text || strncmp(at, "**/", 3) != 0 || at[-1] != '/' ||
		    (at - text >= 2 && at[-2] == '\\'))
			continue;
		if (!(without = dw_strdup(text)))
			return dw_fail_nomem(adder->err);
		memmove(without + (at - text), at + 3, strlen(at + 3) + 1);
		if (strcmp(without, "/") == 0) {
			at += 2;
			continue;
		}
		if ((ret = expand_stars(adder, without, (size_t)(at - text))) < 0)
			return ret;
		at += 2;
	}
	return add_plain(adder, text);
}

static int add_expanded(const char *variant, void *user, dwarfs_error **err)
{
	struct adder *adder = user;

	adder->err = err;
	return expand_stars(adder, variant, 1);
}

static int add_pattern_text(struct patterns *patterns, const char *text,
			    dwarfs_error **err)
{
	int ret = dw_grow(&patterns->texts, &patterns->text_room,
			  patterns->text_count + 1, err);

	if (ret < 0)
		return ret;
	patterns->texts[patterns->text_count] = (struct text){ .text = dw_strdup(text) };
	if (!patterns->texts[patterns->text_count].text)
		return dw_fail_nomem(err);
	patterns->text_count++;
	return 0;
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
	rooted = dw_malloc(length + 2);
	if (!rooted)
		return dw_fail_nomem(err);
	rooted[0] = '/';
	memcpy(rooted + 1, at, length + 1);
	ret = dw_braces_expand(rooted, MOST_VARIANTS, add_expanded, &adder, err);
	if (ret == 0)
		ret = add_pattern_text(patterns, text, err);
	if (ret < 0) {
		drop_patterns(patterns, before);
		return dw_explain(err, ret, "'%s'", text);
	}
	return 0;
}

/* -- matching ------------------------------------------------------------------------ */

bool dw_patterns_match(struct patterns *patterns, const char *path, size_t length,
		       bool is_dir)
{
	bool matches = false;

	for (size_t i = 0; patterns && i < patterns->count; i++) {
		const struct one *one = &patterns->list[i];
		bool *has_matched = &patterns->texts[one->text].has_matched;

		if ((matches && *has_matched) || (one->of_directories && !is_dir) ||
		    !dw_pattern_matches(one->pattern, path, length))
			continue;
		matches = *has_matched = true;
	}
	return matches;
}

void dw_patterns_start(struct patterns *patterns)
{
	for (size_t i = 0; patterns && i < patterns->text_count; i++)
		patterns->texts[i].has_matched = false;
}

const char *dw_patterns_unmatched(const struct patterns *patterns, size_t *index)
{
	while (patterns && *index < patterns->text_count) {
		const struct text *text = &patterns->texts[(*index)++];

		if (!text->has_matched)
			return text->text;
	}
	return NULL;
}
