/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/background: go on in a process of its own.
 *
 * The process is split before the image is opened, so that threads, locked memory and the
 * mount belong to the one that stays. Until the session with the kernel has begun, it has the
 * terminal, for messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dwarfs/mount.h"

/* The parent: ends when the child says that it is ready, otherwise returns its exit code. It ends
 * without the destructors of all libraries, which take 0.1 ms: nothing is buffered. */
static int wait_for(pid_t child, int from)
{
	char byte;
	ssize_t got;
	int status;

	do
		got = read(from, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1)
		_exit(0);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status); /* after printing why */
	return tool_error("the driver ended before the first request");
}

/* Close what the caller has left open, such as a lock, unless the arguments name it. */
static void close_inherited(const struct command *command, int pipe)
{
	struct descriptors keep = { .count = 0 };

	descriptors_keep(&keep, pipe);
	descriptors_keep_path(&keep, command->fuse.mountpoint);
	descriptors_keep_path(&keep, command->settings.image);
	descriptors_keep_path(&keep, command->settings.analysis_file);
	descriptors_keep_path(&keep, command->settings.perfmon_trace);
	descriptors_close(&keep);
}

bool background_start(const struct command *command, int *pipe_out, int *code_out)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
		*code_out = tool_error("going into the background: %s", strerror(errno));
		return true;
	}
	if (child > 0) {
		close(ends[1]);
		*code_out = wait_for(child, ends[0]);
		return true;
	}
	close_inherited(command, ends[1]);
	*pipe_out = ends[1];
	return false;
}

int background_ready(int pipe)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || chdir("/") != 0)
		return tool_error("going into the background: %s", strerror(errno));
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close(null);
	/* The parent may have been killed: that ends nothing here. */
	(void)!write(pipe, "", 1);
	close(pipe);
	return 0;
}
