/* SPDX-License-Identifier: MIT */
/*
 * order_tree: a tree without files, and its contents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/order_tree.h"
#include "write/input/source.h"

static uint32_t add_entry(struct order_tree *place, uint32_t parent, const char *name,
			  size_t size)
{
	struct os_stat stat = { .mode = 0100644 };
	struct span span = { (const uint8_t *)name, size };
	uint32_t inode;

	assert_int_equal(dw_tree_add_inode(&place->tree, &stat, false, &inode, NULL), 0);
	assert_int_equal(dw_tree_add_entry(&place->tree, parent, span, inode, NULL), 0);
	return inode;
}

struct order_tree *order_tree_new(void)
{
	struct order_tree *place = dw_calloc(1, sizeof(*place));

	assert_non_null(place);
	place->options.max_similarity_bytes = UINT64_MAX;
	place->run.options = &place->options;
	place->run.root_path = "/somewhere";
	add_entry(place, 0, "", 0);
	assert_int_equal(dw_streams_find(&place->contents.streams, 0, 0, NULL, NULL,
					 &(uint32_t){ 0 }, NULL),
			 0);
	return place;
}

void order_tree_free(struct order_tree *place)
{
	dw_sources_free(place->run.sources); /* NULL is accepted */
	dw_tree_free(&place->tree);
	dw_contents_free(&place->contents);
	dw_free(place->numbers);
	dw_free(place);
}

void order_tree_fill(struct order_tree *place, const char *names)
{
	struct tree *tree = &place->tree;
	size_t number = tree->directory_count;
	uint32_t self = 0;

	for (uint32_t i = 0; number > 0 && i < tree->entry_count; i++) {
		uint32_t inode = tree->entries[i].inode;

		if ((tree->inodes[inode].mode == 040755) && --number == 0)
			self = i;
	}
	assert_int_equal(dw_grow(&tree->directories, &tree->directory_room,
				 tree->directory_count + 1, NULL),
			 0);
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ self, (uint32_t)tree->entry_count };
	while (*names) {
		size_t size = strcspn(names, " ");
		bool is_directory = names[size - 1] == '/';
		uint32_t inode = add_entry(place, self, names, size - is_directory);

		if (is_directory)
			tree->inodes[inode].mode = 040755;
		names += size + strspn(names + size, " ");
	}
}

size_t order_tree_add_contents(struct order_tree *place)
{
	struct tree *tree = &place->tree;

	for (uint32_t i = 1; i < tree->inode_count; i++) {
		if (tree->inodes[i].mode != 0100644)
			continue;
		tree->inodes[i].size = 1000;
		assert_int_equal(dw_contents_add(&place->contents, tree, i, NULL), 0);
		assert_int_equal(
			dw_contents_add_fragment(&place->contents, 0, 1000, NULL), 0);
	}
	place->contents.fingerprints =
		dw_calloc(place->contents.count + 1, sizeof(struct fingerprint));
	place->numbers = dw_calloc(place->contents.count + 1, sizeof(uint32_t));
	assert_non_null(place->contents.fingerprints);
	assert_non_null(place->numbers);
	for (size_t i = 0; i < place->contents.count; i++)
		place->numbers[i] = (uint32_t)i;
	return place->contents.count;
}

void order_tree_keep(struct order_tree *place, const uint8_t *data, uint32_t size)
{
	uint32_t count = (uint32_t)place->contents.count;
	struct kept *kept = dw_calloc(count, sizeof(*kept));

	place->budget = (struct budget){ .kept_bytes = count * KEPT_SLAB_BYTES,
					 .shingles = 4096 };
	place->run.budget = &place->budget;
	dw_progress_start(&place->run.progress, NULL);
	assert_int_equal(
		dw_sources_new(&place->run.sources, &place->run, &place->tree, NULL), 0);
	assert_non_null(kept);
	assert_true(size <= KEPT_SLAB_BYTES);
	for (uint32_t i = 0; i < count; i++) {
		struct kept_slab *slab = dw_kept_slab_new(place->run.sources);

		assert_non_null(slab);
		memcpy(slab->data, data + (size_t)i * size, size);
		place->tree.inodes[place->contents.list[i].inode].size = size;
		place->contents.list[i].size = place->contents.fragments[i].size = size;
		kept[i] = (struct kept){ slab, 0, size, i };
	}
	dw_sources_set_kept(place->run.sources, kept, place->contents.count);
}

struct order_tree *order_tree_with_bytes(const uint8_t *data, uint32_t size)
{
	struct order_tree *place = order_tree_small();

	order_tree_keep(place, data, size);
	return place;
}

struct order_input order_tree_input(struct order_tree *place,
				    const struct order_spec *spec)
{
	return (struct order_input){
		.run = &place->run,
		.tree = &place->tree,
		.contents = &place->contents,
		.spec = spec,
		.block_bytes = 1 << 20,
		.reach_bytes = 1 << 20,
	};
}

void order_tree_expect(struct order_tree *place, const char *paths)
{
	const struct order_input input = order_tree_input(place, NULL);
	struct buffer path = { 0 };

	for (size_t i = 0; i < place->contents.count; i++) {
		size_t size = strcspn(paths, " ");
		char wanted[64] = "";

		memcpy(wanted, paths, size);
		assert_int_equal(dw_tree_path(&place->tree,
					      dw_order_entry(&input, place->numbers[i]),
					      &path, NULL),
				 0);
		assert_string_equal((char *)path.data, wanted);
		paths += size + strspn(paths + size, " ");
	}
	assert_int_equal(*paths, '\0');
	dw_buffer_free(&path);
}

void order_tree_sort(struct order_tree *place, const char *order)
{
	struct order_spec spec = { 0 };
	struct order_input input = order_tree_input(place, &spec);

	assert_int_equal(dw_order_parse(order, &spec, NULL), 0);
	assert_int_equal(
		dw_order_sort(&input, place->numbers, place->contents.count, NULL), 0);
	dw_order_spec_free(&spec);
}

struct order_tree *order_tree_small(void)
{
	struct order_tree *place = order_tree_new();

	order_tree_fill(place, "a/ b.txt c/ d.bin");
	order_tree_fill(place, "x.txt y.bin");
	order_tree_fill(place, "w.bin x.txt");
	order_tree_add_contents(place);
	return place;
}

void order_tree_set_minhash(struct order_tree *place, size_t content, uint16_t kind)
{
	for (size_t i = 0; i < DW_MINHASH_SLOTS; i++)
		dw_store16(place->contents.fingerprints[content].bytes + 2 * i,
			   (uint16_t)(i % 4 == 3 ? content + 1000 : kind + i));
}
