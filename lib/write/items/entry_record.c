/* SPDX-License-Identifier: MIT */
/*
 * write/items/entry_record: the record of an item, or of an entry of a directory or an image.
 *
 * Records have attributes and the source of the contents; times, extended attributes and
 * texts are in tables of the assembly. Implements the part of assembly.h for entries of
 * directories and images; add_item.c has the contents of items.
 */
#include "base/machine/limits.h"
#include "format/metadata.h"
#include "write/items/entry_record.h"

static int add_times(struct assembly *assembly, struct record *record,
		     const struct tree_times *times, dwarfs_error **err)
{
	int ret = dw_grow(&assembly->times, &assembly->time_room,
			  assembly->time_count + 1, err);

	if (ret < 0)
		return ret;
	record->times = (uint32_t)assembly->time_count;
	assembly->times[assembly->time_count++] = *times;
	return 0;
}

static int add_xattr_list(struct assembly *assembly, struct record *record,
			  struct span list, dwarfs_error **err)
{
	if (list.size == 0)
		return 0;
	return dw_string_set_add(&assembly->xattrs, list, &record->xattrs, err);
}

int dw_record_add_string(struct assembly *assembly, struct record *record,
			 enum record_kind kind, struct span text, dwarfs_error **err)
{
	record->kind = (uint8_t)kind;
	return dw_string_set_add(&assembly->strings, text, &record->source, err);
}

/* A time that an item does not give is its modification time. */
static int add_item_times(struct assembly *assembly, const dwarfs_item *item,
			  struct record *record, dwarfs_error **err)
{
	struct tree_times times = {
		.atime = item->has_atime ? item->atime : item->mtime,
		.ctime = item->has_ctime ? item->ctime : item->mtime,
		.btime = item->btime,
	};

	if (!item->has_atime && !item->has_ctime && !item->has_btime)
		return 0;
	return add_times(assembly, record, &times, err);
}

/* Values that every reader of the image would refuse. */
static int check_numbers(const dwarfs_item *item, dwarfs_error **err)
{
	if (item->uid == DW_NO_ID || item->gid == DW_NO_ID)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "an image cannot hold owner %" PRIu32
			       " and group %" PRIu32,
			       item->uid, item->gid);
	if (dw_class_of_mode(item->mode) == CLASS_DEV && item->device > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "the number of a device has at most 12 bits for the major "
			       "and 20 for the minor one");
	return 0;
}

int dw_record_of_item(struct assembly *assembly, const dwarfs_item *item,
		      struct record *record, dwarfs_error **err)
{
	int class = dw_class_of_mode(item->mode), ret;

	*record = (struct record){
		.kind = RECORD_PLAIN,
		.size = class == CLASS_DEV ? item->device : 0,
		.mtime = item->mtime.seconds,
		.mtime_ns = item->mtime.nanoseconds,
		.mode = item->mode,
		.uid = item->uid,
		.gid = item->gid,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
	};
	if ((ret = check_numbers(item, err)) < 0)
		return ret;
	if (class == CLASS_LNK && item->text.size == 0)
		return dw_fail(err, DWARFS_ERR_INVALID, "a symbolic link needs a target");
	if (class == CLASS_LNK &&
	    (ret = dw_record_add_string(assembly, record, RECORD_TARGET,
					dw_buffer_span(&item->text), err)) < 0)
		return ret;
	if ((ret = add_item_times(assembly, item, record, err)) < 0)
		return ret;
	return add_xattr_list(assembly, record, dw_buffer_span(&item->xattrs), err);
}

int dw_record_add_file(struct assembly *assembly, struct record *record,
		       const struct os_stat *stat, uint32_t directory, struct span name,
		       dwarfs_error **err)
{
	struct record_file file = {
		.device = stat->device,
		.inode = stat->inode,
		.size = stat->size,
		.mtime = stat->mtime.seconds,
		.mtime_ns = stat->mtime.nanoseconds,
	};
	int ret;

	if ((ret = dw_assembly_add_disk_path(assembly, directory, name, &file.disk_path,
					     err)) < 0 ||
	    (ret = dw_grow(&assembly->files, &assembly->file_room,
			   assembly->file_count + 1, err)) < 0)
		return ret;
	record->kind = RECORD_FILE;
	record->size = stat->size;
	record->source = (uint32_t)assembly->file_count;
	assembly->files[assembly->file_count++] = file;
	return 0;
}

/* A record with the attributes of an entry, except its times other than that of its
 * contents. */
static struct record record_of_stat(const struct os_stat *stat)
{
	return (struct record){
		.kind = RECORD_PLAIN,
		.size = dw_class_of_mode(stat->mode) == CLASS_DEV ? stat->rdev : 0,
		.mtime = stat->mtime.seconds,
		.mtime_ns = stat->mtime.nanoseconds,
		.mode = stat->mode,
		.uid = stat->uid,
		.gid = stat->gid,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
	};
}

/* Give a record its times and attributes, and add it. */
static int finish_record(struct assembly *assembly, struct record *record,
			 const struct os_stat *stat, struct span xattrs,
			 uint32_t *record_out, dwarfs_error **err)
{
	struct tree_times times = { stat->atime, stat->ctime, stat->btime };
	int ret;

	if ((ret = add_times(assembly, record, &times, err)) < 0 ||
	    (ret = add_xattr_list(assembly, record, xattrs, err)) < 0)
		return ret;
	return dw_assembly_add_record(assembly, record, record_out, err);
}

int dw_assembly_add_image_entry(struct assembly *assembly,
				const struct image_entry *entry, uint32_t *record_out,
				dwarfs_error **err)
{
	const struct os_stat *stat = &entry->stat;
	struct record record = record_of_stat(stat);
	int class = dw_class_of_mode(stat->mode), ret = 0;

	record.is_of_image = true;
	if (class == CLASS_REG && stat->size > 0) {
		record.kind = RECORD_IMAGE;
		record.size = stat->size;
		ret = dw_assembly_add_image_file(assembly, &entry->file, &record.source,
						 err);
	} else if (class == CLASS_LNK) {
		ret = dw_record_add_string(assembly, &record, RECORD_TARGET,
					   entry->target, err);
	}
	if (ret < 0)
		return ret;
	return finish_record(assembly, &record, stat, entry->xattrs, record_out, err);
}

int dw_assembly_add_disk_entry(struct assembly *assembly, const struct disk_entry *entry,
			       uint32_t *record_out, dwarfs_error **err)
{
	const struct os_stat *stat = &entry->stat;
	struct record record = record_of_stat(stat);
	int class = dw_class_of_mode(stat->mode), ret = 0;

	if (class == CLASS_REG && stat->size > 0)
		ret = dw_record_add_file(assembly, &record, stat, entry->directory,
					 entry->name, err);
	else if (class == CLASS_LNK)
		ret = dw_record_add_string(assembly, &record, RECORD_TARGET,
					   entry->target, err);
	if (ret < 0)
		return ret;
	return finish_record(assembly, &record, stat, entry->xattrs, record_out, err);
}

static uint64_t count_below(const struct assembly *assembly, struct span path)
{
	uint32_t node = dw_assembly_find(assembly, path);

	return node == DW_NONE ? 0 : dw_assembly_count_below(assembly, node, false);
}

int dw_assembly_put_or_drop(struct assembly *assembly, dwarfs_context *context,
			    const struct buffer *path, uint32_t record,
			    uint32_t *node_out, dwarfs_error **err)
{
	const struct span span = dw_buffer_span(path);
	uint64_t count = 0;
	int ret;

	if ((assembly->records[record].mode & DW_S_IFMT) != DW_S_IFDIR)
		count = count_below(assembly, span);
	ret = dw_assembly_put(assembly, span, record, node_out, err);
	if (ret < 0 && assembly->records[record].names == 0)
		dw_assembly_drop_record(assembly, record);
	/* They are still there if the record was left out or renamed. */
	if (ret == 0 && count > 0 && count_below(assembly, span) == 0)
		dw_log(context, DWARFS_LOG_WARN,
		       "entry '%s': replaces a directory with %" PRIu64 " entr%s",
		       (const char *)path->data, count, count == 1 ? "y" : "ies");
	return ret;
}
