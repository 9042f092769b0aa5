/* SPDX-License-Identifier: MIT */
/*
 * rewrite/add_image: add the entries of an image to a builder. See <dwarfs/rewrite.h>.
 *
 * Walks the image and puts a record for each entry at its path. Contents stay in the
 * image: a record refers to its chunks (write/images/source_image.h).
 */
#include <stdio.h>
#include <string.h>

#include <dwarfs/rewrite.h>
#include <dwarfs/walk.h>
#include <dwarfs/xattr.h>

#include "read/image/image.h"
#include "rewrite/add_image.h"
#include "rewrite/image_source.h"
#include "rewrite/source_sections.h"
#include "rewrite/versions.h"
#include "write/items/assembly.h"
#include "write/items/item.h"

DW_DEFINE_AUTO(walk, dwarfs_walk *, dwarfs_walk_free)

/* A record that other names of an inode may share. */
struct linked_name {
	uint32_t record;
	uint32_t previous; /* of the inode, + 1; or 0 */
};

struct image_import {
	dwarfs_builder *builder;
	struct assembly *assembly;
	const dwarfs_image *image;
	uint32_t number;  /* of the image in the assembly */
	uint32_t *linked; /* by inode: its last one of names, + 1; or 0 */
	struct linked_name *names;
	size_t name_count, name_room;
	uint32_t first_node; /* later ones are of this image */
	struct buffer path;  /* with the prefix, and a NUL that does not count */
	size_t prefix_bytes;
	struct buffer target, xattrs;
};

static void free_image_import(struct image_import *import)
{
	dw_free(import->linked);
	dw_free(import->names);
	dw_buffer_free(&import->path);
	dw_buffer_free(&import->target);
	dw_buffer_free(&import->xattrs);
}

/* -- damage ---------------------------------------------------------------------------- */

/* Symbolic links of Linux. */
#define MAX_TARGET_BYTES 4095

/* Records of an inode that are compared with an entry. */
#define MAX_LINKED 64

/* An entry that the image has no valid data for is an error, or a warning that is counted if
 * damage of the image is accepted: then a positive value. */
static int report_damage(const struct image_import *import, const char *path,
			 const char *what, const char *consequence, dwarfs_error **err)
{
	dwarfs_builder *builder = import->builder;

	if (!import->image->trusts_blocks)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "%s", what);
	builder->counts[DWARFS_COUNT_ERRORS]++;
	dw_log(builder->context, DWARFS_LOG_WARN, "'%s': '%s': %s, %s",
	       import->assembly->images[import->number]->name, path, what, consequence);
	return 1;
}

/* Invalid attributes have defaults, which must not become those of the new image. */
static int check_attributes(const struct image_import *import,
			    const struct dwarfs_stat *stat, const char *path,
			    dwarfs_error **err)
{
	uint32_t invalid = stat->invalid;
	char what[256];
	int bytes, ret;

	/* Times that are not stored are invalid if the one they default to is. */
	if (import->image->view->mtime_only)
		invalid &= ~(uint32_t)(DWARFS_ATTRIBUTE_ATIME | DWARFS_ATTRIBUTE_CTIME);
	if (invalid == 0)
		return 0;
	bytes = snprintf(what, sizeof(what), "no valid value for");
	for (uint32_t bit = 1; invalid != 0; invalid &= ~bit, bit <<= 1)
		if (invalid & bit)
			bytes += snprintf(what + bytes, sizeof(what) - (size_t)bytes,
					  "%s %s", bytes > 20 ? "," : "",
					  dwarfs_attribute_name(bit));
	ret = report_damage(import, path, what, "using a default", err);
	return ret < 0 ? ret : 0;
}

/* Two entries with one name: 1, and the second one is left out. The walk gives each path once
 * otherwise; entries of other inputs have nodes before those of this image, or another layer. */
static int check_name(const struct image_import *import, const char *path,
		      dwarfs_error **err)
{
	const struct assembly *assembly = import->assembly;
	uint32_t node = dw_assembly_find(assembly, dw_buffer_span(&import->path));

	if (node == DW_NONE || node < import->first_node ||
	    assembly->nodes[node].layer != assembly->layer)
		return 0;
	return report_damage(import, path, "its directory has two entries with this name",
			     "leaving the second one out", err);
}

/* A target that no image can have: 1, and the link is left out. */
static int check_target(const struct image_import *import, const char *path,
			dwarfs_error **err)
{
	const struct buffer *target = &import->target;
	const char *what = "the target of the link is empty";

	if (target->size > MAX_TARGET_BYTES)
		what = "the target of the link is too long";
	else if (target->size > 0)
		return 0;
	return report_damage(import, path, what, "leaving it out", err);
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

/* 1: the link is left out. */
static int need_target(struct image_import *import, const struct dwarfs_stat *stat,
		       const char *path, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = get_target(import, stat, &why);

	if (ret == DWARFS_ERR_CORRUPT && import->image->trusts_blocks)
		return report_damage(import, path, dwarfs_error_message(why),
				     "leaving it out", err);
	return ret < 0 ? dw_error_copy(err, ret, why) : check_target(import, path, err);
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

/* Returns 1 if the entry is to be left out. */
static int new_record(struct image_import *import, const struct dwarfs_stat *stat,
		      const char *path, uint32_t *record_out, dwarfs_error **err)
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
	if (class == CLASS_LNK && (ret = need_target(import, stat, path, err)) != 0)
		return ret;
	entry.target = dw_buffer_span(&import->target);
	entry.xattrs = dw_buffer_span(&import->xattrs);
	return dw_assembly_add_image_entry(import->assembly, &entry, record_out, err);
}

/* -- hard links ------------------------------------------------------------------------ */

/* Whether a record is that of the inode of an entry, with the same attributes. */
static bool is_record_of(const struct image_import *import, uint32_t number,
			 const struct dwarfs_stat *stat)
{
	const struct record *record = &import->assembly->records[number];

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

/*
 * The record that an entry shares as one more name of its inode, or DW_NONE. Before format 2.3
 * attributes are those of the entry, and equal files share an inode: such entries are
 * hard links only if they have the same attributes.
 */
static uint32_t find_linked(const struct image_import *import,
			    const struct dwarfs_stat *stat)
{
	uint32_t number = import->linked[stat->inode];

	if (dw_class_of_mode(stat->mode) != CLASS_REG)
		return DW_NONE;
	for (int i = 0; i < MAX_LINKED && number != 0; i++) {
		const struct linked_name *name = &import->names[number - 1];

		if (is_record_of(import, name->record, stat))
			return name->record;
		number = name->previous;
	}
	return DW_NONE;
}

/* Let other names of the inode share a record. */
static int note_linked(struct image_import *import, const struct dwarfs_stat *stat,
		       uint32_t record, dwarfs_error **err)
{
	uint32_t *last = &import->linked[stat->inode];
	int ret;

	if (record == DW_NONE || dw_class_of_mode(stat->mode) != CLASS_REG ||
	    find_linked(import, stat) == record)
		return 0;
	if ((ret = dw_grow(&import->names, &import->name_room, import->name_count + 1,
			   err)) < 0)
		return ret;
	import->names[import->name_count++] = (struct linked_name){ record, *last };
	*last = (uint32_t)import->name_count;
	return 0;
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

/* Put a record at the path. Below an entry that was left out there is no directory. */
static int put_record(struct image_import *import, const char *path, uint32_t *record,
		      dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint32_t node = DW_NONE;
	int ret = dw_assembly_put_or_drop(import->assembly, import->builder->context,
					  &import->path, *record, &node, &why);

	if (ret == DWARFS_ERR_NOT_DIR && import->image->trusts_blocks)
		ret = report_damage(import, path, "its parent is not a directory",
				    "leaving it out", err);
	else if (ret < 0)
		return dw_error_copy(err, ret, why);
	/* It was left out, or another one kept; its record stays if it has other names. */
	if (import->assembly->records[*record].names == 0)
		*record = DW_NONE;
	return ret < 0 ? ret : 0;
}

/* The record of an entry; 1: it is left out. */
static int find_record(struct image_import *import, const struct dwarfs_stat *stat,
		       const char *path, uint32_t *record_out, dwarfs_error **err)
{
	int ret;

	if ((ret = check_attributes(import, stat, path, err)) < 0 ||
	    (ret = check_name(import, path, err)) != 0)
		return ret;
	*record_out = find_linked(import, stat);
	return *record_out == DW_NONE ? new_record(import, stat, path, record_out, err)
				      : 0;
}

static int add_entry(struct image_import *import, dwarfs_entry entry, const char *path,
		     dwarfs_error **err)
{
	struct dwarfs_stat stat;
	uint32_t record;
	int ret;

	if ((ret = set_path(import, path, err)) < 0 ||
	    (ret = dw_item_check_path(dw_buffer_span(&import->path), err)) < 0 ||
	    (ret = dw_view_entry_stat(import->image->view, entry.number, &stat, err)) < 0)
		return ret;
	if ((ret = find_record(import, &stat, *path ? path : "/", &record, err)) != 0)
		return ret < 0 ? dw_explain(err, ret, "'%s'", *path ? path : "/") : 0;
	if ((ret = put_record(import, path, &record, err)) < 0)
		return ret;
	return note_linked(import, &stat, record, err);
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

/* -- all of the metadata ---------------------------------------------------------------- */

struct broken_rule {
	dwarfs_error **err;
	int code;
};

static void note_rule(void *user, int severity, const char *message)
{
	struct broken_rule *rule = user;

	if (severity == DWARFS_FINDING_ERROR && rule->code == 0)
		rule->code = dw_fail(rule->err, DWARFS_ERR_CORRUPT, "%s", message);
}

/* What breaks a rule of the format is left out, unless damage is accepted. */
static int check_rules(const dwarfs_image *image, const struct source_image *source,
		       dwarfs_error **err)
{
	struct broken_rule rule = { .err = err };
	int ret;

	if (source->is_lenient)
		return 0;
	ret = dw_view_check(image->view, image->block_count, note_rule, &rule, NULL);
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : rule.code;
}

/* -- the whole ------------------------------------------------------------------------- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Attributes of an image are kept as exactly as it has them, unless the options say
 * otherwise. Times of several images are multiples of a common divisor. */
static void adopt_options(dwarfs_builder *builder, const dwarfs_image *image)
{
	struct build_options *options = &builder->options;
	uint64_t resolution = dwarfs_image_time_resolution_ns(image);

	if (!options->resolution_was_set && resolution > 0) {
		options->resolution_ns =
			options->resolution_was_adopted
				? common_divisor(options->resolution_ns, resolution)
				: resolution;
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
	/* Nodes of this image come after those of others; see check_name(). */
	import.assembly->free_node = DW_NONE;
	import.first_node = (uint32_t)import.assembly->node_count;
	/* Entries first: their errors name them. */
	if ((ret = add_entries(&import, err)) < 0)
		return ret;
	return check_rules(image, import.assembly->images[import.number], err);
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
	    (ret = dw_source_of_image(builder, image, true, &source, err)) < 0 ||
	    (ret = check_rules(image, source, err)) < 0)
		return ret;
	source->is_base = true;
	source->trusts_times = trust == DWARFS_BASE_TRUST_TIMES;
	if ((ret = dw_assembly_add_image(assembly, source, &number, err)) < 0)
		return ret;
	source = NULL; /* the assembly's */
	return 0;
}
