/* SPDX-License-Identifier: MIT */
/*
 * peak_memory PROGRAM ARGUMENT...: run a program, and print the peak of its memory in KiB, as the
 * kernel counts it, to standard output. Exits as the program does, or with 255.
 *
 * A process of its own, as the peak of a child includes that of its parent when it starts. This one
 * needs less than any program that is measured, and starts in a tenth of the time of an interpreter.
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
	struct rusage usage;
	pid_t child;
	int status;

	if (argc < 2 ||
	    posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ) != 0 ||
	    wait4(child, &status, 0, &usage) != child)
		return 255;
	printf("%ld\n", usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
