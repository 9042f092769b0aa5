/* SPDX-License-Identifier: MIT */
/*
 * api/support: see support.h.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static uint8_t *noise(size_t size, uint64_t seed)
{
	uint8_t *data = malloc(size);
	size_t i;

	assert_non_null(data);
	for (i = 0; i < size; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		data[i] = i % 512 < 300 ? (uint8_t)(seed >> 56) : (uint8_t)('a' + i % 23);
	}
	return data;
}

void store_path(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void store(const char *path, const void *data, size_t size, mode_t mode)
{
	store_path(path, data, size);
	assert_int_equal(chmod(path, mode), 0);
}

static void store_sparse(const char *path)
{
	uint8_t *data = noise(SPARSE_DATA_BYTES, 3);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SPARSE_BYTES), 0);
	assert_int_equal(pwrite(fd, data, SPARSE_DATA_BYTES, SPARSE_DATA_AT),
			 SPARSE_DATA_BYTES);
	close(fd);
	free(data);
}

/* In the current working directory. */
static void make_tree(void)
{
	struct timespec times[2] = { { 1000000001, 0 }, { 1234567890, 0 } };
	uint8_t *big = noise(BIG_BYTES, 1);
	char name[256];

	assert_int_equal(mkdir("dir", 0755), 0);
	assert_int_equal(mkdir("dir/sub", 0700), 0);
	assert_int_equal(mkdir("none", 0555), 0);
	store("big", big, BIG_BYTES, 0644);
	store("dir/copy", big, BIG_BYTES, 0600);
	store("dir/sub/deep", "deep\n", 5, 04751);
	store("empty", "", 0, 0444);
	store("\xff\xfe\n", "odd", 3, 0644);
	memset(name, 'n', 255);
	name[255] = 0;
	store(name, "long", 4, 0644);
	store_sparse("sparse");
	assert_int_equal(link("big", "dir/hard"), 0);
	assert_int_equal(symlink("dir/sub", "link"), 0);
	assert_int_equal(symlink("/nowhere/at/all", "absolute"), 0);
	assert_int_equal(mkdir("dir-after", 0755), 0);
	assert_int_equal(mkdir("dir-after/x", 0755), 0);
	assert_int_equal(utimensat(AT_FDCWD, "dir/sub/deep", times, 0), 0);
	free(big);
}

dwarfs_context *context_with(uint32_t workers)
{
	dwarfs_context *context = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_workers(context, workers, &err), err);
	return context;
}

int ignore_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		 dwarfs_error **err, void *user)
{
	(void)inode;
	(void)data;
	(void)bytes;
	(void)offset;
	(void)err;
	(void)user;
	return 0;
}

int append_bytes(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct bytes *to = user;
	uint8_t *grown = realloc(to->data, to->size + bytes);

	if (!grown)
		return dwarfs_error_set(err, DWARFS_ERR_NOMEM, 0, "no memory to append");
	memcpy(grown + to->size, data, bytes);
	to->data = grown;
	to->size += bytes;
	return 0;
}

int write_to_function(dwarfs_builder *builder, dwarfs_sink_write_fn write, void *user,
		      dwarfs_error **err)
{
	dwarfs_sink *sink = NULL;
	int ret = dwarfs_sink_new(write, NULL, user, &sink, err);

	if (ret == 0)
		ret = dwarfs_builder_write(builder, sink, err);
	dwarfs_sink_free(sink);
	return ret;
}

int write_to_fd(dwarfs_builder *builder, int fd, dwarfs_error **err)
{
	dwarfs_sink *sink = NULL;
	int ret = dwarfs_sink_from_fd(fd, &sink, err);

	if (ret == 0)
		ret = dwarfs_builder_write(builder, sink, err);
	dwarfs_sink_free(sink);
	return ret;
}

dwarfs_task *new_task(dwarfs_progress_fn progress, void *user)
{
	dwarfs_error *err = NULL;
	dwarfs_task *task = NULL;

	assert_success(dwarfs_task_new(&task, &err), err);
	dwarfs_task_set_progress(task, progress, user);
	return task;
}

dwarfs_builder *new_builder(const struct fixture *fixture, dwarfs_context *context)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_new(context, &builder, &err), err);
	assert_success(dwarfs_builder_set_level(builder, 1, &err), err);
	assert_success(dwarfs_builder_set_block_bits(builder, BLOCK_BITS, &err), err);
	assert_success(dwarfs_builder_add_directory(builder, fixture->tree, &err), err);
	return builder;
}

int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char back[4096];
	dwarfs_builder *builder;
	dwarfs_error *err = NULL;

	assert_non_null(fixture);
	assert_non_null(temporary_folder(fixture->dir, "dwarfs-api"));
	snprintf(fixture->tree, sizeof(fixture->tree), "%s/tree", fixture->dir);
	snprintf(fixture->path, sizeof(fixture->path), "%s/image.dwarfs", fixture->dir);
	assert_int_equal(mkdir(fixture->tree, 0755), 0);
	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(fixture->tree), 0);
	make_tree();
	assert_int_equal(chdir(back), 0);

	builder = new_builder(fixture, NULL);
	assert_success(write_to_function(builder, append_bytes, &fixture->image, &err),
		       err);
	dwarfs_builder_free(builder);
	store_path(fixture->path, fixture->image.data, fixture->image.size);
	*state = fixture;
	return 0;
}

static int remove_entry(const char *path, const struct stat *stat, int type,
			struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	remove_tree(fixture->dir);
	free(fixture->image.data);
	free(fixture);
	return 0;
}

dwarfs_image *open_image(const struct fixture *fixture, dwarfs_context *context)
{
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	assert_success(dwarfs_io_from_memory(fixture->image.data, fixture->image.size,
					     NULL, NULL, &io, &err),
		       err);
	assert_success(dwarfs_image_open_io(context, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	return image;
}

dwarfs_entry find_entry(const dwarfs_image *image, const char *path)
{
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_find(image, path, &entry, &err), err);
	return entry;
}

dwarfs_inode find_inode(const dwarfs_image *image, const char *path)
{
	dwarfs_inode inode = DWARFS_ROOT_INODE;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_entry_inode(image, find_entry(image, path), &inode, &err),
		       err);
	return inode;
}

struct bytes load_path(const char *path)
{
	struct bytes bytes = { 0 };
	FILE *file = fopen(path, "rb");
	struct stat stat;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &stat), 0);
	bytes.size = (size_t)stat.st_size;
	bytes.data = malloc(bytes.size + 1);
	assert_non_null(bytes.data);
	assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

struct bytes load(const struct fixture *fixture, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", fixture->tree, path);
	return load_path(full);
}
