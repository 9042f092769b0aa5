/* SPDX-License-Identifier: MIT */
/*
 * write/input/input_file: open and read a file of the input: on disk, in the spool, or in
 * an image.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "os/file_io.h"
#include "write/input/input_file.h"
#include "write/items/assembly.h"

static const struct record *record_of_inode(const struct build_run *run,
					    const struct tree_inode *inode)
{
	return &run->assembly->records[inode->record];
}

static struct input_file_mark mark_of(const struct build_run *run,
				      const struct tree_inode *inode)
{
	const struct record_file *file;
	const struct record *record;

	if (!run->assembly)
		return (struct input_file_mark){ inode->size, inode->mtime,
						 inode->mtime_ns };
	record = record_of_inode(run, inode);
	if (record->kind != RECORD_FILE)
		return (struct input_file_mark){ inode->size, 0, 0 };
	file = &run->assembly->files[record->source];
	return (struct input_file_mark){ file->size, file->mtime, file->mtime_ns };
}

void dw_input_file_init_directory_cache(struct directory_cache *cache,
					const struct build_run *run,
					const struct tree *tree, uint32_t slot_count)
{
	const struct assembly *assembly = run->assembly;

	dw_directory_cache_init(cache, assembly ? assembly->disk_fd : run->root_fd,
				assembly ? &assembly->disk : tree, slot_count);
}

int dw_input_file_open(const struct build_run *run, const struct tree_inode *inode,
		       input_file_open_fn open, void *user, struct input_file *file_out)
{
	const struct assembly *assembly = run->assembly;
	const struct record *record;

	*file_out = INPUT_FILE_NONE;
	file_out->mark = mark_of(run, inode);
	if (!assembly)
		return open(user, inode->entry, &file_out->fd);
	record = record_of_inode(run, inode);
	if (record->kind == RECORD_FILE)
		return open(user, assembly->files[record->source].disk_path,
			    &file_out->fd);
	if (record->kind == RECORD_IMAGE) {
		const struct image_file *file = &assembly->image_files[record->source];
		const struct source_image *image = assembly->images[file->image];
		int ret = image->ops->open_file(image->user, file->inode,
						&file_out->image_file);

		if (ret == 0)
			file_out->image = image;
		return ret;
	}
	if (record->kind != RECORD_SPOOLED)
		return -ESTALE; /* a file without contents is never opened */
	file_out->spool = assembly->spool;
	file_out->number = record->source;
	return 0;
}

void dw_input_file_close(struct input_file *input_file)
{
	dw_fd_close(input_file->fd);
	if (input_file->image)
		input_file->image->ops->close_file(input_file->image_file);
	*input_file = INPUT_FILE_NONE;
}

int dw_input_file_stat(const struct input_file *input_file, struct os_stat *stat_out)
{
	if (input_file->image) {
		/* Its holes are found anyway. */
		*stat_out = (struct os_stat){ .mode = DW_S_IFREG,
					      .size = input_file->mark.size };
		return 0;
	}
	if (!input_file->spool)
		return dw_stat_fd(input_file->fd, stat_out);
	*stat_out = (struct os_stat){
		.mode = DW_S_IFREG,
		.size = dw_spool_size(input_file->spool, input_file->number),
		.allocated = dw_spool_data_bytes(input_file->spool, input_file->number),
	};
	return 0;
}

int64_t dw_input_file_read_at(const struct input_file *input_file, void *buffer,
			      size_t size, uint64_t offset)
{
	if (input_file->image)
		return input_file->image->ops->read_at(input_file->image_file, buffer,
						       size, offset);
	if (!input_file->spool)
		return dw_fd_read_at(input_file->fd, buffer, size, offset);
	return dw_spool_read_at(input_file->spool, input_file->number, buffer, size,
				offset);
}

int dw_input_file_next_data(const struct input_file *input_file, uint64_t from,
			    uint64_t end, uint64_t *start_out, uint64_t *end_out)
{
	if (input_file->image)
		return input_file->image->ops->next_data(input_file->image_file, from,
							 end, start_out, end_out);
	if (!input_file->spool)
		return dw_next_data(input_file->fd, from, end, start_out, end_out);
	dw_spool_next_data(input_file->spool, input_file->number, from, end, start_out,
			   end_out);
	return 0;
}

bool dw_input_file_matches(const struct input_file *input_file,
			   const struct os_stat *stat)
{
	return stat->size == input_file->mark.size &&
	       stat->mtime.seconds == input_file->mark.mtime &&
	       stat->mtime.nanoseconds == input_file->mark.mtime_ns;
}
