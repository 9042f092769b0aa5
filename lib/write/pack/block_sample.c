/* SPDX-License-Identifier: MIT */
/*
 * write/pack/block_sample: a sample of a block, compressed by fast codecs, from which the
 * codec of the block is chosen.
 */
#include <string.h>

#include "write/pack/block_sample.h"
#include "base/bytes.h"
#include "base/entropy.h"
#include "codec/encode/encode.h"
#include "codec/encode/ops.h"
#include "codec/encode/positions.h"
#include "write/pack/repeats.h"

/* Equally spaced pieces. */
#define PIECE_BYTES  ((size_t)64 << 10)
#define PIECE_COUNT  16
#define SAMPLE_BYTES (PIECE_BYTES * PIECE_COUNT)

/* A block is dense if the fast codec makes its sample this much smaller. The best codecs then
 * reach about 1/30, which lzma decompresses at 500 MB/s. */
#define DENSE_RATIO 16

/* Find matches from 3 and from 6 bytes on in little memory, 12 to 20 MB/s. */
#define REPEATS_CODEC "zstd:level=19:wlog=17:clog=17:hlog=15:slog=4"
#define LITERAL_CODEC "zstd:level=19:wlog=17:clog=17:hlog=15:slog=2:mml=6"

/* For numbers: differences and alignments, which are only looked for in the whole sample, as a
 * piece is too small for that. Level 0 makes a sample up to 17 % larger, in proportion to zstd,
 * than the whole becomes. */
#define NUMERIC_CODEC	    "lzma:level=4:dict_size=18:adapt"
#define NUMERIC_PIECE_BYTES ((size_t)32 << 10)
#define NUMERIC_COUNT	    8
#define NUMERIC_BYTES	    (NUMERIC_PIECE_BYTES * NUMERIC_COUNT)
#define NUMERIC_LEAST	    2 /* pieces that make a block numeric */

/* DW_FORECAST_CODEC for the pieces that numbers are looked for in, which are small. */
#define SAMPLE_FORECAST_CODEC "zstd:level=9:wlog=26:hlog=20"

/* Prose has at most one control character in so many bytes, at least one blank, and at most one
 * digit. Of sources and manuals, 13 to 30 % are blanks and at most 17 % digits; tables and dumps in
 * hexadecimal digits have 46 to 87 % of digits, and base64 has no blanks. */
#define CONTROL_RATIO 256
#define BLANK_RATIO   64
#define DIGIT_RATIO   4

/* The fast codec makes data that are for a codec of literals larger than lzma or the best zstd do
 * by less than this factor: letters of genomes by 1.23, hashes with paths by 1.09; text and
 * programs by 1.4 to 2. */
static uint64_t most_by_fast_codec(uint64_t bytes)
{
	return bytes + bytes / 4;
}

/* Numbers are smaller than this as lzma packs them, or are left to zstd, which decompresses them
 * ten times as fast. */
static uint64_t less_by_lzma(uint64_t bytes)
{
	return bytes - bytes * 3 / 20;
}

/* Pieces of tables and numbers are smaller than this; those of programs and texts are not. */
static uint64_t much_less_by_lzma(uint64_t bytes)
{
	return bytes - bytes / 4;
}

/* Without numbers in it a sample is larger than this. */
static uint64_t little_less_by_lzma(uint64_t bytes)
{
	return bytes - bytes / 20;
}

/* Data of this entropy have repeats if their compressed size is less than this. */
static uint64_t size_with_repeats(uint64_t entropy)
{
	return entropy - entropy / 128;
}

/* A block of literals is not larger by this part of it than matches from 3 bytes on make it. */
static uint64_t some_more_than(uint64_t bytes)
{
	return bytes + bytes / 256;
}

struct block_sample {
	struct codec *fast, *repeats, *literal; /* made when they are needed first */
	const atomic_bool *stop;
	struct buffer pieces, packed;
	size_t room; /* of codecs: a sample is not larger */
	struct span block;
	uint64_t entropy;  /* of the block; set by dw_block_sample_is_literal() */
	struct span bytes; /* the sample: of pieces, or a whole small block */
	size_t fast_bytes; /* of the sample, compressed */
	size_t repeats_bytes, literal_bytes; /* the same; 0: not known */
	/* Of the pieces of a numeric or dense block, compressed: by REPEATS_CODEC and
	 * SAMPLE_FORECAST_CODEC */
	size_t usual_bytes, forecast_bytes;
};

bool dw_fast_codec(struct codec_spec *spec_out)
{
	return dw_codec_parse("zstd:level=1", spec_out, NULL) == 0 ||
	       dw_codec_parse("lz4", spec_out, NULL) == 0;
}

bool dw_has_fast_codec(void)
{
	struct codec_spec spec;

	return dw_fast_codec(&spec);
}

static size_t room_of(size_t block_bytes)
{
	return block_bytes < SAMPLE_BYTES ? block_bytes : SAMPLE_BYTES;
}

int dw_block_sample_new(size_t block_bytes, const atomic_bool *stop,
			struct block_sample **sample_out, dwarfs_error **err)
{
	struct block_sample *sample = dw_calloc(1, sizeof(*sample));

	if (!sample)
		return dw_fail_nomem(err);
	sample->room = room_of(block_bytes);
	sample->stop = stop;
	*sample_out = sample;
	return 0;
}

void dw_block_sample_free(struct block_sample *sample)
{
	if (!sample)
		return;
	dw_codec_free(sample->fast);
	dw_codec_free(sample->repeats);
	dw_codec_free(sample->literal);
	dw_buffer_free(&sample->pieces);
	dw_buffer_free(&sample->packed);
	dw_free(sample);
}

uint64_t dw_text_codec_memory(const char *text, size_t block_bytes)
{
	struct codec_spec spec;

	return dw_codec_parse(text, &spec, NULL) < 0
		       ? 0
		       : dw_codec_memory(&spec, block_bytes);
}

uint64_t dw_block_sample_memory(bool has_forecast, bool has_literal, size_t block_bytes)
{
	const size_t room = room_of(block_bytes);
	uint64_t numeric = 0, literal = 0;
	uint64_t bytes = 2 * SAMPLE_BYTES; /* pieces and packed */
	struct codec_spec spec;

	if (dw_fast_codec(&spec))
		bytes += dw_codec_memory(&spec, SAMPLE_BYTES);
	if (has_forecast || has_literal)
		bytes += dw_text_codec_memory(REPEATS_CODEC, room);
	if (has_forecast && block_bytes >= SAMPLE_BYTES)
		numeric = dw_text_codec_memory(NUMERIC_CODEC, room) +
			  dw_text_codec_memory(SAMPLE_FORECAST_CODEC, NUMERIC_BYTES) +
			  NUMERIC_BYTES;
	if (has_literal)
		literal = dw_text_codec_memory(LITERAL_CODEC, room);
	if (has_forecast || has_literal)
		bytes += dw_repeats_memory(block_bytes);
	return bytes + numeric + literal;
}

/* The size of a part of the block, compressed. */
static int measure_packed(struct block_sample *sample, struct span in,
			  const struct codec_spec *spec, struct codec **codec,
			  size_t *bytes_out, dwarfs_error **err)
{
	uint32_t id;
	int ret = *codec ? 0 : dw_codec_new(spec, sample->room, codec, err);

	*bytes_out = in.size;
	if (ret < 0)
		return ret;
	dw_codec_set_stop(*codec, sample->stop);
	sample->packed.size = 0;
	ret = dw_codec_pack(*codec, in, &sample->packed, &id, err);
	if (ret == 0 && id != CODEC_NONE)
		*bytes_out = sample->packed.size;
	return ret;
}

/* The same by a codec that is built in. */
static int measure_by(struct block_sample *sample, struct span in, const char *text,
		      struct codec **codec, size_t *bytes_out, dwarfs_error **err)
{
	struct codec_spec spec;
	int ret = dw_codec_parse(text, &spec, err);

	return ret < 0 ? ret : measure_packed(sample, in, &spec, codec, bytes_out, err);
}

/* The size of the sample by a codec that finds repeats: once for each sample, and only where it
 * decides something. On 0.5 MB of text each of these codecs takes 0.6 of the time of zstd 22. */
static int measure_once(struct block_sample *sample, const char *text,
			struct codec **codec, size_t *bytes, dwarfs_error **err)
{
	size_t found = 0;
	int ret;

	if (*bytes > 0)
		return 0;
	ret = measure_by(sample, sample->bytes, text, codec, &found, err);
	if (ret == 0)
		*bytes = found;
	return ret;
}

static int measure_repeats(struct block_sample *sample, dwarfs_error **err)
{
	return measure_once(sample, REPEATS_CODEC, &sample->repeats,
			    &sample->repeats_bytes, err);
}

static int measure_literals(struct block_sample *sample, dwarfs_error **err)
{
	return measure_once(sample, LITERAL_CODEC, &sample->literal,
			    &sample->literal_bytes, err);
}

/* Whether matches of 3 to 5 bytes make the sample smaller. */
static bool needs_short_matches(const struct block_sample *sample)
{
	return sample->literal_bytes > some_more_than(sample->repeats_bytes);
}

int dw_block_sample_take(struct block_sample *sample, struct span block,
			 dwarfs_error **err)
{
	struct codec_spec spec;
	int ret = 0;

	sample->bytes = sample->block = block;
	if (block.size > SAMPLE_BYTES) {
		ret = dw_codec_take_sample(block, PIECE_COUNT, PIECE_BYTES,
					   &sample->pieces, err);
		sample->bytes = dw_buffer_span(&sample->pieces);
	}
	sample->fast_bytes = sample->bytes.size;
	sample->repeats_bytes = sample->literal_bytes = 0;
	if (ret < 0 || !dw_fast_codec(&spec))
		return ret;
	return measure_packed(sample, sample->bytes, &spec, &sample->fast,
			      &sample->fast_bytes, err);
}

bool dw_block_sample_is_dense(const struct block_sample *sample)
{
	return sample->fast_bytes < sample->bytes.size / DENSE_RATIO;
}

/* ASCII, without those that occur in text: tab, line feed, vertical tab, form feed, carriage return
 * and escape. */
static bool is_control(uint8_t byte)
{
	return byte == 0x7f ||
	       (byte < 0x20 && !(byte >= '\t' && byte <= '\r') && byte != 0x1b);
}

/* The bytes in lines that are as long as the line before; of what has no line feed, all. */
static size_t bytes_in_equal_lines(struct span in)
{
	const uint8_t *line = in.data, *end = in.data + in.size, *feed;
	size_t before = 0, found = 0;

	while ((feed = memchr(line, '\n', (size_t)(end - line)))) {
		size_t length = (size_t)(feed - line) + 1;

		if (length == before)
			found += length;
		before = length;
		line = feed + 1;
	}
	return before > 0 ? found : in.size;
}

static bool is_prose(struct span piece)
{
	size_t controls = 0, blanks = 0, digits = 0;

	for (size_t i = 0; i < piece.size; i++) {
		const uint8_t byte = piece.data[i];

		controls += is_control(byte);
		blanks += byte == ' ' || byte == '\t';
		digits += byte >= '0' && byte <= '9';
	}
	return controls <= piece.size / CONTROL_RATIO &&
	       blanks >= piece.size / BLANK_RATIO && digits <= piece.size / DIGIT_RATIO &&
	       bytes_in_equal_lines(piece) <= piece.size / 2;
}

bool dw_block_sample_is_prose(const struct block_sample *sample)
{
	const struct span in = sample->bytes;
	bool all = true;

	for (size_t at = 0; at < in.size && all; at += PIECE_BYTES)
		all = is_prose((struct span){ in.data + at, in.size - at < PIECE_BYTES
								    ? in.size - at
								    : PIECE_BYTES });
	return all;
}

/*
 * Whether runs that are no coincidence, if the block has this entropy in bytes, occur more than
 * once anywhere in it: more than one in
 * least_rate of those that have run_bits of entropy. A block of 16 MiB has 2^24 runs, so that
 * one in 2^(run_bits - 24) equals another one by chance; in larger blocks runs have more bits for
 * the same chance. Longer runs are worth a match however rare they are, shorter ones only if
 * there are many.
 */
static int has_repeats(const struct block_sample *sample, uint64_t entropy, bool *has_out,
		       dwarfs_error **err)
{
	static const struct {
		unsigned run_bits, least_rate;
	} kinds[] = { { 32, 48 }, { 44, 400 } };
	const struct span block = sample->block;
	const unsigned length = dw_bit_length(block.size >> 24);
	uint64_t bits = 8 * entropy;
	int ret = 0;

	*has_out = false;
	for (size_t i = 0; i < 2 && ret == 0 && !*has_out && bits > 0; i++) {
		uint64_t run_bits = kinds[i].run_bits + (length > 1 ? length - 1 : 0);
		uint64_t run = (run_bits * block.size + bits - 1) / bits;
		struct repeats repeats = { 0 };

		if (run > DW_MAX_REPEAT)
			*has_out = true; /* with so few bits for each byte there are */
		else
			ret = dw_repeats_count(block, (size_t)run, &repeats, err);
		*has_out |= repeats.found * kinds[i].least_rate > repeats.tested;
	}
	return ret;
}

/* Tables have repeats, numbers need not. */
static bool may_be_numeric(const struct block_sample *sample)
{
	const struct span in = sample->bytes;

	return sample->fast_bytes < size_with_repeats(dw_entropy_bytes(in)) ||
	       dw_similar_distance(in) != 0 || dw_has_alignment(in);
}

static int take_numeric_pieces(const struct block_sample *sample, struct buffer *out,
			       dwarfs_error **err)
{
	return dw_codec_take_sample(sample->block, NUMERIC_COUNT, NUMERIC_PIECE_BYTES,
				    out, err);
}

/* The sizes of data by a codec for anything, and by one for numbers, which is made if there is
 * none. */
static int measure_numbers(struct block_sample *sample, struct span in,
			   struct codec **codec, size_t *usual_out, size_t *numeric_out,
			   dwarfs_error **err)
{
	int ret = measure_by(sample, in, REPEATS_CODEC, &sample->repeats, usual_out, err);

	return ret < 0 ? ret
		       : measure_by(sample, in, NUMERIC_CODEC, codec, numeric_out, err);
}

/*
 * Whether some pieces are tables, each for itself. In a block of tables and other data, these
 * others compress worse as a sample than in the whole block, where they find more repeats; so
 * they are too large a part of the sample.
 */
static int has_numeric_pieces(struct block_sample *sample, struct span pieces,
			      struct codec **codec, bool *has_out, dwarfs_error **err)
{
	size_t found = 0;
	int ret = 0;

	for (size_t at = 0; ret == 0 && at < pieces.size; at += NUMERIC_PIECE_BYTES) {
		const struct span piece = { pieces.data + at, NUMERIC_PIECE_BYTES };
		size_t usual = 0, numeric = 0;

		ret = measure_numbers(sample, piece, codec, &usual, &numeric, err);
		found += numeric < much_less_by_lzma(usual);
	}
	*has_out = ret == 0 && found >= NUMERIC_LEAST;
	return ret;
}

/* The size of pieces packed by the best zstd, compared with the codec that forecasts it. */
static int measure_forecast(struct block_sample *sample, struct span pieces, size_t usual,
			    dwarfs_error **err)
{
	auto_codec struct codec *codec = NULL;
	struct codec_spec spec;
	int ret = dw_codec_parse(SAMPLE_FORECAST_CODEC, &spec, err);

	sample->usual_bytes = usual;
	if (ret < 0 || (ret = dw_codec_new(&spec, pieces.size, &codec, err)) < 0)
		return ret;
	return measure_packed(sample, pieces, &spec, &codec, &sample->forecast_bytes,
			      err);
}

int dw_block_sample_prepare_forecast(struct block_sample *sample, bool *can_out,
				     dwarfs_error **err)
{
	auto_buffer struct buffer pieces = { 0 };
	struct span in;
	size_t usual;
	int ret;

	*can_out = sample->block.size >= SAMPLE_BYTES;
	if (!*can_out)
		return 0;
	if ((ret = take_numeric_pieces(sample, &pieces, err)) < 0)
		return ret;
	in = dw_buffer_span(&pieces);
	ret = measure_by(sample, in, REPEATS_CODEC, &sample->repeats, &usual, err);
	return ret < 0 ? ret : measure_forecast(sample, in, usual, err);
}

uint64_t dw_block_sample_forecast(const struct block_sample *sample,
				  uint64_t forecast_codec_bytes)
{
	return forecast_codec_bytes * sample->usual_bytes / sample->forecast_bytes;
}

/*
 * Whether there may be samples or pixels. Those of several kinds, beside data that is compressed
 * already, show half of what lzma gains, as it adapts to each range of the block: sounds and sprites
 * of a game are 20 % smaller than by zstd, and the sample by 10 %. Of data that repeats more than
 * such data do, zstd finds the repeats.
 */
static bool has_distance(const struct block_sample *sample)
{
	return sample->fast_bytes > sample->bytes.size / 4 &&
	       dw_similar_distance(sample->bytes) != 0;
}

/* The codec and the pieces are not kept: most blocks need none. */
int dw_block_sample_is_numeric(struct block_sample *sample, bool *numeric_out,
			       bool *repeats_out, dwarfs_error **err)
{
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer pieces = { 0 };
	size_t usual = 0, numeric = 0;
	uint64_t entropy;
	int ret;

	*numeric_out = *repeats_out = false;
	if (sample->block.size < SAMPLE_BYTES || !may_be_numeric(sample))
		return 0;
	if ((ret = take_numeric_pieces(sample, &pieces, err)) < 0 ||
	    (ret = measure_numbers(sample, dw_buffer_span(&pieces), &codec, &usual,
				   &numeric, err)) < 0 ||
	    numeric >= little_less_by_lzma(usual))
		return ret;
	if (numeric >= less_by_lzma(usual)) {
		ret = has_numeric_pieces(sample, dw_buffer_span(&pieces), &codec,
					 numeric_out, err);
		*numeric_out = *numeric_out || has_distance(sample);
		*repeats_out = *numeric_out;
	} else {
		/* Runs are then no longer than DW_MAX_REPEAT, which does not find fewer repeats. */
		entropy = (uint64_t)numeric * sample->block.size / NUMERIC_BYTES;
		if (entropy < sample->block.size / 4)
			entropy = sample->block.size / 4;
		ret = has_repeats(sample, entropy, repeats_out, err);
		*numeric_out = ret == 0;
	}
	if (ret == 0 && *repeats_out)
		ret = measure_forecast(sample, dw_buffer_span(&pieces), usual, err);
	return ret;
}

int dw_block_sample_is_literal(struct block_sample *sample, bool *literal_out,
			       dwarfs_error **err)
{
	uint64_t least = size_with_repeats(dw_entropy_bytes(sample->bytes));
	bool has;
	int ret;

	*literal_out = false;
	if (sample->fast_bytes < least)
		return 0;
	ret = measure_repeats(sample, err);
	if (ret < 0 || sample->repeats_bytes < least)
		return ret;
	ret = measure_literals(sample, err);
	if (ret < 0 || needs_short_matches(sample))
		return ret;
	sample->entropy = dw_entropy_bytes(sample->block);
	ret = has_repeats(sample, sample->entropy, &has, err);
	*literal_out = ret == 0 && !has;
	return ret;
}

bool dw_block_sample_is_noise(const struct block_sample *sample)
{
	return sample->entropy >= sample->block.size - sample->block.size / 1024;
}

bool dw_hardly_compresses(uint64_t packed_bytes, uint64_t bytes)
{
	return packed_bytes > bytes - bytes / 25;
}

bool dw_block_sample_is_compressed(const struct block_sample *sample)
{
	return dw_hardly_compresses(sample->fast_bytes, sample->bytes.size);
}

/* A size of the sample, scaled to the block. */
static uint64_t of_block(const struct block_sample *sample, uint64_t bytes)
{
	return sample->bytes.size ? bytes * sample->block.size / sample->bytes.size : 0;
}

bool dw_block_sample_confirms_literal(const struct block_sample *sample,
				      size_t packed_bytes)
{
	uint64_t most = of_block(sample, sample->repeats_bytes);

	return packed_bytes >= size_with_repeats(sample->entropy) &&
	       packed_bytes <= some_more_than(most);
}

/*
 * The sample does not tell all of the block, so its size may be larger by a twentieth. But it has
 * to show a gain: by matches that are long only, or over what the block takes now.
 */
int dw_block_sample_may_shrink(struct block_sample *sample, size_t packed_bytes,
			       bool *may_out, dwarfs_error **err)
{
	uint64_t literal;
	int ret;

	*may_out = false;
	if (of_block(sample, sample->fast_bytes) > most_by_fast_codec(packed_bytes))
		return 0;
	if ((ret = measure_literals(sample, err)) < 0)
		return ret;
	literal = of_block(sample, sample->literal_bytes);
	*may_out = some_more_than(literal) < packed_bytes;
	if (*may_out || literal - literal / 20 >= packed_bytes)
		return 0;
	if ((ret = measure_repeats(sample, err)) < 0)
		return ret;
	*may_out = some_more_than(sample->literal_bytes) < sample->repeats_bytes;
	return 0;
}
