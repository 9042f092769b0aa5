/* SPDX-License-Identifier: MIT */
/*
 * archive/export/export: the state of one run, shared by the files that write archives.
 */
#ifndef DW_ARCHIVE_EXPORT_EXPORT_H
#define DW_ARCHIVE_EXPORT_EXPORT_H

#include <string.h>

#include <sys/types.h>

#include <dwarfs/archive.h>
#include <dwarfs/file.h>

#include "archive/libarchive.h"
#include "archive/locale.h"
#include "base/patterns.h"
#include "base/progress.h"
#include "os/sink.h"

struct archive;
struct archive_entry;

/* -- formats ------------------------------------------------------------------------- */

/* How further names of a file are written. */
enum export_links {
	LINKS_NONE,    /* as files of their own */
	LINKS_BY_PATH, /* as links to the path of the first */
	LINKS_ONCE,    /* with its number, the first has the contents */
	LINKS_EACH,    /* with its number, each has the contents */
};

/* The properties of a format as libarchive writes it, and what it would silently alter.
 */
struct export_format {
	const char *help;    /* its first word is the name */
	const char *aliases; /* other names, each followed by a space */
	const char *options; /* that let it lose less; may be NULL */
	enum export_links links;
	bool utf8_names;  /* names must be UTF-8 */
	bool xml_names;	  /* and without control characters */
	bool no_devices;  /* they would lose their numbers */
	bool no_set_ids;  /* set-id and sticky bits are lost */
	bool no_specials; /* neither fifos nor sockets */
	bool no_symlinks;
	bool files_only;
	bool holes;	     /* holes stay holes */
	bool list;	     /* contents are not stored, but options may ask for sums */
	bool xattrs, acls;   /* extended attributes, and lists of access as such */
	bool root;	     /* the root directory is an entry, "." */
	bool trailer;	     /* an entry of the name TRAILER!!! ends it */
	bool warns_only;     /* libarchive only warns of what it leaves out */
	bool late;	     /* it is put together when it is closed */
	bool joliet;	     /* paths are limited, unless an option is set */
	uint32_t most_id;    /* of owners and groups; 0: any */
	uint32_t most_major; /* of a device, and most_minor too; 0: any */
	uint32_t most_minor;
	uint32_t most_dirs;  /* in a path; 0: any */
	uint32_t most_link;  /* bytes of a link: see link_bytes(); 0: any */
	uint64_t most_bytes; /* of a file, unless an option lifts that; 0: any */
	const char *lifts;   /* that option */
	bool pax_times;	     /* are decimal numbers */
	int64_t least_time;  /* in seconds since 1970 */
	int64_t most_time;   /* 0: any */
};

static inline size_t dw_export_format_name_bytes(const struct export_format *format)
{
	return strcspn(format->help, " ");
}

/* NULL if there is no format of this name. */
const struct export_format *dw_export_format_find(const char *name);

/* The format by the end of a file's name, and the filters as a list with commas, to be
 * freed: NULL for none. INVALID when it says nothing. */
int dw_export_format_by_path(const char *path, const struct export_format **format_out,
			     char **filters_out, dwarfs_error **err);

/* Such as "pax, paxr, ustar"; to be freed, NULL when memory is short. */
char *dw_export_format_list(void);

/* Whether all names of a list with commas are filters; otherwise *length_out bytes from
 * *bad_out on are the one that is not. */
bool dw_export_filters_exist(const char *filters, const char **bad_out,
			     size_t *length_out);

/* Format, filters and options of a new archive; odd_xattrs: see struct selection. */
int dw_export_format_apply(const struct libarchive *la, struct archive *archive,
			   const struct export_format *format, const char *filters,
			   const char *options, bool odd_xattrs, dwarfs_error **err);

/* The filters alone. */
int dw_export_filters_apply(const struct libarchive *la, struct archive *archive,
			    const char *filters, dwarfs_error **err);

/* How many units of UTF-16 of a name the Joliet tree of an archive with these options
 * has; 0 when there is none. */
uint32_t dw_export_joliet_units(const char *options);

/* The last failure of libarchive, as an error. */
int dw_export_fail_text(const struct libarchive *la, struct archive *archive,
			dwarfs_error **err);

/* -- the handle ---------------------------------------------------------------------- */

struct dwarfs_archive_export {
	const struct libarchive *la; /* owned */
	dwarfs_image *image;
	const struct export_format *format; /* NULL: by the name of the output */
	char *filters, *options;	    /* may be NULL */
	struct patterns *patterns;
	int order;
	bool skip_devices, skip_specials, no_xattrs, continue_on_error;
	bool allow_huge_holes;
	bool has_uid, has_gid;
	uint32_t uid, gid; /* of everything */
	dwarfs_export_report_fn report;
	void *report_user;
	const dwarfs_task *task; /* or NULL */
	uint64_t failures;
	bool is_complete; /* the archive of the last run */
};

/* -- a run --------------------------------------------------------------------------- */

/* The selected entries, a bit for each; and for each file, how many of them name it. */
struct selection {
	uint8_t *taken;
	uint8_t *claimed;  /* entries of directories that the walk has reached */
	uint8_t *repeated; /* with the same name as another entry of the directory; or
				NULL */
	uint32_t *names;   /* by inode */
	uint64_t entries;
	uint64_t data, holes; /* bytes of files to be written; stop at UINT64_MAX */
	bool has_odd_xattrs;  /* names that a tar holds encoded only */
};

/* An entry that is about to be written. */
struct export_item {
	dwarfs_entry entry;
	dwarfs_inode inode;
	size_t path; /* where it begins in the paths of the window */
	bool is_file;
};

/* Consecutive entries, and the files whose contents they need. */
struct window {
	struct export_item *items;
	size_t count, room;
	struct buffer paths; /* each with a NUL */
	dwarfs_inode *files;
	size_t file_count, file_room;
	uint64_t bytes; /* of these */
	bool is_ready;	/* or was never fetched */
};

struct export_run {
	struct dwarfs_archive_export *export;
	const dwarfs_image *image;
	const struct export_format *format;
	dwarfs_sink *output;
	const struct libarchive *la;
	struct archive *archive;
	struct archive_entry *entry;
	struct text_locale locale;
	struct dwarfs_progress progress;
	struct selection selection;
	char **first_paths; /* by inode: where a file with more names was written; or NULL
			     */
	uint64_t window_bytes;
	dwarfs_stat *stat;
	void *buffer;	      /* of EXPORT_BUFFER_BYTES */
	void *zeros;	      /* the same */
	dwarfs_error *failed; /* why the output takes no more */
	bool is_left;	      /* an entry failed that ends the run */
	bool is_broken;	      /* the archive: a call of libarchive has failed */
	bool is_in_file;      /* the contents of a file are being written */
	bool has_other_time;  /* the entry: one that the format can hold */
	int signs;	      /* 0: not known; 1: libarchive's are right; 2: misread */
	int first_code;	      /* of the first failure of an entry */
	dwarfs_error *first;
	uint64_t lost_xattrs;  /* entries written without their extended attributes */
	uint32_t joliet_units; /* see dw_export_joliet_units() */
	bool is_damaged;       /* the tree: entries of it were passed over */
	bool is_no_tree;       /* an entry is in two directories */
	bool keeps_links;      /* hard links are not written as separate files */
	bool is_list;	       /* nothing asks for contents */
	struct relay *relay;   /* see relay.c; most often NULL */
	bool is_relayed;       /* the contents that are being written */
};

#define EXPORT_BUFFER_BYTES ((size_t)1 << 20)

/* Bytes that libarchive writes at a time. */
#define EXPORT_OUTPUT_BYTES (256 << 10)

/* An entry has failed: what is a dwarfs_export_report. Takes ownership of why. Returns 0,
 * and then run->is_left says whether the run ends. */
int dw_export_lose(struct export_run *run, int what, const char *path, int code,
		   dwarfs_error *why, dwarfs_error **err);

/* select.c: choose the entries to write, and sum up their sizes. Damaged entries are
 * reported as lost.
 */
int dw_export_select(struct export_run *run, dwarfs_error **err);
void dw_export_select_release(struct selection *selection);
static inline bool dw_export_takes(const struct selection *selection, dwarfs_entry entry)
{
	return selection->taken[entry.number / 8] & 1u << entry.number % 8;
}

/* unsafe_names.c: record the entries of a directory, which must be in no other one, and
 * its duplicate names. CORRUPT if the directories are not a tree. */
int dw_export_claim(struct export_run *run, dwarfs_entry entry, dwarfs_error **err);

/* Whether an earlier entry of its directory has the same name. */
bool dw_export_is_repeated(const struct selection *selection, dwarfs_entry entry);

/* holes.c: refuse files with huge holes; see dwarfs_holes_are_huge(). */
int dw_export_weigh_holes(struct export_run *run, dwarfs_error **err);

/* read_window.c: visit the entries in order, with their data decompressed in advance;
 * write is called for each. */
int dw_export_windows(struct export_run *run,
		      int (*write)(struct export_run *run, const struct export_item *item,
				   const char *path, dwarfs_error **err),
		      dwarfs_error **err);

/*
 * entry.c: convert run->stat to an entry of libarchive. first is the target of a hard
 * link, or NULL. UNSUPPORTED if the format cannot represent it and libarchive would not
 * report that. *reduced_out names a property that the format lacks, or stays NULL.
 */
int dw_export_describe(struct export_run *run, const char *path, const char *first,
		       const char **reduced_out, dwarfs_error **err);

/* A more exact error for the entry that libarchive has just refused, or 0 if there is
 * none. */
int dw_export_explain(const struct export_run *run, dwarfs_error **err);

/* damage.c: a time of run->stat, or the nearest one that the format can hold, as
 * libarchive takes it. */
struct export_time {
	int64_t seconds;
	long nanoseconds;
};
struct export_time dw_export_time(struct export_run *run, int which);

/* entry_time.c: whether libarchive takes the sign of a decimal time for that of its whole
 * seconds only. */
bool dw_archive_misreads_signs(const struct libarchive *la);

/* Report altered attributes of the entry that was written; lost_xattrs: why it has no
 * extended attributes, or NULL. */
void dw_export_tell_altered(struct export_run *run, const char *path,
			    const dwarfs_error *lost_xattrs);

/* Whether libarchive's only warning is about a name that is not UTF-8. */
bool dw_export_is_about_name(const struct export_run *run);

/* entry_attributes.c: whether run->stat is of an entry that has extended attributes with
 * a name that libarchive encodes. */
bool dw_export_has_odd_xattrs(const struct export_run *run);

/* Its extended attributes and lists of access. */
int dw_export_attributes(struct export_run *run, const char **reduced_out,
			 dwarfs_error **err);

/* entry_contents.c: the bytes of one file. */
struct export_contents {
	uint64_t bytes;
	bool has_holes;
	const void *whole; /* of a small file; NULL for the others */
	dwarfs_file *file;
	dwarfs_borrowed *borrowed; /* the whole of it; NULL: it is read piece by piece */
};

/* What can fail before anything is in the archive: read the file of run->stat, unless it
 * is too large. */
int dw_export_contents_open(struct export_run *run, struct export_contents *contents,
			    dwarfs_error **err);
void dw_export_contents_release(struct export_contents *contents);

/* Write the contents, after the header. *is_cut_out: the image is damaged. */
int dw_export_contents_write(struct export_run *run, struct export_contents *contents,
			     bool *is_cut_out, dwarfs_error **err);

/*
 * relay.c: if libarchive would need too long to process the zeros of holes, the archive
 * is written through the relay, in which the contents of files with holes bypass the
 * format of libarchive. Called before the contents, and for each piece of data.
 */
#define EXPORT_MOST_HOLES (UINT64_C(1) << 40) /* in all, without the relay */
int dw_export_relay_open(struct export_run *run, const char *filters, dwarfs_error **err);
int dw_export_relay_begin(struct export_run *run, dwarfs_error **err);
int dw_export_relay_data(struct export_run *run, const void *data, size_t bytes);
int dw_export_relay_close(struct export_run *run, dwarfs_error **err);
void dw_export_relay_free(struct export_run *run, bool is_complete);

/* run.c: write the output of the last filter; an archive_write_callback. */
ssize_t dw_export_take(struct archive *archive, void *user, const void *data,
		       size_t bytes);

/* Write bytes of the current entry; NULL for a hole. Updates the progress. */
int dw_export_data(struct export_run *run, const void *data, uint64_t bytes,
		   dwarfs_error **err);

/* The error of a call of libarchive that failed. */
int dw_export_fail(struct export_run *run, dwarfs_error **err);

/* Whether bytes are UTF-8. */
bool dw_export_is_utf8(const char *text);

/* run.c: the steps of a run. *is_complete_out: the archive ends as it should, even if
 * entries have failed. */
int dw_export_run(struct dwarfs_archive_export *export, dwarfs_sink *output,
		  const struct export_format *format, const char *filters,
		  bool *is_complete_out, dwarfs_error **err);

#endif
