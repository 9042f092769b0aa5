/* SPDX-License-Identifier: MIT */
/*
 * api/metadata: the tables of the metadata as they are stored, and their schema.
 */
#include "support.h"

static dwarfs_metadata *begin(const dwarfs_image *image)
{
	dwarfs_metadata *metadata = NULL;
	dwarfs_error *err = NULL;
	enum dwarfs_metadata_kind kind;

	assert_success(dwarfs_metadata_new(image, &metadata, &err), err);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, &err), 1);
	assert_int_equal(kind, DWARFS_METADATA_STRUCT);
	assert_string_equal(dwarfs_metadata_type(metadata), "metadata");
	assert_null(dwarfs_metadata_name(metadata));
	assert_int_equal(dwarfs_metadata_depth(metadata), 0);
	assert_int_equal(dwarfs_metadata_layout(metadata), dwarfs_schema_root(image));
	return metadata;
}

/* Advance to a field of the root; returns its kind. */
static int seek(dwarfs_metadata *metadata, const char *name)
{
	enum dwarfs_metadata_kind kind;

	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0) {
		if (dwarfs_metadata_name(metadata) &&
		    strcmp(dwarfs_metadata_name(metadata), name) == 0)
			return kind;
		dwarfs_metadata_skip(metadata);
	}
	fail_msg("no field '%s'", name);
	return -1;
}

static void a_pass_ends_where_it_began(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	dwarfs_error *err = NULL;
	uint32_t open = 1;
	enum dwarfs_metadata_kind kind = DWARFS_METADATA_STRUCT;
	int ret;

	while ((ret = dwarfs_metadata_next(metadata, &kind, &err)) > 0) {
		open -= kind == DWARFS_METADATA_END;
		assert_int_equal(dwarfs_metadata_depth(metadata), open);
		open += kind == DWARFS_METADATA_STRUCT || kind == DWARFS_METADATA_LIST ||
			kind == DWARFS_METADATA_MAP;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(open, 0);
	assert_int_equal(kind, DWARFS_METADATA_END);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, &err), 0);
	dwarfs_metadata_free(metadata);
	dwarfs_metadata_free(NULL);
	dwarfs_image_free(image);
}

static void fields_come_in_the_order_of_their_numbers(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	int last = 0, count = 0;
	enum dwarfs_metadata_kind kind;

	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0 &&
	       kind != DWARFS_METADATA_END) {
		assert_true(dwarfs_metadata_field(metadata) > last);
		last = dwarfs_metadata_field(metadata);
		count++;
		dwarfs_metadata_skip(metadata);
	}
	assert_int_equal(last, 36);
	assert_int_equal(count, 36);
	dwarfs_metadata_free(metadata);
	dwarfs_image_free(image);
}

static void a_list_has_the_items_that_it_counts(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	uint64_t count, items = 0, bits = 0;
	enum dwarfs_metadata_kind kind;

	assert_int_equal(seek(metadata, "dir_entries"), DWARFS_METADATA_LIST);
	assert_string_equal(dwarfs_metadata_type(metadata), "list<dir_entry>");
	assert_int_equal(dwarfs_metadata_field(metadata), 19);
	count = dwarfs_metadata_count(metadata);
	assert_int_equal(count, TREE_ENTRIES);
	bits = dwarfs_metadata_bits(metadata);
	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0 &&
	       kind != DWARFS_METADATA_END) {
		assert_string_equal(dwarfs_metadata_type(metadata), "dir_entry");
		assert_int_equal(dwarfs_metadata_bits(metadata), bits / count);
		items++;
		dwarfs_metadata_skip(metadata);
	}
	assert_int_equal(items, count);
	dwarfs_metadata_free(metadata);
	dwarfs_image_free(image);
}

static void the_rest_of_a_list_can_be_left(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	enum dwarfs_metadata_kind kind;

	seek(metadata, "modes");
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 1);
	assert_int_equal(kind, DWARFS_METADATA_NUMBER);
	assert_int_equal(dwarfs_metadata_number(metadata) & 0170000, 0040000);
	dwarfs_metadata_leave(metadata);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 1);
	assert_int_equal(kind, DWARFS_METADATA_END);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 1);
	assert_string_equal(dwarfs_metadata_name(metadata), "names");
	dwarfs_metadata_leave(metadata);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 1);
	assert_int_equal(kind, DWARFS_METADATA_END);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 0);
	dwarfs_metadata_free(metadata);
	dwarfs_image_free(image);
}

static void values_are_what_the_image_says(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	const void *bytes;
	size_t size;

	assert_int_equal(seek(metadata, "block_size"), DWARFS_METADATA_NUMBER);
	assert_int_equal(dwarfs_metadata_number(metadata), 1 << BLOCK_BITS);
	assert_int_equal(dwarfs_metadata_bits(metadata), BLOCK_BITS + 1);
	assert_int_equal(dwarfs_metadata_count(metadata), 0);
	assert_int_equal(seek(metadata, "dwarfs_version"), DWARFS_METADATA_STRING);
	bytes = dwarfs_metadata_bytes(metadata, &size);
	assert_int_equal(size, strlen(dwarfs_image_created_by(image)));
	assert_memory_equal(bytes, dwarfs_image_created_by(image), size);
	assert_int_equal(dwarfs_metadata_count(metadata), size);
	assert_int_equal(seek(metadata, "category_names"), DWARFS_METADATA_UNSET);
	assert_int_equal(dwarfs_metadata_layout(metadata), -1);
	assert_string_equal(dwarfs_metadata_type(metadata), "list<string>");
	dwarfs_metadata_free(metadata);
	dwarfs_image_free(image);
}

static void a_pass_keeps_the_image(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	enum dwarfs_metadata_kind kind;

	dwarfs_image_free(image);
	while (dwarfs_metadata_next(metadata, &kind, NULL) > 0)
		;
	assert_int_equal(kind, DWARFS_METADATA_END);
	dwarfs_metadata_free(metadata);
}

static void the_schema_says_where_values_are(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_metadata *metadata = begin(image);
	uint32_t bytes, bits, fields, layout = 0, i;
	int32_t id = 0, offset = 0;
	dwarfs_error *err = NULL;
	uint32_t root = dwarfs_schema_root(image);

	assert_true(root < dwarfs_schema_count(image));
	assert_success(dwarfs_schema_layout(image, root, &bytes, &bits, &fields, &err),
		       err);
	assert_int_equal(bytes, (bits + 7) / 8);
	assert_int_equal(dwarfs_metadata_bits(metadata), 8 * bytes);
	assert_true(bytes < dwarfs_metadata_total_bytes(image));
	seek(metadata, "block_size");
	for (i = 0; i < fields && id != 15; i++)
		assert_success(
			dwarfs_schema_field(image, root, i, &id, &layout, &offset, &err),
			err);
	assert_int_equal(id, 15);
	assert_int_equal(layout, dwarfs_metadata_layout(metadata));
	assert_int_equal(dwarfs_metadata_position(metadata),
			 offset < 0 ? -offset : 8 * offset);
	assert_success(dwarfs_schema_layout(image, layout, &bytes, &bits, &fields, &err),
		       err);
	assert_int_equal(bits, dwarfs_metadata_bits(metadata));
	assert_int_equal(fields, 0);
	dwarfs_metadata_free(metadata);
	dwarfs_image_free(image);
}

static void what_the_schema_does_not_have(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	const uint32_t count = dwarfs_schema_count(image);
	uint32_t bytes = 7, bits = 7, fields = 7;
	int32_t id = 7, offset = 7;
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_schema_layout(image, count, &bytes, &bits, &fields, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_schema_field(image, count, 0, &id, &bytes, &offset, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_schema_field(image, dwarfs_schema_root(image), 99, &id,
					   &bytes, &offset, &err),
		       DWARFS_ERR_RANGE, err);
	assert_int_equal(bytes + bits + fields, 21);
	assert_int_equal(id + offset, 14);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pass_ends_where_it_began),
		cmocka_unit_test(fields_come_in_the_order_of_their_numbers),
		cmocka_unit_test(a_list_has_the_items_that_it_counts),
		cmocka_unit_test(the_rest_of_a_list_can_be_left),
		cmocka_unit_test(values_are_what_the_image_says),
		cmocka_unit_test(a_pass_keeps_the_image),
		cmocka_unit_test(the_schema_says_where_values_are),
		cmocka_unit_test(what_the_schema_does_not_have),
	};

	return cmocka_run_group_tests_name("api/metadata", tests, fixture_setup,
					   fixture_teardown);
}
