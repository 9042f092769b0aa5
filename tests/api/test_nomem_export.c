/* SPDX-License-Identifier: MIT */
/*
 * api/test_nomem_export: out of memory while archives are written.
 *
 * The allocations of libarchive itself do not fail here: it is a separate library, which
 * --wrap does not affect.
 */
#include <unistd.h>

#include "nomem.h"

static void take_report(enum dwarfs_export_report what, const char *path, const char *why,
			void *user)
{
	(void)what;
	(void)path;
	(void)why;
	(void)user;
}

static int set_up_pax(dwarfs_archive_export *export, dwarfs_error **err)
{
	int ret;

	if ((ret = dwarfs_archive_export_set_filters(export, "gzip,b64encode", err)) <
		    0 ||
	    (ret = dwarfs_archive_export_set_options(export, "gzip:compression-level=1",
						     err)) < 0)
		return ret;
	return dwarfs_archive_export_add_pattern(export, "{**,x/**}", err);
}

/* A zip cannot hold all names of the tree. */
static int set_up_other(dwarfs_archive_export *export, dwarfs_error **err)
{
	int ret = dwarfs_archive_export_add_pattern(export, "dir", err);

	return ret < 0 ? ret
		       : dwarfs_archive_export_set_order(export, DWARFS_WALK_TREE, err);
}

static int set_up(dwarfs_archive_export *export, const char *format, dwarfs_error **err)
{
	int ret = dwarfs_archive_export_set_format(export, format, err);

	dwarfs_archive_export_set_report(export, take_report, NULL);
	/* This is not a failure of a single entry: the run ends. */
	dwarfs_archive_export_set_continue_on_error(export, true);
	if (ret < 0)
		return ret;
	return strcmp(format, "pax") == 0 ? set_up_pax(export, err)
					  : set_up_other(export, err);
}

/* No incomplete archive is left. */
static int export(const struct fixture *fixture, const char *format, const char *name,
		  uint32_t workers, dwarfs_error **err)
{
	dwarfs_archive_export *export = NULL;
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	char target[100];
	int ret;

	snprintf(target, sizeof(target), "%s/%s", fixture->dir, name);
	if ((ret = dwarfs_context_new(&context, err)) == 0 &&
	    (ret = dwarfs_context_set_workers(context, workers, err)) == 0 &&
	    (ret = dwarfs_image_open(context, fixture->path, NULL, &image, err)) == 0 &&
	    (ret = dwarfs_archive_export_new(image, &export, err)) == 0 &&
	    (ret = set_up(export, format, err)) == 0)
		ret = dwarfs_archive_export_to_path(export, target, err);
	dwarfs_archive_export_free(export);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	if ((unlink(target) == 0) != (ret == 0))
		fail_msg("%d, and the archive returns another code", ret);
	return ret;
}

static int export_pax(const struct fixture *fixture, dwarfs_error **err)
{
	return export(fixture, "pax", "x", 0, err);
}

static int export_pax_with_workers(const struct fixture *fixture, dwarfs_error **err)
{
	return export(fixture, "pax", "x", 2, err);
}

static int export_zip(const struct fixture *fixture, dwarfs_error **err)
{
	return export(fixture, "zip", "x", 0, err);
}

static int export_newc(const struct fixture *fixture, dwarfs_error **err)
{
	return export(fixture, "newc", "x", 0, err);
}

static int export_by_name(const struct fixture *fixture, dwarfs_error **err)
{
	return export(fixture, "auto", "x.tar.gz.zst", 0, err);
}

static void pax_survives(void **state)
{
	nomem_everywhere(*state, export_pax, false);
	nomem_everywhere(*state, export_pax, true);
}

static void pax_with_workers_survives(void **state)
{
	nomem_everywhere(*state, export_pax_with_workers, false);
	nomem_everywhere(*state, export_pax_with_workers, true);
}

static void other_formats_survive(void **state)
{
	nomem_everywhere(*state, export_zip, false);
	nomem_everywhere(*state, export_zip, true);
	nomem_everywhere(*state, export_newc, false);
	nomem_everywhere(*state, export_newc, true);
}

static void formats_by_name_survive(void **state)
{
	nomem_everywhere(*state, export_by_name, false);
	nomem_everywhere(*state, export_by_name, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pax_survives),
		cmocka_unit_test(pax_with_workers_survives),
		cmocka_unit_test(other_formats_survive),
		cmocka_unit_test(formats_by_name_survive),
	};

	if (getenv("DWARFS_STATIC")) {
		printf("1..0 # SKIP a static libarchive would be out of memory, too, "
		       "and then ends the program\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, nomem_setup, fixture_teardown);
}
