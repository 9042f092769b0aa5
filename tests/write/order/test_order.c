/* SPDX-License-Identifier: MIT */
/*
 * order: exact results on small trees, time that grows with the number of files, and
 * fingerprints that do not depend on how data comes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "write/order/order.h"
#include "write/order/sort.h"

/* -- a tree without files ----------------------------------------------------------- */

struct place {
	struct tree tree;
	struct contents contents;
	struct build_options options;
	struct build_run run;
	uint32_t *numbers;
};

static uint32_t add_entry(struct place *place, uint32_t parent, const char *name,
			  size_t size)
{
	struct os_stat stat = { .mode = 0100644 };
	struct span span = { (const uint8_t *)name, size };
	uint32_t inode;

	assert_int_equal(dw_tree_add_inode(&place->tree, &stat, false, &inode, NULL), 0);
	assert_int_equal(dw_tree_add_entry(&place->tree, parent, span, inode, NULL), 0);
	return inode;
}

static struct place *new_place(void)
{
	struct place *place = calloc(1, sizeof(*place));

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

static void free_place(struct place *place)
{
	dw_tree_free(&place->tree);
	dw_contents_free(&place->contents);
	free(place->numbers);
	free(place);
}

/* The children of a directory, between spaces and sorted; "d/" is a directory.
 * Directories are filled in the order in which they were added. */
static void fill(struct place *place, const char *names)
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

/* Each file gets contents of its own. */
static size_t add_contents(struct place *place)
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
		calloc(place->contents.count + 1, sizeof(struct fingerprint));
	place->numbers = calloc(place->contents.count + 1, sizeof(uint32_t));
	assert_non_null(place->contents.fingerprints);
	assert_non_null(place->numbers);
	for (size_t i = 0; i < place->contents.count; i++)
		place->numbers[i] = (uint32_t)i;
	return place->contents.count;
}

static struct order_input input_of(struct place *place, const struct order_spec *spec)
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

static void expect_paths(struct place *place, const char *paths)
{
	const struct order_input input = input_of(place, NULL);
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

static void sort_by(struct place *place, const char *order)
{
	struct order_spec spec;
	struct order_input input = input_of(place, &spec);

	assert_int_equal(dw_order_parse(order, &spec, NULL), 0);
	assert_int_equal(
		dw_order_sort(&input, place->numbers, place->contents.count, NULL), 0);
	dw_order_spec_free(&spec);
}

static struct place *small_tree(void)
{
	struct place *place = new_place();

	fill(place, "a/ b.txt c/ d.bin");
	fill(place, "x.txt y.bin");
	fill(place, "w.bin x.txt");
	add_contents(place);
	return place;
}

/* -- orders ------------------------------------------------------------------------- */

static void simple_orders_give_exactly_that_order(void **state)
{
	struct place *place = small_tree();

	sort_by(place, "none");
	expect_paths(place, "b.txt d.bin a/x.txt a/y.bin c/w.bin c/x.txt");
	sort_by(place, "path");
	expect_paths(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	sort_by(place, "revpath");
	expect_paths(place, "b.txt d.bin c/w.bin a/x.txt c/x.txt a/y.bin");
	sort_by(place, "auto"); /* all in one block: as by path */
	expect_paths(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	free_place(place);
}

static void explicit_order_follows_the_list(void **state)
{
	char name[] = "/tmp/dwarfs-order-XXXXXX", order[64];
	const char text[] = "c/x.txt\n./d.bin\n\nno/such\n/somewhere/a/y.bin\nc/x.txt\n";
	struct place *place = small_tree();
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	snprintf(order, sizeof(order), "explicit:file=%s", name);
	sort_by(place, order);
	expect_paths(place, "c/x.txt d.bin a/y.bin a/x.txt b.txt c/w.bin");
	unlink(name);
	free_place(place);
}

static void expect_refused(const char *order, const char *part)
{
	struct order_spec spec;
	dwarfs_error *err = NULL;

	assert_true(dw_order_parse(order, &spec, &err) < 0);
	if (!strstr(dwarfs_error_message(err), part))
		fail_msg("%s", dwarfs_error_message(err));
	dwarfs_error_free(err);
}

static void bad_orders_are_refused(void **state)
{
	struct order_spec spec;

	expect_refused("", "invalid inode order mode");
	expect_refused("paths", "invalid inode order mode: paths");
	expect_refused("hotness", "invalid inode order mode: hotness");
	expect_refused("path:x", "takes no options");
	expect_refused("auto:x", "takes no options");
	expect_refused("explicit", "file=NAME is missing");
	expect_refused("explicit:file=", "file=NAME is missing");
	expect_refused("explicit:file=/no/such", "failed to open explicit order file");
	expect_refused("nilsimsa:", "unknown option");
	expect_refused("nilsimsa:max-children", "unknown option");
	expect_refused("nilsimsa:max-children=", "not a positive number");
	expect_refused("nilsimsa:max-children=0", "not a positive number");
	expect_refused("nilsimsa:max-children=-1", "not a positive number");
	expect_refused("nilsimsa:max-children=1x", "not a positive number");
	expect_refused("nilsimsa:max-children=99999999999", "not a positive number");
	expect_refused("nilsimsa:max-children=1:max-children=1", "given twice");
	assert_int_equal(dw_order_parse("nilsimsa:max-cluster-size=5", &spec, NULL), 0);
	assert_int_equal(spec.max_cluster_size, 5);
	assert_int_equal(spec.max_children, 16384);
	dw_order_spec_free(&spec);
}

/* Shares so many of the slots with all others that have the same kind. */
static void set_minhash(struct place *place, size_t content, uint16_t kind)
{
	for (size_t i = 0; i < DW_MINHASH_SLOTS; i++)
		dw_store16(place->contents.fingerprints[content].bytes + 2 * i,
			   (uint16_t)(i % 4 == 3 ? content + 1000 : kind + i));
}

static void siblings_stand_version_by_version(void **state)
{
	struct place *place = new_place();
	struct order_input input = input_of(place, NULL);
	uint32_t *ranks;
	size_t count;

	fill(place, "1.0/ 1.1/ other/");
	fill(place, "m n");
	fill(place, "l m n");
	fill(place, "m z");
	count = add_contents(place); /* 1.0/m 1.0/n 1.1/l 1.1/m 1.1/n other/m other/z */
	assert_int_equal(count, 7);
	for (size_t i = 0; i < count; i++)
		set_minhash(place, i, (uint16_t)(100 * (i + 1)));
	set_minhash(place, 3, 100);
	set_minhash(place, 4, 200);
	assert_int_equal(dw_order_sibling_ranks(&input, false, &ranks, NULL), 0);
	assert_int_equal(dw_order_by_rank(&input, ranks, place->numbers, count, NULL), 0);
	free(ranks);
	expect_paths(place, "1.1/l 1.0/m 1.1/m 1.0/n 1.1/n other/m other/z");
	free_place(place);
}

static void resembling_files_come_together_within_bounds(void **state)
{
	struct place *place = small_tree();
	struct order_input input = input_of(place, NULL);

	sort_by(place, "path");
	for (size_t i = 0; i < place->contents.count; i++)
		set_minhash(place, i, (uint16_t)(100 * (i + 1)));
	set_minhash(place, 1, 300); /* d.bin as a/x.txt */
	set_minhash(place, 4, 300); /* and c/w.bin */
	assert_int_equal(dw_order_resemble(&input, 2, 999, place->numbers, 6, NULL), 0);
	expect_paths(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	assert_int_equal(dw_order_resemble(&input, 2, 2000, place->numbers, 6, NULL), 0);
	expect_paths(place, "a/x.txt c/w.bin a/y.bin b.txt c/x.txt d.bin");
	sort_by(place, "path");
	assert_int_equal(dw_order_resemble(&input, 2, 1 << 20, place->numbers, 6, NULL),
			 0);
	expect_paths(place, "a/x.txt c/w.bin d.bin a/y.bin b.txt c/x.txt");
	free_place(place);
}

static void similarity_sorts_by_fingerprints(void **state)
{
	struct place *place = small_tree();

	place->contents.fingerprints[0].bytes[0] = 9; /* b.txt */
	place->contents.fingerprints[2].bytes[0] = 5; /* a/x.txt */
	place->contents.fingerprints[5].bytes[0] = 5; /* c/x.txt */
	sort_by(place, "similarity");
	expect_paths(place, "a/y.bin c/w.bin d.bin a/x.txt c/x.txt b.txt");
	place->contents.fragments[0].size = 5000;
	place->contents.fragments[5].size = 9000;
	place->options.max_similarity_bytes = 4999;
	sort_by(place, "similarity");
	expect_paths(place, "c/x.txt b.txt a/y.bin c/w.bin d.bin a/x.txt");
	free_place(place);
}

static void nilsimsa_chains_the_nearest(void **state)
{
	static const uint8_t bits[6] = { 0xFF, 0x00, 0x01, 0x7F, 0x03, 0x01 };
	struct place *place = small_tree();

	for (size_t i = 0; i < 6; i++)
		place->contents.fingerprints[i].bytes[7] = bits[i];
	sort_by(place, "nilsimsa");
	expect_paths(place, "a/x.txt c/x.txt c/w.bin d.bin a/y.bin b.txt");
	free_place(place);
}

/* -- callback ----------------------------------------------------------------------- */

static int last_first(dwarfs_order_list *list, void *user)
{
	size_t count = dwarfs_order_list_count(list);

	assert_int_equal(count, 6);
	assert_string_equal(dwarfs_order_list_path(list, 0), "a/x.txt");
	assert_string_equal(dwarfs_order_list_category(list), "<default>");
	assert_int_equal(dwarfs_order_list_size(list, 5), 1000);
	assert_null(dwarfs_order_list_path(list, 6));
	dwarfs_order_list_set_rank(list, 6, 0);
	dwarfs_order_list_set_rank(list, 5, 0);
	dwarfs_order_list_set_rank(list, 4, 7);
	dwarfs_order_list_set_rank(list, 2, 7);
	return *(int *)user;
}

static void a_callback_has_the_last_word(void **state)
{
	struct place *place = small_tree();
	struct order_spec spec;
	struct order_input input = input_of(place, &spec);
	int answer = 0;

	place->options.order_callback = last_first;
	place->options.order_callback_user = &answer;
	sort_by(place, "path");
	expect_paths(place, "d.bin b.txt c/x.txt a/x.txt a/y.bin c/w.bin");
	answer = 1;
	assert_int_equal(dw_order_parse("path", &spec, NULL), 0);
	assert_int_equal(dw_order_sort(&input, place->numbers, 6, NULL),
			 DWARFS_ERR_CANCELLED);
	free_place(place);
}

/* -- many files --------------------------------------------------------------------- */

#define MANY 20000

enum pattern { ALL_EQUAL, ALL_DIFFERENT, ONE_BAND, PATTERNS };

static void set_pattern(struct fingerprint *print, enum pattern pattern, uint32_t *random)
{
	for (size_t i = 0; i < FINGERPRINT_BYTES; i++) {
		*random = *random * UINT32_C(1664525) + UINT32_C(1013904223);
		print->bytes[i] = pattern == ALL_EQUAL || (pattern == ONE_BAND && i < 8)
					  ? 1
					  : (uint8_t)(*random >> 24 | 1);
	}
}

/* A quadratic step would make this take minutes. */
static void any_fingerprints_are_sorted_quickly(void **state)
{
	static const char *const orders[] = { "similarity", "nilsimsa", NULL };
	struct place *place = new_place();
	struct order_input input = input_of(place, NULL);
	uint8_t *seen = calloc(MANY, 1);
	char *names = malloc(MANY * 8 + 1);
	uint32_t random = 1;

	assert_non_null(seen);
	assert_non_null(names);
	for (size_t i = 0; i < MANY; i++)
		snprintf(names + 7 * i, 8, "f%05zu ", i);
	fill(place, names);
	assert_int_equal(add_contents(place), MANY);
	for (int pattern = 0; pattern < PATTERNS; pattern++) {
		for (size_t i = 0; i < MANY; i++)
			set_pattern(&place->contents.fingerprints[i],
				    (enum pattern)pattern, &random);
		for (size_t i = 0; orders[i]; i++)
			sort_by(place, orders[i]);
		for (unsigned band = 2; band <= 4; band += 2)
			assert_int_equal(dw_order_resemble(&input, band, UINT64_MAX,
							   place->numbers, MANY, NULL),
					 0);
		memset(seen, 0, MANY);
		for (size_t i = 0; i < MANY; i++)
			seen[place->numbers[i]]++;
		for (size_t i = 0; i < MANY; i++)
			assert_int_equal(seen[i], 1);
	}
	free(names);
	free(seen);
	free_place(place);
}

static void keyed_numbers_are_sorted_stably(void **state)
{
	struct dw_keyed list[1000], spare[1000];
	uint32_t random = 5;

	for (uint32_t i = 0; i < 1000; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		list[i] = (struct dw_keyed){ random >> 27 << (random & 8 ? 20 : 3), i };
	}
	dw_sort_keyed(list, spare, 1000);
	for (size_t i = 1; i < 1000; i++) {
		assert_true(list[i - 1].key <= list[i].key);
		if (list[i - 1].key == list[i].key)
			assert_true(list[i - 1].number < list[i].number);
	}
	dw_sort_keyed(list, spare, 0);
}

/* -- fingerprints ------------------------------------------------------------------- */

static void fingerprints_do_not_depend_on_pieces(void **state)
{
	static const size_t sizes[] = {
		0, 3, 31, 32, 100, 511, 513, 16384, 16415, 70000
	};
	struct fingerprinter *maker;
	uint8_t *data = malloc(70000);
	uint32_t random = 7;

	assert_non_null(data);
	for (size_t i = 0; i < 70000; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	assert_int_equal(dw_fingerprinter_new(&maker, NULL), 0);
	for (int kind = FINGERPRINT_NONE; kind <= FINGERPRINT_NILSIMSA; kind++) {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct fingerprint whole, pieces;

			dw_fingerprint_begin(maker, (enum fingerprint_kind)kind);
			dw_fingerprint_update(maker, data, sizes[s]);
			dw_fingerprint_finish(maker, &whole);
			dw_fingerprint_begin(maker, (enum fingerprint_kind)kind);
			for (size_t at = 0, step = 1; at < sizes[s]; at += step) {
				step = (step * 7 + at) % 1013;
				if (step > sizes[s] - at)
					step = sizes[s] - at;
				dw_fingerprint_update(maker, data + at, step);
				step = step ? step : 0;
				if (step == 0)
					dw_fingerprint_update(maker, data + at, step = 1);
			}
			dw_fingerprint_finish(maker, &pieces);
			assert_memory_equal(&whole, &pieces, sizeof(whole));
		}
	}
	dw_fingerprinter_free(maker);
	free(data);
}

static void alike_contents_have_alike_minhashes(void **state)
{
	struct fingerprinter *maker;
	struct fingerprint a, b, c;
	uint8_t data[8000];
	uint32_t random = 9;

	assert_int_equal(dw_fingerprinter_new(&maker, NULL), 0);
	for (size_t i = 0; i < sizeof(data); i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data, 7000);
	dw_fingerprint_finish(maker, &a);
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data + 300, 6500);
	dw_fingerprint_finish(maker, &b);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] ^= 0x55;
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data, 7000);
	dw_fingerprint_finish(maker, &c);
	assert_true(dw_minhash_common(&a, &b) >= 10);
	assert_true(dw_minhash_common(&a, &c) <= 2);
	assert_int_equal(dw_minhash_common(&a, &a), DW_MINHASH_SLOTS);
	memset(&c, 0, sizeof(c));
	assert_int_equal(dw_minhash_common(&c, &c), 0);
	dw_fingerprinter_free(maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_orders_give_exactly_that_order),
		cmocka_unit_test(explicit_order_follows_the_list),
		cmocka_unit_test(bad_orders_are_refused),
		cmocka_unit_test(siblings_stand_version_by_version),
		cmocka_unit_test(resembling_files_come_together_within_bounds),
		cmocka_unit_test(similarity_sorts_by_fingerprints),
		cmocka_unit_test(nilsimsa_chains_the_nearest),
		cmocka_unit_test(a_callback_has_the_last_word),
		cmocka_unit_test(any_fingerprints_are_sorted_quickly),
		cmocka_unit_test(keyed_numbers_are_sorted_stably),
		cmocka_unit_test(fingerprints_do_not_depend_on_pieces),
		cmocka_unit_test(alike_contents_have_alike_minhashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
