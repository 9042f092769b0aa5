/* SPDX-License-Identifier: MIT */
/*
 * craft: make images section by section, right or wrong, in memory.
 */
#include <stdio.h>
#include <unistd.h>

#include "format/freeze.h"
#include "format/section.h"
#include "hash/hash.h"
#include "support/craft.h"

#define MAX_SECTIONS 64

void craft_free(struct craft *craft)
{
	dw_buffer_free(&craft->bytes);
}

static void set_hashes(uint8_t *section, size_t size)
{
	dw_store64(section + DW_HEADER_XXH3_AT,
		   dw_xxh3_64(section + DW_HEADER_XXH3_FROM, size - DW_HEADER_XXH3_FROM));
	dw_sha512_256(
		(struct span){ section + DW_HEADER_SHA_FROM, size - DW_HEADER_SHA_FROM },
		(struct span){ 0 }, section + DW_HEADER_SHA_AT);
}

void craft_section(struct craft *craft, uint32_t type, uint32_t compression,
		   const void *data, size_t size)
{
	struct section_header header = {
		.number = craft->sections,
		.type = type,
		.compression = compression,
		.length = size,
	};
	uint8_t bytes[DW_HEADER_BYTES];
	size_t at = craft->bytes.size;

	assert_true(craft->sections < MAX_SECTIONS);
	craft->index[craft->sections++] = (uint64_t)type << DW_INDEX_OFFSET_BITS | at;
	dw_section_header_store(&header, bytes);
	assert_int_equal(dw_buffer_append(&craft->bytes, bytes, sizeof(bytes), NULL), 0);
	assert_int_equal(dw_buffer_append(&craft->bytes, data, size, NULL), 0);
	set_hashes(craft->bytes.data + at, sizeof(bytes) + size);
}

void craft_index(struct craft *craft, uint32_t hidden)
{
	uint64_t entries[MAX_SECTIONS];
	uint32_t count = craft->sections - hidden;

	for (uint32_t i = 0; i < count; i++)
		dw_store64(&entries[i], craft->index[i]);
	dw_store64(&entries[count++],
		   (uint64_t)DWARFS_SECTION_INDEX << DW_INDEX_OFFSET_BITS |
			   craft->bytes.size);
	craft_section(craft, DWARFS_SECTION_INDEX, 0, entries, count * sizeof(uint64_t));
}

void craft_metadata(struct craft *craft, const struct freeze_metadata *metadata)
{
	auto_buffer struct buffer schema = { 0 }, data = { 0 };

	assert_int_equal(dw_freeze(metadata, false, &schema, &data, NULL), 0);
	craft_section(craft, DWARFS_SECTION_SCHEMA, 0, schema.data, schema.size);
	craft_section(craft, DWARFS_SECTION_METADATA, 0, data.data, data.size);
}

#define TABLE(array, items)                                                              \
	{                                                                                \
		(array), (items)                                                         \
	}

void craft_files(struct craft *craft, const struct craft_chunk *chunks,
		 const uint32_t *table, uint32_t files, uint32_t block_bytes,
		 uint32_t hole_block)
{
	static const uint32_t modes[] = { 0040755, 0100644 };
	static const uint32_t nobody[] = { 0 };
	static const uint64_t large_holes[] = { UINT64_C(21474836480) };
	const struct freeze_directory directories[] = { { 0, 1, 0 },
							{ 0, files + 1, 0 } };
	auto_free struct freeze_inode *inodes = dw_calloc(files + 1, sizeof(*inodes));
	auto_free struct freeze_entry *entries = dw_calloc(files + 1, sizeof(*entries));
	auto_free struct span *names = dw_calloc(files + 1, sizeof(*names));
	auto_free char *text = dw_calloc(files + 1, 8);
	struct span sparse = { (const uint8_t *)"sparsefiles", 11 };
	struct freeze_metadata metadata = {
		.chunks = TABLE(chunks, table[files]),
		.directories = TABLE(directories, 2),
		.inodes = TABLE(inodes, (size_t)files + 1),
		.chunk_table = TABLE(table, (size_t)files + 1),
		.uids = TABLE(nobody, 1),
		.gids = TABLE(nobody, 1),
		.modes = TABLE(modes, files ? 2 : 1),
		.names = TABLE(names, files),
		.block_size = block_bytes,
		.has_options = true,
		.options = { .mtime_only = true, .inodes_have_nlink = true },
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, (size_t)files + 1),
		.has_hole_block_index = hole_block != 0,
		.hole_block_index = hole_block,
		.has_large_hole_size = hole_block != 0,
		.large_hole_size = TABLE(large_holes, 1),
		.has_features = hole_block != 0,
		.features = TABLE(&sparse, 1),
	};

	for (uint32_t i = 0; i < files; i++) {
		snprintf(text + i * 8, 8, "f%05u", i % 100000);
		names[i] = (struct span){ (const uint8_t *)text + i * 8, 6 };
		entries[i + 1] = (struct freeze_entry){ i, i + 1 };
		inodes[i + 1].mode_index = 1;
	}
	craft_metadata(craft, &metadata);
}

void craft_rehash(uint8_t *image, size_t size)
{
	size_t at = 0;

	while (size - at >= DW_HEADER_BYTES) {
		uint64_t length = dw_load64(image + at + 0x38);

		if (length > size - at - DW_HEADER_BYTES)
			break;
		set_hashes(image + at, DW_HEADER_BYTES + (size_t)length);
		at += DW_HEADER_BYTES + (size_t)length;
	}
}

int craft_try(const void *image, size_t size, dwarfs_context *context,
	      dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_io_from_memory(image, size, NULL, NULL, &io, NULL), 0);
	ret = dwarfs_image_open_io(context, io, NULL, image_out, err);
	dwarfs_io_free(io);
	return ret;
}

dwarfs_image *craft_open(const struct craft *craft, dwarfs_context *context)
{
	auto_error dwarfs_error *err = NULL;
	dwarfs_image *image = NULL;

	if (craft_try(craft->bytes.data, craft->bytes.size, context, &image, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	return image;
}

void craft_expect_end(unsigned seconds)
{
	alarm(seconds);
}
