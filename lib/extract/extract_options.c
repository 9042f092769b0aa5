/* SPDX-License-Identifier: MIT */
/*
 * extract/extract_options: how an image is to be extracted. See <dwarfs/extract.h>.
 */
#include "extract/job.h"

#define MOST_WRITERS 1024

DW_DEFINE_AUTO(extract_handle, dwarfs_extract *, dwarfs_extract_free)
#define auto_extract DW_AUTO(extract_handle)

int dwarfs_extract_new(const dwarfs_image *image, dwarfs_extract **extract_out,
		       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !extract_out)
		return dw_fail_null(err, "image and extract_out");

	auto_extract dwarfs_extract *extract = dw_calloc(1, sizeof(*extract));
	int ret;

	if (!extract)
		return dw_fail_nomem(err);
	if ((ret = dw_patterns_new(&extract->patterns, err)) < 0)
		return ret;
	extract->image = dwarfs_image_ref(image);
	*extract_out = dw_steal(extract);
	return 0;
}

void dwarfs_extract_free(dwarfs_extract *extract)
{
	if (!extract)
		return;
	dw_patterns_free(extract->patterns);
	dwarfs_image_free(extract->image);
	dw_free(extract);
}

int dwarfs_extract_add_pattern(dwarfs_extract *extract, const char *pattern,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(extract);

	if (!extract || !pattern)
		return dw_fail_null(err, "extract and pattern");
	return dw_patterns_add(extract->patterns, pattern, err);
}

void dwarfs_extract_set_skip_devices(dwarfs_extract *extract, bool skip)
{
	if (!extract)
		return;
	extract->skip_devices = skip;
}

void dwarfs_extract_set_skip_specials(dwarfs_extract *extract, bool skip)
{
	if (!extract)
		return;
	extract->skip_specials = skip;
}

void dwarfs_extract_set_owners(dwarfs_extract *extract, bool set)
{
	if (!extract)
		return;
	extract->owners_given = true;
	extract->owners = set;
}

void dwarfs_extract_set_uid(dwarfs_extract *extract, uint32_t uid)
{
	if (!extract)
		return;
	extract->uid_given = true;
	extract->uid = uid;
}

void dwarfs_extract_set_gid(dwarfs_extract *extract, uint32_t gid)
{
	if (!extract)
		return;
	extract->gid_given = true;
	extract->gid = gid;
}

void dwarfs_extract_set_xattrs(dwarfs_extract *extract, bool set)
{
	if (!extract)
		return;
	extract->no_xattrs = !set;
}

int dwarfs_extract_set_writers(dwarfs_extract *extract, uint32_t writers,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(extract);

	if (!extract)
		return dw_fail_null(err, "extract");
	if (writers > MOST_WRITERS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " writers: at most %d are possible", writers,
			       MOST_WRITERS);
	extract->writers = writers;
	return 0;
}

void dwarfs_extract_set_continue_on_error(dwarfs_extract *extract, bool go_on)
{
	if (!extract)
		return;
	extract->continue_on_error = go_on;
}

void dwarfs_extract_set_task(dwarfs_extract *extract, const dwarfs_task *task)
{
	if (!extract)
		return;
	extract->task = task;
}

uint64_t dwarfs_extract_failures(const dwarfs_extract *extract)
{
	if (!extract)
		return 0;
	return extract->failures;
}

uint64_t dwarfs_extract_damaged(const dwarfs_extract *extract)
{
	if (!extract)
		return 0;
	return extract->damaged;
}
