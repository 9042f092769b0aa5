/* SPDX-License-Identifier: MIT */
/*
 * write/options/metadata_options: setters for the stored attributes and for the metadata
 * of the image. See <dwarfs/builder.h>.
 */
#include <string.h>

#include "write/builder.h"

#define MAX_RESOLUTION_SEC UINT32_MAX

/* -- attributes of an entry ---------------------------------------------------------- */

void dwarfs_builder_set_devices(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.devices = store;
}

void dwarfs_builder_set_specials(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.specials = store;
}

void dwarfs_builder_set_sparse_files(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.sparse_files = store;
}

void dwarfs_builder_set_owner(dwarfs_builder *builder, uint32_t uid)
{
	if (!builder)
		return;
	builder->options.set_uid = true;
	builder->options.uid = uid;
}

void dwarfs_builder_set_group(dwarfs_builder *builder, uint32_t gid)
{
	if (!builder)
		return;
	builder->options.set_gid = true;
	builder->options.gid = gid;
}

int dwarfs_builder_set_time(dwarfs_builder *builder, int64_t seconds,
			    uint32_t nanoseconds, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (nanoseconds >= DW_NS_PER_SECOND)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "%" PRIu32 " nanoseconds: must be below 1000000000",
			       nanoseconds);
	builder->options.set_time = true;
	builder->options.time = (struct os_time){ seconds, nanoseconds };
	return 0;
}

int dwarfs_builder_set_chmod(dwarfs_builder *builder, const char *modes,
			     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !modes)
		return dw_fail_null(err, "builder and modes");
	if (builder->ran)
		return dw_fail_ran(err);

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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (umask > 0777)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "umask %" PRIo32 ": must be at most 777", umask);
	builder->options.umask = umask;
	return 0;
}

int dwarfs_builder_set_time_resolution(dwarfs_builder *builder, uint64_t resolution_ns,
				       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (resolution_ns == 0)
		return dw_fail(err, DWARFS_ERR_RANGE, "time resolution must be nonzero");
	if (resolution_ns < DW_NS_PER_SECOND && DW_NS_PER_SECOND % resolution_ns != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution below one second must divide a second "
			       "evenly (such as 1ms, 250ms or 500ms), but %" PRIu64
			       " ns does not",
			       resolution_ns);
	if (resolution_ns > DW_NS_PER_SECOND && resolution_ns % DW_NS_PER_SECOND != 0)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution above one second must be a whole number "
			       "of seconds, but %" PRIu64 " ns is not",
			       resolution_ns);
	if (resolution_ns / DW_NS_PER_SECOND > MAX_RESOLUTION_SEC)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "time resolution must be at most %" PRIu64
			       " seconds, but is %" PRIu64,
			       (uint64_t)MAX_RESOLUTION_SEC,
			       resolution_ns / DW_NS_PER_SECOND);
	builder->options.resolution_ns = resolution_ns;
	builder->options.resolution_was_set = true;
	return 0;
}

void dwarfs_builder_set_keep_all_times(dwarfs_builder *builder, bool keep)
{
	if (!builder)
		return;
	builder->options.keep_all_times = keep;
}

void dwarfs_builder_set_keep_birth_times(dwarfs_builder *builder, bool keep)
{
	if (!builder)
		return;
	builder->options.keep_birth_times = keep;
}

void dwarfs_builder_set_xattrs(dwarfs_builder *builder, bool keep)
{
	if (!builder)
		return;
	builder->options.xattrs.drop = !keep;
}

int dwarfs_builder_add_xattr_rule(dwarfs_builder *builder, bool include, const char *glob,
				  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !glob)
		return dw_fail_null(err, "builder and glob");
	if (builder->ran)
		return dw_fail_ran(err);
	return dw_xattr_rules_add(&builder->options.xattrs, include, glob, err);
}

/* -- metadata of the image ----------------------------------------------------------- */

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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !words)
		return dw_fail_null(err, "builder and words");
	if (builder->ran)
		return dw_fail_ran(err);

	struct build_packing packing = { 0 };

	if (strcmp(words, "none") == 0 || strcmp(words, "auto") == 0) {
		builder->options.packing = *words == 'a' ? dw_packing_auto() : packing;
		return 0;
	}
	for (const char *word = words;; word++) {
		size_t length = strcspn(word, ",");

		if (length == 4 &&
		    (memcmp(word, "none", 4) == 0 || memcmp(word, "auto", 4) == 0))
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "'%.4s' cannot be combined with other words",
				       word);
		if (!set_packing(&packing, word, length))
			return dw_fail(
				err, DWARFS_ERR_INVALID,
				"unknown word '%.*s': use auto, none, all, or some "
				"of chunk_table, directories, shared_files, "
				"names, names_index, symlinks, symlinks_index, "
				"force and plain, separated by commas",
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
	if (!builder)
		return;
	builder->options.hardlink_table = store;
}

void dwarfs_builder_set_section_index(dwarfs_builder *builder, bool write)
{
	if (!builder)
		return;
	builder->options.section_index = write;
}

void dwarfs_builder_set_create_timestamp(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.create_timestamp = store;
}

void dwarfs_builder_set_history(dwarfs_builder *builder, bool write)
{
	if (!builder)
		return;
	builder->options.history = write;
}

void dwarfs_builder_set_history_timestamps(dwarfs_builder *builder, bool store)
{
	if (!builder)
		return;
	builder->options.history_timestamps = store;
}

int dwarfs_builder_add_history_argument(dwarfs_builder *builder, const char *argument,
					dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !argument)
		return dw_fail_null(err, "builder and argument");
	if (builder->ran)
		return dw_fail_ran(err);

	struct build_options *options = &builder->options;
	auto_free char *copy = dw_strdup(argument);
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
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || (!data && bytes > 0))
		return dw_fail_null(err, "builder and data");
	if (builder->ran)
		return dw_fail_ran(err);

	auto_buffer struct buffer header = { 0 };
	int ret = dw_buffer_append(&header, data, bytes, err);

	if (ret < 0)
		return ret;
	dw_buffer_free(&builder->options.header);
	builder->options.header = header;
	header = (struct buffer){ 0 };
	return 0;
}

int dwarfs_builder_set_digests(dwarfs_builder *builder, enum dwarfs_digests_use use,
			       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if (use != DWARFS_DIGESTS_AUTO && use != DWARFS_DIGESTS_ALWAYS &&
	    use != DWARFS_DIGESTS_NEVER)
		return dw_fail(err, DWARFS_ERR_RANGE, "no such use of digests: %d",
			       (int)use);
	builder->options.digests = use;
	return 0;
}

void dwarfs_builder_set_trust_digests(dwarfs_builder *builder, bool trust)
{
	if (!builder)
		return;
	builder->options.trust_digests = trust;
}
