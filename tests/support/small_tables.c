/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "support/small_tables.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static struct os_time time_of(uint32_t number)
{
	return (struct os_time){ number, number };
}

static uint32_t add_inode(struct small_tables *all, uint32_t mode, uint64_t size)
{
	uint32_t inode, number = (uint32_t)all->tree.inode_count;
	struct os_stat stat = {
		.mode = mode,
		.size = size,
		.uid = 10 + number % 2,
		.gid = 20 + number % 3,
		.mtime = time_of(1000 + number),
		.atime = time_of(2000 + number),
		.ctime = time_of(3000 + number),
		.btime = time_of(500 + number),
	};

	assert_int_equal(dw_tree_add_inode(&all->tree, &stat, true, &inode, NULL), 0);
	return inode;
}

static void add_entry(struct small_tables *all, uint32_t parent, const char *name,
		      uint32_t inode)
{
	assert_int_equal(
		dw_tree_add_entry(&all->tree, parent, span_of(name), inode, NULL), 0);
}

static void add_directory(struct small_tables *all, uint32_t entry, uint32_t first)
{
	struct tree *tree = &all->tree;

	assert_int_equal(dw_grow(&tree->directories, &tree->directory_room,
				 tree->directory_count + 1, NULL),
			 0);
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ entry, first };
}

static void fill_tree(struct small_tables *all)
{
	struct tree *tree = &all->tree;
	uint32_t link, file;

	add_entry(all, 0, "", add_inode(all, 0040755, 0));
	add_entry(all, 0, "a", add_inode(all, 0100644, 100));
	add_entry(all, 0, "b", add_inode(all, 0100600, 100));
	add_entry(all, 0, "c", add_inode(all, 0020644, 0x501));
	add_entry(all, 0, "d", add_inode(all, 0040755, 0));
	link = add_inode(all, 0120777, 2);
	add_entry(all, 0, "e", link);
	add_entry(all, 0, "f", add_inode(all, 0010644, 0));
	add_entry(all, 0, "g", add_inode(all, 0100644, 50));
	file = add_inode(all, 0100644, 70 + SMALL_HOLE_BYTES);
	add_entry(all, 0, "h", file);
	add_entry(all, 0, "i", file);
	add_entry(all, 4, "a", add_inode(all, 0100644, 30));
	add_directory(all, 0, 1);
	add_directory(all, 4, 10);
	tree->inodes[1].next = 2;
	assert_int_equal(dw_string_set_add(&tree->targets, span_of("to"),
					   &tree->inodes[link].target, NULL),
			 0);
}

static void add_chunk(struct small_tables *all, uint32_t block, uint32_t offset,
		      uint64_t size)
{
	struct chunks *chunks = &all->chunks;

	assert_int_equal(dw_grow(&chunks->list, &chunks->room, chunks->count + 1, NULL),
			 0);
	chunks->list[chunks->count++] = (struct chunk){ block, offset, size };
}

static void add_content(struct small_tables *all, uint32_t inode, uint64_t first_chunk,
			uint32_t chunk_count)
{
	struct contents *contents = &all->contents;
	struct fragment *fragment;

	assert_int_equal(dw_contents_add(contents, &all->tree, inode, NULL), 0);
	assert_int_equal(
		dw_contents_add_fragment(contents, 0, all->tree.inodes[inode].size, NULL),
		0);
	fragment = &contents->fragments[contents->fragment_count - 1];
	fragment->first_chunk = first_chunk;
	fragment->chunk_count = chunk_count;
}

/* In scan order; chunks are in storing order. */
static void fill_contents(struct small_tables *all)
{
	uint32_t stream;

	assert_int_equal(
		dw_streams_find(&all->contents.streams, 0, 0, NULL, NULL, &stream, NULL),
		0);
	add_content(all, 1, 0, 1);
	add_content(all, 7, 4, 1);
	add_content(all, 8, 1, 2);
	add_content(all, 9, 3, 1);
	all->contents.list[2].hole_bytes = SMALL_HOLE_BYTES;
	add_chunk(all, 0, 0, 100);
	add_chunk(all, 0, 100, 70);
	add_chunk(all, DW_NONE, 0, SMALL_HOLE_BYTES);
	add_chunk(all, 1, 0, 30);
	add_chunk(all, 2, 0, 50);
}

struct small_tables *small_tables_new(void)
{
	struct small_tables *all = dw_calloc(1, sizeof(*all));

	assert_non_null(all);
	fill_tree(all);
	fill_contents(all);
	all->options.block_bits = 10;
	all->blocks.list = dw_calloc(SMALL_BLOCKS, sizeof(*all->blocks.list));
	assert_non_null(all->blocks.list);
	all->blocks.count = all->blocks.room = SMALL_BLOCKS;
	all->run = (struct build_run){ .options = &all->options, .counts = all->counts };
	all->in = (struct metadata_input){
		.run = &all->run,
		.tree = &all->tree,
		.contents = &all->contents,
		.chunks = &all->chunks,
		.block_streams = &all->blocks,
		.block_count = SMALL_BLOCKS,
	};
	all->tables = (struct tables){
		.in = &all->in,
		.options = &all->options,
		.seconds_per_unit = 1,
	};
	return all;
}

void small_tables_free(struct small_tables *all)
{
	dw_tables_free(&all->tables);
	dw_tree_free(&all->tree);
	dw_contents_free(&all->contents);
	dw_chunks_free(&all->chunks);
	dw_block_streams_free(&all->blocks);
	dw_free(all);
}
