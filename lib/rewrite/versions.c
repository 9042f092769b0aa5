/* SPDX-License-Identifier: MIT */
/*
 * rewrite/versions: which programs wrote the metadata of an image
 * (metadata_version_history).
 *
 * Each rebuild of metadata adds an entry: version of the format and of the writer, block
 * size, options.
 */
#include <string.h>

#include "read/image/image.h"
#include "rewrite/versions.h"

/* An image has few; more are not copied. */
#define MAX_VERSIONS 1024

enum history_field {
	HISTORY_MAJOR = 1,
	HISTORY_MINOR = 2,
	HISTORY_DWARFS_VERSION = 3,
	HISTORY_BLOCK_SIZE = 4,
	HISTORY_OPTIONS = 5,
};

static int append_version(struct source_image *to, struct source_version **version_out,
			  dwarfs_error **err)
{
	int ret = dw_grow(&to->versions, &to->version_room, to->version_count + 1, err);

	if (ret < 0)
		return ret;
	*version_out = &to->versions[to->version_count++];
	**version_out = (struct source_version){ 0 };
	return 0;
}

/* -- entries that the image has -------------------------------------------------------- */

static int get_number(const struct frozen *frozen, struct frozen_node node, int id,
		      uint32_t *number_out, dwarfs_error **err)
{
	uint64_t number = 0;
	int ret = dw_frozen_uint(frozen, dw_frozen_child(frozen, node, id), 32, &number,
				 err);

	*number_out = (uint32_t)number;
	return ret;
}

static int get_flag(const struct frozen *frozen, struct frozen_node node, int id,
		    bool *flag_out, dwarfs_error **err)
{
	return dw_frozen_bool(frozen, dw_frozen_child(frozen, node, id), flag_out, err);
}

static int get_optional_number(const struct frozen *frozen, struct frozen_node node,
			       int id, bool *has_out, uint32_t *number_out,
			       dwarfs_error **err)
{
	struct frozen_node value;
	uint64_t number = 0;
	int ret = dw_frozen_optional(frozen, dw_frozen_child(frozen, node, id), &value,
				     has_out, err);

	if (ret < 0 || !*has_out)
		return ret;
	ret = dw_frozen_uint(frozen, value, 32, &number, err);
	*number_out = (uint32_t)number;
	return ret;
}

static int get_options(const struct frozen *frozen, struct frozen_node node,
		       struct source_version *version, dwarfs_error **err)
{
	int ret;

	if ((ret = get_flag(frozen, node, OPT_MTIME_ONLY, &version->mtime_only, err)) <
		    0 ||
	    (ret = get_flag(frozen, node, OPT_PACKED_CHUNK_TABLE,
			    &version->packed_chunk_table, err)) < 0 ||
	    (ret = get_flag(frozen, node, OPT_PACKED_DIRECTORIES,
			    &version->packed_directories, err)) < 0 ||
	    (ret = get_flag(frozen, node, OPT_PACKED_SHARED_FILES_TABLE,
			    &version->packed_shared_files_table, err)) < 0 ||
	    (ret = get_flag(frozen, node, OPT_HAS_BTIME, &version->has_btime, err)) < 0 ||
	    (ret = get_flag(frozen, node, OPT_INODES_HAVE_NLINK,
			    &version->inodes_have_nlink, err)) < 0 ||
	    (ret = get_optional_number(frozen, node, OPT_TIME_RESOLUTION_SEC,
				       &version->has_time_resolution_sec,
				       &version->time_resolution_sec, err)) < 0)
		return ret;
	return get_optional_number(frozen, node, OPT_SUBSECOND_MULTIPLIER,
				   &version->has_subsecond_multiplier,
				   &version->subsecond_multiplier, err);
}

static int get_version(const struct frozen *frozen, struct frozen_node node,
		       struct source_version *version, dwarfs_error **err)
{
	struct frozen_node value;
	struct span text;
	bool has_text;
	int ret;

	if ((ret = get_number(frozen, node, HISTORY_MAJOR, &version->major, err)) < 0 ||
	    (ret = get_number(frozen, node, HISTORY_MINOR, &version->minor, err)) < 0 ||
	    (ret = get_number(frozen, node, HISTORY_BLOCK_SIZE, &version->block_size,
			      err)) < 0 ||
	    (ret = dw_frozen_optional(
		     frozen, dw_frozen_child(frozen, node, HISTORY_DWARFS_VERSION),
		     &value, &has_text, err)) < 0)
		return ret;
	if (has_text) {
		if ((ret = dw_frozen_string(frozen, value, &text, err)) < 0)
			return ret;
		version->dwarfs_version = dw_strndup((const char *)text.data, text.size);
		if (!version->dwarfs_version)
			return dw_fail_nomem(err);
	}
	if ((ret = dw_frozen_optional(frozen,
				      dw_frozen_child(frozen, node, HISTORY_OPTIONS),
				      &value, &version->has_options, err)) < 0 ||
	    !version->has_options)
		return ret;
	return get_options(frozen, value, version, err);
}

static int load_history(const struct frozen *frozen, struct source_image *to,
			dwarfs_error **err)
{
	struct frozen_node list;
	struct table table;
	int ret = dw_frozen_optional(frozen,
				     dw_frozen_child(frozen, dw_frozen_root(frozen),
						     MD_METADATA_VERSION_HISTORY),
				     &list, NULL, err);

	if (ret < 0 || (ret = dw_frozen_table(frozen, list, &table, err)) < 0)
		return ret;
	for (uint64_t i = 0; i < table.count && i < MAX_VERSIONS; i++) {
		struct frozen_node node = { .layout = table.item,
					    .start = table.address };
		struct source_version *version;

		if (table.stride_bytes)
			node.start += i * table.stride_bytes;
		else
			node.bit = i * table.stride;
		if ((ret = append_version(to, &version, err)) < 0)
			return ret;
		if ((ret = get_version(frozen, node, version, err)) < 0) {
			dw_free(version->dwarfs_version);
			to->version_count--;
			return ret;
		}
	}
	return 0;
}

/* -- the image itself ------------------------------------------------------------------ */

static int add_own_version(const dwarfs_image *image, struct source_image *to,
			   dwarfs_error **err)
{
	const struct view *view = image->view;
	struct source_version *version;
	int ret = append_version(to, &version, err);

	if (ret < 0)
		return ret;
	*version = (struct source_version){
		.major = DW_FORMAT_MAJOR,
		.minor = image->minor,
		.block_size = (uint32_t)view->block_size,
		.has_options = true,
		.mtime_only = view->mtime_only,
		.has_btime = view->has_btime,
		.inodes_have_nlink = view->has_nlink,
		.packed_chunk_table = view->packed_chunk_table,
		.packed_directories = view->packed_directories,
		.packed_shared_files_table = view->packed_shared_files,
		.has_time_resolution_sec = view->time_resolution > 1,
		.time_resolution_sec = (uint32_t)view->time_resolution,
		.has_subsecond_multiplier = view->subsecond_multiplier != 0,
		.subsecond_multiplier = (uint32_t)view->subsecond_multiplier,
	};
	if (view->dwarfs_version &&
	    !(version->dwarfs_version = dw_strdup(view->dwarfs_version)))
		return dw_fail_nomem(err);
	return 0;
}

int dw_versions_load(const dwarfs_image *image, struct source_image *to,
		     dwarfs_error **err)
{
	int ret = load_history(&image->view->frozen, to, NULL);

	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	return add_own_version(image, to, err);
}

int dw_versions_are_own(const dwarfs_image *image, bool *own_out, dwarfs_error **err)
{
	struct source_image list = { 0 };
	int ret = load_history(&image->view->frozen, &list, NULL);
	bool is_own = ret == 0;

	if (ret != DWARFS_ERR_NOMEM)
		ret = add_own_version(image, &list, err);
	else
		dw_fail_nomem(err);
	for (size_t i = 0; i < list.version_count; i++) {
		const char *text = list.versions[i].dwarfs_version;

		is_own &= text &&
			  strncmp(text, DW_WRITER_NAME, strlen(DW_WRITER_NAME)) == 0;
	}
	dw_source_image_free_versions(&list);
	*own_out = is_own;
	return ret;
}
