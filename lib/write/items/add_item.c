/* SPDX-License-Identifier: MIT */
/*
 * write/items/add_item: add an item to the assembly. See <dwarfs/item.h>.
 *
 * Checks the item, copies contents that cannot be read again into the spool, and puts a
 * record at the path.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/items/entry_record.h"
#include "write/items/item_contents.h"

#define SPOOL_SHARE 8 /* one part of the memory limit in */
#define SPOOL_BYTES (UINT64_C(64) << 20)

/* Longer chains of unresolved hard links are checked by the run. */
#define MAX_CHAIN 64

/* -- assembly and spool -------------------------------------------------------------- */

int dw_assembly_of(dwarfs_builder *builder, struct assembly **assembly_out,
		   dwarfs_error **err)
{
	int ret;

	if (builder->ran)
		return dw_fail_ran(err);
	if (builder->root_fd >= 0)
		return dw_fail(err, DWARFS_ERR_INVALID, "there is an input already: '%s'",
			       builder->root_path);
	if (!builder->assembly && (ret = dw_assembly_new(&builder->assembly, err)) < 0)
		return ret;
	builder->assembly->on_conflict = builder->on_conflict;
	*assembly_out = builder->assembly;
	return 0;
}

int dwarfs_builder_set_spool(dwarfs_builder *builder, const char *directory,
			     uint64_t memory_bytes, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);

	auto_free char *copy = NULL;

	if (builder->assembly && builder->assembly->spool)
		return dw_fail(err, DWARFS_ERR_INVALID, "contents were given already");
	if (directory && !(copy = dw_strdup(directory)))
		return dw_fail_nomem(err);
	dw_free(builder->spool_directory);
	builder->spool_directory = dw_steal(copy);
	builder->spool_bytes = memory_bytes;
	return 0;
}

static int need_spool(dwarfs_builder *builder, dwarfs_error **err)
{
	struct assembly *assembly = builder->assembly;
	const char *directory = builder->spool_directory;
	uint64_t bytes = builder->spool_bytes, limit = builder->options.memory_limit;

	if (assembly->spool)
		return 0;
	if (bytes == UINT64_MAX)
		bytes = limit ? limit / SPOOL_SHARE : SPOOL_BYTES;
	return dw_spool_new(directory ? directory : DW_SPOOL_DIRECTORY, bytes,
			    &assembly->spool, err);
}

/* -- contents ------------------------------------------------------------------------ */

/* The disk path of a directory, which is often that of the file before. */
static int add_disk_directory(struct assembly *assembly, struct span path,
			      uint32_t *disk_path_out, dwarfs_error **err)
{
	const struct tree *disk = &assembly->disk;
	const struct record_file *last = assembly->files + assembly->file_count;
	uint32_t last_directory = 0;

	if (assembly->file_count > 0)
		last_directory = disk->entries[last[-1].disk_path].parent;
	if (last_directory != 0 && disk->entries[last_directory].parent == 0) {
		struct span known = dw_string_set_at(&disk->names,
						     disk->entries[last_directory].name);

		if (known.size == path.size &&
		    memcmp(known.data, path.data, path.size) == 0) {
			*disk_path_out = last_directory;
			return 0;
		}
	}
	return dw_assembly_add_disk_path(assembly, 0, path, disk_path_out, err);
}

/* Refer to a file by its real path: directory and name. */
static int add_path_contents(struct assembly *assembly, const char *path,
			     struct record *record, dwarfs_error **err)
{
	auto_free char *real = dw_real_path(path);
	struct span directory, name;
	struct os_stat stat;
	const char *slash;
	uint32_t disk_path;
	int ret;

	if (!real) {
		ret = dw_fail_errno(err, errno, "cannot open '%s'", path);
		return dw_error_at_path(err, ret, path);
	}
	if ((ret = dw_stat_at(AT_FDCWD, real, &stat)) < 0) {
		ret = dw_fail_errno(err, -ret, "cannot inspect '%s'", path);
		return dw_error_at_path(err, ret, path);
	}
	if ((stat.mode & DW_S_IFMT) != DW_S_IFREG)
		return dw_fail(err,
			       (stat.mode & DW_S_IFMT) == DW_S_IFDIR ? DWARFS_ERR_IS_DIR
								     : DWARFS_ERR_INVALID,
			       "'%s' is not a regular file", path);
	slash = strrchr(real, '/');
	directory = (struct span){ (const uint8_t *)real + 1,
				   slash > real ? (size_t)(slash - real) - 1 : 0 };
	name = (struct span){ (const uint8_t *)slash + 1, strlen(slash + 1) };
	if (stat.size == 0)
		return 0;
	if ((ret = add_disk_directory(assembly, directory, &disk_path, err)) < 0)
		return ret;
	return dw_record_add_file(assembly, record, &stat, disk_path, name, err);
}

static int spool_contents(struct spool_copy *copy, const dwarfs_item *item,
			  dwarfs_error **err)
{
	if (item->kind == ITEM_IO)
		return dw_item_contents_io(copy, item->io, err);
	if (item->kind == ITEM_MEMORY)
		return dw_item_contents_memory(copy, item->memory, err);
	return dw_item_contents_reader(copy, item, err);
}

static int add_spooled_contents(dwarfs_builder *builder, const dwarfs_item *item,
				struct record *record, dwarfs_error **err)
{
	struct spool_copy copy = { .task = builder->task };
	int ret;

	if ((ret = need_spool(builder, err)) < 0)
		return ret;
	copy.spool = builder->assembly->spool;
	dw_spool_begin(copy.spool);
	ret = spool_contents(&copy, item, err);
	if (ret == 0 && (copy.bytes > 0 || dw_spool_reached(copy.spool) > 0)) {
		ret = dw_spool_end(copy.spool, copy.bytes, &record->source, err);
		record->kind = RECORD_SPOOLED;
	}
	if (ret < 0) {
		record->kind = RECORD_PLAIN;
		dw_spool_begin(copy.spool); /* discard the bytes so far */
		return ret;
	}
	if (record->kind == RECORD_SPOOLED)
		record->size = dw_spool_size(copy.spool, record->source);
	return 0;
}

static int add_item_contents(dwarfs_builder *builder, const dwarfs_item *item,
			     struct record *record, dwarfs_error **err)
{
	if (item->kind == ITEM_EMPTY)
		return 0;
	if (item->kind == ITEM_PATH)
		return add_path_contents(builder->assembly, item->path, record, err);
	return add_spooled_contents(builder, item, record, err);
}

/* -- hard links ---------------------------------------------------------------------- */

/* Whether an unresolved link would form a cycle. */
static bool is_loop(const struct assembly *assembly, struct span path, struct span target)
{
	uint32_t layer = assembly->layer;

	for (int i = 0; i < MAX_CHAIN; i++) {
		const struct record *record;
		uint32_t node;

		if (target.size == path.size &&
		    memcmp(target.data, path.data, path.size) == 0)
			return true;
		if ((node = dw_assembly_find_target(assembly, target, layer)) == DW_NONE)
			return false;
		record = &assembly->records[assembly->nodes[node].record];
		if (record->kind != RECORD_LINK)
			return false;
		layer = record->layer;
		target = dw_string_set_at(&assembly->strings, record->source);
	}
	return false;
}

/* Whether a target is of the current layer: an older one, also if it was removed, may be followed
 * by an entry with the same path. */
static bool is_of_layer(const struct assembly *assembly, uint32_t node)
{
	return assembly->nodes[node].layer == assembly->layer &&
	       (dw_assembly_is_directory(assembly, node) ||
		dw_assembly_record(assembly, node)->layer == assembly->layer);
}

/* The record that a link gets if it leads to itself: that of the file of an earlier layer at its path.
 * DW_NONE if there is none, or if a second entry at a path is a conflict. */
static uint32_t older_record(const struct assembly *assembly, struct span path)
{
	const uint32_t node = dw_assembly_find(assembly, path);

	if (node == DW_NONE || assembly->on_conflict != DWARFS_CONFLICT_LAST ||
	    assembly->nodes[node].layer == assembly->layer ||
	    dw_assembly_is_directory(assembly, node) ||
	    dw_assembly_record(assembly, node)->kind == RECORD_LINK)
		return DW_NONE;
	return assembly->nodes[node].record;
}

/* The record of the target, or a new record for an unresolved link. */
static int add_hard_link(struct assembly *assembly, struct span path, struct span target,
			 uint32_t *record_out, dwarfs_error **err)
{
	uint32_t node = dw_assembly_find_target(assembly, target, assembly->layer);
	struct record record = { .xattrs = NO_XATTRS, .times = NO_TIMES };
	int ret;

	if (node != DW_NONE && !is_of_layer(assembly, node))
		node = DW_NONE;
	if (node != DW_NONE && dw_assembly_is_directory(assembly, node))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "'%.*s' is a directory, which has no hard links",
			       (int)target.size, (const char *)target.data);
	if (node != DW_NONE &&
	    assembly->records[assembly->nodes[node].record].kind != RECORD_LINK) {
		*record_out = assembly->nodes[node].record;
		return 0;
	}
	if (is_loop(assembly, path, target)) {
		*record_out = older_record(assembly, path);
		return *record_out != DW_NONE ? 0
					      : dw_fail(err, DWARFS_ERR_INVALID,
							"a hard link leads to itself");
	}
	if ((ret = dw_record_add_string(assembly, &record, RECORD_LINK, target, err)) < 0)
		return ret;
	assembly->resolves_layer = true;
	return dw_assembly_add_record(assembly, &record, record_out, err);
}

/* -- adding -------------------------------------------------------------------------- */

static int add_item_record(dwarfs_builder *builder, struct span path,
			   const dwarfs_item *item, uint32_t *record_out,
			   dwarfs_error **err)
{
	struct assembly *assembly = builder->assembly;
	struct record record;
	int ret;

	if (item->is_hard_link)
		return add_hard_link(assembly, path, dw_buffer_span(&item->text),
				     record_out, err);
	if ((ret = dw_record_of_item(assembly, item, &record, err)) < 0 ||
	    (ret = add_item_contents(builder, item, &record, err)) < 0)
		return ret;
	ret = dw_assembly_add_record(assembly, &record, record_out, err);
	if (ret < 0 && record.kind == RECORD_SPOOLED)
		dw_spool_drop(assembly->spool, record.source);
	return ret;
}

/* Check the parents of a path before its contents are read. */
static int check_parents(const struct assembly *assembly, struct span path,
			 const dwarfs_item *item, dwarfs_error **err)
{
	size_t from;
	uint32_t node = dw_assembly_start(assembly, path, &from);
	struct span rest = { path.data + from, path.size - from };
	struct span above = { path.data, from ? from - 1 : 0 };

	if (path.size == 0 &&
	    (item->is_hard_link || dw_class_of_mode(item->mode) != CLASS_DIR))
		return dw_fail(err, DWARFS_ERR_INVALID, "the root must be a directory");
	while (rest.size > 0) {
		struct span name = dw_item_next_name(&rest);

		if (!dw_assembly_is_directory(assembly, node))
			return dw_fail(err, DWARFS_ERR_NOT_DIR,
				       "'%.*s' is not a directory", (int)above.size,
				       (const char *)above.data);
		node = dw_assembly_child(assembly, node, name);
		if (node == DW_NONE)
			return 0;
		above.size = (size_t)(name.data + name.size - path.data);
	}
	return 0;
}

/* An item below what an earlier input has and is not a directory: whether it is left out.
 * It still gets a record, as hard links may refer to it. */
static bool is_left_out(const struct assembly *assembly, int ret)
{
	return ret == DWARFS_ERR_NOT_DIR && assembly->layer > 0 &&
	       assembly->on_conflict == DWARFS_CONFLICT_FIRST;
}

static int add_item(dwarfs_builder *builder, struct span path, const dwarfs_item *item,
		    dwarfs_error **err)
{
	struct assembly *assembly;
	uint32_t record, node;
	int ret;

	if ((ret = dw_task_check(builder->task, err)) < 0 ||
	    (ret = dw_assembly_of(builder, &assembly, err)) < 0 ||
	    (ret = dw_item_check_path(path, err)) < 0)
		return ret;
	if (!is_left_out(assembly, check_parents(assembly, path, item, NULL)) &&
	    (ret = check_parents(assembly, path, item, err)) < 0)
		return ret;
	if ((ret = add_item_record(builder, path, item, &record, err)) < 0)
		return ret;
	ret = dw_assembly_put(assembly, path, record, &node, err);
	if (ret < 0 && assembly->records[record].names == 0)
		dw_assembly_drop_record(assembly, record);
	return ret;
}

/* Add the path of the entry to an error. */
static int explain_path(struct span path, int ret, dwarfs_error **err)
{
	char shown[512];
	size_t length = path.size < sizeof(shown) - 1 ? path.size : sizeof(shown) - 1;

	if (ret >= 0 || path.size == 0)
		return ret;
	memcpy(shown, path.data, length);
	shown[length] = '\0';
	dw_explain(err, ret, "adding '%s'", shown);
	/* the error is about a file on disk */
	if (err && *err && dwarfs_error_path(*err))
		return ret;
	return dw_error_at_path(err, ret, shown);
}

/* Assembly and tree exist at the same time, so the assembly may use half of the limit. */
static int check_limit(const dwarfs_builder *builder, dwarfs_error **err)
{
	uint64_t limit = builder->options.memory_limit;
	uint64_t bytes = dw_assembly_bytes(builder->assembly);

	if (limit == 0 || bytes <= limit / 2)
		return 0;
	return dw_fail(err, DWARFS_ERR_LIMIT,
		       "memory limit of %" PRIu64 " MiB is too low: names and attributes "
		       "of the entries added so far need %" PRIu64 " MiB, of which half "
		       "the limit may be used",
		       limit >> 20, bytes >> 20);
}

int dwarfs_builder_add_item(dwarfs_builder *builder, const char *path, size_t bytes,
			    const dwarfs_item *item, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path || !item)
		return dw_fail_null(err, "builder, path and item");

	struct span span = { (const uint8_t *)path, bytes };
	int ret = check_limit(builder, err);

	if (ret < 0)
		return ret;
	return explain_path(span, add_item(builder, span, item, err), err);
}

int dwarfs_builder_remove_item(dwarfs_builder *builder, const char *path, size_t bytes,
			       bool contents_only, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");

	struct span span = { (const uint8_t *)path, bytes };
	struct assembly *assembly;
	uint32_t node;
	int ret;

	if ((ret = dw_assembly_of(builder, &assembly, err)) < 0 ||
	    (ret = dw_item_check_path(span, err)) < 0)
		return ret;
	if ((node = dw_assembly_find(assembly, span)) == DW_NONE)
		return explain_path(
			span, dw_fail(err, DWARFS_ERR_NOT_FOUND, "no such entry"), err);
	if (!contents_only) {
		dw_assembly_remove(assembly, node);
		return 0;
	}
	if (!dw_assembly_is_directory(assembly, node))
		return explain_path(
			span, dw_fail(err, DWARFS_ERR_NOT_DIR, "no directory"), err);
	dw_assembly_clear(assembly, node);
	return 0;
}
