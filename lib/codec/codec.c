/* SPDX-License-Identifier: MIT */
/*
 * codec: finds a codec by number or by text, and calls it.
 *
 * Takes ids of the format or texts such as "zstd:level=19"; the only place that lists
 * the codecs. Codecs that the library was built without have a name, for messages, but
 * no functions.
 */
#include <errno.h>
#include <string.h>

#include <dwarfs/builder.h>
#include <dwarfs/image.h>

#include "codec/ops.h"
#include "config.h"
#include "format/thrift.h"

#define MAX_TEXT     256		  /* of a specification */
#define LEAST_BYTES  (UINT64_C(16) << 10) /* for small objects and partly used pages */
#define LITTLE_BYTES (UINT64_C(4) << 20)  /* memory not worth a worse ratio */

struct member {
	enum codec_id id;
	const char *name;	     /* as written on the command line */
	const char *format_name;     /* as in the format description */
	const struct codec_ops *ops; /* NULL: not built in */
};

/* In the order of the help. */
static const struct member members[] = {
	{ CODEC_NONE, "null", "NONE", &dw_codec_none },
	{ CODEC_LZ4, "lz4", "LZ4", HAVE_LZ4 ? &dw_codec_lz4 : NULL },
	{ CODEC_LZ4HC, "lz4hc", "LZ4HC", HAVE_LZ4 ? &dw_codec_lz4hc : NULL },
	{ CODEC_ZSTD, "zstd", "ZSTD", HAVE_ZSTD ? &dw_codec_zstd : NULL },
	{ CODEC_LZMA, "lzma", "LZMA", HAVE_LZMA ? &dw_codec_lzma : NULL },
	{ CODEC_BROTLI, "brotli", "BROTLI", HAVE_BROTLI ? &dw_codec_brotli : NULL },
	{ CODEC_FLAC, "flac", "FLAC", HAVE_FLAC ? &dw_codec_flac : NULL },
	{ CODEC_RICEPP, "ricepp", "RICEPP", &dw_codec_ricepp },
};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

struct codec {
	const struct codec_ops *ops;
	void *state;
	struct codec_watch watch;
};

/* NULL for an id that the format does not define. */
static const struct member *find_member(uint32_t id)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++)
		if ((uint32_t)members[i].id == id)
			return &members[i];
	return NULL;
}

/* NULL for a codec that is unknown or not built in. */
static const struct codec_ops *find_ops(uint32_t id)
{
	const struct member *member = find_member(id);

	return member ? member->ops : NULL;
}

const char *dwarfs_compression_name(uint32_t compression)
{
	const struct member *member = find_member(compression);

	return member ? member->format_name : "UNKNOWN";
}

bool dw_codec_is_known(uint32_t id)
{
	return find_member(id) != NULL;
}

const char *dw_codec_name(enum codec_id id)
{
	return find_member(id)->name;
}

const char *dwarfs_codec_help(size_t index)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++)
		if (dw_codec_can_pack(members[i].id) && index-- == 0)
			return members[i].ops->help;
	return NULL;
}

bool dw_codec_library(size_t index, char *out, size_t room)
{
	for (uint32_t id = 0; dw_codec_is_known(id); id++) {
		const struct codec_ops *ops = find_ops(id);

		if (!ops || !ops->library)
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
	const struct codec_ops *ops = find_ops(id);

	return ops && ops->pack;
}

static int find_codec_ops(uint32_t id, const struct codec_ops **ops_out,
			  dwarfs_error **err)
{
	const struct member *member = find_member(id);

	if (!member)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "compression %" PRIu32 " is not known", id);
	if (!member->ops)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED, "%s is not built in",
			       member->name);
	*ops_out = member->ops;
	return 0;
}

static int find_packer(enum codec_id id, const struct codec_ops **ops_out,
		       dwarfs_error **err)
{
	int ret = find_codec_ops(id, ops_out, err);

	if (ret < 0)
		return ret;
	if (!dw_codec_can_pack(id))
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "%s can be unpacked, but not be written",
			       dw_codec_name(id));
	return 0;
}

/* -- facts that other modules act on -------------------------------------------------- */

const struct samples_kind *dw_codec_samples(enum codec_id id)
{
	const struct codec_ops *ops = find_ops(id);

	return ops ? ops->samples : NULL;
}

bool dw_codec_size_at_end(uint32_t id)
{
	const struct codec_ops *ops = find_ops(id);

	return ops && ops->size_at_end;
}

bool dw_codec_finds_matches(const struct codec_spec *spec)
{
	const struct codec_ops *ops = find_ops(spec->id);

	return ops && ops->finds_matches;
}

bool dw_codec_packs_slowly(const struct codec_spec *spec)
{
	const struct codec_ops *ops = find_ops(spec->id);

	return ops && ops->is_slow && spec->level >= ops->slow_from_level;
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

static int find_name(const char *name, enum codec_id *id_out, dwarfs_error **err)
{
	if (strcmp(name, "none") == 0)
		name = dw_codec_name(CODEC_NONE);
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if (strcmp(members[i].name, name) == 0) {
			*id_out = members[i].id;
			return 0;
		}
	}
	return dw_fail(err, DWARFS_ERR_INVALID, "unknown compression: %s", name);
}

int dw_codec_parse(const char *text, struct codec_spec *spec_out, dwarfs_error **err)
{
	const struct codec_ops *ops = NULL;
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
	if ((ret = find_name(name, &id, err)) < 0 ||
	    (ret = find_packer(id, &ops, err)) < 0)
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

/* -- unpacking ----------------------------------------------------------------------- */

int dw_codec_varint_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	struct thrift_reader reader;
	uint64_t size;

	dw_thrift_start(&reader, in);
	size = dw_thrift_varint(&reader);
	if (!dw_thrift_ok(&reader))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the size in front of the data is broken: %s",
			       reader.error);
	*size_out = size;
	return 0;
}

int dw_codec_unpacked_size(uint32_t id, struct span in, uint64_t *size_out,
			   dwarfs_error **err)
{
	const struct codec_ops *ops = NULL;
	int ret = find_codec_ops(id, &ops, err);

	if (ret < 0)
		return ret;
	ret = ops->unpacked_size(in, size_out, err);
	return ret < 0 ? dw_explain(err, ret, "%s", dw_codec_name(id)) : 0;
}

static int unpack_in_steps(uint32_t id, struct span in, uint8_t *out, size_t size,
			   dwarfs_error **err)
{
	auto_decoder struct decoder *decoder = NULL;
	int ret = dw_decoder_new(id, in, out, size, &decoder, err);

	return ret < 0 ? ret : dw_decoder_run(decoder, size, err);
}

int dw_codec_unpack(uint32_t id, struct span in, uint8_t *out, size_t size,
		    dwarfs_error **err)
{
	const struct codec_ops *ops = NULL;
	int ret = find_codec_ops(id, &ops, err);

	if (ret < 0)
		return ret;
	if (!ops->unpack)
		return unpack_in_steps(id, in, out, size, err);
	ret = ops->unpack(in, out, size, err);
	return ret < 0 ? dw_explain(err, ret, "%s", dw_codec_name(id)) : 0;
}

/* -- unpacking step by step --------------------------------------------------------- */

static struct decoder *make_decoder(const char *name, struct span in, uint8_t *out,
				    size_t size)
{
	struct decoder *decoder = dw_calloc(1, sizeof(*decoder));

	if (decoder)
		*decoder = (struct decoder){
			.name = name,
			.in = in,
			.out = out ? out : decoder->nothing,
			.size = size,
		};
	return decoder;
}

int dw_decoder_new(uint32_t id, struct span in, uint8_t *out, size_t size,
		   struct decoder **decoder_out, dwarfs_error **err)
{
	auto_decoder struct decoder *decoder = NULL;
	const struct codec_ops *ops;
	int ret = find_codec_ops(id, &ops, err);

	if (ret < 0)
		return ret;
	decoder = make_decoder(dw_codec_name(id), in, out, size);
	if (!decoder)
		return dw_fail_nomem(err);
	if (ops->start && (ret = ops->start(decoder, err)) < 0)
		return dw_explain(err, ret, "%s", decoder->name);
	decoder->ops = ops;
	*decoder_out = dw_steal(decoder);
	return 0;
}

void dw_decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->ops && decoder->ops->stop)
		decoder->ops->stop(decoder);
	free(decoder);
}

static int run_whole(struct decoder *decoder, dwarfs_error **err)
{
	int ret = decoder->ops->unpack(decoder->in, decoder->out, decoder->size, err);

	if (ret == 0)
		decoder->done = decoder->size;
	return ret;
}

int dw_decoder_run(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	int ret = 0;

	if (decoder->failed)
		return dw_fail(err, decoder->failed, "%s: unpacking has failed before",
			       decoder->name);
	if (upto <= decoder->done && (upto > 0 || decoder->size > 0))
		return 0;
	ret = decoder->ops->step ? decoder->ops->step(decoder, upto, err)
				 : run_whole(decoder, err);
	decoder->failed = ret < 0 ? ret : 0;
	return ret < 0 ? dw_explain(err, ret, "%s", decoder->name) : 0;
}

size_t dw_decoder_done(const struct decoder *decoder)
{
	return decoder->done;
}

uint64_t dw_decoder_memory(const struct decoder *decoder, size_t done)
{
	return decoder->fixed + (done < decoder->window ? done : decoder->window);
}

/* -- parts --------------------------------------------------------------------------- */

int dw_codec_parts(uint32_t id, struct span in, struct codec_part **parts_out,
		   size_t *count_out, dwarfs_error **err)
{
	const struct codec_ops *ops = find_ops(id);

	*parts_out = NULL;
	*count_out = 0;
	if (!ops || !ops->parts)
		return 0;
	return ops->parts(in, parts_out, count_out, err);
}

bool dw_codec_may_have_parts(uint32_t id)
{
	const struct codec_ops *ops = find_ops(id);

	return ops && ops->parts;
}

int dw_decoder_new_part(uint32_t id, struct span in, const struct codec_part *part,
			uint8_t *out, struct decoder **decoder_out, dwarfs_error **err)
{
	auto_decoder struct decoder *decoder = NULL;
	const struct codec_ops *ops = find_ops(id);
	int ret;

	decoder = make_decoder(dw_codec_name(id), in, out, (size_t)part->size);
	if (!decoder)
		return dw_fail_nomem(err);
	if ((ret = ops->start_part(decoder, part, err)) < 0)
		return dw_explain(err, ret, "%s", decoder->name);
	decoder->ops = ops;
	*decoder_out = dw_steal(decoder);
	return 0;
}

/* -- packing ------------------------------------------------------------------------- */

int dw_codec_new(const struct codec_spec *spec, size_t block_bytes,
		 struct codec **codec_out, dwarfs_error **err)
{
	const struct codec_ops *ops = NULL;
	auto_codec struct codec *codec = NULL;
	int ret = find_packer(spec->id, &ops, err);

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
	free(codec);
}

void dw_codec_set_stop(struct codec *codec, const atomic_bool *stop)
{
	codec->watch.stop = stop;
}

void dw_codec_set_meter(struct codec *codec, atomic_uint_fast64_t *meter)
{
	codec->watch.meter = meter;
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
	const struct codec_ops *ops = find_ops(spec->id);

	return ops && ops->pack ? LEAST_BYTES + ops->memory(spec, block_bytes) : 0;
}

size_t dw_codec_reach(const struct codec_spec *spec, size_t block_bytes)
{
	const struct codec_ops *ops = find_ops(spec->id);
	size_t reach = ops ? ops->reach : 0;

	if (spec->id == CODEC_NONE)
		return 0;
	if (reach == 0 && spec->window_log > 0 && spec->window_log < 31)
		reach = (size_t)1 << spec->window_log;
	return reach != 0 && reach < block_bytes ? reach : block_bytes;
}

bool dw_codec_shrink(struct codec_spec *spec, size_t block_bytes)
{
	const struct codec_ops *ops = find_ops(spec->id);
	uint64_t before = dw_codec_memory(spec, block_bytes);
	struct codec_spec smaller = *spec;

	if (before <= LITTLE_BYTES || !ops->shrink ||
	    !ops->shrink(&smaller, block_bytes) ||
	    dw_codec_memory(&smaller, block_bytes) >= before)
		return false;
	*spec = smaller;
	return true;
}
