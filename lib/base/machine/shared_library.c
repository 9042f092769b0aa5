/* SPDX-License-Identifier: MIT */
/*
 * base/machine/shared_library: by dlopen().
 */
#include <dlfcn.h>
#include <string.h>

#include "base/machine/shared_library.h"

static int find_symbols(void *library, const char *file, const char *needed_for,
			const char *const *names, char *table, dwarfs_error **err)
{
	void *address;

	for (; *names; names++, table += sizeof(address)) {
		address = dlsym(library, *names);
		if (!address)
			return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
				       "%s: %s has no %s, a newer one is needed",
				       needed_for, file, *names);
		/* ISO C has no conversion between pointers to data and to functions, POSIX has. */
		memcpy(table, &address, sizeof(address));
	}
	return 0;
}

int dw_load_symbols(const char *file, const char *needed_for, const char *const *names,
		    void *table_out, dwarfs_error **err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	int ret;

	if (!library)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "%s: %s", needed_for,
			       dlerror());
	ret = find_symbols(library, file, needed_for, names, table_out, err);
	dlclose(library);
	return ret;
}
