/* SPDX-License-Identifier: MIT */
/*
 * read/walk: visit the entries of a tree.
 *
 * Takes an image and an order; gives one entry at a time. Each entry is visited at most
 * once: directories come after their parents in a valid image, each is entered once, and
 * a walk that finds more entries than exist, or several times as many damaged ones,
 * stops, so it ends for every image. For data order the walk is done once in tree order
 * and sorted by the offsets of file contents. A damaged entry is an error when it is
 * reached, after which the walk can continue.
 */
#include <dwarfs/walk.h>

#include "read/image/image.h"

/* How often an entry is met, on average, until the walk ends: directories that are damaged may
 * have entries in common. */
#define MOST_STEPS 4u

/* A directory whose entries are being visited. */
struct walk_level {
	uint32_t dir;
	uint32_t next, end;
	size_t path_size; /* of the directory, within the path */
};

/* An entry in data order. */
struct visit {
	uint32_t entry;
	uint32_t parent; /* index of its directory in the same array */
	uint32_t depth : 31;
	uint32_t is_damaged : 1;
};

struct dwarfs_walk {
	dwarfs_image *image;
	uint32_t start;
	bool started, can_enter;
	uint32_t entry;	  /* the current one, which may be damaged */
	uint32_t inode;	  /* of the current entry */
	uint64_t visited; /* entries that are not damaged, and the one that is too many */
	uint64_t steps;	  /* entries, damaged or not; in a valid image each is met once */
	uint8_t *seen;	  /* a bit for each directory that was visited */

	struct walk_level *levels;
	size_t depth, level_capacity;

	char *path;
	size_t path_size, path_capacity;

	/* Data order only. */
	struct visit *visits; /* everything, in tree order */
	uint32_t *order;      /* indices of visits, in the order of the walk */
	size_t visit_count, visit_capacity, at;
	bool is_data_order;
	int failed;	      /* error that ended the walk, or 0 */
	uint32_t named;	      /* the visit that `path` belongs to */
	size_t dir_path_size; /* of its directory's path, at the start of its own */
	uint32_t current_depth;
};

void dwarfs_walk_free(dwarfs_walk *walk)
{
	if (!walk)
		return;
	dw_free(walk->seen);
	dw_free(walk->levels);
	dw_free(walk->path);
	dw_free(walk->visits);
	dw_free(walk->order);
	dwarfs_image_free(walk->image);
	dw_free(walk);
}

DW_DEFINE_AUTO(walk, dwarfs_walk *, dwarfs_walk_free)
#define auto_walk DW_AUTO(walk)

/* Cut the path back to a directory and append a name; "?" for an invalid one. */
static int set_walk_path(dwarfs_walk *walk, size_t keep, uint32_t entry,
			 dwarfs_error **err)
{
	size_t size;
	int ret = dw_grow(&walk->path, &walk->path_capacity,
			  keep + 1 + DWARFS_NAME_BUFFER_BYTES, err);

	if (ret < 0)
		return ret;
	if (keep > 0)
		walk->path[keep++] = '/';
	ret = dw_view_entry_name(walk->image->view, entry, walk->path + keep,
				 DWARFS_NAME_BUFFER_BYTES, &size, err);
	if (ret < 0) {
		size = 1;
		memcpy(walk->path + keep, "?", sizeof("?"));
	}
	walk->path_size = keep + size;
	return ret;
}

static int enter_level(dwarfs_walk *walk, dwarfs_error **err)
{
	uint32_t first, count;
	int ret;

	if ((ret = dw_view_dir_range(walk->image->view, walk->inode, &first, &count,
				     err)) < 0 ||
	    (ret = dw_grow(&walk->levels, &walk->level_capacity, walk->depth + 1, err)) <
		    0)
		return ret;
	walk->levels[walk->depth++] = (struct walk_level){
		.dir = walk->inode,
		.next = first,
		.end = first + count,
		.path_size = walk->path_size,
	};
	return 0;
}

static int fail_no_tree(const dwarfs_walk *walk, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: the directories are not a tree, at '%s'", walk->path);
}

/* Whether a directory was visited before; now it is. */
static bool see_dir(dwarfs_walk *walk, uint32_t dir)
{
	uint8_t bit = (uint8_t)(1u << dir % 8);
	bool was_seen = walk->seen[dir / 8] & bit;

	walk->seen[dir / 8] |= bit;
	return was_seen;
}

static int visit_start(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err)
{
	int ret = dw_view_entry_inode(walk->image->view, walk->start, &walk->inode, err);

	if (ret < 0)
		return ret;
	walk->started = true;
	walk->can_enter = walk->inode < walk->image->view->directory_count;
	walk->visited = 1;
	walk->entry = walk->start;
	entry_out->number = walk->start;
	return 1;
}

static int walk_step(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err)
{
	const struct view *view = walk->image->view;
	struct walk_level *level;
	uint32_t entry;
	int ret;

	if (!walk->started)
		return visit_start(walk, entry_out, err);
	if (walk->can_enter) {
		walk->can_enter = false;
		if ((ret = enter_level(walk, err)) < 0)
			return ret;
	}
	while (walk->depth > 0 &&
	       walk->levels[walk->depth - 1].next == walk->levels[walk->depth - 1].end)
		walk->depth--;
	if (walk->depth == 0)
		return 0;
	level = &walk->levels[walk->depth - 1];
	entry = walk->entry = level->next++;
	if (++walk->steps > MOST_STEPS * (uint64_t)view->entry_count) {
		walk->visited = (uint64_t)view->entry_count + 1; /* do not go on */
		return fail_no_tree(walk, err);
	}
	if ((ret = set_walk_path(walk, level->path_size, entry, err)) < 0 ||
	    (ret = dw_view_entry_inode(view, entry, &walk->inode, err)) < 0)
		return ret;
	if ((walk->inode < view->directory_count &&
	     (walk->inode <= level->dir || see_dir(walk, walk->inode))) ||
	    ++walk->visited > view->entry_count)
		return fail_no_tree(walk, err);
	walk->can_enter = walk->inode < view->directory_count;
	entry_out->number = entry;
	return 1;
}

/* Whether a walk can go on after an error. */
static bool can_go_on(const dwarfs_walk *walk, int code)
{
	return code != DWARFS_ERR_NOMEM && walk->started &&
	       walk->visited <= walk->image->view->entry_count;
}

/* With salvage, damaged entries are skipped. */
static int next_in_tree(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err)
{
	for (;;) {
		auto_error dwarfs_error *why = NULL;
		int ret = walk_step(walk, entry_out, &why);

		if (ret >= 0)
			return ret;
		if (!walk->image->salvage || !can_go_on(walk, ret))
			return dw_error_copy(err, ret, why);
		dw_log(walk->image->context, DWARFS_LOG_WARN, "an entry is lost: %s",
		       dwarfs_error_message(why));
	}
}

/* -- data order ---------------------------------------------------------------------- */

/* Chunks examined to find the first data of a file. */
#define CHUNKS_TO_LOOK_AT 16

/* Offset of the contents of a visit; entries without contents come first. */
struct visit_start {
	uint64_t block, offset;
	uint32_t visit;
};

static int find_data_start(const struct view *view, uint32_t inode,
			   struct visit_start *place, dwarfs_error **err)
{
	struct chunk_range range;
	int ret;

	if (dw_view_class(view, inode) != CLASS_REG)
		return 0;
	place->block = 1;
	if ((ret = dw_view_chunk_range(view, inode, &range, err)) < 0)
		return ret;
	if (range.end - range.first > CHUNKS_TO_LOOK_AT)
		range.end = range.first + CHUNKS_TO_LOOK_AT;
	for (uint64_t i = range.first; i < range.end; i++) {
		struct file_chunk chunk;

		if ((ret = dw_view_chunk(view, i, &chunk, err)) < 0)
			return ret;
		if (chunk.is_hole)
			continue;
		place->block = (uint64_t)chunk.block + 2;
		place->offset = chunk.offset;
		break;
	}
	return 0;
}

static int compare_data_starts(const void *left, const void *right)
{
	const struct visit_start *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->visit > b->visit) - (a->visit < b->visit);
}

static int sort_visits(dwarfs_walk *walk, dwarfs_error **err)
{
	auto_free struct visit_start *places =
		dw_calloc(walk->visit_count, sizeof(*places));

	walk->order = dw_calloc(walk->visit_count, sizeof(*walk->order));
	if (!places || !walk->order)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < walk->visit_count; i++) {
		uint32_t inode;
		int ret = 0;

		places[i].visit = (uint32_t)i;
		if (walk->visits[i].is_damaged)
			continue;
		if ((ret = dw_view_entry_inode(walk->image->view, walk->visits[i].entry,
					       &inode, err)) < 0)
			return ret;
		/* Damaged contents are an error where they are read. */
		ret = find_data_start(walk->image->view, inode, &places[i], NULL);
		if (ret == DWARFS_ERR_NOMEM)
			return dw_fail_nomem(err);
	}
	qsort(places, walk->visit_count, sizeof(*places), compare_data_starts);
	for (size_t i = 0; i < walk->visit_count; i++)
		walk->order[i] = places[i].visit;
	return 0;
}

/* Add what the walk in tree order has come to. parents: the visits of the directories at
 * each depth. */
static int add_visit(dwarfs_walk *walk, bool is_damaged, uint32_t **parents,
		     size_t *capacity, dwarfs_error **err)
{
	const uint32_t depth = (uint32_t)walk->depth;
	int ret;

	if ((ret = dw_grow(&walk->visits, &walk->visit_capacity, walk->visit_count + 1,
			   err)) < 0 ||
	    (ret = dw_grow(parents, capacity, (size_t)depth + 1, err)) < 0)
		return ret;
	(*parents)[depth] = (uint32_t)walk->visit_count;
	walk->visits[walk->visit_count++] = (struct visit){
		.entry = walk->entry,
		.parent = depth > 0 ? (*parents)[depth - 1] : 0,
		.depth = depth & INT32_MAX,
		.is_damaged = is_damaged,
	};
	return 0;
}

/* Walk the tree once, store all visits, and sort them. */
static int collect_visits(dwarfs_walk *walk, dwarfs_error **err)
{
	auto_free uint32_t *parents = NULL;
	size_t capacity = 0;
	uint32_t damaged = 0;
	dwarfs_entry entry;

	for (;;) {
		auto_error dwarfs_error *why = NULL;
		int ret = next_in_tree(walk, &entry, &why);

		if (ret == 0)
			return sort_visits(walk, err);
		if (ret < 0 && (!can_go_on(walk, ret) ||
				damaged++ == walk->image->view->entry_count))
			return dw_error_copy(err, ret, why);
		if ((ret = add_visit(walk, ret < 0, &parents, &capacity, err)) < 0)
			return ret;
	}
}

/* Build the path of a directory from the start of the walk. */
static int path_of_dir(dwarfs_walk *walk, uint32_t visit, dwarfs_error **err)
{
	uint32_t depth = walk->visits[visit].depth;
	auto_free uint32_t *chain = dw_calloc(depth, sizeof(*chain));
	int ret;

	if (!chain)
		return dw_fail_nomem(err);
	for (uint32_t i = depth; i > 0; i--, visit = walk->visits[visit].parent)
		chain[i - 1] = visit;
	walk->path_size = 0;
	walk->path[0] = '\0';
	for (uint32_t i = 0; i < depth; i++) {
		ret = set_walk_path(walk, walk->path_size, walk->visits[chain[i]].entry,
				    err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The path of a visit. Usually its directory is that of the previous one, or the
 * previous one itself. */
static int set_visit_path(dwarfs_walk *walk, uint32_t visit, dwarfs_error **err)
{
	uint32_t dir = walk->visits[visit].parent;
	int ret;

	if (visit == 0) { /* the start of the walk */
		walk->path_size = walk->dir_path_size = 0;
		walk->path[0] = '\0';
	} else {
		if (dir == walk->named)
			walk->dir_path_size = walk->path_size;
		else if (dir != walk->visits[walk->named].parent || walk->named == 0) {
			if ((ret = path_of_dir(walk, dir, err)) < 0)
				return ret;
			walk->dir_path_size = walk->path_size;
		}
		walk->named = visit; /* also if its name is invalid */
		return set_walk_path(walk, walk->dir_path_size, walk->visits[visit].entry,
				     err);
	}
	walk->named = visit;
	return 0;
}

/* The error of a damaged entry, as in tree order. */
static int fail_visit(dwarfs_walk *walk, uint32_t visit, dwarfs_error **err)
{
	const struct view *view = walk->image->view;
	uint32_t inode, first, count;
	int ret;

	if ((ret = set_visit_path(walk, visit, err)) < 0 ||
	    (ret = dw_view_entry_inode(view, walk->visits[visit].entry, &inode, err)) <
		    0 ||
	    (inode < view->directory_count &&
	     (ret = dw_view_dir_range(view, inode, &first, &count, err)) < 0))
		return ret;
	return fail_no_tree(walk, err);
}

static int next_in_data(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err)
{
	uint32_t visit;
	int ret;

	if (walk->failed)
		return dw_fail(err, walk->failed, "the walk has failed before");
	if (!walk->order && (ret = collect_visits(walk, err)) < 0) {
		walk->path[0] = '\0';
		return walk->failed = ret;
	}
	if (walk->at == walk->visit_count)
		return 0;
	visit = walk->order[walk->at++];
	walk->current_depth = walk->visits[visit].depth;
	if (walk->visits[visit].is_damaged)
		return fail_visit(walk, visit, err);
	if ((ret = set_visit_path(walk, visit, err)) < 0)
		return walk->failed = ret;
	entry_out->number = walk->visits[visit].entry;
	return 1;
}

int dwarfs_walk_new(const dwarfs_image *image, dwarfs_entry start,
		    enum dwarfs_walk_order order, dwarfs_walk **walk_out,
		    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(image);

	if (!image || !walk_out)
		return dw_fail_null(err, "image and walk_out");

	auto_walk dwarfs_walk *walk = NULL;
	uint32_t inode;
	int ret;

	if (order != DWARFS_WALK_TREE && order != DWARFS_WALK_DATA)
		return dw_fail(err, DWARFS_ERR_RANGE, "walk order %d does not exist",
			       order);
	if ((ret = dw_view_entry_inode(image->view, start.number, &inode, err)) < 0)
		return ret;
	walk = dw_calloc(1, sizeof(*walk));
	if (!walk)
		return dw_fail_nomem(err);
	walk->seen = dw_calloc((size_t)image->view->directory_count / 8 + 1, 1);
	if (!walk->seen)
		return dw_fail_nomem(err);
	walk->image = dwarfs_image_ref(image);
	walk->start = start.number;
	walk->is_data_order = order == DWARFS_WALK_DATA;
	if ((ret = dw_grow(&walk->path, &walk->path_capacity, DWARFS_NAME_BUFFER_BYTES,
			   err)) < 0)
		return ret;
	walk->path[0] = '\0';
	*walk_out = dw_steal(walk);
	return 0;
}

int dwarfs_walk_next(dwarfs_walk *walk, dwarfs_entry *entry_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(walk);

	if (!walk || !entry_out)
		return dw_fail_null(err, "walk and entry_out");
	return walk->is_data_order ? next_in_data(walk, entry_out, err)
				   : next_in_tree(walk, entry_out, err);
}

const char *dwarfs_walk_path(const dwarfs_walk *walk)
{
	if (!walk)
		return NULL;
	return walk->path;
}

uint32_t dwarfs_walk_depth(const dwarfs_walk *walk)
{
	if (!walk)
		return 0;
	return walk->is_data_order ? walk->current_depth : (uint32_t)walk->depth;
}

void dwarfs_walk_skip(dwarfs_walk *walk)
{
	if (!walk)
		return;
	if (!walk->is_data_order)
		walk->can_enter = false;
}
