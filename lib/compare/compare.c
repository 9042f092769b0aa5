/* SPDX-License-Identifier: MIT */
/*
 * compare: compare two trees. See <dwarfs/compare.h>.
 *
 * Lists both sides, sorted by path; hashes the files that both sides have with the same
 * size, on each side in the fastest order; then merges both lists and reports the
 * differences.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "compare/differ.h"
#include "compare/side.h"
#include "os/dir.h"
#include "os/file_io.h"
#include "os/io.h"

struct dwarfs_compare {
	dwarfs_context *context;
	struct side sides[2];
	uint32_t ignored;
	uint64_t resolution_ns;
	const dwarfs_task *task; /* or NULL */
	uint64_t counts[DWARFS_DIFFERENCE_KINDS];
	uint64_t entries[2];
};

/* -- sides --------------------------------------------------------------------------- */

static void release_side(struct side *side)
{
	dwarfs_image_free(side->image);
	dw_fd_close(side->fd);
	dwarfs_io_free(side->io);
	dw_side_free(&side->listing);
	*side = (struct side){ .fd = -1 };
}

void dwarfs_compare_free(dwarfs_compare *compare)
{
	if (!compare)
		return;
	release_side(&compare->sides[0]);
	release_side(&compare->sides[1]);
	dwarfs_context_free(compare->context);
	dw_free(compare);
}

DW_DEFINE_AUTO(compare, dwarfs_compare *, dwarfs_compare_free)

int dwarfs_compare_new(dwarfs_context *context, dwarfs_compare **compare_out,
		       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!compare_out)
		return dw_fail_null(err, "compare_out");

	DW_AUTO(compare) dwarfs_compare *compare = dw_calloc(1, sizeof(*compare));
	int ret;

	if (!compare)
		return dw_fail_nomem(err);
	compare->sides[0].fd = compare->sides[1].fd = -1;
	compare->resolution_ns = 1000000000;
	if ((ret = dw_context_use(context, &compare->context, err)) < 0)
		return ret;
	*compare_out = dw_steal(compare);
	return 0;
}

static int choose_side(dwarfs_compare *compare, int number, struct side **side_out,
		       dwarfs_error **err)
{
	if (number != DWARFS_COMPARE_A && number != DWARFS_COMPARE_B)
		return dw_fail(err, DWARFS_ERR_RANGE, "side %d does not exist", number);
	*side_out = &compare->sides[number];
	return 0;
}

int dwarfs_compare_set_image(dwarfs_compare *compare, enum dwarfs_compare_side side,
			     const dwarfs_image *image, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare || !image)
		return dw_fail_null(err, "compare and image");

	struct side *chosen;
	int ret = choose_side(compare, side, &chosen, err);

	if (ret < 0)
		return ret;
	release_side(chosen);
	chosen->kind = SIDE_IMAGE;
	chosen->image = dwarfs_image_ref(image);
	return 0;
}

int dwarfs_compare_set_directory(dwarfs_compare *compare, enum dwarfs_compare_side side,
				 const char *path, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare || !path)
		return dw_fail_null(err, "compare and path");

	struct side *chosen;
	int ret = choose_side(compare, side, &chosen, err), fd;

	if (ret < 0)
		return ret;
	if ((ret = dw_dir_open(path, &fd)) < 0) {
		ret = dw_fail_errno(err, -ret, "'%s'", path);
		return dw_error_at_path(err, ret, path);
	}
	release_side(chosen);
	chosen->kind = SIDE_DIRECTORY;
	chosen->fd = fd;
	return 0;
}

int dwarfs_compare_set_archive(dwarfs_compare *compare, enum dwarfs_compare_side side,
			       dwarfs_io *io, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare)
		return dw_fail_null(err, "compare");

	struct side *chosen;
	int ret = choose_side(compare, side, &chosen, err);

	if (ret < 0)
		return ret;
	if (!io)
		return dw_fail_null(err, "the archive");
	if (!dw_can_list_archives())
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "archives were not built in (they need libarchive)");
	release_side(chosen);
	chosen->kind = SIDE_ARCHIVE;
	chosen->io = dw_io_ref(io);
	return 0;
}

/* An image without anything in front of it. */
static bool starts_with_image(int fd)
{
	static const char magic[] = { 'D', 'W', 'A', 'R', 'F', 'S', 2 };
	char bytes[sizeof(magic)];

	return dw_fd_read_at(fd, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
	       memcmp(bytes, magic, sizeof(magic)) == 0;
}

static int open_side_image(dwarfs_compare *compare, int side, const char *path,
			   const dwarfs_image_options *options, dwarfs_error **err)
{
	dwarfs_image *image;
	int ret = dwarfs_image_open(compare->context, path, options, &image, err);

	if (ret < 0)
		return ret;
	ret = dwarfs_compare_set_image(compare, side, image, err);
	dwarfs_image_free(image);
	return ret;
}

int dwarfs_compare_set_path(dwarfs_compare *compare, enum dwarfs_compare_side side,
			    const char *path, const dwarfs_image_options *options,
			    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare)
		return dw_fail_null(err, "compare");

	struct side *chosen;
	auto_io dwarfs_io *io = NULL;
	auto_fd int fd = -1;
	struct os_stat st;
	int ret = choose_side(compare, side, &chosen, err);

	if (ret < 0)
		return ret;
	if (!path)
		return dw_fail_null(err, "the path");
	if ((ret = dw_fd_open_read(path, &fd, err)) < 0)
		return ret;
	if (dw_stat_fd(fd, &st) == 0 && S_ISDIR(st.mode))
		return dwarfs_compare_set_directory(compare, side, path, err);
	if ((ret = dwarfs_io_from_stream(fd, &io, err)) < 0 ||
	    (ret = dwarfs_io_set_name(io, path, err)) < 0)
		return ret;
	if (S_ISREG(st.mode) || S_ISBLK(st.mode)) {
		if (starts_with_image(fd))
			return open_side_image(compare, side, path, options, err);
		ret = dw_is_archive(io, err);
		if (ret <= 0)
			return ret < 0 ? ret
				       : open_side_image(compare, side, path, options,
							 err);
	}
	return dwarfs_compare_set_archive(compare, side, io, err);
}

/* -- settings ------------------------------------------------------------------------ */

int dwarfs_compare_ignore(dwarfs_compare *compare, enum dwarfs_compare_kind kind,
			  dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare)
		return dw_fail_null(err, "compare");
	if (kind < 0 || kind >= DWARFS_DIFFERENCE_TROUBLE)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "difference %d does not exist, or cannot be ignored",
			       kind);
	compare->ignored |= 1u << kind;
	return 0;
}

int dwarfs_compare_set_time_resolution(dwarfs_compare *compare, uint64_t ns,
				       dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare)
		return dw_fail_null(err, "compare");
	if (ns == 0 || ns > INT64_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "times cannot be compared in steps of %" PRIu64 " ns", ns);
	compare->resolution_ns = ns;
	return 0;
}

void dwarfs_compare_set_task(dwarfs_compare *compare, const dwarfs_task *task)
{
	if (!compare)
		return;
	compare->task = task;
}

uint64_t dwarfs_compare_count(const dwarfs_compare *compare,
			      enum dwarfs_compare_kind kind)
{
	if (!compare)
		return 0;
	return kind >= 0 && kind < DWARFS_DIFFERENCE_KINDS ? compare->counts[kind] : 0;
}

uint64_t dwarfs_compare_entries(const dwarfs_compare *compare,
				enum dwarfs_compare_side side)
{
	if (!compare)
		return 0;
	if (side != DWARFS_COMPARE_A && side != DWARFS_COMPARE_B)
		return 0;
	return compare->entries[side];
}

/* -- the run ------------------------------------------------------------------------- */

static bool ignores(const dwarfs_compare *compare, int kind)
{
	return compare->ignored & 1u << kind;
}

static int list_side(dwarfs_compare *compare, int number,
		     struct dwarfs_progress *progress, dwarfs_error **err)
{
	struct side *side = &compare->sides[number];
	int ret;

	side->context = compare->context;
	side->is_unread = ignores(compare, DWARFS_DIFFERENCE_CONTENTS);
	side->is_bare = ignores(compare, DWARFS_DIFFERENCE_XATTR);
	dw_side_free(&side->listing);
	switch (side->kind) {
	case SIDE_IMAGE:
		ret = dw_list_image(side, progress, err);
		break;
	case SIDE_DIRECTORY:
		ret = dw_list_directory(side, progress, err);
		break;
	case SIDE_ARCHIVE:
		ret = dw_list_archive(side, progress, err);
		break;
	default:
		return dw_fail(err, DWARFS_ERR_INVALID, "unknown side %s",
			       number == DWARFS_COMPARE_A ? "A" : "B");
	}
	if (ret == 0)
		ret = dw_side_sort(&side->listing, err);
	compare->entries[number] = side->listing.count;
	return ret;
}

static int sum_sides(dwarfs_compare *compare, struct dwarfs_progress *progress,
		     dwarfs_error **err)
{
	struct side *sides = compare->sides;
	int ret;

	dw_differ_want(&sides[0].listing, &sides[1].listing, &progress->items_total,
		       &progress->bytes_total);
	if (ignores(compare, DWARFS_DIFFERENCE_CONTENTS))
		return 0;
	if ((ret = dw_progress_enter(progress, DWARFS_PHASE_CHECK, err)) < 0)
		return ret;
	for (int i = 0; i < 2; i++) {
		if (sides[i].kind == SIDE_IMAGE)
			ret = dw_sum_image(&sides[i], progress, err);
		else if (sides[i].kind == SIDE_DIRECTORY)
			ret = dw_sum_directory(&sides[i], progress, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static uint64_t coarsest(const dwarfs_compare *compare)
{
	uint64_t ns = compare->resolution_ns;

	for (int i = 0; i < 2; i++)
		if (compare->sides[i].listing.resolution_ns > ns)
			ns = compare->sides[i].listing.resolution_ns;
	return ns;
}

static int run_compare(dwarfs_compare *compare, struct differ *differ,
		       struct dwarfs_progress *progress, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_progress_enter(progress, DWARFS_PHASE_SCAN, err)) < 0 ||
	    (ret = list_side(compare, DWARFS_COMPARE_A, progress, err)) < 0 ||
	    (ret = list_side(compare, DWARFS_COMPARE_B, progress, err)) < 0 ||
	    (ret = sum_sides(compare, progress, err)) < 0)
		return ret;
	differ->resolution_ns = coarsest(compare);
	ret = dw_differ_run(differ, err);
	memcpy(compare->counts, differ->counts, sizeof(compare->counts));
	if (ret == 0)
		dw_progress_done(progress);
	return ret;
}

int dwarfs_compare_run(dwarfs_compare *compare, dwarfs_difference_fn difference,
		       void *user, uint64_t *count_out, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(compare);

	if (!compare)
		return dw_fail_null(err, "compare");

	struct dwarfs_progress progress = { 0 };
	struct differ differ = {
		.sides = { &compare->sides[0].listing, &compare->sides[1].listing },
		.ignored = compare->ignored,
		.call = difference,
		.user = user,
		.progress = &progress,
	};
	auto_error dwarfs_error *why = NULL;
	uint64_t count = 0;
	int ret;

	memset(compare->counts, 0, sizeof(compare->counts));
	memset(compare->entries, 0, sizeof(compare->entries));
	dw_progress_start(&progress, compare->task);
	ret = run_compare(compare, &differ, &progress, &why);
	dw_side_free(&compare->sides[0].listing);
	dw_side_free(&compare->sides[1].listing);
	if (ret < 0) {
		if (err)
			dw_error_copy(err, ret, why);
		return ret;
	}
	for (int i = 0; i < DWARFS_DIFFERENCE_KINDS; i++)
		count += compare->counts[i];
	if (count_out)
		*count_out = count;
	return 0;
}
