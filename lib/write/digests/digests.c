/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digests: the contents of the DIGESTS section of an image.
 *
 * Contents of one fragment are hashed by the segmenter as it stores them, contents of
 * several afterwards, as their fragments are stored at different times. Contents that are
 * kept from an image have the digests of its section, or those that were computed to
 * compare them.
 */
#include "os/file_io.h"
#include "write/digests/digests.h"
#include "write/images/source_image.h"
#include "write/input/source.h"

#define DIVIDED_PIECE_BYTES ((size_t)256 << 10)

int dw_digests_new(unsigned shift, struct digests **digests_out, dwarfs_error **err)
{
	DW_AUTO(digests) struct digests *digests = dw_calloc(1, sizeof(*digests));
	int ret;

	if (!digests)
		return dw_fail_nomem(err);
	digests->anchors.shift = shift;
	if ((ret = dw_content_hash_init(&digests->hash, err)) < 0)
		return ret;
	*digests_out = dw_steal(digests);
	return 0;
}

void dw_digests_free(struct digests *digests)
{
	if (!digests)
		return;
	dw_block_anchors_free(&digests->anchors);
	dw_content_hash_free(&digests->hash);
	dw_free(digests->files);
	dw_free(digests);
}

/* -- files --------------------------------------------------------------------------- */

int dw_digests_set_file(struct digests *digests, uint32_t content, const uint8_t *digest,
			dwarfs_error **err)
{
	size_t need = (size_t)content + 1, bytes = DW_FILE_DIGEST_BYTES;
	int ret;

	if (need > digests->file_count) {
		if ((ret = dw_grow_bytes((void **)&digests->files, &digests->file_room,
					 need, bytes, err)) < 0)
			return ret;
		memset(digests->files + digests->file_count * bytes, 0,
		       (need - digests->file_count) * bytes);
		digests->file_count = need;
	}
	if (digest)
		memcpy(digests->files + content * bytes, digest, bytes);
	else
		memset(digests->files + content * bytes, 0, bytes);
	return 0;
}

void dw_digests_cut(struct digests *digests, size_t count)
{
	if (digests->file_count > count)
		digests->file_count = count;
}

int dw_digests_set_hashed(struct digests *digests, uint32_t content, dwarfs_error **err)
{
	uint8_t digest[DW_FILE_DIGEST_BYTES];
	bool is_known = dw_content_hash_end(&digests->hash, digest);

	return dw_digests_set_file(digests, content, is_known ? digest : NULL, err);
}

/* -- contents of several fragments --------------------------------------------------- */

/* A run of data: 0, 1 if the file ends early, or a negative errno value. */
static int hash_run(struct digests *digests, struct source *source, uint8_t *piece,
		    uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t want = to - from < DIVIDED_PIECE_BYTES ? (size_t)(to - from)
							      : DIVIDED_PIECE_BYTES;
		int64_t got = dw_source_read_at(source, piece, want, from);

		if (got < 0)
			return (int)got;
		if ((size_t)got < want)
			return 1;
		dw_content_hash_add(&digests->hash, piece, want);
		from += want;
	}
	return 0;
}

/* The same for a whole file. */
static int hash_source(struct digests *digests, struct source *source, uint8_t *piece,
		       uint64_t size)
{
	uint64_t at = 0, from, to;
	int ret;

	if (size > source->size) /* nothing comes after the end of the file */
		return 1;
	while (at < size) {
		if ((ret = dw_source_next_data(source, at, size, &from, &to)) < 0)
			return ret;
		dw_content_hash_add_hole(&digests->hash, from - at);
		if ((ret = hash_run(digests, source, piece, from, to)) != 0)
			return ret;
		at = to;
	}
	return dw_source_is_unchanged(source) == 1 ? 0 : 1;
}

int dw_digests_add_divided(struct build_run *run, const struct tree *tree,
			   const struct contents *contents, dwarfs_error **err)
{
	struct digests *digests = run->digests;
	auto_free uint8_t *piece = NULL;

	for (size_t i = 0; i < contents->count; i++) {
		const struct content *content = &contents->list[i];
		struct source source;
		int ret;

		if (content->fragment_count < 2 || content->differs)
			continue;
		if (!piece && !(piece = dw_malloc(DIVIDED_PIECE_BYTES)))
			return dw_fail_nomem(err);
		if ((ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
		ret = dw_source_begin(run, tree, contents, (uint32_t)i, &source);
		if (dw_fd_is_exhausted(-ret))
			return dw_fail_errno(err, -ret, "cannot read the input");
		if (ret < 0)
			continue;
		dw_content_hash_begin(&digests->hash);
		ret = hash_source(digests, &source, piece, content->size);
		dw_source_end(&source);
		if (ret == 0 &&
		    (ret = dw_digests_set_hashed(digests, (uint32_t)i, err)) < 0)
			return ret;
	}
	return 0;
}

/* -- blocks -------------------------------------------------------------------------- */

int dw_digests_copy_block(struct digests *digests, uint32_t number,
			  const struct source_image *image, uint32_t block,
			  dwarfs_error **err)
{
	__attribute__((cleanup(dw_anchor_list_free))) struct anchor_list list = {
		.is_known = true,
	};
	uint32_t first, end;
	int ret;

	if (!image->has_digests ||
	    !dw_digest_table_block(&image->digests, block, &first, &end))
		return 0;
	for (uint32_t i = first; i < end; i++) {
		if ((ret = dw_grow(&list.list, &list.room, list.count + 1, err)) < 0)
			return ret;
		list.list[list.count++] = (struct block_anchor){
			dw_digest_table_hash(&image->digests, i),
			dw_digest_table_offset(&image->digests, i),
		};
	}
	ret = dw_block_anchors_set(&digests->anchors, number, &list, err);
	return ret < 0 ? ret : 1;
}
