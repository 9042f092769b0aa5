/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_estimate: what the stages of a run take in memory.
 *
 * Sizes of records are those of the structures. What grows is copied now and then, and
 * allocators waste some, for which there is a share on top.
 */
#include "format/freeze.h"
#include "format/metadata.h"
#include "os/memory_size.h"
#include "write/budget/memory_estimate.h"
#include "write/categorize/categorize.h"
#include "write/input/source.h"
#include "write/order/auto/file_heads.h"
#include "write/order/auto/sketch.h"
#include "write/segment/segment.h"

#define MIB UINT64_C(0x100000)

/* The base counts in such steps; some more is touched while starting. */
#define BASE_STEP  (4 * MIB)
#define BASE_SLACK (1 * MIB)

/* Code that is used for the first time, stacks, what is read ahead of directories. */
#define FIXED_BYTES (6 * MIB)

#define LOOK_EACH	 256 /* entries */
#define SLOT_BYTES	 16 /* of a hash table with four bytes an entry, while it grows */
#define READER_BYTES	 (MIB + MIB / 4)
#define PARTS_BYTES	 64 /* of a file that has a category */
#define PER_FILE_READING 168
#define PER_FRAGMENT	 160 /* while it is put in order */
#define PER_ENTRY	 48
#define FROZEN_ENTRY	 24

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t with_waste(uint64_t bytes)
{
	return bytes + bytes / 4;
}

uint64_t dw_estimate_base(void)
{
	uint64_t bytes = dw_os_resident_bytes() + BASE_SLACK;

	return (bytes + BASE_STEP - 1) / BASE_STEP * BASE_STEP;
}

/* The records of a tree, without what files hold. */
static struct workload records_of(const struct build_run *run, const struct tree *tree)
{
	return (struct workload){
		.base = run->base_bytes,
		.entries = tree->entry_count,
		.inodes = tree->inode_count,
		.directories = tree->directory_count,
		.names = tree->names.count + tree->targets.count,
		.name_bytes = tree->names.text.size + tree->targets.text.size,
		.all_times =
			run->options->keep_all_times || run->options->keep_birth_times,
		.xattr_bytes = dw_xattrs_bytes(&tree->xattrs),
	};
}

struct workload dw_workload_of_tree(const struct build_run *run, const struct tree *tree)
{
	const struct excess *excess = &run->excess;
	struct workload load = records_of(run, tree);

	load.entries += excess->entries;
	load.inodes += excess->entries;
	load.names += excess->entries;
	load.name_bytes += excess->name_bytes;
	load.files = excess->files;
	load.bytes = excess->bytes;
	load.small_bytes = excess->small_bytes;

	for (size_t i = 0; i < tree->inode_count; i++) {
		const struct tree_inode *inode = &tree->inodes[i];

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG || inode->size == 0)
			continue;
		load.files++;
		load.bytes += inode->size;
		if (inode->size <= KEPT_FILE_BYTES)
			load.small_bytes += inode->size;
	}
	load.contents = load.fragments = load.files;
	return load;
}

void dw_workload_refine(struct workload *load, const struct contents *contents)
{
	load->contents = contents->count;
	load->fragments = contents->fragment_count;
	load->bytes = 0;
	for (size_t i = 0; i < contents->fragment_count; i++)
		load->bytes += contents->fragments[i].size;
}

static uint64_t tree_bytes(const struct workload *load)
{
	return load->entries * sizeof(struct tree_entry) +
	       load->inodes * (sizeof(struct tree_inode) +
			       (load->all_times ? sizeof(struct tree_times) : 0)) +
	       load->directories * sizeof(struct tree_directory) + load->name_bytes +
	       load->xattr_bytes + load->names * (sizeof(uint64_t) + SLOT_BYTES);
}

static uint64_t contents_bytes(const struct workload *load)
{
	return load->contents * (sizeof(struct content) + FINGERPRINT_BYTES) +
	       load->fragments * sizeof(struct fragment);
}

bool dw_estimate_exceeds_limit(const struct build_run *run, const struct tree *tree)
{
	uint64_t limit = run->options->memory_limit;
	struct workload load;

	if (limit == 0 || tree->entry_count % LOOK_EACH != 0)
		return false;
	load = records_of(run, tree);
	return dw_estimate_records(&load) > limit;
}

uint64_t dw_estimate_records(const struct workload *load)
{
	return load->base + FIXED_BYTES +
	       with_waste(tree_bytes(load) + contents_bytes(load));
}

uint64_t dw_estimate_reading(const struct build_options *options,
			     const struct workload *load, uint32_t readers)
{
	const struct categorize_options *categorize = &options->categorize;
	uint64_t per_file = PER_FILE_READING;

	if (categorize->count > 0 || categorize->callback)
		per_file += PARTS_BYTES;
	return dw_estimate_records(load) + with_waste(load->files * per_file) +
	       (readers ? readers : 1) *
		       (READER_BYTES + dw_categorizers_memory(categorize));
}

uint64_t dw_estimate_order(const struct workload *load, uint64_t shingles, bool by_heads)
{
	uint64_t bytes = dw_estimate_records(load) + load->fragments * PER_FRAGMENT +
			 load->entries * PER_ENTRY + load->names * sizeof(uint64_t);

	if (by_heads)
		bytes += load->fragments * HEADS_PER_FRAGMENT;
	if (shingles > 0)
		bytes += load->fragments * sizeof(struct sketch_piece) + 2 * MIB;
	return bytes + least_of(shingles, load->bytes / SKETCH_LEAST_BYTES) *
			       SKETCH_BYTES_PER_SHINGLE;
}

uint64_t dw_estimate_metadata(const struct workload *load, uint64_t chunks)
{
	uint64_t tables =
		load->entries * (sizeof(struct freeze_entry) + FROZEN_ENTRY / 2) +
		load->inodes *
			(sizeof(struct freeze_inode) + FROZEN_ENTRY + sizeof(uint32_t)) +
		load->directories * 2 * sizeof(struct freeze_directory) +
		load->names * (sizeof(struct span) + 4 * sizeof(uint32_t)) +
		2 * load->name_bytes + load->files * 4 * sizeof(uint32_t);

	return dw_estimate_records(load) + with_waste(tables) +
	       chunks * (sizeof(struct chunk) + 2 * sizeof(struct freeze_chunk));
}
