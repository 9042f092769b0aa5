/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/file_list: files to be read, and where their data are.
 *
 * Takes a list of inodes; gives each file once, with its number of parts: a part is all
 * data of a file in one block.
 */
#include "read/bulk/file_list.h"
#include "read/file.h"

void dw_targets_free(struct targets *targets)
{
	dw_pieces_free(&targets->pieces);
	dw_free(targets->list);
	*targets = (struct targets){ 0 };
}

/* Omit duplicates and inodes that are not files. */
static int fill_targets(struct targets *targets, const dwarfs_image *image,
			const dwarfs_inode *inodes, size_t count, dwarfs_error **err)
{
	uint32_t inode_count = dwarfs_image_inode_count(image);
	auto_free uint8_t *seen = dw_calloc((size_t)inode_count / 8 + 1, 1);

	targets->list = dw_calloc(count, sizeof(*targets->list));
	if (!seen || !targets->list)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const uint32_t inode = inodes[i].number;
		uint8_t bit = (uint8_t)(1u << inode % 8);

		if (inode < inode_count) {
			if (seen[inode / 8] & bit)
				continue;
			seen[inode / 8] |= bit;
		}
		targets->list[targets->count++].inode = inode;
	}
	return 0;
}

/* The data of a file, without holes. */
static int add_pieces(struct targets *targets, const dwarfs_image *image, size_t number,
		      dwarfs_error **err)
{
	struct target *target = &targets->list[number];
	struct pieces *pieces = &targets->pieces;
	size_t kept = pieces->count;
	struct chunk_range range;
	int ret;

	if ((ret = dw_view_chunk_range(image->view, target->inode, &range, err)) < 0 ||
	    (ret = dw_pieces_add(pieces, image, range, (uint32_t)number, &target->bytes,
				 err)) < 0)
		return ret;
	for (size_t i = kept; i < pieces->count; i++)
		if (!pieces->list[i].is_hole)
			pieces->list[kept++] = pieces->list[i];
	pieces->count = kept;
	return 0;
}

int dw_targets_collect(struct targets *targets, const dwarfs_image *image,
		       const dwarfs_inode *inodes, size_t count, target_fail_fn fail,
		       void *user, dwarfs_error **err)
{
	const struct piece *list;
	int ret = fill_targets(targets, image, inodes, count, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < targets->count; i++) {
		auto_error dwarfs_error *why = NULL;

		ret = add_pieces(targets, image, i, &why);
		if (ret == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
		if (ret < 0)
			fail(&targets->list[i], why, user);
	}
	dw_pieces_sort_by_file(&targets->pieces);
	list = targets->pieces.list;
	for (size_t i = 0; i < targets->pieces.count; i++)
		if (i == 0 || list[i].block != list[i - 1].block ||
		    list[i].file != list[i - 1].file)
			targets->list[list[i].file].parts++;
	for (size_t i = 0; i < targets->count; i++)
		atomic_init(&targets->list[i].left, targets->list[i].parts);
	return 0;
}
