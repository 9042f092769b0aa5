/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_estimate: upper bounds of the memory of each stage.
 *
 * Computed from the sizes of the structures, with a share on top for growing arrays and
 * the allocator.
 */
#include "format/freeze.h"
#include "format/metadata.h"
#include "os/memory_size.h"
#include "write/budget/memory_estimate.h"
#include "write/categorize/categorize.h"
#include "write/digests/digests.h"
#include "write/input/source.h"
#include "write/order/auto/file_heads.h"
#include "write/order/auto/sketch.h"
#include "write/segment/segment.h"

#define MIB UINT64_C(0x100000)

/* The base is rounded up to steps, as it differs a little from run to run. That of a small program
 * is always the least one. */
#define BASE_LEAST (9 * MIB)
#define BASE_STEP  (4 * MIB)
#define BASE_SLACK (1 * MIB) /* memory that is first used while starting */

/* Code, stacks and directory listings. */
#define FIXED_BYTES (6 * MIB)

#define CHECK_INTERVAL	 256 /* entries */
#define SLOT_BYTES	 16 /* of a hash table with four bytes an entry, while it grows */
#define READER_BYTES	 (MIB + MIB / 4)
#define PARTS_BYTES	 64 /* for each file with a category */
#define PER_FILE_READING 168
#define PER_FRAGMENT	 160 /* while fragments are ordered */
#define PER_ENTRY	 48
#define FROZEN_ENTRY	 24

static uint64_t smaller_of(uint64_t a, uint64_t b)
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

	return bytes <= BASE_LEAST ? BASE_LEAST
				   : (bytes + BASE_STEP - 1) / BASE_STEP * BASE_STEP;
}

struct memory_bound dw_memory_bound(const struct build_options *options,
				    uint64_t process_base, uint64_t own_base)
{
	uint64_t own = options->own_limit, process = options->process_limit;
	uint64_t left = process > process_base ? process - process_base : 0;

	if (own && (!process || own < own_base || own - own_base < left))
		return (struct memory_bound){ own, own_base };
	return (struct memory_bound){ process, process_base };
}

/* The records of a tree, without file contents. */
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
		.has_digests = run->digests != NULL,
		.xattr_bytes = dw_xattrs_bytes(&tree->xattrs),
	};
}

struct workload dw_workload_of_tree(const struct build_run *run, const struct tree *tree)
{
	const struct excess *excess = &run->excess;
	struct workload workload = records_of(run, tree);

	workload.entries += excess->entries;
	workload.inodes += excess->entries;
	workload.names += excess->entries;
	workload.name_bytes += excess->name_bytes;
	workload.files = excess->files;
	workload.bytes = excess->bytes;
	workload.small_bytes = excess->small_bytes;

	for (size_t i = 0; i < tree->inode_count; i++) {
		const struct tree_inode *inode = &tree->inodes[i];

		if ((inode->mode & DW_S_IFMT) != DW_S_IFREG || inode->size == 0)
			continue;
		workload.files++;
		workload.bytes += inode->size;
		if (inode->size <= KEPT_FILE_BYTES)
			workload.small_bytes += inode->size;
	}
	workload.contents = workload.fragments = workload.files;
	return workload;
}

void dw_workload_refine(struct workload *workload, const struct contents *contents)
{
	workload->contents = contents->count;
	workload->fragments = contents->fragment_count;
	workload->bytes = 0;
	for (size_t i = 0; i < contents->fragment_count; i++)
		workload->bytes += contents->fragments[i].size;
}

static uint64_t tree_bytes(const struct workload *workload)
{
	return workload->entries * sizeof(struct tree_entry) +
	       workload->inodes *
		       (sizeof(struct tree_inode) +
			(workload->all_times ? sizeof(struct tree_times) : 0)) +
	       workload->directories * sizeof(struct tree_directory) +
	       workload->name_bytes + workload->xattr_bytes +
	       workload->names * (sizeof(uint64_t) + SLOT_BYTES);
}

static uint64_t contents_bytes(const struct workload *workload)
{
	return workload->contents * (sizeof(struct content) + FINGERPRINT_BYTES) +
	       workload->fragments * sizeof(struct fragment);
}

static uint64_t digests_bytes(const struct workload *workload)
{
	uint64_t anchors =
		smaller_of(workload->bytes >> ANCHOR_SPACING_BITS, BLOCK_ANCHORS_MOST);

	return workload->has_digests ? workload->contents * DW_FILE_DIGEST_BYTES +
					       anchors * sizeof(struct block_anchor)
				     : 0;
}

bool dw_estimate_exceeds_limit(const struct build_run *run, const struct tree *tree)
{
	uint64_t limit = run->options->memory_limit;
	struct workload workload;

	if (limit == 0 || tree->entry_count % CHECK_INTERVAL != 0)
		return false;
	workload = records_of(run, tree);
	return dw_estimate_records(&workload) > limit;
}

uint64_t dw_estimate_records(const struct workload *workload)
{
	return workload->base + FIXED_BYTES +
	       with_waste(tree_bytes(workload) + contents_bytes(workload) +
			  digests_bytes(workload));
}

uint64_t dw_estimate_reading(const struct build_options *options,
			     const struct workload *workload, uint32_t readers)
{
	const struct categorize_options *categorize = &options->categorize;
	uint64_t per_file = PER_FILE_READING;

	if (categorize->count > 0 || categorize->callback)
		per_file += PARTS_BYTES;
	return dw_estimate_records(workload) + with_waste(workload->files * per_file) +
	       (readers ? readers : 1) *
		       (READER_BYTES + dw_categorizers_memory(categorize));
}

uint64_t dw_estimate_order(const struct workload *workload, uint64_t shingles,
			   bool by_heads)
{
	uint64_t bytes =
		dw_estimate_records(workload) + workload->fragments * PER_FRAGMENT +
		workload->entries * PER_ENTRY + workload->names * sizeof(uint64_t);

	if (by_heads)
		bytes += workload->fragments * HEADS_PER_FRAGMENT;
	if (shingles > 0)
		bytes += workload->fragments * sizeof(struct sketch_piece) + 2 * MIB;
	return bytes + smaller_of(shingles, workload->bytes / SKETCH_LEAST_BYTES) *
			       SKETCH_BYTES_PER_SHINGLE;
}

/* What the tables are frozen from. */
static uint64_t tables_bytes(const struct workload *workload)
{
	uint64_t tables =
		workload->entries * (sizeof(struct freeze_entry) + FROZEN_ENTRY / 2) +
		workload->inodes *
			(sizeof(struct freeze_inode) + FROZEN_ENTRY + sizeof(uint32_t)) +
		workload->directories * 2 * sizeof(struct freeze_directory) +
		workload->names * (sizeof(struct span) + 4 * sizeof(uint32_t)) +
		2 * workload->name_bytes + workload->files * 4 * sizeof(uint32_t);

	return with_waste(tables);
}

uint64_t dw_estimate_metadata(const struct workload *workload, uint64_t chunks)
{
	return dw_estimate_records(workload) + tables_bytes(workload) +
	       chunks * (sizeof(struct chunk) + 2 * sizeof(struct freeze_chunk));
}

uint64_t dw_estimate_frozen(const struct workload *workload)
{
	return dw_estimate_records(workload) + tables_bytes(workload) / 2;
}
