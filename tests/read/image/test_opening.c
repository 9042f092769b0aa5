/* SPDX-License-Identifier: MIT */
/*
 * read/image/opening: how many rounds of reads the opening of an image takes and what they
 * read, the same results as from memory for damaged images, and cancellation.
 */
#include "read/known.h"
#include "support/task.h"

#define BLOCK_BYTES (1u << 20)
#define BLOCKS	    3
#define MOST_BESIDE (64u << 10) /* bytes read that are neither index nor metadata */

/* An image in memory that is read through callbacks, which count. */
struct source {
	const uint8_t *data;
	size_t bytes;
	int singles, manies; /* calls of the two callbacks */
	uint64_t read;	     /* bytes */
	int fails_at;	     /* the call that fails with LIMIT; 0: none */
	dwarfs_task *cancel; /* cancelled by the first call; or NULL */
};

static int begin_read(struct source *source, dwarfs_error **err)
{
	if (source->cancel)
		dwarfs_task_cancel(source->cancel);
	if (source->singles + source->manies != source->fails_at)
		return 0;
	return dwarfs_error_set(err, DWARFS_ERR_LIMIT, 0, "the server asks to wait");
}

static void copy_range(struct source *source, void *buffer, size_t bytes, uint64_t offset)
{
	assert_true(bytes > 0);
	assert_true(offset <= source->bytes && bytes <= source->bytes - offset);
	memcpy(buffer, source->data + offset, bytes);
	source->read += bytes;
}

static int read_one(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		    dwarfs_error **err, void *user)
{
	struct source *source = user;
	int ret;

	source->singles++;
	if ((ret = begin_read(source, err)) < 0)
		return ret;
	copy_range(source, buffer, bytes, offset);
	*bytes_out = bytes;
	return 0;
}

static int read_many(const struct dwarfs_io_range *ranges, size_t count,
		     dwarfs_error **err, void *user)
{
	struct source *source = user;
	uint64_t end = 0;
	int ret;

	source->manies++;
	assert_true(count > 0);
	if ((ret = begin_read(source, err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		assert_true(i == 0 || ranges[i].offset >= end);
		copy_range(source, ranges[i].buffer, ranges[i].bytes, ranges[i].offset);
		end = ranges[i].offset + ranges[i].bytes;
	}
	return 0;
}

static int open_source(struct source *source, uint64_t offset, const dwarfs_task *task,
		       dwarfs_image **image_out, dwarfs_error **err)
{
	dwarfs_context *context = quiet_context();
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_offset(options, offset);
	dwarfs_image_options_set_task(options, task);
	assert_int_equal(dwarfs_io_new(read_one, source->bytes, NULL, source, &io, NULL),
			 0);
	dwarfs_io_set_read_many(io, read_many);
	ret = dwarfs_image_open_io(context, io, options, image_out, err);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return ret;
}

/* -- rounds and bytes ---------------------------------------------------------------- */

/* Blocks, then files of one byte each. */
static void make_image(struct craft *craft, uint32_t block_bytes, uint32_t files,
		       bool has_index)
{
	auto_free uint8_t *block = dw_calloc(1, block_bytes);
	auto_free struct craft_chunk *chunks = dw_calloc(files, sizeof(*chunks));
	auto_free uint32_t *table = dw_calloc(files + 1, sizeof(*table));

	for (uint32_t i = 0; i < BLOCKS; i++) {
		memset(block, 'a' + (int)i, block_bytes);
		craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, block_bytes);
	}
	for (uint32_t i = 0; i < files; i++) {
		chunks[i] = (struct craft_chunk){ i % BLOCKS, i % block_bytes, 1 };
		table[i + 1] = i + 1;
	}
	craft_files(craft, chunks, table, files, block_bytes, 0);
	if (has_index)
		craft_index(craft, 0);
}

/* The bytes of schema, metadata and index, with their headers. */
static uint64_t needed_bytes(const dwarfs_image *image)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < dwarfs_image_section_count(image); i++) {
		uint64_t type, bytes;

		assert_int_equal(dwarfs_image_section(image, i, DWARFS_SECTION_FIELD_TYPE,
						      &type, NULL),
				 0);
		assert_int_equal(dwarfs_image_section(image, i,
						      DWARFS_SECTION_FIELD_STORED_BYTES,
						      &bytes, NULL),
				 0);
		if (type != DWARFS_SECTION_BLOCK)
			sum += bytes + 64;
	}
	return sum;
}

static void expect_file(const dwarfs_image *image, uint32_t file)
{
	char byte = 0;
	size_t got = 0;

	assert_int_equal(
		dwarfs_read(image, dwarfs_inode_at(file + 1), &byte, 1, 0, &got, NULL),
		0);
	assert_int_equal(got, 1);
	assert_int_equal(byte, 'a' + (int)(file % BLOCKS));
}

/* From images that are read as a whole to those with large blocks and metadata. */
static const struct shape {
	uint32_t block_bytes, files;
} shapes[] = {
	{ 128, 1 },   { 1024, 3 },	   { 4096, 40 },	   { 16384, 40 },
	{ 32768, 3 }, { BLOCK_BYTES, 40 }, { BLOCK_BYTES, 20000 },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* The image after this many other bytes; the caller frees it. */
static uint8_t *behind_header(const struct craft *craft, size_t start, size_t *bytes_out)
{
	uint8_t *bytes;

	*bytes_out = start + craft->bytes.size;
	bytes = dw_malloc(*bytes_out);
	assert_non_null(bytes);
	memset(bytes, '#', start);
	memcpy(bytes + start, craft->bytes.data, craft->bytes.size);
	return bytes;
}

static void an_index_makes_two_rounds(void **state)
{
	for (size_t i = 0; i < 2 * SHAPES; i++) {
		const size_t start = i % 2 ? 5000 : 0;
		const struct shape *shape = &shapes[i / 2];
		auto_craft struct craft craft = { 0 };
		auto_free uint8_t *bytes = NULL;
		auto_test_image dwarfs_image *image = NULL;
		struct source source = { 0 };
		uint64_t read;

		make_image(&craft, shape->block_bytes, shape->files, true);
		source.data = bytes = behind_header(&craft, start, &source.bytes);
		assert_int_equal(open_source(&source, start, NULL, &image, NULL), 0);
		assert_in_range(source.singles + source.manies, 1, 2);
		read = source.read;
		assert_true(read <= needed_bytes(image) + MOST_BESIDE);
		assert_true(dwarfs_image_has_index(image));
		expect_file(image, shape->files - 1);
	}
}

/* A history, and two large sections that the index does not list, as a builder writes them:
 * their headers are neither in the last bytes of the image nor read one by one. */
static void unlisted_sections_need_no_round(void **state)
{
	for (uint32_t files = 40; files <= 20000; files *= 500) {
		auto_craft struct craft craft = { 0 };
		auto_free uint8_t *large = dw_calloc(1, BLOCK_BYTES);
		auto_test_image dwarfs_image *image = NULL;
		struct source source = { 0 };
		uint64_t needed, read;

		make_image(&craft, BLOCK_BYTES, files, false);
		craft_section(&craft, DWARFS_SECTION_HISTORY, 0, large, 300);
		craft_section(&craft, 0xD123, 0, large, 5000);
		craft_section(&craft, 0xD124, 0, large, BLOCK_BYTES);
		craft_index(&craft, 2);
		source.data = craft.bytes.data;
		source.bytes = craft.bytes.size;
		assert_int_equal(open_source(&source, 0, NULL, &image, NULL), 0);
		assert_int_equal(source.singles + source.manies, 2);
		assert_int_equal(dwarfs_image_section_count(image), BLOCKS + 6);
		read = source.read;
		needed = needed_bytes(image) - (300 + 5000 + BLOCK_BYTES + 3 * 64);
		assert_true(read <= needed + MOST_BESIDE);
		expect_file(image, files - 1);
	}
}

static void a_search_adds_two_small_reads(void **state)
{
	for (size_t i = 0; i < 2 * SHAPES; i++) {
		const size_t start = i % 2 ? 5000 : 0;
		const struct shape *shape = &shapes[i / 2];
		auto_craft struct craft craft = { 0 };
		auto_free uint8_t *bytes = NULL;
		auto_test_image dwarfs_image *image = NULL;
		struct source source = { 0 };
		uint64_t read;

		make_image(&craft, shape->block_bytes, shape->files, true);
		source.data = bytes = behind_header(&craft, start, &source.bytes);
		assert_int_equal(
			open_source(&source, DWARFS_OFFSET_AUTO, NULL, &image, NULL), 0);
		assert_int_equal(dwarfs_image_offset(image), start);
		/* The first 4 KiB, and the header of the second section. */
		assert_in_range(source.singles + source.manies, 1, start ? 5 : 4);
		/* Beyond the first 4 KiB it is searched in pieces of 1 MiB. */
		read = source.read;
		assert_true(read <= needed_bytes(image) + MOST_BESIDE +
					    (start ? 1u << 20 : 4096));
		expect_file(image, 0);
	}
}

/* The headers lead from section to section; blocks are not read. */
static void without_an_index_it_opens_too(void **state)
{
	for (size_t i = 0; i < SHAPES; i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		struct source source = { 0 };
		uint64_t read;

		make_image(&craft, shapes[i].block_bytes, shapes[i].files, false);
		source.data = craft.bytes.data;
		source.bytes = craft.bytes.size;
		assert_int_equal(open_source(&source, 0, NULL, &image, NULL), 0);
		assert_false(dwarfs_image_has_index(image));
		read = source.read;
		assert_true(read <= needed_bytes(image) + MOST_BESIDE + 4096);
		expect_file(image, shapes[i].files - 1);
	}
}

/* -- damage -------------------------------------------------------------------------- */

static void expect_as_from_memory(const uint8_t *data, size_t bytes)
{
	auto_test_image dwarfs_image *read = NULL, *in_memory = NULL;
	auto_error dwarfs_error *why = NULL, *expected = NULL;
	struct source source = { .data = data, .bytes = bytes };
	dwarfs_context *context = quiet_context();
	const int ret = open_source(&source, DWARFS_OFFSET_AUTO, NULL, &read, &why);

	assert_int_equal(ret, craft_try(data, bytes, context, &in_memory, &expected));
	assert_int_equal(dwarfs_error_code(why), ret);
	if (ret < 0)
		assert_string_equal(dwarfs_error_message(why),
				    dwarfs_error_message(expected));
	else
		assert_int_equal(dwarfs_image_entry_count(read),
				 dwarfs_image_entry_count(in_memory));
	dwarfs_context_free(context);
}

static void damage_is_refused_as_from_memory(void **state)
{
	uint8_t copy[sizeof(one_file)];

	memcpy(copy, one_file, sizeof(one_file));
	for (size_t at = 0; at < sizeof(one_file); at++) {
		copy[at] ^= 0x14;
		expect_as_from_memory(copy, sizeof(copy));
		copy[at] ^= 0x14;
		expect_as_from_memory(copy, at);
	}
}

/* Damage in the schema, the metadata and the index of an image that is not read as a
 * whole. */
static void damage_far_from_the_ends_is_refused(void **state)
{
	auto_craft struct craft craft = { 0 };
	const size_t blocks = (size_t)BLOCKS * (64 + BLOCK_BYTES);

	make_image(&craft, BLOCK_BYTES, 20000, true);
	assert_true(craft.bytes.size > blocks + (100u << 10));
	for (size_t i = 0; i < 40; i++) {
		const size_t at = blocks + (craft.bytes.size - blocks - 1) / 39 * i;

		craft.bytes.data[at] ^= 1;
		expect_as_from_memory(craft.bytes.data, craft.bytes.size);
		craft.bytes.data[at] ^= 1;
	}
	for (size_t cut = 1; cut < 40; cut++)
		expect_as_from_memory(craft.bytes.data, craft.bytes.size - cut * 4099);
}

static void each_read_can_fail(void **state)
{
	auto_craft struct craft craft = { 0 };

	make_image(&craft, BLOCK_BYTES, 20000, true);
	for (int call = 1; call <= 2; call++) {
		struct source source = { .data = craft.bytes.data,
					 .bytes = craft.bytes.size,
					 .fails_at = call };
		auto_error dwarfs_error *err = NULL;
		dwarfs_image *image = NULL;

		assert_int_equal(open_source(&source, 0, NULL, &image, &err),
				 DWARFS_ERR_LIMIT);
		assert_null(image);
		assert_non_null(
			strstr(dwarfs_error_message(err), "the server asks to wait"));
	}
}

/* -- the task ------------------------------------------------------------------------ */

static int note_phase(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	*(unsigned *)user |= 1u << dwarfs_progress_phase(progress);
	return 0;
}

static void the_task_sees_the_opening(void **state)
{
	unsigned phases = 0;
	auto_test_task dwarfs_task *task = new_task(note_phase, &phases);
	auto_test_image dwarfs_image *image = NULL;
	struct source source = { .data = one_file, .bytes = sizeof(one_file) };

	assert_int_equal(open_source(&source, 0, task, &image, NULL), 0);
	assert_int_equal(phases & ~(1u << DWARFS_PHASE_DONE), 1u << DWARFS_PHASE_OPEN);
	/* It is not used afterwards. */
	dwarfs_task_cancel(task);
	assert_reads_hi(image);
}

static void a_cancelled_task_fails_the_opening(void **state)
{
	for (int with_index = 0; with_index < 2; with_index++) {
		auto_craft struct craft craft = { 0 };

		make_image(&craft, BLOCK_BYTES, 40, with_index);
		for (int before = 0; before < 2; before++) {
			auto_test_task dwarfs_task *task = new_task(NULL, NULL);
			auto_error dwarfs_error *err = NULL;
			struct source source = { .data = craft.bytes.data,
						 .bytes = craft.bytes.size,
						 .cancel = before ? NULL : task };
			dwarfs_image *image = NULL;

			if (before)
				dwarfs_task_cancel(task);
			assert_int_equal(open_source(&source, 0, task, &image, &err),
					 DWARFS_ERR_CANCELLED);
			assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
			assert_null(image);
			if (before)
				assert_int_equal(source.singles + source.manies, 0);
		}
	}
}

static int refuse(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	const int code = *(int *)user;

	return code < 0 ? dwarfs_error_set(err, code, 0, "not this image") : code;
}

static void a_progress_callback_can_stop_the_opening(void **state)
{
	static const int codes[] = { 1, DWARFS_ERR_CANCELLED, DWARFS_ERR_NO_SPACE };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		int code = codes[i];
		auto_test_task dwarfs_task *task = new_task(refuse, &code);
		auto_error dwarfs_error *err = NULL;
		struct source source = { .data = one_file, .bytes = sizeof(one_file) };
		dwarfs_image *image = NULL;

		assert_int_equal(open_source(&source, 0, task, &image, &err),
				 code < 0 ? code : DWARFS_ERR_CANCELLED);
		assert_string_equal(dwarfs_error_message(err),
				    code < 0 ? "not this image" : "cancelled");
		assert_null(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_makes_two_rounds),
		cmocka_unit_test(unlisted_sections_need_no_round),
		cmocka_unit_test(a_search_adds_two_small_reads),
		cmocka_unit_test(without_an_index_it_opens_too),
		cmocka_unit_test(damage_is_refused_as_from_memory),
		cmocka_unit_test(damage_far_from_the_ends_is_refused),
		cmocka_unit_test(each_read_can_fail),
		cmocka_unit_test(the_task_sees_the_opening),
		cmocka_unit_test(a_cancelled_task_fails_the_opening),
		cmocka_unit_test(a_progress_callback_can_stop_the_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
