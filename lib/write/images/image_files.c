/* SPDX-License-Identifier: MIT */
/*
 * write/images/image_files: the images of an assembly, and the files in them.
 */
#include "write/items/assembly.h"
#include "write/build_run.h"

int dw_assembly_add_image(struct assembly *assembly, struct source_image *image,
			  uint32_t *number_out, dwarfs_error **err)
{
	int ret = dw_grow(&assembly->images, &assembly->image_room,
			  assembly->image_count + 1, err);

	if (ret < 0)
		return ret;
	*number_out = (uint32_t)assembly->image_count;
	assembly->images[assembly->image_count++] = image;
	return 0;
}

int dw_assembly_add_image_file(struct assembly *assembly, const struct image_file *file,
			       uint32_t *number_out, dwarfs_error **err)
{
	int ret;

	if (assembly->image_file_count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	ret = dw_grow(&assembly->image_files, &assembly->image_file_room,
		      assembly->image_file_count + 1, err);
	if (ret < 0)
		return ret;
	*number_out = (uint32_t)assembly->image_file_count;
	assembly->image_files[assembly->image_file_count++] = *file;
	return 0;
}

void dw_assembly_free_images(struct assembly *assembly)
{
	for (size_t i = 0; i < assembly->image_count; i++)
		dw_source_image_free(assembly->images[i]);
	dw_free(assembly->images);
	dw_free(assembly->image_files);
}

int dw_assembly_check_holes(const struct assembly *assembly,
			    const struct build_options *options, dwarfs_error **err)
{
	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		if (!options->sparse_files && image->has_holes && image->keeps_blocks)
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "'%s': cannot disable sparse files when the input "
				       "filesystem uses them and its blocks are kept",
				       image->name);
	}
	return 0;
}

uint32_t dw_assembly_block_bits(const struct assembly *assembly)
{
	uint32_t bits = 0;

	for (size_t i = 0; assembly && i < assembly->image_count; i++)
		if (assembly->images[i]->keeps_blocks &&
		    !assembly->images[i]->changes_block_size &&
		    assembly->images[i]->block_bits > bits)
			bits = assembly->images[i]->block_bits;
	return bits;
}

bool dw_assembly_changes_block_size(const struct assembly *assembly)
{
	for (size_t i = 0; assembly && i < assembly->image_count; i++)
		if (assembly->images[i]->changes_block_size)
			return true;
	return false;
}

const struct image_file *dw_image_file_of(const struct build_run *run,
					  const struct tree_inode *inode)
{
	const struct assembly *assembly = run->assembly;

	if (!assembly || assembly->records[inode->record].kind != RECORD_IMAGE)
		return NULL;
	return &assembly->image_files[assembly->records[inode->record].source];
}

int dw_image_file_unreadable(const struct build_run *run, const struct tree_inode *inode,
			     dwarfs_error **err)
{
	const struct image_file *file = dw_image_file_of(run, inode);
	const struct source_image *image =
		file ? run->assembly->images[file->image] : NULL;
	int ret;

	if (!image || image->is_lenient)
		return 0;
	ret = image->ops->check_file(image->user, file->inode, err);
	if (ret == 0)
		ret = dw_fail(err, DWARFS_ERR_IO, "inode %" PRIu32 " cannot be read",
			      file->inode);
	return dw_explain(err, ret, "'%s'", image->name);
}

const struct image_file *dw_kept_file_of(const struct build_run *run,
					 const struct tree_inode *inode)
{
	const struct image_file *file = dw_image_file_of(run, inode);

	return file && run->assembly->images[file->image]->keeps_blocks ? file : NULL;
}
