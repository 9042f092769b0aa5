/* SPDX-License-Identifier: MIT */
/*
 * write/order/unrelated/part_samples: which short runs of bytes are in samples of directories.
 */
#include "base/bytes.h"
#include "os/file_io.h"
#include "write/input/source.h"
#include "write/order/unrelated/part_samples.h"

/* Bytes of a run, of which one in RUNS_PER_KEPT is kept. Its bytes alone decide, so an equal run is kept
 * in every part that has it. */
#define RUN_BYTES     12
#define RUNS_PER_KEPT 16

/* How far sampling a part has come. */
struct progress_of_part {
	uint64_t passed, due;
};

struct sampling {
	const struct order_input *input;
	struct part_sample *samples;
	uint8_t bytes[PART_SAMPLE_BYTES];
};

static uint32_t hash_run(const uint8_t *at)
{
	uint64_t product = (dw_load64(at) ^ UINT64_C(0x8CB92BA72F3D8DD7)) *
			   UINT64_C(0x9E3779B97F4A7C15);

	product ^= (dw_load32(at + 8) + UINT64_C(1)) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return (uint32_t)((product ^ product >> 31) * UINT64_C(0xD6E8FEB86659FD93) >> 32);
}

static int add_runs(struct part_sample *sample, const uint8_t *bytes, size_t size,
		    dwarfs_error **err)
{
	int ret;

	for (size_t i = 0; i + RUN_BYTES <= size; i++) {
		uint32_t run = hash_run(bytes + i);

		if (run % RUNS_PER_KEPT != 0)
			continue;
		if ((ret = dw_grow(&sample->runs, &sample->room, sample->count + 1,
				   err)) < 0)
			return ret;
		sample->runs[sample->count++] = run;
	}
	return 0;
}

static int add_piece(struct sampling *sampling, uint32_t number, uint32_t part,
		     uint64_t offset, dwarfs_error **err)
{
	const struct order_input *input = sampling->input;
	const struct fragment *fragment = &input->contents->fragments[number];
	uint64_t left = fragment->size - offset;
	size_t want = left < PART_SAMPLE_BYTES ? (size_t)left : PART_SAMPLE_BYTES;
	int64_t got = dw_source_peek(input->run, input->tree, input->contents,
				     fragment->content, sampling->bytes, want,
				     fragment->offset + offset);

	if (got < 0)
		return dw_fd_is_exhausted((int)-got)
			       ? dw_fail_errno(err, (int)-got, "cannot read the input")
			       : 0;
	return add_runs(&sampling->samples[part], sampling->bytes, (size_t)got, err);
}

static int compare_runs(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static void sort_runs(struct part_sample *sample)
{
	size_t used = 0;

	if (sample->count == 0)
		return;
	qsort(sample->runs, sample->count, sizeof(sample->runs[0]), compare_runs);
	for (size_t i = 0; i < sample->count; i++)
		if (i == 0 || sample->runs[i] != sample->runs[i - 1])
			sample->runs[used++] = sample->runs[i];
	sample->count = used;
}

int dw_part_samples_take(const struct order_input *input, const uint32_t *numbers,
			 const uint32_t *part_of, size_t count,
			 const uint64_t *part_bytes, struct part_sample *samples,
			 size_t part_count, dwarfs_error **err)
{
	auto_free struct sampling *sampling = dw_calloc(1, sizeof(*sampling));
	auto_free struct progress_of_part *parts = dw_calloc(part_count, sizeof(*parts));
	int ret;

	if (!sampling || !parts)
		return dw_fail_nomem(err);
	*sampling = (struct sampling){ .input = input, .samples = samples };
	for (size_t i = 0; i < count; i++) {
		struct progress_of_part *part = &parts[part_of[i]];
		uint64_t start = part->passed;

		part->passed += input->contents->fragments[numbers[i]].size;
		while (part->due < part->passed) {
			if ((ret = add_piece(sampling, numbers[i], part_of[i],
					     part->due - start, err)) < 0)
				return ret;
			part->due += part_bytes[part_of[i]] / PART_SAMPLES + 1;
		}
	}
	for (size_t i = 0; i < part_count; i++)
		sort_runs(&samples[i]);
	return 0;
}

void dw_part_samples_free(struct part_sample *samples, size_t part_count)
{
	for (size_t i = 0; i < part_count; i++)
		dw_free(samples[i].runs);
}

size_t dw_part_samples_common(const struct part_sample *a, const struct part_sample *b)
{
	size_t common = 0;

	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		uint32_t first = a->runs[i], second = b->runs[j];

		common += first == second;
		i += first <= second;
		j += second <= first;
	}
	return common;
}
