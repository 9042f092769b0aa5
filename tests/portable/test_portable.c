/* SPDX-License-Identifier: MIT */
/*
 * Pack, open, list, read, check and extract, by public headers and the C library alone:
 * for every platform. The only argument is a new folder, which must not exist.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/dwarfs.h>

#ifdef _WIN32
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#define make_folder(path) mkdir(path, 0755)
#endif

#define FILES	  40
#define MOST_PATH 4096

static int number, failed;

static void report(bool passed, const char *what, dwarfs_error *err)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++number, what);
	if (!passed)
		printf("# %s\n", err ? dwarfs_error_message(err) : "no error is given");
	failed += !passed;
	dwarfs_error_free(err);
	fflush(stdout);
}

static const char *joined(const char *folder, const char *name)
{
	static char paths[4][MOST_PATH];
	static int turn;
	char *path = paths[turn++ % 4];

	if (snprintf(path, MOST_PATH, "%s/%s", folder, name) >= MOST_PATH)
		exit(2);
	return path;
}

/* The contents of a file by its number: text that repeats, of another size for each. */
static size_t contents(int file, char *text, size_t room)
{
	size_t used = 0;

	for (int line = 0; line < file * 300; line++)
		used += (size_t)snprintf(text + used, room - used, "line %d of %d\n",
					 line * line, file % 7);
	return used;
}

#define ROOM ((size_t)1 << 20)
static char wanted[ROOM], found[ROOM + 1];

static void file_name(int file, char *name, size_t room)
{
	snprintf(name, room, "%s/file%d.txt", file % 2 ? "one" : "two", file);
}

static bool make_tree(const char *tree)
{
	bool made = make_folder(tree) == 0 && make_folder(joined(tree, "one")) == 0 &&
		    make_folder(joined(tree, "two")) == 0;

	for (int i = 0; made && i < FILES; i++) {
		char name[64];
		FILE *file;
		size_t bytes = contents(i, wanted, ROOM);

		file_name(i, name, sizeof(name));
		file = fopen(joined(tree, name), "wb");
		made = file && fwrite(wanted, 1, bytes, file) == bytes;
		made = file && fclose(file) == 0 && made;
	}
	return made;
}

static void pack(const char *tree, const char *image, int level)
{
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;
	char what[64];
	int ret = dwarfs_builder_new(NULL, &builder, &err);

	if (ret == 0)
		ret = dwarfs_builder_set_level(builder, (uint32_t)level, &err);
	if (ret == 0)
		ret = dwarfs_builder_add_directory(builder, tree, &err);
	if (ret == 0)
		ret = dwarfs_builder_write_path(builder, image, true, &err);
	dwarfs_builder_free(builder);
	snprintf(what, sizeof(what), "packed at level %d", level);
	report(ret == 0, what, err);
}

static void refuses_to_replace(const char *tree, const char *image)
{
	dwarfs_builder *builder = NULL;
	int ret = dwarfs_builder_new(NULL, &builder, NULL);

	if (ret == 0)
		ret = dwarfs_builder_add_directory(builder, tree, NULL);
	if (ret == 0)
		ret = dwarfs_builder_write_path(builder, image, false, NULL);
	dwarfs_builder_free(builder);
	report(ret == DWARFS_ERR_EXISTS, "an image is not replaced without overwrite",
	       NULL);
}

static void list(const dwarfs_image *image)
{
	dwarfs_walk *walk = NULL;
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	int entries = 0;
	int ret =
		dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err);

	while (ret >= 0 && (ret = dwarfs_walk_next(walk, &entry, &err)) > 0)
		entries++;
	dwarfs_walk_free(walk);
	report(ret == 0 && entries == FILES + 3 /* folders */, "all entries are listed",
	       err);
}

static void read_all(const dwarfs_image *image)
{
	dwarfs_error *err = NULL;
	int ret = 0;
	bool same = true;

	for (int i = 0; i < FILES && ret == 0 && same; i++) {
		size_t bytes = contents(i, wanted, ROOM), got = 0;
		dwarfs_entry entry;
		dwarfs_inode inode;
		char name[64];

		file_name(i, name, sizeof(name));
		if ((ret = dwarfs_find(image, name, &entry, &err)) == 0 &&
		    (ret = dwarfs_entry_inode(image, entry, &inode, &err)) == 0 &&
		    (ret = dwarfs_read(image, inode, found, ROOM, 0, &got, &err)) == 0)
			same = got == bytes && memcmp(found, wanted, bytes) == 0;
	}
	report(ret == 0 && same, "every file is read unchanged", err);
}

static void check(const dwarfs_image *image)
{
	dwarfs_error *err = NULL;
	uint64_t errors = 1;
	int ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
				     &errors, &err);

	report(ret == 0 && errors == 0, "the image is checked, with its hashes", err);
}

static bool is_extracted(const char *target, int number_of_file)
{
	size_t bytes = contents(number_of_file, wanted, ROOM), got;
	char name[64];
	FILE *file;

	file_name(number_of_file, name, sizeof(name));
	file = fopen(joined(target, name), "rb");
	if (!file)
		return false;
	got = fread(found, 1, ROOM, file);
	fclose(file);
	return got == bytes && memcmp(found, wanted, bytes) == 0;
}

static void extract(const dwarfs_image *image, const char *target)
{
	dwarfs_extract *extraction = NULL;
	dwarfs_error *err = NULL;
	int ret = dwarfs_extract_new(image, &extraction, &err);
	bool same = true;

	if (ret == 0)
		ret = dwarfs_extract_to_directory(extraction, target, &err);
	dwarfs_extract_free(extraction);
	for (int i = 0; ret == 0 && i < FILES; i++)
		same = same && is_extracted(target, i);
	report(ret == 0 && same, "every file is extracted unchanged", err);
}

static void use(const char *folder, const char *tree, int level)
{
	char name[32], image_path[MOST_PATH], target[MOST_PATH];
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	int ret;

	snprintf(name, sizeof(name), "level%d.dwarfs", level);
	snprintf(image_path, sizeof(image_path), "%s", joined(folder, name));
	pack(tree, image_path, level);
	ret = dwarfs_image_open(NULL, image_path, NULL, &image, &err);
	report(ret == 0, "opened", err);
	if (ret < 0)
		return;
	list(image);
	read_all(image);
	check(image);
	snprintf(name, sizeof(name), "back%d", level);
	snprintf(target, sizeof(target), "%s", joined(folder, name));
	extract(image, target);
	dwarfs_image_free(image);
	refuses_to_replace(tree, image_path);
}

int main(int argc, char **argv)
{
	static const int levels[] = { 0, 4, 5, 7 };
	char tree[MOST_PATH];

	if (argc != 2 || make_folder(argv[1]) != 0) {
		fprintf(stderr, "usage: test_portable NEW_FOLDER\n");
		return 2;
	}
	snprintf(tree, sizeof(tree), "%s", joined(argv[1], "tree"));
	report(make_tree(tree), "made a tree", NULL);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		use(argv[1], tree, levels[i]);
	printf("1..%d\n", number);
	return failed != 0;
}
