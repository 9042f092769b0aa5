/* SPDX-License-Identifier: MIT */
/*
 * archive/libarchive_linked: libarchive, where it is linked.
 */
#include "archive/libarchive.h"

static const struct libarchive functions = {
#define MEMBER(name, function) .name = function,
	LIBARCHIVE_FUNCTIONS(MEMBER)
#undef MEMBER
};

int dw_libarchive_new(const struct libarchive **la_out, dwarfs_error **err)
{
	(void)err;
	*la_out = &functions;
	return 0;
}

void dw_libarchive_free(const struct libarchive *la)
{
	(void)la;
}
