/* SPDX-License-Identifier: MIT */
/*
 * fuzz_options: texts for the options of a builder; the first byte chooses the option.
 */
#include <stdlib.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"

static int set(dwarfs_builder *builder, uint8_t option, const char *text,
	       dwarfs_error **err)
{
	switch (option % 4) {
	case 0:
		return dwarfs_builder_set_chmod(builder, text, err);
	case 1:
		return dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, text, err);
	case 2:
		return dwarfs_builder_set_pack_metadata(builder, text, err);
	default:
		return dwarfs_builder_set_order(builder, text, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;
	char *text;

	if (size == 0 || !(text = strndup((const char *)data + 1, size - 1)))
		return 0;
	if (dwarfs_builder_new(NULL, &builder, NULL) == 0 &&
	    set(builder, data[0], text, &err) < 0)
		fuzz_use(dwarfs_error_message(err), strlen(dwarfs_error_message(err)));
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
	free(text);
	return 0;
}
