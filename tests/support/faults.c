/* SPDX-License-Identifier: MIT */
/*
 * faults: failing system calls, and a log of the calls that write an output. To be
 * preloaded.
 *
 * DWARFS_FAULT is a list of words: "close:N" lets the Nth close of a regular file that
 * was open for writing fail, 0 each of them; "fsync:N" the Nth fsync; "openat:N" all
 * openat from the Nth on; "kill:N" ends the process instead of the Nth pwrite;
 * "end:N" ends it instead of the Nth of all calls that change files: write, pwrite, fsync,
 * link, rename, unlink, close of a written file, sharing; "enospc:N" and "eio:N" let the Nth write of a
 * regular file fail; "pread:N" the Nth pread of the byte at 100000 of any file;
 * "share" lets each file system share ranges of files, by copying them; "garble" lets it change
 * a byte of each; "clone:N" lets the Nth such call fail, 0 each of them;
 * "O_TMPFILE" refuses files without a name; "eintr" lets a signal interrupt each open
 * for writing, unless it repeats the last one. DWARFS_FAULT_LOG is a file to which a line is
 * appended for each of these calls, and for link and rename.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

/* The number after a word of DWARFS_FAULT; -1 if it is missing. */
static int fault(const char *word)
{
	const char *text = getenv("DWARFS_FAULT");
	const char *at = text ? strstr(text, word) : NULL;

	return at ? atoi(at + strlen(word)) : -1;
}

static void record(const char *line)
{
	const char *path = getenv("DWARFS_FAULT_LOG");
	FILE *log = path ? fopen(path, "ae") : NULL;

	if (!log)
		return;
	fprintf(log, "%s\n", line);
	fclose(log);
}

/* Called before each call that changes files. */
static void step(void)
{
	static atomic_int count;

	if (atomic_fetch_add(&count, 1) + 1 == fault("end:"))
		kill(getpid(), SIGKILL);
}

static int is_written_file(int fd)
{
	struct stat st;

	return fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY &&
	       fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int close(int fd)
{
	static atomic_int count;
	int written = is_written_file(fd), wanted = fault("close:");
	int fails = written && wanted >= 0;
	int number = written ? atomic_fetch_add(&count, 1) + 1 : 0;

	if (written)
		step();
	REAL(int (*)(int), "close")(fd);
	if (written)
		record("close");
	if (!fails || (wanted != 0 && wanted != number))
		return 0;
	errno = EDQUOT;
	return -1;
}

int fsync(int fd)
{
	static atomic_int count;
	struct stat st;

	step();
	record(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? "fsync directory"
							  : "fsync file");
	if (atomic_fetch_add(&count, 1) + 1 == fault("fsync:")) {
		errno = EIO;
		return -1;
	}
	return REAL(int (*)(int), "fsync")(fd);
}

static ssize_t write_at(int fd, const void *data, size_t bytes, off64_t offset)
{
	static atomic_int count;
	int number = atomic_fetch_add(&count, 1) + 1;

	step();
	if (number == fault("kill:"))
		kill(getpid(), SIGKILL);
	return REAL(ssize_t(*)(int, const void *, size_t, off64_t),
		    "pwrite64")(fd, data, bytes, offset);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	return write_at(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset)
{
	return write_at(fd, data, bytes, offset);
}

static ssize_t read_at(int fd, void *data, size_t bytes, off64_t offset)
{
	static atomic_int count;
	const off64_t at = 100000;
	int wanted = fault("pread:");

	if (wanted >= 0 && offset <= at && (off64_t)bytes > at - offset) {
		record("pread");
		if (atomic_fetch_add(&count, 1) + 1 == wanted) {
			errno = EIO;
			return -1;
		}
	}
	return REAL(ssize_t(*)(int, void *, size_t, off64_t), "pread64")(fd, data, bytes,
									 offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset)
{
	return read_at(fd, data, bytes, offset);
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset)
{
	return read_at(fd, data, bytes, offset);
}

/* Of regular files only. */
ssize_t write(int fd, const void *data, size_t bytes)
{
	static atomic_int count;
	int number;

	if (is_written_file(fd)) {
		step();
		record("write");
		number = atomic_fetch_add(&count, 1) + 1;
		if (number == fault("enospc:") || number == fault("eio:")) {
			errno = number == fault("eio:") ? EIO : ENOSPC;
			return -1;
		}
	}
	return REAL(ssize_t(*)(int, const void *, size_t), "write")(fd, data, bytes);
}

static int copy_range(int to, const struct file_clone_range *range)
{
	ssize_t (*put)(int, const void *, size_t, off64_t) =
		REAL(ssize_t(*)(int, const void *, size_t, off64_t), "pwrite64");
	char piece[4096];

	if (range->src_offset % sizeof(piece) || range->dest_offset % sizeof(piece) ||
	    range->src_length % sizeof(piece)) {
		errno = EINVAL;
		return -1;
	}
	for (unsigned long long at = 0; at < range->src_length; at += sizeof(piece)) {
		if (pread64((int)range->src_fd, piece, sizeof(piece),
			    (off64_t)(range->src_offset + at)) != sizeof(piece))
			return -1;
		if (at == 0 && fault("garble") >= 0)
			piece[1000]++;
		if (put(to, piece, sizeof(piece), (off64_t)(range->dest_offset + at)) !=
		    sizeof(piece))
			return -1;
	}
	return 0;
}

static int clone_range(int to, struct file_clone_range *range)
{
	static atomic_int count;
	int wanted = fault("clone:"), number = atomic_fetch_add(&count, 1) + 1, ret;

	step();
	if (wanted == 0 || wanted == number) {
		errno = EIO;
		return -1;
	}
	ret = fault("share") >= 0 ? copy_range(to, range)
				  : REAL(int (*)(int, unsigned long, ...),
					 "ioctl")(to, FICLONERANGE, range);
	record(ret == 0 ? "share" : "share failed");
	return ret;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return request == FICLONERANGE ? clone_range(fd, argument)
				       : REAL(int (*)(int, unsigned long, ...),
					      "ioctl")(fd, request, argument);
}

#if __WORDSIZE == 32
/* The name of ioctl() in glibc for a program whose time_t has 64 bits. */
int __ioctl_time64(int fd, unsigned long request, ...) __attribute__((alias("ioctl")));
#endif

int rename(const char *from, const char *to)
{
	step();
	record("rename");
	return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int unlink(const char *path)
{
	step();
	return REAL(int (*)(const char *), "unlink")(path);
}

int unlinkat(int dir, const char *path, int flags)
{
	step();
	return REAL(int (*)(int, const char *, int), "unlinkat")(dir, path, flags);
}

int link(const char *from, const char *to)
{
	step();
	record("link");
	return REAL(int (*)(const char *, const char *), "link")(from, to);
}

int linkat(int from_dir, const char *from, int dir, const char *to, int flags)
{
	step();
	record("link");
	return REAL(int (*)(int, const char *, int, const char *, int),
		    "linkat")(from_dir, from, dir, to, flags);
}

static mode_t mode_of(int flags, va_list arguments)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE
		       ? va_arg(arguments, mode_t)
		       : 0;
}

/* Whether a signal interrupts this open, which then opens nothing. */
static int is_interrupted(const char *path, int flags)
{
	static _Thread_local char last_path[4096];
	static _Thread_local int last_flags;

	if (fault("eintr") < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return 0;
	if (strcmp(path, last_path) == 0 && flags == last_flags)
		return 0;
	snprintf(last_path, sizeof(last_path), "%s", path);
	last_flags = flags;
	errno = EINTR;
	return 1;
}

static int open_with(const char *name, const char *path, int flags, mode_t mode)
{
	if (is_interrupted(path, flags))
		return -1;
	if ((flags & O_TMPFILE) == O_TMPFILE && fault("O_TMPFILE") >= 0) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return REAL(int (*)(const char *, int, mode_t), name)(path, flags, mode);
}

static int openat_with(const char *name, int dir, const char *path, int flags,
		       mode_t mode)
{
	static atomic_int count;
	int from = fault("openat:");

	if (is_interrupted(path, flags))
		return -1;
	if (atomic_fetch_add(&count, 1) + 1 >= from && from > 0) {
		errno = EMFILE;
		return -1;
	}
	return REAL(int (*)(int, const char *, int, mode_t), name)(dir, path, flags,
								   mode);
}

#define OPEN(name)                                                                       \
	int name(const char *path, int flags, ...)                                       \
	{                                                                                \
		va_list arguments;                                                       \
		mode_t mode;                                                             \
                                                                                         \
		va_start(arguments, flags);                                              \
		mode = mode_of(flags, arguments);                                        \
		va_end(arguments);                                                       \
		return open_with(#name, path, flags, mode);                              \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                     \
	int name(int dir, const char *path, int flags, ...)                              \
	{                                                                                \
		va_list arguments;                                                       \
		mode_t mode;                                                             \
                                                                                         \
		va_start(arguments, flags);                                              \
		mode = mode_of(flags, arguments);                                        \
		va_end(arguments);                                                       \
		return openat_with(#name, dir, path, flags, mode);                       \
	}
OPENAT(openat)
OPENAT(openat64)
