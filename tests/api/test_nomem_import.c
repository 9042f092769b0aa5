/* SPDX-License-Identifier: MIT */
/*
 * api/test_nomem_import: out of memory while archives are read. Allocations of libarchive
 * itself do not fail.
 */
#include "archives.h"
#include "nomem.h"

/* -- archives ------------------------------------------------------------------------ */

/* Made in setup(), where no allocation fails. */
static struct bytes lower_layer, upper_layer, late_contents;

static void make_archives(void)
{
	add_tar(&lower_layer, '5', "./d", "", "");
	add_tar_xattr(&lower_layer, "user.name", "value");
	add_tar(&lower_layer, '0', "./d/a", "", "contents of a");
	add_tar(&lower_layer, '0', "d/b", "", "contents of b");
	add_tar(&lower_layer, '1', "link", "d/a", "");
	add_tar(&lower_layer, '2', "symlink", "d/b", "");
	add_tar(&lower_layer, '0', "../out", "", "of the question");
	add_tar(&lower_layer, '1', "to/nothing", "gone", "");
	add_tar_end(&lower_layer);
	add_tar(&upper_layer, '0', "d/.wh.a", "", "");
	add_tar(&upper_layer, '0', "d/c/new", "", "contents");
	add_tar(&upper_layer, '0', "d/c", "", "instead of a directory");
	add_tar_end(&upper_layer);
	add_cpio(&late_contents, 5, 3, "p", "");
	add_cpio(&late_contents, 5, 3, "q", "");
	add_cpio(&late_contents, 5, 3, "r", "contents of all");
	add_cpio(&late_contents, 6, 2, "empty", "");
	add_cpio(&late_contents, 6, 2, "empty too", "");
	add_cpio_end(&late_contents);
}

static int discard(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)bytes;
	(void)user;
	(void)err;
	return 0;
}

static void free_archives(void)
{
	free(lower_layer.data);
	free(upper_layer.data);
	free(late_contents.data);
}

/* Entries that cannot be stored are not an error; entries that are not read for lack of
 * memory are. */
static int import_one(dwarfs_archive_import *import, const struct bytes *archive,
		      dwarfs_error **err)
{
	int ret = import_bytes(import, archive, err);

	if (ret == 0 || ret == DWARFS_ERR_NOMEM ||
	    !dwarfs_archive_import_is_complete(import))
		return ret;
	dwarfs_error_free(*err);
	*err = NULL;
	return 0;
}

static int import_all(dwarfs_builder *builder, dwarfs_archive_import *import,
		      dwarfs_error **err)
{
	int ret;

	dwarfs_archive_import_set_continue_on_error(import, true);
	dwarfs_archive_import_set_whiteouts(import, true);
	if ((ret = dwarfs_archive_import_set_prefix(import, "some/where", err)) < 0 ||
	    (ret = import_one(import, &lower_layer, err)) < 0 ||
	    (ret = import_one(import, &upper_layer, err)) < 0 ||
	    (ret = import_one(import, &late_contents, err)) < 0)
		return ret;
	if (dwarfs_archive_import_failures(import) != 2)
		fail_msg("out of memory was reported as entries that cannot be stored");
	return write_to_function(builder, discard, NULL, err);
}

static int import_archives(const struct fixture *fixture, dwarfs_error **err)
{
	dwarfs_archive_import *import = NULL;
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	int ret;

	if ((ret = nomem_new_builder(1, &context, &builder, err)) == 0 &&
	    (ret = dwarfs_builder_set_spool(builder, fixture->dir, 0, err)) == 0 &&
	    (ret = dwarfs_archive_import_new(builder, &import, err)) == 0)
		ret = import_all(builder, import, err);
	dwarfs_archive_import_free(import);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	return ret;
}

/* -- the test ------------------------------------------------------------------------ */

static void importing_survives_one_failure(void **state)
{
	nomem_everywhere(*state, import_archives, false);
}

static void importing_survives_the_end_of_memory(void **state)
{
	nomem_everywhere(*state, import_archives, true);
}

static int setup(void **state)
{
	make_archives();
	return fixture_setup(state);
}

static int teardown(void **state)
{
	free_archives();
	return fixture_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(importing_survives_one_failure),
		cmocka_unit_test(importing_survives_the_end_of_memory),
	};

	if (getenv("DWARFS_STATIC")) {
		printf("1..0 # SKIP a static libarchive would be out of memory, too, "
		       "and then ends the program\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
