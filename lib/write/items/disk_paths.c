/* SPDX-License-Identifier: MIT */
/*
 * write/items/disk_paths: paths on disk of the files that an assembly refers to.
 *
 * They form a separate tree below "/", so that names of directories are stored once
 * and files are opened relative to a cached directory.
 */
#include <fcntl.h>

#include "os/dir.h"
#include "write/items/assembly.h"

#define MAX_DISK_PATHS (UINT32_MAX - 1)

static int append_disk_entry(struct tree *disk, struct tree_entry entry,
			     dwarfs_error **err)
{
	int ret;

	if (disk->entry_count >= MAX_DISK_PATHS)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&disk->entries, &disk->entry_room, disk->entry_count + 1,
			   err)) < 0)
		return ret;
	disk->entries[disk->entry_count++] = entry;
	return 0;
}

static int open_disk(struct assembly *assembly, dwarfs_error **err)
{
	int ret;

	if (assembly->disk.entry_count > 0)
		return 0;
	if (assembly->disk_fd < 0 &&
	    (ret = dw_dir_pass_at(AT_FDCWD, "/", &assembly->disk_fd)) < 0)
		return dw_fail_errno(err, -ret, "cannot open '/'");
	return append_disk_entry(&assembly->disk, (struct tree_entry){ 0 }, err);
}

int dw_assembly_add_disk_path(struct assembly *assembly, uint32_t directory,
			      struct span name, uint32_t *disk_path_out,
			      dwarfs_error **err)
{
	struct tree *disk = &assembly->disk;
	struct tree_entry entry = { .parent = directory };
	int ret;

	if ((ret = open_disk(assembly, err)) < 0)
		return ret;
	*disk_path_out = directory;
	if (name.size == 0)
		return 0;
	if ((ret = dw_string_set_add(&disk->names, name, &entry.name, err)) < 0 ||
	    (ret = append_disk_entry(disk, entry, err)) < 0)
		return ret;
	*disk_path_out = (uint32_t)disk->entry_count - 1;
	return 0;
}
