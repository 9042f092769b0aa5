/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan_directory: read the entries of one directory, on any thread.
 *
 * The task that lists a directory reads the attributes of the first part of its entries;
 * other parts have tasks of their own. Entries that the filter excludes are not read if
 * the file system tells directories from other entries without it.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/input/entry_details.h"
#include "write/input/scan_directory.h"

/* -- one entry ---------------------------------------------------------------------- */

static bool is_directory_stat(const struct os_stat *stat)
{
	return (stat->mode & DW_S_IFMT) == DW_S_IFDIR;
}

/* path begins with the directory; the name is appended. */
static bool passes_filter(const struct listing *listing, struct buffer *path,
			  const char *name, bool is_directory_stat, bool *no_memory)
{
	if (!listing->filter)
		return true;
	path->size = listing->path_from_root_bytes;
	if ((path->size && dw_buffer_append(path, "/", 1, NULL) < 0) ||
	    dw_buffer_append(path, name, strlen(name), NULL) < 0) {
		*no_memory = true;
		return false;
	}
	return dw_filter_includes(listing->filter, (const char *)path->data, path->size,
				  is_directory_stat);
}

static void read_target(struct listing_part *part, const char *name,
			struct listed *listed, struct buffer *target)
{
	int ret = dw_readlink_at(part->listing->fd, name, target);

	listed->target = part->targets.size;
	if (ret < 0)
		listed->errnum = -ret;
	else if (dw_buffer_append(&part->targets, target->data, target->size + 1, NULL) <
		 0)
		part->no_memory = true;
	if (ret == -ENOMEM)
		part->no_memory = true;
}

static void stat_entry(struct listing_part *part, size_t i, struct buffer *path,
		       struct buffer *target)
{
	const struct listing *listing = part->listing;
	const char *name = dw_os_name(&listing->names, part->first + i);
	enum os_kind kind = dw_os_name_kind(&listing->names, part->first + i);
	struct listed *listed = &part->list[i];
	int ret;

	if (kind != OS_KIND_UNKNOWN) {
		listed->is_included = passes_filter(
			listing, path, name, kind == OS_KIND_DIRECTORY, &part->no_memory);
		if (!listed->is_included) {
			listed->stat.mode =
				kind == OS_KIND_DIRECTORY ? DW_S_IFDIR : DW_S_IFREG;
			return;
		}
	}
	if ((ret = dw_stat_at(listing->fd, name, &listed->stat)) < 0) {
		listed->is_included = true;
		listed->errnum = -ret;
		return;
	}
	if (kind == OS_KIND_UNKNOWN)
		listed->is_included =
			passes_filter(listing, path, name,
				      is_directory_stat(&listed->stat), &part->no_memory);
	if (listed->is_included && (listed->stat.mode & DW_S_IFMT) == DW_S_IFLNK)
		read_target(part, name, listed, target);
	if (listed->is_included && listed->errnum == 0 &&
	    dw_entry_details(listing->options, listing->fd, name, &listed->stat,
			     &part->xattrs, &listed->xattrs_errnum) < 0)
		part->no_memory = true;
}

/* -- tasks -------------------------------------------------------------------------- */

static void run_part(struct task *task)
{
	struct listing_part *part = (struct listing_part *)task;
	const struct listing *listing = part->listing;
	auto_buffer struct buffer path = { 0 }, target = { 0 };

	part->list = dw_calloc(part->count, sizeof(*part->list));
	part->no_memory = !part->list;
	if (listing->filter && dw_buffer_append(&path, listing->path_from_root,
						listing->path_from_root_bytes, NULL) < 0)
		part->no_memory = true;
	for (size_t i = 0; i < part->count && !part->no_memory; i++) {
		stat_entry(part, i, &path, &target);
		part->list[i].xattrs_end = part->xattrs.size;
	}
}

static int read_names(struct listing *listing)
{
	int ancestor = listing->ancestor ? listing->ancestor->fd : listing->root_fd;
	int ret = dw_dir_open_at(ancestor, listing->path, &listing->fd);

	if (ret < 0 || (ret = dw_dir_list(listing->fd, &listing->names)) < 0)
		return ret;
	listing->part_count = (listing->names.count + LISTING_PART - 1) / LISTING_PART;
	listing->parts = dw_calloc(listing->part_count, sizeof(*listing->parts));
	if (!listing->parts) {
		listing->part_count = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < listing->part_count; i++) {
		size_t first = i * LISTING_PART, rest = listing->names.count - first;

		listing->parts[i] = (struct listing_part){
			.task = { .run = run_part },
			.listing = listing,
			.first = first,
			.count = rest < LISTING_PART ? rest : LISTING_PART,
		};
	}
	return 0;
}

/* Whether the directory has subdirectories to open. */
static bool has_subdirectories(const struct listing *listing)
{
	const struct listing_part *part = listing->parts;

	for (size_t i = 0; part && part->list && i < part->count; i++)
		if (part->list[i].is_included && is_directory_stat(&part->list[i].stat))
			return true;
	return false;
}

static void run_listing(struct task *task)
{
	struct listing *listing = (struct listing *)task;

	listing->errnum = -read_names(listing);
	if (listing->errnum == 0 && listing->part_count > 0)
		run_part(&listing->parts[0].task);
	if (listing->part_count <= 1 && !has_subdirectories(listing)) {
		dw_fd_close(listing->fd);
		listing->fd = -1;
	}
}

/* -- create and free ----------------------------------------------------------------- */

void dw_listing_drop_part(struct listing_part *part)
{
	dw_free(part->list);
	part->list = NULL;
	dw_buffer_free(&part->targets);
	dw_buffer_free(&part->xattrs);
}

void dw_listing_free(struct listing *listing)
{
	if (!listing)
		return;
	for (size_t i = 0; i < listing->part_count; i++)
		dw_listing_drop_part(&listing->parts[i]);
	dw_free(listing->parts);
	dw_os_names_free(&listing->names);
	dw_fd_close(listing->fd);
	dw_cached_directory_release(listing->ancestor);
	dw_free(listing->path);
	dw_free(listing->path_from_root);
	dw_free(listing);
}

struct listing *dw_listing_new(const struct build_options *options, int root_fd,
			       struct cached_directory *ancestor, const char *path,
			       const char *path_from_root)
{
	const struct filter *filter = options->input.filter;
	DW_AUTO(listing) struct listing *listing = dw_calloc(1, sizeof(*listing));

	if (!listing)
		return NULL;
	listing->task.run = run_listing;
	listing->fd = -1;
	listing->root_fd = root_fd;
	listing->options = options;
	listing->filter = filter;
	if (!(listing->path = dw_strdup(path)))
		return NULL;
	if (filter) {
		if (!(listing->path_from_root = dw_strdup(path_from_root)))
			return NULL;
		listing->path_from_root_bytes = strlen(path_from_root);
	}
	listing->ancestor = dw_cached_directory_share(ancestor);
	return dw_steal(listing);
}
