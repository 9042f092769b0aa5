/* SPDX-License-Identifier: MIT */
/*
 * archive/import/cpio_links: files with several names.
 *
 * In most formats the first name has the contents and all others refer to it. In some
 * cpio archives the last one has them: such a file is postponed until then.
 */
#include <string.h>

#include "archive/import/import.h"

/* -- files that wait ------------------------------------------------------------- */

static void free_late(struct late_file *late)
{
	dw_free(late->key);
	dw_buffer_free(&late->names);
	dwarfs_item_free(late->item);
	*late = (struct late_file){ 0 };
}

void dw_import_free_late(struct import_job *job)
{
	size_t i;

	for (i = 0; i < job->late_count; i++)
		free_late(&job->late[i]);
	dw_free(dw_steal(job->late));
	job->late_count = job->late_room = 0;
}

static int add_name(struct import_job *job, struct late_file *late, dwarfs_error **err)
{
	int ret = dw_buffer_append(&late->names, job->path.data, job->path.size, err);

	return ret < 0 ? ret : dw_buffer_append(&late->names, "", 1, err);
}

int dw_import_defer(struct import_job *job, bool is_named, dwarfs_error **err)
{
	struct late_file late = { .key = dw_strdup(job->shown), .is_named = is_named };
	int ret;

	if (!late.key)
		return dw_fail_nomem(err);
	if ((is_named && (ret = add_name(job, &late, err)) < 0) ||
	    (ret = dw_import_item(job, &late.item, err)) < 0 ||
	    (ret = dw_grow(&job->late, &job->late_room, job->late_count + 1, err)) < 0) {
		free_late(&late);
		return ret;
	}
	job->late[job->late_count++] = late;
	return 0;
}

/* Search from the last one on, as names of one file are close together. */
struct late_file *dw_import_find_late(struct import_job *job, const char *target)
{
	size_t i;

	for (i = job->late_count; i-- > 0;) {
		if (strcmp(job->late[i].key, target) == 0)
			return &job->late[i];
	}
	return NULL;
}

static int add_link(struct import_job *job, const struct buffer *path,
		    const struct buffer *target, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	int ret = dwarfs_item_new(AE_IFREG | 0644, &item, err);

	if (ret < 0)
		return ret;
	ret = dwarfs_item_set_hard_link(item, (const char *)target->data, target->size,
					err);
	if (ret == 0)
		ret = dw_import_add(job, path, item, err);
	dwarfs_item_free(item);
	return ret;
}

/* The next name; empty after the last one. */
static struct buffer next_name(const struct late_file *late, size_t *at)
{
	struct buffer name = { 0 };

	if (*at < late->names.size) {
		name.data = late->names.data + *at;
		name.size = strlen((const char *)name.data);
		*at += name.size + 1;
	}
	return name;
}

/* The file cannot be added, so all its names are lost. Takes why. */
static int lose_late(struct import_job *job, const struct late_file *late, int code,
		     dwarfs_error *why, dwarfs_error **err)
{
	dwarfs_error *copy = NULL;
	struct buffer name;
	size_t at = 0;
	int ret;

	dw_error_copy(&copy, code, why);
	ret = dw_import_lose(job, late->key, code, copy, err);
	while (ret == 0 && (name = next_name(late, &at)).size > 0) {
		const bool is_first = name.data == late->names.data;

		ret = dw_import_note_lost(job, &name, true, err);
		if (ret < 0 || (is_first && late->is_named))
			continue;
		copy = NULL;
		dw_fail(&copy, code, "is a name of '%s', which is left out: %s",
			late->key, dwarfs_error_message(why));
		ret = dw_import_lose(job, (const char *)name.data, code, copy, err);
	}
	dwarfs_error_free(why);
	return ret;
}

/* With the contents that its item has by now, and all its names. */
static int add_late(struct import_job *job, struct late_file *late, dwarfs_error **err)
{
	dwarfs_error *why = NULL;
	size_t at = 0;
	struct buffer first = next_name(late, &at), name;
	int ret;

	if (first.size == 0)
		return 0;
	if ((ret = dw_import_add(job, &first, late->item, &why)) < 0)
		return lose_late(job, late, ret, why, err);
	while (ret == 0 && (name = next_name(late, &at)).size > 0) {
		if ((ret = add_link(job, &name, &first, &why)) < 0)
			ret = dw_import_lose(job, (const char *)name.data, ret,
					     dw_steal(why), err);
	}
	return ret;
}

int dw_import_add_late(struct import_job *job, dwarfs_error **err)
{
	size_t i;
	int ret = 0;

	for (i = 0; i < job->late_count && ret == 0; i++)
		ret = add_late(job, &job->late[i], err);
	dw_import_free_late(job);
	return ret;
}

int dw_import_link_late(struct import_job *job, struct late_file *late, bool is_named,
			dwarfs_error **err)
{
	dwarfs_error *why = NULL;
	int ret = is_named ? add_name(job, late, err) : 0;

	if (ret < 0 || job->la->entry_size(job->entry) == 0)
		return ret;
	if ((ret = dw_import_set_contents(job, late->item, &why)) == 0)
		ret = add_late(job, late, err);
	else
		ret = lose_late(job, late, ret, why, err);
	free_late(late);
	*late = job->late[--job->late_count];
	return ret;
}

/* -- links to existing entries --------------------------------------------------- */

static bool is_there(struct import_job *job, const struct buffer *path)
{
	return dwarfs_builder_has_item(job->import->builder, (const char *)path->data,
				       path->size);
}

/* Some archives have the contents with each name, so that each can be unpacked alone. */
static int add_as_file(struct import_job *job, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = dw_import_item(job, &item, err)) < 0)
		return ret;
	if ((ret = dw_import_set_contents(job, item, err)) == 0)
		ret = dw_import_add(job, &job->path, item, err);
	dwarfs_item_free(item);
	return ret;
}

int dw_import_link(struct import_job *job, const char *target, dwarfs_error **err)
{
	auto_buffer struct buffer to = { 0 };
	const bool has_contents = job->la->entry_filetype(job->entry) == AE_IFREG &&
				  job->la->entry_size(job->entry) > 0;
	int ret = dw_import_path(job->import, target, &to, err);
	bool is_left_out;

	if (ret < 0)
		return dw_explain(err, ret, "target '%s' of the hard link", target);
	is_left_out = ret == 0 || dw_import_is_lost(job, &to);
	if (has_contents && (is_left_out || !is_there(job, &to)))
		return add_as_file(job, err);
	if (is_left_out)
		return dw_fail(err, DWARFS_ERR_NOT_FOUND,
			       "is a hard link to '%s', which is left out", target);
	if (to.size != job->path.size || memcmp(to.data, job->path.data, to.size) != 0)
		return add_link(job, &job->path, &to, err);
	/* A file that is in the archive twice. */
	if (is_there(job, &to))
		return 0;
	return dw_fail(err, DWARFS_ERR_NOT_FOUND, "is a hard link to itself");
}
