/* SPDX-License-Identifier: MIT */
/*
 * image_mode: how an input of the image harnesses is opened and read.
 *
 * Derives a mode from an input, and opens the image. Files are in memory, so that no disk
 * is needed.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "image_mode.h"

/* FNV-1a */
static unsigned hash(const uint8_t *data, size_t size)
{
	unsigned value = 2166136261u;

	while (size-- > 0)
		value = (value ^ *data++) * 16777619u;
	return value ^ value >> 16;
}

static void set_mode(unsigned first, unsigned second, struct image_mode *mode)
{
	static const int verifies[] = { DWARFS_VERIFY_EAGER, DWARFS_VERIFY_LAZY,
					DWARFS_VERIFY_NO_BLOCKS };
	static const int salvages[] = { DWARFS_SALVAGE_OFF, DWARFS_SALVAGE_OFF,
					DWARFS_SALVAGE_INTACT, DWARFS_SALVAGE_ZEROS };
	static const uint64_t caches[] = { 1u << 20, 0, 4096, 100000 };

	mode->verify = verifies[first % 3];
	mode->salvage = salvages[first / 3 % 4];
	mode->source = (enum source)(first / 12 % SOURCE_COUNT);
	mode->cache_bytes = caches[first / 36 % 4];
	mode->workers = second % 5;
	mode->in_order = second / 5 % 2;
	mode->parallel = second / 10 % 2;
	mode->prefetch = second / 20 % 2;
}

size_t image_mode_take(const uint8_t *data, size_t size, struct image_mode *mode)
{
	const uint8_t *end = data + size;
	unsigned value;

	if (size >= MODE_BYTES && memcmp(end - MODE_BYTES, MODE_MARK, 2) == 0) {
		set_mode(end[-2], end[-1], mode);
		return size - MODE_BYTES;
	}
	value = hash(data, size);
	set_mode(value & 0xff, value >> 8 & 0xff, mode);
	return size;
}

static int open_file(const uint8_t *data, size_t size, dwarfs_io **io_out,
		     dwarfs_error **err)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), ret = DWARFS_ERR_NOMEM;

	if (fd >= 0 && write(fd, data, size) == (ssize_t)size)
		ret = dwarfs_io_from_fd(fd, io_out, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

static dwarfs_image *open_io(const struct image_mode *mode, dwarfs_io *io,
			     dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;

	if (dwarfs_context_new(&context, NULL) == 0 &&
	    dwarfs_context_set_workers(context, mode->workers, NULL) == 0 &&
	    dwarfs_context_set_cache_bytes(context, mode->cache_bytes, NULL) == 0 &&
	    dwarfs_image_options_new(&options, NULL) == 0) {
		dwarfs_image_options_set_verify(options, mode->verify);
		dwarfs_image_options_set_salvage(options, mode->salvage);
		dwarfs_image_options_set_mapped(options, mode->source == SOURCE_MAPPED);
		dwarfs_image_open_io(context, io, options, &image, err);
	}
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return image;
}

dwarfs_image *image_mode_open(const struct image_mode *mode, const uint8_t *data,
			      size_t size, dwarfs_error **err)
{
	dwarfs_image *image;
	dwarfs_io *io = NULL;

	if (mode->source == SOURCE_MEMORY) {
		if (dwarfs_io_from_memory(data, size, NULL, NULL, &io, err) < 0)
			return NULL;
	} else if (open_file(data, size, &io, err) < 0) {
		return NULL;
	}
	image = open_io(mode, io, err);
	dwarfs_io_free(io);
	return image;
}
