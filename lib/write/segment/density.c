/* SPDX-License-Identifier: MIT */
/*
 * write/segment/density: estimate how well the new bytes of a stream compress.
 *
 * Each sample is compressed on its own, so that repeats of stored bytes do not count.
 */
#include <string.h>

#include "os/file_io.h"
#include "write/input/source.h"
#include "write/segment/density.h"

#define SAMPLES	     16
#define SAMPLE_BYTES ((size_t)32 << 10)

/* Without a codec: about that of text. */
#define USUAL_DENSITY (DENSITY_UNIT / 4)

struct sampling {
	struct build_run *run;
	const struct tree *tree;
	const struct contents *contents;
	const uint32_t *numbers; /* of the fragments */
	size_t count;
	struct codec *codec;
	uint8_t *bytes;
	struct buffer packed;
	uint64_t in_bytes, packed_bytes;
};

static void free_sampling(struct sampling *sampling)
{
	dw_codec_free(sampling->codec);
	dw_buffer_free(&sampling->packed);
	dw_free(sampling->bytes);
}

static int open_codec(struct codec **codec_out, dwarfs_error **err)
{
	static const char *const names[] = { "zstd:level=1", "lz4", "lzma:level=0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct codec_spec spec;

		if (dw_codec_parse(names[i], &spec, NULL) == 0)
			return dw_codec_new(&spec, SAMPLE_BYTES, codec_out, err);
	}
	*codec_out = NULL;
	return 0;
}

/* Fill a sample with bytes of fragments, starting at one. What cannot be read is omitted. */
static int fill_sample(const struct sampling *sampling, size_t at, size_t *bytes_out,
		       dwarfs_error **err)
{
	size_t filled = 0;

	for (; at < sampling->count && filled < SAMPLE_BYTES; at++) {
		const struct fragment *fragment =
			&sampling->contents->fragments[sampling->numbers[at]];
		size_t want = SAMPLE_BYTES - filled;
		int64_t got;

		if (want > fragment->size)
			want = (size_t)fragment->size;
		got = dw_source_peek(sampling->run, sampling->tree, sampling->contents,
				     fragment->content, sampling->bytes + filled, want,
				     fragment->offset + (fragment->size - want) / 2);
		if (got < 0 && dw_fd_is_exhausted((int)-got))
			return dw_fail_errno(err, (int)-got, "cannot read the input");
		if (got > 0)
			filled += (size_t)got;
	}
	*bytes_out = filled;
	return 0;
}

static int add_sample(struct sampling *sampling, size_t at, dwarfs_error **err)
{
	struct span bytes = { sampling->bytes, 0 };
	uint32_t id;
	int ret = fill_sample(sampling, at, &bytes.size, err);

	if (ret < 0 || bytes.size == 0)
		return ret;
	sampling->packed.size = 0;
	ret = dw_codec_pack(sampling->codec, bytes, &sampling->packed, &id, err);
	if (ret < 0)
		return ret;
	sampling->in_bytes += bytes.size;
	sampling->packed_bytes += id == CODEC_NONE ? bytes.size : sampling->packed.size;
	return 0;
}

/* Samples are at even distances by bytes. */
static int add_samples(struct sampling *sampling, dwarfs_error **err)
{
	uint64_t total = 0, passed = 0, due = 0;
	int ret;

	for (size_t i = 0; i < sampling->count; i++)
		total += sampling->contents->fragments[sampling->numbers[i]].size;
	for (size_t i = 0; i < sampling->count; i++) {
		passed += sampling->contents->fragments[sampling->numbers[i]].size;
		if (passed <= due)
			continue;
		if ((ret = add_sample(sampling, i, err)) < 0)
			return ret;
		while (due < passed)
			due += total / SAMPLES + 1;
	}
	return 0;
}

int dw_density(struct build_run *run, const struct tree *tree,
	       const struct contents *contents, const uint32_t *numbers, size_t count,
	       uint32_t *density_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_sampling))) struct sampling sampling = {
		.run = run,
		.tree = tree,
		.contents = contents,
		.numbers = numbers,
		.count = count,
	};
	int ret;

	*density_out = USUAL_DENSITY;
	if (!(sampling.bytes = dw_malloc(SAMPLE_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = open_codec(&sampling.codec, err)) < 0 || !sampling.codec)
		return ret;
	if ((ret = add_samples(&sampling, err)) < 0)
		return ret;
	if (sampling.in_bytes > 0)
		*density_out = (uint32_t)(sampling.packed_bytes * DENSITY_UNIT /
					  sampling.in_bytes) +
			       1;
	if (*density_out > DENSITY_UNIT)
		*density_out = DENSITY_UNIT;
	return 0;
}

int dw_group_density(struct build_run *run, const struct tree *tree,
		     const struct contents *contents, const uint32_t *numbers,
		     size_t count, uint32_t group, uint32_t *density_out,
		     dwarfs_error **err)
{
	auto_free uint32_t *members = NULL;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += contents->fragments[numbers[i]].group == group;
	if (used == count)
		return dw_density(run, tree, contents, numbers, count, density_out, err);
	if (!(members = dw_calloc(used + 1, sizeof(*members))))
		return dw_fail_nomem(err);
	used = 0;
	for (size_t i = 0; i < count; i++)
		if (contents->fragments[numbers[i]].group == group)
			members[used++] = numbers[i];
	return dw_density(run, tree, contents, members, used, density_out, err);
}
