/* SPDX-License-Identifier: MIT */
/*
 * write/options/filter: rules that include and exclude entries.
 *
 * Patterns are compiled when a rule is added; a file of rules is read at that time, too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/braces.h"
#include "base/pattern.h"
#include "os/dir.h"
#include "base/read_line.h"
#include "write/options/filter.h"

#define MAX_DEPTH    64	  /* nesting of rule files */
#define MAX_VARIANTS 4096 /* of one pattern with alternatives */
#define MAX_BYTES    4096 /* of one rule */

struct rule {
	bool is_include;
	struct pattern *pattern;
};

struct filter {
	struct rule *rules;
	size_t count, room;
};

/* Chain of the rule files being read, innermost first. */
struct rule_reading {
	const struct rule_reading *outer;
	uint64_t device, inode;
	size_t depth;
};

int dw_filter_new(struct filter **filter_out, dwarfs_error **err)
{
	struct filter *filter = dw_calloc(1, sizeof(*filter));

	if (!filter)
		return dw_fail_nomem(err);
	*filter_out = filter;
	return 0;
}

/* Remove the rules from this one on. */
static void drop_rules(struct filter *filter, size_t from)
{
	for (size_t i = from; i < filter->count; i++)
		dw_pattern_free(filter->rules[i].pattern);
	filter->count = from;
}

void dw_filter_free(struct filter *filter)
{
	if (!filter)
		return;
	drop_rules(filter, 0);
	dw_free(filter->rules);
	dw_free(filter);
}

/* -- rules --------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* A rule while its {a,b} alternatives are expanded. */
struct addition {
	struct filter *filter;
	bool is_include, ignore_case;
};

static int add_alternative(const char *variant, void *user, dwarfs_error **err)
{
	const struct addition *addition = user;
	struct filter *filter = addition->filter;
	struct rule rule = { .is_include = addition->is_include };
	int ret;

	if ((ret = dw_grow(&filter->rules, &filter->room, filter->count + 1, err)) < 0 ||
	    (ret = dw_pattern_new(variant, strlen(variant), addition->ignore_case,
				  &rule.pattern, err)) < 0)
		return ret;
	filter->rules[filter->count++] = rule;
	return 0;
}

static int add_pattern_rule(struct filter *filter, const char *rule, dwarfs_error **err)
{
	struct addition addition = { .filter = filter, .is_include = *rule == '+' };
	const char *at = rule + 1;
	int ret;

	for (; *at && !is_space(*at); at++) {
		if (*at != 'i')
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "unknown option '%c' in filter rule: '%s'", *at,
				       rule);
		addition.ignore_case = true;
	}
	while (is_space(*at))
		at++;
	if (*at == '\0')
		return dw_fail(err, DWARFS_ERR_INVALID, "no pattern in filter rule: '%s'",
			       rule);
	if (strlen(at) > MAX_BYTES)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a filter pattern of over %d bytes", MAX_BYTES);
	ret = dw_braces_expand(at, MAX_VARIANTS, add_alternative, &addition, err);
	return ret < 0 ? dw_explain(err, ret, "'%s'", rule) : 0;
}

static int add_rule_file(struct filter *filter, const char *path,
			 const struct rule_reading *outer, dwarfs_error **err);

static int add_rule(struct filter *filter, const char *rule,
		    const struct rule_reading *outer, dwarfs_error **err)
{
	while (is_space(*rule))
		rule++;
	if (*rule == '\0')
		return dw_fail(err, DWARFS_ERR_INVALID, "empty filter rule");
	if (*rule == '+' || *rule == '-')
		return add_pattern_rule(filter, rule, err);
	if (*rule != '.' || !is_space(rule[1]))
		return dw_fail(
			err, DWARFS_ERR_INVALID,
			"filter rules must start with + or -, or with '. ' and a file: '%s'",
			rule);
	for (rule++; is_space(*rule);)
		rule++;
	if (*rule == '\0')
		return dw_fail(err, DWARFS_ERR_INVALID, "no file in filter rule");
	return add_rule_file(filter, rule, outer, err);
}

/* -- files --------------------------------------------------------------------------- */

static void close_rule_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
#define auto_file __attribute__((cleanup(close_rule_file)))

/* Stop at the first invalid line. */
static int add_lines(struct filter *filter, FILE *file, const char *path,
		     const struct rule_reading *reading, dwarfs_error **err)
{
	auto_free char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t length;
	int ret;

	while (errno = 0, (length = dw_read_line(&line, &room, file)) >= 0) {
		number++;
		while (length > 0 &&
		       (line[length - 1] == '\n' || line[length - 1] == '\r'))
			line[--length] = '\0';
		if ((size_t)length == strspn(line, " \t") || *line == '#')
			continue;
		if (strlen(line) != (size_t)length)
			ret = dw_fail(err, DWARFS_ERR_INVALID, "a NUL in a filter rule");
		else
			ret = add_rule(filter, line, reading, err);
		if (ret < 0)
			return dw_explain(err, ret, "'%s', line %zu", path, number);
	}
	if (errno == ENOMEM)
		return dw_fail_nomem(err);
	if (errno != 0 || ferror(file))
		return dw_fail_errno(err, errno ? errno : EIO,
				     "cannot read filter rules from '%s'", path);
	return 0;
}

static int add_rule_file(struct filter *filter, const char *path,
			 const struct rule_reading *outer, dwarfs_error **err)
{
	auto_file FILE *file = fopen(path, "re");
	struct rule_reading reading = { .outer = outer };
	struct os_stat stat;
	int ret;

	if (!file)
		return dw_fail_errno(err, errno, "cannot open filter file '%s'", path);
	if ((ret = dw_stat_fd(fileno(file), &stat)) < 0)
		return dw_fail_errno(err, -ret, "cannot inspect filter file '%s'", path);
	reading.device = stat.device;
	reading.inode = stat.inode;
	reading.depth = outer ? outer->depth + 1 : 1;
	for (const struct rule_reading *file_around = outer; file_around;
	     file_around = file_around->outer)
		if (file_around->device == stat.device &&
		    file_around->inode == stat.inode)
			return dw_fail(
				err, DWARFS_ERR_INVALID,
				"recursion in filter rules: '%s' is being read already",
				path);
	if (reading.depth > MAX_DEPTH)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "filter files name others more than %d deep", MAX_DEPTH);
	return add_lines(filter, file, path, &reading, err);
}

int dw_filter_add(struct filter *filter, const char *rule, dwarfs_error **err)
{
	size_t before = filter->count;
	int ret = add_rule(filter, rule, NULL, err);

	if (ret < 0)
		drop_rules(filter, before);
	return ret;
}

/* -- apply --------------------------------------------------------------------------- */

bool dw_filter_includes(const struct filter *filter, const char *path, size_t length,
			bool is_directory)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct rule *rule = &filter->rules[i];

		if (dw_pattern_matches_entry(rule->pattern, path, length, is_directory))
			return rule->is_include;
	}
	return true;
}
