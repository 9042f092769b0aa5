/* SPDX-License-Identifier: MIT */
/*
 * fuzz_categorize: the parsers of the categorizers, over a file of any bytes.
 *
 * The last byte chooses whether the data after the head must be read.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "os/file_io.h"
#include "write/categorize/categorize.h"
#include "write/builder.h"

/* The samples of a part must be valid for its codec. */
static void check_part(const struct category_part *part)
{
	const struct samples_kind *kind = dw_category_samples(part->category);
	const struct codec_samples *samples = &part->samples;
	uint64_t frame = (uint64_t)samples->channels * samples->bytes_per_sample;

	fuzz_require(part->size > 0 && part->category < CATEGORY_COUNT);
	fuzz_require(samples->is_known == (kind != NULL));
	if (!samples->is_known)
		return;
	fuzz_require(dw_samples_check(kind, samples, NULL) == 0);
	fuzz_require(part->size % frame == 0);
}

static void run(const struct categorizers *categorizers, dwarfs_context *context,
		const struct category_file *file)
{
	struct category_parts parts = { 0 };
	uint64_t covered = 0;

	fuzz_require(dw_categorize(categorizers, context, file, &parts, NULL) == 0);
	for (size_t i = 0; i < parts.count; i++) {
		check_part(&parts.list[i]);
		covered += parts.list[i].size;
	}
	fuzz_require(parts.count == 0 || covered == file->size);
	dw_category_parts_free(&parts);
}

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	fuzz_use(message, strlen(message));
}

/* The same for all inputs: a context reads the limits of the control group when it is made, which
 * takes ten times as long as the parsers. */
struct shared {
	dwarfs_context *context;
	dwarfs_builder *builder;
	struct categorizers *categorizers;
};

static const struct shared *get_shared(void)
{
	static struct shared shared;

	if (shared.categorizers)
		return &shared;
	fuzz_require(dwarfs_context_new(&shared.context, NULL) == 0);
	fuzz_require(dwarfs_context_set_log(shared.context, DWARFS_LOG_TRACE, on_log,
					    NULL, NULL) == 0);
	fuzz_require(dwarfs_builder_new(shared.context, &shared.builder, NULL) == 0);
	fuzz_require(dwarfs_builder_set_categorizers(shared.builder,
						     "fits,pcmaudio,binary", NULL) == 0);
	fuzz_require(dw_categorizers_new(&shared.builder->options, &shared.categorizers,
					 NULL) == 0);
	return &shared;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct shared *shared = get_shared();
	struct input_file input_file = INPUT_FILE_NONE;
	struct category_file file = { .path = "file",
				      .size = size,
				      .input_file = &input_file };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint8_t *head;

	if (size == 0 || fd < 0 || write(fd, data, size) != (ssize_t)size) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	input_file.fd = fd;
	file.head.size = size > CATEGORY_HEAD_BYTES && data[size - 1] & 1
				 ? CATEGORY_HEAD_BYTES
				 : size;
	head = dw_malloc(
		file.head.size); /* exact size, so that reading past it is detected */
	if (head) {
		memcpy(head, data, file.head.size);
		file.head.data = head;
		run(shared->categorizers, shared->context, &file);
	}
	dw_free(head);
	close(fd);
	return 0;
}
