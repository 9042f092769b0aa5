/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/incompressible: data that a good compressor would not make smaller.
 *
 * Compresses with a fast codec. Such a codec does not encode literals by their frequency, as
 * stronger ones do, so the entropy of the bytes counts, too: base64 and the numbers of a
 * neural network have no repeats, but shrink. Compressible data is recognized after the first
 * pieces; of large data that does not shrink, samples decide. Codecs and buffers (struct probe)
 * are taken from a free list with a lock, one for each worker that needs one.
 */
#include <pthread.h>
#include <string.h>

#include "base/entropy.h"
#include "write/categorize/ops.h"

/*
 * A range is sampled in evenly spaced pieces; a range up to the size of all pieces is
 * tested completely, in blocks of the size of the options.
 */
#define FILE_PIECE_BYTES  ((uint64_t)128 << 10)
#define FILE_PIECES	  16
#define BLOCK_PIECE_BYTES ((uint64_t)64 << 10) /* of a block, with fragments */
#define BLOCK_PIECES	  4
#define PIECE_ALIGNMENT	  UINT64_C(4096)

#define FIRST_BYTES ((uint64_t)32 << 10) /* tested first */

/* The size of a table of code lengths, and what the entropy of random bytes is below their
 * number as not all values are equally frequent by chance; for the bytes of one table. */
#define TABLE_BYTES 160
#define CODED_BYTES ((uint64_t)128 << 10)

/* Files too short for a fast compressor to shrink. */
#define SHORT_BYTES 4096

struct probe {
	struct probe *next;
	struct codec *codec;
	struct buffer in, out;
};

/* Unused probes, at most one for each worker. */
struct probes {
	pthread_mutex_t lock;
	struct probe *free;
	struct codec_spec spec;
	uint64_t block_bytes, min_bytes;
	double shrinkage; /* share of bytes saved that makes data compressible */
	bool fragments;
};

struct probed_range {
	uint64_t start, size;
	uint64_t piece; /* bytes */
	uint64_t count; /* of pieces */
};

static uint64_t min_bytes_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -- probes -------------------------------------------------------------------------- */

static void probe_free(struct probe *probe)
{
	if (!probe)
		return;
	dw_codec_free(probe->codec);
	dw_buffer_free(&probe->in);
	dw_buffer_free(&probe->out);
	dw_free(probe);
}
DW_DEFINE_AUTO(probe, struct probe *, probe_free)
#define auto_probe DW_AUTO(probe)

/* Choose a fast codec. False if none is built in. */
static bool find_codec(int level, struct codec_spec *spec_out)
{
	if (dw_codec_parse("zstd", spec_out, NULL) == 0) {
		spec_out->level = level;
		return true;
	}
	return dw_codec_parse("lz4", spec_out, NULL) == 0;
}

static const char *missing_codec(void)
{
	struct codec_spec spec;

	return find_codec(1, &spec) ? NULL : "neither zstd nor lz4 is built in";
}

int dw_probes_new(const struct categorize_options *options, struct probes **probes_out,
		  dwarfs_error **err)
{
	struct codec_spec spec;
	struct probes *probes;

	if (!find_codec(options->zstd_level, &spec))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "incompressible: %s",
			       missing_codec());
	probes = dw_calloc(1, sizeof(*probes));
	if (!probes)
		return dw_fail_nomem(err);
	pthread_mutex_init(&probes->lock, NULL);
	probes->spec = spec;
	probes->block_bytes = options->probe_bytes;
	probes->min_bytes = options->min_input_bytes;
	probes->shrinkage = 1 - options->ratio;
	probes->fragments = options->fragments;
	*probes_out = probes;
	return 0;
}

void dw_probes_free(struct probes *probes)
{
	struct probe *next;

	if (!probes)
		return;
	for (struct probe *probe = probes->free; probe; probe = next) {
		next = probe->next;
		probe_free(probe);
	}
	pthread_mutex_destroy(&probes->lock);
	dw_free(probes);
}

/* The largest piece. */
static uint64_t most_bytes(uint64_t block_bytes)
{
	return min_bytes_of(block_bytes, FILE_PIECES * FILE_PIECE_BYTES);
}

uint64_t dw_probe_memory(const struct categorize_options *options)
{
	uint64_t bytes = most_bytes(options->probe_bytes);
	struct codec_spec spec;

	if (!find_codec(options->zstd_level, &spec))
		return 0;
	return 2 * bytes + dw_codec_memory(&spec, (size_t)bytes);
}

static int take_probe(struct probes *probes, struct probe **probe_out, dwarfs_error **err)
{
	auto_probe struct probe *probe = NULL;
	uint64_t bytes = most_bytes(probes->block_bytes);
	int ret;

	pthread_mutex_lock(&probes->lock);
	probe = probes->free;
	if (probe)
		probes->free = probe->next;
	pthread_mutex_unlock(&probes->lock);
	if (!probe) {
		probe = dw_calloc(1, sizeof(*probe));
		if (!probe)
			return dw_fail_nomem(err);
		ret = dw_codec_new(&probes->spec, (size_t)bytes, &probe->codec, err);
		if (ret < 0)
			return ret;
	}
	*probe_out = dw_steal(probe);
	return 0;
}

static void give_probe(struct probes *probes, struct probe *probe)
{
	pthread_mutex_lock(&probes->lock);
	probe->next = probes->free;
	probes->free = probe;
	pthread_mutex_unlock(&probes->lock);
}

/* -- trying -------------------------------------------------------------------------- */

/* Read a piece, without a copy if it is in head. */
static int load_piece(struct probe *probe, const struct category_file *file,
		      uint64_t start, uint64_t size, struct span *piece_out,
		      dwarfs_error **err)
{
	size_t got;
	int ret;

	if (start <= file->head.size && size <= file->head.size - start) {
		*piece_out = (struct span){ file->head.data + start, (size_t)size };
		return 0;
	}
	probe->in.size = 0;
	if ((ret = dw_buffer_reserve(&probe->in, (size_t)size, err)) < 0 ||
	    (ret = dw_category_read(file, start, probe->in.data, (size_t)size, &got,
				    err)) < 0)
		return ret;
	*piece_out = (struct span){ probe->in.data, got };
	return 0;
}

/* What a code that depends on the frequency of bytes saves. */
static uint64_t saved_by_frequency(struct span piece)
{
	uint64_t tables = (piece.size + CODED_BYTES - 1) / CODED_BYTES;
	uint64_t coded = dw_entropy_bytes(piece) + tables * TABLE_BYTES;

	return coded < piece.size ? piece.size - coded : 0;
}

/* Add the bytes that compressing a piece saves to *saved. */
static int try_piece(const struct probes *probes, struct probe *probe,
		     const struct category_file *file, uint64_t start, uint64_t size,
		     uint64_t *saved, dwarfs_error **err)
{
	uint64_t by_codec, by_frequency = 0;
	struct span piece;
	uint32_t id;
	int ret;

	if ((ret = load_piece(probe, file, start, size, &piece, err)) < 0)
		return ret;
	probe->out.size = 0;
	if ((ret = dw_codec_pack(probe->codec, piece, &probe->out, &id, err)) < 0)
		return ret;
	by_codec = id == CODEC_NONE ? 0 : piece.size - probe->out.size;
	if ((double)by_codec <= probes->shrinkage * (double)piece.size)
		by_frequency = saved_by_frequency(piece);
	*saved += by_codec > by_frequency ? by_codec : by_frequency;
	return 0;
}

static struct probed_range whole_range(uint64_t start, uint64_t size, uint64_t block)
{
	block = most_bytes(block);
	return (struct probed_range){ start, size, block, (size + block - 1) / block };
}

static struct probed_range file_range(uint64_t size, uint64_t block)
{
	if (size <= FILE_PIECES * FILE_PIECE_BYTES)
		return whole_range(0, size, block);
	return (struct probed_range){ 0, size, min_bytes_of(FILE_PIECE_BYTES, block),
				      FILE_PIECES };
}

static struct probed_range block_range(uint64_t start, uint64_t size, uint64_t block)
{
	if (size <= BLOCK_PIECES * BLOCK_PIECE_BYTES)
		return whole_range(start, size, block);
	return (struct probed_range){ start, size, BLOCK_PIECE_BYTES, BLOCK_PIECES };
}

/* Offset of piece i: the first one is at the start, the last one at the end of the
 * range. */
static uint64_t piece_offset(const struct probed_range *range, uint64_t i)
{
	uint64_t spread = range->size - min_bytes_of(range->piece, range->size), at;

	if (range->count * range->piece >= range->size)
		return range->start + i * range->piece;
	at = spread / (range->count - 1) * i;
	return range->start +
	       (i == range->count - 1 ? spread : at - at % PIECE_ALIGNMENT);
}

static int try_range(const struct probes *probes, struct probe *probe,
		     const struct category_file *file, const struct probed_range *range,
		     bool *shrinks_out, dwarfs_error **err)
{
	uint64_t tested = min_bytes_of(range->size, range->count * range->piece);
	double enough = probes->shrinkage * (double)tested;
	uint64_t end = range->start + range->size, saved = 0, start;
	int ret;

	*shrinks_out = false;
	if (range->piece > FIRST_BYTES && range->size > FIRST_BYTES) {
		ret = try_piece(probes, probe, file, range->start, FIRST_BYTES, &saved,
				err);
		if (ret < 0)
			return ret;
		*shrinks_out = (double)saved > enough;
		saved = 0;
	}
	for (uint64_t i = 0; i < range->count && !*shrinks_out; i++) {
		start = piece_offset(range, i);
		ret = try_piece(probes, probe, file, start,
				min_bytes_of(range->piece, end - start), &saved, err);
		if (ret < 0)
			return ret;
		*shrinks_out = (double)saved > enough;
	}
	return 0;
}

/*
 * Short text does not shrink by itself, but does within a block. In random bytes, equal
 * pairs are as frequent as 256 values make them; in other data more frequent.
 */
static bool looks_random(struct span bytes)
{
	uint32_t counts[256] = { 0 };
	uint64_t pairs = 0;

	for (size_t i = 0; i < bytes.size; i++)
		pairs += counts[bytes.data[i]]++;
	return 256 * pairs < (uint64_t)bytes.size * bytes.size * 3 / 4;
}

/* -- parts --------------------------------------------------------------------------- */

static int add_whole(const struct probes *probes, struct probe *probe,
		     const struct category_file *file, struct category_parts *parts,
		     dwarfs_error **err)
{
	struct probed_range range = file_range(file->size, probes->block_bytes);
	bool shrinks;
	int ret = try_range(probes, probe, file, &range, &shrinks, err);

	if (ret < 0 || shrinks)
		return ret;
	return dw_parts_add(parts, CATEGORY_INCOMPRESSIBLE, 0, file->size, err);
}

/* A last block below the minimum size gets the category of the block before it. */
static int add_block_parts(const struct probes *probes, struct probe *probe,
			   const struct category_file *file, struct category_parts *parts,
			   dwarfs_error **err)
{
	uint64_t size, at = 0;
	bool shrinks = true, any = false;
	int ret;

	for (; at < file->size; at += size) {
		size = min_bytes_of(probes->block_bytes, file->size - at);
		if (size >= probes->min_bytes) {
			struct probed_range range =
				block_range(at, size, probes->block_bytes);

			if ((ret = try_range(probes, probe, file, &range, &shrinks,
					     err)) < 0)
				return ret;
		}
		any = any || !shrinks;
		if ((ret = dw_parts_add(
			     parts, shrinks ? CATEGORY_DEFAULT : CATEGORY_INCOMPRESSIBLE,
			     0, size, err)) < 0)
			return ret;
	}
	if (!any)
		dw_category_parts_free(parts);
	return 0;
}

static int categorize_incompressible(const struct categorizers *all,
				     dwarfs_context *context,
				     const struct category_file *file,
				     struct category_parts *parts, dwarfs_error **err)
{
	struct probes *probes = all->probes;
	auto_probe struct probe *probe = NULL;
	int ret;

	if (file->size < probes->min_bytes ||
	    (file->size < SHORT_BYTES && file->head.size == file->size &&
	     !looks_random(file->head)))
		return 0;
	if ((ret = take_probe(probes, &probe, err)) < 0)
		return ret;
	ret = probes->fragments ? add_block_parts(probes, probe, file, parts, err)
				: add_whole(probes, probe, file, parts, err);
	if (ret == 0)
		give_probe(probes, dw_steal(probe));
	return ret;
}

const struct categorizer_ops dw_categorizer_incompressible = {
	.name = "incompressible",
	.missing = missing_codec,
	.categorize = categorize_incompressible,
};
