/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#include "os/file_io.h"
#include "support/categorized.h"
#include "write/builder.h"

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	struct categorized *all = user;
	size_t used = strlen(all->warnings);

	snprintf(all->warnings + used, sizeof(all->warnings) - used, "%s\n", message);
}

struct categorized *categorized_new(const char *categorizers)
{
	struct categorized *all = dw_calloc(1, sizeof(*all));

	assert_non_null(all);
	assert_int_equal(dwarfs_context_new(&all->context, NULL), 0);
	assert_int_equal(
		dwarfs_context_set_log(all->context, DWARFS_LOG_WARN, on_log, all, NULL),
		0);
	assert_int_equal(dwarfs_builder_new(all->context, &all->builder, NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_categorizers(all->builder, categorizers, NULL), 0);
	return all;
}

void categorized_free(struct categorized *all)
{
	dw_category_parts_free(&all->parts);
	dwarfs_builder_free(all->builder);
	dwarfs_context_free(all->context);
	dw_free(all);
}

static void describe(struct categorized *all, uint64_t size)
{
	uint64_t covered = 0;
	size_t used = 0;

	all->text[0] = '\0';
	for (size_t i = 0; i < all->parts.count; i++) {
		const struct category_part *part = &all->parts.list[i];

		used += (size_t)snprintf(
			all->text + used, sizeof(all->text) - used, "%s%s %" PRIu64,
			i ? ", " : "",
			dw_category_name(&all->builder->options.categorize,
					 part->category),
			part->size);
		assert_true(used < sizeof(all->text));
		assert_true(part->size > 0);
		assert_int_equal(part->samples.is_known,
				 part->category == CATEGORY_PCM_WAVEFORM ||
					 part->category == CATEGORY_FITS_IMAGE);
		assert_true(part->samples.is_known || !part->metadata_json);
		covered += part->size;
	}
	assert_true(all->parts.count == 0 || covered == size);
}

static const char *run(struct categorized *all, const struct category_file *file)
{
	auto_categorizers struct categorizers *categorizers = NULL;
	auto_error dwarfs_error *err = NULL;

	all->warnings[0] = '\0';
	dw_category_parts_free(&all->parts);
	assert_int_equal(dw_categorizers_new(&all->builder->options, &categorizers, &err),
			 0);
	if (dw_categorize(categorizers, all->context, file, &all->parts, &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
	describe(all, file->size);
	return all->text;
}

/* The head has exactly its size, so that a sanitizer detects reads past it. */
static const char *run_open(struct categorized *all, const char *name, int fd,
			    uint64_t size)
{
	size_t head_bytes =
		size < CATEGORY_HEAD_BYTES ? (size_t)size : CATEGORY_HEAD_BYTES;
	auto_free uint8_t *head = dw_malloc(head_bytes ? head_bytes : 1);

	assert_non_null(head);
	assert_int_equal(dw_fd_read_at(fd, head, head_bytes, 0), head_bytes);
	return run(all, &(struct category_file){
				.path = name,
				.size = size,
				.input_file = &(struct input_file){ .fd = fd },
				.head = { head, head_bytes },
			});
}

const char *categorize_as(struct categorized *all, const char *name, const void *data,
			  size_t size)
{
	char path[] = "/tmp/dwarfs-test-XXXXXX";
	auto_fd int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(dw_fd_write(fd, data, size), 0);
	return run_open(all, name, fd, size);
}

const char *categorize(struct categorized *all, const void *data, size_t size)
{
	return categorize_as(all, "a file", data, size);
}

const char *categorize_input(struct categorized *all, const char *name)
{
	const char *folder = getenv("DWARFS_TEST_DATA");
	char path[4096];
	auto_fd int fd = -1;
	uint64_t size;

	snprintf(path, sizeof(path), "%s/inputs/%s", folder ? folder : "", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no test data: %s\n", path);
		skip();
	}
	assert_int_equal(dw_fd_bytes(fd, &size, NULL), 0);
	return run_open(all, name, fd, size);
}

void fill_random(uint8_t *data, size_t size, uint64_t seed)
{
	uint64_t state = seed * 2 + 1;

	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		data[i] = (uint8_t)(state >> 32);
	}
}

void put(struct bytes *bytes, const void *data, size_t size)
{
	assert_true(size <= sizeof(bytes->data) - bytes->size);
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void append_text(struct bytes *bytes, const char *text)
{
	put(bytes, text, strlen(text));
}

void put_zeros(struct bytes *bytes, size_t count)
{
	assert_true(count <= sizeof(bytes->data) - bytes->size);
	memset(bytes->data + bytes->size, 0, count);
	bytes->size += count;
}

void put_little(struct bytes *bytes, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)(value >> 8 * i);

		put(bytes, &byte, 1);
	}
}

void put_big(struct bytes *bytes, uint64_t value, unsigned size)
{
	for (unsigned i = size; i-- > 0;) {
		uint8_t byte = (uint8_t)(value >> 8 * i);

		put(bytes, &byte, 1);
	}
}

const struct codec_samples *samples_of(const struct categorized *all)
{
	for (size_t i = 0; i < all->parts.count; i++)
		if (all->parts.list[i].samples.is_known)
			return &all->parts.list[i].samples;
	fail_msg("there are no samples");
	return NULL;
}

void assert_parts(struct categorized *all, const struct bytes *bytes,
		  const char *expected)
{
	assert_string_equal(categorize(all, bytes->data, bytes->size), expected);
	assert_string_equal(all->warnings, "");
}

void assert_malformed(struct categorized *all, const struct bytes *bytes,
		      const char *words)
{
	assert_string_equal(categorize(all, bytes->data, bytes->size), "");
	if (!strstr(all->warnings, words))
		fail_msg("'%s' is not in '%s'", words, all->warnings);
}

void assert_nothing(struct categorized *all, const struct bytes *bytes)
{
	assert_parts(all, bytes, "");
}

void assert_no_prefix(struct categorized *all, const struct bytes *bytes)
{
	for (size_t size = 1; size < bytes->size; size++)
		assert_string_equal(categorize(all, bytes->data, size), "");
}

void make_wav(const struct wav *wav, struct bytes *out)
{
	uint32_t format_bytes = wav->format_bytes    ? wav->format_bytes
				: wav->tag == 0xfffe ? 40
						     : 16;
	uint32_t frame = wav->frame ? wav->frame : wav->channels * ((wav->bits + 7) / 8);

	out->size = 0;
	append_text(out, "RIFF");
	put_little(out, 20 + format_bytes + wav->data_bytes, 4);
	append_text(out, "WAVEfmt ");
	put_little(out, format_bytes, 4);
	put_little(out, wav->tag, 2);
	put_little(out, wav->channels, 2);
	put_little(out, 48000, 4);
	put_little(out, 48000 * frame, 4);
	put_little(out, frame, 2);
	put_little(out, wav->bits, 2);
	if (format_bytes == 40) {
		put_little(out, 22, 2);
		put_little(out, wav->valid_bits, 2);
		put_little(out, 3, 4);
		put(out, "\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 16);
	} else {
		put_zeros(out, format_bytes > 16 ? format_bytes - 16 : 0);
	}
	append_text(out, "data");
	put_little(out, wav->data_bytes + (uint32_t)wav->data_excess, 4);
	put_zeros(out, wav->data_bytes);
}
