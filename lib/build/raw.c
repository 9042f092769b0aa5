/* SPDX-License-Identifier: MIT */
/*
 * build/raw: the bytes of a file of the input, wherever they are.
 */
#include <errno.h>
#include <string.h>

#include "build/assembly.h"
#include "build/raw.h"
#include "format/metadata.h"
#include "os/file.h"

static const struct record *record_of(const struct build_run *run,
				      const struct tree_inode *inode)
{
	return &run->assembly->records[inode->record];
}

struct raw_mark dw_raw_mark(const struct build_run *run, const struct tree_inode *inode)
{
	const struct record_file *file;
	const struct record *record;

	if (!run->assembly)
		return (struct raw_mark){ inode->size, inode->mtime, inode->mtime_ns };
	record = record_of(run, inode);
	if (record->kind != RECORD_FILE)
		return (struct raw_mark){ inode->size, 0, 0 };
	file = &run->assembly->files[record->source];
	return (struct raw_mark){ file->size, file->mtime, file->mtime_ns };
}

void dw_raw_init_folders(struct folders *folders, const struct build_run *run,
			 const struct tree *tree, uint32_t slot_count)
{
	const struct assembly *assembly = run->assembly;

	dw_folders_init(folders, assembly ? assembly->disk_fd : run->root_fd,
			assembly ? &assembly->disk : tree, slot_count);
}

int dw_raw_open(const struct build_run *run, const struct tree_inode *inode,
		raw_open_fn open, void *user, struct raw *raw_out)
{
	const struct assembly *assembly = run->assembly;
	const struct record *record;

	*raw_out = RAW_NONE;
	raw_out->mark = dw_raw_mark(run, inode);
	if (!assembly)
		return open(user, inode->entry, &raw_out->fd);
	record = record_of(run, inode);
	if (record->kind == RECORD_FILE)
		return open(user, assembly->files[record->source].place, &raw_out->fd);
	if (record->kind != RECORD_SPOOLED)
		return -ESTALE; /* a file without contents is never opened */
	raw_out->spool = assembly->spool;
	raw_out->number = record->source;
	return 0;
}

void dw_raw_close(struct raw *raw)
{
	dw_fd_close(raw->fd);
	*raw = RAW_NONE;
}

int dw_raw_stat(const struct raw *raw, struct os_stat *stat_out)
{
	if (!raw->spool)
		return dw_stat_fd(raw->fd, stat_out);
	*stat_out = (struct os_stat){
		.mode = DW_S_IFREG,
		.size = dw_spool_size(raw->spool, raw->number),
		.allocated = dw_spool_data_bytes(raw->spool, raw->number),
	};
	return 0;
}

int64_t dw_raw_read_at(const struct raw *raw, void *buffer, size_t size, uint64_t offset)
{
	if (!raw->spool)
		return dw_fd_read_at(raw->fd, buffer, size, offset);
	return dw_spool_read_at(raw->spool, raw->number, buffer, size, offset);
}

int dw_raw_next_data(const struct raw *raw, uint64_t from, uint64_t end,
		     uint64_t *start_out, uint64_t *end_out)
{
	if (!raw->spool)
		return dw_next_data(raw->fd, from, end, start_out, end_out);
	dw_spool_next_data(raw->spool, raw->number, from, end, start_out, end_out);
	return 0;
}

bool dw_raw_matches(const struct raw *raw, const struct os_stat *stat)
{
	return stat->size == raw->mark.size && stat->mtime.seconds == raw->mark.mtime &&
	       stat->mtime.nanoseconds == raw->mark.mtime_ns;
}
