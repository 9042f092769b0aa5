/* SPDX-License-Identifier: MIT */
/*
 * read/check/check: check a whole image and report all findings.
 *
 * Takes an open image. The rules of the tables are in check/rules.c; here sections are
 * read, verified and decompressed, several at once on the pool, and findings are
 * reported in the order of the sections.
 */
#include <dwarfs/metadata.h>

#include "base/progress.h"
#include "format/side/digest_table.h"
#include "format/side.h"
#include "hash/hash.h"
#include "pool/pool.h"
#include "read/image/image.h"
#include "read/salvage/salvage.h"

/* Larger blocks are hashed in pieces, unless they are decompressed. */
#define LARGE_BLOCK_BYTES ((uint64_t)2 << 20)

struct check {
	const dwarfs_image *image;
	int level;
	dwarfs_finding_fn finding;
	void *user;
	dwarfs_error **err;
	struct dwarfs_progress progress;
	uint64_t errors;
	int first_code;
	uint32_t *block_of_section; /* UINT32_MAX for sections that are not blocks */
	uint64_t *needed;	    /* by block: the end of the last chunk in it */
};

/* A section being checked. */
struct section_job {
	uint32_t section;
	uint64_t stored_bytes;
	dwarfs_error *error; /* its error, or NULL */
	int code;
	const char *warning; /* or a warning */
};

static void report_finding(struct check *check, int severity, int64_t section, int code,
			   const char *message)
{
	if (check->finding)
		check->finding(severity, code, section, message, check->user);
	if (severity != DWARFS_FINDING_ERROR)
		return;
	check->errors++;
	if (check->first_code == 0)
		check->first_code = dw_fail(check->err, code, "%s", message);
}

static void report_rule(void *user, int severity, const char *message)
{
	struct check *check = user;

	report_finding(check, severity, check->image->metadata,
		       severity == DWARFS_FINDING_ERROR ? DWARFS_ERR_CORRUPT : 0,
		       message);
}

/* The end of the last chunk in each block; the rules were checked before. */
static void measure_blocks(struct check *check)
{
	const struct view *view = check->image->view;

	for (uint64_t i = 0; i < view->chunks.count; i++) {
		struct file_chunk chunk;

		if (dw_view_chunk(view, i, &chunk, NULL) < 0 || chunk.is_hole ||
		    chunk.block >= check->image->block_count)
			continue;
		if (chunk.offset + chunk.bytes > check->needed[chunk.block])
			check->needed[chunk.block] = chunk.offset + chunk.bytes;
	}
}

/* A code that says nothing of the image, such as a lost connection of the source, is no
 * finding: it ends the check. */
static int stop_unless_damage(const dwarfs_image *image, int code, dwarfs_error **why,
			      dwarfs_error **err)
{
	if (dw_salvage_is_damage(image, code))
		return 0;
	return dw_callback_fail(code, why, err);
}

/* -- one section, on any thread ------------------------------------------------------ */

static int check_block_size(const struct check *check, uint32_t block, uint64_t size,
			    dwarfs_error **err)
{
	uint64_t limit = check->image->view->block_size;

	if (size > limit)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "block %" PRIu32 " has %" PRIu64 " bytes where %" PRIu64
			       " are the limit",
			       block, size, limit);
	if (size < check->needed[block])
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "block %" PRIu32 " has %" PRIu64
			       " bytes, and files need %" PRIu64,
			       block, size, check->needed[block]);
	return 0;
}

static int check_block(const struct check *check, uint32_t section,
		       const struct stored *stored, dwarfs_error **err)
{
	uint32_t block = check->block_of_section[section];
	auto_free uint8_t *data = NULL;
	uint64_t size;
	int ret;

	ret = dw_codec_unpacked_size(stored->header.compression,
				     dw_stored_payload(stored), &size, err);
	if (ret < 0 || (ret = check_block_size(check, block, size, err)) < 0)
		return dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section);
	if (check->level < DWARFS_CHECK_INTEGRITY)
		return 0;
	return dw_unpack_section(check->image, section, stored,
				 check->image->view->block_size, 0, &data, &size, err);
}

static int check_section_header(const struct check *check, uint32_t section,
				const struct section_header *header, dwarfs_error **err)
{
	const dwarfs_image *image = check->image;

	if (dw_image_is_v1(image) || header->number == section)
		return 0;
	/* Sections that the index does not list are before it, and have numbers. */
	if (image->has_index && section + 1 == image->section_count &&
	    header->number > section)
		return 0;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "section %" PRIu32 " has the number %" PRIu32, section,
		       header->number);
}

static int check_history_section(const dwarfs_image *image, uint32_t section,
				 dwarfs_error **err)
{
	if (image->sections[section].type != DWARFS_SECTION_HISTORY)
		return 0;
	return dw_history_check(image, section, err);
}

/* No block: of unknown type, it can have any size. */
static int check_other_section(const struct check *check, struct section_job *job,
			       dwarfs_error **err)
{
	const dwarfs_image *image = check->image;
	struct section_header header;
	int ret;

	if ((ret = dw_verify_in_pieces(image, job->section,
				       check->level >= DWARFS_CHECK_INTEGRITY, &header,
				       err)) < 0)
		return ret;
	job->stored_bytes = header.length;
	if ((ret = check_section_header(check, job->section, &header, err)) < 0)
		return ret;
	return check_history_section(image, job->section, err);
}

/* Whether a block is too large to be read as a whole by each worker, where that is not
 * needed. */
static bool is_large_block(const struct check *check, uint32_t section)
{
	const dwarfs_image *image = check->image;
	struct section_header header;

	return check->level == DWARFS_CHECK_CHECKSUMS && !image->salvage &&
	       !dw_image_is_v1(image) &&
	       image->sections[section].room > LARGE_BLOCK_BYTES &&
	       dw_locate_header(image, section, &header, NULL) == 0 &&
	       !dw_codec_size_at_end(header.compression);
}

static int check_large_block(const struct check *check, struct section_job *job,
			     dwarfs_error **err)
{
	struct section_header header;
	uint64_t size;
	int ret;

	ret = dw_verify_in_pieces(check->image, job->section, false, &header, err);
	if (ret < 0)
		return ret;
	job->stored_bytes = header.length;
	if ((ret = check_section_header(check, job->section, &header, err)) < 0)
		return ret;
	ret = dwarfs_image_section(check->image, job->section, DWARFS_SECTION_FIELD_BYTES,
				   &size, err);
	if (ret == 0)
		ret = check_block_size(check, check->block_of_section[job->section], size,
				       err);
	return ret < 0 ? dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", job->section)
		       : 0;
}

/* No reader needs the digests: as the history, they are not part of the metadata. */
static int check_side_section(const struct check *check, uint32_t section,
			      dwarfs_error **err)
{
	const dwarfs_image *image = check->image;
	uint32_t type = image->sections[section].type;
	struct digest_table digests;
	int ret = type == DWARFS_SECTION_XATTRS ? dw_image_need_xattrs(image, err)
		  : type == DWARFS_SECTION_DIGESTS && check->level > DWARFS_CHECK_METADATA
			  ? dw_image_need_digests(image, &digests, err)
			  : 0;

	return ret < 0 ? dw_explain(err, ret, "section %" PRIu32 " (%s)", section,
				    dwarfs_section_type_name(type))
		       : 0;
}

static int check_section(const struct check *check, struct section_job *job,
			 dwarfs_error **err)
{
	const dwarfs_image *image = check->image;
	auto_stored struct stored stored = { 0 };
	int ret;

	if ((ret = check_side_section(check, job->section, err)) < 0)
		return ret;
	if (check->level == DWARFS_CHECK_METADATA) {
		struct section_header header;

		if ((ret = dw_locate_header(image, job->section, &header, err)) < 0)
			return ret;
		return check_section_header(check, job->section, &header, err);
	}
	if (check->block_of_section[job->section] == UINT32_MAX && !image->salvage)
		return check_other_section(check, job, err);
	if (is_large_block(check, job->section))
		return check_large_block(check, job, err);
	if ((ret = dw_stored_read(image, job->section, &stored, err)) < 0)
		return ret;
	job->stored_bytes = stored.header.length;
	if ((ret = dw_verify_xxh3(image, job->section, &stored, err)) < 0)
		return ret;
	if (check->level >= DWARFS_CHECK_INTEGRITY &&
	    (ret = dw_verify_sha(image, job->section, &stored, err)) < 0)
		return ret;
	if ((ret = check_section_header(check, job->section, &stored.header, err)) < 0)
		return ret;
	if (check->block_of_section[job->section] != UINT32_MAX)
		return check_block(check, job->section, &stored, err);
	return check_history_section(image, job->section, err);
}

static int check_one_section(void *shared, void *worker, void *item, dwarfs_error **err)
{
	const struct check *check = shared;
	struct section_job *job = item;

	job->code = check_section(check, job, &job->error);
	return job->code < 0
		       ? stop_unless_damage(check->image, job->code, &job->error, err)
		       : 0;
}

/* -- the results, in order ----------------------------------------------------------- */

static bool is_known(uint32_t type)
{
	return dw_is_core_type(type) || dw_side_name(type);
}

static int section_done(void *shared, void *item, dwarfs_error **err)
{
	struct check *check = shared;
	struct section_job *job = item;
	uint32_t type = check->image->sections[job->section].type;

	if (job->code < 0) {
		report_finding(check, DWARFS_FINDING_ERROR, job->section, job->code,
			       dwarfs_error_message(job->error));
	} else if (!is_known(type)) {
		report_finding(check, DWARFS_FINDING_WARNING, job->section, 0,
			       "a section of unknown type is ignored");
	}
	check->progress.items_done++;
	check->progress.bytes_done += job->stored_bytes;
	return dw_progress_tick(&check->progress, err);
}

static void drop_section(void *shared, void *item)
{
	struct section_job *job = item;

	dwarfs_error_free(job->error);
	dw_free(job);
}

/* A section that salvage has not found: a thread for it takes longer than the check, and a damaged
 * number announces up to two million of them. */
static int check_lost_section(struct check *check, struct pool *pool, uint32_t section,
			      dwarfs_error **err)
{
	struct section_job job = { .section = section };
	int ret;

	if ((ret = dw_pool_finish(pool, err)) == 0 &&
	    (ret = check_one_section(check, NULL, &job, err)) == 0)
		ret = section_done(check, &job, err);
	dwarfs_error_free(job.error);
	return ret;
}

static int check_sections(struct check *check, dwarfs_error **err)
{
	static const struct pool_ops ops = { .run = check_one_section,
					     .done = section_done,
					     .drop = drop_section };
	uint32_t workers = dw_context_workers(check->image->context);
	auto_pool struct pool *pool = NULL;
	int ret;

	if ((ret = dw_pool_new(&ops, check, workers, workers + 1, &pool, err)) < 0)
		return ret;
	for (uint32_t i = 0; i < check->image->section_count; i++) {
		struct section_job *job;

		if (check->image->sections[i].type == DW_SECTION_LOST) {
			if ((ret = check_lost_section(check, pool, i, err)) < 0)
				return ret;
			continue;
		}
		if (!(job = dw_calloc(1, sizeof(*job))))
			return dw_fail_nomem(err);
		job->section = i;
		if ((ret = dw_pool_submit(pool, job, err)) < 0)
			return ret;
	}
	return dw_pool_finish(pool, err);
}

/* Schema and metadata were counted when the image was opened; there must be one index,
 * and opening must have been able to use it. */
static void check_index(struct check *check)
{
	const dwarfs_image *image = check->image;
	uint32_t indexes = 0;

	for (uint32_t i = 0; i < image->section_count; i++)
		indexes += image->sections[i].type == DWARFS_SECTION_INDEX;
	if (indexes > 1)
		report_finding(check, DWARFS_FINDING_ERROR, -1, DWARFS_ERR_CORRUPT,
			       "there is more than one section index");
	if (indexes > 0 && !image->has_index && !image->salvage &&
	    check->level > DWARFS_CHECK_METADATA)
		report_finding(check, DWARFS_FINDING_ERROR, -1, DWARFS_ERR_CORRUPT,
			       "the section index is damaged and was not used");
}

/* Values that no rule covers must at least be within the data. */
static int check_values(struct check *check, dwarfs_error **err)
{
	auto_error dwarfs_error *error = NULL;
	dwarfs_metadata *values = NULL;
	enum dwarfs_metadata_kind kind;
	int stop;
	int ret = dwarfs_metadata_new(check->image, &values, &error);

	while (ret >= 0 && (ret = dwarfs_metadata_next(values, &kind, &error)) > 0)
		if (dwarfs_metadata_depth(values) == 1 &&
		    dwarfs_metadata_field(values) <= MD_COMPACT_SYMLINKS)
			dwarfs_metadata_skip(values);
	dwarfs_metadata_free(values);
	if (ret >= 0)
		return 0;
	if ((stop = stop_unless_damage(check->image, ret, &error, err)) < 0)
		return stop;
	report_finding(check, DWARFS_FINDING_ERROR, check->image->metadata, ret,
		       dwarfs_error_message(error));
	return 0;
}

/* Each section was decoded on its own; together they have limits. */
static int check_history(struct check *check, dwarfs_error **err)
{
	auto_error dwarfs_error *error = NULL;
	dwarfs_history *history = NULL;
	uint32_t count = 0;
	int ret = 0, stop;

	for (uint32_t i = 0; i < check->image->section_count; i++)
		count += check->image->sections[i].type == DWARFS_SECTION_HISTORY;
	if (count > 1 && check->errors == 0 && check->level > DWARFS_CHECK_METADATA)
		ret = dwarfs_history_new(check->image, &history, &error);
	dwarfs_history_free(history);
	if (ret >= 0)
		return 0;
	if ((stop = stop_unless_damage(check->image, ret, &error, err)) < 0)
		return stop;
	report_finding(check, DWARFS_FINDING_ERROR, -1, ret, dwarfs_error_message(error));
	return 0;
}

/* A check of integrity that verified less must not pass. */
static int fail_unverified(struct check *check)
{
	static const char message[] =
		"SHA-512/256 of the sections was not verified, only XXH3: the library was "
		"built without nettle";

	if (check->level < DWARFS_CHECK_INTEGRITY || dw_image_is_v1(check->image) ||
	    dw_has_sha512_256())
		return 0;
	report_finding(check, DWARFS_FINDING_WARNING, -1, DWARFS_ERR_UNSUPPORTED,
		       message);
	return check->first_code < 0
		       ? 0
		       : dw_fail(check->err, DWARFS_ERR_UNSUPPORTED, "%s", message);
}

int dwarfs_image_check(const dwarfs_image *image, enum dwarfs_check_level level,
		       dwarfs_finding_fn finding, void *user, const dwarfs_task *task,
		       uint64_t *errors_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image)
		return dw_fail_null(err, "image");

	auto_free uint32_t *block_of_section = NULL;
	auto_free uint64_t *needed = NULL;
	struct check check = {
		.image = image,
		.level = level,
		.finding = finding,
		.user = user,
		.err = err,
	};
	int ret;

	if ((unsigned)level > DWARFS_CHECK_INTEGRITY)
		return dw_fail(err, DWARFS_ERR_RANGE, "check level %d does not exist",
			       level);
	block_of_section = dw_calloc(image->section_count, sizeof(*block_of_section));
	needed = dw_calloc(image->block_count, sizeof(*needed));
	if (!block_of_section || !needed)
		return dw_fail_nomem(err);
	memset(block_of_section, 0xff, image->section_count * sizeof(*block_of_section));
	for (uint32_t i = 0; i < image->block_count; i++)
		block_of_section[image->blocks[i]] = i;
	check.block_of_section = block_of_section;
	check.needed = needed;

	dw_progress_start(&check.progress, task);
	check.progress.items_total = image->section_count;
	check.progress.bytes_total = image->bytes;
	if ((ret = dw_progress_enter(&check.progress, DWARFS_PHASE_CHECK, err)) < 0)
		return ret;
	ret = dw_view_check(image->view, image->block_count, report_rule, &check, NULL);
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (check.errors == 0 && (ret = check_values(&check, err)) < 0)
		return ret;
	measure_blocks(&check);
	check_index(&check);
	if ((ret = check_sections(&check, err)) < 0)
		return ret;
	if ((ret = check_history(&check, err)) < 0)
		return ret;
	if (check.first_code == 0)
		dw_progress_done(&check.progress);
	ret = fail_unverified(&check);
	if (errors_out)
		*errors_out = check.errors;
	return ret < 0 ? ret : check.first_code;
}
