/* SPDX-License-Identifier: MIT */
/*
 * Audio and FITS images: packed with the codecs of their categories, and read back
 * unchanged.
 */
#include "support.h"

#include <fcntl.h>
#include <unistd.h>

#define FRAMES	   20000
#define WAV_HEADER 44
#define WAV_BYTES  (WAV_HEADER + FRAMES * 4)
#define RECORD	   2880
#define SIDE	   200
#define FITS_BYTES (RECORD + (SIDE * SIDE * 2 + RECORD - 1) / RECORD * RECORD)

static void put_le(uint8_t *at, uint32_t value, unsigned bytes)
{
	while (bytes--) {
		*at++ = (uint8_t)value;
		value >>= 8;
	}
}

/* 16 bits, two channels: a triangle wave. */
static void make_wav(uint8_t wav[WAV_BYTES])
{
	memcpy(wav, "RIFF????WAVEfmt ", 16);
	put_le(wav + 4, WAV_BYTES - 8, 4);
	put_le(wav + 16, 16, 4);
	put_le(wav + 20, 1, 2);
	put_le(wav + 22, 2, 2);
	put_le(wav + 24, 44100, 4);
	put_le(wav + 28, 44100 * 4, 4);
	put_le(wav + 32, 4, 2);
	put_le(wav + 34, 16, 2);
	memcpy(wav + 36, "data", 4);
	put_le(wav + 40, FRAMES * 4, 4);
	for (int i = 0; i < FRAMES; i++) {
		const int value = abs(i % 2000 - 1000) * 7 + i * i % 11;

		put_le(wav + WAV_HEADER + 4 * i, (uint32_t)value, 2);
		put_le(wav + WAV_HEADER + 4 * i + 2, (uint32_t)-value, 2);
	}
}

/* One image of 16 bits per pixel: a slope with noise. */
static void make_fits(uint8_t fits[FITS_BYTES])
{
	static const char *const cards[] = {
		"SIMPLE  =                    T", "BITPIX  =                   16",
		"NAXIS   =                    2", "NAXIS1  =                  200",
		"NAXIS2  =                  200", "END",
	};

	memset(fits, ' ', RECORD);
	memset(fits + RECORD, 0, FITS_BYTES - RECORD);
	for (size_t i = 0; i < sizeof(cards) / sizeof(*cards); i++)
		memcpy(fits + 80 * i, cards[i], strlen(cards[i]));
	for (int i = 0; i < SIDE * SIDE; i++) {
		const int value = i % SIDE * 3 + i / SIDE + i * 7 % 5;

		fits[RECORD + 2 * i] = (uint8_t)(value >> 8);
		fits[RECORD + 2 * i + 1] = (uint8_t)value;
	}
}

static bool has_block_of(const dwarfs_image *image, const char *codec)
{
	for (uint32_t i = 0; i < dwarfs_image_section_count(image); i++) {
		uint64_t type, compression;

		assert_int_equal(dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_TYPE,
						      &type, NULL),
				 0);
		assert_int_equal(dwarfs_image_section(image, i,
						      DWARFS_SECTION_FIELD_COMPRESSION,
						      &compression, NULL),
				 0);
		if (type == DWARFS_SECTION_BLOCK &&
		    strcmp(dwarfs_compression_name((uint32_t)compression), codec) == 0)
			return true;
	}
	return false;
}

static void assert_holds(const dwarfs_image *image, const char *path, const void *data,
			 size_t bytes)
{
	uint8_t *back = malloc(bytes);
	dwarfs_error *err = NULL;
	dwarfs_file *file;
	size_t got;

	assert_non_null(back);
	assert_success(dwarfs_file_open(image, find_inode(image, path), &file, &err),
		       err);
	assert_success(dwarfs_file_read(file, back, bytes, 0, &got, &err), err);
	assert_int_equal(got, bytes);
	assert_memory_equal(back, data, bytes);
	dwarfs_file_free(file);
	free(back);
}

static bool can_write(const char *codec)
{
	const char *help;

	for (size_t i = 0; (help = dwarfs_codec_help(i)); i++)
		if (strncmp(help, codec, strlen(codec)) == 0)
			return true;
	return false;
}

static void samples_are_packed_by_their_codecs(void **state)
{
	static uint8_t wav[WAV_BYTES], fits[FITS_BYTES];
	char tree[] = "/tmp/dwarfs-categories-XXXXXX", path[80];
	struct fixture fixture = { .image = { 0 } };
	dwarfs_builder *builder;
	dwarfs_image *image;
	dwarfs_error *err = NULL;

	assert_non_null(mkdtemp(tree));
	make_wav(wav);
	make_fits(fits);
	snprintf(path, sizeof(path), "%s/sound.wav", tree);
	store_path(path, wav, sizeof(wav));
	snprintf(path, sizeof(path), "%s/sky.fits", tree);
	store_path(path, fits, sizeof(fits));

	assert_success(dwarfs_builder_new(NULL, &builder, &err), err);
	assert_success(dwarfs_builder_set_categorizers(builder, "pcmaudio,fits", &err),
		       err);
	assert_success(dwarfs_builder_add_directory(builder, tree, &err), err);
	assert_success(write_to_function(builder, append_bytes, &fixture.image, &err),
		       err);
	dwarfs_builder_free(builder);
	remove_tree(tree);

	image = open_image(&fixture, NULL);
	assert_true(has_block_of(image, "RICEPP"));
	assert_int_equal(has_block_of(image, "FLAC"), can_write("flac"));
	assert_holds(image, "sound.wav", wav, sizeof(wav));
	assert_holds(image, "sky.fits", fits, sizeof(fits));
	dwarfs_image_free(image);
	free(fixture.image.data);
}

static void ricepp_is_always_built_in(void **state)
{
	assert_true(can_write("ricepp"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_packed_by_their_codecs),
		cmocka_unit_test(ricepp_is_always_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
