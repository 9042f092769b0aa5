/* SPDX-License-Identifier: MIT */
/*
 * damaged: damaged images must be refused, in bounded time and memory.
 *
 * damaged files      every file that fuzzing of another reader found
 * damaged crafted    files with one known defect, detected at the stage in the list
 * damaged truncated  the image unixlink, cut off at every length
 */
#include "exercise.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_EACH	20
#define RESIDENT_KB_MAX (64 * 1024)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static char current[4096];
static unsigned int number;
static unsigned int failed;

static void too_slow(int signal)
{
	(void)signal;
	if (write(1, "# hangs: ", 9) < 0 || write(1, current, strlen(current)) < 0 ||
	    write(1, "\n", 1) < 0)
		_exit(98);
	_exit(99);
}

static void result(bool good, const char *name, const char *why)
{
	number++;
	if (!good)
		failed++;
	printf("%sok %u - %s\n", good ? "" : "not ", number, name);
	if (!good)
		printf("# %s\n", why);
}

static int skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	fprintf(stderr, "%s\n", why);
	return 77;
}

static const char *data_path(const char *name)
{
	static char path[4096];
	const char *root = getenv("DWARFS_TEST_DATA");

	snprintf(path, sizeof(path), "%s/%s", root ? root : ".", name);
	return path;
}

/* Exercise a file of the system with a time limit. */
static void exercise_file(const char *path, struct outcome *outcome)
{
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	snprintf(current, sizeof(current), "%s", path);
	alarm(SECONDS_EACH);
	if (dwarfs_io_open(path, &io, &err) < 0) {
		fprintf(stderr, "%s: %s\n", path, dwarfs_error_message(err));
		exit(99);
	}
	exercise(io, outcome);
	dwarfs_io_free(io);
	alarm(0);
}

static void resident_memory(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	char why[128];
	long kb = -1;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
			break;
	}
	if (status)
		fclose(status);
	if (SANITIZED || kb < 0) {
		number++;
		printf("ok %u - resident memory # SKIP a sanitizer's memory is not ours\n",
		       number);
		return;
	}
	snprintf(why, sizeof(why), "%ld KiB at the peak", kb);
	printf("# %s\n", why);
	result(kb < RESIDENT_KB_MAX, "resident memory stays under 64 MiB", why);
}

static int every_file(void)
{
	char directory[4096];
	struct dirent *item;
	struct outcome outcome;
	char path[8192];
	DIR *folder;

	snprintf(directory, sizeof(directory), "%s", data_path("badfs/files"));
	folder = opendir(directory);
	if (!folder)
		return skip("no test data: set DWARFS_TEST_DATA");
	while ((item = readdir(folder))) {
		if (item->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, item->d_name);
		exercise_file(path, &outcome);
		result(outcome_is_bad(&outcome), item->d_name, "no error was found");
	}
	closedir(folder);
	return 0;
}

static const char *judge(const char *detected_by, const struct outcome *outcome)
{
	if (strcmp(detected_by, "open") == 0)
		return outcome->open < 0 ? NULL : "it opens";
	if (strcmp(detected_by, "check") == 0)
		return outcome->open < 0 || outcome->structure > 0
			       ? NULL
			       : "the check finds nothing";
	if (strcmp(detected_by, "data") == 0) {
		if (outcome->open < 0)
			return NULL;
		if (outcome->integrity == 0)
			return "the full check finds nothing";
		return outcome->reads > 0 ? NULL : "every file can be read";
	}
	if (strcmp(detected_by, "integrity") == 0) {
		if (outcome->open < 0 || outcome->structure > 0 ||
		    outcome->checksums > 0 || outcome->reads > 0)
			return "more than the integrity check fails";
		return outcome->integrity > 0 ? NULL
					      : "the integrity check finds nothing";
	}
	return "unknown word in the list";
}

static int every_crafted_file(void)
{
	FILE *list = fopen(data_path("badfs/crafted.tsv"), "r");
	struct outcome outcome;
	char line[1024];

	if (!list)
		return skip("no test data: set DWARFS_TEST_DATA");
	if (!fgets(line, sizeof(line), list)) /* the header */
		exit(99);
	while (fgets(line, sizeof(line), list)) {
		char name[256];
		char detected_by[64];
		char path[512];
		const char *why;

		if (sscanf(line, "%255s %*s %*s %63s", name, detected_by) != 2)
			exit(99);
		snprintf(path, sizeof(path), "badfs/crafted/%s", name);
		exercise_file(data_path(path), &outcome);
		why = judge(detected_by, &outcome);
		result(!why, name, why ? why : "");
	}
	fclose(list);
	return 0;
}

/* The bytes are copied to a block of exactly their size, so that a sanitizer detects
 * accesses beyond it. */
static int every_truncation(void)
{
	FILE *file = fopen(data_path("images/unixlink.dwarfs"), "rb");
	unsigned int opened = 0;
	unsigned char *whole;
	struct outcome outcome;
	char why[64];
	long size;
	long length;

	if (!file)
		return skip("no test data: set DWARFS_TEST_DATA");
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	whole = malloc((size_t)size);
	if (!whole || fread(whole, 1, (size_t)size, file) != (size_t)size)
		exit(99);
	fclose(file);
	for (length = 0; length <= size; length++) {
		unsigned char *part = malloc((size_t)length + (length == 0));
		dwarfs_io *io = NULL;

		if (!part || dwarfs_io_from_memory(part, (size_t)length, NULL, NULL, &io,
						   NULL) < 0)
			exit(99);
		memcpy(part, whole, (size_t)length);
		snprintf(current, sizeof(current), "unixlink, %ld bytes", length);
		alarm(SECONDS_EACH);
		exercise(io, &outcome);
		alarm(0);
		dwarfs_io_free(io);
		free(part);
		if (length < size && outcome.open == 0) {
			opened++;
			printf("# opens with %ld of %ld bytes\n", length, size);
		}
	}
	free(whole);
	snprintf(why, sizeof(why), "%u lengths were accepted", opened);
	result(opened == 0, "every truncation is refused", why);
	result(!outcome_is_bad(&outcome), "the whole is not",
	       "the whole image was refused");
	return 0;
}

int main(int argc, char **argv)
{
	int ret = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, too_slow);
	if (argc == 2 && strcmp(argv[1], "files") == 0)
		ret = every_file();
	else if (argc == 2 && strcmp(argv[1], "crafted") == 0)
		ret = every_crafted_file();
	else if (argc == 2 && strcmp(argv[1], "truncated") == 0)
		ret = every_truncation();
	else
		ret = 2;
	if (ret != 0)
		return ret;
	resident_memory();
	printf("1..%u\n", number);
	return failed != 0;
}
