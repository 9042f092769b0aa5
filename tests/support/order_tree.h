/* SPDX-License-Identifier: MIT */
/*
 * order_tree: a tree without files on disk, and its contents, to be sorted.
 */
#ifndef TESTS_SUPPORT_ORDER_TREE_H
#define TESTS_SUPPORT_ORDER_TREE_H

#include "write/budget/budget.h"
#include "write/order/order.h"

struct order_tree {
	struct tree tree;
	struct contents contents;
	struct build_options options;
	struct build_run run;
	struct budget budget; /* of order_tree_with_bytes() */
	uint32_t *numbers;    /* of the fragments: what is sorted */
};

struct order_tree *order_tree_new(void);
void order_tree_free(struct order_tree *place);

/* The children of a directory, between spaces and sorted; "d/" is a directory.
 * Directories are filled in the order in which they were added. */
void order_tree_fill(struct order_tree *place, const char *names);

/* Give each file separate contents of 1000 bytes. Gives their number. */
size_t order_tree_add_contents(struct order_tree *place);

/* "b.txt d.bin a/x.txt a/y.bin c/w.bin c/x.txt", with contents. */
struct order_tree *order_tree_small(void);

/* Keep contents in memory, each of `size` bytes: data has those of all, one after the other. */
void order_tree_keep(struct order_tree *place, const uint8_t *data, uint32_t size);

/* The small tree with contents in memory, each of `size` bytes: data has those of all,
 * one after the other. */
struct order_tree *order_tree_with_bytes(const uint8_t *data, uint32_t size);

struct order_input order_tree_input(struct order_tree *place,
				    const struct order_spec *spec);

/* Sort by an order as written on the command line. */
void order_tree_sort(struct order_tree *place, const char *order);

/* Check that the files are in this order. */
void order_tree_expect(struct order_tree *place, const char *paths);

/* All contents of a kind have most slots of their fingerprints in common. */
void order_tree_set_minhash(struct order_tree *place, size_t content, uint16_t kind);

#endif
