/* SPDX-License-Identifier: MIT */
/*
 * archive/libarchive_loaded: libarchive, where it is loaded when it is first needed.
 *
 * It stays loaded, as the libraries that it takes with it cannot all be unloaded: a further table
 * only costs the search for the names.
 */
#include <dlfcn.h>
#include <string.h>

#include "archive/libarchive.h"
#include "base/memory.h"

/* Of every version from 3.0 on. */
#define LIBARCHIVE_NAME "libarchive.so.13"

static int find(void *library, const char *name, void **address_out, dwarfs_error **err)
{
	*address_out = dlsym(library, name);
	if (*address_out)
		return 0;
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       "archives need a newer libarchive: " LIBARCHIVE_NAME " has no %s",
		       name);
}

/* ISO C has no conversion between pointers to data and to functions, POSIX has. */
static int find_all(void *library, struct libarchive *la, dwarfs_error **err)
{
	void *address;
	int ret;

#define FIND(name, function)                                                             \
	if ((ret = find(library, #function, &address, err)) < 0)                         \
		return ret;                                                              \
	la->name = (__typeof__(function) *)(uintptr_t)address;

	LIBARCHIVE_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

int dw_libarchive_new(const struct libarchive **la_out, dwarfs_error **err)
{
	auto_free struct libarchive *la = dw_malloc(sizeof(*la));
	void *library;
	int ret;

	if (!la)
		return dw_fail_nomem(err);
	library = dlopen(LIBARCHIVE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "archives need libarchive: %s", dlerror());
	if ((ret = find_all(library, la, err)) == 0)
		*la_out = dw_steal(la);
	dlclose(library);
	return ret;
}

void dw_libarchive_free(const struct libarchive *la)
{
	dw_free((void *)(uintptr_t)la);
}
