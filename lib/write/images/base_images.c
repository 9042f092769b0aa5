/* SPDX-License-Identifier: MIT */
/*
 * write/images/base_images: images whose data the new image uses, but not their entries.
 *
 * The inodes of a base, which are added for comparison, come last. So the first file of
 * contents is one of the new image unless only a base has the contents, and these are the
 * last ones.
 */
#include <string.h>

#include "format/metadata.h"
#include "write/images/base_images.h"
#include "write/input/entry_details.h"
#include "write/items/assembly.h"
#include "write/tree/path_cursor.h"

/* Sizes of the files whose contents must be compared. */
struct file_sizes {
	uint64_t *list; /* ascending */
	size_t count;
};

static void free_sizes(struct file_sizes *sizes)
{
	dw_free(sizes->list);
}

static bool has_bases(const struct build_run *run)
{
	const struct assembly *assembly = run->assembly;

	for (size_t i = 0; assembly && i < assembly->image_count; i++)
		if (assembly->images[i]->is_base)
			return true;
	return false;
}

/* -- files that are known -------------------------------------------------------------- */

/* Let an inode have its contents from a file of an image. */
static int use_file(struct assembly *assembly, uint32_t image,
		    const struct source_file *file, struct tree_inode *inode,
		    dwarfs_error **err)
{
	struct image_file image_file = {
		.first_chunk = file->first_chunk,
		.chunk_count = file->chunk_count,
		.image = image,
		.inode = file->inode,
	};
	struct record record = {
		.kind = RECORD_IMAGE,
		.size = file->size,
		.mode = DW_S_IFREG,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
	};
	uint32_t number;
	int ret;

	if ((ret = dw_assembly_add_image_file(assembly, &image_file, &record.source,
					      err)) < 0 ||
	    (ret = dw_assembly_add_record(assembly, &record, &number, err)) < 0)
		return ret;
	inode->record = number;
	return 0;
}

/* Some file systems store times in steps of two seconds. */
#define LEAST_STEP_SECONDS 2

/*
 * Whether the base has a time, as exactly as it stores times. A time that is not over when the
 * data of the base were read says nothing: the file may have changed again within it.
 */
static bool is_same_time(const struct source_image *base, struct os_time stored,
			 struct os_time time)
{
	uint64_t step = base->time_step;
	int64_t seconds = (int64_t)(step / DW_NS_PER_SECOND), rest;

	if (step == 0 || base->made == INT64_MAX ||
	    stored.seconds >
		    base->made -
			    (seconds > LEAST_STEP_SECONDS ? seconds : LEAST_STEP_SECONDS))
		return false;
	if (seconds == 0)
		return stored.seconds == time.seconds &&
		       stored.nanoseconds ==
			       time.nanoseconds - time.nanoseconds % (uint32_t)step;
	rest = time.seconds % seconds;
	rest += rest < 0 ? seconds : 0;
	return stored.seconds == time.seconds - rest;
}

/* Whether a file has not changed since. A program can set the modification time, but not the
 * time of the change, which is known if all times are stored. */
static bool has_same_times(const struct source_image *base,
			   const struct source_file *file, const struct tree *tree,
			   const struct tree_inode *inode)
{
	const struct os_time mtime = { inode->mtime, inode->mtime_ns };

	if (!is_same_time(base, file->mtime, mtime))
		return false;
	return !file->has_ctime || !tree->times ||
	       is_same_time(base, file->ctime, tree->times[inode - tree->inodes].ctime);
}

/* Find a file in the bases; DW_NONE if none has it. */
static uint32_t find_in_bases(const struct assembly *assembly, const struct tree *tree,
			      const struct tree_inode *inode, const char *path,
			      struct source_file *file_out)
{
	for (uint32_t i = 0; i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		if (image->is_base && image->trusts_times &&
		    image->ops->find(image->user, path, file_out) &&
		    file_out->size == inode->size &&
		    has_same_times(image, file_out, tree, inode))
			return i;
	}
	return DW_NONE;
}

static bool is_plain_file(const struct build_run *run, const struct tree_inode *inode)
{
	return (inode->mode & DW_S_IFMT) == DW_S_IFREG && inode->size > 0 &&
	       !dw_kept_file_of(run, inode);
}

static int use_known_files(struct build_run *run, struct tree *tree, dwarfs_error **err)
{
	__attribute__((cleanup(dw_path_cursor_free))) struct path_cursor cursor = { 0 };
	int ret;

	for (size_t i = 0; i < tree->inode_count; i++) {
		struct tree_inode *inode = &tree->inodes[i];
		struct source_file file;
		uint32_t image;

		if (!is_plain_file(run, inode))
			continue;
		if ((ret = dw_path_cursor_go(&cursor, tree, inode->entry, err)) < 0)
			return ret;
		image = find_in_bases(run->assembly, tree, inode,
				      (const char *)cursor.path.data, &file);
		if (image != DW_NONE &&
		    (ret = use_file(run->assembly, image, &file, inode, err)) < 0)
			return ret;
		if ((ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

/* -- files for comparison -------------------------------------------------------------- */

static int compare_sizes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int list_sizes(const struct build_run *run, const struct tree *tree,
		      struct file_sizes *sizes, dwarfs_error **err)
{
	if (!(sizes->list = dw_calloc(tree->inode_count, sizeof(*sizes->list))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < tree->inode_count; i++)
		if (is_plain_file(run, &tree->inodes[i]))
			sizes->list[sizes->count++] = tree->inodes[i].size;
	if (sizes->count > 0)
		qsort(sizes->list, sizes->count, sizeof(*sizes->list), compare_sizes);
	return 0;
}

static int add_file(struct build_run *run, struct tree *tree, uint32_t image,
		    const struct source_file *file, dwarfs_error **err)
{
	struct os_stat stat = { .mode = DW_S_IFREG, .links = 1, .size = file->size };
	uint32_t inode;
	int ret =
		dw_tree_add_inode(tree, &stat, dw_keeps_times(run->options), &inode, err);

	return ret < 0 ? ret
		       : use_file(run->assembly, image, file, &tree->inodes[inode], err);
}

static int add_files(struct build_run *run, struct tree *tree,
		     const struct file_sizes *sizes, uint32_t image, dwarfs_error **err)
{
	const struct source_image *base = run->assembly->images[image];
	int ret;

	for (uint32_t i = 0; i < base->file_count; i++) {
		struct source_file file;

		if (!base->ops->file(base->user, i, &file) ||
		    !bsearch(&file.size, sizes->list, sizes->count, sizeof(file.size),
			     compare_sizes))
			continue;
		if ((ret = add_file(run, tree, image, &file, err)) < 0 ||
		    (ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_bases_apply(struct build_run *run, struct tree *tree, uint32_t *inodes_out,
		   dwarfs_error **err)
{
	__attribute__((cleanup(free_sizes))) struct file_sizes sizes = { 0 };
	int ret;

	*inodes_out = (uint32_t)tree->inode_count;
	if (!has_bases(run) || run->options->input.hollow)
		return 0;
	if ((ret = use_known_files(run, tree, err)) < 0 ||
	    (ret = list_sizes(run, tree, &sizes, err)) < 0 || sizes.count == 0 ||
	    !run->options->input.file_hash)
		return ret < 0 ? ret : 0;
	for (uint32_t i = 0; i < run->assembly->image_count; i++)
		if (run->assembly->images[i]->is_base &&
		    (ret = add_files(run, tree, &sizes, i, err)) < 0)
			return ret;
	return 0;
}

void dw_bases_remove(struct tree *tree, struct contents *contents, uint32_t inodes)
{
	if (tree->inode_count == inodes)
		return;
	while (contents->count > 0 && contents->list[contents->count - 1].inode >= inodes)
		contents->fragment_count =
			contents->list[--contents->count].first_fragment;
	for (uint32_t i = 0; i < inodes; i++) {
		struct tree_inode *inode = &tree->inodes[i];

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG)
			continue;
		while (inode->next != DW_NONE && inode->next >= inodes)
			inode->next = tree->inodes[inode->next].next;
	}
	tree->inode_count = inodes; /* contents may name removed ones as kept_inode */
}
