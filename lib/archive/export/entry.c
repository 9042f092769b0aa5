/* SPDX-License-Identifier: MIT */
/*
 * archive/export/entry: an entry of an image as an entry of libarchive.
 *
 * Converts attributes and path, and refuses those that the format would silently alter.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/export/export.h"
#include "base/machine/limits.h"

/* Bytes of a path with the slash before it; its names may be shortened. */
#define MOST_JOLIET 240

static int refuse_entry(const struct export_run *run, const char *what,
			dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "the %.*s format cannot hold %s",
		       (int)dw_export_format_name_bytes(run->format), run->format->help,
		       what);
}

#define USTAR_NAME_BYTES 100

/* -- text ---------------------------------------------------------------------------- */

/* How many bytes follow the first of a character; -1 when it cannot be a first one. */
static int more_bytes(unsigned char first)
{
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if ((first & 0xf0) == 0xe0)
		return 2;
	return first >= 0xf0 && first <= 0xf4 ? 3 : -1;
}

/* Overlong encodings, surrogates, and code points past the last one. */
static bool is_forbidden(unsigned char first, unsigned char second)
{
	return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
	       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

bool dw_export_is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		int more = more_bytes(*at);

		if (more < 0 || (more > 0 && is_forbidden(at[0], at[1])))
			return false;
		for (at++; more > 0; more--, at++)
			if ((*at & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static bool has_controls(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

/* Whether a part of text, of those that end at a slash, is nothing but spaces. */
static bool has_blank_name(const char *text)
{
	for (;; text++) {
		size_t length = strcspn(text, "/");

		if (length > 0 && strspn(text, " ") == length)
			return true;
		text += length;
		if (!*text)
			return false;
	}
}

/* what: a name or a target. */
static int check_text(const struct export_run *run, const char *text, const char *what,
		      dwarfs_error **err)
{
	if (run->format->xml_names && has_controls(text))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "the %.*s format cannot hold %s with control characters",
			       (int)dw_export_format_name_bytes(run->format),
			       run->format->help, what);
	if (run->format->utf8_names && !dw_export_is_utf8(text))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "the %.*s format cannot hold %s that is not UTF-8",
			       (int)dw_export_format_name_bytes(run->format),
			       run->format->help, what);
	return 0;
}

/* -- attributes ---------------------------------------------------------------------- */

static int set_ids(struct export_run *run, dwarfs_error **err)
{
	const struct dwarfs_archive_export *export = run->export;
	uint32_t uid = export->has_uid ? export->uid : dwarfs_stat_uid(run->stat);
	uint32_t gid = export->has_gid ? export->gid : dwarfs_stat_gid(run->stat);
	uint32_t most = run->format->most_id;

	run->la->entry_set_uid(run->entry, uid);
	run->la->entry_set_gid(run->entry, gid);
	if (most > 0 && (uid > most || gid > most))
		return refuse_entry(run, "the number of its owner or group", err);
	return 0;
}

/* Without the setuid or setgid bit of a file whose owner or group is replaced by another one. */
static uint32_t exported_mode(const struct export_run *run)
{
	const struct dwarfs_archive_export *export = run->export;
	uint32_t mode = dwarfs_stat_mode(run->stat);

	if (S_ISDIR(mode))
		return mode;
	if (export->has_uid && export->uid != dwarfs_stat_uid(run->stat))
		mode &= ~(uint32_t)S_ISUID;
	if (export->has_gid && export->gid != dwarfs_stat_gid(run->stat))
		mode &= ~(uint32_t)S_ISGID;
	return mode;
}

static int check_depth(const struct export_run *run, const char *path, dwarfs_error **err)
{
	uint32_t most = run->format->most_dirs;
	uint32_t dirs = S_ISDIR(dwarfs_stat_mode(run->stat)) ? 1 : 0;

	for (; *path; path++)
		dirs += *path == '/';
	return most > 0 && dirs > most
		       ? refuse_entry(run, "this many directories in a path", err)
		       : 0;
}

/* Bytes of the units of UTF-16 that a name begins with. A character that is cut in two
 * counts. */
static size_t joliet_bytes(const char *name, size_t length, uint32_t units)
{
	size_t at = 0;

	while (at < length && units > 0) {
		int more = more_bytes((unsigned char)name[at]);

		at += (size_t)(more < 0 ? 0 : more) + 1;
		units -= more == 3 && units > 1 ? 2 : 1;
	}
	return at < length ? at : length;
}

/* libarchive notices only when all is written: names, shortened, each with a slash. */
static int check_joliet(const struct export_run *run, const char *path,
			dwarfs_error **err)
{
	size_t total = 0;

	for (const char *name = path; run->joliet_units > 0 && *name;) {
		size_t length = strcspn(name, "/");

		total += joliet_bytes(name, length, run->joliet_units) + 1;
		name += length + (name[length] == '/');
	}
	if (total <= MOST_JOLIET)
		return 0;
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "its path takes %zu bytes, of which Joliet holds %d; with the "
		       "option !joliet there is no such limit",
		       total, MOST_JOLIET);
}

static void set_entry_times(struct export_run *run)
{
	struct export_time time = dw_export_time(run, DWARFS_MTIME);

	run->la->entry_set_mtime(run->entry, (time_t)time.seconds, time.nanoseconds);
	if (dwarfs_stat_seconds(run->stat, DWARFS_BTIME) != 0) {
		time = dw_export_time(run, DWARFS_BTIME);
		run->la->entry_set_birthtime(run->entry, (time_t)time.seconds,
					     time.nanoseconds);
	}
	if (dwarfs_image_is_mtime_only(run->image))
		return;
	time = dw_export_time(run, DWARFS_ATIME);
	run->la->entry_set_atime(run->entry, (time_t)time.seconds, time.nanoseconds);
	time = dw_export_time(run, DWARFS_CTIME);
	run->la->entry_set_ctime(run->entry, (time_t)time.seconds, time.nanoseconds);
}

/* Bytes of a link in a Rock Ridge record: its name, and two more bytes for each part of
 * the target. */
static size_t link_bytes(const char *path, const char *target)
{
	const char *slash = strrchr(path, '/');
	size_t bytes = strlen(slash ? slash + 1 : path) + strlen(target) + 2;

	for (; *target; target++)
		bytes += *target == '/';
	return bytes;
}

/* Names with a meaning for readers. libarchive (3.6.2) reads an XML element of spaces as an
 * empty one. */
static int check_special(const struct export_run *run, const char *path,
			 dwarfs_error **err)
{
	if (run->format->trailer && strcmp(path, "TRAILER!!!") == 0)
		return refuse_entry(run, "a file of this name, which is its end", err);
	if (run->format->xml_names && has_blank_name(path))
		return refuse_entry(run, "a name of spaces only", err);
	return 0;
}

static int check_target(const struct export_run *run, const char *path,
			const char *target, dwarfs_error **err)
{
	size_t length = strlen(target);
	int ret = check_text(run, target, "a target", err);

	if (ret < 0)
		return ret;
	if (!dw_is_target(length))
		return dw_fail(err, DWARFS_ERR_CORRUPT, DW_BAD_TARGET, length);
	if (run->format->xml_names && strspn(target, " ") == length)
		return refuse_entry(run, "a target of spaces only", err);
	if (run->format->most_link > 0 &&
	    link_bytes(path, target) > run->format->most_link)
		return refuse_entry(run, "a link with such a long name and target", err);
	return 0;
}

static int set_symlink(struct export_run *run, const char *path, dwarfs_error **err)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	int ret = dwarfs_link_read(run->image, dwarfs_stat_inode(run->stat), target,
				   sizeof(target), NULL, err);

	if (ret < 0 || (ret = check_target(run, path, target, err)) < 0)
		return ret;
	run->la->entry_copy_symlink(run->entry, target);
	return 0;
}

/* Inode numbers, by which formats that have them recognize hard links. */
static void set_number(struct export_run *run, const char **reduced_out)
{
	const uint32_t inode = dwarfs_stat_inode(run->stat).number;
	uint32_t names = run->selection.names[inode];

	if (names > 1 && dwarfs_image_format_minor(run->image) > 2) {
		if (run->format->links == LINKS_NONE)
			*reduced_out =
				"a file of its own, no hard link: the format has none";
		else
			run->la->entry_set_nlink(run->entry, names);
	}
	run->la->entry_set_ino64(run->entry, (int64_t)inode + 1);
}

/* Where the data of a file with holes is. */
static int set_holes(struct export_run *run, dwarfs_error **err)
{
	dwarfs_inode inode = dwarfs_stat_inode(run->stat);
	uint64_t bytes = dwarfs_stat_bytes(run->stat), from = 0, to;
	auto_error dwarfs_error *why = NULL;
	dwarfs_file *file;
	int ret = dwarfs_file_open(run->image, inode, &file, err);

	if (ret < 0)
		return ret;
	while ((ret = dwarfs_file_seek_data(file, from, &from, &why)) == 0 &&
	       (ret = dwarfs_file_seek_hole(file, from, &to, &why)) == 0) {
		run->la->entry_sparse_add_entry(run->entry, (int64_t)from,
						(int64_t)(to - from));
		from = to;
	}
	dwarfs_file_free(file);
	if (ret != DWARFS_ERR_NOT_FOUND)
		return dw_error_copy(err, ret, why);
	/* Nothing but a hole: a piece of data at its end, without bytes. */
	if (run->la->entry_sparse_count(run->entry) == 0)
		run->la->entry_sparse_add_entry(run->entry, (int64_t)bytes, 0);
	return 0;
}

/* For a file with holes, libarchive (3.6.2) replaces a name that is not UTF-8 by the name of its
 * ustar header, which may be shorter. */
static bool loses_name_by_holes(const char *path)
{
	return strlen(path) >= USTAR_NAME_BYTES && !dw_export_is_utf8(path);
}

/* Holes are stored as zeros where the name would be lost otherwise. */
static int set_holes_or_zeros(struct export_run *run, uint64_t hole_bytes,
			      dwarfs_error **err)
{
	if (!loses_name_by_holes(run->la->entry_pathname(run->entry)))
		return set_holes(run, err);
	if (!run->export->allow_huge_holes &&
	    dwarfs_holes_are_huge(hole_bytes, run->selection.data))
		return refuse_entry(
			run, "huge holes of a file with a long name that is not UTF-8",
			err);
	return 0;
}

static int set_file(struct export_run *run, const char *first, const char **reduced_out,
		    dwarfs_error **err)
{
	uint64_t bytes = dwarfs_stat_bytes(run->stat);

	set_number(run, reduced_out);
	if (bytes > INT64_MAX)
		return refuse_entry(run, "a file of this size", err);
	if (first && run->format->links == LINKS_BY_PATH)
		run->la->entry_copy_hardlink(run->entry, first);
	run->la->entry_set_size(run->entry, first ? 0 : (int64_t)bytes);
	if (first || !run->format->holes ||
	    dwarfs_stat_allocated_bytes(run->stat) >= bytes)
		return 0;
	return set_holes_or_zeros(run, bytes - dwarfs_stat_allocated_bytes(run->stat),
				  err);
}

static int set_entry_device(struct export_run *run, dwarfs_error **err)
{
	const uint32_t major = dwarfs_stat_rdev_major(run->stat);
	const uint32_t minor = dwarfs_stat_rdev_minor(run->stat);
	const uint32_t most_major = run->format->most_major;
	const uint32_t most_minor = run->format->most_minor;

	if (!dw_is_device(major, minor))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "no device can have the number %" PRIu32 ":%" PRIu32,
			       major, minor);
	if (most_major > 0 && (major > most_major || minor > most_minor))
		return refuse_entry(run, "the numbers of this device", err);
	run->la->entry_set_rdevmajor(run->entry, major);
	run->la->entry_set_rdevminor(run->entry, minor);
	return 0;
}

/* At some types that a format has not, libarchive ends the archive; here only the entry is refused. */
static int check_type(const struct export_run *run, dwarfs_error **err)
{
	const struct export_format *format = run->format;
	uint32_t mode = dwarfs_stat_mode(run->stat);

	if (format->files_only && !S_ISREG(mode))
		return refuse_entry(run, "anything but a file", err);
	if (format->no_symlinks && S_ISLNK(mode))
		return refuse_entry(run, "a symbolic link", err);
	if (format->no_specials && (S_ISFIFO(mode) || S_ISSOCK(mode)))
		return refuse_entry(run, "a fifo or socket", err);
	return 0;
}

static int set_by_type(struct export_run *run, const char *first,
		       const char **reduced_out, dwarfs_error **err)
{
	uint32_t mode = exported_mode(run);

	run->la->entry_set_size(run->entry, 0);
	run->la->entry_set_nlink(run->entry, 1);
	if (run->format->no_set_ids && (mode & 07000) != 0)
		*reduced_out = "without set-id and sticky bits: the format has none";
	if (S_ISREG(mode))
		return set_file(run, first, reduced_out, err);
	if (S_ISLNK(mode))
		return set_symlink(run, run->la->entry_pathname(run->entry), err);
	if (S_ISBLK(mode) || S_ISCHR(mode)) {
		if (run->format->no_devices)
			return refuse_entry(run, "the numbers of a device", err);
		return set_entry_device(run, err);
	}
	return 0;
}

int dw_export_describe(struct export_run *run, const char *path, const char *first,
		       const char **reduced_out, dwarfs_error **err)
{
	int ret;

	run->la->entry_clear(run->entry);
	run->has_other_time = false;
	run->la->entry_copy_pathname(run->entry, path);
	run->la->entry_set_mode(run->entry, exported_mode(run));
	run->la->entry_set_ino64(run->entry,
				 (int64_t)dwarfs_stat_inode(run->stat).number + 1);
	set_entry_times(run);
	if ((ret = check_text(run, path, "a name", err)) < 0 ||
	    (ret = check_special(run, path, err)) < 0 ||
	    (ret = check_type(run, err)) < 0 || (ret = check_depth(run, path, err)) < 0 ||
	    (ret = check_joliet(run, path, err)) < 0 || (ret = set_ids(run, err)) < 0)
		return ret;
	return set_by_type(run, first, reduced_out, err);
}

/* -- what libarchive says ------------------------------------------------------------ */

int dw_export_explain(const struct export_run *run, dwarfs_error **err)
{
	const struct export_format *format = run->format;
	uint64_t bytes = (uint64_t)run->la->entry_size(run->entry);

	if (format->most_bytes == 0 || bytes <= format->most_bytes)
		return 0;
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "a file of %" PRIu64
		       " bytes: the %.*s format cannot hold more than "
		       "%" PRIu64 ", but with the option %s",
		       bytes, (int)dw_export_format_name_bytes(format), format->help,
		       format->most_bytes, format->lifts);
}

/* Pax stores such a name byte for byte anyway. The text is that of the last warning, and
 * warnings about names precede others. */
bool dw_export_is_about_name(const struct export_run *run)
{
	static const char *const begins[] = {
		"Can't translate pathname '",
		"Can't translate linkname '",
		"Can't translate symlink '",
		"Can't translate hardlink '",
	};
	const char *text = run->la->error_string(run->archive);
	const char *link = run->la->entry_hardlink(run->entry);

	if (!link)
		link = run->la->entry_symlink(run->entry);
	if (!text || (dw_export_is_utf8(run->la->entry_pathname(run->entry)) &&
		      (!link || dw_export_is_utf8(link))))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(text, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}
