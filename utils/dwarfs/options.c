/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/options: the command line of dwarfs.
 *
 * Parses the arguments of a user, mount(8) or mount.fuse(8), and passes options that neither
 * they nor dwarfs/mount_options.c have to libfuse. Opens no image.
 */
#include "dwarfs/options.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_BLOCK_BYTES (UINT64_C(512) << 10)
#define DEFAULT_WORKERS	    2
#define DEFAULT_SEQUENCE    4
#define MINUTE_MS	    UINT64_C(60000)

/* What is not an option of the table of dwarfs/mount_options.c. */
enum {
	KEY_FSNAME,
	KEY_SUBTYPE,
	KEY_ALLOW_SUID,
	KEY_ALLOW_DEV,
	KEY_REMOUNT,
	KEY_MAN,
	KEY_AUTO_MOUNT_POINT,
};

static const struct fuse_opt option_table[] = {
	FUSE_OPT_KEY("fsname=", KEY_FSNAME),
	FUSE_OPT_KEY("subtype=", KEY_SUBTYPE),
	FUSE_OPT_KEY("allow_suid", KEY_ALLOW_SUID),
	FUSE_OPT_KEY("allow_dev", KEY_ALLOW_DEV),
	FUSE_OPT_KEY("remount", KEY_REMOUNT),
	FUSE_OPT_KEY("--man", KEY_MAN),
	FUSE_OPT_KEY("--auto-mountpoint", KEY_AUTO_MOUNT_POINT),
	FUSE_OPT_END,
};

/* Words of fstab that are for mount(8), or that change nothing where nothing is written.
 */
static bool is_for_mount(const char *text)
{
	static const char *const words[] = {
		"defaults",    "auto",		"noauto",   "user",	  "nouser",
		"users",       "nousers",	"owner",    "noowner",	  "group",
		"nogroup",     "nofail",	"_netdev",  "relatime",	  "norelatime",
		"strictatime", "nostrictatime", "lazytime", "nolazytime", "silent",
		"loud",	       "nodiratime",	"diratime", "iversion",	  "noiversion",
		"mand",	       "nomand",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return strncmp(text, "x-", 2) == 0 || strncmp(text, "X-", 2) == 0 ||
	       strncmp(text, "user=", 5) == 0 || strncmp(text, "comment=", 8) == 0 ||
	       strncmp(text, "uhelper=", 8) == 0 || strncmp(text, "helper=", 7) == 0;
}

static int take_mount_option(void *data, const char *text, int key,
			     struct fuse_args *args)
{
	struct command *command = data;

	switch (key) {
	case KEY_FSNAME:
		command->has_fsname = true;
		return 1;
	case KEY_SUBTYPE:
		command->has_subtype = true;
		return 1;
	case KEY_ALLOW_SUID: /* mount(8) does not pass on "suid" and "dev" */
		return fuse_opt_add_arg(args, "-osuid") == 0 ? 0 : -1;
	case KEY_ALLOW_DEV:
		return fuse_opt_add_arg(args, "-odev") == 0 ? 0 : -1;
	case KEY_REMOUNT:
		tool_error("-o remount: the driver cannot change a mount; the options "
			   "that the kernel handles are changed by 'mount -i -o "
			   "remount,...'");
		return -1;
	case KEY_MAN:
		command->man = true;
		return 0;
	case KEY_AUTO_MOUNT_POINT:
		command->auto_mount_point = true;
		return 0;
	case FUSE_OPT_KEY_NONOPT:
		if (command->settings.image)
			return 1; /* the mount point */
		command->settings.image = strdup(text);
		return command->settings.image ? 0 : -1;
	default:
		return is_for_mount(text) ? 0
					  : mount_option_take(text, &command->settings);
	}
}

/* -- mount(8) ------------------------------------------------------------------------ */

/*
 * mount(8) calls "mount.dwarfs IMAGE DIRECTORY [-sfnv] [-N namespace] [-o options]
 * [-t type]": letters that have other meanings in all other programs. The arguments are
 * allocated.
 */
static int take_helper_arguments(struct command *command, struct fuse_args *args)
{
	int kept = 1;

	for (int i = 1; i < args->argc; i++) {
		char *arg = args->argv[i];

		if (strcmp(arg, "-N") == 0)
			return tool_error(
				"mounting in another namespace is not supported");
		if (strcmp(arg, "-o") == 0 && i + 1 < args->argc) {
			args->argv[kept++] = arg;
			args->argv[kept++] = args->argv[++i];
		} else if (strcmp(arg, "-t") == 0 && i + 1 < args->argc) {
			free(arg);
			free(args->argv[++i]);
		} else if (arg[0] == '-' && arg[1] && arg[1] != '-' &&
			   strspn(arg + 1, "sfnvrw") == strlen(arg + 1)) {
			command->fake |= strchr(arg, 'f') != NULL;
			free(arg);
		} else {
			args->argv[kept++] = arg;
		}
	}
	args->argv[kept] = NULL;
	args->argc = kept;
	return 0;
}

static bool is_helper_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "mount.", 6) == 0;
}

/* -- the mount point ----------------------------------------------------------------- */

/* The path of the image without the extension of its name; NULL: it has none. */
static char *path_without_extension(const char *image)
{
	const char *slash = strrchr(image, '/');
	const char *name = slash ? slash + 1 : image;
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? strndup(image, (size_t)(dot - image)) : NULL;
}

static int bad_option(int code)
{
	return code == 1 ? EXIT_BAD_OPTION : code;
}

static int bad_mount_point(int code)
{
	return code == 1 ? EXIT_BAD_MOUNT_POINT : code;
}

/* The mount point among the arguments, or NULL. */
static const char *given_mount_point(const struct fuse_args *args)
{
	for (int i = 1; i < args->argc; i++)
		if (strcmp(args->argv[i], "-o") == 0)
			i++;
		else if (args->argv[i][0] != '-')
			return args->argv[i];
	return NULL;
}

/* Whether a directory is a mount point. If the kernel does not report that, it is one if
 * its parent is on another file system, or it is a root. */
static bool is_mount_point(const char *path, const struct stat *st)
{
	auto_free char *up = NULL;
	struct stat parent;
	struct statx told;

	if (statx(AT_FDCWD, path, 0, 0, &told) == 0 &&
	    (told.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
		return told.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	if (asprintf(&up, "%s/..", path) < 0) {
		up = NULL;
		return false;
	}
	return stat(up, &parent) == 0 &&
	       (parent.st_dev != st->st_dev || parent.st_ino == st->st_ino);
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	if (!dir)
		return false;
	while (empty && (entry = readdir(dir)))
		empty = strcmp(entry->d_name, ".") == 0 ||
			strcmp(entry->d_name, "..") == 0;
	closedir(dir);
	return empty;
}

/* The user did not name this directory, so the mount must not hide anything in it. */
static int check_auto_mount_point(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return tool_error("--auto-mountpoint: '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return tool_error("--auto-mountpoint: '%s' must be a directory", path);
	if (is_mount_point(path, &st))
		return tool_error("--auto-mountpoint: '%s' is already a mount point",
				  path);
	if (!is_empty(path))
		return tool_error("--auto-mountpoint: the directory '%s' is not empty",
				  path);
	return 0;
}

/* Add the directory next to the image to the arguments; create it if it is missing. */
static int add_auto_mount_point(struct command *command, struct fuse_args *args)
{
	auto_free char *path = NULL;
	struct stat st;

	if (given_mount_point(args))
		return bad_option(tool_error("--auto-mountpoint and a mount point "
					     "exclude each other"));
	path = path_without_extension(command->settings.image);
	if (!path)
		return bad_mount_point(tool_error("--auto-mountpoint: the name of '%s' "
						  "has no extension to remove",
						  command->settings.image));
	if (stat(command->settings.image, &st) != 0)
		return tool_error("'%s': %s", command->settings.image, strerror(errno));
	if (mkdir(path, 0755) == 0)
		command->made_mount_point = realpath(path, NULL);
	else if (errno != EEXIST)
		return bad_mount_point(tool_error(
			"--auto-mountpoint: cannot make the directory '%s': %s", path,
			strerror(errno)));
	else if (check_auto_mount_point(path) != 0)
		return EXIT_BAD_MOUNT_POINT;
	return fuse_opt_add_arg(args, path) != 0 ? tool_error("out of memory") : 0;
}

/* The kernel would put the root directory of an image even over a file. */
static int check_mount_point(const char *path)
{
	struct stat st;

	/* "/dev/fd/N" is a mount that another program made for us. */
	if (strncmp(path, "/dev/fd/", 8) == 0)
		return 0;
	if (stat(path, &st) != 0)
		return tool_error("cannot mount on '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return tool_error("cannot mount: '%s' must be a directory", path);
	return 0;
}

/* -- help ----------------------------------------------------------------------------- */

/* Whether help or the version is requested; all other arguments are then ignored. */
static bool take_request_for_text(struct fuse_cmdline_opts *fuse,
				  const struct fuse_args *args)
{
	for (int i = 1; i < args->argc; i++) {
		const char *arg = args->argv[i];

		if (strcmp(arg, "-o") == 0)
			i++;
		else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
			fuse->show_help = 1;
		else if (strcmp(arg, "-V") == 0 || strcmp(arg, "--version") == 0)
			fuse->show_version = 1;
	}
	return fuse->show_help || fuse->show_version;
}

/* -- all of it ----------------------------------------------------------------------- */

static int parse_fuse(struct command *command, struct fuse_args *args)
{
	int code = 0;

	if (!command->settings.image)
		return tool_error("no image given");
	if (command->auto_mount_point)
		code = add_auto_mount_point(command, args);
	if (code == 0 && given_mount_point(args))
		code = bad_mount_point(check_mount_point(given_mount_point(args)));
	if (code != 0)
		return code;
	if (fuse_parse_cmdline(args, &command->fuse) != 0)
		return EXIT_BAD_OPTION; /* libfuse said why */
	if (!command->fuse.mountpoint)
		return tool_error("no mount point given");
	if (command->fuse.clone_fd && command->settings.busy_poll == BUSY_POLL_ON)
		return bad_option(
			tool_error("-o busy_poll=on and -o clone_fd exclude each other"));
	return 0;
}

int command_parse(struct command *command, struct fuse_args *args)
{
	struct settings *settings = &command->settings;

	*settings = (struct settings){
		.image_bytes = DWARFS_SIZE_AUTO,
		.cache_files = true,
		.sparse = SPARSE_AUTO,
		.cache_bytes = TOOL_DEFAULT,
		.workers = DEFAULT_WORKERS,
		.sequence = DEFAULT_SEQUENCE,
		.finish_percent = 100,
		.verify = DWARFS_VERIFY_EAGER,
		.tidy_interval_ms = 5 * MINUTE_MS,
		.tidy_age_ms = 10 * MINUTE_MS,
		.block_bytes = DEFAULT_BLOCK_BYTES,
		.log_level = -1,
		.busy_poll = BUSY_POLL_AUTO,
		.max_threads = UINT_MAX,
		.max_idle_threads = UINT_MAX,
	};
	if (take_request_for_text(&command->fuse, args))
		return 0;
	command->is_helper = is_helper_name(args->argv[0]);
	if (command->is_helper && take_helper_arguments(command, args) != 0)
		return 1;
	if (fuse_opt_parse(args, command, option_table, take_mount_option) != 0 ||
	    mount_options_check(settings) != 0)
		return EXIT_BAD_OPTION;
	return command->man ? 0 : parse_fuse(command, args);
}

void command_free(struct command *command)
{
	if (command->made_mount_point)
		rmdir(command->made_mount_point);
	free(command->made_mount_point);
	free(command->fuse.mountpoint);
	free(command->settings.image);
	free(command->settings.preload_category);
	free(command->settings.analysis_file);
	free(command->settings.perfmon_trace);
}
