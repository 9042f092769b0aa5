/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/metadata_codec: whether the tables of the metadata are compressed, and by what.
 */
#include <inttypes.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "write/budget/budget.h"
#include "write/items/assembly.h"
#include "write/metadata/metadata_codec.h"

/*
 * Default for metadata: store it uncompressed, so that an image opens without
 * decompressing, where the image would not get noticeably smaller.
 *
 * Opening takes 1.6 ms longer with 0.8 MB that zstd 22 has compressed, and 16 ms with
 * 0.9 MB by lzma; six releases of pandas at levels 7 and 9 are 0.6 and 0.8 % smaller. At level 5, 24
 * releases of a framework and 16 of a compiler are 13 and 15 % smaller, and open 1.4 and 2.2 ms later.
 */
#define LEAST_METADATA_SHARE 1000 /* one part in; up to QUICK_METADATA_BYTES */
#define SMALL_METADATA_SHARE 50
#define LARGE_METADATA_SHARE 20 /* above LARGE_METADATA_BYTES */
#define QUICK_METADATA_BYTES ((uint64_t)1 << 20)
#define LARGE_METADATA_BYTES ((uint64_t)8 << 20)

/*
 * The entries of a directory have numbers that grow, of which only the differences repeat: lzma
 * packs these, and zstd cannot, but lzma takes longer to decompress. Five releases of icons, 52,592
 * files, are 1,200,613 bytes at level 7 with metadata by zstd, and 968,392 by lzma, and open in 0.7
 * and 5.4 ms. 24 releases of a framework, with 1.6 MB of tables, would be 3.7 % smaller, and open
 * in 29 instead of 2 ms. So a hundredth of the image must be saved, a twenty-fifth of it for each
 * MiB of tables, and a page of memory.
 */
#define LEAST_DENSER_SHARE   (SHARE_OF_ALL / 100)
#define DENSER_SHARE_PER_MIB (SHARE_OF_ALL / 25)
#define LEAST_DENSER_BYTES   4096

/* Metadata that was stored compressed stays compressed: an append, and most merges, are not
 * larger for the metadata than their inputs. */
static bool is_packed_in_input(const struct assembly *assembly)
{
	for (size_t i = 0; assembly && i < assembly->image_count; i++)
		if (!assembly->images[i]->is_base && assembly->images[i]->packs_metadata)
			return true;
	return false;
}

/* The least share, as one part in this of blocks and metadata, from which metadata of this
 * size is compressed. */
static unsigned least_share(uint64_t bytes)
{
	if (bytes <= QUICK_METADATA_BYTES)
		return LEAST_METADATA_SHARE;
	return bytes > LARGE_METADATA_BYTES ? LARGE_METADATA_SHARE : SMALL_METADATA_SHARE;
}

struct codec_spec dw_metadata_codec(const struct build_run *run, uint64_t bytes,
				    uint64_t section_bytes)
{
	const struct build_options *options = run->options;
	struct codec_spec codec = options->codecs[DWARFS_CODEC_METADATA];

	if (options->codec_was_set[DWARFS_CODEC_METADATA])
		return codec;
	if (!(bytes <= LARGE_METADATA_BYTES && is_packed_in_input(run->assembly)) &&
	    bytes * least_share(bytes) < section_bytes + bytes)
		codec = (struct codec_spec){ .id = CODEC_NONE };
	return codec;
}

const char *dw_metadata_section_name(uint32_t type)
{
	if (type == DWARFS_SECTION_XATTRS)
		return "the section of extended attributes";
	return type == DWARFS_SECTION_DIGESTS ? "the section of digests" : "metadata";
}

/* dw_budget_metadata_codec() reserves the tables twice: with half of them added, that is the tables
 * and both results. */
static bool has_memory(const struct build_run *run, const struct codec_spec *codec,
		       uint64_t bytes, uint64_t chunk_count)
{
	struct codec_spec shrunk = *codec;

	return dw_budget_metadata_codec(run->budget, chunk_count, bytes + bytes / 2,
					&shrunk) &&
	       dw_codec_memory(&shrunk, (size_t)bytes) ==
		       dw_codec_memory(codec, (size_t)bytes);
}

bool dw_denser_metadata_codec(const struct build_run *run, uint32_t type,
			      const struct codec_spec *codec, uint64_t bytes,
			      uint64_t chunk_count, struct denser_codec *denser_out)
{
	uint64_t share = (bytes >> 10) * DENSER_SHARE_PER_MIB >> 10;

	if (!run->options->has_dense_metadata || codec->id != CODEC_ZSTD ||
	    share >= SHARE_OF_ALL)
		return false;
	denser_out->codec = run->options->dense_metadata;
	if (!has_memory(run, &denser_out->codec, bytes, chunk_count)) {
		dw_log(run->context, DWARFS_LOG_VERBOSE,
		       "memory limit of %" PRIu64 " MiB: lzma is not tried for %s",
		       run->options->memory_limit >> 20, dw_metadata_section_name(type));
		return false;
	}
	denser_out->least_bytes = LEAST_DENSER_BYTES;
	denser_out->least_share =
		share > LEAST_DENSER_SHARE ? (uint32_t)share : LEAST_DENSER_SHARE;
	return true;
}
