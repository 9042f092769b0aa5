/* SPDX-License-Identifier: MIT */
/*
 * base/machine/control_group: control groups of version 1 and 2, see cgroups(7).
 *
 * A process is in one group of each hierarchy. /proc/self/cgroup has a line for each, with the
 * controllers of the hierarchy and the path of the group: "4:cpu,cpuacct:/a/b" for version 1, and
 * "0::/a/b" for version 2, which has all controllers. Groups are directories with a file for each
 * limit. A limit also applies to all groups below: the lowest one counts.
 *
 * Hierarchies are expected where systems mount them: version 2 at /sys/fs/cgroup, one of
 * version 1 in a directory there with the name of its controller. In a container the root
 * of the mounted hierarchy may be the group of the container, while the path starts at
 * the root of the host: groups without a directory have no limit.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine/control_group.h"

#define MOUNT "/sys/fs/cgroup"

/* Of /proc/self/cgroup: the lines of all hierarchies take about 1 KiB in a container. */
#define TEXT_BYTES 8192

/* Of a file with a limit. */
#define LIMIT_BYTES 64

/* Applies the limits of the group in a directory. */
typedef void group_fn(const char *directory, struct control_group_limits *limits);

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool read_limit(const char *directory, const char *name, char text[LIMIT_BYTES])
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", directory, name);

	return length < (int)sizeof(path) && read_text(path, text, LIMIT_BYTES);
}

/* -- limits of a group --------------------------------------------------------------- */

/* "max", -1 or 0 is no quota; a period of 0 does not occur. */
static void limit_processors(struct control_group_limits *limits, const char *quota,
			     const char *period)
{
	long long used = strtoll(quota, NULL, 10), of = strtoll(period, NULL, 10);
	long long count;

	if (used <= 0 || of <= 0)
		return;
	count = used / of + (used % of != 0);
	if (count < limits->processors)
		limits->processors = (uint32_t)count;
}

/* "max" is no limit, nor is a number of version 1 that is larger than all memory. */
static void limit_memory(struct control_group_limits *limits, const char *text)
{
	unsigned long long bytes = strtoull(text, NULL, 10);

	if (bytes > 0 && bytes < limits->memory_bytes)
		limits->memory_bytes = bytes;
}

static void apply_unified(const char *directory, struct control_group_limits *limits)
{
	char text[LIMIT_BYTES];
	const char *period;

	if (read_limit(directory, "cpu.max", text) && (period = strchr(text, ' ')))
		limit_processors(limits, text, period);
	if (read_limit(directory, "memory.max", text))
		limit_memory(limits, text);
}

static void apply_cpu(const char *directory, struct control_group_limits *limits)
{
	char quota[LIMIT_BYTES], period[LIMIT_BYTES];

	if (read_limit(directory, "cpu.cfs_quota_us", quota) &&
	    read_limit(directory, "cpu.cfs_period_us", period))
		limit_processors(limits, quota, period);
}

static void apply_memory(const char *directory, struct control_group_limits *limits)
{
	char text[LIMIT_BYTES];

	if (read_limit(directory, "memory.limit_in_bytes", text))
		limit_memory(limits, text);
}

/* -- groups -------------------------------------------------------------------------- */

/* For a group, by its path from the root of the hierarchy, and all groups above it. */
static void apply_groups(const char *mount, const char *group, group_fn *apply,
			 struct control_group_limits *limits)
{
	size_t mount_length = strlen(mount);
	char path[PATH_MAX];
	char *slash;

	/* The path of a group outside of what can be seen starts with "/..". */
	if (strcmp(group, "/..") == 0 || strncmp(group, "/../", 4) == 0 ||
	    strcmp(group, "/") == 0)
		group = "";
	if (snprintf(path, sizeof(path), "%s%s", mount, group) >= (int)sizeof(path))
		return;
	for (;;) {
		apply(path, limits);
		slash = strrchr(path + mount_length, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

/* Whether a name is in a list with commas. */
static bool lists(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, name, length) == 0 &&
		    (list[length] == ',' || list[length] == '\0'))
			return true;
	}
	return false;
}

/* A line: number, controllers and path, with colons between them. */
static void apply_line(const char *root, char *line, struct control_group_limits *limits)
{
	static const struct {
		const char *controller; /* "" for version 2 */
		const char *mount;
		group_fn *apply;
	} hierarchies[] = {
		{ "", MOUNT, apply_unified },
		{ "cpu", MOUNT "/cpu", apply_cpu },
		{ "memory", MOUNT "/memory", apply_memory },
	};
	char *controllers = strchr(line, ':'), *group;
	char mount[PATH_MAX];

	if (!controllers || !(group = strchr(controllers + 1, ':')))
		return;
	*group++ = '\0';
	controllers++;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		if (!lists(controllers, hierarchies[i].controller) ||
		    snprintf(mount, sizeof(mount), "%s%s", root, hierarchies[i].mount) >=
			    (int)sizeof(mount))
			continue;
		apply_groups(mount, group, hierarchies[i].apply, limits);
	}
}

void dw_control_group_limits(const char *root, struct control_group_limits *limits_out)
{
	char path[PATH_MAX], text[TEXT_BYTES];
	char *line = text, *end;

	*limits_out = (struct control_group_limits){ UINT32_MAX, UINT64_MAX };
	if (snprintf(path, sizeof(path), "%s/proc/self/cgroup", root) >=
		    (int)sizeof(path) ||
	    !read_text(path, text, sizeof(text)))
		return;
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		apply_line(root, line, limits_out);
	}
}
