/* SPDX-License-Identifier: MIT */
/*
 * write/images/source_image: an image that is an input of the builder.
 *
 * Its files have their bytes in blocks that exist already, so the new image may keep
 * these blocks instead of compressing the bytes again. The writer does not include the
 * reader: rewrite/ fills in the operations.
 */
#ifndef DW_WRITE_IMAGES_SOURCE_IMAGE_H
#define DW_WRITE_IMAGES_SOURCE_IMAGE_H

#include "format/side/digest_table.h"
#include "format/section.h"
#include "os/dir.h"

/* A run of bytes of a file. */
struct source_chunk {
	uint32_t block; /* DW_NONE: a hole */
	uint32_t offset;
	uint64_t size;
};

/* A section as it is stored. */
struct stored_section {
	struct section_header header;
	struct buffer payload;
	uint64_t unpacked_bytes;
	uint32_t blocks_before; /* in its image; not set by load_block */
	bool is_damaged;	/* its hash is wrong; so must that of a copy be */
	bool is_unpacked;	/* payload is to be compressed as the options say */
	bool is_shared;		/* some of its bytes are in the output: shared_blocks.h */
};

/* Where a section is in a file, with its header. */
struct stored_place {
	int fd; /* -1: it is not in a file */
	uint64_t offset, bytes;
};

/* The bytes of a section with its header, of which those between two offsets are known. */
struct partial_section {
	uint8_t *data; /* of size bytes */
	size_t size, from, to;
};

/* A file of an image. */
struct source_file {
	uint32_t inode;
	uint64_t size;
	struct os_time mtime, ctime;
	bool has_ctime;
	uint64_t first_chunk;
	uint32_t chunk_count;
};

/* The first four return a negative errno value, or 0 and up, and may be called by any thread;
 * the others by the thread that runs the builder. */
struct source_image_ops {
	/* Open a file by its inode; the others take the result. As
	 * dw_input_file_read_at() and dw_input_file_next_data(). */
	int (*open_file)(void *user, uint32_t inode, void **file_out);
	int64_t (*read_at)(void *file, void *buffer, size_t size, uint64_t offset);
	int (*next_data)(void *file, uint64_t from, uint64_t end, uint64_t *start_out,
			 uint64_t *end_out);
	void (*close_file)(void *file);

	/* The error of reading a file by its inode; 0 if it can be read. */
	int (*check_file)(void *user, uint32_t inode, dwarfs_error **err);

	/* A chunk by its number. */
	int (*chunk)(void *user, uint64_t number, struct source_chunk *chunk_out,
		     dwarfs_error **err);

	/* A block: as stored, the same where a part of it is known, its size, its size as stored,
	 * where it is stored, or some of its bytes (their number, less than size only at the end
	 * of the block). complete_block takes the data. */
	int (*load_block)(void *user, uint32_t block, struct stored_section *section_out,
			  dwarfs_error **err);
	int (*complete_block)(void *user, uint32_t block, struct partial_section *part,
			      struct stored_section *section_out, dwarfs_error **err);
	int (*block_bytes)(void *user, uint32_t block, uint64_t *bytes_out,
			   dwarfs_error **err);
	int (*stored_bytes)(void *user, uint32_t block, uint64_t *bytes_out,
			    dwarfs_error **err);
	int (*stored_place)(void *user, uint32_t block, struct stored_place *place_out,
			    dwarfs_error **err);
	int64_t (*read_block)(void *user, uint32_t block, void *buffer, size_t size,
			      uint64_t offset, dwarfs_error **err);

	/* How many bytes a block has as stored, at most: those up to the next section. Nothing
	 * is read for it. 0: not known. */
	uint64_t (*stored_room)(void *user, uint32_t block);

	/* Read bytes of a block as stored, within stored_room, which are not verified. */
	int (*read_stored)(void *user, uint32_t block, void *buffer, size_t size,
			   uint64_t offset, dwarfs_error **err);

	/* Size of the cache of decoded blocks now, in bytes. Images may share one. */
	uint64_t (*cache_bytes)(void *user);

	/* Free the decoded blocks in it that are not in use. */
	void (*trim_cache)(void *user);

	/* A regular file by its number, below file_count; false: it is empty, or its metadata
	 * is damaged. */
	bool (*file)(void *user, uint32_t number, struct source_file *file_out);

	/* The regular file at a path; false if there is none, or its metadata is damaged. */
	bool (*find)(void *user, const char *path, struct source_file *file_out);

	/* The digest of a file by its inode, as the image says; false: not known. */
	bool (*digest)(void *user, uint32_t inode,
		       uint8_t digest_out[DW_FILE_DIGEST_BYTES]);

	void (*release)(void *user);
};

/* What is done with the blocks that the new image needs. */
enum block_action {
	BLOCK_COPY,	/* as it is stored */
	BLOCK_COMPRESS, /* its bytes are compressed again */
};

struct source_block {
	uint32_t category;
	uint32_t compression; /* as it is stored; not known before the block is copied
				      or dw_source_load_codecs() */
	const char *metadata_json; /* of the category, or NULL; the image's */
	enum block_action action;
};

/* What dwarfs_version of an image of this library begins with. */
#define DW_WRITER_NAME "libdwarfs v"

/* What made the metadata of an image, for metadata_version_history. */
struct source_version {
	uint32_t major, minor;
	uint32_t block_size;
	char *dwarfs_version; /* or NULL */
	bool has_options;
	bool mtime_only, has_btime, inodes_have_nlink;
	bool packed_chunk_table, packed_directories, packed_shared_files_table;
	bool has_time_resolution_sec, has_subsecond_multiplier;
	uint32_t time_resolution_sec, subsecond_multiplier;
};

struct source_image {
	const struct source_image_ops *ops;
	void *user;
	bool is_lenient;   /* damaged blocks are copied, and stay damaged */
	bool is_base;	   /* its entries are not those of the new image: base_images.h */
	bool trusts_times; /* of a base: files of equal path, size and time are equal */
	bool packs_metadata; /* its metadata is compressed */
	uint64_t time_step;  /* of its times, in nanoseconds */
	int64_t created; /* when it was made, in seconds; INT64_MAX: it does not say */
	int64_t made;	 /* its data were read then or later; INT64_MAX: not known */
	uint32_t file_count; /* regular files */
	bool has_holes;	     /* some of them */
	bool keeps_blocks;   /* else its files are as any others: ordered, segmented and
				compressed anew */
	bool changes_block_size; /* to that of the builder; all blocks are compressed again */
	uint32_t block_bits;	 /* log2 of the block size, rounded up */
	uint32_t block_count;
	struct source_block *blocks;
	bool has_digests;		 /* else digest is not called */
	struct digest_table digests;	 /* checked; the user data keeps its bytes */
	struct stored_section *sections; /* others than blocks, to be copied */
	size_t section_count, section_room;
	struct source_version *versions; /* the last one is that of the image itself */
	size_t version_count, version_room;
	char *name; /* for messages */
};

/* Frees the image and its user data; NULL is accepted. */
void dw_source_image_free(struct source_image *image);
void dw_source_image_free_versions(struct source_image *image);
static inline void dw_cleanup_source_image(struct source_image **image)
{
	dw_source_image_free(*image);
}

void dw_stored_section_free(struct stored_section *section);

/* The size of a block, and its size as stored. Errors name the image. */
int dw_source_block_bytes(const struct source_image *image, uint32_t block,
			  uint64_t *bytes_out, dwarfs_error **err);
int dw_source_stored_bytes(const struct source_image *image, uint32_t block,
			   uint64_t *bytes_out, dwarfs_error **err);

/* A file with contents in an image. Files of one image with the same first chunk have the
 * same contents. */
struct image_file {
	uint64_t first_chunk;
	uint32_t chunk_count;
	uint32_t image; /* number of the source image */
	uint32_t inode;
};

/* Decompressed blocks take at most this much memory besides codecs. */
#define DW_SOURCE_CACHED_BYTES (UINT64_C(32) << 20)

/* Whether not even one block may be in memory besides a codec. */
static inline bool dw_source_blocks_are_large(uint64_t block_bytes)
{
	return block_bytes > DW_SOURCE_CACHED_BYTES;
}

#endif
