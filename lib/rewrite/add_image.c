/* SPDX-License-Identifier: MIT */
/*
 * rewrite/add_image: add the entries of an image to a builder. See <dwarfs/rewrite.h>.
 *
 * Walks the image and puts a record for each entry at its path. Contents stay in the
 * image: a record names its chunks (write/images/source_image.h).
 */
#include <string.h>

#include <dwarfs/rewrite.h>
#include <dwarfs/walk.h>
#include <dwarfs/xattr.h>

#include "read/image.h"
#include "rewrite/add_image.h"
#include "rewrite/image_source.h"
#include "rewrite/versions.h"
#include "write/items/assembly.h"
#include "write/items/item.h"

DW_DEFINE_AUTO(walk, dwarfs_walk *, dwarfs_walk_free)

struct image_import {
	dwarfs_builder *builder;
	struct assembly *assembly;
	const dwarfs_image *image;
	uint32_t number;    /* of the image in the assembly */
	uint32_t *linked;   /* by inode: record, for other names, + 1; or 0 */
	struct buffer path; /* with the prefix, and a NUL that does not count */
	size_t prefix_bytes;
	struct buffer target, xattrs;
};

static void free_image_import(struct image_import *import)
{
	dw_free(import->linked);
	dw_buffer_free(&import->path);
	dw_buffer_free(&import->target);
	dw_buffer_free(&import->xattrs);
}

/* -- one entry ------------------------------------------------------------------------- */

static uint64_t device_of(const struct dwarfs_stat *stat)
{
	return dw_device_number(stat->rdev_major, stat->rdev_minor);
}

static struct os_time time_of(const struct dwarfs_stat *stat, enum dwarfs_time time)
{
	return (struct os_time){ stat->seconds[time], stat->nanoseconds[time] };
}

static struct os_stat attributes_of(const struct image_import *import,
				    const struct dwarfs_stat *stat)
{
	const struct view *view = import->image->view;

	return (struct os_stat){
		.mode = stat->mode,
		.uid = stat->uid,
		.gid = stat->gid,
		.links = stat->nlink,
		.size = stat->bytes,
		.rdev = device_of(stat),
		.mtime = time_of(stat, DWARFS_MTIME),
		.atime = time_of(stat, DWARFS_ATIME),
		.ctime = time_of(stat, DWARFS_CTIME),
		.btime = view->has_btime ? time_of(stat, DWARFS_BTIME)
					 : (struct os_time){ 0 },
	};
}

static int get_target(struct image_import *import, const struct dwarfs_stat *stat,
		      dwarfs_error **err)
{
	size_t bytes = 0, room = (size_t)stat->bytes + 1;
	int ret;

	import->target.size = 0;
	if ((ret = dw_buffer_reserve(&import->target, room, err)) < 0 ||
	    (ret = dwarfs_link_read(import->image, (dwarfs_inode){ stat->inode },
				    (char *)import->target.data, room, &bytes, err)) < 0)
		return ret;
	import->target.size = bytes;
	return 0;
}

static int get_xattrs(struct image_import *import, uint32_t inode, dwarfs_error **err)
{
	import->xattrs.size = 0;
	if (!import->image->xattr_sections)
		return 0;
	for (size_t i = 0;; i++) {
		const char *name;
		const void *value;
		size_t bytes;
		int ret = dwarfs_xattr_at(import->image, (dwarfs_inode){ inode }, i,
					  &name, &value, &bytes, err);

		if (ret <= 0)
			return ret;
		ret = dw_xattr_list_append(
			&import->xattrs,
			(struct span){ (const uint8_t *)name, strlen(name) },
			(struct span){ value, bytes }, err);
		if (ret < 0)
			return ret;
	}
}

static int get_chunks(const struct image_import *import, const struct dwarfs_stat *stat,
		      struct image_file *file_out, dwarfs_error **err)
{
	struct chunk_range range;
	int ret = dw_view_chunk_range(import->image->view, stat->inode, &range, err);

	if (ret < 0)
		return ret;
	if (range.end - range.first > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many chunks for one image");
	*file_out = (struct image_file){
		.first_chunk = range.first,
		.chunk_count = (uint32_t)(range.end - range.first),
		.image = import->number,
		.inode = stat->inode,
	};
	return 0;
}

static int new_record(struct image_import *import, const struct dwarfs_stat *stat,
		      uint32_t *record_out, dwarfs_error **err)
{
	struct image_entry entry = { .stat = attributes_of(import, stat) };
	int class = dw_class_of_mode(stat->mode), ret;

	if (class < 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "its type is unknown: mode 0%o",
			       (unsigned)stat->mode);
	if ((ret = get_xattrs(import, stat->inode, err)) < 0)
		return ret;
	if (class == CLASS_REG && stat->bytes > 0 &&
	    (ret = get_chunks(import, stat, &entry.file, err)) < 0)
		return ret;
	if (class == CLASS_LNK && (ret = get_target(import, stat, err)) < 0)
		return ret;
	entry.target = dw_buffer_span(&import->target);
	entry.xattrs = dw_buffer_span(&import->xattrs);
	return dw_assembly_add_image_entry(import->assembly, &entry, record_out, err);
}

/* -- hard links ------------------------------------------------------------------------ */

/*
 * Whether an entry is one more name of an inode that has a record. Before format 2.3
 * attributes are those of the entry, and equal files share an inode: such entries are
 * hard links only if they have the same attributes.
 */
static bool is_linked(const struct image_import *import, const struct dwarfs_stat *stat)
{
	const struct record *record;
	uint32_t number = import->linked[stat->inode];

	if (dw_class_of_mode(stat->mode) != CLASS_REG || number == 0)
		return false;
	record = &import->assembly->records[number - 1];
	/* A record that was dropped may be that of another file now. */
	if (record->kind == RECORD_IMAGE) {
		const struct image_file *file =
			&import->assembly->image_files[record->source];

		if (file->image != import->number || file->inode != stat->inode)
			return false;
	} else if (record->kind != RECORD_PLAIN || stat->bytes > 0) {
		return false;
	}
	return record->names > 0 && record->mode == stat->mode &&
	       record->uid == stat->uid && record->gid == stat->gid &&
	       record->mtime == stat->seconds[DWARFS_MTIME] &&
	       record->mtime_ns == stat->nanoseconds[DWARFS_MTIME];
}

/* -- walking --------------------------------------------------------------------------- */

/* The path of an entry, which may be "" for the root. */
static int set_path(struct image_import *import, const char *path, dwarfs_error **err)
{
	struct buffer *to = &import->path;
	int ret;

	to->size = import->prefix_bytes;
	if (*path && to->size > 0 && (ret = dw_buffer_append(to, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(to, path, strlen(path) + 1, err)) < 0)
		return ret;
	to->size--;
	return 0;
}

static int add_entry(struct image_import *import, dwarfs_entry entry, const char *path,
		     dwarfs_error **err)
{
	struct dwarfs_stat stat;
	uint32_t record, node;
	int ret;

	if ((ret = set_path(import, path, err)) < 0 ||
	    (ret = dw_item_check_path(dw_buffer_span(&import->path), err)) < 0 ||
	    (ret = dw_view_entry_stat(import->image->view, entry.number, &stat, err)) < 0)
		return ret;
	if (is_linked(import, &stat))
		record = import->linked[stat.inode] - 1;
	else if ((ret = new_record(import, &stat, &record, err)) < 0)
		return dw_explain(err, ret, "'%s'", path);
	if ((ret = dw_assembly_put_or_drop(import->assembly, import->builder->context,
					   &import->path, record, &node, err)) < 0)
		return ret;
	if (node == DW_NONE) /* it was left out, and its record dropped */
		record = DW_NONE;
	import->linked[stat.inode] = record + 1;
	return 0;
}

static int add_entries(struct image_import *import, dwarfs_error **err)
{
	DW_AUTO(walk) dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	int ret = dwarfs_walk_new(import->image, (dwarfs_entry){ 0 }, DWARFS_WALK_TREE,
				  &walk, err);

	if (ret < 0)
		return ret;
	while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0)
		if ((ret = dw_task_check(import->builder->task, err)) < 0 ||
		    (ret = add_entry(import, entry, dwarfs_walk_path(walk), err)) < 0)
			return ret;
	return ret;
}

/* -- the whole ------------------------------------------------------------------------- */

/* Attributes of an image are kept as exactly as it has them, unless the options say
 * otherwise. */
static void adopt_options(dwarfs_builder *builder, const dwarfs_image *image)
{
	struct build_options *options = &builder->options;
	uint64_t resolution = dwarfs_image_time_resolution_ns(image);

	if (!options->resolution_was_set && resolution > 0 &&
	    (!options->resolution_was_adopted || resolution < options->resolution_ns)) {
		options->resolution_ns = resolution;
		options->resolution_was_adopted = true;
	}
	options->keep_all_times |= !image->view->mtime_only;
	options->keep_birth_times |= image->view->has_btime;
}

int dw_import_image(dwarfs_builder *builder, dwarfs_image *image, struct span prefix,
		    enum dwarfs_image_use use, struct source_image **source_out,
		    dwarfs_error **err)
{
	__attribute__((cleanup(free_image_import))) struct image_import import = {
		.builder = builder,
		.image = image,
		.prefix_bytes = prefix.size,
	};
	__attribute__((cleanup(dw_cleanup_source_image))) struct source_image *source =
		NULL;
	int ret;

	if ((ret = dw_task_check(builder->task, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &import.assembly, err)) < 0 ||
	    (ret = dw_buffer_append(&import.path, prefix.data, prefix.size, err)) < 0 ||
	    (ret = dw_source_of_image(builder, image, use == DWARFS_KEEP_BLOCKS, &source,
				      err)) < 0 ||
	    (ret = dw_source_load_other_sections(image, source, err)) < 0 ||
	    (ret = dw_versions_load(image, source, err)) < 0)
		return ret;
	import.linked = dw_calloc(image->view->inode_count, sizeof(*import.linked));
	if (!import.linked)
		return dw_fail_nomem(err);
	if ((ret = dw_assembly_add_image(import.assembly, source, &import.number, err)) <
	    0)
		return ret;
	*source_out = dw_steal(source); /* the assembly's */
	adopt_options(builder, image);
	return add_entries(&import, err);
}

int dwarfs_builder_add_image(dwarfs_builder *builder, dwarfs_image *image,
			     const char *prefix, size_t bytes, enum dwarfs_image_use use,
			     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !image || !prefix)
		return dw_fail_null(err, "builder, image and prefix");

	struct span span = { (const uint8_t *)prefix, bytes };
	struct source_image *source;
	int ret;

	if (use != DWARFS_KEEP_BLOCKS && use != DWARFS_REPACK)
		return dw_fail(err, DWARFS_ERR_RANGE, "no such use of an image: %d",
			       (int)use);
	if ((ret = dw_item_check_path(span, err)) < 0)
		return ret;
	return dw_import_image(builder, image, span, use, &source, err);
}

int dwarfs_builder_add_base(dwarfs_builder *builder, dwarfs_image *image,
			    enum dwarfs_base_trust trust, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !image)
		return dw_fail_null(err, "builder and image");

	__attribute__((cleanup(dw_cleanup_source_image))) struct source_image *source =
		NULL;
	struct assembly *assembly;
	uint32_t number;
	int ret;

	if (trust != DWARFS_BASE_TRUST_TIMES && trust != DWARFS_BASE_TRUST_NONE)
		return dw_fail(err, DWARFS_ERR_RANGE, "no such trust in a base: %d",
			       (int)trust);
	if ((ret = dw_task_check(builder->task, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &assembly, err)) < 0 ||
	    (ret = dw_source_of_image(builder, image, true, &source, err)) < 0)
		return ret;
	source->is_base = true;
	source->trusts_times = trust == DWARFS_BASE_TRUST_TIMES;
	if ((ret = dw_assembly_add_image(assembly, source, &number, err)) < 0)
		return ret;
	source = NULL; /* the assembly's */
	return 0;
}
