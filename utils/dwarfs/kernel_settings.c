/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/kernel_settings: settings of a mount outside of the FUSE protocol.
 *
 * By default the kernel reads ahead 128 KiB; more makes fewer and larger requests. The
 * mount itself is not accessed for that, since it would be busy meanwhile.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarfs/mount.h"

#define READ_AHEAD_KB 1024

/* "\040" and such are bytes. */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
					(text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* Fields of a line: number, parent, device, root, mount point. */
static bool is_mount_at(char *line, const char *path, struct mount_device *device)
{
	auto_free char *place = NULL;

	if (!strstr(line, " - fuse") ||
	    sscanf(line, "%*u %*u %u:%u %*s %ms", &device->major, &device->minor,
		   &place) != 3)
		return false;
	unescape(place);
	return strcmp(place, path) == 0;
}

bool kernel_find_mount(const char *path, struct mount_device *device_out)
{
	auto_free char *line = NULL;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	struct mount_device device;
	size_t room = 0;
	bool is_found = false;

	if (!mounts)
		return false;
	while (getline(&line, &room, mounts) > 0)
		if (is_mount_at(line, path, &device)) { /* the last one is on top */
			*device_out = device;
			is_found = true;
		}
	fclose(mounts);
	return is_found;
}

void kernel_read_ahead(const char *path)
{
	char control[64];
	struct mount_device device;
	FILE *file;

	if (geteuid() != 0 || !kernel_find_mount(path, &device))
		return;
	snprintf(control, sizeof(control), "/sys/class/bdi/%u:%u/read_ahead_kb",
		 device.major, device.minor);
	file = fopen(control, "we");
	if (!file)
		return;
	fprintf(file, "%d\n", READ_AHEAD_KB);
	fclose(file);
}
