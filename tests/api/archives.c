/* SPDX-License-Identifier: MIT */
/*
 * api/archives: see archives.h.
 */
#include "archives.h"

#ifdef __SANITIZE_THREAD__
/* newlocale() and freelocale() of glibc take a lock that the sanitizer does not see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:_nl_unload_locale\nrace:newlocale\nrace:freelocale\n";
}
#endif

void append_padded(struct bytes *archive, const void *data, size_t size, size_t padded)
{
	archive->data = realloc(archive->data, archive->size + padded);
	assert_non_null(archive->data);
	memset(archive->data + archive->size, 0, padded);
	memcpy(archive->data + archive->size, data, size);
	archive->size += padded;
}

void add_tar(struct bytes *archive, char kind, const char *name, const char *target,
	     const char *text)
{
	char block[TAR_BLOCK] = { 0 };
	unsigned sum = 0;
	size_t i;

	snprintf(block, 100, "%s", name);
	memcpy(block + 100, "0000644\0000000000\0000000000\0", 24);
	snprintf(block + 124, 12, "%011o", (unsigned)strlen(text) & 0777);
	memcpy(block + 136, "00000000001\0        ", 20);
	block[156] = kind;
	snprintf(block + 157, 100, "%s", target);
	memcpy(block + 257, "ustar\00000", 8);
	for (i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)block[i];
	snprintf(block + 148, 8, "%06o", sum);
	append_padded(archive, block, TAR_BLOCK, TAR_BLOCK);
	if (*text)
		append_padded(archive, text, strlen(text), TAR_BLOCK);
}

void add_tar_end(struct bytes *archive)
{
	append_padded(archive, "", 0, 2 * TAR_BLOCK);
}

void add_tar_xattr(struct bytes *archive, const char *name, const char *value)
{
	char text[200];
	/* The length includes its own two digits and the space after them. */
	size_t bytes = (size_t)snprintf(text, sizeof(text), "SCHILY.xattr.%s=%s\n", name,
					value) +
		       3;

	assert_in_range(bytes, 10, 99);
	snprintf(text, sizeof(text), "%zu SCHILY.xattr.%s=%s\n", bytes, name, value);
	add_tar(archive, 'x', "pax", "", text);
}

static void add_odc(struct bytes *archive, unsigned number, unsigned mode, unsigned names,
		    const char *name, const char *text)
{
	char header[100];
	int bytes = snprintf(header, sizeof(header),
			     "070707%06o%06o%06o%06o%06o%06o%06o%011o%06o%011o", 0,
			     number, mode, 0, 0, names, 0, 1, (unsigned)strlen(name) + 1,
			     (unsigned)strlen(text));

	append_padded(archive, header, (size_t)bytes, (size_t)bytes);
	append_padded(archive, name, strlen(name), strlen(name) + 1);
	append_padded(archive, text, strlen(text), strlen(text));
}

void add_cpio(struct bytes *archive, unsigned number, unsigned names, const char *name,
	      const char *text)
{
	add_odc(archive, number, 0100644, names, name, text);
}

void add_cpio_end(struct bytes *archive)
{
	add_odc(archive, 0, 0, 1, "TRAILER!!!", "");
}

int import_bytes(dwarfs_archive_import *import, const struct bytes *archive,
		 dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret =
		dwarfs_io_from_memory(archive->data, archive->size, NULL, NULL, &io, err);

	if (ret == 0)
		ret = dwarfs_archive_import_io(import, io, err);
	dwarfs_io_free(io);
	return ret;
}

bool are_archives_built_in(void)
{
	dwarfs_archive_import *import = NULL;
	dwarfs_builder *builder = NULL;
	int ret;

	if (dwarfs_builder_new(NULL, &builder, NULL) < 0)
		return true;
	ret = dwarfs_archive_import_new(builder, &import, NULL);
	dwarfs_archive_import_free(import);
	dwarfs_builder_free(builder);
	return ret != DWARFS_ERR_UNSUPPORTED;
}
