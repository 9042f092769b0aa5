/* SPDX-License-Identifier: MIT */
/*
 * Functions composed of several of the C API, for Perl, Ruby, Lua and Java. Included after the
 * headers, as their typemaps and the checks of handles apply. Each language has a typemap for
 * `(const void **side_out, size_t *bytes_out)`: bytes, or nothing for NULL.
 */
DWARFS_BLOCKING(dwarfs_composed_add_path)

%{
#include <stdlib.h>
#include <string.h>

static const char image_magic[] = { 'D', 'W', 'A', 'R', 'F', 'S' };

static int add_image_at(dwarfs_builder *builder, const char *path, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	int ret = dwarfs_image_open(dwarfs_builder_context(builder), path, NULL, &image,
				    err);

	if (ret == 0)
		ret = dwarfs_builder_add_image(builder, image, "", 0, DWARFS_KEEP_BLOCKS,
					       err);
	dwarfs_image_free(image);
	return ret;
}

/* An archive, or if libarchive cannot read it, an image with a header. */
static int add_archive_at(dwarfs_builder *builder, const char *path,
			  const dwarfs_task *task, dwarfs_error **err)
{
	dwarfs_archive_import *import = NULL;
	int ret = dwarfs_archive_import_new(builder, &import, err);

	if (ret == 0) {
		dwarfs_archive_import_set_task(import, task);
		ret = dwarfs_archive_import_path(import, path, err);
	}
	dwarfs_archive_import_free(import);
	if (ret == DWARFS_ERR_UNSUPPORTED && add_image_at(builder, path, NULL) == 0) {
		dwarfs_error_free(*err);
		*err = NULL;
		ret = 0;
	}
	return ret;
}

static bool has_magic(dwarfs_io *io)
{
	char start[sizeof(image_magic)];

	return dwarfs_io_read(io, start, sizeof(start), 0, NULL) == (int)sizeof(start) &&
	       memcmp(start, image_magic, sizeof(start)) == 0;
}
%}

%inline %{
/*
 * Add a directory, an image or an archive, whichever is at the path. A directory that is the
 * only input is read when the builder runs.
 */
int dwarfs_composed_add_path(dwarfs_builder *builder, const char *path, bool is_only,
			     const dwarfs_task *task, dwarfs_error **err)
{
	dwarfs_error *why = NULL;
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_open(path, &io, &why);
	bool is_image = ret == 0 && has_magic(io);

	dwarfs_io_free(io);
	if (ret == DWARFS_ERR_NOT_FOUND || ret == DWARFS_ERR_ACCESS) {
		*err = why;
		return ret;
	}
	dwarfs_error_free(why);
	if (ret == DWARFS_ERR_IS_DIR && is_only)
		return dwarfs_builder_add_directory(builder, path, err);
	if (ret == DWARFS_ERR_IS_DIR)
		return dwarfs_builder_add_tree(builder, path, "", 0, err);
	return is_image ? add_image_at(builder, path, err)
			: add_archive_at(builder, path, task, err);
}

/* Give the image that a builder makes the image header of another image. */
int dwarfs_composed_keep_header(dwarfs_builder *builder, const dwarfs_image *image,
				dwarfs_error **err)
{
	uint64_t bytes = dwarfs_image_offset(image);
	void *header = malloc(bytes ? bytes : 1);
	int ret = DWARFS_ERR_NOMEM;

	if (!header)
		return dwarfs_error_set(err, ret, 0, "out of memory");
	ret = dwarfs_image_read_header(image, header, bytes, 0, err);
	if (ret == 0)
		ret = dwarfs_builder_set_header(builder, header, bytes, err);
	free(header);
	return ret;
}

/* The value of a side. */
int dwarfs_composed_value(const dwarfs_difference *difference,
			  enum dwarfs_compare_side side, const void **side_out,
			  size_t *bytes_out)
{
	*bytes_out = 0;
	*side_out = dwarfs_difference_value(difference, side, bytes_out);
	return 0;
}
%}
