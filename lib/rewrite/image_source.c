/* SPDX-License-Identifier: MIT */
/*
 * rewrite/image_source: an open image as an input of the writer.
 *
 * Implements the operations of write/images/source_image.h with the reader. Bytes of files
 * and blocks come through the block cache of the image's context; stored blocks are read
 * and verified anew.
 */
#include <errno.h>

#include <dwarfs/salvage.h>

#include "read/file.h"
#include "read/image/opening.h"
#include "rewrite/block_facts.h"
#include "rewrite/image_source.h"
#include "rewrite/source_sections.h"
#include "rewrite/versions.h"
#include "write/items/assembly.h"

#define CHECK_PIECE_BYTES (UINT32_C(1) << 16)

struct source_state {
	dwarfs_image *image;
	dwarfs_image *verified; /* the same, for contents: see open_verified() */
	uint64_t *block_bytes;	/* unpacked size by block; UINT64_MAX: not known yet */
	struct block_facts facts;
};

static void free_user(void *user)
{
	struct source_state *source = user;

	if (!source)
		return;
	dw_block_facts_free(&source->facts);
	dw_free(source->block_bytes);
	dwarfs_image_free(source->verified);
	dwarfs_image_free(source->image);
	dw_free(source);
}
DW_DEFINE_AUTO(source, struct source_state *, free_user)

/* -- files ----------------------------------------------------------------------------- */

static int64_t errno_of(int code)
{
	return code == DWARFS_ERR_NOMEM ? -ENOMEM : -EIO;
}

/* An open file finds its chunks by an index, also in files of very many. */
static int open_file(void *user, uint32_t inode, void **file_out)
{
	const struct source_state *source = user;
	dwarfs_file *file = NULL;
	int ret =
		dwarfs_file_open(source->verified, (dwarfs_inode){ inode }, &file, NULL);

	if (ret < 0)
		return (int)errno_of(ret);
	*file_out = file;
	return 0;
}

static void close_file(void *file)
{
	dwarfs_file_free(file);
}

static int64_t read_at(void *file, void *buffer, size_t size, uint64_t offset)
{
	size_t got = 0;
	int ret = dwarfs_file_read(file, buffer, size, offset, &got, NULL);

	return ret < 0 ? errno_of(ret) : (int64_t)got;
}

/* The first run of data at or after an offset; both are end if there is none. */
static int next_data(void *file, uint64_t from, uint64_t end, uint64_t *start_out,
		     uint64_t *end_out)
{
	uint64_t start = end, stop = end;
	int ret = dwarfs_file_seek_data(file, from, &start, NULL);

	if (ret == 0 && start < end)
		ret = dwarfs_file_seek_hole(file, start, &stop, NULL);
	if (ret < 0 && ret != DWARFS_ERR_NOT_FOUND)
		return (int)errno_of(ret);
	*start_out = ret < 0 || start > end ? end : start;
	*end_out = stop < end ? stop : end;
	return 0;
}

/* Read a file for the error that its reading gives: the other operations return none. */
static int check_file(void *user, uint32_t inode, dwarfs_error **err)
{
	const struct source_state *source = user;
	auto_free uint8_t *piece = dw_malloc(CHECK_PIECE_BYTES);
	dwarfs_file *file = NULL;
	uint64_t at = 0;
	size_t got;
	int ret;

	if (!piece)
		return dw_fail_nomem(err);
	ret = dwarfs_file_open(source->verified, (dwarfs_inode){ inode }, &file, err);
	do {
		got = 0;
		if (ret == 0)
			ret = dwarfs_file_read(file, piece, CHECK_PIECE_BYTES, at, &got,
					       err);
		at += got;
	} while (ret == 0 && got > 0);
	dwarfs_file_free(file);
	return ret;
}

static int get_chunk(void *user, uint64_t number, struct source_chunk *chunk_out,
		     dwarfs_error **err)
{
	const struct source_state *source = user;
	struct file_chunk chunk;
	int ret = dw_view_chunk(source->image->view, number, &chunk, err);

	if (ret < 0)
		return ret;
	*chunk_out =
		(struct source_chunk){ chunk.is_hole ? DW_NONE : chunk.block,
				       chunk.is_hole ? 0 : chunk.offset, chunk.bytes };
	return 0;
}

static struct os_time time_of(const struct dwarfs_stat *stat, enum dwarfs_time time)
{
	return (struct os_time){ stat->seconds[time], stat->nanoseconds[time] };
}

static bool describe(const struct source_state *source, const struct dwarfs_stat *stat,
		     struct source_file *file_out)
{
	struct chunk_range range;

	if (dw_class_of_mode(stat->mode) != CLASS_REG || stat->bytes == 0 ||
	    dw_view_chunk_range(source->image->view, stat->inode, &range, NULL) < 0 ||
	    range.end - range.first > UINT32_MAX)
		return false;
	*file_out = (struct source_file){
		.inode = stat->inode,
		.size = stat->bytes,
		.mtime = time_of(stat, DWARFS_MTIME),
		.ctime = time_of(stat, DWARFS_CTIME),
		.has_ctime = !source->image->view->mtime_only,
		.first_chunk = range.first,
		.chunk_count = (uint32_t)(range.end - range.first),
	};
	return true;
}

static bool get_file(void *user, uint32_t number, struct source_file *file_out)
{
	const struct source_state *source = user;
	const struct view *view = source->image->view;
	struct dwarfs_stat stat;

	return dw_view_inode_stat(view, view->first_of_class[CLASS_REG] + number, &stat,
				  NULL) == 0 &&
	       describe(source, &stat, file_out);
}

static bool find_file(void *user, const char *path, struct source_file *file_out)
{
	const struct source_state *source = user;
	struct dwarfs_stat stat;
	dwarfs_entry entry;

	return dwarfs_find(source->image, path, &entry, NULL) == 0 &&
	       dw_view_entry_stat(source->image->view, entry.number, &stat, NULL) == 0 &&
	       !(stat.invalid & DWARFS_ATTRIBUTE_MTIME) &&
	       describe(source, &stat, file_out);
}

static bool get_digest(void *user, uint32_t inode,
		       uint8_t digest_out[DW_FILE_DIGEST_BYTES])
{
	const struct source_state *source = user;
	struct digest_table table;
	uint64_t number;

	return dw_view_file_contents(source->image->view, inode, &number, NULL) == 0 &&
	       dw_image_need_digests(source->image, &table, NULL) > 0 &&
	       dw_digest_table_file(&table, number, digest_out);
}

/* Digests that cannot be used only cost time. */
static int load_digests(const dwarfs_image *image, struct source_image *to,
			dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int ret = dw_image_need_digests(image, &to->digests, &why);

	to->has_digests = ret > 0;
	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (ret < 0)
		dw_log(image->context, DWARFS_LOG_WARN,
		       "'%s': the digests are ignored: %s", to->name,
		       dwarfs_error_message(why));
	return 0;
}

/* -- blocks ---------------------------------------------------------------------------- */

static int load_block(void *user, uint32_t block, struct stored_section *section_out,
		      dwarfs_error **err)
{
	struct source_state *source = user;
	int ret;

	if (dwarfs_image_block_is_lost(source->image, block))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "block %" PRIu32 " is lost",
			       block);
	ret = dw_source_read_section(source->image, source->image->blocks[block],
				     section_out, err);
	if (ret == 0)
		source->block_bytes[block] = section_out->unpacked_bytes;
	return ret;
}

static int complete_block(void *user, uint32_t block, struct partial_section *part,
			  struct stored_section *section_out, dwarfs_error **err)
{
	struct source_state *source = user;
	const dwarfs_image *image = source->image;
	uint32_t section = image->blocks[block];
	auto_stored struct stored stored = { 0 };
	int ret = dw_stored_complete(image, section, dw_steal(part->data), part->size,
				     (struct range){ part->from, part->to - part->from },
				     &stored, err);

	if (ret == 0)
		ret = dw_source_take_section(image, section, &stored, section_out, err);
	if (ret == 0)
		source->block_bytes[block] = section_out->unpacked_bytes;
	return ret;
}

static uint64_t get_cache_bytes(void *user)
{
	const struct source_state *source = user;

	return dw_context_cache_bytes(source->image->context);
}

static void trim_cache(void *user)
{
	const struct source_state *source = user;

	dwarfs_context_trim(source->image->context, 0);
}

static int get_block_bytes(void *user, uint32_t block, uint64_t *bytes_out,
			   dwarfs_error **err)
{
	struct source_state *source = user;

	if (source->block_bytes[block] == UINT64_MAX) {
		__attribute__((cleanup(
			dw_stored_section_free))) struct stored_section section = { 0 };
		int ret = load_block(user, block, &section, err);

		if (ret < 0)
			return ret;
	}
	*bytes_out = source->block_bytes[block];
	return 0;
}

static int get_stored_bytes(void *user, uint32_t block, uint64_t *bytes_out,
			    dwarfs_error **err)
{
	const struct source_state *source = user;
	struct section_header header;
	int ret;

	*bytes_out = 0;
	if (dwarfs_image_block_is_lost(source->image, block))
		return 0;
	ret = dw_locate_header(source->image, source->image->blocks[block], &header, err);
	if (ret == 0)
		*bytes_out = header.length;
	return ret;
}

/* Damaged images, and those whose blocks have no hash, are always read from their source. */
static int get_stored_place(void *user, uint32_t block, struct stored_place *place_out,
			    dwarfs_error **err)
{
	const struct source_state *source = user;
	const dwarfs_image *image = source->image;
	struct section_header header;
	uint64_t start;
	int fd = dw_io_fd(image->io, &start), ret;

	*place_out = (struct stored_place){ .fd = -1 };
	if (fd < 0 || image->salvage || !dw_verifies_blocks(image) ||
	    dwarfs_image_block_is_lost(image, block))
		return 0;
	if ((ret = dw_locate_header(image, image->blocks[block], &header, err)) < 0)
		return ret;
	if (dw_is_too_long_for_block(image, &header))
		return 0;
	*place_out = (struct stored_place){
		.fd = fd,
		.offset = start + image->start +
			  image->sections[image->blocks[block]].offset,
		.bytes = dw_image_header_bytes(image) + header.length,
	};
	return 0;
}

static int64_t read_block(void *user, uint32_t block, void *buffer, size_t size,
			  uint64_t offset, dwarfs_error **err)
{
	const struct source_state *source = user;
	uint64_t bytes;
	size_t done = 0;
	int ret = get_block_bytes(user, block, &bytes, err);

	if (ret < 0)
		return ret;
	if (offset >= bytes)
		return 0;
	if (size > bytes - offset)
		size = (size_t)(bytes - offset);
	while (done < size) {
		struct range range = { offset + done, size - done };
		struct cached cached;

		if ((ret = dw_cache_get(source->verified, block, range, &cached, err)) <
		    0)
			return ret;
		memcpy((uint8_t *)buffer + done, cached.data, cached.size);
		done += cached.size;
		dw_cache_put(source->verified, &cached);
	}
	return (int64_t)size;
}

/* Blocks of salvaged images are not compared with others. */
static uint64_t get_stored_room(void *user, uint32_t block)
{
	const struct source_state *source = user;
	const dwarfs_image *image = source->image;
	uint64_t room;

	if (image->salvage || dwarfs_image_block_is_lost(image, block))
		return 0;
	room = image->sections[image->blocks[block]].room;
	return room > dw_image_header_bytes(image) ? room - dw_image_header_bytes(image)
						   : 0;
}

static int read_stored(void *user, uint32_t block, void *buffer, size_t size,
		       uint64_t offset, dwarfs_error **err)
{
	const struct source_state *source = user;
	const dwarfs_image *image = source->image;

	return dw_image_read(image, buffer, size,
			     image->sections[image->blocks[block]].offset +
				     dw_image_header_bytes(image) + offset,
			     err);
}

/* -- the whole ------------------------------------------------------------------------- */

static uint32_t bits_of(uint64_t block_bytes)
{
	uint32_t bits = 0;

	while (bits < 32 && (UINT64_C(1) << bits) < block_bytes)
		bits++;
	return bits;
}

/*
 * Contents that are compressed again get hashes that are right. If the image was opened
 * without verification of blocks, contents are read by another handle, with verification, so
 * that damage is an error and does not become a file that looks intact.
 */
static int open_verified(struct source_state *source, dwarfs_error **err)
{
	dwarfs_image *image = source->image;
	dwarfs_image_options *options = NULL;
	int ret;

	if (!image->trusts_blocks) {
		source->verified = dwarfs_image_ref(image);
		return 0;
	}
	if ((ret = dwarfs_image_options_new(&options, err)) < 0)
		return ret;
	dwarfs_image_options_set_offset(options, image->start);
	ret = dwarfs_image_open_io(image->context, image->io, options, &source->verified,
				   err);
	dwarfs_image_options_free(options);
	return ret;
}

static int new_source(dwarfs_builder *builder, dwarfs_image *image,
		      struct source_state **source_out, dwarfs_error **err)
{
	DW_AUTO(source) struct source_state *source = dw_calloc(1, sizeof(*source));
	int ret;

	if (!source)
		return dw_fail_nomem(err);
	source->image = dwarfs_image_ref(image);
	source->block_bytes = dw_calloc(image->block_count, sizeof(uint64_t));
	if (!source->block_bytes)
		return dw_fail_nomem(err);
	memset(source->block_bytes, 0xff, image->block_count * sizeof(uint64_t));
	if ((ret = open_verified(source, err)) < 0 ||
	    (ret = dw_block_facts_load(builder, image, &source->facts, err)) < 0)
		return ret;
	*source_out = dw_steal(source);
	return 0;
}

static int load_metadata_codec(const dwarfs_image *image, struct source_image *to,
			       dwarfs_error **err)
{
	struct section_header header;
	int ret = dw_locate_header(image, image->metadata, &header, err);

	if (ret == 0)
		to->packs_metadata = header.compression != CODEC_NONE;
	return ret;
}

/* Other writers say when they wrote the metadata, which may be long after the data of files
 * were read. This one says the earliest time of the images that data come from. */
static int load_times(const dwarfs_image *image, struct source_image *to,
		      dwarfs_error **err)
{
	const struct view *view = image->view;
	bool are_own;
	int ret = dw_versions_are_own(image, &are_own, err);

	if (ret < 0)
		return ret;
	to->created = view->has_create_timestamp && view->create_timestamp <= INT64_MAX
			      ? (int64_t)view->create_timestamp
			      : INT64_MAX;
	to->made = are_own ? to->created : INT64_MAX;
	return 0;
}

int dw_source_of_image(dwarfs_builder *builder, dwarfs_image *image, bool keeps_blocks,
		       struct source_image **source_out, dwarfs_error **err)
{
	static const struct source_image_ops ops = {
		.open_file = open_file,
		.read_at = read_at,
		.next_data = next_data,
		.close_file = close_file,
		.check_file = check_file,
		.chunk = get_chunk,
		.load_block = load_block,
		.complete_block = complete_block,
		.block_bytes = get_block_bytes,
		.cache_bytes = get_cache_bytes,
		.trim_cache = trim_cache,
		.stored_bytes = get_stored_bytes,
		.stored_place = get_stored_place,
		.read_block = read_block,
		.stored_room = get_stored_room,
		.read_stored = read_stored,
		.file = get_file,
		.find = find_file,
		.digest = get_digest,
		.release = free_user,
	};
	__attribute__((cleanup(dw_cleanup_source_image))) struct source_image *to =
		dw_calloc(1, sizeof(*to));
	struct source_state *source;
	const char *name = dwarfs_io_name(image->io);
	int ret;

	if (!to)
		return dw_fail_nomem(err);
	to->ops = &ops;
	if ((ret = new_source(builder, image, &source, err)) < 0)
		return ret;
	to->user = source;
	to->keeps_blocks = keeps_blocks;
	to->block_bits = bits_of(image->view->block_size);
	to->block_count = image->block_count;
	to->is_lenient = image->trusts_blocks;
	if ((ret = load_times(image, to, err)) < 0)
		return ret;
	to->has_holes = image->view->has_holes;
	to->time_step = dwarfs_image_time_resolution_ns(image);
	to->file_count = dw_view_class_count(image->view, CLASS_REG);
	if (!(to->name = dw_strdup(name ? name : "image")))
		return dw_fail_nomem(err);
	if ((ret = load_metadata_codec(image, to, err)) < 0 ||
	    (keeps_blocks && (ret = load_digests(image, to, err)) < 0))
		return ret;
	to->blocks = dw_steal(source->facts.blocks);
	*source_out = dw_steal(to);
	return 0;
}
