/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/options: the command line of dwarfs.
 *
 * Parses the arguments of a user, mount(8) or mount.fuse(8), checks all values, and
 * passes other options to libfuse. Opens no image.
 */
#include "dwarfs/options.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_BLOCK_BYTES (UINT64_C(512) << 10)
#define DEFAULT_WORKERS	    2
#define DEFAULT_SEQUENCE    4
#define MAX_WORKERS	    1024
#define LEAST_MAX_READ	    4096   /* the kernel takes this for less */
#define MAX_THREADS	    100000 /* as libfuse has it */
#define MINUTE_MS	    UINT64_C(60000)

/* Values as they are written; NULL: not given. */
struct words {
	struct command *command;
	char *image_offset, *max_threads, *max_idle_threads;
	char *cache_size, *block_size, *max_read, *offset, *image_size, *uid, *gid,
		*level;
	char *readahead, *workers, *lock, *ratio, *tidy, *tidy_interval, *tidy_age;
	char *allocator, *sequence, *perfmon, *verify, *affinity;
	char *preload_category, *analysis_file, *perfmon_trace;
	int readonly, fold, preload_all, no_cache_files, sparse, mapped;
	int man, auto_mount_point, auto_unmount;
};

enum { KEY_IGNORED, KEY_FSNAME, KEY_SUBTYPE, KEY_ALLOW_SUID, KEY_ALLOW_DEV, KEY_REMOUNT };

#define VALUE(text, member)                                                              \
	{                                                                                \
		text, offsetof(struct words, member), 0                                  \
	}
#define SWITCH(text, member, value)                                                      \
	{                                                                                \
		text, offsetof(struct words, member), value                              \
	}

static const struct fuse_opt option_table[] = {
	VALUE("cachesize=%s", cache_size),
	VALUE("blocksize=%s", block_size),
	VALUE("max_read=%s", max_read),
	VALUE("readahead=%s", readahead),
	VALUE("workers=%s", workers),
	VALUE("mlock=%s", lock),
	VALUE("decratio=%s", ratio),
	VALUE("offset=%s", offset),
	VALUE("image_offset=%s", image_offset),
	VALUE("max_threads=%s", max_threads),
	VALUE("max_idle_threads=%s", max_idle_threads),
	VALUE("imagesize=%s", image_size),
	VALUE("uid=%s", uid),
	VALUE("gid=%s", gid),
	VALUE("debuglevel=%s", level),
	VALUE("preload_category=%s", preload_category),
	VALUE("analysis_file=%s", analysis_file),
	VALUE("tidy_strategy=%s", tidy),
	VALUE("tidy_interval=%s", tidy_interval),
	VALUE("tidy_max_age=%s", tidy_age),
	VALUE("block_allocator=%s", allocator),
	VALUE("seq_detector=%s", sequence),
	VALUE("perfmon=%s", perfmon),
	VALUE("perfmon_trace=%s", perfmon_trace),
	VALUE("verify=%s", verify),
	VALUE("affinity=%s", affinity),
	SWITCH("readonly", readonly, 1),
	SWITCH("case_insensitive", fold, 1),
	SWITCH("preload_all", preload_all, 1),
	SWITCH("mmap", mapped, 1),
	SWITCH("no_mmap", mapped, 0),
	SWITCH("cache_files", no_cache_files, 0),
	SWITCH("no_cache_files", no_cache_files, 1),
	SWITCH("cache_sparse", sparse, SPARSE_KEEP),
	SWITCH("no_cache_sparse", sparse, SPARSE_DROP),
	SWITCH("--auto-mountpoint", auto_mount_point, 1),
	SWITCH("auto_unmount", auto_unmount, 1),
	SWITCH("--man", man, 1),
	FUSE_OPT_KEY("enable_nlink", KEY_IGNORED),
	FUSE_OPT_KEY("cache_image", KEY_IGNORED),
	FUSE_OPT_KEY("no_cache_image", KEY_IGNORED),
	FUSE_OPT_KEY("fsname=", KEY_FSNAME),
	FUSE_OPT_KEY("subtype=", KEY_SUBTYPE),
	FUSE_OPT_KEY("allow_suid", KEY_ALLOW_SUID),
	FUSE_OPT_KEY("allow_dev", KEY_ALLOW_DEV),
	FUSE_OPT_KEY("remount", KEY_REMOUNT),
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
	struct command *command = ((struct words *)data)->command;

	switch (key) {
	case KEY_IGNORED:
		tool_log(DWARFS_LOG_WARN, "option '%s' has no effect any more", text);
		return 0;
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
	case FUSE_OPT_KEY_NONOPT:
		if (command->settings.image)
			return 1; /* the mount point */
		command->settings.image = strdup(text);
		return command->settings.image ? 0 : -1;
	default:
		return !is_for_mount(text);
	}
}

/* -- values -------------------------------------------------------------------------- */

static int parse_count(const char *name, const char *text, uint32_t min, uint32_t max,
		       uint32_t *out)
{
	uint64_t value;

	if (tool_parse_number(name, text, min, max, &value) != 0)
		return 1;
	*out = (uint32_t)value;
	return 0;
}

/* A number of seconds, or with a unit: ms, s, m, h, d. */
static int parse_duration(const char *name, const char *text, uint64_t *ms_out)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "", 1000 },
		      { "ms", 1 },
		      { "s", 1000 },
		      { "m", MINUTE_MS },
		      { "h", 60 * MINUTE_MS },
		      { "d", 1440 * MINUTE_MS } };
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && errno == 0 && value <= UINT32_MAX)
		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
			if (strcmp(end, units[i].unit) == 0) {
				*ms_out = value * units[i].ms;
				return 0;
			}
	return tool_error("invalid duration '%s' for %s: use a number of seconds, or one "
			  "with ms, s, m, h or d",
			  text, name);
}

/* "none, time or swap" of a list that ends with NULL. */
static void list_words(const char *const *words, char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; words[i] && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s",
					 i == 0		? ""
					 : words[i + 1] ? ", "
							: " or ",
					 words[i]);
}

/* One of the words of a list that ends with NULL. */
static int parse_word(const char *name, const char *text, const char *const *words,
		      int *out)
{
	char all[128];

	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0) {
			*out = i;
			return 0;
		}
	list_words(words, all, sizeof(all));
	return tool_error("invalid value '%s' for %s: use %s", text, name, all);
}

static int parse_decode_ratio(const char *text, uint32_t *percent_out)
{
	char *end;
	double ratio = strtod(text, &end);

	if (end == text || *end || !(ratio >= 0 && ratio <= 1))
		return tool_error(
			"invalid ratio '%s' for -o decratio: must be between 0 and 1",
			text);
	*percent_out = (uint32_t)(ratio * 100 + 0.5);
	return 0;
}

/* "fuse+block_cache" */
static int parse_parts(char *text, unsigned *parts_out)
{
	static const char *const words[] = { "fuse", "filesystem_v2", "inode_reader_v2",
					     "block_cache", NULL };
	char *rest = text;

	for (char *word; (word = strsep(&rest, "+"));) {
		int part = 0;

		if (parse_word("-o perfmon", word, words, &part) != 0)
			return 1;
		*parts_out |= 1u << part;
	}
	return 0;
}

static int parse_words_of(const struct words *words, struct settings *settings)
{
	static const char *const locks[] = { "none", "try", "must", NULL };
	static const char *const tidies[] = { "none", "time", "swap", NULL };
	static const char *const allocators[] = { "malloc", "mmap", NULL };
	static const char *const affinities[] = { "auto", "caller", "none", NULL };
	static const char *const verifies[] = { "eager", "lazy", NULL };
	int word = 0;

	if (words->lock) {
		if (parse_word("-o mlock", words->lock, locks, &word) != 0)
			return 1;
		settings->lock = (enum lock_mode)word;
	}
	if (words->tidy) {
		if (parse_word("-o tidy_strategy", words->tidy, tidies, &word) != 0)
			return 1;
		settings->tidy = (enum tidy_mode)word;
	}
	if (words->verify) {
		if (parse_word("-o verify", words->verify, verifies, &word) != 0)
			return 1;
		settings->verify = word ? DWARFS_VERIFY_LAZY : DWARFS_VERIFY_EAGER;
	}
	if (words->affinity) {
		if (parse_word("-o affinity", words->affinity, affinities, &word) != 0)
			return 1;
		settings->affinity = (enum affinity_mode)word;
	}
	if (words->allocator) {
		if (parse_word("-o block_allocator", words->allocator, allocators,
			       &word) != 0)
			return 1;
		if (strcmp(words->allocator, "mmap") != 0)
			tool_log(DWARFS_LOG_WARN,
				 "option 'block_allocator=%s' has no effect: decoded "
				 "blocks are always in mapped memory",
				 words->allocator);
	}
	return 0;
}

static int parse_block_bytes(const char *text, uint64_t *bytes_out)
{
	if (tool_parse_bytes("-o blocksize", text, bytes_out) != 0)
		return 1;
	if (*bytes_out <= UINT32_MAX)
		return 0;
	return tool_error("invalid size '%s' for -o blocksize: must be at most 4g - 1",
			  text);
}

static int parse_max_read(const char *text, uint64_t *bytes_out)
{
	if (tool_parse_bytes("-o max_read", text, bytes_out) != 0)
		return 1;
	if (*bytes_out >= LEAST_MAX_READ && *bytes_out <= UINT32_MAX)
		return 0;
	return tool_error("invalid size '%s' for -o max_read: must be at least %d, and "
			  "at most 4g - 1",
			  text, LEAST_MAX_READ);
}

static int parse_sizes(const struct words *words, struct settings *settings)
{
	return (words->cache_size && tool_parse_bytes("-o cachesize", words->cache_size,
						      &settings->cache_bytes)) ||
	       (words->block_size &&
		parse_block_bytes(words->block_size, &settings->block_bytes)) ||
	       (words->max_read &&
		parse_max_read(words->max_read, &settings->max_read_bytes)) ||
	       (words->readahead && tool_parse_bytes("-o readahead", words->readahead,
						     &settings->readahead_bytes)) ||
	       (words->offset &&
		tool_parse_offset("-o offset", words->offset, &settings->offset)) ||
	       (words->image_offset &&
		tool_parse_offset("-o image_offset", words->image_offset,
				  &settings->offset)) ||
	       (words->image_size &&
		tool_parse_number("-o imagesize", words->image_size, 0, UINT64_MAX - 1,
				  &settings->image_bytes));
}

static int parse_numbers(const struct words *words, struct settings *settings)
{
	return (words->uid && tool_parse_user("-o uid", words->uid, &settings->uid)) ||
	       (words->gid && tool_parse_group("-o gid", words->gid, &settings->gid)) ||
	       (words->workers && parse_count("-o workers", words->workers, 0,
					      MAX_WORKERS, &settings->workers)) ||
	       (words->sequence && parse_count("-o seq_detector", words->sequence, 0,
					       UINT32_MAX, &settings->sequence)) ||
	       (words->max_threads && parse_count("-o max_threads", words->max_threads, 1,
						  MAX_THREADS, &settings->max_threads)) ||
	       (words->max_idle_threads &&
		parse_count("-o max_idle_threads", words->max_idle_threads, 0,
			    MAX_THREADS, &settings->max_idle_threads)) ||
	       (words->ratio &&
		parse_decode_ratio(words->ratio, &settings->finish_percent)) ||
	       (words->tidy_interval &&
		parse_duration("-o tidy_interval", words->tidy_interval,
			       &settings->tidy_interval_ms)) ||
	       (words->tidy_age && parse_duration("-o tidy_max_age", words->tidy_age,
						  &settings->tidy_age_ms)) ||
	       (words->level && tool_parse_log_level("-o debuglevel", words->level,
						     &settings->log_level));
}

/* Options that need each other, or exclude each other. */
static int check_mount_options(const struct words *words, const struct settings *settings)
{
	if (settings->preload_all && settings->preload_category)
		return tool_error(
			"-o preload_all and -o preload_category exclude each other");
	if (settings->perfmon_trace && !settings->perfmon)
		return tool_error("-o perfmon_trace needs -o perfmon");
	if (settings->tidy != TIDY_NONE && settings->tidy_interval_ms == 0)
		return tool_error(
			"invalid duration '%s' for -o tidy_interval: must not be "
			"0 with -o tidy_strategy",
			words->tidy_interval);
	return 0;
}

static int take_words(struct words *words, struct settings *settings)
{
	settings->readonly = words->readonly;
	settings->fold = words->fold;
	settings->cache_files = !words->no_cache_files;
	settings->sparse = (enum sparse_mode)words->sparse;
	settings->preload_all = words->preload_all;
	settings->mapped = words->mapped;
	settings->set_uid = words->uid;
	settings->set_gid = words->gid;
	settings->preload_category = words->preload_category;
	settings->analysis_file = words->analysis_file;
	settings->perfmon_trace = words->perfmon_trace;
	if (parse_sizes(words, settings) || parse_numbers(words, settings) ||
	    parse_words_of(words, settings) ||
	    (words->perfmon && parse_parts(words->perfmon, &settings->perfmon)))
		return 1;
	return check_mount_options(words, settings);
}

static void free_words(struct words *words)
{
	char *const all[] = { words->cache_size,
			      words->block_size,
			      words->max_read,
			      words->offset,
			      words->image_size,
			      words->uid,
			      words->gid,
			      words->level,
			      words->readahead,
			      words->workers,
			      words->lock,
			      words->ratio,
			      words->tidy,
			      words->tidy_interval,
			      words->tidy_age,
			      words->allocator,
			      words->sequence,
			      words->perfmon,
			      words->verify,
			      words->affinity,
			      words->image_offset,
			      words->max_threads,
			      words->max_idle_threads };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]);
}

/* -- mount(8) ------------------------------------------------------------------------ */

/*
 * mount(8) calls "mount.dwarfs IMAGE DIRECTORY [-sfnv] [-N namespace] [-o options]
 * [-t type]": letters that mean other things to everybody else. The arguments are
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

/* Whether help or the version is requested: then other arguments are not looked at. */
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

static int parse_fuse(struct command *command, struct fuse_args *args, bool automatic)
{
	int code = 0;

	if (!command->settings.image)
		return tool_error("no image given");
	if (automatic)
		code = add_auto_mount_point(command, args);
	if (code == 0 && given_mount_point(args))
		code = bad_mount_point(check_mount_point(given_mount_point(args)));
	if (code != 0)
		return code;
	if (fuse_parse_cmdline(args, &command->fuse) != 0)
		return EXIT_BAD_OPTION; /* libfuse said why */
	if (!command->fuse.mountpoint)
		return tool_error("no mount point given");
	return 0;
}

int command_parse(struct command *command, struct fuse_args *args)
{
	struct words words = { .command = command, .sparse = SPARSE_AUTO };
	struct settings *settings = &command->settings;
	int code;

	*settings = (struct settings){
		.image_bytes = DWARFS_SIZE_AUTO,
		.cache_bytes = TOOL_DEFAULT,
		.workers = DEFAULT_WORKERS,
		.sequence = DEFAULT_SEQUENCE,
		.finish_percent = 100,
		.verify = DWARFS_VERIFY_EAGER,
		.tidy_interval_ms = 5 * MINUTE_MS,
		.tidy_age_ms = 10 * MINUTE_MS,
		.block_bytes = DEFAULT_BLOCK_BYTES,
		.log_level = -1,
		.max_threads = UINT_MAX,
		.max_idle_threads = UINT_MAX,
	};
	if (take_request_for_text(&command->fuse, args))
		return 0;
	command->is_helper = is_helper_name(args->argv[0]);
	if (command->is_helper && take_helper_arguments(command, args) != 0)
		return 1;
	if (fuse_opt_parse(args, &words, option_table, take_mount_option) != 0) {
		free(words.preload_category);
		free(words.analysis_file);
		free(words.perfmon_trace);
		free_words(&words);
		return EXIT_BAD_OPTION;
	}
	command->man = words.man;
	command->auto_unmount = words.auto_unmount;
	code = bad_option(take_words(&words, settings));
	free_words(&words);
	if (code != 0 || command->man)
		return code;
	return parse_fuse(command, args, words.auto_mount_point);
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
