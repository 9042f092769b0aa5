/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/io_uring: requests of the kernel by io_uring instead of reads from /dev/fuse.
 *
 * Each CPU has a queue, and a thread of libfuse that runs there: a request is served on the CPU
 * of the process that made it, and its reply and the wait for the next request are one system
 * call. The kernel (6.14 and later) offers it if its parameter fuse.enable_uring is set, and
 * libfuse has it since 3.18. Some requests are read from the device all the same, such as the
 * first one, in which both sides agree.
 */
#include <stdatomic.h>
#include <string.h>

#include "dwarfs/mount.h"

#ifdef FUSE_CAP_OVER_IO_URING
#define CAP_IO_URING ((unsigned)FUSE_CAP_OVER_IO_URING)
#else
#define CAP_IO_URING 0U
#endif

static atomic_bool has_failed;

static int refuse(const char *why)
{
	return tool_error("-o io_uring=on: %s", why);
}

int io_uring_add_option(struct fuse_args *args, int mode)
{
	if (mode == IO_URING_OFF)
		return 0;
	if (CAP_IO_URING == 0)
		return mode == IO_URING_ON ? refuse("this libfuse does not have it") : 0;
	if (fuse_opt_add_arg(args, "-o") != 0 || fuse_opt_add_arg(args, "io_uring") != 0)
		return tool_error("out of memory");
	return 0;
}

bool io_uring_agree(struct fuse_conn_info *connection, int mode)
{
	/* It could be enabled by the environment, too, which is libfuse's. */
	if (mode == IO_URING_OFF)
		connection->want &= ~CAP_IO_URING;
	return (connection->want & CAP_IO_URING) != 0;
}

bool io_uring_take_message(const char *format)
{
	if (!strstr(format, "failed to start io-uring"))
		return false;
	atomic_store(&has_failed, true);
	return true;
}

bool io_uring_has_failed(void)
{
	return atomic_load(&has_failed);
}

int io_uring_check(int mode, bool is_agreed)
{
	if (mode != IO_URING_ON)
		return 0;
	if (!is_agreed)
		return refuse("the kernel does not offer it: it is Linux 6.14 or later, "
			      "with its parameter fuse.enable_uring set");
	return io_uring_has_failed() ? refuse("it cannot be started") : 0;
}

bool io_uring_made(fuse_req_t req)
{
#ifdef FUSE_CAP_OVER_IO_URING
	return fuse_req_is_uring(req);
#else
	(void)req;
	return false;
#endif
}
