/* SPDX-License-Identifier: MIT */
/*
 * craft_tree: write an image of a tree that no file system can have.
 *
 * Reads the tree from standard input, a line for each entry, the entries of a directory
 * together, directories in ascending order:
 *
 *	DIR d NAME N		a directory, with the number N; the root is 0
 *	DIR l NAME TARGET	a symbolic link
 *	DIR f NAME CHUNKS	a file: "h4096,d10" is a hole and 10 bytes of data
 *	DIR f NAME @N		another name of the file with the number N, from 0 on
 *	DIR c NAME NUMBER	a character device
 *	DIR p NAME -		a fifo
 *	range N FIRST		the entries of directory N begin at FIRST instead, from 1 on
 *	size N BYTES		the cached size of the file with the number N
 *	block BITS		blocks may have so many bytes
 *	category NAME		the category of the block
 *	owner NUMBER		of all entries
 *
 * %XX in names and targets is a byte. The image is written to the path in the argument.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/freeze.h"
#include "format/metadata.h"
#include "support/craft.h"

#define BLOCK_BYTES 65536
#define MOST	    100000

enum { DIRS, LINKS, FILES, DEVICES, OTHERS, KINDS };

struct line {
	uint32_t dir, kind, number;
	char *name, *value;
};

struct tree {
	struct line lines[MOST];
	struct craft_chunk chunks[MOST];
	uint64_t holes[MOST];
	uint32_t chunk_table[MOST];
	uint32_t ranges[MOST]; /* 0: none */
	struct freeze_pair64 sizes[MOST];
	uint64_t devices[MOST];
	uint32_t block_bytes, size_count, owner;
	char *category; /* NULL: none */
	uint32_t line_count, chunk_count, hole_count;
	uint32_t counts[KINDS]; /* including the root */
};

static char *decode(const char *text)
{
	char *out = dw_malloc(strlen(text) + 1);
	size_t size = 0;
	unsigned value;

	assert_non_null(out);
	for (; *text; text++) {
		out[size++] = *text;
		if (*text == '%' && sscanf(text + 1, "%2x", &value) == 1) {
			out[size - 1] = (char)value;
			text += 2;
		}
	}
	out[size] = '\0';
	return out;
}

static void add_chunks(struct tree *tree, const char *text)
{
	unsigned long long bytes;
	char kind;
	int used;

	tree->chunk_table[tree->counts[FILES]] = tree->chunk_count;
	for (; sscanf(text, "%c%llu%n", &kind, &bytes, &used) == 2;
	     text += used + (text[used] == ',')) {
		struct craft_chunk chunk = { 0, 0, (uint32_t)bytes };

		if (kind == 'h') {
			chunk = (struct craft_chunk){ 1, DW_LARGE_HOLE_OFFSET,
						      tree->hole_count };
			tree->holes[tree->hole_count++] = bytes;
		}
		tree->chunks[tree->chunk_count++] = chunk;
	}
}

static void add_line(struct tree *tree, uint32_t dir, char kind, const char *name,
		     const char *value)
{
	static const char kinds[] = "dlfcp";
	struct line *line = &tree->lines[tree->line_count++];

	assert_true(tree->line_count < MOST - 1 && strchr(kinds, kind));
	*line = (struct line){
		.dir = dir,
		.kind = (uint32_t)(strchr(kinds, kind) - kinds),
		.name = decode(name),
		.value = decode(value),
	};
	if (line->kind == DIRS) {
		line->number = (uint32_t)atoi(value);
		if (line->number >= tree->counts[DIRS])
			tree->counts[DIRS] = line->number + 1;
		return;
	}
	if (line->kind == FILES && value[0] == '@') {
		line->number = (uint32_t)atoi(value + 1);
		return;
	}
	if (line->kind == DEVICES)
		tree->devices[tree->counts[DEVICES]] = strtoull(value, NULL, 0);
	if (line->kind == FILES)
		add_chunks(tree, value);
	line->number = tree->counts[line->kind]++;
}

static void read_tree(struct tree *tree, FILE *in)
{
	static char text[8192], name[4096], value[8192];
	unsigned long long bytes;
	unsigned dir, first;
	char kind;

	tree->counts[DIRS] = 1;
	tree->block_bytes = BLOCK_BYTES;
	while (fgets(text, sizeof(text), in)) {
		if (sscanf(text, "range %u %u", &dir, &first) == 2)
			tree->ranges[dir] = first;
		else if (sscanf(text, "size %u %llu", &dir, &bytes) == 2)
			tree->sizes[tree->size_count++] =
				(struct freeze_pair64){ dir, bytes };
		else if (sscanf(text, "owner %u", &first) == 1)
			tree->owner = first;
		else if (sscanf(text, "block %u", &first) == 1)
			tree->block_bytes = UINT32_C(1) << first;
		else if (sscanf(text, "category %4095s", name) == 1)
			tree->category = decode(name);
		else if (sscanf(text, "%u %c %4095s %8191s", &dir, &kind, name, value) ==
			 4)
			add_line(tree, dir, kind, name, value);
		else
			fail_msg("what is '%s'?", text);
	}
	tree->chunk_table[tree->counts[FILES]] = tree->chunk_count;
}

static uint32_t inode_of(const struct tree *tree, const struct line *line)
{
	uint32_t inode = line->number;

	for (uint32_t kind = DIRS; kind < line->kind; kind++)
		inode += tree->counts[kind];
	return inode;
}

/* First entries; a directory without any begins where the next one does. */
static void set_ranges(const struct tree *tree, struct freeze_directory *directories)
{
	uint32_t at = 0;

	for (uint32_t dir = 0; dir <= tree->counts[DIRS]; dir++) {
		while (at < tree->line_count && tree->lines[at].dir < dir)
			at++;
		directories[dir].first_entry =
			tree->ranges[dir] ? tree->ranges[dir] : at + 1;
	}
}

#define TABLE(array, items)                                                              \
	{                                                                                \
		(array), (items)                                                         \
	}

static void write_tree(const struct tree *tree, struct craft *craft)
{
	static const uint32_t all_modes[] = { 0040755, 0120777, 0100644, 0020644,
					      0010644 };
	static const uint32_t nobody[] = { 0 };
	static struct freeze_directory directories[MOST];
	static struct freeze_inode inodes[MOST];
	static struct freeze_entry entries[MOST];
	static struct span names[MOST], links[MOST];
	static uint32_t link_table[MOST];
	uint32_t modes[KINDS] = { all_modes[DIRS] }, places[KINDS] = { 0 };
	struct span sparse = { (const uint8_t *)"sparsefiles", 11 };
	struct span category = { (const uint8_t *)tree->category,
				 tree->category ? strlen(tree->category) : 0 };
	uint32_t count = tree->counts[DIRS] + tree->counts[LINKS] + tree->counts[FILES] +
			 tree->counts[DEVICES] + tree->counts[OTHERS];
	struct freeze_metadata metadata = {
		.chunks = TABLE(tree->chunks, tree->chunk_count),
		.directories = TABLE(directories, (size_t)tree->counts[DIRS] + 1),
		.inodes = TABLE(inodes, count),
		.chunk_table = TABLE(tree->chunk_table, (size_t)tree->counts[FILES] + 1),
		.symlink_table = TABLE(link_table, tree->counts[LINKS]),
		.symlinks = TABLE(links, tree->counts[LINKS]),
		.uids = TABLE(&tree->owner, 1),
		.gids = TABLE(nobody, 1),
		.modes = TABLE(modes, 1),
		.names = TABLE(names, tree->line_count),
		.block_size = tree->block_bytes,
		.has_devices = true,
		.devices = TABLE(tree->devices, tree->counts[DEVICES]),
		.has_options = true,
		.options = { .mtime_only = true },
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, (size_t)tree->line_count + 1),
		.has_hole_block_index = true,
		.hole_block_index = 1,
		.has_large_hole_size = true,
		.large_hole_size = TABLE(tree->holes, tree->hole_count),
		.has_reg_file_size_cache = tree->size_count > 0,
		.reg_file_size_cache = { .size_lookup =
						 TABLE(tree->sizes, tree->size_count),
					 .min_chunk_count = 2 },
		.has_features = true,
		.features = TABLE(&sparse, 1),
		.has_category_names = tree->category,
		.category_names = TABLE(&category, 1),
		.has_block_categories = tree->category,
		.block_categories = TABLE(nobody, 1),
	};

	for (uint32_t kind = LINKS; kind < KINDS; kind++) {
		places[kind] = (uint32_t)metadata.modes.count;
		if (tree->counts[kind] > 0)
			modes[metadata.modes.count++] = all_modes[kind];
	}
	for (uint32_t i = 0; i < tree->line_count; i++) {
		const struct line *line = &tree->lines[i];
		uint32_t inode = inode_of(tree, line);

		names[i] =
			(struct span){ (const uint8_t *)line->name, strlen(line->name) };
		entries[i + 1] = (struct freeze_entry){ i, inode };
		inodes[inode].mode_index = places[line->kind];
		if (line->kind != LINKS)
			continue;
		links[line->number] = (struct span){ (const uint8_t *)line->value,
						     strlen(line->value) };
		link_table[line->number] = line->number;
	}
	set_ranges(tree, directories);
	craft_metadata(craft, &metadata);
}

int main(int argc, char **argv)
{
	static struct tree tree;
	static uint8_t block[BLOCK_BYTES];
	struct craft craft = { 0 };
	FILE *out;

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = "0123456789abcdef"[i % 16];
	read_tree(&tree, stdin);
	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	write_tree(&tree, &craft);
	out = fopen(argv[1], "wb");
	if (!out ||
	    fwrite(craft.bytes.data, 1, craft.bytes.size, out) != craft.bytes.size ||
	    fclose(out) != 0)
		return 1;
	craft_free(&craft);
	for (uint32_t i = 0; i < tree.line_count; i++) {
		dw_free(tree.lines[i].name);
		dw_free(tree.lines[i].value);
	}
	dw_free(tree.category);
	return 0;
}
