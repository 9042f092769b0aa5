/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/zstd_encode: pack into one zstd frame with its content size, without a
 * checksum: sections have stronger ones.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_ZSTD

#include "base/bytes.h"
#include "codec/encode/ops.h"
#include "codec/zstd.h"

#define MIN_LEVEL	  (-131072)
#define MAX_LEVEL	  22
#define SLOW_FROM_LEVEL	  13
#define MEDIUM_FROM_LEVEL 7
#define MIN_WINDOW	  10
#define MAX_WINDOW	  27 /* maximum of streaming readers by default */
#define LONG_RATE	  7  /* log2 of bytes per entry in the table of long matches */
#define LONG_MATCH	  64
#define LONG_BUCKET	  3
#define STEP_BYTES	  1024 /* output between checks of the stop flag */
#define ESTIMATE_FAIL	  (UINT64_C(1) << 30)

/*
 * Metadata consists of tables of short records. zstd up to 1.5.5 makes such tables larger if it
 * may use matches of 3 bytes: the metadata of a tree of 142,637 files, 24 versions of one program,
 * is smaller by 11 % without them, and that of the same files in 24 appends by 6 %. Metadata of
 * less than 200 KB is larger by up to 20 % without them, and with zstd from 1.5.6 on all
 * metadata is. So both are tried on a sample, in pieces from all of the block.
 */
#define OTHER_MIN_MATCH 4
#define SAMPLE_PIECES	8
#define PIECE_BYTES	((size_t)32 << 10)
#define SAMPLE_BYTES	(SAMPLE_PIECES * PIECE_BYTES)

static int fail_encoding(size_t code, dwarfs_error **err)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return dw_fail_nomem(err);
	return dw_fail(err, DWARFS_ERR_RANGE, "%s", ZSTD_getErrorName(code));
}

/* -- parameters ---------------------------------------------------------------------- */

/* Options of a specification besides level and window. */
static const struct {
	ZSTD_cParameter id;
	size_t field;
} searches[] = {
	{ ZSTD_c_hashLog, DW_CODEC_FIELD(hash_log) },
	{ ZSTD_c_chainLog, DW_CODEC_FIELD(chain_log) },
	{ ZSTD_c_searchLog, DW_CODEC_FIELD(search_log) },
	{ ZSTD_c_minMatch, DW_CODEC_FIELD(min_match) },
	{ ZSTD_c_targetLength, DW_CODEC_FIELD(target_length) },
	{ ZSTD_c_strategy, DW_CODEC_FIELD(strategy) },
}, long_searches[] = {
	{ ZSTD_c_ldmHashLog, DW_CODEC_FIELD(long_hash_log) },
	{ ZSTD_c_ldmMinMatch, DW_CODEC_FIELD(long_min_match) },
	{ ZSTD_c_ldmBucketSizeLog, DW_CODEC_FIELD(long_bucket_log) },
	{ ZSTD_c_ldmHashRateLog, DW_CODEC_FIELD(long_rate_log) },
};

/* log2 of a window that covers the whole block, which costs nothing, as blocks are
 * packed in one piece. Windows larger than every reader accepts only on request. */
static int zstd_window_log(const struct codec_spec *spec, size_t block_bytes)
{
	int bits = block_bytes > 1 ? (int)dw_bit_length(block_bytes - 1) : 0;
	int most = spec->window_log	? spec->window_log
		   : spec->long_matches ? ZSTD_WINDOWLOG_MAX
					: MAX_WINDOW;

	if (bits < MIN_WINDOW)
		return MIN_WINDOW;
	return bits > most ? most : bits;
}

/* All parameters, as used for a whole block. */
static ZSTD_compressionParameters resolve(const struct codec_spec *spec,
					  size_t block_bytes)
{
	ZSTD_compressionParameters all = ZSTD_getCParams(spec->level, block_bytes, 0);

	all.windowLog = (unsigned)zstd_window_log(spec, block_bytes);
	if (spec->hash_log)
		all.hashLog = (unsigned)spec->hash_log;
	if (spec->chain_log)
		all.chainLog = (unsigned)spec->chain_log;
	if (spec->search_log)
		all.searchLog = (unsigned)spec->search_log;
	if (spec->min_match)
		all.minMatch = (unsigned)spec->min_match;
	if (spec->target_length)
		all.targetLength = (unsigned)spec->target_length;
	if (spec->strategy)
		all.strategy = (ZSTD_strategy)spec->strategy;
	return ZSTD_adjustCParams(all, block_bytes, 0);
}

/* 0 is left to zstd. */
static size_t set_parameter(ZSTD_CCtx_params *parameters, ZSTD_cParameter id,
			    struct codec_spec *spec, size_t field)
{
	int value = *dw_codec_number(spec, field);

	return value ? ZSTD_CCtxParams_setParameter(parameters, id, value) : 0;
}

/* zstd enables long matches if window and strategy are large enough. Sets their
 * parameters, as the estimate of memory needs them, with the defaults of zstd 1.5.4. */
static void set_long_defaults(struct codec_spec *spec, size_t block_bytes)
{
	ZSTD_compressionParameters all = resolve(spec, block_bytes);
	int window = (int)all.windowLog;

	if (all.strategy >= ZSTD_btopt && window >= MAX_WINDOW)
		spec->long_matches = true;
	if (!spec->long_matches)
		return;
	if (!spec->long_hash_log)
		spec->long_hash_log = window - LONG_RATE < 6 ? 6 : window - LONG_RATE;
	if (!spec->long_min_match)
		spec->long_min_match = LONG_MATCH;
	if (!spec->long_bucket_log)
		spec->long_bucket_log = LONG_BUCKET;
	if (spec->long_bucket_log > spec->long_hash_log)
		spec->long_bucket_log = spec->long_hash_log;
	if (!spec->long_rate_log && window > spec->long_hash_log)
		spec->long_rate_log = window - spec->long_hash_log;
}

static size_t set_parameters(ZSTD_CCtx_params *parameters, const struct codec_spec *spec,
			     size_t block_bytes)
{
	const size_t count = sizeof(searches) / sizeof(searches[0]);
	const size_t long_count = sizeof(long_searches) / sizeof(long_searches[0]);
	struct codec_spec full = *spec;
	size_t ret = ZSTD_CCtxParams_setParameter(parameters, ZSTD_c_compressionLevel,
						  spec->level);

	set_long_defaults(&full, block_bytes);
	if (!ZSTD_isError(ret))
		ret = ZSTD_CCtxParams_setParameter(parameters, ZSTD_c_windowLog,
						   zstd_window_log(spec, block_bytes));
	for (size_t i = 0; i < count && !ZSTD_isError(ret); i++)
		ret = set_parameter(parameters, searches[i].id, &full, searches[i].field);
	if (!ZSTD_isError(ret) && full.long_matches)
		ret = ZSTD_CCtxParams_setParameter(parameters,
						   ZSTD_c_enableLongDistanceMatching, 1);
	for (size_t i = 0; i < long_count && full.long_matches && !ZSTD_isError(ret); i++)
		ret = set_parameter(parameters, long_searches[i].id, &full,
				    long_searches[i].field);
#ifdef ZSTD_c_stableInBuffer
	/* Saves a copy of the window; libraries without it make that copy. */
	ZSTD_CCtxParams_setParameter(parameters, ZSTD_c_stableInBuffer, 1);
#endif
	return ret;
}

/* The same specification with all parameters explicit. */
static struct codec_spec spell_out(const struct codec_spec *spec, size_t block_bytes)
{
	ZSTD_compressionParameters all = resolve(spec, block_bytes);
	struct codec_spec full = *spec;

	full.window_log = (int)all.windowLog;
	full.hash_log = (int)all.hashLog;
	full.chain_log = (int)all.chainLog;
	full.search_log = (int)all.searchLog;
	full.min_match = (int)all.minMatch;
	full.target_length = (int)all.targetLength;
	full.strategy = (int)all.strategy;
	return full;
}

/* -- packing ------------------------------------------------------------------------- */

struct zstd_packer {
	ZSTD_CCtx *context;
	bool adapts;
	int min_match; /* as specified; 0: of the level */
	struct buffer sample;
};

static void close_packer(void *state)
{
	struct zstd_packer *packer = state;

	if (!packer)
		return;
	ZSTD_freeCCtx(packer->context);
	dw_buffer_free(&packer->sample);
	dw_free(packer);
}

static int set_up_context(struct zstd_packer *packer, const struct codec_spec *spec,
			  size_t block_bytes, dwarfs_error **err)
{
	ZSTD_CCtx_params *parameters = ZSTD_createCCtxParams();
	size_t ret;

	packer->context = ZSTD_createCCtx_advanced(dw_zstd_memory);
	packer->adapts = spec->adapts;
	packer->min_match = spec->min_match;
	if (!parameters || !packer->context) {
		ZSTD_freeCCtxParams(parameters);
		return dw_fail_nomem(err);
	}
	ret = set_parameters(parameters, spec, block_bytes);
	if (!ZSTD_isError(ret))
		ret = ZSTD_CCtx_setParametersUsingCCtxParams(packer->context, parameters);
	ZSTD_freeCCtxParams(parameters);
	return ZSTD_isError(ret) ? fail_encoding(ret, err) : 0;
}

static int zstd_open_packer(const struct codec_spec *spec, size_t block_bytes,
			    void **state_out, dwarfs_error **err)
{
	struct zstd_packer *packer = dw_calloc(1, sizeof(*packer));
	int ret;

	if (!packer)
		return dw_fail_nomem(err);
	if ((ret = set_up_context(packer, spec, block_bytes, err)) < 0) {
		close_packer(packer);
		return ret;
	}
	*state_out = packer;
	return 0;
}

/* The whole input is passed at once; the small output buffer makes zstd return between
 * its blocks. Stops if the result is not smaller than the input: its size is then 0. */
static int pack_once(ZSTD_CCtx *context, struct span in, struct buffer *out,
		     struct codec_watch *watch, bool is_sample, dwarfs_error **err)
{
	const size_t room = in.size - 1;
	ZSTD_inBuffer source = { in.data, in.size, 0 };
	ZSTD_outBuffer target = { NULL, 0, 0 };
	size_t got;
	int ret;

	out->size = 0;
	if ((ret = dw_buffer_reserve(out, room, err)) < 0)
		return ret;
	target.dst = out->data;
	got = ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
	if (!ZSTD_isError(got))
		got = ZSTD_CCtx_setPledgedSrcSize(context, in.size);
	if (ZSTD_isError(got))
		return fail_encoding(got, err);
	do {
		if ((ret = dw_codec_go_on(watch, is_sample ? 0 : source.pos, err)) < 0)
			return ret;
		if (target.pos == room)
			return 0;
		target.size =
			room - target.pos < STEP_BYTES ? room : target.pos + STEP_BYTES;
		got = ZSTD_compressStream2(context, &target, &source, ZSTD_e_end);
		if (ZSTD_isError(got))
			return fail_encoding(got, err);
	} while (got > 0);
	out->size = target.pos;
	return 0;
}

static int set_min_match(struct zstd_packer *packer, int bytes, dwarfs_error **err)
{
	size_t ret = ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_only);

	if (!ZSTD_isError(ret))
		ret = ZSTD_CCtx_setParameter(packer->context, ZSTD_c_minMatch, bytes);
	return ZSTD_isError(ret) ? fail_encoding(ret, err) : 0;
}

/* The size of some data with a shortest match. */
static int try_min_match(struct zstd_packer *packer, int bytes, struct span in,
			 struct buffer *out, struct codec_watch *watch, size_t *size_out,
			 dwarfs_error **err)
{
	int ret = set_min_match(packer, bytes, err);

	if (ret < 0 || (ret = pack_once(packer->context, in, out, watch, true, err)) < 0)
		return ret;
	*size_out = out->size ? out->size : in.size;
	return 0;
}

/* 1 if the block was small and is packed, 0 if it is still to be. */
static int adapt(struct zstd_packer *packer, struct span in, struct buffer *out,
		 struct codec_watch *watch, dwarfs_error **err)
{
	bool is_small = in.size <= SAMPLE_BYTES;
	struct span some = in;
	size_t own, other;
	int ret = 0;

	if (in.size < 2)
		return 0;
	if (!is_small) {
		ret = dw_codec_take_sample(in, SAMPLE_PIECES, PIECE_BYTES,
					   &packer->sample, err);
		some = dw_buffer_span(&packer->sample);
	}
	if (ret < 0 ||
	    (ret = try_min_match(packer, OTHER_MIN_MATCH, some, out, watch, &other,
				 err)) < 0 ||
	    (ret = try_min_match(packer, packer->min_match, some, out, watch, &own,
				 err)) < 0)
		return ret;
	if (own <= other)
		return is_small;
	return set_min_match(packer, OTHER_MIN_MATCH, err);
}

static int zstd_pack(void *state, struct span in, struct buffer *out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	struct zstd_packer *packer = state;
	int ret = packer->adapts ? adapt(packer, in, out, watch, err) : 0;

	if (ret == 0)
		ret = pack_once(packer->context, in, out, watch, false, err);
	return ret < 0 ? ret : 0;
}

static uint64_t context_memory(const struct codec_spec *spec, size_t block_bytes)
{
	struct codec_spec full = spell_out(spec, block_bytes);
	ZSTD_CCtx_params *parameters = ZSTD_createCCtxParams();
	size_t bytes;

	if (!parameters)
		return ESTIMATE_FAIL;
	bytes = set_parameters(parameters, &full, block_bytes);
	if (!ZSTD_isError(bytes))
		bytes = ZSTD_estimateCStreamSize_usingCCtxParams(parameters);
	ZSTD_freeCCtxParams(parameters);
	return ZSTD_isError(bytes) ? ESTIMATE_FAIL : bytes;
}

static uint64_t zstd_memory(const struct codec_spec *spec, size_t block_bytes)
{
	uint64_t most = context_memory(spec, block_bytes), bytes;
	struct codec_spec other = *spec;

	if (!spec->adapts)
		return most + sizeof(struct zstd_packer);
	other.min_match = OTHER_MIN_MATCH;
	bytes = context_memory(&other, block_bytes);
	most = bytes > most ? bytes : most;
	if (block_bytes <= SAMPLE_BYTES)
		return most + sizeof(struct zstd_packer);
	/* Some levels have larger tables for less data. */
	bytes = context_memory(spec, SAMPLE_BYTES);
	most = bytes > most ? bytes : most;
	bytes = context_memory(&other, SAMPLE_BYTES);
	most = bytes > most ? bytes : most;
	return most + SAMPLE_BYTES + sizeof(struct zstd_packer);
}

/* Tree nodes are found by their hash, so the hash table may be much smaller than the
 * tree table before the ratio suffers; chains need it nearly as large. One of the two
 * may be unused. */
static bool zstd_shrink(struct codec_spec *spec, size_t block_bytes)
{
	struct codec_spec by_hash = spell_out(spec, block_bytes), by_chain = by_hash;
	uint64_t before = zstd_memory(spec, block_bytes);
	int distance = by_hash.strategy >= ZSTD_btlazy2 ? 3 : 1;
	bool hash_first = by_hash.hash_log > by_hash.chain_log - distance;

	by_hash.hash_log--;
	by_chain.chain_log--;
	*spec = hash_first ? by_hash : by_chain;
	if (zstd_memory(spec, block_bytes) >= before)
		*spec = hash_first ? by_chain : by_hash;
	return true;
}

static const struct codec_option options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = MIN_LEVEL, .max = MAX_LEVEL },
	{ "long", DW_CODEC_FIELD(long_matches), .is_flag = true },
	{ "adapt", DW_CODEC_FIELD(adapts), .is_flag = true },
	{ "wlog", DW_CODEC_FIELD(window_log), .min = MIN_WINDOW, .max = 31 },
	{ "hlog", DW_CODEC_FIELD(hash_log), .min = 6, .max = 30 },
	{ "clog", DW_CODEC_FIELD(chain_log), .min = 6, .max = 30 },
	{ "slog", DW_CODEC_FIELD(search_log), .min = 1, .max = 30 },
	{ "mml", DW_CODEC_FIELD(min_match), .min = 3, .max = 7 },
	{ "tlen", DW_CODEC_FIELD(target_length), .min = 0, .max = 131072 },
	{ "strat", DW_CODEC_FIELD(strategy), .min = 1, .max = 9 },
	{ "lhlog", DW_CODEC_FIELD(long_hash_log), .min = 6, .max = 30 },
	{ "lmml", DW_CODEC_FIELD(long_min_match), .min = 4, .max = 4096 },
	{ "lblog", DW_CODEC_FIELD(long_bucket_log), .min = 1, .max = 8 },
	{ "lhrlog", DW_CODEC_FIELD(long_rate_log), .min = 0, .max = 25 },
	{ NULL },
};

static size_t zstd_reach(const struct codec_spec *spec, size_t block_bytes)
{
	return (size_t)1 << zstd_window_log(spec, block_bytes);
}

static void zstd_library(char *out, size_t room)
{
	snprintf(out, room, "zstd-%s", ZSTD_versionString());
}

const struct encoder_ops dw_encoder_zstd = {
	.library = zstd_library,
	.help = "zstd    level=-131072..22 (22), long, adapt, wlog=10..31, hlog=6..30, "
		"clog=6..30, slog=1..30, mml=3..7, tlen=0..131072, strat=1..9, "
		"lhlog=6..30, lmml=4..4096, lblog=1..8, lhrlog=0..25",
	.defaults = { .id = CODEC_ZSTD, .level = MAX_LEVEL },
	.options = options,
	.finds_matches = true,
	.is_slow = true,
	.slow_from_level = SLOW_FROM_LEVEL,
	.medium_from_level = MEDIUM_FROM_LEVEL,
	.packs_as = CODEC_ZSTD,
	.reach = zstd_reach,
	.open = zstd_open_packer,
	.close = close_packer,
	.pack = zstd_pack,
	.memory = zstd_memory,
	.shrink = zstd_shrink,
};

#endif
