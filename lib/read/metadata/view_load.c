/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view_load: find the tables of the metadata and compile their columns.
 *
 * Takes frozen metadata; compares the sizes of tables with each other, so that every
 * count is bounded by the size of the data.
 */
#include "read/metadata/view.h"

#define MAX_LISTED_STRINGS 4096
#define MAX_LISTED_BYTES   1024 /* of each list; strings may overlap */
#define MAX_BLOCK_SIZE	   (UINT64_C(1) << 31)

/* Note damage that does not affect contents, for the check to report. */
static void note_damage(struct view *view, const char *damage)
{
	if (view->damage_count < sizeof(view->damage) / sizeof(*view->damage))
		view->damage[view->damage_count++] = damage;
}

/* -- finding fields ------------------------------------------------------------------ */

static struct frozen_node field(const struct view *view, int id)
{
	return dw_frozen_child(&view->frozen, dw_frozen_root(&view->frozen), id);
}

static int optional_member(const struct view *view, int id, struct frozen_node *node_out,
			   bool *is_set_out, dwarfs_error **err)
{
	return dw_frozen_optional(&view->frozen, field(view, id), node_out, is_set_out,
				  err);
}

static int number(const struct view *view, int id, unsigned max_bits, uint64_t *value_out,
		  dwarfs_error **err)
{
	return dw_frozen_uint(&view->frozen, field(view, id), max_bits, value_out, err);
}

static int optional_number(const struct view *view, struct frozen_node parent, int id,
			   unsigned max_bits, uint64_t *value, bool *is_set_out,
			   dwarfs_error **err)
{
	struct frozen_node node;
	bool is_set;
	int ret = dw_frozen_optional(&view->frozen,
				     dw_frozen_child(&view->frozen, parent, id), &node,
				     &is_set, err);

	if (ret == 0 && is_set)
		ret = dw_frozen_uint(&view->frozen, node, max_bits, value, err);
	if (ret == 0 && is_set_out)
		*is_set_out = is_set;
	return ret;
}

static int flag(const struct view *view, struct frozen_node parent, int id,
		bool *value_out, dwarfs_error **err)
{
	return dw_frozen_bool(&view->frozen, dw_frozen_child(&view->frozen, parent, id),
			      value_out, err);
}

/* A list of plain numbers. */
static int numbers(const struct view *view, struct frozen_node node, unsigned max_bits,
		   struct table *table_out, struct column *column_out, dwarfs_error **err)
{
	int ret = dw_frozen_table(&view->frozen, node, table_out, err);

	if (ret < 0)
		return ret;
	return dw_frozen_column(&view->frozen, table_out, 0, max_bits, column_out, err);
}

static int optional_numbers(const struct view *view, int id, unsigned max_bits,
			    struct table *table_out, struct column *column_out,
			    dwarfs_error **err)
{
	struct frozen_node node;
	int ret = optional_member(view, id, &node, NULL, err);

	if (ret < 0)
		return ret;
	return numbers(view, node, max_bits, table_out, column_out, err);
}

/* A map of numbers. */
static int pairs(const struct view *view, struct frozen_node node, unsigned value_bits,
		 struct table *table_out, struct column *key_out,
		 struct column *value_out, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_frozen_table(&view->frozen, node, table_out, err)) < 0 ||
	    (ret = dw_frozen_column(&view->frozen, table_out, PAIR_FIRST, 32, key_out,
				    err)) < 0)
		return ret;
	return dw_frozen_column(&view->frozen, table_out, PAIR_SECOND, value_bits,
				value_out, err);
}

/* The columns of a table of structs; max_bits 0 ends the list. */
struct wanted_column {
	int id;
	unsigned max_bits;
	struct column *column_out;
};

static int columns(const struct view *view, const struct table *table,
		   const struct wanted_column *wanted, dwarfs_error **err)
{
	for (; wanted->max_bits; wanted++) {
		int ret = dw_frozen_column(&view->frozen, table, wanted->id,
					   wanted->max_bits, wanted->column_out, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* A short list of strings as C strings, ending with NULL. */
static int copy_strings(const struct view *view, struct frozen_node node,
			char ***list_out, dwarfs_error **err)
{
	struct string_column column;
	struct table table;
	int ret;

	if ((ret = dw_frozen_table(&view->frozen, node, &table, err)) < 0 ||
	    (ret = dw_frozen_string_column(&view->frozen, &table, &column, err)) < 0)
		return ret;
	if (table.count > MAX_LISTED_STRINGS)
		return dw_fail_metadata(err, "a list of names is too long");
	*list_out = dw_calloc((size_t)table.count + 1, sizeof(char *));
	if (!*list_out)
		return dw_fail_nomem(err);
	for (uint64_t i = 0; i < table.count; i++) {
		struct span text;

		if (!dw_column_string(&table, &column, i, &text))
			return dw_fail_metadata(err, "a name lies outside the data");
		if (text.size > MAX_LISTED_BYTES)
			return dw_fail_metadata(
				err, "a feature or category has too long a name");
		(*list_out)[i] = dw_calloc(1, text.size + 1);
		if (!(*list_out)[i])
			return dw_fail_nomem(err);
		/* As a C string, one with a NUL would be another string. */
		for (size_t k = 0; k < text.size; k++)
			(*list_out)[i][k] = text.data[k] ? (char)text.data[k] : '?';
	}
	return 0;
}

/* -- loading ------------------------------------------------------------------------- */

/* Invalid times do not affect contents. */
static void set_resolution(struct view *view, uint64_t resolution, bool has_multiplier,
			   uint64_t multiplier)
{
	if (resolution == 0)
		note_damage(view, "the time resolution is zero");
	if (has_multiplier && (multiplier == 0 || multiplier >= 1000000000))
		note_damage(view, "the resolution of fractions of a second is invalid");
	else if (has_multiplier && resolution != 1)
		note_damage(view,
			    "times have fractions of a second and a time resolution");
	view->bad_times = view->damage_count > 0;
	view->time_resolution = resolution ? resolution : 1;
	view->subsecond_multiplier = view->bad_times ? 0 : multiplier;
}

static int load_options(struct view *view, dwarfs_error **err)
{
	struct frozen_node options;
	uint64_t resolution = 1, multiplier = 0;
	bool is_set, has_resolution = false, has_multiplier = false;
	int ret;

	if ((ret = optional_member(view, MD_OPTIONS, &options, &is_set, err)) < 0 ||
	    (ret = flag(view, options, OPT_MTIME_ONLY, &view->mtime_only, err)) < 0 ||
	    (ret = optional_number(view, options, OPT_TIME_RESOLUTION_SEC, 32,
				   &resolution, &has_resolution, err)) < 0 ||
	    (ret = flag(view, options, OPT_PACKED_CHUNK_TABLE, &view->packed_chunk_table,
			err)) < 0 ||
	    (ret = flag(view, options, OPT_PACKED_DIRECTORIES, &view->packed_directories,
			err)) < 0 ||
	    (ret = flag(view, options, OPT_PACKED_SHARED_FILES_TABLE,
			&view->packed_shared_files, err)) < 0 ||
	    (ret = optional_number(view, options, OPT_SUBSECOND_MULTIPLIER, 32,
				   &multiplier, &has_multiplier, err)) < 0 ||
	    (ret = flag(view, options, OPT_HAS_BTIME, &view->has_btime, err)) < 0 ||
	    (ret = flag(view, options, OPT_INODES_HAVE_NLINK, &view->has_nlink, err)) < 0)
		return ret;
	set_resolution(view, resolution, has_multiplier, multiplier);
	return 0;
}

static int load_inodes(struct view *view, dwarfs_error **err)
{
	const struct wanted_column wanted[] = {
		{ INODE_NAME_INDEX_V2_2, 32, &view->inode.name_index },
		{ INODE_MODE_INDEX, 32, &view->inode.mode_index },
		{ INODE_INODE_V2_2, 32, &view->inode.inode },
		{ INODE_OWNER_INDEX, 32, &view->inode.owner_index },
		{ INODE_GROUP_INDEX, 32, &view->inode.group_index },
		{ INODE_ATIME_OFFSET, 64, &view->inode.offset[0] },
		{ INODE_MTIME_OFFSET, 64, &view->inode.offset[1] },
		{ INODE_CTIME_OFFSET, 64, &view->inode.offset[2] },
		{ INODE_BTIME_OFFSET, 64, &view->inode.offset[3] },
		{ INODE_ATIME_SUBSEC, 64, &view->inode.subsec[0] },
		{ INODE_MTIME_SUBSEC, 64, &view->inode.subsec[1] },
		{ INODE_CTIME_SUBSEC, 64, &view->inode.subsec[2] },
		{ INODE_BTIME_SUBSEC, 64, &view->inode.subsec[3] },
		{ INODE_NLINK_MINUS_ONE, 32, &view->inode.nlink_minus_one },
		{ 0 },
	};
	int ret = dw_frozen_table(&view->frozen, field(view, MD_INODES), &view->inodes,
				  err);

	if (ret < 0)
		return ret;
	return columns(view, &view->inodes, wanted, err);
}

static int load_directories(struct view *view, dwarfs_error **err)
{
	const struct wanted_column wanted[] = {
		{ DIR_PARENT_ENTRY, 32, &view->dir_parent },
		{ DIR_FIRST_ENTRY, 32, &view->dir_first },
		{ DIR_SELF_ENTRY, 32, &view->dir_self },
		{ 0 },
	};
	int ret = dw_frozen_table(&view->frozen, field(view, MD_DIRECTORIES),
				  &view->directories, err);

	if (ret < 0)
		return ret;
	return columns(view, &view->directories, wanted, err);
}

static int load_entries(struct view *view, dwarfs_error **err)
{
	const struct wanted_column wanted[] = {
		{ DE_NAME_INDEX, 32, &view->de_name },
		{ DE_INODE_NUM, 32, &view->de_inode },
		{ 0 },
	};
	struct frozen_node node;
	const struct table *entries;
	int ret;

	if ((ret = optional_member(view, MD_DIR_ENTRIES, &node, &view->has_dir_entries,
				   err)) < 0 ||
	    (ret = dw_frozen_table(&view->frozen, node, &view->dir_entries, err)) < 0 ||
	    (ret = columns(view, &view->dir_entries, wanted, err)) < 0 ||
	    (ret = numbers(view, field(view, MD_ENTRY_TABLE_V2_2), 32, &view->entry_table,
			   &view->entry_table_item, err)) < 0)
		return ret;
	entries = view->has_dir_entries ? &view->dir_entries : &view->inodes;
	if (entries->count == 0)
		return dw_fail_metadata(err, "there are no entries");
	if (entries->count >= UINT32_MAX || (entries->count > 1 && entries->stride == 0))
		return dw_fail_metadata(err, "there are too many entries");
	view->entry_count = (uint32_t)entries->count;
	return 0;
}

static int load_chunks(struct view *view, uint32_t block_count, dwarfs_error **err)
{
	const struct wanted_column wanted[] = {
		{ CHUNK_BLOCK, 32, &view->chunk_block },
		{ CHUNK_OFFSET, 32, &view->chunk_offset },
		{ CHUNK_SIZE, 32, &view->chunk_size },
		{ 0 },
	};
	struct frozen_node root = dw_frozen_root(&view->frozen);
	int ret;

	if ((ret = dw_frozen_table(&view->frozen, field(view, MD_CHUNKS), &view->chunks,
				   err)) < 0 ||
	    (ret = columns(view, &view->chunks, wanted, err)) < 0 ||
	    (ret = optional_number(view, root, MD_HOLE_BLOCK_INDEX, 32, &view->hole_block,
				   &view->has_holes, err)) < 0 ||
	    (ret = optional_numbers(view, MD_LARGE_HOLE_SIZE, 64, &view->large_holes,
				    &view->large_holes_item, err)) < 0)
		return ret;
	if (view->chunks.count > 0 && view->chunks.stride == 0)
		return dw_fail_metadata(err, "chunks have no size");
	if (view->has_holes && view->hole_block < block_count)
		return dw_fail_metadata(err, "holes have the number of a block");
	return 0;
}

static int load_size_cache(struct view *view, dwarfs_error **err)
{
	const struct frozen *frozen = &view->frozen;
	struct frozen_node cache;
	int ret;

	if ((ret = optional_member(view, MD_REG_FILE_SIZE_CACHE, &cache,
				   &view->has_size_cache, err)) < 0 ||
	    (ret = dw_frozen_uint(frozen,
				  dw_frozen_child(frozen, cache, SC_MIN_CHUNK_COUNT), 64,
				  &view->size_cache_min_chunks, err)) < 0 ||
	    (ret = pairs(view, dw_frozen_child(frozen, cache, SC_SIZE_LOOKUP), 64,
			 &view->size_cache, &view->size_key, &view->size_value, err)) < 0)
		return ret;
	if (view->size_cache.count == 0)
		view->size_cache_min_chunks = UINT64_MAX; /* no file has a stored size */
	return pairs(view, dw_frozen_child(frozen, cache, SC_ALLOCATED_LOOKUP), 64,
		     &view->allocated_cache, &view->allocated_key, &view->allocated_value,
		     err);
}

static int category_tables(struct view *view, dwarfs_error **err)
{
	struct frozen_node node;
	int ret;

	if ((ret = optional_member(view, MD_CATEGORY_NAMES, &node, NULL, err)) < 0 ||
	    (ret = copy_strings(view, node, &view->categories, err)) < 0)
		return ret;
	return optional_numbers(view, MD_BLOCK_CATEGORIES, 32, &view->block_categories,
				&view->block_categories_item, err);
}

/* Invalid categories count as absent: they do not affect contents. */
static int load_block_categories(struct view *view, dwarfs_error **err)
{
	int ret = category_tables(view, NULL);

	if (ret == DWARFS_ERR_NOMEM)
		return dw_fail_nomem(err);
	if (ret == 0)
		return 0;
	note_damage(view, "the categories of blocks cannot be read");
	view->block_categories = (struct table){ 0 };
	for (char **name = view->categories; name && *name; name++)
		dw_free(*name);
	dw_free(view->categories);
	view->categories = dw_calloc(1, sizeof(*view->categories));
	return view->categories ? 0 : dw_fail_nomem(err);
}

/* Nor does the name of the writer. */
static int load_version(struct view *view, dwarfs_error **err)
{
	struct frozen_node node;
	struct span version;
	bool is_set;
	int ret = optional_member(view, MD_DWARFS_VERSION, &node, &is_set, err);

	if (ret < 0 || !is_set)
		return ret;
	if (dw_frozen_string(&view->frozen, node, &version, NULL) < 0) {
		note_damage(view, "the version of the writer cannot be read");
		return 0;
	}
	view->dwarfs_version = dw_strndup((const char *)version.data, version.size);
	return view->dwarfs_version ? 0 : dw_fail_nomem(err);
}

static int load_facts(struct view *view, dwarfs_error **err)
{
	struct frozen_node root = dw_frozen_root(&view->frozen), node;
	int ret;

	view->path_separator = '/';
	if ((ret = number(view, MD_TIMESTAMP_BASE, 64, &view->timestamp_base, err)) < 0 ||
	    (ret = number(view, MD_BLOCK_SIZE, 32, &view->block_size, err)) < 0 ||
	    (ret = number(view, MD_TOTAL_FS_SIZE, 64, &view->total_fs_size, err)) < 0 ||
	    (ret = optional_number(view, root, MD_TOTAL_HARDLINK_SIZE, 64,
				   &view->total_hardlink_size, NULL, err)) < 0 ||
	    (ret = optional_number(view, root, MD_CREATE_TIMESTAMP, 64,
				   &view->create_timestamp, &view->has_create_timestamp,
				   err)) < 0 ||
	    (ret = optional_number(view, root, MD_PREFERRED_PATH_SEPARATOR, 32,
				   &view->path_separator, &view->has_path_separator,
				   err)) < 0 ||
	    (ret = optional_member(view, MD_FEATURES, &node, &view->has_features_set,
				   err)) < 0 ||
	    (ret = copy_strings(view, node, &view->features, err)) < 0 ||
	    (ret = load_block_categories(view, err)) < 0)
		return ret;
	return load_version(view, err);
}

static int check_features(const struct view *view, dwarfs_error **err)
{
	bool has_sparse = false;

	for (char **feature = view->features; *feature; feature++) {
		if (strcmp(*feature, DW_FEATURE_SPARSE) != 0)
			return dw_fail(
				err, DWARFS_ERR_UNSUPPORTED,
				"the image needs the feature '%s', which is not known",
				*feature);
		has_sparse = true;
	}
	if (has_sparse != view->has_holes)
		return dw_fail_metadata(
			err, "holes and the feature for them do not go together");
	return 0;
}

/* Each count is bounded by one that was bounded before. */
static int check_counts(struct view *view, dwarfs_error **err)
{
	uint64_t inodes =
		view->has_dir_entries ? view->inodes.count : view->entry_table.count;
	const struct table *entries =
		view->has_dir_entries ? &view->dir_entries : &view->inodes;

	if (inodes == 0 || inodes > view->entry_count)
		return dw_fail_metadata(err,
					"there are more inodes than entries, or none");
	/* Each inode has an entry: if entries had no bits for its number, counts could
	 * be huge while the metadata is small. */
	if (entries->stride < dw_bit_length(inodes - 1))
		return dw_fail_metadata(err,
					"there are more inodes than entries can name");
	view->inode_count = (uint32_t)inodes;
	if (view->directories.count < 2 || view->directories.count > inodes + 1)
		return dw_fail_metadata(err, "the number of directories is impossible");
	view->directory_count = (uint32_t)(view->directories.count - 1);
	if (view->chunk_table.count == 0 || view->chunk_table.count > inodes)
		return dw_fail_metadata(err, "the size of the chunk table is impossible");
	if (view->symlink_table.count > inodes || view->devices.count > inodes)
		return dw_fail_metadata(err,
					"there are more links or devices than inodes");
	if (view->modes.count == 0 || view->modes.count > view->inodes.count ||
	    view->uids.count > view->inodes.count ||
	    view->gids.count > view->inodes.count)
		return dw_fail_metadata(err,
					"the number of modes or owners is impossible");
	if (view->block_size == 0 || (view->block_size & (view->block_size - 1)) != 0 ||
	    view->block_size > MAX_BLOCK_SIZE)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: the block size %" PRIu64
			       " is not a power of two",
			       view->block_size);
	return 0;
}

/* Words that say how the tables are packed. */
static void describe_packing(struct view *view)
{
	const struct {
		bool applies;
		const char *word;
	} words[] = {
		{ view->mtime_only, "mtime_only" },
		{ view->packed_chunk_table, "packed_chunk_table" },
		{ view->packed_directories, "packed_directories" },
		{ view->packed_shared_files, "packed_shared_files_table" },
		{ view->has_btime, "has_btime" },
		{ view->has_nlink, "inodes_have_nlink" },
		{ view->names.is_compact, "compact_names" },
		{ view->names.decoder != NULL, "packed_names" },
		{ view->names.is_packed, "packed_names_index" },
		{ view->symlinks.is_compact, "compact_symlinks" },
		{ view->symlinks.decoder != NULL, "packed_symlinks" },
		{ view->symlinks.is_packed, "packed_symlinks_index" },
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].applies)
			view->packing[count++] = (char *)words[i].word;
}

int dw_view_load(struct view *view, uint32_t block_count, dwarfs_error **err)
{
	uint64_t files;
	int ret;

	if ((ret = load_facts(view, err)) < 0 || (ret = load_options(view, err)) < 0 ||
	    (ret = load_chunks(view, block_count, err)) < 0 ||
	    (ret = check_features(view, err)) < 0 || (ret = load_inodes(view, err)) < 0 ||
	    (ret = load_entries(view, err)) < 0 ||
	    (ret = load_directories(view, err)) < 0 ||
	    (ret = numbers(view, field(view, MD_CHUNK_TABLE), 32, &view->chunk_table,
			   &view->chunk_table_item, err)) < 0 ||
	    (ret = numbers(view, field(view, MD_SYMLINK_TABLE), 32, &view->symlink_table,
			   &view->symlink_table_item, err)) < 0 ||
	    (ret = numbers(view, field(view, MD_UIDS), 32, &view->uids, &view->uids_item,
			   err)) < 0 ||
	    (ret = numbers(view, field(view, MD_GIDS), 32, &view->gids, &view->gids_item,
			   err)) < 0 ||
	    (ret = numbers(view, field(view, MD_MODES), 32, &view->modes,
			   &view->modes_item, err)) < 0 ||
	    (ret = optional_numbers(view, MD_DEVICES, 64, &view->devices,
				    &view->devices_item, err)) < 0 ||
	    (ret = optional_numbers(view, MD_SHARED_FILES_TABLE, 32, &view->shared_files,
				    &view->shared_files_item, err)) < 0 ||
	    (ret = load_size_cache(view, err)) < 0 || (ret = check_counts(view, err)) < 0)
		return ret;
	if ((ret = dw_strings_load(&view->frozen, MD_NAMES, MD_COMPACT_NAMES,
				   view->entry_count, &view->names, err)) < 0 ||
	    (ret = dw_strings_load(&view->frozen, MD_SYMLINKS, MD_COMPACT_SYMLINKS,
				   view->inode_count, &view->symlinks, err)) < 0 ||
	    (ret = dw_view_find_classes(view, err)) < 0)
		return ret;
	files = dw_view_class_count(view, CLASS_REG);
	if (view->size_cache.count > files || view->allocated_cache.count > files)
		return dw_fail_metadata(
			err, "the cache of sizes has more files than there are");
	describe_packing(view);
	return 0;
}
