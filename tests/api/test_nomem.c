/* SPDX-License-Identifier: MIT */
/*
 * api/test_nomem: out of memory while images are read, extracted, compared and made.
 */

#include "nomem.h"

/* -- operations: 0 or the error code; what they allocate is freed -------------------- */

static int read_everything(const dwarfs_image *image, dwarfs_error **err)
{
	dwarfs_walk *walk = NULL;
	dwarfs_file *file = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	static char buffer[BIG_BYTES];
	size_t bytes;
	int ret;

	if ((ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_DATA, &walk,
				   err)) == 0)
		while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0) {
			if ((ret = dwarfs_entry_stat(image, entry, stat, err)) < 0 ||
			    (ret = dwarfs_entry_inode(image, entry, &inode, err)) < 0 ||
			    (ret = dwarfs_xattr_list(image, inode, NULL, 0, &bytes,
						     err)) < 0)
				break;
			if ((dwarfs_stat_mode(stat) & 0170000) != 0100000)
				continue;
			ret = dwarfs_file_open(image, inode, &file, err);
			if (ret == 0)
				ret = dwarfs_file_read(file, buffer, sizeof(buffer), 0,
						       &bytes, err);
			if (ret == 0)
				ret = dwarfs_read(image, inode, buffer, 10, 5, &bytes,
						  err);
			dwarfs_file_free(file);
			file = NULL;
			if (ret < 0)
				break;
		}
	dwarfs_stat_free(stat);
	dwarfs_walk_free(walk);
	return ret;
}

static int read_tables(const dwarfs_image *image, dwarfs_error **err)
{
	dwarfs_metadata *metadata = NULL;
	enum dwarfs_metadata_kind kind;
	int ret = dwarfs_metadata_new(image, &metadata, err);

	while (ret == 0 && (ret = dwarfs_metadata_next(metadata, &kind, err)) > 0)
		ret = 0;
	dwarfs_metadata_free(metadata);
	return ret;
}

static int open_and_read(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_history *history = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	dwarfs_inode parent;
	int ret;

	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_cache_bytes(context, 1 << 18, err)) == 0 &&
	    (ret = dwarfs_io_open(fixture->path, &io, err)) == 0 &&
	    (ret = dwarfs_image_open_io(context, io, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_dir_parent(image, DWARFS_ROOT_INODE, &parent, err)) == 0 &&
	    (ret = dwarfs_history_new(image, &history, err)) == 0 &&
	    (ret = read_tables(image, err)) == 0)
		ret = read_everything(image, err);
	dwarfs_history_free(history);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	dwarfs_context_free(context);
	return ret;
}

static int open_and_check(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_image *image = NULL;
	int ret;

	if ((ret = dwarfs_image_open(NULL, fixture->path, NULL, &image, err)) == 0)
		ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					 NULL, err);
	dwarfs_image_free(image);
	return ret;
}

static int extract(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_extract *extraction = NULL;
	dwarfs_image *image = NULL;
	char target[100];
	int ret;

	snprintf(target, sizeof(target), "%s/out", fixture->dir);
	if ((ret = dwarfs_image_open(NULL, fixture->path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_extract_new(image, &extraction, err)) == 0)
		ret = dwarfs_extract_to_directory(extraction, target, err);
	dwarfs_extract_free(extraction);
	dwarfs_image_free(image);
	nomem_stop();
	remove_tree(target);
	return ret;
}

/* The image is compared with its directory; with an archive it would take too long. */
static int compare(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_compare *comparison = NULL;
	int ret;

	if ((ret = dwarfs_compare_new(NULL, &comparison, err)) == 0 &&
	    (ret = dwarfs_compare_set_path(comparison, DWARFS_COMPARE_A, fixture->path,
					   NULL, err)) == 0 &&
	    (ret = dwarfs_compare_set_path(comparison, DWARFS_COMPARE_B, fixture->tree,
					   NULL, err)) == 0)
		ret = dwarfs_compare_run(comparison, NULL, NULL, NULL, err);
	dwarfs_compare_free(comparison);
	return ret;
}

/* Without the end, and with a damaged header. */
static int salvage(const struct fixture *fixture, dwarfs_error **err)
{
	static uint8_t bytes[1 << 22];
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	const size_t size = fixture->image.size - 10;
	int ret;

	if (size > sizeof(bytes))
		return -1;
	memcpy(bytes, fixture->image.data, size);
	bytes[0] ^= 1;
	if ((ret = dwarfs_image_options_new(&options, err)) == 0)
		dwarfs_image_options_set_salvage(options, DWARFS_SALVAGE_ZEROS);
	if (ret == 0 &&
	    (ret = dwarfs_io_from_memory(bytes, size, NULL, NULL, &io, err)) == 0 &&
	    (ret = dwarfs_image_open_io(NULL, io, options, &image, err)) == 0)
		ret = read_everything(image, err);
	dwarfs_image_free(image);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	/* Data that could not be verified for lack of memory count as lost. */
	if (ret == DWARFS_ERR_CORRUPT || ret == DWARFS_ERR_NOT_IMAGE)
		ret = 0;
	return ret;
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	uint64_t *total = user;

	(void)inode;
	(void)data;
	(void)offset;
	(void)err;
	*total += bytes;
	return 0;
}

/* The functions that read many files, and those that read without a copy; with a cache
 * smaller than a block, and a larger one. */
static int read_in_bulk(const struct fixture *fixture, uint64_t cache_bytes,
			dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_image *image = NULL;
	dwarfs_file *file = NULL;
	dwarfs_inode inodes[3];
	dwarfs_entry entry;
	uint64_t total = 0;
	int ret;

	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_workers(context, 2, err)) == 0 &&
	    (ret = dwarfs_context_set_cache_bytes(context, cache_bytes, err)) == 0 &&
	    (ret = dwarfs_image_open(context, fixture->path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_find(image, "big", &entry, err)) == 0 &&
	    (ret = dwarfs_entry_inode(image, entry, &inodes[0], err)) == 0 &&
	    (ret = dwarfs_find(image, "sparse", &entry, err)) == 0 &&
	    (ret = dwarfs_entry_inode(image, entry, &inodes[1], err)) == 0 &&
	    (ret = dwarfs_find(image, "dir/sub/deep", &entry, err)) == 0 &&
	    (ret = dwarfs_entry_inode(image, entry, &inodes[2], err)) == 0 &&
	    (ret = dwarfs_prefetch(image, inodes, 3, err)) >= 0 &&
	    (ret = dwarfs_file_open(image, inodes[0], &file, err)) == 0 &&
	    (ret = dwarfs_file_borrow(file, BIG_BYTES, 0, &borrowed, err)) == 0)
		ret = dwarfs_read_in_order(image, inodes, 3, take_piece, NULL, &total,
					   NULL, err);
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(file);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return ret;
}

static int read_in_bulk_with_little(const struct fixture *fixture, dwarfs_error **err)
{
	return read_in_bulk(fixture, 100000, err);
}

static int read_in_bulk_with_much(const struct fixture *fixture, dwarfs_error **err)
{
	return read_in_bulk(fixture, 16 << 20, err);
}

static int discard(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)user;
	(void)data;
	(void)bytes;
	(void)err;
	return 0;
}

static int build_with(const struct fixture *fixture, uint32_t workers, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	int ret;

	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_workers(context, workers, err)) == 0 &&
	    (ret = dwarfs_builder_new(context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_level(builder, 1, err)) == 0 &&
	    (ret = dwarfs_builder_set_block_bits(builder, BLOCK_BITS, err)) == 0 &&
	    (ret = dwarfs_builder_set_chmod(builder, "norm", err)) == 0 &&
	    (ret = dwarfs_builder_add_history_argument(builder, "x", err)) == 0 &&
	    (ret = dwarfs_builder_add_xattr_rule(builder, true, "user.*", err)) == 0 &&
	    (ret = dwarfs_builder_set_header(builder, "#!", 2, err)) == 0 &&
	    (ret = dwarfs_builder_add_directory(builder, fixture->tree, err)) == 0 &&
	    (ret = write_to_function(builder, discard, NULL, err)) == 0 &&
	    dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS) > 0)
		fail_msg("out of memory was reported as a file that cannot be read");
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return ret;
}

static int build_alone(const struct fixture *fixture, dwarfs_error **err)
{
	return build_with(fixture, 0, err);
}

static int build_with_workers(const struct fixture *fixture, dwarfs_error **err)
{
	return build_with(fixture, 2, err);
}

/* -- items --------------------------------------------------------------------------- */

static int read_twice(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		      dwarfs_error **err, void *user)
{
	static const char text[] = "some text that is given twice";
	int *left = user;

	(void)err;
	(void)offset_out;
	if ((*left)-- == 0)
		return 0;
	*data_out = text;
	*bytes_out = sizeof(text);
	return 1;
}

static int add_contents(dwarfs_builder *builder, const struct fixture *fixture,
			dwarfs_item *item, dwarfs_error **err)
{
	static uint8_t much[200000];
	int left = 2, ret;

	memset(much, 'm', sizeof(much));
	if ((ret = dwarfs_item_add_xattr(item, "user.a", "1", 1, err)) < 0 ||
	    (ret = dwarfs_item_add_xattr(item, "user.a", "2", 1, err)) < 0 ||
	    (ret = dwarfs_item_set_reader(item, UINT64_MAX, read_twice, &left, err)) <
		    0 ||
	    (ret = dwarfs_builder_add_item(builder, "a/b/read", 8, item, err)) < 0 ||
	    (ret = dwarfs_item_set_path(item, fixture->path, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "a/path", 6, item, err)) < 0 ||
	    (ret = dwarfs_item_set_memory(item, much, sizeof(much), err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "memory", 6, item, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "a/path", 6, item, err)) < 0)
		return ret;
	return 0;
}

static int add_links(dwarfs_builder *builder, dwarfs_item *item, dwarfs_error **err)
{
	int ret;

	if ((ret = dwarfs_item_set_hard_link(item, "z", 1, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "later", 5, item, err)) < 0 ||
	    (ret = dwarfs_item_set_hard_link(item, "memory", 6, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "z", 1, item, err)) < 0)
		return ret;
	return dwarfs_builder_remove_item(builder, "a/b", 3, false, err);
}

/* Links to entries of a layer that are left out, before and after them. */
static int add_displaced(dwarfs_builder *builder, dwarfs_item *item, dwarfs_error **err)
{
	int ret;

	if ((ret = dwarfs_builder_set_on_conflict(builder, DWARFS_CONFLICT_FIRST, err)) <
		    0 ||
	    (ret = dwarfs_builder_begin_layer(builder, err)) < 0 ||
	    (ret = dwarfs_item_set_hard_link(item, "memory", 6, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "early", 5, item, err)) < 0 ||
	    (ret = dwarfs_item_set_memory(item, "own", 3, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "memory", 6, item, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "memory/b/c", 10, item, err)) < 0 ||
	    (ret = dwarfs_item_set_hard_link(item, "memory", 6, err)) < 0 ||
	    (ret = dwarfs_builder_add_item(builder, "own", 3, item, err)) < 0)
		return ret;
	return dwarfs_builder_begin_layer(builder, err);
}

static int build_items(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	dwarfs_item *item = NULL;
	int ret;

	if ((ret = nomem_new_builder(1, &context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_block_bits(builder, BLOCK_BITS, err)) == 0 &&
	    (ret = dwarfs_builder_set_spool(builder, fixture->dir, 0, err)) == 0 &&
	    (ret = dwarfs_builder_add_tree(builder, fixture->tree, "tree", 4, err)) ==
		    0 &&
	    (ret = dwarfs_item_new(0100644, &item, err)) == 0 &&
	    (ret = add_contents(builder, fixture, item, err)) == 0 &&
	    (ret = add_links(builder, item, err)) == 0 &&
	    (ret = add_displaced(builder, item, err)) == 0 &&
	    (ret = write_to_function(builder, discard, NULL, err)) == 0 &&
	    dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS) > 0)
		fail_msg("out of memory was reported as a file that cannot be read");
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return ret;
}

/* -- metadata ------------------------------------------------------------------------ */

/* Add empty files whose names differ in three digits. */
static int add_names(dwarfs_builder *builder, unsigned count, dwarfs_error **err)
{
	dwarfs_item *item = NULL;
	char name[] = "the name of a file 000";
	int ret = dwarfs_item_new(0100644, &item, err);

	for (unsigned i = 0; ret == 0 && i < count; i++) {
		snprintf(name + 19, 4, "%03u", i % 1000);
		ret = dwarfs_builder_add_item(builder, name, 22, item, err);
	}
	dwarfs_item_free(item);
	return ret;
}

/* At a level that compresses metadata. Its size, or an error. */
static int build_names(unsigned count, bool plain, dwarfs_error **err)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	int ret;

	if ((ret = nomem_new_builder(3, &context, &builder, err)) == 0 &&
	    (!plain || (ret = dwarfs_builder_set_codec(builder, DWARFS_CODEC_METADATA,
						       "null", err)) == 0) &&
	    (ret = add_names(builder, count, err)) == 0 &&
	    (ret = write_to_function(builder, discard, NULL, err)) == 0)
		ret = (int)dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_METADATA);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return ret;
}

static int build_one_name(const struct fixture *fixture, dwarfs_error **err)
{
	(void)fixture;
	return build_names(1, false, err);
}

static int build_many_names(const struct fixture *fixture, dwarfs_error **err)
{
	(void)fixture;
	return build_names(200, false, err);
}

/* -- the test ------------------------------------------------------------------------ */

static void reading_survives_one_failure(void **state)
{
	nomem_everywhere(*state, open_and_read, false);
}

static void reading_survives_the_end_of_memory(void **state)
{
	nomem_everywhere(*state, open_and_read, true);
}

static void reading_in_bulk_survives(void **state)
{
	nomem_everywhere(*state, read_in_bulk_with_little, false);
	nomem_everywhere(*state, read_in_bulk_with_much, false);
	nomem_everywhere(*state, read_in_bulk_with_much, true);
}

static void checking_survives(void **state)
{
	nomem_everywhere(*state, open_and_check, false);
}

static void comparing_survives(void **state)
{
	nomem_everywhere(*state, compare, false);
	nomem_everywhere(*state, compare, true);
}

static void salvaging_survives(void **state)
{
	nomem_everywhere(*state, salvage, false);
	nomem_everywhere(*state, salvage, true);
}

static void extracting_survives_one_failure(void **state)
{
	nomem_everywhere(*state, extract, false);
}

static void extracting_survives_the_end_of_memory(void **state)
{
	nomem_everywhere(*state, extract, true);
}

static void building_survives_one_failure(void **state)
{
	nomem_everywhere(*state, build_alone, false);
}

static void building_survives_the_end_of_memory(void **state)
{
	nomem_everywhere(*state, build_alone, true);
}

static void building_with_workers_survives(void **state)
{
	nomem_everywhere(*state, build_with_workers, false);
}

static void building_of_items_survives(void **state)
{
	nomem_everywhere(*state, build_items, false);
	nomem_everywhere(*state, build_items, true);
}

/* Compressed it is smaller, or not, and then the plain tables are made again. */
static void compressing_metadata_survives(void **state)
{
	int many = build_names(200, false, NULL), plain = build_names(200, true, NULL);

	assert_true(dwarfs_has_codec("zstd") ? many < plain : many == plain);
	assert_int_equal(build_names(1, false, NULL), build_names(1, true, NULL));
	nomem_everywhere(*state, build_many_names, false);
	nomem_everywhere(*state, build_one_name, false);
	nomem_everywhere(*state, build_one_name, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_survives_one_failure),
		cmocka_unit_test(reading_survives_the_end_of_memory),
		cmocka_unit_test(reading_in_bulk_survives),
		cmocka_unit_test(checking_survives),
		cmocka_unit_test(comparing_survives),
		cmocka_unit_test(salvaging_survives),
		cmocka_unit_test(extracting_survives_one_failure),
		cmocka_unit_test(extracting_survives_the_end_of_memory),
		cmocka_unit_test(building_survives_one_failure),
		cmocka_unit_test(building_survives_the_end_of_memory),
		cmocka_unit_test(building_with_workers_survives),
		cmocka_unit_test(building_of_items_survives),
		cmocka_unit_test(compressing_metadata_survives),
	};

	return cmocka_run_group_tests(tests, nomem_setup, fixture_teardown);
}
