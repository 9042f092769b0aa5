/* SPDX-License-Identifier: MIT */
/*
 * dwarfs: mount an image.
 *
 * Takes a command line as mount programs have it, opens the image, mounts it, goes into
 * the background and answers the kernel until the file system is unmounted or a signal
 * ends it. What the kernel asks is answered in dwarfs_ops.c.
 */
#include "dwarfs_ops.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_BLOCK_BYTES (UINT64_C(512) << 10)

struct options {
	char *image, *cache_size, *block_size, *offset, *image_size, *uid, *gid, *level;
	int readonly, no_cache_files, cache_sparse, man;
	bool has_fsname, has_subtype, bad;
};

enum { KEY_UNSUPPORTED, KEY_IGNORED, KEY_FSNAME, KEY_SUBTYPE };

#define VALUE(text, member)                                                              \
	{                                                                                \
		text, offsetof(struct options, member), 0                                \
	}
#define SWITCH(text, member, value)                                                      \
	{                                                                                \
		text, offsetof(struct options, member), value                            \
	}

static const struct fuse_opt option_table[] = {
	VALUE("cachesize=%s", cache_size),
	VALUE("blocksize=%s", block_size),
	VALUE("offset=%s", offset),
	VALUE("imagesize=%s", image_size),
	VALUE("uid=%s", uid),
	VALUE("gid=%s", gid),
	VALUE("debuglevel=%s", level),
	SWITCH("readonly", readonly, 1),
	SWITCH("cache_files", no_cache_files, 0),
	SWITCH("no_cache_files", no_cache_files, 1),
	SWITCH("cache_sparse", cache_sparse, 1),
	SWITCH("no_cache_sparse", cache_sparse, 0),
	FUSE_OPT_KEY("enable_nlink", KEY_IGNORED),
	FUSE_OPT_KEY("cache_image", KEY_IGNORED),
	FUSE_OPT_KEY("no_cache_image", KEY_IGNORED),
	FUSE_OPT_KEY("fsname=", KEY_FSNAME),
	FUSE_OPT_KEY("subtype=", KEY_SUBTYPE),
	FUSE_OPT_KEY("readahead=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("workers=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("mlock=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("decratio=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("case_insensitive", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("preload_category=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("preload_all", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("analysis_file=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("tidy_strategy=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("tidy_interval=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("tidy_max_age=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("block_allocator=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("seq_detector=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("perfmon=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("perfmon_trace=", KEY_UNSUPPORTED),
	FUSE_OPT_KEY("--auto-mountpoint", KEY_UNSUPPORTED),
	SWITCH("--man", man, 1),
	FUSE_OPT_END,
};

static const char usage_text[] =
	"usage: dwarfs IMAGE MOUNTPOINT [options]\n"
	"\n"
	"    -f                    stay in the foreground\n"
	"    -d                    print every request, in the foreground\n"
	"    -s                    answer one request at a time\n"
	"    -h, --help            print this text\n"
	"    --man                 show the manual page\n"
	"    -V, --version         print the version\n"
	"    -o cachesize=SIZE     decoded blocks to keep in memory (512m)\n"
	"    -o blocksize=SIZE     preferred size of reads, st_blksize (512k)\n"
	"    -o offset=N|auto      where the image starts in its file (0)\n"
	"    -o imagesize=N        size of the image (to the end of the file)\n"
	"    -o uid=N, -o gid=N    owner and group of everything (as in the image)\n"
	"    -o readonly           show no write permissions\n"
	"    -o (no_)cache_files   let the kernel cache contents, or not (on)\n"
	"    -o (no_)cache_sparse  also of files with holes, or not (off)\n"
	"    -o debuglevel=LEVEL   fatal, error, warn, info, verbose, debug or trace\n"
	"                          (info in the foreground, else warn)\n"
	"    -o allow_other, -o allow_root, -o auto_unmount, -o clone_fd,\n"
	"    -o max_threads=N, -o max_idle_threads=N\n"
	"                          as for every FUSE file system\n"
	"\n"
	"Unmount with: fusermount3 -u MOUNTPOINT, or umount MOUNTPOINT\n";

/* -- options ------------------------------------------------------------------------- */

static int take_option(void *data, const char *text, int key, struct fuse_args *args)
{
	struct options *options = data;

	(void)args;
	switch (key) {
	case KEY_UNSUPPORTED:
		tool_error("option '%.*s' is not supported by this version",
			   (int)strcspn(text, "="), text);
		options->bad = true;
		return 0;
	case KEY_IGNORED:
		tool_log(DWARFS_LOG_WARN, "option '%s' has no effect any more", text);
		return 0;
	case KEY_FSNAME:
		options->has_fsname = true;
		return 1;
	case KEY_SUBTYPE:
		options->has_subtype = true;
		return 1;
	case FUSE_OPT_KEY_NONOPT:
		if (options->image)
			return 1; /* the mount point */
		options->image = strdup(text);
		return options->image ? 0 : -1;
	default:
		return 1;
	}
}

static void free_options(struct options *options)
{
	free(options->image);
	free(options->cache_size);
	free(options->block_size);
	free(options->offset);
	free(options->image_size);
	free(options->uid);
	free(options->gid);
	free(options->level);
}

/* Parse what is not a plain switch; text may be NULL for "not given". */
static int parse_values(const struct options *options, struct mounted *mounted,
			uint64_t *cache_bytes, uint64_t *offset, uint64_t *image_bytes)
{
	mounted->readonly = options->readonly;
	mounted->cache_files = !options->no_cache_files;
	mounted->cache_sparse = options->cache_sparse;
	mounted->set_uid = options->uid;
	mounted->set_gid = options->gid;
	return (options->cache_size &&
		tool_parse_bytes("cachesize", options->cache_size, cache_bytes)) ||
	       (options->block_size && tool_parse_bytes("blocksize", options->block_size,
							&mounted->block_bytes)) ||
	       (options->offset &&
		tool_parse_offset("offset", options->offset, offset)) ||
	       (options->image_size &&
		tool_parse_number("imagesize", options->image_size, 0, UINT64_MAX - 1,
				  image_bytes)) ||
	       (options->uid && tool_parse_user("uid", options->uid, &mounted->uid)) ||
	       (options->gid && tool_parse_group("gid", options->gid, &mounted->gid));
}

static int choose_log_level(const struct options *options, bool foreground)
{
	int level = foreground ? DWARFS_LOG_INFO : DWARFS_LOG_WARN;

	if (options->level && tool_parse_log_level("debuglevel", options->level, &level))
		return 1;
	tool_set_log_level(level);
	return 0;
}

/* -- the image ----------------------------------------------------------------------- */

/* Open the image as the options say; NULL after printing why not. */
static dwarfs_image *open_image(const struct options *options, struct mounted *mounted)
{
	auto_handle(dwarfs_error) *err = NULL;
	auto_handle(dwarfs_context) *context = NULL;
	auto_handle(dwarfs_image_options) *how = NULL;
	uint64_t cache_bytes = TOOL_DEFAULT, offset = 0, bytes = DWARFS_SIZE_AUTO;
	dwarfs_image *image;

	if (parse_values(options, mounted, &cache_bytes, &offset, &bytes))
		return NULL;
	context = tool_context_new(TOOL_DEFAULT, cache_bytes);
	if (!context)
		return NULL;
	if (dwarfs_image_options_new(&how, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	dwarfs_image_options_set_offset(how, offset);
	dwarfs_image_options_set_bytes(how, bytes);
	if (dwarfs_image_open(context, options->image, how, &image, &err) < 0) {
		tool_fail(err, NULL);
		return NULL;
	}
	return image;
}

/* -- the session --------------------------------------------------------------------- */

/* Add "-o text", with the commas of value escaped behind it. */
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

static int add_mount_options(struct fuse_args *args, const struct options *options)
{
	auto_free char *source = realpath(options->image, NULL);

	if ((!options->has_fsname &&
	     add_option(args, "fsname=", source ? source : options->image) != 0) ||
	    (!options->has_subtype && add_option(args, "subtype=", "dwarfs") != 0) ||
	    add_option(args, "default_permissions", "") != 0 ||
	    add_option(args, "ro", "") != 0)
		return tool_error("out of memory");
	return 0;
}

/* Answer requests until the end: 0, or 1 after printing why it ended badly. */
static int serve(struct fuse_session *session, const struct fuse_cmdline_opts *cmdline)
{
	struct fuse_loop_config *config;
	int ret;

	if (cmdline->singlethread) {
		ret = fuse_session_loop(session);
	} else {
		config = fuse_loop_cfg_create();
		if (!config)
			return tool_error("out of memory");
		fuse_loop_cfg_set_clone_fd(config, (unsigned)cmdline->clone_fd);
		/* What was not given is at its maximum, and keeps libfuse's default. */
		if (cmdline->max_idle_threads != UINT_MAX)
			fuse_loop_cfg_set_idle_threads(config, cmdline->max_idle_threads);
		if (cmdline->max_threads != UINT_MAX)
			fuse_loop_cfg_set_max_threads(config, cmdline->max_threads);
		ret = fuse_session_loop_mt(session, config);
		fuse_loop_cfg_destroy(config);
	}
	/* Above 0 it is the signal that asked for the end. */
	return ret < 0 ? tool_error("serving requests: %s", strerror(-ret)) : 0;
}

static int mount_and_serve(struct fuse_args *args,
			   const struct fuse_cmdline_opts *cmdline,
			   struct mounted *mounted)
{
	struct fuse_session *session =
		fuse_session_new(args, &dwarfs_ops, sizeof(dwarfs_ops), mounted);
	int code = 1;

	if (!session)
		return 1; /* libfuse said why */
	if (fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, cmdline->mountpoint) == 0) {
			/* The image is open: the change of directory does no harm. */
			if (fuse_daemonize(cmdline->foreground) == 0)
				code = serve(session, cmdline);
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	return code;
}

/* -- main ---------------------------------------------------------------------------- */

/* The kernel would put the root directory of an image even over a file. */
static int check_mount_point(const char *path)
{
	struct stat st;

	/* "/dev/fd/N" is a mount that another program made for us. */
	if (!strncmp(path, "/dev/fd/", 8) || stat(path, &st) != 0 || S_ISDIR(st.st_mode))
		return 0; /* what is missing or unreadable is left to libfuse to report */
	return tool_error("'%s' must be a directory", path);
}

static int run(struct fuse_args *args, struct options *options,
	       struct fuse_cmdline_opts *cmdline)
{
	auto_handle(dwarfs_image) *image = NULL;
	struct mounted mounted = { .block_bytes = DEFAULT_BLOCK_BYTES };

	if (fuse_opt_parse(args, options, option_table, take_option) != 0)
		return 1;
	if (options->bad)
		return 1;
	if (options->man)
		return tool_show_man();
	if (fuse_parse_cmdline(args, cmdline) != 0)
		return 1;
	if (cmdline->show_help) {
		fputs(usage_text, stdout);
		return tool_finish(0);
	}
	if (cmdline->show_version) {
		tool_print_version();
		printf("libfuse %s\n", fuse_pkgversion());
		return tool_finish(0);
	}
	if (!options->image)
		return tool_error("no image given");
	if (!cmdline->mountpoint)
		return tool_error("no mount point given");
	if (check_mount_point(cmdline->mountpoint) != 0)
		return 1;
	if (choose_log_level(options, cmdline->foreground) ||
	    add_mount_options(args, options) != 0)
		return 1;
	image = open_image(options, &mounted);
	if (!image)
		return 1;
	mounted.image = image;
	return mount_and_serve(args, cmdline, &mounted);
}

/*
 * The standard descriptors may be closed; then the image or the connection to the kernel
 * would get their numbers, and lose them when this program goes into the background.
 */
static int fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return 1;
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct fuse_cmdline_opts cmdline = { 0 };
	struct options options = { 0 };
	int code;

	if (fill_standard_descriptors() != 0)
		return 1;
	tool_start("dwarfs");
	if (argc <= 1) {
		fputs(usage_text, stdout);
		tool_finish(0);
		return 1;
	}
	code = run(&args, &options, &cmdline);
	free(cmdline.mountpoint);
	free_options(&options);
	fuse_opt_free_args(&args);
	return code;
}
