/* SPDX-License-Identifier: MIT */
/*
 * write/options/xattr_rules: which extended attributes are stored.
 *
 * Matches attribute names against glob patterns; reads no attribute.
 */
#if __has_include(<fnmatch.h>)
#include <fnmatch.h>
#endif
#include <string.h>

#include "os/file_xattr.h"
#include "write/options/xattr_rules.h"

static void free_globs(struct xattr_globs *globs)
{
	for (size_t i = 0; i < globs->count; i++)
		dw_free(globs->list[i]);
	dw_free(globs->list);
}

void dw_xattr_rules_free(struct xattr_rules *rules)
{
	free_globs(&rules->include);
	free_globs(&rules->exclude);
}

/* fnmatch(3) takes a "[" without a "]" for the character: a mistake, as in a filter rule. */
static bool has_unmatched_bracket(const char *glob)
{
	for (; *glob; glob++) {
		if (*glob == '\\' && glob[1]) {
			glob++;
		} else if (*glob == '[') {
			glob += glob[1] == '!' || glob[1] == '^' ? 2 : 1;
			/* A "]" directly after that is one of the characters. */
			if (!*glob || !(glob = strchr(glob + 1, ']')))
				return true;
		}
	}
	return false;
}

int dw_xattr_rules_add(struct xattr_rules *rules, bool include, const char *glob,
		       dwarfs_error **err)
{
	struct xattr_globs *globs = include ? &rules->include : &rules->exclude;
	auto_free char *copy = dw_strdup(glob);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (*copy == '\0')
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "an empty pattern matches no attribute");
	if (has_unmatched_bracket(glob))
		return dw_fail(err, DWARFS_ERR_INVALID, "unmatched [ in the pattern");
	if ((ret = dw_grow(&globs->list, &globs->room, globs->count + 1, err)) < 0)
		return ret;
	globs->list[globs->count++] = dw_steal(copy);
	return 0;
}

static bool matches(const struct xattr_globs *globs, const char *name)
{
	for (size_t i = 0; i < globs->count; i++)
		if (fnmatch(globs->list[i], name, 0) == 0)
			return true;
	return false;
}

static bool starts_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

bool dw_xattr_rules_include(const struct xattr_rules *rules, const char *name)
{
	if (rules->drop || dw_xattr_is_generated(name))
		return false;
	if (starts_with(name, "system.") && !starts_with(name, "system.posix_acl_"))
		return false;
	if (rules->include.count > 0 && !matches(&rules->include, name))
		return false;
	return !matches(&rules->exclude, name);
}
