/* SPDX-License-Identifier: MIT */
/*
 * codec: finds a decoder by its number in the format, and calls it.
 *
 * Lists the codecs of the format. Those that the library was built without have a name, for
 * messages, but no functions. Encoders are listed in encode/encode.c.
 */
#include <string.h>

#include <dwarfs/image.h>

#include "codec/ops.h"
#include "config.h"
#include "format/thrift.h"

struct member {
	enum codec_id id;
	const char *name;	     /* as written on the command line */
	const char *format_name;     /* as in the format */
	const struct codec_ops *ops; /* NULL: not built in */
};

/* Both forms of LZ4 have the same decoder. */
static const struct member members[] = {
	{ CODEC_NONE, "null", "NONE", &dw_codec_none },
	{ CODEC_LZ4, "lz4", "LZ4", HAVE_LZ4 ? &dw_codec_lz4 : NULL },
	{ CODEC_LZ4HC, "lz4hc", "LZ4HC", HAVE_LZ4 ? &dw_codec_lz4 : NULL },
	{ CODEC_ZSTD, "zstd", "ZSTD", HAVE_ZSTD ? &dw_codec_zstd : NULL },
	{ CODEC_LZMA, "lzma", "LZMA", HAVE_LZMA ? &dw_codec_lzma : NULL },
	{ CODEC_BROTLI, "brotli", "BROTLI", HAVE_BROTLI ? &dw_codec_brotli : NULL },
	{ CODEC_FLAC, "flac", "FLAC", HAVE_FLAC ? &dw_codec_flac : NULL },
	{ CODEC_RICEPP, "ricepp", "RICEPP", &dw_codec_ricepp },
};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

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

bool dw_codec_find(const char *name, enum codec_id *id_out)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if (strcmp(members[i].name, name) == 0) {
			*id_out = members[i].id;
			return true;
		}
	}
	return false;
}

bool dw_codec_can_unpack(enum codec_id id)
{
	return find_ops(id) != NULL;
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

bool dw_codec_size_at_end(uint32_t id)
{
	const struct codec_ops *ops = find_ops(id);

	return ops && ops->size_at_end;
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
	dw_free(decoder);
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

/* -- unpacking what arrives in pieces ------------------------------------------------- */

bool dw_codec_can_be_fed(uint32_t id)
{
	const struct codec_ops *ops = find_ops(id);

	return ops && ops->feed;
}

int dw_decoder_new_fed(uint32_t id, uint8_t *out, size_t size,
		       struct decoder **decoder_out, dwarfs_error **err)
{
	auto_decoder struct decoder *decoder = NULL;
	const struct codec_ops *ops = find_ops(id);
	int ret;

	decoder = make_decoder(dw_codec_name(id), (struct span){ 0 }, out, size);
	if (!decoder)
		return dw_fail_nomem(err);
	if ((ret = ops->start_fed(decoder, err)) < 0)
		return dw_explain(err, ret, "%s", decoder->name);
	decoder->ops = ops;
	*decoder_out = dw_steal(decoder);
	return 0;
}

int dw_decoder_feed(struct decoder *decoder, struct span piece, bool is_last,
		    dwarfs_error **err)
{
	int ret = decoder->failed;

	if (ret < 0)
		return dw_fail(err, ret, "%s: unpacking has failed before",
			       decoder->name);
	ret = decoder->ops->feed(decoder, piece, is_last, err);
	decoder->failed = ret < 0 ? ret : 0;
	return ret < 0 ? dw_explain(err, ret, "%s", decoder->name) : 0;
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

bool dwarfs_has_codec(const char *name)
{
	for (size_t i = 0; name && i < MEMBER_COUNT; i++)
		if (strcasecmp(members[i].name, name) == 0)
			return members[i].ops && (!members[i].ops->is_usable ||
						  members[i].ops->is_usable());
	return false;
}
