/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/salvage: the sections of a damaged image.
 *
 * Takes sections as they were found; gives those whose hashes can be verified. A damaged
 * header is corrected if its hash matches with the values it should have; a damaged
 * hash, if the other hash matches. What cannot be verified is lost if it is a block, and
 * used unverified if it is metadata.
 */
#include "base/context.h"
#include "hash/hash.h"
#include "read/image/opening.h"
#include "read/salvage/header_scan.h"

/* The largest block that the format allows. */
#define MOST_BLOCK_BYTES (UINT64_C(1) << 30)

#define HEADER_NUMBER	   0x30
#define HEADER_TYPE	   0x34
#define HEADER_COMPRESSION 0x36
#define HEADER_LENGTH	   0x38

struct salvage *dw_salvage_new(int mode)
{
	struct salvage *salvage = dw_calloc(1, sizeof(*salvage));

	if (!salvage)
		return NULL;
	salvage->mode = mode;
	atomic_init(&salvage->metadata_is_damaged, false);
	return salvage;
}

void dw_salvage_free(struct salvage *salvage)
{
	if (!salvage)
		return;
	dw_free(salvage->lost);
	dw_free(salvage);
}

int dw_salvage_ready(struct dwarfs_image *image, dwarfs_error **err)
{
	image->salvage->lost = dw_calloc(image->block_count, 1);
	return image->salvage->lost ? 0 : dw_fail_nomem(err);
}

bool dw_salvage_is_damage(const struct dwarfs_image *image, int code)
{
	uint64_t start;

	switch (code) {
	case DWARFS_ERR_CORRUPT:
	case DWARFS_ERR_CHECKSUM:
	case DWARFS_ERR_NOT_IMAGE:
	case DWARFS_ERR_UNSUPPORTED:
		return true;
	case DWARFS_ERR_IO: /* of a callback it may succeed later */
		return dw_io_fd(image->io, &start) >= 0;
	default:
		return false;
	}
}

/* -- verification -------------------------------------------------------------------- */

/* The bytes of a section, with its header, and the values it should have. */
struct suspect {
	uint8_t *bytes;
	uint64_t room;
	uint32_t number, type; /* expected values; the type may be DW_SECTION_LOST */
	uint32_t minor;
};

static uint64_t length_of(const struct suspect *suspect)
{
	return dw_load64(suspect->bytes + HEADER_LENGTH);
}

static bool length_fits(const struct suspect *suspect)
{
	return length_of(suspect) <= suspect->room - DW_HEADER_BYTES;
}

static uint64_t xxh3_of(const struct suspect *suspect)
{
	return dw_xxh3_64(suspect->bytes + DW_HEADER_XXH3_FROM,
			  DW_HEADER_BYTES - DW_HEADER_XXH3_FROM +
				  (size_t)length_of(suspect));
}

static bool xxh3_matches(const struct suspect *suspect)
{
	return length_fits(suspect) &&
	       xxh3_of(suspect) == dw_load64(suspect->bytes + DW_HEADER_XXH3_AT);
}

/* Try all codecs, that of the header first. */
static bool try_codecs(const struct suspect *suspect)
{
	uint8_t *at = suspect->bytes + HEADER_COMPRESSION;
	const uint16_t named = dw_load16(at);

	if (xxh3_matches(suspect))
		return true;
	for (uint16_t codec = 0; dw_codec_is_known(codec); codec++) {
		dw_store16(at, codec);
		if (codec != named && xxh3_matches(suspect))
			return true;
	}
	dw_store16(at, named);
	return false;
}

static bool try_types(const struct suspect *suspect)
{
	static const uint16_t known[] = {
		DWARFS_SECTION_BLOCK,	DWARFS_SECTION_SCHEMA, DWARFS_SECTION_METADATA,
		DWARFS_SECTION_HISTORY, DWARFS_SECTION_INDEX,
	};
	uint8_t *at = suspect->bytes + HEADER_TYPE;
	const uint16_t named = dw_load16(at);

	if (try_codecs(suspect))
		return true;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const bool may_be =
			suspect->type == DW_SECTION_LOST || suspect->type == known[i];

		if (known[i] == named || !may_be)
			continue;
		dw_store16(at, known[i]);
		if (try_codecs(suspect))
			return true;
	}
	dw_store16(at, named);
	return false;
}

/* Try the expected number and length. */
static bool try_fields(const struct suspect *suspect)
{
	uint8_t *number = suspect->bytes + HEADER_NUMBER;
	uint8_t *length = suspect->bytes + HEADER_LENGTH;
	const uint32_t old_number = dw_load32(number);
	const uint64_t old_length = dw_load64(length);

	for (int tries = 0; tries < 4; tries++) {
		dw_store32(number, tries & 1 ? suspect->number : old_number);
		dw_store64(length,
			   tries & 2 ? suspect->room - DW_HEADER_BYTES : old_length);
		if (try_types(suspect))
			return true;
	}
	dw_store32(number, old_number);
	dw_store64(length, old_length);
	return false;
}

static bool header_is_odd(const struct suspect *suspect)
{
	struct section_header header;

	return !dw_section_header_parse(suspect->bytes, &header) ||
	       header.minor != suspect->minor || header.number != suspect->number ||
	       header.type != suspect->type ||
	       header.length != suspect->room - DW_HEADER_BYTES;
}

/* The other hash covers the damaged one: correct that, and compare. */
static bool sha_matches(const struct suspect *suspect)
{
	uint8_t digest[DW_SHA512_256_BYTES];
	uint8_t *at = suspect->bytes + DW_HEADER_XXH3_AT;
	const uint64_t old = dw_load64(at);
	struct span covered;

	if (!length_fits(suspect) || !dw_has_sha512_256())
		return false;
	dw_store64(at, xxh3_of(suspect));
	covered = (struct span){ suspect->bytes + DW_HEADER_SHA_FROM,
				 DW_HEADER_BYTES - DW_HEADER_SHA_FROM +
					 (size_t)length_of(suspect) };
	dw_sha512_256(covered, (struct span){ 0 }, digest);
	if (memcmp(digest, suspect->bytes + DW_HEADER_SHA_AT, sizeof(digest)) == 0)
		return true;
	dw_store64(at, old);
	return false;
}

static bool matches_any_hash(const struct suspect *suspect)
{
	if (xxh3_matches(suspect) || sha_matches(suspect))
		return true;
	return header_is_odd(suspect) ? try_fields(suspect) : try_codecs(suspect);
}

int dw_salvage_is_section(const struct dwarfs_image *image, uint64_t at, uint64_t room,
			  uint32_t number, dwarfs_error **err)
{
	auto_free uint8_t *bytes = room <= SIZE_MAX ? dw_malloc((size_t)room) : NULL;
	const struct suspect suspect = {
		.bytes = bytes,
		.room = room,
		.number = number,
		.type = DW_SECTION_LOST,
		.minor = image->minor,
	};

	int ret;

	if (!bytes || room < DW_HEADER_BYTES)
		return 0;
	ret = dw_scan_get(image, bytes, (size_t)room, at, err);
	return ret <= 0 ? ret : matches_any_hash(&suspect);
}

/* -- reading ------------------------------------------------------------------------- */

/* No codec makes more of a block than this. */
static bool exceeds_block_size(const struct dwarfs_image *image,
			       const struct section *section)
{
	return section->type == DWARFS_SECTION_BLOCK && image->view &&
	       section->room > 2 * image->view->block_size + (1 << 20);
}

static int read_bytes(const struct dwarfs_image *image, uint32_t number,
		      struct stored *stored, dwarfs_error **err)
{
	const struct section *section = &image->sections[number];

	stored->header_bytes = dw_image_header_bytes(image);
	stored->io = image->io;
	if (section->room < stored->header_bytes || exceeds_block_size(image, section) ||
	    section->room > SIZE_MAX - DW_FROZEN_PADDING)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 " was not found", number);
	stored->owned = dw_malloc((size_t)section->room + DW_FROZEN_PADDING);
	if (!stored->owned)
		return dw_fail_nomem(err);
	stored->bytes = stored->owned;
	memset(stored->owned + section->room, 0, DW_FROZEN_PADDING);
	return dwarfs_io_read(image->io, stored->owned, (size_t)section->room,
			      image->start + section->offset, err);
}

/* Without hashes only the decoder can verify. */
static int prove_v1(const struct dwarfs_image *image, uint32_t number,
		    struct stored *stored, dwarfs_error **err)
{
	auto_free uint8_t *data = NULL;
	uint64_t size;

	dw_section_header_parse_v1(stored->bytes, &stored->header);
	stored->header.minor = image->minor;
	if (stored->header.length > image->sections[number].room - DW_V1_HEADER_BYTES)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 " runs past the end", number);
	if (stored->header.type != DWARFS_SECTION_BLOCK || !image->view)
		return 0;
	return dw_unpack_section(image, number, stored, image->view->block_size, 0, &data,
				 &size, err);
}

static int read_proved(const struct dwarfs_image *image, uint32_t number,
		       struct stored *stored, dwarfs_error **err)
{
	struct suspect suspect = {
		.room = image->sections[number].room,
		.number = number,
		.type = image->sections[number].type,
		.minor = image->minor,
	};
	int ret = read_bytes(image, number, stored, err);
	bool is_proved;

	if (ret < 0)
		return ret;
	if (dw_image_is_v1(image))
		return prove_v1(image, number, stored, err);
	suspect.bytes = stored->owned;
	is_proved = matches_any_hash(&suspect);
	memcpy(stored->owned, DW_MAGIC, DW_MAGIC_BYTES);
	stored->owned[6] = DW_FORMAT_MAJOR;
	stored->owned[7] = (uint8_t)image->minor;
	dw_section_header_parse(stored->owned, &stored->header);
	if (is_proved)
		return 0;
	return dw_fail(err, DWARFS_ERR_CHECKSUM,
		       "section %" PRIu32 " (%s) at offset %" PRIu64
		       ": its hashes do not match",
		       number, dwarfs_section_type_name(suspect.type),
		       image->sections[number].offset);
}

/* -- lost sections ------------------------------------------------------------------- */

/* Sections of blocks are in ascending order. */
static uint32_t block_of(const struct dwarfs_image *image, uint32_t section)
{
	uint32_t low = 0, high = image->block_count;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (image->blocks[middle] <= section)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A block that could not be read before is read. */
static void regain_block(const struct dwarfs_image *image, uint32_t section)
{
	atomic_uchar *lost = &image->salvage->lost[block_of(image, section)];

	if (atomic_load_explicit(lost, memory_order_relaxed))
		atomic_store(lost, 0);
}

static int lose_block(const struct dwarfs_image *image, uint32_t section,
		      struct stored *stored, int code, dwarfs_error *why,
		      dwarfs_error **err)
{
	const uint32_t block = block_of(image, section);

	if (!atomic_exchange(&image->salvage->lost[block], 1))
		dw_log(image->context, DWARFS_LOG_WARN, "block %" PRIu32 " is lost: %s",
		       block, dwarfs_error_message(why));
	dw_stored_free(stored);
	if (image->salvage->mode != DWARFS_SALVAGE_ZEROS || !image->view)
		return dw_error_copy(err, code, why);
	stored->header_bytes = dw_image_header_bytes(image);
	stored->owned =
		dw_calloc(1, stored->header_bytes + (size_t)image->view->block_size);
	if (!stored->owned)
		return dw_fail_nomem(err);
	stored->bytes = stored->owned;
	stored->io = image->io;
	stored->header = (struct section_header){
		.minor = image->minor,
		.type = DWARFS_SECTION_BLOCK,
		.compression = CODEC_NONE,
		.number = section,
		.length = image->view->block_size,
	};
	return 0;
}

/* Names that may be wrong are better than none. */
static int trust(const struct dwarfs_image *image, uint32_t section,
		 struct stored *stored, dwarfs_error *why)
{
	const uint64_t most = image->sections[section].room - stored->header_bytes;

	dw_log(image->context, DWARFS_LOG_WARN,
	       "%s; names, attributes and contents may be wrong",
	       dwarfs_error_message(why));
	atomic_store(&image->salvage->metadata_is_damaged, true);
	stored->header.type = image->sections[section].type;
	if (stored->header.length > most)
		stored->header.length = most;
	return 0;
}

int dw_salvage_read(const struct dwarfs_image *image, uint32_t section,
		    struct stored *stored_out, dwarfs_error **err)
{
	auto_stored struct stored stored = { 0 };
	auto_error dwarfs_error *why = NULL;
	const uint32_t type = image->sections[section].type;
	int ret = read_proved(image, section, &stored, &why);

	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (ret == 0 && type == DWARFS_SECTION_BLOCK)
		regain_block(image, section);
	else if (ret < 0 && type == DWARFS_SECTION_BLOCK)
		ret = lose_block(image, section, &stored, ret, why, err);
	else if (ret == DWARFS_ERR_CHECKSUM &&
		 (type == DWARFS_SECTION_SCHEMA || type == DWARFS_SECTION_METADATA))
		ret = trust(image, section, &stored, why);
	else if (ret < 0)
		ret = dw_error_copy(err, ret, why);
	if (ret < 0)
		return ret;
	stored.is_proved = true;
	stored.taken.size = stored.header.length;
	*stored_out = stored;
	stored = (struct stored){ 0 };
	return 0;
}

int dw_salvage_header(const struct dwarfs_image *image, uint32_t section,
		      struct section_header *header_out, dwarfs_error **err)
{
	const struct section *known = &image->sections[section];
	const size_t header_bytes = dw_image_header_bytes(image);
	uint8_t bytes[DW_HEADER_BYTES];
	int ret = 0;

	if (known->room >= header_bytes)
		ret = dw_scan_get(image, bytes, header_bytes, known->offset, err);
	if (ret < 0)
		return ret;
	if (ret > 0) {
		if (dw_image_is_v1(image))
			dw_section_header_parse_v1(bytes, header_out);
		else
			ret = dw_section_header_parse(bytes, header_out);
		header_out->minor = image->minor;
	}
	if (ret > 0 && header_out->type == known->type &&
	    header_out->length <= known->room - header_bytes)
		return 0;
	*header_out = (struct section_header){
		.minor = image->minor,
		.type = known->type,
		.compression = CODEC_NONE,
		.number = section,
		.length = known->room > header_bytes ? known->room - header_bytes : 0,
	};
	return 0;
}

int dw_salvage_xattrs(struct dwarfs_image *image, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret;

	if (!image->salvage || image->xattr_sections == 0)
		return 0;
	ret = dw_image_need_xattrs(image, &why);
	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	if (ret < 0) {
		dw_log(image->context, DWARFS_LOG_WARN,
		       "the extended attributes are lost: %s", dwarfs_error_message(why));
		image->xattr_sections = 0;
	}
	return 0;
}

/* -- reporting ----------------------------------------------------------------------- */

bool dwarfs_image_block_is_lost(const dwarfs_image *image, uint32_t block)
{
	if (!image)
		return false;
	return image->salvage && block < image->block_count &&
	       atomic_load(&image->salvage->lost[block]) != 0;
}

bool dwarfs_image_metadata_is_damaged(const dwarfs_image *image)
{
	if (!image)
		return false;
	return image->salvage && atomic_load(&image->salvage->metadata_is_damaged);
}

int dwarfs_file_lost_bytes(const dwarfs_image *image, dwarfs_inode inode,
			   uint64_t *bytes_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !bytes_out)
		return dw_fail_null(err, "image and bytes_out");

	struct chunk_range range;
	uint64_t bytes = 0;
	int ret = dw_view_chunk_range(image->view, inode.number, &range, err);

	if (ret < 0)
		return ret;
	for (uint64_t i = range.first; i < range.end && image->salvage; i++) {
		struct file_chunk chunk;

		if ((ret = dw_view_chunk(image->view, i, &chunk, err)) < 0)
			return ret;
		if (!chunk.is_hole && dwarfs_image_block_is_lost(image, chunk.block))
			bytes += chunk.bytes;
	}
	*bytes_out = bytes;
	return 0;
}

/* -- blocks without names ------------------------------------------------------------ */

static int give_block(const dwarfs_image *image, uint32_t block,
		      dwarfs_salvage_block_fn call, void *user, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL, *stop = NULL;
	auto_free uint8_t *data = NULL;
	uint64_t size = 0;
	int ret = dw_load_section(image, image->blocks[block], MOST_BLOCK_BYTES, 0, &data,
				  &size, &why);

	if (ret < 0 && !dw_salvage_is_damage(image, ret))
		return dw_error_copy(err, ret, why);
	ret = call(block, ret < 0 ? NULL : data, (size_t)size, why, &stop, user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &stop, err);
}

int dwarfs_salvage_blocks_io(dwarfs_context *context, dwarfs_io *io,
			     const dwarfs_image_options *options,
			     dwarfs_salvage_block_fn block, void *user,
			     dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!io || !block)
		return dw_fail_null(err, "io and block");

	dwarfs_image *image;
	int ret;

	if ((ret = dw_image_begin(context, io, options, DWARFS_SALVAGE_INTACT, &image,
				  err)) < 0)
		return ret;
	for (uint32_t i = 0; i < image->block_count && ret == 0; i++)
		if ((ret = dw_opening_tick(image, err)) == 0)
			ret = give_block(image, i, block, user, err);
	dwarfs_image_free(image);
	return ret;
}

int dwarfs_salvage_blocks(dwarfs_context *context, const char *path,
			  const dwarfs_image_options *options,
			  dwarfs_salvage_block_fn block, void *user, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!path || !block)
		return dw_fail_null(err, "path and block");

	auto_io dwarfs_io *io = NULL;
	int ret;

	if ((ret = dwarfs_io_open(path, &io, err)) < 0)
		return ret;
	return dwarfs_salvage_blocks_io(context, io, options, block, user, err);
}
