/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_options: the options of lzma, and its row in the table; lzma_encode.c
 * does the work.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_LZMA

#include <lzma.h>

#include "codec/encode/lzma/lzma_encode.h"

#define DEFAULT_LEVEL 9
#define MAX_LEVEL     9
#define MAX_DICT_LOG  30
#define MAX_NICE      273
#define MAX_DEPTH     (1 << 20)

static const struct codec_word machines[] = {
	{ "auto", DW_LZMA_ANY_MACHINE },    { "x86", LZMA_FILTER_X86 },
	{ "powerpc", LZMA_FILTER_POWERPC }, { "ia64", LZMA_FILTER_IA64 },
	{ "arm", LZMA_FILTER_ARM },	    { "armthumb", LZMA_FILTER_ARMTHUMB },
	{ "sparc", LZMA_FILTER_SPARC },	    { NULL },
};

static const struct codec_word modes[] = {
	{ "fast", LZMA_MODE_FAST },
	{ "normal", LZMA_MODE_NORMAL },
	{ NULL },
};

static const struct codec_word match_finders[] = {
	{ "hc3", LZMA_MF_HC3 }, { "hc4", LZMA_MF_HC4 }, { "bt2", LZMA_MF_BT2 },
	{ "bt3", LZMA_MF_BT3 }, { "bt4", LZMA_MF_BT4 }, { NULL },
};

static const struct codec_word checks[] = {
	{ "none", LZMA_CHECK_NONE },
	{ "crc32", LZMA_CHECK_CRC32 },
	{ "crc64", LZMA_CHECK_CRC64 },
	{ NULL },
};

static const struct codec_option options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = MAX_LEVEL },
	{ "dict_size", DW_CODEC_FIELD(window_log), .min = DW_LZMA_MIN_DICT_LOG,
	  .max = MAX_DICT_LOG },
	{ "block_size", DW_CODEC_FIELD(part_log), .min = DW_LZMA_MIN_DICT_LOG,
	  .max = MAX_DICT_LOG },
	{ "extreme", DW_CODEC_FIELD(extreme), .is_flag = true },
	{ "adapt", DW_CODEC_FIELD(adapts), .is_flag = true },
	{ "binary", DW_CODEC_FIELD(bcj), .words = machines },
	{ "mode", DW_CODEC_FIELD(mode), .words = modes },
	{ "mf", DW_CODEC_FIELD(match_finder), .words = match_finders },
	{ "nice", DW_CODEC_FIELD(nice), .min = 0, .max = MAX_NICE },
	{ "depth", DW_CODEC_FIELD(depth), .min = 0, .max = MAX_DEPTH },
	{ "check", DW_CODEC_FIELD(check), .words = checks },
	{ NULL },
};

static void lzma_library(char *out, size_t room)
{
	snprintf(out, room, "lzma-%s", lzma_version_string());
}

const struct encoder_ops dw_encoder_lzma = {
	.library = lzma_library,
	.help = "lzma    level=0..9 (9), dict_size=12..30 (log2), "
		"block_size=12..30 (log2), extreme, adapt, "
		"binary={auto,x86,powerpc,ia64,arm,armthumb,sparc}, mode={fast,normal}, "
		"mf={hc3,hc4,bt2,bt3,bt4}, nice=0..273, depth=N, "
		"check={none,crc32,crc64}",
	.defaults = { .id = CODEC_LZMA,
		      .level = DEFAULT_LEVEL,
		      .check = LZMA_CHECK_CRC64 },
	.options = options,
	.finds_matches = true,
	.is_slow = true,
	.packs_as = CODEC_LZMA,
	.open = dw_lzma_open,
	.close = dw_lzma_close,
	.set_records = dw_lzma_set_records,
	.pack = dw_lzma_pack,
	.memory = dw_lzma_memory,
	.reach = dw_lzma_reach,
	.shrink = dw_lzma_shrink,
};

#endif
