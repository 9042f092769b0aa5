/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/dwarfs: mount an image.
 *
 * Parses the command line (options.c), starts a background process (background.c), opens
 * the image, mounts it, and serves requests until it is unmounted or a signal arrives
 * (operations.c, file_contents.c, xattr.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarfs/affinity.h"
#include "dwarfs/mount.h"

static const char usage_text[] =
	"usage: dwarfs IMAGE MOUNTPOINT [options]\n"
	"       dwarfs --auto-mountpoint IMAGE [options]\n"
	"\n"
	"    -f                      stay in the foreground\n"
	"    -d                      print every request, in the foreground\n"
	"    -s                      answer one request at a time\n"
	"    -h, --help              print this text\n"
	"    --man                   show the manual page\n"
	"    -V, --version           print the version\n"
	"    --auto-mountpoint       mount at the path of the image without its extension\n";

static const char usage_end[] =
	"\n"
	"Unmount with: fusermount3 -u MOUNTPOINT, or umount MOUNTPOINT\n";

static void print_mount_usage(void)
{
	fputs(usage_text, stdout);
	mount_options_print(stdout);
	fputs(usage_end, stdout);
}

/* -- the image ----------------------------------------------------------------------- */

/* Open the image as the settings say; NULL after printing why not. */
static dwarfs_image *open_image_to_mount(const struct settings *settings)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_image) *image = NULL;
	auto_handle(dwarfs_image_options) *how = NULL;
	auto_handle(dwarfs_context) *context =
		tool_context_new(settings->workers, settings->cache_bytes);
	dwarfs_image *opened;
	int ret;

	if (!context)
		return NULL;
	if (dwarfs_context_set_finish_percent(context, settings->finish_percent, &err) <
		    0 ||
	    dwarfs_context_set_timing(context, settings->perfmon >> PERF_CACHE & 1,
				      &err) < 0 ||
	    dwarfs_image_options_new(&how, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(how, settings->offset);
	dwarfs_image_options_set_bytes(how, settings->image_bytes);
	dwarfs_image_options_set_verify(how, settings->verify);
	dwarfs_image_options_set_mapped(how, settings->mapped);
	if ((ret = dwarfs_image_open(context, settings->image, how, &image, &err)) < 0) {
		/* The data after the end is taken as a section. */
		if (ret == DWARFS_ERR_CORRUPT &&
		    settings->image_bytes == DWARFS_SIZE_AUTO)
			tool_error("%s; if the image ends before the file, give its size "
				   "with -o imagesize",
				   dwarfs_error_message(err));
		else
			tool_fail(err, NULL);
		return NULL;
	}
	if (settings->lock != LOCK_NONE && dwarfs_image_lock_metadata(image, &err) < 0) {
		if (settings->lock == LOCK_MUST) {
			tool_fail(err, "-o mlock=must");
			return NULL;
		}
		tool_log(DWARFS_LOG_WARN, "-o mlock=try: %s", dwarfs_error_message(err));
	}
	opened = image;
	image = NULL;
	return opened;
}

/* The files that are written must not be the image. */
static int check_written(const struct settings *settings)
{
	if (settings->perfmon_trace &&
	    tool_is_same_file(settings->perfmon_trace, settings->image))
		return tool_error("-o perfmon_trace: '%s' is the image itself",
				  settings->perfmon_trace);
	if (settings->analysis_file &&
	    tool_is_same_file(settings->analysis_file, settings->image))
		return tool_error("-o analysis_file: '%s' is the image itself",
				  settings->analysis_file);
	return 0;
}

/* Apply the remaining settings; 0, or 1 after printing an error. */
static int prepare(struct mounted *mounted)
{
	const struct settings *settings = mounted->settings;

	return check_written(settings) ||
	       affinity_new(settings->affinity, &mounted->affinity) ||
	       requests_new(&mounted->requests) || files_new(&mounted->files) ||
	       ahead_new(mounted, &mounted->ahead) ||
	       (settings->fold && folded_new(mounted->image, &mounted->folded)) ||
	       (settings->perfmon &&
		perfmon_new(settings->perfmon, settings->perfmon_trace,
			    &mounted->perfmon)) ||
	       (settings->analysis_file &&
		opened_new(mounted->image, settings->analysis_file, &mounted->opened));
}

static void finish_mount(struct mounted *mounted)
{
	ahead_free(mounted->ahead);
	files_free(mounted->files);
	folded_free(mounted->folded);
	opened_finish(mounted->opened);
	perfmon_free(mounted->perfmon);
	affinity_free(mounted->affinity);
	requests_free(mounted->requests);
}

/* -- the session --------------------------------------------------------------------- */

/* Add "-o text" followed by value, with its commas escaped. */
static int add_option(struct fuse_args *args, const char *text, const char *value)
{
	auto_free char *plain = NULL;
	auto_free char *escaped = NULL;

	if (asprintf(&plain, "%s%s", text, value) < 0) {
		plain = NULL;
		return -1;
	}
	if (fuse_opt_add_opt_escaped(&escaped, plain) != 0 ||
	    fuse_opt_add_arg(args, "-o") != 0 || fuse_opt_add_arg(args, escaped) != 0)
		return -1;
	return 0;
}

static int add_mount_options(struct fuse_args *args, const struct command *command)
{
	const char *image = command->settings.image;
	const uint64_t max_read = command->settings.max_read_bytes;
	auto_free char *source = realpath(image, NULL);
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, max_read);
	if ((!command->has_fsname &&
	     add_option(args, "fsname=", source ? source : image) != 0) ||
	    (!command->has_subtype && add_option(args, "subtype=", "dwarfs") != 0) ||
	    (max_read && add_option(args, "max_read=", number) != 0) ||
	    add_option(args, "default_permissions", "") != 0 ||
	    add_option(args, "ro", "") != 0)
		return tool_error("out of memory");
	return io_uring_add_option(args, command->settings.io_uring);
}

/*
 * libfuse tries to start one more thread whenever all are busy, and says each time that
 * it cannot: once is enough.
 */
static void take_message(enum fuse_log_level level, const char *format, va_list arguments)
{
	static atomic_bool is_told;

	(void)level;
	if (strstr(format, "error creating thread")) {
		if (!atomic_exchange(&is_told, true))
			tool_log(DWARFS_LOG_WARN, "the system has no more threads to "
						  "give: going on with fewer");
		return;
	}
	if (!io_uring_take_message(format))
		vfprintf(stderr, format, arguments);
}

static int serve_by_threads(struct fuse_session *session, const struct command *command)
{
	const struct settings *settings = &command->settings;
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int ret;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, (unsigned)command->fuse.clone_fd);
	/* A setting that was not given has its maximum, and libfuse's default is kept. */
	if (settings->max_idle_threads != UINT_MAX)
		fuse_loop_cfg_set_idle_threads(config,
					       (unsigned)settings->max_idle_threads);
	if (settings->max_threads != UINT_MAX)
		fuse_loop_cfg_set_max_threads(config, (unsigned)settings->max_threads);
	ret = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return ret;
}

/* Of libfuse. */
#define DEFAULT_MOST_THREADS 10

static unsigned most_threads(const struct command *command)
{
	const uint64_t most = command->settings.max_threads;

	if (command->fuse.singlethread)
		return 1;
	return most == UINT_MAX ? DEFAULT_MOST_THREADS : (unsigned)most;
}

/* Whether the thread that receives requests may poll. A device for each thread, and io_uring,
 * are of libfuse's own loop. */
static bool may_poll(const struct command *command, const struct mounted *mounted)
{
	const int mode = command->settings.busy_poll;

	if (command->fuse.clone_fd || mounted->agrees_on_io_uring)
		return false;
	return mode == BUSY_POLL_ON ||
	       (mode == BUSY_POLL_AUTO && dwarfs_usable_processors() > 1);
}

static void set_read_ahead(const void *argument)
{
	const struct command *command = argument;

	if (command->settings.cache_files)
		kernel_read_ahead(command->fuse.mountpoint);
}

/*
 * Answer requests until the end: 0, or 1 after printing why it ended badly. libfuse's own loop
 * also returns REQUEST_LOOP_NOT_STARTED if it could start none.
 */
static int serve(struct fuse_session *session, const struct command *command,
		 const struct mounted *mounted)
{
	int ret = REQUEST_LOOP_NOT_STARTED;

	if (may_poll(command, mounted)) {
		ret = request_loop_run(session, mounted, most_threads(command),
				       set_read_ahead, command);
	} else if (!command->fuse.singlethread) {
		set_read_ahead(command);
		ret = serve_by_threads(session, command);
	}
	if (ret == REQUEST_LOOP_NOT_STARTED) {
		set_read_ahead(command);
		ret = fuse_session_loop(session);
	}
	/* Above 0 it is the signal that asked for the end. */
	return ret < 0 ? tool_error("serving requests: %s", strerror(-ret)) : 0;
}

/*
 * Answer the first request, by which the kernel and libfuse agree on the settings of the
 * session: it can fail, and then the mount is lost. 0, or 1 after printing an error;
 * libfuse prints why the session ended.
 */
static int answer_init(struct fuse_session *session)
{
	struct fuse_buf request = { .mem = NULL };
	int ret;

	do
		ret = fuse_session_receive_buf(session, &request);
	while (ret == -EINTR && !fuse_session_exited(session));
	if (ret > 0)
		fuse_session_process_buf(session, &request);
	free(request.mem);
	if (ret < 0 && !fuse_session_exited(session))
		return tool_error("starting the session: %s", strerror(-ret));
	return 0;
}

/* Before the mount, which may cover the directory of libraries that are otherwise loaded when they are
 * needed. FLAC is for audio. */
static void load_libraries(const dwarfs_image *image)
{
	const char *name;

	for (size_t i = 0; (name = dwarfs_image_category(image, i)); i++)
		if (strncmp(name, "pcmaudio/", 9) == 0) {
			(void)dwarfs_has_codec("flac");
			return;
		}
}

/* Mount, and notify the parent; background is -1 in the foreground. */
static int mount_and_serve(struct fuse_args *args, const struct command *command,
			   struct mounted *mounted, const struct guard *guard,
			   int background)
{
	struct fuse_session *session =
		fuse_session_new(args, &dwarfs_ops, sizeof(dwarfs_ops), mounted);
	int code = 1;

	if (!session)
		return EXIT_BAD_OPTION; /* libfuse said why */
	fuse_set_log_func(take_message);
	load_libraries(mounted->image);
	if (fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, command->fuse.mountpoint) == 0) {
			ahead_start(mounted->ahead); /* warns if it has no threads */
			/* All is open: the change of directory does no harm. */
			if (answer_init(session) == 0 &&
			    io_uring_check(command->settings.io_uring,
					   mounted->agrees_on_io_uring) == 0 &&
			    guard_mounted(guard) == 0 &&
			    (background < 0 || fuse_session_exited(session) ||
			     background_ready(background) == 0)) {
				code = serve(session, command, mounted);
			} else { /* this ends the threads of io_uring, too */
				fuse_session_exit(session);
				(void)fuse_session_loop(session);
			}
			fuse_session_unmount(session);
		} else {
			code = EXIT_BAD_MOUNT_POINT; /* libfuse said why */
		}
		fuse_remove_signal_handlers(session);
	}
	/* No requests arrive any more, but the threads may still be working. */
	fuse_session_destroy(session);
	return code;
}

/* -- main ---------------------------------------------------------------------------- */

#define ARENAS 2
/* Allocations of this size and more are returned to the system when they are freed. */
#define LARGE_BYTES (3 << 20)
/* Unused bytes that an arena may keep. */
#define UNUSED_BYTES (6 << 20)

/*
 * By default malloc has an arena for each thread and keeps freed memory, up to 64 MiB in
 * each. Here the cache keeps memory, within its budget.
 */
static void keep_little(void)
{
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, UNUSED_BYTES);
#endif
}

static int run_mounted(struct fuse_args *args, const struct command *command,
		       const struct guard *guard, int background)
{
	auto_handle(dwarfs_image) *image = open_image_to_mount(&command->settings);
	struct mounted mounted = {
		.settings = &command->settings,
		.image = image,
	};
	int code;

	if (!image)
		return 1;
	mounted.keep_sparse = files_keep_sparse(&command->settings, image);
	code = prepare(&mounted);
	if (code == 0)
		code = mount_and_serve(args, command, &mounted, guard, background);
	finish_mount(&mounted);
	return code;
}

static int run_mount(struct fuse_args *args, struct command *command)
{
	struct settings *settings = &command->settings;
	bool foreground;
	int background = -1, code;
	struct guard guard = { .pipe = -1 };

	code = command_parse(command, args);
	if (code != 0)
		return code;
	if (command->man)
		return tool_show_man();
	if (command->fuse.show_help) {
		print_mount_usage();
		return tool_finish(0);
	}
	if (command->fuse.show_version) {
		tool_print_version();
		printf("libfuse %s\n", fuse_pkgversion());
		return tool_finish(0);
	}
	if (command->fake)
		return 0;
	foreground = command->fuse.foreground;
	if (settings->log_level < 0)
		settings->log_level = foreground ? DWARFS_LOG_INFO : DWARFS_LOG_WARN;
	tool_set_log_level(settings->log_level);
	if (add_mount_options(args, command) != 0)
		return 1;
	if (!foreground && background_start(command, &background, &code)) {
		/* The directory is the child's now, or was removed by it. */
		free(command->made_mount_point);
		command->made_mount_point = NULL;
		return code;
	}
	if (settings->auto_unmount && guard_start(&guard, command->fuse.mountpoint) != 0)
		return 1;
	code = run_mounted(args, command, &guard, background);
	guard_end(&guard);
	return code;
}

/*
 * The standard descriptors may be closed; then the image or the connection to the kernel
 * would get their numbers, and lose them when this program goes into the background.
 */
static int fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return errno;
	return 0;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct command command = { 0 };
	int code = 0, failure = fill_standard_descriptors();

	keep_little();
	tool_start_without_locale("dwarfs");
	if (failure)
		return tool_error("/dev/null: %s", strerror(failure));
	if (argc <= 1) {
		print_mount_usage();
		tool_finish(0);
		return 1;
	}
	for (int i = 0; i < argc && code == 0; i++)
		if (fuse_opt_add_arg(&args, argv[i]) != 0)
			code = 1;
	if (code == 0)
		code = run_mount(&args, &command);
	/* As mount(8) has it: the mount failed. */
	if (code != 0 && command.is_helper)
		code = 32;
	command_free(&command);
	fuse_opt_free_args(&args);
	return code;
}
