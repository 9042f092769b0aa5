/* SPDX-License-Identifier: MIT */
/*
 * read/image/verify: the stored bytes of a section, and their hashes.
 *
 * Takes the number of a section; gives its header and payload, read or mapped, and
 * compares them with the XXH3 or SHA-512/256 of the header. Decompresses nothing.
 *
 * When a hash is wrong, fail_hash() gives DWARFS_ERR_CHECKSUM with the section and its
 * offset. For a block this fails the read, and reads of other blocks go on (see
 * read/cache/internal.h); for the metadata it fails the opening of the image. With
 * salvage, damaged sections are handled by salvage/salvage.c instead.
 *
 * The metadata can also be hashed while the image is in use (DWARFS_VERIFY_LAZY): by a
 * thread that starts with the image and ends with it. If the context has no workers, or no
 * thread can be created, the opening thread hashes. After a fork the child has no such thread.
 */
#include <dwarfs/image.h>

#include "base/context.h"
#include "hash/hash.h"
#include "os/pages.h"
#include "read/image/image.h"
#include "read/image/opening.h"
#include "read/salvage/salvage.h"

#define MOST_BLOCK_OVERHEAD UINT64_C(65536)

bool dw_is_too_long_for_block(const struct dwarfs_image *image,
			      const struct section_header *header)
{
	return header->type == DWARFS_SECTION_BLOCK && image->view &&
	       header->length > 2 * image->view->block_size + MOST_BLOCK_OVERHEAD;
}

void dw_stored_free(struct stored *stored)
{
	const size_t size = stored->header_bytes + (size_t)stored->header.length;

	if (stored->bytes && !stored->owned && !stored->pages)
		dw_io_unmap(stored->io,
			    stored->bytes + stored->header_bytes + stored->taken.from,
			    (size_t)stored->taken.size);
	dw_pages_free(stored->pages, size);
	dw_free(stored->owned);
	*stored = (struct stored){ 0 };
}

/* The header is read again with the payload, because the source may have changed since
 * its length was read. */
static int read_into_memory(const struct dwarfs_image *image, uint32_t section,
			    struct stored *stored, uint64_t offset, dwarfs_error **err)
{
	const uint64_t length = stored->header.length;
	const size_t size = stored->header_bytes + (size_t)length;
	int ret;

	stored->owned = dw_opening_take(image, size, offset - image->start);
	if (!stored->owned) {
		stored->owned = dw_pages_new_block(size + DW_FROZEN_PADDING, size);
		if (!stored->owned)
			return dw_fail_nomem(err);
		ret = dw_image_read(image, stored->owned, size, offset - image->start,
				    err);
		if (ret < 0)
			return ret;
	}
	stored->bytes = stored->owned;
	memset(stored->owned + size, 0, DW_FROZEN_PADDING);
	if ((ret = dw_locate_parse(image, section, stored->owned, &stored->header, err)) <
	    0)
		return ret;
	if (stored->header.length != length)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 ": its size has changed", section);
	return 0;
}

/* A block whose size is known is read at once with its header. Returns 0 without reading for
 * any other section, and for a size that no block has. */
static int read_whole_block(const struct dwarfs_image *image, uint32_t section,
			    struct stored *stored, dwarfs_error **err)
{
	const struct section *known = &image->sections[section];
	uint64_t most;
	int ret;

	if (known->type != DWARFS_SECTION_BLOCK || !image->view || image->is_mapped ||
	    dw_io_memory(image->io) || section + 2 >= image->section_count)
		return 0;
	most = MOST_BLOCK_OVERHEAD + 2 * image->view->block_size;
	if (known->room < stored->header_bytes || known->room > most ||
	    known->room > SIZE_MAX - DW_FROZEN_PADDING)
		return 0;
	if (!(stored->owned = dw_malloc((size_t)known->room + DW_FROZEN_PADDING)))
		return dw_fail_nomem(err);
	stored->bytes = stored->owned;
	memset(stored->owned + known->room, 0, DW_FROZEN_PADDING);
	if ((ret = dw_image_read(image, stored->owned, (size_t)known->room, known->offset,
				 err)) < 0 ||
	    (ret = dw_locate_parse(image, section, stored->owned, &stored->header, err)) <
		    0)
		return ret;
	stored->taken.size = stored->header.length;
	return 1;
}

static int read_section(const struct dwarfs_image *image, uint32_t section, bool is_read,
			struct stored *stored_out, dwarfs_error **err)
{
	auto_stored struct stored stored = {
		.header_bytes = dw_image_header_bytes(image),
		.io = image->io,
	};
	uint64_t size, offset = image->start + image->sections[section].offset;
	int ret;

	if (image->salvage)
		return dw_salvage_read(image, section, stored_out, err);
	if ((ret = read_whole_block(image, section, &stored, err)) < 0)
		return ret;
	if (ret > 0) {
		*stored_out = stored;
		stored = (struct stored){ 0 };
		return 0;
	}
	if ((ret = dw_locate_header(image, section, &stored.header, err)) < 0)
		return ret;
	if (dw_is_too_long_for_block(image, &stored.header))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 " (BLOCK) has %" PRIu64
			       " bytes, too many for a block of %" PRIu64,
			       section, stored.header.length, image->view->block_size);
	/* The header was checked against the size of the source. */
	stored.taken.size = stored.header.length;
	size = stored.header_bytes + stored.header.length;
	if (size > SIZE_MAX - DW_FROZEN_PADDING)
		return dw_fail_nomem(err);
	stored.bytes = (is_read ? dw_io_map : dw_io_map_unread)(
		image->io, image->is_mapped, (size_t)size, offset);
	if (!stored.bytes &&
	    (ret = read_into_memory(image, section, &stored, offset, err)) < 0)
		return ret;
	*stored_out = stored;
	stored = (struct stored){ 0 };
	return 0;
}

int dw_stored_read(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err)
{
	return read_section(image, section, true, stored_out, err);
}

int dw_stored_look(const struct dwarfs_image *image, uint32_t section,
		   struct stored *stored_out, dwarfs_error **err)
{
	return read_section(image, section, false, stored_out, err);
}

/* Into anonymous pages: those that are not read take no memory. */
static int read_into_pages(struct stored *stored, uint64_t offset, struct span head,
			   dwarfs_error **err)
{
	struct range taken = stored->taken;
	size_t size = stored->header_bytes + (size_t)stored->header.length;
	uint8_t *payload;

	if (!(stored->pages = dw_pages_new(size)))
		return dw_fail_nomem(err);
	stored->bytes = stored->pages;
	payload = stored->pages + stored->header_bytes;
	memcpy(payload, head.data, head.size);
	return dwarfs_io_read(stored->io, payload + taken.from, (size_t)taken.size,
			      offset + stored->header_bytes + taken.from, err);
}

int dw_stored_read_part(const struct dwarfs_image *image, uint32_t section,
			const struct section_header *header, struct span head,
			struct range part, struct stored *stored_out, dwarfs_error **err)
{
	auto_stored struct stored stored = {
		.header = *header,
		.header_bytes = dw_image_header_bytes(image),
		.taken = part,
		.io = image->io,
	};
	uint64_t offset = image->start + image->sections[section].offset;
	size_t size = stored.header_bytes + (size_t)header->length;
	int ret;

	if (part.from > header->length)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 ": its size has changed", section);
	if (part.size > header->length - part.from)
		stored.taken.size = header->length - part.from;
	part = stored.taken;
	if (dw_io_map(image->io, image->is_mapped, stored.header_bytes + head.size,
		      offset) &&
	    dw_io_map(image->io, image->is_mapped, (size_t)part.size,
		      offset + stored.header_bytes + part.from))
		stored.bytes =
			dw_io_map_unread(image->io, image->is_mapped, size, offset);
	if (!stored.bytes && (ret = read_into_pages(&stored, offset, head, err)) < 0)
		return ret;
	*stored_out = stored;
	stored = (struct stored){ 0 };
	return 0;
}

int dw_stored_complete(const struct dwarfs_image *image, uint32_t section, uint8_t *whole,
		       size_t size, struct range known, struct stored *stored_out,
		       dwarfs_error **err)
{
	auto_stored struct stored stored = {
		.header_bytes = dw_image_header_bytes(image),
		.io = image->io,
		.owned = whole,
		.bytes = whole,
	};
	const uint64_t offset = image->sections[section].offset;
	const size_t end = (size_t)(known.from + known.size);
	int ret;

	if ((ret = dw_image_read(image, whole, (size_t)known.from, offset, err)) < 0 ||
	    (ret = dw_image_read(image, whole + end, size - end, offset + end, err)) <
		    0 ||
	    (ret = dw_locate_parse(image, section, whole, &stored.header, err)) < 0)
		return ret;
	if (stored.header.length != size - stored.header_bytes)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "section %" PRIu32 ": its size has changed", section);
	stored.taken.size = stored.header.length;
	*stored_out = stored;
	stored = (struct stored){ 0 };
	return 0;
}

static int fail_hash(const struct dwarfs_image *image, uint32_t section, const char *hash,
		     dwarfs_error **err)
{
	uint64_t offset = image->sections[section].offset;
	int ret = dw_fail(
		err, DWARFS_ERR_CHECKSUM,
		"section %" PRIu32 " (%s) at offset %" PRIu64 ": %s does not match",
		section, dwarfs_section_type_name(image->sections[section].type), offset,
		hash);

	return dw_error_at_offset(err, ret, image->start + offset);
}

int dw_verify_xxh3(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, dwarfs_error **err)
{
	size_t covered;

	if (dw_image_is_v1(image) || stored->is_proved)
		return 0;
	covered = stored->header_bytes + (size_t)stored->header.length -
		  DW_HEADER_XXH3_FROM;
	if (dw_xxh3_64(stored->bytes + DW_HEADER_XXH3_FROM, covered) !=
	    stored->header.xxh3)
		return fail_hash(image, section, "XXH3", err);
	return 0;
}

int dw_verify_block(const struct dwarfs_image *image, uint32_t section,
		    const struct stored *stored, dwarfs_error **err)
{
	return image->trusts_blocks ? 0 : dw_verify_xxh3(image, section, stored, err);
}

int dw_name_source(const struct dwarfs_image *image, int ret, dwarfs_error **err)
{
	const char *name = dwarfs_io_name(image->io);

	if (!name || (ret != DWARFS_ERR_CHECKSUM && ret != DWARFS_ERR_CORRUPT) || !err ||
	    dwarfs_error_path(*err))
		return ret;
	dw_explain(err, ret, "'%s'", name);
	return dw_error_at_path(err, ret, name);
}

bool dw_verifies_blocks(const struct dwarfs_image *image)
{
	return !image->trusts_blocks && !dw_image_is_v1(image);
}

int dw_verify_part(const struct dwarfs_image *image, uint32_t section,
		   const struct stored *stored, uint64_t xxh3, dwarfs_error **err)
{
	const uint8_t *bytes = stored->bytes + stored->header_bytes + stored->taken.from;

	if (dw_xxh3_64(bytes, (size_t)stored->taken.size) != xxh3)
		return fail_hash(image, section, "the XXH3 of a part", err);
	return 0;
}

int dw_verify_sha(const struct dwarfs_image *image, uint32_t section,
		  const struct stored *stored, dwarfs_error **err)
{
	uint8_t digest[DW_SHA512_256_BYTES];
	struct span covered;

	if (dw_image_is_v1(image) || !dw_has_sha512_256())
		return 0;
	covered = (struct span){ stored->bytes + DW_HEADER_SHA_FROM,
				 stored->header_bytes + (size_t)stored->header.length -
					 DW_HEADER_SHA_FROM };
	dw_sha512_256(covered, (struct span){ 0 }, digest);
	if (memcmp(digest, stored->header.sha512_256, sizeof(digest)) != 0)
		return fail_hash(image, section, "SHA-512/256", err);
	return 0;
}

/* -- in pieces ----------------------------------------------------------------------- */

#define PIECE_BYTES                                                                      \
	((size_t)1 << 20) /* read at a time, or hashed between checks of `stop` */

struct section_hashes {
	struct xxh3 *xxh3;
	dwarfs_digest *sha; /* NULL: not compared */
};

static void free_section_hashes(struct section_hashes *hashes)
{
	dw_xxh3_free(hashes->xxh3);
	dwarfs_digest_free(hashes->sha);
}

/* The first bytes of the section, from DW_HEADER_SHA_FROM, are not part of the XXH3. */
static int hash_section(const struct dwarfs_image *image, uint32_t section,
			const struct section_header *header,
			struct section_hashes *hashes, dwarfs_error **err)
{
	const uint64_t end = dw_image_header_bytes(image) + header->length;
	auto_free uint8_t *piece = dw_malloc(PIECE_BYTES);
	int ret;

	if (!piece)
		return dw_fail_nomem(err);
	for (uint64_t at = DW_HEADER_SHA_FROM; at < end;) {
		const size_t size =
			end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
		const size_t skipped =
			at < DW_HEADER_XXH3_FROM ? (size_t)(DW_HEADER_XXH3_FROM - at) : 0;

		if ((ret = dw_image_read(image, piece, size,
					 image->sections[section].offset + at, err)) < 0)
			return ret;
		dw_xxh3_update(hashes->xxh3, piece + skipped, size - skipped);
		if (hashes->sha)
			dwarfs_digest_update(hashes->sha, piece, size);
		at += size;
	}
	return 0;
}

int dw_verify_in_pieces(const struct dwarfs_image *image, uint32_t section, bool with_sha,
			struct section_header *header_out, dwarfs_error **err)
{
	__attribute__((
		cleanup(free_section_hashes))) struct section_hashes hashes = { 0 };
	uint8_t digest[DW_DIGEST_BYTES_MAX];
	int ret;

	if ((ret = dw_locate_header(image, section, header_out, err)) < 0)
		return ret;
	if (dw_image_is_v1(image))
		return 0;
	if ((ret = dw_xxh3_new(&hashes.xxh3, err)) < 0)
		return ret;
	dw_xxh3_reset(hashes.xxh3);
	if (with_sha && dw_has_sha512_256() &&
	    (ret = dwarfs_digest_new("sha512-256", &hashes.sha, err)) < 0)
		return ret;
	if ((ret = hash_section(image, section, header_out, &hashes, err)) < 0)
		return ret;
	if (dw_xxh3_finish_64(hashes.xxh3) != header_out->xxh3)
		return fail_hash(image, section, "XXH3", err);
	if (!hashes.sha)
		return 0;
	dw_digest_finish(hashes.sha, digest);
	if (memcmp(digest, header_out->sha512_256, sizeof(header_out->sha512_256)) != 0)
		return fail_hash(image, section, "SHA-512/256", err);
	return 0;
}

/* -- in the background --------------------------------------------------------------- */

/* 1: stopped. */
static int hash_in_pieces(struct dwarfs_image *image, struct xxh3 *state)
{
	const struct stored *stored = &image->metadata_stored;
	const uint8_t *at = stored->bytes + DW_HEADER_XXH3_FROM;
	size_t left = stored->header_bytes + (size_t)stored->header.length -
		      DW_HEADER_XXH3_FROM;

	while (left > 0) {
		size_t size = left < PIECE_BYTES ? left : PIECE_BYTES;

		if (atomic_load(&image->verifier.stop))
			return 1;
		dw_xxh3_update(state, at, size);
		at += size;
		left -= size;
	}
	return dw_xxh3_finish_64(state) == stored->header.xxh3 ? 0 : DWARFS_ERR_CHECKSUM;
}

static void set_state(struct dwarfs_image *image, int state)
{
	if (state < 0)
		atomic_store(&image->view->failure, "metadata: its XXH3 does not match");
	atomic_store(&image->verifier.state, state);
}

static void *verify_in_background(void *argument)
{
	struct dwarfs_image *image = argument;
	auto_xxh3 struct xxh3 *state = NULL;
	int ret;

	if (dw_xxh3_new(&state, NULL) == 0) {
		dw_xxh3_reset(state);
		ret = hash_in_pieces(image, state);
	} else {
		ret = dw_verify_xxh3(image, image->metadata, &image->metadata_stored,
				     NULL);
	}
	if (ret <= 0)
		set_state(image, ret);
	return NULL;
}

int dw_verifier_start(struct dwarfs_image *image, dwarfs_error **err)
{
	struct verifier *verifier = &image->verifier;
	int ret;

	atomic_store(&verifier->state, 1);
	if (dw_context_workers(image->context) == 0) {
		verify_in_background(image);
		return 0;
	}
	ret = dw_threads_start(&verifier->threads, 1, verify_in_background, image, err);
	if (ret < 0)
		return ret;
	if (verifier->threads.count == 0)
		verify_in_background(image);
	return 0;
}

void dw_verifier_free(struct verifier *verifier)
{
	atomic_store(&verifier->stop, true);
	dw_threads_join(&verifier->threads);
}

/* Hashes on this thread: the background thread does not exist after a fork. */
int dwarfs_image_verify(const dwarfs_image *image, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image)
		return dw_fail_null(err, "image");

	dwarfs_image *mutable = (dwarfs_image *)image;

	if (atomic_load(&mutable->verifier.state) == 1)
		set_state(mutable, dw_verify_xxh3(image, image->metadata,
						  &image->metadata_stored, NULL));
	return dw_view_is_bad(image->view) ? dw_view_fail(image->view, err) : 0;
}
