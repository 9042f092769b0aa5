/* SPDX-License-Identifier: MIT */
/*
 * codec/encode: finds an encoder by id or by text, and calls it.
 *
 * Takes texts such as "zstd:level=19"; lists the encoders. One that the library was built
 * without has a row without functions.
 */
#include <string.h>

#include <dwarfs/builder.h>

#include "codec/encode/ops.h"
#include "config.h"

#define MAX_TEXT     256		  /* of a specification */
#define LEAST_BYTES  (UINT64_C(16) << 10) /* for small objects and partly used pages */
#define LITTLE_BYTES (UINT64_C(4) << 20)  /* memory not worth a worse ratio */

/* In the order of the help. */
static const struct {
	enum codec_id id;
	const struct encoder_ops *ops; /* NULL: not built in */
} encoders[] = {
	{ CODEC_NONE, &dw_encoder_none },
	{ CODEC_LZ4, HAVE_LZ4 ? &dw_encoder_lz4 : NULL },
	{ CODEC_LZ4HC, HAVE_LZ4 ? &dw_encoder_lz4hc : NULL },
	{ CODEC_ZSTD, HAVE_ZSTD ? &dw_encoder_zstd : NULL },
	{ CODEC_LZMA, HAVE_LZMA ? &dw_encoder_lzma : NULL },
	{ CODEC_BROTLI, HAVE_BROTLI_ENCODER ? &dw_encoder_brotli : NULL },
	{ CODEC_FLAC, HAVE_FLAC ? &dw_encoder_flac : NULL },
	{ CODEC_RICEPP, &dw_encoder_ricepp },
};

#define ENCODER_COUNT (sizeof(encoders) / sizeof(encoders[0]))

struct codec {
	const struct encoder_ops *ops;
	void *state;
	struct codec_watch watch;
};

/* NULL for a codec that is not built in. */
static const struct encoder_ops *find_encoder(uint32_t id)
{
	for (size_t i = 0; i < ENCODER_COUNT; i++)
		if ((uint32_t)encoders[i].id == id)
			return encoders[i].ops;
	return NULL;
}

static int check_usable(const struct encoder_ops *ops, dwarfs_error **err)
{
	return ops->check_usable ? ops->check_usable(err) : 0;
}

static bool is_usable(const struct encoder_ops *ops)
{
	return ops && check_usable(ops, NULL) == 0;
}

static int need_encoder(enum codec_id id, const struct encoder_ops **ops_out,
			dwarfs_error **err)
{
	*ops_out = find_encoder(id);
	if (*ops_out)
		return check_usable(*ops_out, err);
	return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
		       dw_codec_can_unpack(id) ? "%s can be unpacked, but not be written"
					       : "%s is not built in",
		       dw_codec_name(id));
}

const char *dwarfs_codec_help(size_t index)
{
	for (size_t i = 0; i < ENCODER_COUNT; i++)
		if (is_usable(encoders[i].ops) && index-- == 0)
			return encoders[i].ops->help;
	return NULL;
}

bool dw_codec_library(size_t index, char *out, size_t room)
{
	for (uint32_t id = 0; dw_codec_is_known(id); id++) {
		const struct encoder_ops *ops = find_encoder(id);

		if (!is_usable(ops) || !ops->library)
			continue;
		if (index-- == 0) {
			ops->library(out, room);
			return true;
		}
	}
	return false;
}

bool dw_codec_can_pack(enum codec_id id)
{
	return is_usable(find_encoder(id));
}

/* -- facts that other modules act on -------------------------------------------------- */

const struct samples_kind *dw_codec_samples(enum codec_id id)
{
	const struct encoder_ops *ops = find_encoder(id);

	return ops ? ops->samples : NULL;
}

bool dw_codec_finds_matches(const struct codec_spec *spec)
{
	const struct encoder_ops *ops = find_encoder(spec->id);

	return ops && ops->finds_matches;
}

enum codec_speed dw_codec_speed(const struct codec_spec *spec)
{
	const struct encoder_ops *ops = find_encoder(spec->id);

	if (!ops || !ops->is_slow)
		return CODEC_FAST;
	if (spec->level >= ops->slow_from_level)
		return CODEC_SLOW;
	return spec->level >= ops->medium_from_level ? CODEC_MEDIUM : CODEC_FAST;
}

/* -- specifications ------------------------------------------------------------------ */

/* Digits, with an optional sign. */
static bool is_number(const char *text)
{
	text += *text == '-';
	return *text && !text[strspn(text, "0123456789")];
}

static int set_option_number(const char *codec, const struct codec_option *option,
			     const char *value, struct codec_spec *spec,
			     dwarfs_error **err)
{
	long long number;

	if (!is_number(value))
		return dw_fail(err, DWARFS_ERR_INVALID, "%s: '%s=%s' is not a number",
			       codec, option->name, value);
	number = strtoll(value, NULL, 10); /* the nearest number if it overflows */
	if (number < option->min || number > option->max)
		return dw_fail(err, DWARFS_ERR_RANGE, "%s: %s=%s is not within %d to %d",
			       codec, option->name, value, option->min, option->max);
	*dw_codec_number(spec, option->field) = (int)number;
	return 0;
}

static int set_word(const char *codec, const struct codec_option *option,
		    const char *value, struct codec_spec *spec, dwarfs_error **err)
{
	for (const struct codec_word *word = option->words; word->text; word++) {
		if (strcmp(word->text, value) == 0) {
			*dw_codec_number(spec, option->field) = word->value;
			return 0;
		}
	}
	return dw_fail(err, DWARFS_ERR_INVALID, "%s: '%s' cannot be '%s'", codec,
		       option->name, value);
}

static int set_option(const char *codec, const struct codec_option *option,
		      const char *value, struct codec_spec *spec, dwarfs_error **err)
{
	if (option->is_flag && value)
		return dw_fail(err, DWARFS_ERR_INVALID, "%s: '%s' takes no value", codec,
			       option->name);
	if (!option->is_flag && !value)
		return dw_fail(err, DWARFS_ERR_INVALID, "%s: '%s' needs a value", codec,
			       option->name);
	if (option->is_flag) {
		*((bool *)((char *)spec + option->field)) = true;
		return 0;
	}
	return option->words ? set_word(codec, option, value, spec, err)
			     : set_option_number(codec, option, value, spec, err);
}

/* text is "name", "name=value", or only a number: the value of the first option. */
static int parse_codec_option(const char *codec, const struct codec_option *options,
			      char *text, struct codec_spec *spec, dwarfs_error **err)
{
	char *value = strchr(text, '=');

	if (options && is_number(text))
		return set_option(codec, options, text, spec, err);
	if (value)
		*value++ = '\0';
	for (; options && options->name; options++)
		if (strcmp(options->name, text) == 0)
			return set_option(codec, options, value, spec, err);
	return dw_fail(err, DWARFS_ERR_INVALID, "%s: there is no option '%s'", codec,
		       text);
}

int dw_codec_parse(const char *text, struct codec_spec *spec_out, dwarfs_error **err)
{
	const struct encoder_ops *ops = NULL;
	struct codec_spec spec;
	enum codec_id id = CODEC_NONE;
	char copy[MAX_TEXT], *rest = copy, *name;
	int ret;

	if (strlen(text) >= sizeof(copy))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "a compression is named with more than %d characters",
			       MAX_TEXT - 1);
	memcpy(copy, text, strlen(text) + 1);
	name = strsep(&rest, ":");
	if (!dw_codec_find(strcmp(name, "none") == 0 ? "null" : name, &id))
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown compression: %s", name);
	if ((ret = need_encoder(id, &ops, err)) < 0)
		return ret;
	spec = ops->defaults;
	spec.id = id;
	while (rest) {
		ret = parse_codec_option(name, ops->options, strsep(&rest, ":"), &spec,
					 err);
		if (ret < 0)
			return ret;
	}
	*spec_out = spec;
	return 0;
}

/* -- packing ------------------------------------------------------------------------- */

int dw_codec_new(const struct codec_spec *spec, size_t block_bytes,
		 struct codec **codec_out, dwarfs_error **err)
{
	const struct encoder_ops *ops = NULL;
	auto_codec struct codec *codec = NULL;
	int ret = need_encoder(spec->id, &ops, err);

	if (ret < 0)
		return ret;
	codec = dw_calloc(1, sizeof(*codec));
	if (!codec)
		return dw_fail_nomem(err);
	codec->ops = ops;
	ret = ops->samples ? dw_samples_check(ops->samples, &spec->samples, err) : 0;
	if (ret == 0)
		ret = ops->open ? ops->open(spec, block_bytes, &codec->state, err) : 0;
	if (ret < 0)
		return dw_explain(err, ret, "%s", dw_codec_name(spec->id));
	*codec_out = dw_steal(codec);
	return 0;
}

void dw_codec_free(struct codec *codec)
{
	if (!codec)
		return;
	if (codec->state)
		codec->ops->close(codec->state);
	dw_free(codec);
}

void dw_codec_set_stop(struct codec *codec, const atomic_bool *stop)
{
	codec->watch.stop = stop;
}

void dw_codec_set_meter(struct codec *codec, atomic_uint_fast64_t *meter)
{
	codec->watch.meter = meter;
}

void dw_codec_set_records(struct codec *codec, const struct record_ranges *ranges)
{
	if (codec->ops->set_records)
		codec->ops->set_records(codec->state, ranges);
}

/* A second pass over the input counts only where it gets further than the first. */
static void report_watch(struct codec_watch *watch, size_t done)
{
	if (!watch->meter || done <= watch->shown)
		return;
	atomic_fetch_add_explicit(watch->meter, done - watch->shown,
				  memory_order_relaxed);
	watch->shown = done;
}

int dw_codec_go_on(struct codec_watch *watch, size_t done, dwarfs_error **err)
{
	const atomic_bool *stop = watch->stop;

	report_watch(watch, done);
	if (stop && atomic_load_explicit(stop, memory_order_relaxed))
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	return 0;
}

int dw_codec_take_sample(struct span in, size_t count, size_t piece_bytes,
			 struct buffer *sample, dwarfs_error **err)
{
	size_t distance =
		(in.size / count) & ~(size_t)15; /* keeps the alignment of data */
	int ret;

	sample->size = 0;
	ret = dw_buffer_reserve(sample, count * piece_bytes, err);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = dw_buffer_append(
			sample, in.data + (i * 4 % count + i * 4 / count) * distance,
			piece_bytes, err);
	return ret;
}

int dw_codec_pack(struct codec *codec, struct span in, struct buffer *out,
		  uint32_t *id_out, dwarfs_error **err)
{
	int ret;

	codec->watch.shown = 0;
	ret = in.size ? codec->ops->pack(codec->state, in, out, &codec->watch, err) : 0;
	report_watch(&codec->watch, in.size);
	if (ret < 0) {
		out->size = 0;
		return dw_explain(err, ret, "%s", dw_codec_name(codec->ops->packs_as));
	}
	if (out->size == 0 || out->size >= in.size) {
		out->size = 0;
		*id_out = CODEC_NONE;
		return 0;
	}
	*id_out = codec->ops->packs_as;
	return 0;
}

uint64_t dw_codec_memory(const struct codec_spec *spec, size_t block_bytes)
{
	const struct encoder_ops *ops = find_encoder(spec->id);

	return ops ? LEAST_BYTES + ops->memory(spec, block_bytes) : 0;
}

size_t dw_codec_reach(const struct codec_spec *spec, size_t block_bytes)
{
	const struct encoder_ops *ops = find_encoder(spec->id);
	size_t reach = ops && ops->reach ? ops->reach(spec, block_bytes) : block_bytes;

	if (spec->id == CODEC_NONE)
		return 0;
	return reach < block_bytes ? reach : block_bytes;
}

bool dw_codec_shrink(struct codec_spec *spec, size_t block_bytes)
{
	const struct encoder_ops *ops = find_encoder(spec->id);
	uint64_t before = dw_codec_memory(spec, block_bytes);
	struct codec_spec smaller = *spec;

	if (before <= LITTLE_BYTES || !ops->shrink ||
	    !ops->shrink(&smaller, block_bytes) ||
	    dw_codec_memory(&smaller, block_bytes) >= before)
		return false;
	*spec = smaller;
	return true;
}
