/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/metadata: hostile metadata that claims more items than its bytes can
 * hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dwarfs/metadata.h>

#include "read/image/image.h"

/* An image that consists of a schema and these bytes, and owns neither. It begins a block of
 * memory, as every object does. */
struct bare {
	dwarfs_image image;
	struct view view;
	uint8_t data[64 + DW_FROZEN_PADDING];
};

static struct bare *new_bare(const char *data, size_t bytes)
{
	struct bare *bare = dw_calloc(1, sizeof(*bare));

	assert_non_null(bare);
	memcpy(bare->data, data, bytes);
	return bare;
}

static dwarfs_metadata *begin(struct bare *bare, struct schema schema, size_t size)
{
	dwarfs_metadata *metadata = NULL;
	enum dwarfs_metadata_kind kind;

	bare->view.schema = schema;
	bare->view.frozen = (struct frozen){ &bare->view.schema, bare->data, size };
	bare->image.view = &bare->view;
	atomic_init(&bare->image.references, 100);
	assert_int_equal(dwarfs_metadata_new(&bare->image, &metadata, NULL), 0);
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 1);
	assert_int_equal(kind, DWARFS_METADATA_STRUCT);
	return metadata;
}

/* Iterate until it fails or ends. */
static int run(dwarfs_metadata *metadata, uint64_t *steps, dwarfs_error **err)
{
	enum dwarfs_metadata_kind kind;
	int ret;

	*steps = 0;
	while ((ret = dwarfs_metadata_next(metadata, &kind, err)) > 0)
		(*steps)++;
	return ret;
}

/* "uids" of 2^39 items that have no layout. */
static void a_list_cannot_claim_any_number_of_nothings(void **state)
{
	struct schema_field fields[] = { { LIST_COUNT, 0, 0 }, { MD_UIDS, 1, 0 } };
	struct schema_layout layouts[] = {
		{ .bits = 40 },
		{ .bits = 40, .first_field = 0, .field_count = 1 },
		{ .size = 5, .bits = 40, .first_field = 1, .field_count = 1 },
	};
	const struct schema schema = { layouts, 3, 3, fields, 2, 2, 2 };
	auto_free struct bare *bare = new_bare("\0\0\0\0\x80", 5);
	dwarfs_metadata *metadata = begin(bare, schema, 5);
	dwarfs_error *err = NULL;
	uint64_t steps;
	enum dwarfs_metadata_kind kind;

	assert_int_equal(run(metadata, &steps, &err), DWARFS_ERR_CORRUPT);
	assert_true(steps < 30);
	assert_non_null(strstr(dwarfs_error_message(err), "metadata: uids"));
	assert_non_null(strstr(dwarfs_error_message(err), "items without a bit"));
	dwarfs_error_free(err);
	/* A failure ends the pass. */
	assert_int_equal(dwarfs_metadata_next(metadata, &kind, NULL), 0);
	dwarfs_metadata_free(metadata);

	/* Any number of files may have the same owner. */
	memcpy(bare->data, "\x20\0\0\0", 5);
	metadata = begin(bare, schema, 5);
	assert_int_equal(run(metadata, &steps, NULL), 0);
	assert_true(steps > 32);
	dwarfs_metadata_free(metadata);
}

/* "names" whose strings all begin at the same offset. */
static void strings_cannot_share_their_bytes(void **state)
{
	struct schema_field fields[] = {
		{ LIST_COUNT, 0, 0 }, { LIST_DISTANCE, 0, 0 }, { LIST_COUNT, 0, -8 },
		{ LIST_ITEM, 1, 0 },  { MD_NAMES, 2, 0 },
	};
	struct schema_layout layouts[] = {
		{ .bits = 8 },
		{ .bits = 8, .first_field = 0, .field_count = 1 },
		{ .bits = 16, .first_field = 1, .field_count = 3 },
		{ .size = 2, .bits = 16, .first_field = 4, .field_count = 1 },
	};
	const struct schema schema = { layouts, 4, 4, fields, 5, 5, 3 };
	auto_free struct bare *bare = new_bare("\2\12", 2);
	dwarfs_metadata *metadata;
	dwarfs_error *err = NULL;
	uint64_t steps;

	memset(bare->data + 2, 10, 10);
	metadata = begin(bare, schema, 12);
	assert_int_equal(run(metadata, &steps, &err), DWARFS_ERR_CORRUPT);
	assert_non_null(strstr(dwarfs_error_message(err), "strings overlap"));
	dwarfs_error_free(err);
	dwarfs_metadata_free(metadata);

	/* They must not end outside, either. */
	memset(bare->data + 2, 11, 10);
	metadata = begin(bare, schema, 12);
	assert_int_equal(run(metadata, &steps, NULL), DWARFS_ERR_CORRUPT);
	dwarfs_metadata_free(metadata);

	memset(bare->data + 2, 1, 10);
	metadata = begin(bare, schema, 12);
	assert_int_equal(run(metadata, &steps, NULL), 0);
	dwarfs_metadata_free(metadata);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_cannot_claim_any_number_of_nothings),
		cmocka_unit_test(strings_cannot_share_their_bytes),
	};

	return cmocka_run_group_tests_name("read/metadata/metadata", tests, NULL, NULL);
}
