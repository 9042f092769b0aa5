/* SPDX-License-Identifier: MIT */
/*
 * archive/libarchive_loaded: libarchive, where it is loaded when it is first needed.
 *
 * There is no lock: threads that come at the same time store the same addresses. It stays loaded, as
 * the libraries that it takes with it cannot all be unloaded.
 */
#include <dlfcn.h>
#include <string.h>

#include "archive/libarchive.h"

/* Of every version from 3.0 on. */
#define LIBARCHIVE_NAME "libarchive.so.13"

struct libarchive dw_la;
static _Atomic bool is_loaded;

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
static int find_all(void *library, dwarfs_error **err)
{
	void *address;
	int ret;

#define FIND(name, function)                                                             \
	if ((ret = find(library, #function, &address, err)) < 0)                         \
		return ret;                                                              \
	dw_la.name = (__typeof__(function) *)(uintptr_t)address;

	LIBARCHIVE_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

int dw_la_load(dwarfs_error **err)
{
	void *library;
	int ret;

	if (is_loaded)
		return 0;
	library = dlopen(LIBARCHIVE_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "archives need libarchive: %s", dlerror());
	if ((ret = find_all(library, err)) == 0)
		is_loaded = true;
	dlclose(library);
	return ret;
}
