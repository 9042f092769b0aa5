/* SPDX-License-Identifier: MIT */
/*
 * fuzz_filter: filter rules and paths to match, one a line; rules are first, and the
 * paths begin with the first line that is not a rule.
 *
 * Rules that name files are left out, as they would read from the system.
 */
#include <string.h>

#include "write/options/filter.h"

#include "fuzz.h"

static void match(const struct filter *filter, const char *path)
{
	size_t length = strlen(path);
	bool as_file = dw_filter_includes(filter, path, length, false);

	/* Matching does not change the filter. */
	fuzz_require(dw_filter_includes(filter, path, length, false) == as_file);
	dw_filter_includes(filter, path, length, true);
}

static bool add(struct filter *filter, const char *rule)
{
	dwarfs_error *err = NULL;
	int ret;

	if (rule[strspn(rule, " \t")] == '.')
		return true;
	ret = dw_filter_add(filter, rule, &err);
	fuzz_require((ret < 0) == (err != NULL));
	if (ret < 0)
		fuzz_use(dwarfs_error_message(err), strlen(dwarfs_error_message(err)));
	dwarfs_error_free(err);
	return ret == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct filter *filter = NULL;
	char *text = dw_strndup((const char *)data, size), *rest = text, *line;
	bool are_rules = true;

	if (!text || dw_filter_new(&filter, NULL) < 0) {
		dw_free(text);
		return 0;
	}
	while ((line = strsep(&rest, "\n")) != NULL) {
		are_rules = are_rules && add(filter, line);
		if (!are_rules)
			match(filter, line);
	}
	dw_filter_free(filter);
	dw_free(text);
	return 0;
}
