/* SPDX-License-Identifier: MIT */
/*
 * write/images/kept_blocks: places of the blocks that are copied, their bytes in the new
 * image, and the chunks of files in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "codec/codec.h"
#include "write/categorize/categorize.h"
#include "write/images/kept_blocks.h"
#include "write/items/assembly.h"

/* An image of blocks with these sizes; chunk i is one of the list. */
#define BLOCK_BITS 12
#define BLOCKS	   5
#define CHUNKS	   12

static const uint32_t sizes[BLOCKS] = { 4096, 4096, 1000, 4096, 0 };
static const struct source_chunk chunk_list[CHUNKS] = {
	{ 0, 100, 50 }, { DW_NONE, 0, 7000 }, { 2, 0, 1000 }, { 3, 4000, 96 },
	{ 9, 0, 1 },	{ 2, 900, 101 },      { 0, 100, 50 }, { 3, 0, 50 },
	{ 3, 50, 50 },	{ 1, 0, 100 },	      { 3, 0, 2000 }, { 3, 1900, 2000 },
};

/* Another image, with the same blocks but for a byte of one of them. */
struct variant {
	uint32_t block, offset;	       /* of that byte; DW_NONE: there is none */
	bool is_damaged;	       /* this block is, instead */
	bool is_unreadable;	       /* this one as well */
	uint32_t codec;		       /* of all blocks */
	uint32_t heads, pieces, loads; /* how often bytes were read */
};

static uint8_t change_at(const struct variant *variant, uint32_t block, uint64_t offset)
{
	return variant && !variant->is_damaged && !variant->is_unreadable &&
	       variant->block == block && variant->offset == offset;
}

static uint8_t byte_at(uint32_t block, uint64_t offset)
{
	return (uint8_t)(block * 50 + offset % 47);
}

static int get_chunk(void *user, uint64_t number, struct source_chunk *chunk_out,
		     dwarfs_error **err)
{
	assert_true(number < CHUNKS);
	*chunk_out = chunk_list[number];
	return 0;
}

static uint32_t stored_as; /* codec of all blocks */

static int load_block(void *user, uint32_t block, struct stored_section *section_out,
		      dwarfs_error **err)
{
	struct variant *variant = user;

	section_out->header = (struct section_header){ .length = sizes[block],
						       .compression = stored_as };
	section_out->unpacked_bytes = sizes[block];
	if (variant) {
		variant->loads++;
		section_out->header.compression = variant->codec;
		section_out->is_damaged = variant->is_damaged && variant->block == block;
	}
	for (uint32_t i = 0; i < sizes[block]; i++) {
		uint8_t byte = byte_at(block, i) ^ change_at(variant, block, i);

		assert_int_equal(dw_buffer_append(&section_out->payload, &byte, 1, NULL),
				 0);
	}
	return 0;
}

static int get_bytes(void *user, uint32_t block, uint64_t *bytes_out, dwarfs_error **err)
{
	*bytes_out = sizes[block];
	return 0;
}

static int64_t read_block(void *user, uint32_t block, void *buffer, size_t size,
			  uint64_t offset, dwarfs_error **err)
{
	uint64_t left = offset < sizes[block] ? sizes[block] - offset : 0;

	if (size > left)
		size = (size_t)left;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buffer)[i] = byte_at(block, offset + i);
	return (int64_t)size;
}

static uint64_t get_room(void *user, uint32_t block)
{
	return sizes[block];
}

static int read_stored(void *user, uint32_t block, void *buffer, size_t size,
		       uint64_t offset, dwarfs_error **err)
{
	struct variant *variant = user;

	assert_true(offset + size <= sizes[block]);
	if (variant && variant->is_unreadable && variant->block == block)
		return dw_fail(err, DWARFS_ERR_IO, "cannot be read");
	if (variant && size == 1024)
		variant->heads++;
	else if (variant)
		variant->pieces++;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buffer)[i] = byte_at(block, offset + i) ^
					 change_at(variant, block, offset + i);
	return 0;
}

static void no_free(void *user)
{
	(void)user;
}

struct lab {
	struct build_run run;
	struct build_options options;
	struct stream_settings settings[CATEGORY_COUNT];
	uint64_t counts[DW_COUNT_KINDS];
	struct category_total totals[CATEGORY_COUNT];
	struct section_writer sections;
	struct block_streams streams;
	struct buffer written;
	struct assembly *assembly;
	struct source_image *image, *other; /* other: see add_variant() */
	struct contents contents;
	struct kept_blocks kept;
	struct chunks chunks;
	struct tree_inode inodes[3];
	struct tree tree;
};

static int append(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	return dw_buffer_append(user, data, bytes, err);
}

static struct source_image *add_image(struct lab *lab, struct variant *variant)
{
	static const struct source_image_ops ops = {
		.chunk = get_chunk,
		.load_block = load_block,
		.block_bytes = get_bytes,
		.stored_bytes = get_bytes,
		.read_block = read_block,
		.stored_room = get_room,
		.read_stored = read_stored,
		.release = no_free,
	};
	struct source_image *image = dw_calloc(1, sizeof(*image));
	uint32_t number;

	*image = (struct source_image){
		.ops = &ops,
		.user = variant,
		.keeps_blocks = true,
		.block_bits = BLOCK_BITS,
		.block_count = BLOCKS,
		.blocks = dw_calloc(BLOCKS, sizeof(struct source_block)),
		.name = dw_strdup(variant ? "another image" : "an image"),
	};
	assert_int_equal(dw_assembly_add_image(lab->assembly, image, &number, NULL), 0);
	return image;
}

static void begin(struct lab *lab)
{
	uint32_t number;

	*lab = (struct lab){ .options = { .block_bits = BLOCK_BITS, .max_unused = 100 } };
	assert_int_equal(dwarfs_context_new(&lab->run.context, NULL), 0);
	lab->run.options = &lab->options;
	lab->run.settings = lab->settings;
	lab->run.counts = lab->counts;
	lab->run.totals = lab->totals;
	lab->sections.run = &lab->run;
	dw_progress_start(&lab->run.progress, NULL);
	assert_int_equal(
		dwarfs_sink_new(append, NULL, &lab->written, &lab->run.output, NULL), 0);
	assert_int_equal(dw_assembly_new(&lab->assembly, NULL), 0);
	lab->image = add_image(lab, NULL);
	lab->run.assembly = lab->assembly;
	lab->tree = (struct tree){ .inodes = lab->inodes };
	assert_int_equal(dw_streams_find(&lab->contents.streams, CATEGORY_DEFAULT, 0,
					 NULL, NULL, &number, NULL),
			 0);
}

static void end(struct lab *lab)
{
	dw_kept_blocks_free(&lab->kept);
	dw_chunks_free(&lab->chunks);
	dw_contents_free(&lab->contents);
	dw_assembly_free(lab->assembly);
	dw_block_streams_free(&lab->streams);
	dw_section_writer_free(&lab->sections);
	dwarfs_sink_free(lab->run.output);
	dwarfs_context_free(lab->run.context);
	dw_buffer_free(&lab->written);
}

/* A file of an image with some of its chunks. */
static void add_file_of(struct lab *lab, uint32_t image, uint32_t first_chunk,
			uint32_t count)
{
	struct image_entry entry = { .stat = { .mode = 0100644, .size = 1 },
				     .file = { .first_chunk = first_chunk,
					       .chunk_count = count,
					       .image = image } };
	uint32_t inode = (uint32_t)lab->tree.inode_count++;

	assert_int_equal(dw_assembly_add_image_entry(lab->assembly, &entry,
						     &lab->inodes[inode].record, NULL),
			 0);
	lab->inodes[inode].next = DW_NONE;
	assert_int_equal(dw_contents_add(&lab->contents, &lab->tree, inode, NULL), 0);
	assert_int_equal(dw_contents_add_fragment(&lab->contents, DW_NONE, 1, NULL), 0);
	lab->contents.list[inode].kept_inode = inode;
}

static void add_file(struct lab *lab, uint32_t first_chunk, uint32_t count)
{
	add_file_of(lab, 0, first_chunk, count);
}

static int find(struct lab *lab, dwarfs_error **err)
{
	return dw_kept_blocks_find(&lab->run, &lab->tree, &lab->contents, &lab->kept,
				   err);
}

static void write_blocks(struct lab *lab, uint32_t workers)
{
	const struct budget budget = { .workers = workers, .waiting = 2 };
	struct compressor *compressor = NULL;

	assert_int_equal(dw_compressor_new(&lab->sections, &budget, &lab->streams,
					   &compressor, NULL),
			 0);
	assert_int_equal(dw_kept_blocks_write(&lab->run, &lab->contents, &lab->kept, 0,
					      lab->kept.count, compressor, NULL),
			 0);
	assert_int_equal(dw_compressor_finish(compressor, NULL), 0);
	dw_compressor_free(compressor);
}

static void expect_chunk(const struct lab *lab, size_t i, uint32_t block, uint32_t offset,
			 uint64_t size)
{
	assert_true(i < lab->chunks.count);
	assert_int_equal(lab->chunks.list[i].block, block);
	assert_int_equal(lab->chunks.list[i].offset, offset);
	assert_int_equal(lab->chunks.list[i].size, size);
}

static void add_chunks(struct lab *lab)
{
	assert_int_equal(dw_kept_blocks_add_chunks(&lab->run, &lab->tree, &lab->contents,
						   &lab->kept, &lab->chunks, NULL),
			 0);
}

/* The next section is a block with bytes of these blocks, one after the other. */
static void expect_block(const struct lab *lab, size_t *at, uint32_t number, size_t size)
{
	struct section_header header;

	assert_true(dw_section_header_parse(lab->written.data + *at, &header));
	assert_int_equal(header.type, DWARFS_SECTION_BLOCK);
	assert_int_equal(header.number, number);
	assert_int_equal(header.length, size);
	*at += DW_HEADER_BYTES + size;
}

/* Blocks that are copied, rewritten and dropped, each list with a digit for each. */
static void expect_counts(const struct lab *lab, const char *copied,
			  const char *rewritten, const char *dropped)
{
	const char *lists[] = { copied, rewritten, dropped };

	for (size_t i = 0; i < 3; i++) {
		uint64_t bytes = 0;

		for (const char *block = lists[i]; *block; block++)
			bytes += sizes[*block - '0'];
		assert_int_equal(lab->counts[DWARFS_COUNT_BLOCKS_COPIED + 2 * i],
				 strlen(lists[i]));
		assert_int_equal(lab->counts[DWARFS_COUNT_BYTES_COPIED + 2 * i], bytes);
	}
}

static void only_needed_blocks_are_kept(void **state)
{
	struct lab lab;
	size_t at = 0;

	begin(&lab);
	add_file(&lab, 0, 3);
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(lab.kept.count, 2);
	assert_int_equal(lab.kept.list[0].block, 0);
	assert_int_equal(lab.kept.list[1].block, 2);
	assert_int_equal(lab.kept.places[0][1].number, DW_NONE);
	assert_int_equal(lab.kept.places[0][2].number, 1);
	assert_false(lab.kept.are_divided);
	write_blocks(&lab, 2);
	expect_block(&lab, &at, 0, 4096);
	assert_int_equal(lab.written.data[DW_HEADER_BYTES + 5], byte_at(0, 5));
	expect_block(&lab, &at, 1, 1000);
	assert_int_equal(at, lab.written.size);
	add_chunks(&lab);
	expect_chunk(&lab, 0, 0, 100, 50);
	expect_chunk(&lab, 1, DW_NONE, 0, 7000);
	expect_chunk(&lab, 2, 1, 0, 1000);
	assert_int_equal(lab.chunks.count, 3);
	assert_int_equal(lab.contents.fragments[0].size, 8050);
	assert_int_equal(lab.contents.list[0].hole_bytes, 7000);
	expect_counts(&lab, "02", "", "134");
	end(&lab);
}

/* What follows counts decompressing by the codec. */
static void the_codec_of_a_copied_block_is_known(void **state)
{
	struct lab lab;

	begin(&lab);
	add_file(&lab, 0, 3);
	assert_int_equal(find(&lab, NULL), 0);
	stored_as = CODEC_LZMA;
	write_blocks(&lab, 1);
	stored_as = CODEC_NONE;
	assert_int_equal(lab.image->blocks[0].compression, CODEC_LZMA);
	assert_int_equal(lab.image->blocks[1].compression, CODEC_NONE); /* not needed */
	assert_int_equal(lab.image->blocks[2].compression, CODEC_LZMA);
	end(&lab);
}

static void blocks_are_divided(void **state)
{
	static const uint32_t all_bits[] = { 10, 11, 13, 16 };

	for (size_t i = 0; i < sizeof(all_bits) / sizeof(*all_bits); i++) {
		size_t unit = (size_t)1 << all_bits[i], at = 0, left = 4096 + 1000 + 4096;
		size_t done = 0;
		struct lab lab;

		begin(&lab);
		lab.options.block_bits = all_bits[i];
		lab.image->changes_block_size = true;
		for (int j = 0; j < BLOCKS; j++)
			lab.image->blocks[j].action = BLOCK_COMPRESS;
		add_file(&lab, 0, 4);
		assert_int_equal(find(&lab, NULL), 0);
		assert_true(lab.kept.are_divided);
		write_blocks(&lab, 0);
		for (uint32_t number = 0; left > 0; number++) {
			size_t size = left < unit ? left : unit;

			expect_block(&lab, &at, number, size);
			for (size_t j = 0; j < size; j++, done++)
				assert_int_equal(lab.written.data[at - size + j],
						 done < 4096   ? byte_at(0, done)
						 : done < 5096 ? byte_at(2, done - 4096)
							       : byte_at(3, done - 5096));
			left -= size;
		}
		assert_int_equal(at, lab.written.size);
		expect_counts(&lab, "", "023", "14");
		add_chunks(&lab);
		done = 0;
		for (size_t j = 0; j < lab.chunks.count; j++) {
			const struct chunk *chunk = &lab.chunks.list[j];

			done += chunk->size;
			if (chunk->block != DW_NONE)
				assert_true(chunk->offset + chunk->size <= unit);
		}
		assert_int_equal(done, 50 + 7000 + 1000 + 96);
		/* The chunk at 4000 of the block that begins at 5096. */
		expect_chunk(&lab, lab.chunks.count - 1, (uint32_t)(9096 / unit),
			     9096 % unit, 96);
		end(&lab);
	}
}

static void a_chunk_in_no_block_is_refused(void **state)
{
	dwarfs_error *err = NULL;
	struct lab lab;

	begin(&lab);
	add_file(&lab, 3, 2);
	assert_int_equal(find(&lab, &err), DWARFS_ERR_CORRUPT);
	assert_non_null(strstr(dwarfs_error_message(err), "block 9 of 5"));
	dwarfs_error_free(err);
	end(&lab);
}

static void all_blocks_without_a_file(void **state)
{
	struct lab lab;
	size_t at = 0;

	begin(&lab);
	assert_int_equal(dw_kept_blocks_find_all(&lab.run, lab.image, &lab.contents,
						 &lab.kept, NULL),
			 0);
	assert_int_equal(lab.kept.count, BLOCKS);
	write_blocks(&lab, 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		expect_block(&lab, &at, i, sizes[i]);
	assert_int_equal(at, lab.written.size);
	end(&lab);
}

/* A block without bytes keeps its number when blocks are compressed again. */
static void an_empty_block_keeps_its_number(void **state)
{
	struct section_header header;
	struct lab lab;
	size_t at = 0;

	begin(&lab);
	for (int i = 0; i < BLOCKS; i++) {
		lab.image->blocks[i].action = BLOCK_COMPRESS;
		lab.image->blocks[i].compression = CODEC_ZSTD;
	}
	/* The last one first, so that others follow it. */
	lab.kept.list = dw_calloc(2, sizeof(struct kept_block));
	lab.kept.list[0] = (struct kept_block){ lab.image, 4, 0 };
	lab.kept.list[1] = (struct kept_block){ lab.image, 0, 0 };
	lab.kept.count = 2;
	write_blocks(&lab, 0);
	expect_block(&lab, &at, 0, 0);
	assert_true(dw_section_header_parse(lab.written.data + at, &header));
	assert_int_equal(header.number, 1);
	assert_int_equal(header.length, sizes[0]);
	assert_int_equal(lab.streams.count, 2);
	end(&lab);
}

static void a_chunk_ends_within_its_block(void **state)
{
	for (int divided = 0; divided < 2; divided++) {
		for (int lenient = 0; lenient < 2; lenient++) {
			bool is_refused = divided || !lenient;
			dwarfs_error *err = NULL;
			struct lab lab;

			begin(&lab);
			lab.image->is_lenient = lenient;
			lab.image->changes_block_size = divided;
			add_file(&lab, 5, 1);
			assert_int_equal(find(&lab, NULL), 0);
			assert_int_equal(dw_kept_blocks_add_chunks(
						 &lab.run, &lab.tree, &lab.contents,
						 &lab.kept, &lab.chunks, &err),
					 is_refused ? DWARFS_ERR_CORRUPT : 0);
			if (is_refused)
				assert_non_null(strstr(dwarfs_error_message(err),
						       "exceeds block 2 of 1000 bytes"));
			dwarfs_error_free(err);
			end(&lab);
		}
	}
}

/* One block stays one block, whatever its samples: other blocks, and chunks, name it by its
 * number. */
static void a_block_that_is_compressed_again_is_not_divided(void **state)
{
	static const char text[] = "{\"bits_per_sample\":24,\"bytes_per_sample\":3,"
				   "\"endianness\":\"big\",\"number_of_channels\":1,"
				   "\"padding\":\"lsb\",\"signedness\":\"signed\"}";
	struct lab lab;
	size_t at = 0;

	begin(&lab);
	lab.settings[CATEGORY_PCM_WAVEFORM].codec.id = CODEC_NONE;
	for (uint32_t i = 0; i < BLOCKS; i++)
		lab.image->blocks[i] = (struct source_block){
			.category = CATEGORY_PCM_WAVEFORM,
			.compression = CODEC_ZSTD,
			.metadata_json = text,
			.action = BLOCK_COMPRESS,
		};
	assert_int_equal(dw_kept_blocks_find_all(&lab.run, lab.image, &lab.contents,
						 &lab.kept, NULL),
			 0);
	write_blocks(&lab, 0);
	for (uint32_t i = 0; i < BLOCKS; i++) /* 4096 is not divisible by 3 */
		expect_block(&lab, &at, i, sizes[i]);
	assert_int_equal(at, lab.written.size);
	end(&lab);
}

static void what_is_not_compressed_is_copied(void **state)
{
	struct lab lab;

	begin(&lab);
	lab.image->blocks[0].action = lab.image->blocks[1].action = BLOCK_COMPRESS;
	lab.image->blocks[1].compression = CODEC_ZSTD;
	assert_int_equal(dw_kept_blocks_find_all(&lab.run, lab.image, &lab.contents,
						 &lab.kept, NULL),
			 0);
	assert_int_equal(lab.image->blocks[0].action, BLOCK_COPY);
	assert_int_equal(lab.image->blocks[1].action, BLOCK_COMPRESS);
	assert_int_equal(lab.image->blocks[2].action, BLOCK_COPY);
	end(&lab);
}

static void files_in_blocks_that_are_mostly_unused(void **state)
{
	struct lab lab;

	begin(&lab);
	lab.options.max_unused = 50;
	add_file(&lab, 0, 1); /* 50 of 4096 bytes */
	add_file(&lab, 2, 1); /* all of its block */
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(lab.kept.count, 1);
	assert_int_equal(lab.kept.list[0].block, 2);
	assert_int_equal(lab.contents.list[0].kept_inode, DW_NONE);
	assert_int_equal(lab.contents.fragments[0].stream, 0);
	assert_int_equal(lab.contents.list[1].kept_inode, 1);
	write_blocks(&lab, 0);
	expect_counts(&lab, "2", "0", "134");
	end(&lab);
}

/* Contents that are moved out of one block leave another one mostly unused, and so on. */
static void files_are_stored_anew_until_no_block_is_mostly_unused(void **state)
{
	struct lab lab;

	begin(&lab);
	lab.options.max_unused = 98;
	add_file(&lab, 6, 2); /* 50 of 4096 bytes of block 0, and 50 of block 3 */
	add_file(&lab, 8, 2); /* 50 others of block 3, and 100 of block 1 */
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(lab.kept.count, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(lab.contents.list[i].kept_inode, DW_NONE);
	expect_counts(&lab, "", "013", "24");
	end(&lab);
}

/* Blocks of a base stay in the base. */
static void unused_blocks_of_a_base_are_not_dropped(void **state)
{
	struct lab lab;

	begin(&lab);
	lab.image->is_base = true;
	add_file(&lab, 0, 1);
	assert_int_equal(find(&lab, NULL), 0);
	write_blocks(&lab, 0);
	expect_counts(&lab, "0", "", "");
	end(&lab);
}

static void blocks_of_an_image_that_is_packed_again(void **state)
{
	struct lab lab;

	begin(&lab);
	lab.image->keeps_blocks = false;
	add_file(&lab, 0, 3);
	lab.contents.list[0].kept_inode = DW_NONE;
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(lab.kept.count, 0);
	expect_counts(&lab, "", "02", "134");
	end(&lab);
}

static void a_codec_that_cannot_compress_a_block(void **state)
{
	dwarfs_error *err = NULL;
	struct lab lab;

	begin(&lab);
	lab.settings[CATEGORY_FITS_IMAGE].codec.id = CODEC_RICEPP;
	lab.image->blocks[3].category = CATEGORY_FITS_IMAGE;
	lab.image->blocks[3].compression = CODEC_NONE;
	lab.image->blocks[3].action = BLOCK_COMPRESS;
	assert_int_equal(dw_kept_blocks_find_all(&lab.run, lab.image, &lab.contents,
						 &lab.kept, &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "block 3"));
	assert_non_null(strstr(dwarfs_error_message(err), "fits/image"));
	dwarfs_error_free(err);
	end(&lab);
}

/* An image with a file in blocks 0 and 2, and another one with one in 0, 2 and 3. */
static void begin_two(struct lab *lab, struct variant *variant)
{
	begin(lab);
	lab->other = add_image(lab, variant);
	add_file(lab, 0, 3);
	add_file_of(lab, 1, 0, 4);
}

static void equal_blocks_are_stored_once(void **state)
{
	for (int trusted = 0; trusted < 2; trusted++) {
		struct variant variant = { .block = DW_NONE };
		struct lab lab;
		size_t at = 0;

		begin_two(&lab, &variant);
		lab.options.trust_digests = trusted;
		assert_int_equal(find(&lab, NULL), 0);
		assert_int_equal(lab.kept.count, 3);
		assert_ptr_equal(lab.kept.list[1].image, lab.image);
		assert_ptr_equal(lab.kept.list[2].image, lab.other);
		assert_int_equal(variant.loads, 2);
		write_blocks(&lab, 2);
		expect_block(&lab, &at, 0, 4096);
		expect_block(&lab, &at, 1, 1000);
		expect_block(&lab, &at, 2, 4096);
		assert_int_equal(at, lab.written.size);
		add_chunks(&lab);
		expect_chunk(&lab, 0, 0, 100, 50);
		expect_chunk(&lab, 2, 1, 0, 1000);
		expect_chunk(&lab, 3, 0, 100, 50);
		expect_chunk(&lab, 5, 1, 0, 1000);
		expect_chunk(&lab, 6, 2, 4000, 96);
		expect_counts(&lab, "023", "", "1340214");
		end(&lab);
	}
}

/* Also a base: nothing of it counts as dropped. */
static void equal_blocks_of_a_base(void **state)
{
	struct variant variant = { .block = DW_NONE };
	struct lab lab;

	begin_two(&lab, &variant);
	lab.other->is_base = true;
	assert_int_equal(find(&lab, NULL), 0);
	write_blocks(&lab, 0);
	expect_counts(&lab, "023", "", "134");
	end(&lab);
}

static void expect_kept(const struct lab *lab, const struct variant *variant,
			size_t count, uint32_t loads)
{
	assert_int_equal(lab->kept.count, count);
	assert_int_equal(variant->loads, loads);
}

static void blocks_that_differ_are_all_stored(void **state)
{
	struct variant last = { .block = 0, .offset = 4095 };
	struct variant first = { .block = 0, .offset = 0 };
	struct variant damaged = { .block = 0, .is_damaged = true };
	struct variant packed = { .block = DW_NONE, .codec = CODEC_ZSTD };
	struct variant *variants[] = { &last, &first, &damaged, &packed };
	static const uint32_t counts[] = { 4, 4, 4, 5 }, loads[] = { 2, 1, 2, 2 };

	for (size_t i = 0; i < 4; i++) {
		struct lab lab;

		begin_two(&lab, variants[i]);
		lab.other->is_lenient = true;
		assert_int_equal(find(&lab, NULL), 0);
		expect_kept(&lab, variants[i], counts[i], loads[i]);
		add_chunks(&lab);
		expect_chunk(&lab, 0, 0, 100, 50);
		expect_chunk(&lab, 3, 2, 100, 50);
		end(&lab);
	}
}

static void blocks_of_other_categories_are_not_read(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct variant variant = { .block = DW_NONE };
		struct lab lab;

		begin_two(&lab, &variant);
		for (uint32_t j = 0; j < BLOCKS; j++)
			lab.other->blocks[j] = (struct source_block){
				.category = i == 0 ? CATEGORY_INCOMPRESSIBLE
						   : CATEGORY_DEFAULT,
				.metadata_json = i == 1 ? "{}" : NULL,
			};
		lab.other->changes_block_size = i == 2;
		assert_int_equal(find(&lab, NULL), 0);
		assert_int_equal(variant.heads + variant.pieces + variant.loads, 0);
		assert_int_equal(lab.kept.count, 5);
		end(&lab);
	}
}

/* Nor those of sizes that no other image has. */
static void blocks_of_other_sizes_are_not_read(void **state)
{
	struct variant variant = { .block = DW_NONE };
	struct lab lab;

	begin(&lab);
	lab.other = add_image(&lab, &variant);
	add_file(&lab, 2, 1);	    /* block 2 of 1000 bytes */
	add_file_of(&lab, 1, 7, 3); /* blocks 1 and 3 */
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(variant.heads + variant.pieces, 0);
	expect_kept(&lab, &variant, 3, 0);
	end(&lab);
}

/* They stay, as all needed blocks of an image do. */
static void equal_blocks_of_one_image_are_not_compared(void **state)
{
	struct variant variant = { .block = DW_NONE };
	struct lab lab;

	begin(&lab);
	lab.image->keeps_blocks = false;
	lab.other = add_image(&lab, &variant);
	add_file_of(&lab, 1, 0, 4);
	assert_int_equal(find(&lab, NULL), 0);
	assert_int_equal(variant.heads + variant.pieces, 0);
	expect_kept(&lab, &variant, 3, 0);
	end(&lab);
}

static void a_block_that_cannot_be_compared(void **state)
{
	struct variant variant = { .block = 0, .is_unreadable = true };
	dwarfs_error *err = NULL;
	struct lab lab;

	begin_two(&lab, &variant);
	assert_int_equal(find(&lab, &err), DWARFS_ERR_IO);
	assert_non_null(strstr(dwarfs_error_message(err), "'another image': block 0"));
	dwarfs_error_free(err);
	end(&lab);
}

/* Of block 3, the file of each image needs less than half, and both need more. */
static void equal_blocks_are_compacted_together(void **state)
{
	static const uint8_t limits[] = { 55, 3 };

	for (int i = 0; i < 2; i++) {
		struct variant variant = { .block = DW_NONE };
		struct lab lab;

		begin(&lab);
		lab.other = add_image(&lab, &variant);
		lab.options.max_unused = limits[i];
		add_file(&lab, 10, 1);
		add_file_of(&lab, 1, 11, 1);
		assert_int_equal(find(&lab, NULL), 0);
		assert_int_equal(lab.kept.count, i == 0);
		for (int j = 0; j < 2; j++)
			assert_int_equal(lab.contents.list[j].kept_inode,
					 i == 0 ? (uint32_t)j : DW_NONE);
		write_blocks(&lab, 0);
		expect_counts(&lab, i == 0 ? "3" : "", i == 0 ? "" : "3", "012401234");
		end(&lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_needed_blocks_are_kept),
		cmocka_unit_test(the_codec_of_a_copied_block_is_known),
		cmocka_unit_test(blocks_are_divided),
		cmocka_unit_test(a_chunk_in_no_block_is_refused),
		cmocka_unit_test(all_blocks_without_a_file),
		cmocka_unit_test(an_empty_block_keeps_its_number),
		cmocka_unit_test(a_chunk_ends_within_its_block),
		cmocka_unit_test(a_block_that_is_compressed_again_is_not_divided),
		cmocka_unit_test(what_is_not_compressed_is_copied),
		cmocka_unit_test(files_in_blocks_that_are_mostly_unused),
		cmocka_unit_test(files_are_stored_anew_until_no_block_is_mostly_unused),
		cmocka_unit_test(unused_blocks_of_a_base_are_not_dropped),
		cmocka_unit_test(blocks_of_an_image_that_is_packed_again),
		cmocka_unit_test(a_codec_that_cannot_compress_a_block),
		cmocka_unit_test(equal_blocks_are_stored_once),
		cmocka_unit_test(equal_blocks_of_a_base),
		cmocka_unit_test(blocks_that_differ_are_all_stored),
		cmocka_unit_test(blocks_of_other_categories_are_not_read),
		cmocka_unit_test(blocks_of_other_sizes_are_not_read),
		cmocka_unit_test(equal_blocks_of_one_image_are_not_compared),
		cmocka_unit_test(a_block_that_cannot_be_compared),
		cmocka_unit_test(equal_blocks_are_compacted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
