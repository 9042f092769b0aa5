/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan_directory: read the entries of one directory, on any thread.
 */
#ifndef DW_WRITE_INPUT_SCAN_DIRECTORY_H
#define DW_WRITE_INPUT_SCAN_DIRECTORY_H

#include "pool/tasks.h"
#include "write/options/build_options.h"
#include "write/input/directory_cache.h"
#include "write/options/filter.h"

/* Entries per part. Attributes are kept for a few parts only, so a huge directory needs
 * little more memory than its names. */
#define LISTING_PART 1024

/* One entry. */
struct listed {
	bool is_included;  /* by the filter */
	int errnum;	   /* why stat or the link target could not be read, or 0 */
	size_t target;	   /* of a link: of targets */
	size_t xattrs_end; /* end in xattrs; they begin at the end of the entry before */
	int xattrs_errnum; /* why some of them are missing, or 0 */
	struct os_stat stat;
};

/* Some entries of a listing, in order. Owned by its task until the task is done. */
struct listing_part {
	struct task task;
	struct listing *listing;
	size_t first, count;
	struct listed *list;
	struct buffer targets; /* with a NUL each */
	struct buffer xattrs;  /* one list after the other */
	bool no_memory;
};

/* A directory. Owned by its task until the task is done. */
struct listing {
	struct task task;
	const struct build_options *options;
	const struct filter *filter;	   /* of these; NULL: take all */
	struct cached_directory *ancestor; /* the path begins here; NULL: at the root */
	int root_fd;
	char *path;	      /* from above */
	char *path_from_root; /* from the root, for the filter; NULL without one */
	size_t path_from_root_bytes;

	int errnum;
	int fd; /* of the directory, or -1 */
	struct os_names names;
	struct listing_part *parts;
	size_t part_count;
	size_t offered; /* parts, for the caller; the first one belongs to the listing */
};

/* Copies the paths, shares the ancestor. */
struct listing *dw_listing_new(const struct build_options *options, int root_fd,
			       struct cached_directory *ancestor, const char *path,
			       const char *path_from_root);
void dw_listing_free(struct listing *listing);
DW_DEFINE_AUTO(listing, struct listing *, dw_listing_free)

/* The extended attributes of an entry, until the part is dropped. */
static inline struct span dw_listed_xattrs(const struct listing_part *part,
					   const struct listed *listed)
{
	size_t start = listed > part->list ? listed[-1].xattrs_end : 0;

	return (struct span){ part->xattrs.data + start, listed->xattrs_end - start };
}

/* Free the results of a part. */
void dw_listing_drop_part(struct listing_part *part);

#endif
