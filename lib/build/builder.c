/* SPDX-License-Identifier: MIT */
/*
 * build/builder: options and inputs. See <dwarfs/builder.h>.
 *
 * Each setter checks its own value. What a level chooses is looked up when the run
 * begins, so that the order of calls does not matter.
 */
#include <errno.h>
#include <string.h>

#include "build/builder.h"
#include "build/order/order.h"
#include "os/file.h"

#define DEFAULT_LEVEL	   7
#define MAX_LEVEL	   9
#define MIN_BLOCK_BITS	   10
#define MAX_BLOCK_BITS	   30
#define DEFAULT_UMASK	   022
#define MAX_RESOLUTION_SEC UINT32_MAX

/* -- levels -------------------------------------------------------------------------- */

/* Codecs from best to worst: the first that was built in is taken. */
struct codec_chain {
	const char *names[5];
};

static const struct codec_chain null_chain = { { "null" } };
static const struct codec_chain schema_chain = { { "zstd:level=16", "lzma:level=6",
						   "null" } };

struct level {
	uint32_t block_bits;
	struct codec_chain blocks, metadata;
	const char *order;
};

static const struct level levels[MAX_LEVEL + 1] = {
	{ 20, { { "null" } }, { { "null" } }, "none" },
	{ 20,
	  { { "lz4", "zstd:level=1", "lzma:level=1", "null" } },
	  { { "null" } },
	  "path" },
	{ 20,
	  { { "lz4hc:level=9", "zstd:level=4", "lzma:level=2", "null" } },
	  { { "null" } },
	  "path" },
	{ 21,
	  { { "lz4hc:level=9", "zstd:level=7", "lzma:level=3", "null" } },
	  { { "null" } },
	  "path" },
	{ 22,
	  { { "zstd:level=11", "lzma:level=3", "lz4hc:level=9", "null" } },
	  { { "null" } },
	  "path" },
	{ 23,
	  { { "zstd:level=19", "lzma:level=4", "lz4hc:level=9", "null" } },
	  { { "null" } },
	  "path" },
	{ 24,
	  { { "zstd:level=22", "lzma:level=5", "lz4hc:level=9", "null" } },
	  { { "null" } },
	  "path" },
	{ 24,
	  { { "zstd:level=22", "lzma:level=8", "lz4hc:level=9", "null" } },
	  { { "zstd:level=22", "lzma:level=9", "null" } },
	  "path" },
	{ 24,
	  { { "lzma:level=9", "zstd:level=22", "lz4hc:level=9", "null" } },
	  { { "lzma:level=9", "zstd:level=22", "null" } },
	  "path" },
	{ 26,
	  { { "lzma:level=9", "zstd:level=22", "lz4hc:level=9", "null" } },
	  { { "lzma:level=9", "zstd:level=22", "null" } },
	  "path" },
};

static struct codec_spec first_built_in(const struct codec_chain *chain)
{
	struct codec_spec spec = { .id = CODEC_NONE };

	for (size_t i = 0; chain->names[i]; i++)
		if (dw_codec_parse(chain->names[i], &spec, NULL) == 0)
			return spec;
	return (struct codec_spec){ .id = CODEC_NONE };
}

static void apply_level(dwarfs_builder *builder)
{
	const struct level *level = &levels[builder->level];
	struct build_options *options = &builder->options;
	const struct codec_chain *rest = builder->level ? &schema_chain : &null_chain;
	const struct codec_chain *chains[DW_CODEC_USES] = {
		[DWARFS_CODEC_BLOCKS] = &level->blocks,
		[DWARFS_CODEC_METADATA] = &level->metadata,
		[DWARFS_CODEC_SCHEMA] = rest,
		[DWARFS_CODEC_HISTORY] = rest,
	};

	if (!builder->block_bits_was_set)
		options->block_bits = level->block_bits;
	if (!builder->order_was_set)
		options->order = dw_order_find(level->order);
	for (int use = 0; use < DW_CODEC_USES; use++)
		if (!options->codec_was_set[use])
			options->codecs[use] = first_built_in(chains[use]);
}

/* -- life ---------------------------------------------------------------------------- */

int dwarfs_builder_new(dwarfs_context *context, dwarfs_builder **builder_out,
		       dwarfs_error **err)
{
	dwarfs_builder *builder = dw_calloc(1, sizeof(*builder));
	int ret;

	if (!builder)
		return dw_fail_nomem(err);
	if ((ret = dw_context_use(context, &builder->context, err)) < 0) {
		free(builder);
		return ret;
	}
	builder->root_fd = -1;
	builder->level = DEFAULT_LEVEL;
	builder->options = (struct build_options){
		.sparse_files = true,
		.umask = DEFAULT_UMASK,
		.resolution_ns = DW_NS_PER_SECOND,
		.packing = { .names = true, .symlinks = true },
		.hardlink_table = true,
		.section_index = true,
		.create_timestamp = true,
		.history = true,
		.history_timestamps = true,
	};
	*builder_out = builder;
	return 0;
}

void dwarfs_builder_free(dwarfs_builder *builder)
{
	struct build_options *options;

	if (!builder)
		return;
	options = &builder->options;
	dw_mode_change_free(&options->chmod);
	for (size_t i = 0; i < options->argument_count; i++)
		free(options->arguments[i]);
	free(options->arguments);
	dw_buffer_free(&options->header);
	dw_fd_close(builder->root_fd);
	free(builder->root_path);
	dwarfs_context_free(builder->context);
	free(builder);
}

/* -- how blocks are made ------------------------------------------------------------- */

int dwarfs_builder_set_level(dwarfs_builder *builder, uint32_t level, dwarfs_error **err)
{
	if (level > MAX_LEVEL)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "invalid compression level %" PRIu32 ": it is 0 to %d",
			       level, MAX_LEVEL);
	builder->level = level;
	return 0;
}

int dwarfs_builder_set_block_bits(dwarfs_builder *builder, uint32_t bits,
				  dwarfs_error **err)
{
	if (bits < MIN_BLOCK_BITS || bits > MAX_BLOCK_BITS)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "block size must be between %d and %d bits, not %" PRIu32,
			       MIN_BLOCK_BITS, MAX_BLOCK_BITS, bits);
	builder->options.block_bits = bits;
	builder->block_bits_was_set = true;
	return 0;
}

int dwarfs_builder_set_codec(dwarfs_builder *builder, int use, const char *codec,
			     dwarfs_error **err)
{
	struct codec_spec spec;
	int ret;

	if (use < 0 || use >= DW_CODEC_USES)
		return dw_fail(err, DWARFS_ERR_INVALID, "no sections of kind %d", use);
	if ((ret = dw_codec_parse(codec, &spec, err)) < 0)
		return ret;
	builder->options.codecs[use] = spec;
	builder->options.codec_was_set[use] = true;
	return 0;
}

int dwarfs_builder_set_order(dwarfs_builder *builder, const char *order,
			     dwarfs_error **err)
{
	const struct order_ops *found = dw_order_find(order);

	if (!found)
		return dw_fail(err, DWARFS_ERR_INVALID, "invalid inode order mode: %s",
			       order);
	builder->options.order = found;
	builder->order_was_set = true;
	return 0;
}

/* -- what is stored of each entry ---------------------------------------------------- */

void dwarfs_builder_set_devices(dwarfs_builder *builder, bool store)
{
	builder->options.devices = store;
}

void dwarfs_builder_set_specials(dwarfs_builder *builder, bool store)
{
	builder->options.specials = store;
}

void dwarfs_builder_set_sparse_files(dwarfs_builder *builder, bool store)
{
	builder->options.sparse_files = store;
}

void dwarfs_builder_set_owner(dwarfs_builder *builder, uint32_t uid)
{
	builder->options.set_uid = true;
	builder->options.uid = uid;
}

void dwarfs_builder_set_group(dwarfs_builder *builder, uint32_t gid)
{
	builder->options.set_gid = true;
	builder->options.gid = gid;
}

int dwarfs_builder_set_time(dwarfs_builder *builder, uint64_t seconds,
			    uint32_t nanoseconds, dwarfs_error **err)
{
	if (seconds > INT64_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "time %" PRIu64 " is out of range",
			       seconds);
	if (nanoseconds >= DW_NS_PER_SECOND)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " nanoseconds are no fraction of a second",
			       nanoseconds);
	builder->options.set_time = true;
	builder->options.time = (struct os_time){ (int64_t)seconds, nanoseconds };
	return 0;
}

int dwarfs_builder_set_chmod(dwarfs_builder *builder, const char *modes,
			     dwarfs_error **err)
{
	struct mode_change change;
	int ret = dw_mode_change_parse(modes, &change, err);

	if (ret < 0)
		return ret;
	dw_mode_change_free(&builder->options.chmod);
	builder->options.chmod = change;
	return 0;
}

int dwarfs_builder_set_umask(dwarfs_builder *builder, uint32_t umask, dwarfs_error **err)
{
	if (umask > 0777)
		return dw_fail(err, DWARFS_ERR_RANGE, "umask %" PRIo32 " is over 777",
			       umask);
	builder->options.umask = umask;
	return 0;
}

int dwarfs_builder_set_time_resolution(dwarfs_builder *builder, uint64_t resolution_ns,
				       dwarfs_error **err)
{
	if (resolution_ns == 0)
		return dw_fail(err, DWARFS_ERR_RANGE, "time resolution must be nonzero");
	if (resolution_ns < DW_NS_PER_SECOND && DW_NS_PER_SECOND % resolution_ns != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64
			       " ns does not divide one second",
			       resolution_ns);
	if (resolution_ns > DW_NS_PER_SECOND && resolution_ns % DW_NS_PER_SECOND != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64
			       " ns is not a whole number of seconds",
			       resolution_ns);
	if (resolution_ns / DW_NS_PER_SECOND > MAX_RESOLUTION_SEC)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution of %" PRIu64 " ns is too coarse",
			       resolution_ns);
	builder->options.resolution_ns = resolution_ns;
	return 0;
}

void dwarfs_builder_set_keep_all_times(dwarfs_builder *builder, bool keep)
{
	builder->options.keep_all_times = keep;
}

/* -- what is stored of the image ----------------------------------------------------- */

static const struct build_packing pack_auto = { .names = true, .symlinks = true };
static const struct build_packing pack_all = {
	.chunk_table = true,
	.directories = true,
	.shared_files = true,
	.names = true,
	.names_index = true,
	.symlinks = true,
	.symlinks_index = true,
};

static bool set_packing(struct build_packing *packing, const char *word, size_t length)
{
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {
		{ "chunk_table", &packing->chunk_table },
		{ "directories", &packing->directories },
		{ "shared_files", &packing->shared_files },
		{ "names", &packing->names },
		{ "names_index", &packing->names_index },
		{ "symlinks", &packing->symlinks },
		{ "symlinks_index", &packing->symlinks_index },
		{ "force", &packing->force },
		{ "plain", &packing->plain },
	};

	if (length == 3 && memcmp(word, "all", 3) == 0) {
		bool force = packing->force, plain = packing->plain;

		*packing = pack_all;
		packing->force = force;
		packing->plain = plain;
		return true;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strlen(flags[i].word) == length &&
		    memcmp(flags[i].word, word, length) == 0) {
			*flags[i].flag = true;
			return true;
		}
	}
	return false;
}

int dwarfs_builder_set_pack_metadata(dwarfs_builder *builder, const char *words,
				     dwarfs_error **err)
{
	struct build_packing packing = { 0 };

	if (strcmp(words, "none") == 0 || strcmp(words, "auto") == 0) {
		builder->options.packing = *words == 'a' ? pack_auto : packing;
		return 0;
	}
	for (const char *word = words;; word++) {
		size_t length = strcspn(word, ",");

		if (!set_packing(&packing, word, length))
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "no such way to pack metadata: '%.*s'",
				       (int)length, word);
		word += length;
		if (*word == '\0')
			break;
	}
	builder->options.packing = packing;
	return 0;
}

void dwarfs_builder_set_hardlink_table(dwarfs_builder *builder, bool store)
{
	builder->options.hardlink_table = store;
}

void dwarfs_builder_set_section_index(dwarfs_builder *builder, bool write)
{
	builder->options.section_index = write;
}

void dwarfs_builder_set_create_timestamp(dwarfs_builder *builder, bool store)
{
	builder->options.create_timestamp = store;
}

void dwarfs_builder_set_history(dwarfs_builder *builder, bool write)
{
	builder->options.history = write;
}

void dwarfs_builder_set_history_timestamps(dwarfs_builder *builder, bool store)
{
	builder->options.history_timestamps = store;
}

int dwarfs_builder_add_history_argument(dwarfs_builder *builder, const char *argument,
					dwarfs_error **err)
{
	struct build_options *options = &builder->options;
	auto_free char *copy = strdup(argument);
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if ((ret = dw_grow(&options->arguments, &options->argument_room,
			   options->argument_count + 1, err)) < 0)
		return ret;
	options->arguments[options->argument_count++] = dw_steal(copy);
	return 0;
}

int dwarfs_builder_set_header(dwarfs_builder *builder, const void *data, size_t bytes,
			      dwarfs_error **err)
{
	auto_buffer struct buffer header = { 0 };
	int ret = dw_buffer_append(&header, data, bytes, err);

	if (ret < 0)
		return ret;
	dw_buffer_free(&builder->options.header);
	builder->options.header = header;
	header = (struct buffer){ 0 };
	return 0;
}

/* -- input --------------------------------------------------------------------------- */

int dwarfs_builder_add_directory(dwarfs_builder *builder, const char *path,
				 dwarfs_error **err)
{
	auto_free char *copy = strdup(path);
	auto_fd int fd = -1;
	int ret;

	if (!copy)
		return dw_fail_nomem(err);
	if (builder->root_fd >= 0)
		return dw_fail(err, DWARFS_ERR_INVALID, "there is an input already: '%s'",
			       builder->root_path);
	ret = dw_dir_open(path, &fd);
	if (ret == -ENOTDIR)
		ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' must be a directory", path);
	else if (ret < 0)
		ret = dw_fail_errno(err, -ret, "cannot open '%s'", path);
	if (ret < 0)
		return dw_error_at_path(err, ret, path);
	for (size_t end = strlen(copy); end > 1 && copy[end - 1] == '/';)
		copy[--end] = '\0'; /* for messages: "dir/", then the rest */
	builder->root_fd = fd;
	fd = -1;
	builder->root_path = dw_steal(copy);
	return 0;
}

/* -- run ----------------------------------------------------------------------------- */

void dwarfs_builder_set_progress(dwarfs_builder *builder, dwarfs_progress_fn progress,
				 void *user)
{
	builder->progress = progress;
	builder->progress_user = user;
}

void dwarfs_builder_set_cancel(dwarfs_builder *builder, dwarfs_cancel *cancel)
{
	builder->cancel = cancel;
}

static int begin(dwarfs_builder *builder, dwarfs_error **err)
{
	if (builder->root_fd < 0)
		return dw_fail(err, DWARFS_ERR_INVALID, "there is no input");
	if (builder->ran)
		return dw_fail(err, DWARFS_ERR_INVALID, "a builder runs only once");
	apply_level(builder);
	return 0;
}

static int run(dwarfs_builder *builder, struct output *output, dwarfs_error **err)
{
	builder->ran = true;
	return dw_build(builder, output, err);
}

int dwarfs_builder_write_path(dwarfs_builder *builder, const char *path, bool overwrite,
			      dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_create(path, overwrite, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

int dwarfs_builder_write_fd(dwarfs_builder *builder, int fd, dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_to_fd(fd, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

int dwarfs_builder_write_callback(dwarfs_builder *builder, dwarfs_write_fn write,
				  void *user, dwarfs_error **err)
{
	auto_output struct output *output = NULL;
	int ret;

	if ((ret = begin(builder, err)) < 0 ||
	    (ret = dw_output_to_function(write, user, &output, err)) < 0)
		return ret;
	return run(builder, output, err);
}

uint64_t dwarfs_builder_count(const dwarfs_builder *builder, int count)
{
	if (count < 0 || count >= DW_COUNT_KINDS)
		return 0;
	return builder->counts[count];
}
