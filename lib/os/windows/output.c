/* SPDX-License-Identifier: MIT */
/*
 * os/output for Windows: a file with a temporary name in the same directory, which is renamed when
 * it is complete; the system deletes it if the process ends before.
 */
#include <errno.h>
#include <io.h>
#include <limits.h>

#include "os/create.h"
#include "os/file_io.h"
#include "os/output.h"
#include "os/windows/wide_path.h"

#define PIECE_BYTES ((size_t)1 << 20)

struct output {
	int fd;
	bool owns_fd, overwrite, sync;
	char *path;	 /* of the file; NULL if it is written in place */
	char *temporary; /* its current name; NULL for none */
	struct os_stat stat;
	bool replaces;
	struct os_stat old; /* the file that it replaces */
};

static void delete_file(const char *path)
{
	dw_create_undo_file(AT_FDCWD, path);
}

void dw_output_free(struct output *output)
{
	if (!output)
		return;
	if (output->owns_fd)
		dw_fd_close(output->fd);
	if (output->temporary)
		delete_file(output->temporary);
	dw_free(output->temporary);
	dw_free(output->path);
	dw_free(output);
}

/* Length of the part of a path before its last name. */
static size_t folder_length(const char *path)
{
	size_t length = strlen(path);

	while (length > 0 && !strchr("/\\:", path[length - 1]))
		length--;
	return length;
}

static char *temporary_name(const char *path)
{
	size_t folder = folder_length(path), room;
	char *name;

	room = folder + 64;
	name = dw_malloc(room);
	if (name)
		snprintf(name, room, "%.*s.dwarfs-%016llx", (int)folder, path,
			 (unsigned long long)dw_create_token());
	return name;
}

static int open_new(struct output *output, dwarfs_error **err)
{
	int ret;

	if (!(output->temporary = temporary_name(output->path)))
		return dw_fail_nomem(err);
	output->fd = dw_create_file(AT_FDCWD, output->temporary, 0666);
	if (output->fd < 0) {
		ret = dw_output_fail(err, -output->fd, "cannot open output file",
				     output->path);
		dw_free(output->temporary);
		output->temporary = NULL;
		return ret;
	}
	output->owns_fd = true;
	ret = dw_stat_fd(output->fd, &output->stat);
	return ret < 0 ? dw_fail_errno(err, -ret, "cannot inspect the output") : 0;
}

int dw_output_check(const char *path, dwarfs_error **err)
{
	auto_free char *folder = dw_malloc(folder_length(path) + 2);
	struct os_stat found;
	int ret;

	if (!folder)
		return dw_fail_nomem(err);
	snprintf(folder, folder_length(path) + 2, "%.*s.", (int)folder_length(path),
		 path);
	ret = dw_stat_at(AT_FDCWD, folder, &found);
	return ret < 0 ? dw_output_fail(err, -ret, "cannot open output file", path) : 0;
}

int dw_output_create(const char *path, bool overwrite, struct output **output_out,
		     dwarfs_error **err)
{
	auto_output struct output *output = dw_calloc(1, sizeof(*output));
	int ret;

	if (!output || !(output->path = dw_strdup(path)))
		return dw_fail_nomem(err);
	output->fd = -1;
	output->overwrite = overwrite;
	ret = dw_stat_at(AT_FDCWD, path, &output->old);
	output->replaces = ret == 0;
	if (ret < 0 && ret != -ENOENT)
		return dw_output_fail(err, -ret, "cannot open output file", path);
	if (output->replaces && S_ISDIR(output->old.mode))
		return dw_output_fail(err, EISDIR, "cannot open output file", path);
	if (output->replaces && !overwrite)
		return dw_output_fail_exists(err, path);
	if ((ret = open_new(output, err)) < 0)
		return ret;
	*output_out = dw_steal(output);
	return 0;
}

int dw_output_to_fd(int fd, struct output **output_out, dwarfs_error **err)
{
	auto_output struct output *output = dw_calloc(1, sizeof(*output));
	int ret;

	if (!output)
		return dw_fail_nomem(err);
	output->fd = fd;
	if ((ret = dw_stat_fd(fd, &output->stat)) < 0)
		return dw_fail_errno(err, -ret, "cannot inspect the output");
	*output_out = dw_steal(output);
	return 0;
}

static bool is_same(const struct os_stat *a, const struct os_stat *b)
{
	return a->device == b->device && a->inode == b->inode;
}

void dw_output_fds(const struct output *output, int *writer_out, int *reader_out)
{
	*writer_out = *reader_out = -1;
}

bool dw_output_is(const struct output *output, const struct os_stat *found)
{
	return S_ISREG(found->mode) &&
	       ((S_ISREG(output->stat.mode) && is_same(found, &output->stat)) ||
		(output->replaces && is_same(found, &output->old)));
}

char *dw_output_directory(const struct output *output)
{
	size_t length = output->path ? folder_length(output->path) : 0;

	if (!output->path)
		return NULL;
	return length > 0 ? dw_strndup(output->path, length) : dw_strdup(".");
}

int dw_output_write(struct output *output, const void *data, size_t bytes,
		    struct dwarfs_progress *progress, dwarfs_error **err)
{
	for (size_t done = 0; done < bytes;) {
		size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		int ret = dw_progress_tick(progress, err);

		if (ret < 0)
			return ret;
		ret = dw_fd_write(output->fd, (const uint8_t *)data + done, piece);
		if (ret < 0)
			return dw_output_fail_write(err, -ret, output->path);
		done += piece;
		progress->bytes_out += piece;
	}
	return 0;
}

static int rename_output(const struct output *output)
{
	const DWORD flags = (output->overwrite ? MOVEFILE_REPLACE_EXISTING : 0) |
			    (output->sync ? MOVEFILE_WRITE_THROUGH : 0);
	auto_free wchar_t *from = NULL;
	auto_free wchar_t *to = NULL;
	int ret;

	if ((ret = dw_wide_at(AT_FDCWD, output->temporary, &from)) < 0 ||
	    (ret = dw_wide_at(AT_FDCWD, output->path, &to)) < 0)
		return ret;
	return MoveFileExW(from, to, flags) ? 0 : dw_windows_errno();
}

/* The file that is replaced is the one of the beginning. */
static int check_target(const struct output *output, dwarfs_error **err)
{
	struct os_stat now;

	if (!output->overwrite || dw_stat_at(AT_FDCWD, output->path, &now) < 0 ||
	    (output->replaces && is_same(&now, &output->old)))
		return 0;
	return dw_output_fail_changed(err, output->path, output->replaces);
}

int dw_output_commit(struct output *output, dwarfs_error **err)
{
	int ret;

	if (output->sync && S_ISREG(output->stat.mode) &&
	    !FlushFileBuffers(dw_handle_of(output->fd)))
		return dw_fail_errno(err, -dw_windows_errno(), "cannot write the output");
	if (!output->owns_fd)
		return 0;
	output->owns_fd = false;
	if ((ret = dw_create_close(output->fd)) < 0)
		return dw_fail_errno(err, -ret, "failed to close output file");
	if ((ret = check_target(output, err)) < 0)
		return ret;
	ret = rename_output(output);
	if (ret == -EEXIST && !output->overwrite)
		return dw_output_fail_exists(err, output->path);
	if (ret < 0)
		return dw_output_fail(err, -ret, "cannot create output file",
				      output->path);
	dw_free(output->temporary);
	output->temporary = NULL;
	return 0;
}

void dw_output_set_sync(struct output *output, bool sync)
{
	output->sync = sync;
}
