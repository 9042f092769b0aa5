/* SPDX-License-Identifier: MIT */
/*
 * write/options/levels: what each compression level chooses.
 *
 * A level is one row of a table: block size, codecs, order and matching. Overrides by the
 * user are applied afterwards, by settings.c.
 */
#include "write/categorize/categorize.h"
#include "write/options/levels.h"
#include "write/order/order.h"
#include "write/pack/block_sample.h"

/* Codecs from best to worst: the first one that is built in is used. */
struct codec_chain {
	const char *names[5];
};

static const struct codec_chain null_chain = { { "null" } };
static const struct codec_chain schema_chain = { { "zstd:level=16", "lzma:level=6",
						   "null" } };
static const struct codec_chain ricepp_chain = { { "ricepp", "zstd:level=8", "null" } };

/* zstd 19 with tables for a whole block of 16 MiB: within 0.3 % of level 22 in size, at
 * half of its time and three tenths of its memory. A larger hash table or more searches
 * gain less than 0.1 %. */
#define ZSTD_BEST "zstd:level=19:wlog=24:clog=24:hlog=21:slog=5"

/* Metadata of more than 8 MiB takes 64 MiB less memory than with the hash table of level 22, and the
 * same bytes: 8.4 MB of metadata 232 instead of 297 MiB. For less metadata, both tables are equally
 * large, or differ by less than 1 MiB. */
#define ZSTD_METADATA "zstd:level=22:adapt:hlog=24"
#define LZMA_METADATA "lzma:level=9:adapt"

/* lzma gains 1 % on text from following matches of up to 128 bytes to the end, another
 * 1 % from 273, and 8 % on logs; the last takes up to three times as long. */
#define LZMA_GOOD "lzma:level=9:binary=auto:nice=128:adapt"
#define LZMA_BEST "lzma:level=9:binary=auto:nice=273:adapt"

/* Finds long matches only, fast and in little memory. Random data in hexadecimal digits, base64,
 * decimal digits and four letters, normally distributed bytes and doubles take 0.998 to 1.001 of
 * the size by ZSTD_BEST and a third to a fifteenth of its time. */
#define ZSTD_LITERALS "zstd:level=19:wlog=24:clog=19:hlog=19:slog=2:mml=6"

/* For blocks that compress very well, 15 % smaller than the best zstd in less than half of its
 * time, and for numbers and pixels. It is decompressed in parts of 2 MiB, which makes logs 0.3 %
 * larger than one part would; block_packer.c finds the blocks for which that is too much. The
 * section hash makes the check in the stream unnecessary, which would take 7 % of the time of
 * decompression. */
#define LZMA_DENSE "lzma:level=6:block_size=21:check=none:adapt"

/* Parts small enough for a small cache and the memory of an lzma decoder. */
#define LZMA_BEST_DENSE LZMA_BEST ":block_size=23:check=none"

/* Matches of at least so many samples. Eight edits of a recording of 4.4 MB take 7.1 MB at level 7
 * with matches of 2^20 samples, 3.6 MB with 2^16, 2.5 MB with 2^12 and 2.4 MB with 2^10; sounds of
 * instruments 18.4, 17.9, 17.4 and 17.3 MB, in less time, as less is left for flac. */
#define SAMPLE_WINDOW_BITS 10
#define SAMPLE_STEP_BITS   2

/*
 * The shortest match has 2^window_bits bytes. With 2^7 instead of 2^8, image sizes at level 7 are 0.95
 * (near-equal texts that differ in many places), 0.98 (file systems and scripts), and at most 1.002; at
 * level 3, 0.78 to 1. Packing takes as long as before, and up to 1.7 times the memory. With one anchor
 * in 2^7 bytes instead of 2^6, at most half of that is gained, and nothing of some sets. With lzma,
 * sizes are 0.997 to 1.018. The index takes 52 MiB for each 256 MiB with an anchor in 2^6 bytes.
 */
struct level_defaults {
	uint32_t block_bits;
	struct codec_chain blocks, metadata, waveform;
	const char *dense; /* codec for blocks that it makes clearly smaller, or NULL */
	bool dense_has_numbers;	    /* of these, also numbers */
	const char *literal;	    /* codec for blocks with few repeats, or NULL */
	const char *dense_metadata; /* tried besides the codec for metadata, or NULL */
	const char *order;
	uint32_t window_bits, step_bits;
};

static const struct level_defaults levels[DW_MAX_LEVEL + 1] = {
	[0] = {
		.block_bits = 20,
		.blocks = { { "null" } },
		.metadata = { { "null" } },
		.waveform = { { "null" } },
		.order = "none",
	},
	[1] = {
		.block_bits = 20,
		.blocks = { { "lz4", "zstd:level=1", "lzma:level=1", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "path",
	},
	[2] = {
		.block_bits = 20,
		.blocks = { { "lz4hc:level=9", "zstd:level=4", "lzma:level=2", "null" } },
		.metadata = { { "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "path",
	},
	[3] = {
		.block_bits = 21,
		.blocks = { { "lz4hc:level=9", "zstd:level=7", "lzma:level=3", "null" } },
		.metadata = { { "zstd:level=7", "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "auto",
		.window_bits = 7,
		.step_bits = 1,
	},
	[4] = {
		.block_bits = 22,
		.blocks = { { "zstd:level=11", "lzma:level=3", "lz4hc:level=9", "null" } },
		.metadata = { { "zstd:level=11", "null" } },
		.waveform = { { "flac:level=3", "zstd:level=3", "null" } },
		.order = "auto",
		.window_bits = 7,
		.step_bits = 1,
	},
	[5] = {
		.block_bits = 23,
		.blocks = { { "zstd:level=19", "lzma:level=4", "lz4hc:level=9", "null" } },
		.dense = LZMA_DENSE,
		.literal = ZSTD_LITERALS,
		.metadata = { { "zstd:level=19:adapt", "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 7,
		.step_bits = 1,
	},
	[6] = {
		.block_bits = 24,
		.blocks = { { ZSTD_BEST, "lzma:level=5", "lz4hc:level=9", "null" } },
		.dense = LZMA_DENSE,
		.dense_has_numbers = true,
		.literal = ZSTD_LITERALS,
		.metadata = { { ZSTD_METADATA, "null" } },
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 7,
		.step_bits = 1,
	},
	[7] = {
		.block_bits = 24,
		.blocks = { { ZSTD_BEST, "lzma:level=8", "lz4hc:level=9", "null" } },
		.dense = LZMA_DENSE,
		.dense_has_numbers = true,
		.literal = ZSTD_LITERALS,
		.metadata = { { ZSTD_METADATA, LZMA_METADATA, "null" } },
		.dense_metadata = LZMA_METADATA,
		.waveform = { { "flac:level=5", "zstd:level=5", "null" } },
		.order = "auto",
		.window_bits = 7,
		.step_bits = 1,
	},
	[8] = {
		.block_bits = 24,
		.blocks = { { LZMA_GOOD, "zstd:level=22", "lz4hc:level=9", "null" } },
		.dense = LZMA_BEST,
		.dense_has_numbers = true, /* in trials, where the codec is zstd */
		.literal = ZSTD_LITERALS,
		.metadata = { { LZMA_METADATA, "zstd:level=22:adapt", "null" } },
		.waveform = { { "flac:level=8", "zstd:level=8", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 2,
	},
	[9] = {
		.block_bits = 26,
		.blocks = { { LZMA_BEST, "zstd:level=22", "lz4hc:level=9", "null" } },
		.dense = LZMA_BEST_DENSE,
		.dense_has_numbers = true, /* in trials, where the codec is zstd */
		.literal = ZSTD_LITERALS,
		.metadata = { { LZMA_METADATA, "zstd:level=22:adapt", "null" } },
		.waveform = { { "flac:level=8", "zstd:level=8", "null" } },
		.order = "auto",
		.window_bits = 8,
		.step_bits = 2,
	},
};

/* The text of the codec and its meaning. Every chain ends with null, which always is. */
static const char *first_built_in(const struct codec_chain *chain,
				  struct codec_spec *spec_out)
{
	*spec_out = (struct codec_spec){ .id = CODEC_NONE };
	for (size_t i = 0; chain->names[i]; i++)
		if (dw_codec_parse(chain->names[i], spec_out, NULL) == 0)
			return chain->names[i];
	return NULL;
}

static const struct codec_chain *chain_of(uint32_t number, int use)
{
	if (use == DWARFS_CODEC_BLOCKS)
		return &levels[number].blocks;
	if (use == DWARFS_CODEC_METADATA)
		return &levels[number].metadata;
	return number ? &schema_chain : &null_chain;
}

/* The codec for dense blocks, which needs a codec to find them; NULL for none. */
static const char *dense_codec(uint32_t number, struct codec_spec *spec_out)
{
	const char *text = levels[number].dense;

	if (!text || !dw_has_fast_codec() || dw_codec_parse(text, spec_out, NULL) < 0)
		return NULL;
	return text;
}

/* The codec for blocks with few repeats; NULL for none. */
static const char *literal_codec(uint32_t number, struct codec_spec *spec_out)
{
	const char *text = levels[number].literal;

	return text && dw_codec_parse(text, spec_out, NULL) == 0 ? text : NULL;
}

uint32_t dw_level_block_bits(uint32_t number)
{
	return levels[number].block_bits;
}

struct codec_spec dw_level_codec(uint32_t number, int use)
{
	struct codec_spec spec;

	first_built_in(chain_of(number, use), &spec);
	return spec;
}

bool dw_level_dense_metadata(uint32_t number, struct codec_spec *spec_out)
{
	const char *text = levels[number].dense_metadata;

	return text && dw_codec_parse(text, spec_out, NULL) == 0;
}

/* -- the table, for programs: see <dwarfs/builder.h> --------------------------------- */

const char *dwarfs_level_text(uint32_t level, enum dwarfs_level_setting setting)
{
	struct codec_spec spec;

	if (level > DW_MAX_LEVEL)
		return NULL;
	switch (setting) {
	case DWARFS_LEVEL_BLOCKS:
		return first_built_in(chain_of(level, DWARFS_CODEC_BLOCKS), &spec);
	case DWARFS_LEVEL_DENSE_BLOCKS:
		return dense_codec(level, &spec);
	case DWARFS_LEVEL_LITERAL_BLOCKS:
		return literal_codec(level, &spec);
	case DWARFS_LEVEL_METADATA:
		return first_built_in(chain_of(level, DWARFS_CODEC_METADATA), &spec);
	case DWARFS_LEVEL_SCHEMA:
		return first_built_in(chain_of(level, DWARFS_CODEC_SCHEMA), &spec);
	case DWARFS_LEVEL_HISTORY:
		return first_built_in(chain_of(level, DWARFS_CODEC_HISTORY), &spec);
	case DWARFS_LEVEL_ORDER:
		return levels[level].order;
	default:
		return NULL;
	}
}

uint32_t dwarfs_level_number(uint32_t level, enum dwarfs_level_setting setting)
{
	if (level > DW_MAX_LEVEL)
		return 0;
	switch (setting) {
	case DWARFS_LEVEL_BLOCK_BITS:
		return levels[level].block_bits;
	case DWARFS_LEVEL_WINDOW:
		return levels[level].window_bits;
	case DWARFS_LEVEL_WINDOW_STEP:
		return levels[level].step_bits;
	default:
		return 0;
	}
}

/* -- applied by settings.c ----------------------------------------------------------- */

void dw_level_apply(uint32_t number, struct stream_settings *settings)
{
	const struct level_defaults *level = &levels[number];

	settings->window_bits = level->window_bits;
	settings->step_bits = level->step_bits;
	settings->has_dense = dense_codec(number, &settings->dense) != NULL;
	settings->dense_has_numbers = settings->has_dense && level->dense_has_numbers;
	settings->has_literal = literal_codec(number, &settings->literal) != NULL;
	/* An order of a level has no options, so it owns nothing. */
	(void)dw_order_parse(level->order, &settings->order, NULL);
}

/* Of audio and images, in samples; other window sizes are of bytes. */
static void use_sample_window(const struct level_defaults *level,
			      struct stream_settings *settings)
{
	if (level->window_bits == 0)
		return;
	settings->window_bits = SAMPLE_WINDOW_BITS;
	settings->step_bits = SAMPLE_STEP_BITS;
}

void dw_level_apply_category(uint32_t number, uint32_t category,
			     struct stream_settings *settings)
{
	const struct level_defaults *level = &levels[number];

	if (category == CATEGORY_INCOMPRESSIBLE) {
		settings->codec = (struct codec_spec){ .id = CODEC_NONE };
		dw_use_one_codec(settings);
	}
	if (category == CATEGORY_HOTNESS)
		settings->order = (struct order_spec){ .ops = &dw_order_hotness };
	if (number == 0)
		return;
	if (category == CATEGORY_PCM_WAVEFORM) {
		first_built_in(&level->waveform, &settings->codec);
		dw_use_one_codec(settings);
		settings->falls_back =
			dw_codec_samples(settings->codec.id) && dw_has_fast_codec();
		settings->order = (struct order_spec){ .ops = &dw_order_revpath };
		use_sample_window(level, settings);
	}
	if (category == CATEGORY_FITS_IMAGE) {
		first_built_in(&ricepp_chain, &settings->codec);
		dw_use_one_codec(settings);
		settings->order = (struct order_spec){ .ops = &dw_order_revpath };
		use_sample_window(level, settings);
	}
}
