/* SPDX-License-Identifier: MIT */
/*
 * write/images/image_files: numbers of images and files in an assembly, and which file an inode
 * of a run has its contents from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/items/assembly.h"
#include "write/build_run.h"

static void no_free(void *user)
{
	(void)user;
}

static struct source_image *new_image(bool keeps, uint32_t bits)
{
	static const struct source_image_ops ops = { .release = no_free };
	struct source_image *image = dw_calloc(1, sizeof(*image));

	assert_non_null(image);
	image->ops = &ops;
	image->keeps_blocks = keeps;
	image->block_bits = bits;
	return image;
}

static uint32_t add_image(struct assembly *assembly, bool keeps, uint32_t bits)
{
	uint32_t number = 77;

	assert_int_equal(
		dw_assembly_add_image(assembly, new_image(keeps, bits), &number, NULL),
		0);
	return number;
}

static void images_are_numbered(void **state)
{
	DW_AUTO(assembly) struct assembly *assembly = NULL;

	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(add_image(assembly, true, 10), i);
	assert_int_equal(assembly->image_count, 20);
}

static void the_largest_block_that_is_kept(void **state)
{
	DW_AUTO(assembly) struct assembly *assembly = NULL;
	uint32_t number;

	assert_int_equal(dw_assembly_block_bits(NULL), 0);
	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	assert_int_equal(dw_assembly_block_bits(assembly), 0);
	add_image(assembly, false, 20); /* compressed anew */
	assert_int_equal(dw_assembly_block_bits(assembly), 0);
	add_image(assembly, true, 14);
	add_image(assembly, true, 12);
	assert_int_equal(dw_assembly_block_bits(assembly), 14);
	number = add_image(assembly, true, 22);
	assert_int_equal(dw_assembly_block_bits(assembly), 22);
	assembly->images[number]->changes_block_size = true;
	assert_int_equal(dw_assembly_block_bits(assembly), 14);
}

static uint32_t add_record(struct assembly *assembly, uint32_t image, uint32_t inode)
{
	struct image_entry entry = { .stat = { .mode = 0100644, .size = 9 },
				     .file = { .image = image, .inode = inode } };
	uint32_t record;

	assert_int_equal(dw_assembly_add_image_entry(assembly, &entry, &record, NULL), 0);
	return record;
}

static void files_of_inodes(void **state)
{
	DW_AUTO(assembly) struct assembly *assembly = NULL;
	struct build_run run = { 0 };
	struct tree_inode kept = { 0 }, packed = { 0 }, none = { 0 };
	const struct image_file *file;

	assert_null(dw_image_file_of(&run, &none));
	assert_null(dw_kept_file_of(&run, &none));
	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	run.assembly = assembly;
	add_image(assembly, true, 12);
	add_image(assembly, false, 12);
	kept.record = add_record(assembly, 0, 33);
	packed.record = add_record(assembly, 1, 44);
	none.record = 0; /* the root */
	file = dw_kept_file_of(&run, &kept);
	assert_int_equal(file->inode, 33);
	assert_ptr_equal(dw_image_file_of(&run, &kept), file);
	assert_int_equal(dw_image_file_of(&run, &packed)->inode, 44);
	assert_null(dw_kept_file_of(&run, &packed));
	assert_null(dw_image_file_of(&run, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_are_numbered),
		cmocka_unit_test(the_largest_block_that_is_kept),
		cmocka_unit_test(files_of_inodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
