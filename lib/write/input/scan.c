/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan: directories -> tree.
 *
 * Takes the input directory, fills struct tree. A list of paths is handed to path_list.c,
 * items to assembled_tree.c. Reads names, attributes and link targets, no file data.
 *
 * Directories are walked depth first with an explicit stack. Worker threads list
 * directories at the top of the stack ahead (scan_directory.c); only the calling thread
 * changes the tree, in a fixed order, so the tree does not depend on the number of
 * workers. A listing belongs to its task until dw_tasks_wait() returns; no other locks
 * are needed. If no descriptor is left, nothing is listed ahead from then on.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/input/entry_import.h"
#include "write/input/path_list.h"
#include "write/input/scan.h"
#include "write/input/scan_directory.h"
#include "write/items/assembly.h"
#include "write/tree/path_cursor.h"

/* Directories listed ahead: for each thread, and in all. */
#define AHEAD_PER_WORKER 4
#define AHEAD_MAX	 64

/* Interval of progress reports while waiting for a listing. */
#define WAIT_NS 20000000

/* A directory whose entries are not in the tree yet. */
struct queued_directory {
	uint32_t entry;
	struct listing *listing; /* once it was offered to the workers, or NULL */
};

struct scanner {
	struct build_run *run;
	struct tree *tree;
	struct entry_import import;
	struct tasks *tasks;
	uint32_t workers;
	struct directory_cache directories;
	struct queued_directory *stack; /* the next one last */
	size_t stack_count, stack_room;
	size_t ahead; /* listings in the stack */
	struct path_cursor cursor, ahead_cursor;
	size_t path_bytes; /* of the current directory */
};

static void free_scanner(struct scanner *scanner)
{
	dw_tasks_free(scanner->tasks);
	for (size_t i = 0; i < scanner->stack_count; i++)
		dw_listing_free(scanner->stack[i].listing);
	dw_free(scanner->stack);
	dw_directory_cache_free(&scanner->directories);
	dw_entry_import_free(&scanner->import);
	dw_path_cursor_free(&scanner->cursor);
	dw_path_cursor_free(&scanner->ahead_cursor);
}
#define auto_scanner __attribute__((cleanup(free_scanner)))

/* -- listing ahead ------------------------------------------------------------------ */

static int new_listing(struct scanner *scanner, uint32_t entry,
		       struct listing **listing_out, dwarfs_error **err)
{
	const struct filter *filter = scanner->run->options->input.filter;
	struct cached_directory *ancestor = NULL;
	const char *path = "";
	int ret;

	if (entry != 0 &&
	    (ret = dw_directory_cache_find_ancestor(&scanner->directories, entry,
						    &ancestor, &path, err)) < 0)
		return ret;
	if (filter && (ret = dw_path_cursor_go(&scanner->ahead_cursor, scanner->tree,
					       entry, err)) < 0)
		return ret;
	*listing_out =
		dw_listing_new(scanner->run->options, scanner->run->root_fd, ancestor,
			       path, (const char *)scanner->ahead_cursor.path.data);
	return *listing_out ? 0 : dw_fail_nomem(err);
}

/* Offer the next directories to the workers; the first of them last, so that it is
 * started first. */
static int offer_listings(struct scanner *scanner, dwarfs_error **err)
{
	size_t count = (size_t)scanner->workers * AHEAD_PER_WORKER;
	int ret;

	if (count > scanner->stack_count)
		count = scanner->stack_count;
	for (size_t i = scanner->stack_count - count; i < scanner->stack_count; i++) {
		struct queued_directory *queued_directory = &scanner->stack[i];

		if (queued_directory->listing || scanner->ahead >= AHEAD_MAX)
			continue;
		if ((ret = new_listing(scanner, queued_directory->entry,
				       &queued_directory->listing, err)) < 0)
			return ret;
		scanner->ahead++;
		ret = dw_tasks_offer(scanner->tasks, &queued_directory->listing->task,
				     err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int wait_for_task(struct scanner *scanner, struct task *task, dwarfs_error **err)
{
	int ret = 0;

	while (!dw_tasks_wait(scanner->tasks, task, WAIT_NS))
		if (ret == 0)
			ret = dw_progress_tick(&scanner->run->progress, err);
	return ret;
}

/* -- entries ------------------------------------------------------------------------ */

static const char *path_of_child(struct scanner *scanner, const char *name,
				 dwarfs_error **err)
{
	struct buffer *path = &scanner->cursor.path;

	path->size = scanner->path_bytes;
	if ((scanner->path_bytes && dw_buffer_append(path, "/", 1, err) < 0) ||
	    dw_buffer_append(path, name, strlen(name) + 1, err) < 0)
		return NULL;
	return (const char *)path->data;
}

static int push_scan_directory(struct scanner *scanner, uint32_t entry,
			       dwarfs_error **err)
{
	int ret = dw_grow(&scanner->stack, &scanner->stack_room, scanner->stack_count + 1,
			  err);

	if (ret < 0)
		return ret;
	scanner->stack[scanner->stack_count++] =
		(struct queued_directory){ .entry = entry };
	return 0;
}

/* Report the decision of the filter to the callback. */
static int report_filter_result(struct scanner *scanner, const struct listed *listed,
				const char *path, dwarfs_error **err)
{
	const struct input_options *options = &scanner->run->options->input;
	bool is_directory = (listed->stat.mode & DW_S_IFMT) == DW_S_IFDIR;
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (!options->report || listed->errnum != 0)
		return 0;
	ret = options->report(path, is_directory, listed->is_included, &why,
			      options->report_user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &why, err);
}

static int import_listed(struct scanner *scanner, uint32_t parent, const char *name,
			 const struct listing_part *part, const struct listed *listed,
			 dwarfs_error **err)
{
	struct tree *tree = scanner->tree;
	struct found_entry found = { .stat = listed->stat,
				     .path = path_of_child(scanner, name, err) };
	bool is_link = (listed->stat.mode & DW_S_IFMT) == DW_S_IFLNK;
	uint32_t inode, entry = (uint32_t)tree->entry_count;
	int ret;

	if (!found.path)
		return DWARFS_ERR_NOMEM;
	if ((ret = report_filter_result(scanner, listed, found.path, err)) < 0 ||
	    !listed->is_included)
		return ret;
	if (listed->errnum)
		return dw_build_complain(scanner->run, found.path, listed->errnum,
					 is_link ? "cannot read link" : "cannot inspect",
					 "leaving it out", err);
	if (is_link)
		found.target.data = part->targets.data + listed->target;
	if (is_link)
		found.target.size = strlen((const char *)found.target.data);
	found.xattrs = dw_listed_xattrs(part, listed);
	found.xattrs_errnum = listed->xattrs_errnum;
	if ((ret = dw_entry_import_one(&scanner->import, &found, &inode, err)) < 0 ||
	    inode == DW_NONE)
		return ret;
	if ((ret = dw_tree_add_entry(tree, parent,
				     (struct span){ (const uint8_t *)name, strlen(name) },
				     inode, err)) < 0)
		return ret;
	if ((listed->stat.mode & DW_S_IFMT) == DW_S_IFDIR)
		return push_scan_directory(scanner, entry, err);
	return 0;
}

/* -- directories -------------------------------------------------------------------- */

static int import_part(struct scanner *scanner, uint32_t entry, struct listing_part *part,
		       dwarfs_error **err)
{
	struct dwarfs_progress *progress = &scanner->run->progress;
	const struct os_names *names = &part->listing->names;
	int ret;

	if (part->no_memory)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < part->count; i++) {
		const char *name = dw_os_name(names, part->first + i);

		ret = import_listed(scanner, entry, name, part, &part->list[i], err);
		if (ret < 0)
			return ret;
		progress->items_done = scanner->tree->entry_count;
		progress->bytes_done = scanner->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = (const char *)scanner->cursor.path.data;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	dw_listing_drop_part(part);
	return 0;
}

/* Import the parts of a listing in order, offering later parts ahead. The first part was
 * read by the task of the listing. */
static int import_parts(struct scanner *scanner, uint32_t entry, struct listing *listing,
			dwarfs_error **err)
{
	int ret;

	listing->offered = 1;
	for (size_t i = 0; i < listing->part_count; i++) {
		while (listing->offered < listing->part_count &&
		       listing->offered <= i + scanner->workers) {
			struct listing_part *part = &listing->parts[listing->offered++];

			if ((ret = dw_tasks_offer(scanner->tasks, &part->task, err)) < 0)
				return ret;
		}
		if (i > 0 &&
		    (ret = wait_for_task(scanner, &listing->parts[i].task, err)) < 0)
			return ret;
		if ((ret = import_part(scanner, entry, &listing->parts[i], err)) < 0)
			return ret;
	}
	return 0;
}

static int import_listing(struct scanner *scanner, uint32_t entry,
			  struct listing *listing, dwarfs_error **err)
{
	size_t before = scanner->stack_count;
	int ret;

	if (listing->errnum == ENOMEM)
		return dw_fail_nomem(err);
	if (listing->errnum)
		return dw_build_complain(scanner->run,
					 (const char *)scanner->cursor.path.data,
					 listing->errnum, "cannot read directory",
					 "storing it empty", err);
	if ((ret = import_parts(scanner, entry, listing, err)) < 0)
		return ret;
	if (scanner->stack_count == before)
		return 0;
	/* The stack is popped from its end: the first directory must be the last one. */
	dw_reverse(scanner->stack + before, scanner->stack_count - before,
		   sizeof(*scanner->stack));
	ret = entry == 0 ? 0
			 : dw_directory_cache_keep(&scanner->directories, entry,
						   listing->fd, err);
	if (entry != 0)
		listing->fd = -1;
	return ret;
}

/* After an error, wait for the tasks that still use the listing. */
static void end_listing(struct scanner *scanner, struct listing *listing, int ret)
{
	for (size_t i = 1; ret < 0 && listing && i < listing->offered; i++)
		while (!dw_tasks_wait(scanner->tasks, &listing->parts[i].task, WAIT_NS))
			continue;
	dw_listing_free(listing);
}

/*
 * No descriptor was left for a listing: close all directories and drop what was listed
 * ahead, then list it, and all directories after it, on this thread.
 */
static int list_alone(struct scanner *scanner, uint32_t entry,
		      struct listing **listing_inout, dwarfs_error **err)
{
	int ret;

	dw_tasks_free(dw_steal(scanner->tasks));
	for (size_t i = 0; i < scanner->stack_count; i++)
		dw_listing_free(dw_steal(scanner->stack[i].listing));
	dw_listing_free(dw_steal(*listing_inout));
	dw_directory_cache_empty(&scanner->directories);
	scanner->ahead = 0;
	scanner->workers = 0;
	if ((ret = dw_tasks_new(0, &scanner->tasks, err)) < 0 ||
	    (ret = new_listing(scanner, entry, listing_inout, err)) < 0)
		return ret;
	return wait_for_task(scanner, &(*listing_inout)->task, err);
}

static int import_directory(struct scanner *scanner, struct queued_directory *next,
			    dwarfs_error **err)
{
	struct tree *tree = scanner->tree;
	uint32_t entry = next->entry;
	struct listing *listing = next->listing;
	int ret;

	if (!listing && (ret = new_listing(scanner, entry, &listing, err)) < 0)
		return ret;
	ret = wait_for_task(scanner, &listing->task, err);
	if (ret == 0 && dw_fd_is_exhausted(listing->errnum))
		ret = list_alone(scanner, entry, &listing, err);
	if (ret == 0)
		ret = dw_grow(&tree->directories, &tree->directory_room,
			      tree->directory_count + 1, err);
	if (ret == 0)
		ret = dw_path_cursor_go(&scanner->cursor, tree, entry, err);
	if (ret == 0) {
		tree->directories[tree->directory_count++] =
			(struct tree_directory){ entry, (uint32_t)tree->entry_count };
		scanner->path_bytes = scanner->cursor.path.size;
		ret = import_listing(scanner, entry, listing, err);
	}
	end_listing(scanner, listing, ret);
	return ret;
}

static int scan_root(struct scanner *scanner, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_entry_import_root(&scanner->import, err)) < 0 ||
	    (ret = push_scan_directory(scanner, 0, err)) < 0)
		return ret;
	while (scanner->stack_count > 0) {
		struct queued_directory next;

		if ((ret = offer_listings(scanner, err)) < 0)
			return ret;
		next = scanner->stack[--scanner->stack_count];
		scanner->ahead -= next.listing != NULL;
		if ((ret = import_directory(scanner, &next, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_scan(struct build_run *run, struct tree *tree, dwarfs_error **err)
{
	const struct build_options *options = run->options;
	auto_scanner struct scanner scanner = {
		.run = run,
		.tree = tree,
		.workers = dw_input_workers(run),
		.import = { .run = run,
			    .tree = tree,
			    .devices = options->devices,
			    .specials = options->specials },
	};
	int ret;

	if ((ret = dw_progress_enter(&run->progress, DWARFS_PHASE_SCAN, err)) < 0)
		return ret;
	dw_directory_cache_init(&scanner.directories, run->root_fd, tree,
				DIRECTORY_SLOTS);
	if ((ret = dw_tasks_new(scanner.workers, &scanner.tasks, err)) < 0)
		return ret;
	if (run->assembly)
		ret = dw_assembly_to_tree(run, tree, &scanner.import, err);
	else
		ret = options->input.paths ? dw_path_list_to_tree(run, tree, err)
					   : scan_root(&scanner, err);
	run->progress.path = NULL;
	if (ret == 0 && options->input.remove_empty_directories)
		ret = dw_tree_prune(tree, err);
	run->counts[DWARFS_COUNT_DIRECTORIES] = tree->directory_count;
	return ret;
}
