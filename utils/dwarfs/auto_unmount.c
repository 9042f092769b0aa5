/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/auto_unmount: remove the mount of a driver that was killed (auto_unmount).
 *
 * A process of its own, split off before there are threads, waits for the other end of a
 * pipe to be closed, which happens however the driver ends. fusermount3 offers the same,
 * but decides by counting mounts, and so can be wrong when others mount meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dwarfs/mount.h"

/* Let go of the terminal, and of all that would keep others waiting. */
static bool detach(int pipe)
{
	struct descriptors keep = { .count = 0 };
	sigset_t all;
	int null = open("/dev/null", O_RDWR);

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (null < 0 || setsid() < 0 || chdir("/") != 0)
		return false;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	descriptors_keep(&keep, pipe);
	descriptors_close(&keep);
	return true;
}

/* Read until the end: false when nothing was ever mounted. */
static bool wait_for_end(int from, struct mount_device *device)
{
	struct mount_device told;
	bool is_told = false;
	ssize_t got;

	for (;;) {
		got = read(from, &told, sizeof(told));
		if (got == (ssize_t)sizeof(told)) {
			*device = told;
			is_told = true;
		} else if (got == 0 || errno != EINTR) {
			return is_told;
		}
	}
}

static void unmount(const char *path)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
		execlp("fusermount3", "fusermount3", "-u", "-q", "-z", "--", path,
		       (char *)NULL);
}

static void watch(int from, const char *path)
{
	struct mount_device device = { 0 }, found = { 0 };

	if (detach(from) && wait_for_end(from, &device) &&
	    kernel_find_mount(path, &found) && found.major == device.major &&
	    found.minor == device.minor)
		unmount(path);
	_exit(0);
}

int guard_start(struct guard *guard, const char *path)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0 || (guard->process = fork()) < 0)
		return tool_error("-o auto_unmount: %s", strerror(errno));
	if (guard->process == 0) {
		close(ends[1]);
		watch(ends[0], path);
	}
	close(ends[0]);
	guard->pipe = ends[1];
	guard->path = path;
	return 0;
}

int guard_mounted(const struct guard *guard)
{
	struct mount_device device;

	if (guard->pipe < 0)
		return 0;
	if (!kernel_find_mount(guard->path, &device))
		return tool_error("-o auto_unmount: '%s' is not in /proc/self/mountinfo",
				  guard->path);
	if (write(guard->pipe, &device, sizeof(device)) != (ssize_t)sizeof(device))
		return tool_error("-o auto_unmount: %s", strerror(errno));
	return 0;
}

void guard_end(struct guard *guard)
{
	if (guard->pipe < 0)
		return;
	close(guard->pipe);
	while (waitpid(guard->process, NULL, 0) < 0 && errno == EINTR)
		;
}
