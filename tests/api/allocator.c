/* SPDX-License-Identifier: MIT */
/*
 * api/allocator: an allocator that counts and can refuse, and operations of the whole library
 * that take their memory from it.
 */
#include "allocator.h"

/* -- the allocator ------------------------------------------------------------------- */

#define MARK UINT64_C(0x6b636f6c62207369)

/* In front of each block. */
struct mark {
	uint64_t mark;
	size_t bytes;
} __attribute__((aligned(16)));

static bool refuses(struct pool *pool, size_t more)
{
	const size_t call = atomic_fetch_add(&pool->calls, 1);
	const long fail_at = atomic_load(&pool->fail_at);
	size_t now = atomic_fetch_add(&pool->bytes, more) + more, most;

	if ((fail_at >= 0 && call == (size_t)fail_at) ||
	    (pool->limit && now > pool->limit)) {
		atomic_fetch_sub(&pool->bytes, more);
		return true;
	}
	most = atomic_load(&pool->most);
	while (now > most && !atomic_compare_exchange_weak(&pool->most, &most, now))
		;
	return false;
}

static void *pool_allocate(size_t bytes, void *user)
{
	struct pool *pool = user;
	struct mark *mark;

	if (bytes == 0)
		atomic_fetch_add(&pool->wrong, 1);
	if (refuses(pool, bytes))
		return NULL;
	mark = malloc(sizeof(*mark) + bytes);
	if (!mark) {
		atomic_fetch_sub(&pool->bytes, bytes);
		return NULL;
	}
	*mark = (struct mark){ MARK, bytes };
	memset(mark + 1, 0xa5, bytes); /* nothing is zero by luck */
	atomic_fetch_add(&pool->blocks, 1);
	return mark + 1;
}

static struct mark *mark_of(struct pool *pool, void *block, size_t bytes)
{
	struct mark *mark = (struct mark *)block - 1;

	if (mark->mark != MARK || mark->bytes != bytes)
		atomic_fetch_add(&pool->wrong, 1);
	return mark;
}

static void *pool_resize(void *block, size_t old_bytes, size_t bytes, void *user)
{
	struct pool *pool = user;
	struct mark *mark = mark_of(pool, block, old_bytes), *moved;

	if (refuses(pool, bytes))
		return NULL;
	moved = realloc(mark, sizeof(*mark) + bytes);
	if (!moved) {
		atomic_fetch_sub(&pool->bytes, bytes);
		return NULL;
	}
	atomic_fetch_sub(&pool->bytes, old_bytes);
	moved->bytes = bytes;
	return moved + 1;
}

static void pool_release(void *block, size_t bytes, void *user)
{
	struct pool *pool = user;
	struct mark *mark = mark_of(pool, block, bytes);

	atomic_fetch_sub(&pool->bytes, bytes);
	atomic_fetch_sub(&pool->blocks, 1);
	mark->mark = 0;
	free(mark);
}

void pool_init(struct pool *pool)
{
	*pool = (struct pool){
		.functions = { sizeof(dwarfs_allocator), pool, pool_allocate, pool_resize,
			       pool_release },
		.fail_at = -1,
	};
}

void assert_pool_is_empty(struct pool *pool)
{
	assert_int_equal(atomic_load(&pool->wrong), 0);
	assert_int_equal(atomic_load(&pool->blocks), 0);
	assert_int_equal(atomic_load(&pool->bytes), 0);
}

/* -- reading ------------------------------------------------------------------------- */

static int open_fixture(const struct fixture *fixture, dwarfs_context *context,
			dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret = dwarfs_io_open(fixture->path, &io, err);

	if (ret == 0)
		ret = dwarfs_image_open_io(context, io, NULL, image_out, err);
	dwarfs_io_free(io);
	return ret;
}

static int read_file(const dwarfs_image *image, dwarfs_inode inode, dwarfs_error **err)
{
	static char buffer[BIG_BYTES];
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	size_t bytes;
	int ret;

	if ((ret = dwarfs_file_open(image, inode, &file, err)) == 0 &&
	    (ret = dwarfs_file_read(file, buffer, sizeof(buffer), 0, &bytes, err)) == 0 &&
	    bytes > 100)
		ret = dwarfs_file_borrow(file, 100, bytes / 2, &borrowed, err);
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(file);
	return ret;
}

static int read_all(const dwarfs_image *image, dwarfs_error **err)
{
	dwarfs_walk *walk = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	size_t bytes;
	int ret;

	if ((ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				   err)) == 0)
		while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0) {
			dwarfs_inode inode;

			if ((ret = dwarfs_entry_stat(image, entry, stat, err)) < 0 ||
			    (ret = dwarfs_entry_inode(image, entry, &inode, err)) < 0 ||
			    (ret = dwarfs_xattr_list(image, inode, NULL, 0, &bytes,
						     err)) < 0)
				break;
			if ((dwarfs_stat_mode(stat) & 0170000) == 0100000 &&
			    (ret = read_file(image, inode, err)) < 0)
				break;
		}
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	return ret;
}

/* A name that does not exist, for its error. */
static int look_up_in_vain(const dwarfs_image *image, dwarfs_error **err)
{
	dwarfs_entry entry;
	int ret = dwarfs_find(image, "dir/is/not/here", &entry, err);

	if (ret != DWARFS_ERR_NOT_FOUND)
		return ret;
	if (!err || dwarfs_error_code(*err) != ret)
		return dwarfs_error_code(*err); /* no memory for the error */
	dwarfs_error_free(*err);
	*err = NULL;
	return 0;
}

int list_and_read(const struct fixture *fixture, dwarfs_context *context,
		  dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	int ret = open_fixture(fixture, context, &image, err);

	if (ret == 0 && (ret = look_up_in_vain(image, err)) == 0)
		ret = read_all(image, err);
	dwarfs_image_free(image);
	return ret;
}

static int read_in_bulk(const struct fixture *fixture, dwarfs_context *context,
			dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_inode inodes[2];
	int ret = open_fixture(fixture, context, &image, err);

	if (ret == 0) {
		inodes[0] = find_inode(image, "big");
		inodes[1] = find_inode(image, "sparse");
		if ((ret = dwarfs_prefetch(image, inodes, 2, err)) >= 0)
			ret = dwarfs_read_in_order(image, inodes, 2, ignore_piece, NULL,
						   NULL, NULL, err);
	}
	dwarfs_image_free(image);
	return ret;
}

static int check(const struct fixture *fixture, dwarfs_context *context,
		 dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	int ret = open_fixture(fixture, context, &image, err);

	if (ret == 0)
		ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					 NULL, err);
	dwarfs_image_free(image);
	return ret;
}

static int extract(const struct fixture *fixture, dwarfs_context *context,
		   dwarfs_error **err)
{
	dwarfs_extract *extraction = NULL;
	dwarfs_image *image = NULL;
	char target[100];
	int ret = open_fixture(fixture, context, &image, err);

	snprintf(target, sizeof(target), "%s/out", fixture->dir);
	if (ret == 0 && (ret = dwarfs_extract_new(image, &extraction, err)) == 0)
		ret = dwarfs_extract_to_directory(extraction, target, err);
	dwarfs_extract_free(extraction);
	dwarfs_image_free(image);
	remove_tree(target);
	return ret;
}

static int compare(const struct fixture *fixture, dwarfs_context *context,
		   dwarfs_error **err)
{
	dwarfs_compare *comparison = NULL;
	int ret;

	if ((ret = dwarfs_compare_new(context, &comparison, err)) == 0 &&
	    (ret = dwarfs_compare_set_path(comparison, DWARFS_COMPARE_A, fixture->path,
					   NULL, err)) == 0 &&
	    (ret = dwarfs_compare_set_path(comparison, DWARFS_COMPARE_B, fixture->tree,
					   NULL, err)) == 0)
		ret = dwarfs_compare_run(comparison, NULL, NULL, NULL, err);
	dwarfs_compare_free(comparison);
	return ret;
}

/* -- writing ------------------------------------------------------------------------- */

static int add_items(dwarfs_builder *builder, dwarfs_error **err)
{
	static const char text[] = "some text, some text, some more text";
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = dwarfs_item_new(0100644, &item, err)) == 0 &&
	    (ret = dwarfs_item_add_xattr(item, "user.a", "1", 1, err)) == 0 &&
	    (ret = dwarfs_item_set_memory(item, text, sizeof(text), err)) == 0 &&
	    (ret = dwarfs_builder_add_item(builder, "a/b/text", 8, item, err)) == 0)
		ret = dwarfs_builder_add_item(builder, "copy", 4, item, err);
	dwarfs_item_free(item);
	return ret;
}

int pack_from_memory(const struct fixture *fixture, dwarfs_context *context,
		     dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_sink *sink = NULL;
	void *data = NULL;
	size_t bytes;
	int ret;

	(void)fixture;
	if ((ret = dwarfs_builder_new(context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_level(builder, 1, err)) == 0 &&
	    (ret = add_items(builder, err)) == 0 &&
	    (ret = dwarfs_sink_to_memory(SIZE_MAX, &sink, err)) == 0 &&
	    (ret = dwarfs_builder_write(builder, sink, err)) == 0)
		ret = dwarfs_sink_take(sink, &data, &bytes, err);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
	return ret;
}

/* Pack the directory, and read the image. */
static int pack_with(const struct fixture *fixture, dwarfs_context *context,
		     const char *codec, dwarfs_error **err)
{
	dwarfs_builder *builder = NULL;
	dwarfs_image *image = NULL;
	dwarfs_task *task = NULL;
	char target[100];
	int ret;

	snprintf(target, sizeof(target), "%s/packed.dwarfs", fixture->dir);
	if ((ret = dwarfs_task_new(&task, err)) == 0 &&
	    (ret = dwarfs_builder_new(context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_level(builder, 3, err)) == 0 &&
	    (ret = dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, codec, err)) ==
		    0 &&
	    (ret = dwarfs_builder_set_block_bits(builder, BLOCK_BITS, err)) == 0 &&
	    (ret = dwarfs_builder_set_order(builder, "nilsimsa", err)) == 0 &&
	    (ret = dwarfs_builder_set_categorizers(builder, "incompressible", err)) ==
		    0 &&
	    (ret = dwarfs_builder_add_filter(builder, "+ *", err)) == 0 &&
	    (ret = dwarfs_builder_add_directory(builder, fixture->tree, err)) == 0 &&
	    (ret = dwarfs_builder_write_path(builder, target, true, err)) == 0 &&
	    (ret = dwarfs_image_open(context, target, NULL, &image, err)) == 0)
		ret = read_all(image, err);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	dwarfs_task_free(task);
	remove(target);
	return ret;
}

/* With each codec that there is. */
static int pack_from_disk(const struct fixture *fixture, dwarfs_context *context,
			  dwarfs_error **err)
{
	static const char *const codecs[][2] = { { "zstd", "zstd:level=12" },
						 { "lzma", "lzma:level=1" },
						 { "brotli", "brotli:quality=2" },
						 { "lz4", "lz4" } };
	int ret = pack_with(fixture, context, "null", err);

	for (size_t i = 0; i < sizeof(codecs) / sizeof(codecs[0]) && ret == 0; i++)
		if (dwarfs_has_codec(codecs[i][0]))
			ret = pack_with(fixture, context, codecs[i][1], err);
	return ret;
}

/* -- archives ------------------------------------------------------------------------ */

static int export_to(dwarfs_sink *sink, const dwarfs_image *image, dwarfs_error **err)
{
	dwarfs_archive_export *archive_export = NULL;
	int ret = dwarfs_archive_export_new(image, &archive_export, err);

	if (ret == 0 &&
	    (ret = dwarfs_archive_export_set_format(archive_export, "pax", err)) == 0)
		ret = dwarfs_archive_export_write(archive_export, sink, err);
	dwarfs_archive_export_free(archive_export);
	return ret;
}

static int import_from(const void *data, size_t bytes, dwarfs_context *context,
		       dwarfs_error **err)
{
	dwarfs_archive_import *archive_import = NULL;
	dwarfs_builder *builder = NULL;
	dwarfs_sink *sink = NULL;
	dwarfs_io *io = NULL;
	int ret;

	if ((ret = dwarfs_io_from_memory(data, bytes, NULL, NULL, &io, err)) == 0 &&
	    (ret = dwarfs_builder_new(context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_level(builder, 1, err)) == 0 &&
	    (ret = dwarfs_archive_import_new(builder, &archive_import, err)) == 0 &&
	    (ret = dwarfs_archive_import_io(archive_import, io, err)) == 0 &&
	    (ret = dwarfs_sink_to_memory(SIZE_MAX, &sink, err)) == 0)
		ret = dwarfs_builder_write(builder, sink, err);
	dwarfs_archive_import_free(archive_import);
	dwarfs_builder_free(builder);
	dwarfs_sink_free(sink);
	dwarfs_io_free(io);
	return ret;
}

static int export_and_import(const struct fixture *fixture, dwarfs_context *context,
			     dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	dwarfs_sink *sink = NULL;
	void *data = NULL;
	size_t bytes;
	int ret = open_fixture(fixture, context, &image, err);

	if (ret == 0 && (ret = dwarfs_sink_to_memory(SIZE_MAX, &sink, err)) == 0 &&
	    (ret = export_to(sink, image, err)) == 0 &&
	    (ret = dwarfs_sink_take(sink, &data, &bytes, err)) == 0)
		ret = import_from(data, bytes, context, err);
	dwarfs_memory_free(data);
	dwarfs_sink_free(sink);
	dwarfs_image_free(image);
	if (ret == DWARFS_ERR_UNSUPPORTED) { /* without libarchive */
		dwarfs_error_free(*err);
		*err = NULL;
		return 0;
	}
	return ret;
}

/* -- all ----------------------------------------------------------------------------- */

const struct named_operation operations[] = {
	{ "list and read", list_and_read },
	{ "read in bulk", read_in_bulk },
	{ "check", check },
	{ "extract", extract },
	{ "compare", compare },
	{ "pack from memory", pack_from_memory },
	{ "pack from disk", pack_from_disk },
	{ "export and import", export_and_import },
	{ NULL, NULL },
};

int run_with(const struct fixture *fixture, const dwarfs_allocator *allocator,
	     uint32_t workers, operation run, dwarfs_error **err)
{
	const dwarfs_allocator *before = NULL, *after = NULL;
	dwarfs_context *context = NULL;
	int ret;

	assert_int_equal(dwarfs_allocator_use(allocator, &before, NULL), 0);
	ret = dwarfs_context_new_with_allocator(allocator, &context, err);
	if (ret == 0 && (ret = dwarfs_context_set_workers(context, workers, err)) == 0 &&
	    (ret = dwarfs_context_set_cache_bytes(context, 1 << 18, err)) == 0)
		ret = run(fixture, context, err);
	dwarfs_context_free(context);
	assert_int_equal(dwarfs_allocator_use(before, &after, NULL), 0);
	assert_ptr_equal(after, allocator);
	return ret;
}
