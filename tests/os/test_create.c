/* SPDX-License-Identifier: MIT */
/*
 * os/create: nothing is replaced, no link is followed, attributes are set.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/create.h"
#include "os/file_io.h"

/* A new open directory, removed after the test. */
struct place {
	char path[64];
	int fd;
};

static int enter(void **state)
{
	static struct place place;

	strcpy(place.path, "/tmp/dwarfs-create-XXXXXX");
	if (!mkdtemp(place.path))
		return -1;
	place.fd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &place;
	return place.fd < 0 ? -1 : 0;
}

static int leave(void **state)
{
	struct place *place = *state;
	char command[128];

	dw_fd_close(place->fd);
	snprintf(command, sizeof(command), "rm -rf %s", place->path);
	return system(command);
}

static void make_file(int dir, const char *name)
{
	int fd = dw_create_file(dir, name, 0600);

	assert_true(fd >= 0);
	assert_int_equal(dw_create_close(fd), 0);
}

static void nothing_is_replaced(void **state)
{
	int dir = ((struct place *)*state)->fd;

	make_file(dir, "file");
	assert_int_equal(dw_create_dir(dir, "dir", 0700), 0);
	assert_int_equal(dw_create_file(dir, "file", 0600), -EEXIST);
	assert_int_equal(dw_create_file(dir, "dir", 0600), -EEXIST);
	assert_int_equal(dw_create_dir(dir, "file", 0700), -EEXIST);
	assert_int_equal(dw_create_symlink(dir, "file", "x"), -EEXIST);
	assert_int_equal(dw_create_node(dir, "file", S_IFIFO, 0, 0), -EEXIST);
	assert_int_equal(dw_create_hard_link(dir, "file", dir, "dir"), -EEXIST);
}

static void links_are_not_followed(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct stat st;
	int ret;

	assert_int_equal(dw_create_dir(dir, "real", 0700), 0);
	assert_int_equal(dw_create_symlink(dir, "to dir", "real"), 0);
	assert_int_equal(dw_create_symlink(dir, "to nothing", "nothing"), 0);
	ret = dw_create_open_dir(dir, "to dir");
	assert_true(ret == -ELOOP || ret == -ENOTDIR);
	assert_int_equal(dw_create_file(dir, "to nothing", 0600), -EEXIST);
	assert_int_equal(dw_create_dir(dir, "to nothing", 0700), -EEXIST);
	assert_int_not_equal(fstatat(dir, "nothing", &st, 0), 0);

	/* A hard link to a link is another link, not another name of its target. */
	assert_int_equal(dw_create_hard_link(dir, "to nothing", dir, "again"), 0);
	assert_int_equal(fstatat(dir, "again", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void a_moved_directory_is_noticed(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct file_identity outer;
	int outer_fd, inner_fd, found;

	assert_int_equal(dw_create_dir(dir, "outer", 0700), 0);
	outer_fd = dw_create_open_dir(dir, "outer");
	assert_true(outer_fd >= 0);
	assert_int_equal(dw_create_identify(outer_fd, &outer), 0);
	assert_int_equal(dw_create_dir(outer_fd, "inner", 0700), 0);
	inner_fd = dw_create_open_dir(outer_fd, "inner");
	assert_true(inner_fd >= 0);

	found = dw_create_open_parent(inner_fd, &outer);
	assert_true(found >= 0);
	dw_fd_close(found);
	assert_int_equal(renameat(outer_fd, "inner", dir, "moved"), 0);
	assert_int_equal(dw_create_open_parent(inner_fd, &outer), -ESTALE);
	dw_fd_close(inner_fd);
	dw_fd_close(outer_fd);
}

static struct attributes some_attributes(uint32_t mode)
{
	return (struct attributes){
		.mode = mode,
		.uid = getuid(),
		.gid = getgid(),
		.atime = { 1000000001, 123456789 },
		.mtime = { 900000001, 987654321 },
	};
}

static void check_times(const struct stat *st)
{
	assert_int_equal(st->st_atim.tv_sec, 1000000001);
	assert_int_equal(st->st_atim.tv_nsec, 123456789);
	assert_int_equal(st->st_mtim.tv_sec, 900000001);
	assert_int_equal(st->st_mtim.tv_nsec, 987654321);
}

/* All three, in this order; *what_out receives the one that failed. */
static int restore_fd(int fd, const struct attributes *attributes, const char **what_out)
{
	struct owned owned;
	int ret;

	*what_out = "owner";
	if ((ret = dw_restore_owner(fd, attributes, &owned)) < 0)
		return ret;
	*what_out = "mode";
	if ((ret = dw_restore_mode(fd, attributes, &owned)) < 0)
		return ret;
	*what_out = "times";
	return dw_restore_times(fd, attributes);
}

static int restore_at(int dir, const char *name, const struct attributes *attributes,
		      const char **what_out)
{
	struct owned owned;
	int ret;

	*what_out = "owner";
	if ((ret = dw_restore_owner_at(dir, name, attributes, &owned)) < 0)
		return ret;
	*what_out = "mode";
	if ((ret = dw_restore_mode_at(dir, name, attributes, &owned)) < 0)
		return ret;
	*what_out = "times";
	return dw_restore_times_at(dir, name, attributes);
}

static void attributes_arrive(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct attributes attributes = some_attributes(S_IFREG | 0400);
	const char *what;
	struct stat st;
	int fd = dw_create_file(dir, "file", 0600);

	assert_true(fd >= 0);
	assert_int_equal(dw_fd_write_at(fd, "abc", 3, 1 << 20), 0);
	assert_int_equal(dw_create_resize(fd, 2 << 20), 0);
	assert_int_equal(restore_fd(fd, &attributes, &what), 0);
	assert_int_equal(dw_create_close(fd), 0);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0400);
	assert_int_equal(st.st_size, 2 << 20);
	assert_true(st.st_blocks * 512 < 1 << 20);
	check_times(&st);

	attributes = some_attributes(S_IFIFO | 0612);
	assert_int_equal(dw_create_node(dir, "fifo", S_IFIFO | 0612, 0, 0), 0);
	assert_int_equal(restore_at(dir, "fifo", &attributes, &what), 0);
	assert_int_equal(fstatat(dir, "fifo", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFIFO | 0612);
	check_times(&st);
}

static void attributes_of_a_link_are_its_own(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct attributes attributes = some_attributes(S_IFLNK | 0777);
	struct stat before, after, link;
	const char *what;

	make_file(dir, "file");
	assert_int_equal(dw_create_symlink(dir, "link", "file"), 0);
	assert_int_equal(fstatat(dir, "file", &before, 0), 0);
	assert_int_equal(restore_at(dir, "link", &attributes, &what), 0);
	assert_int_equal(fstatat(dir, "file", &after, 0), 0);
	assert_int_equal(fstatat(dir, "link", &link, AT_SYMLINK_NOFOLLOW), 0);
	check_times(&link);
	assert_int_equal(before.st_mode, after.st_mode);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);

	/* A link in place of another type is not followed. */
	attributes = some_attributes(S_IFIFO | 0777);
	assert_int_equal(restore_at(dir, "link", &attributes, &what), -ESTALE);
	assert_string_equal(what, "owner");
	assert_int_equal(fstatat(dir, "file", &after, 0), 0);
	assert_int_equal(before.st_mode, after.st_mode);
}

static void setuid_needs_the_right_owner(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct attributes attributes = some_attributes(S_IFREG | 06755);
	int fd = dw_create_file(dir, "file", 0600);
	const char *what;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(restore_fd(fd, &attributes, &what), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 06755);

	attributes.drop_setuid = true;
	assert_int_equal(restore_fd(fd, &attributes, &what), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02755);
	attributes.drop_setuid = false;

	attributes.uid++;
	attributes.gid++;
	assert_int_equal(restore_fd(fd, &attributes, &what), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);

	if (dw_may_set_owners()) {
		attributes.set_owner = true;
		assert_int_equal(restore_fd(fd, &attributes, &what), 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 06755);
		assert_int_equal(st.st_uid, attributes.uid);
		assert_int_equal(st.st_gid, attributes.gid);
		check_times(&st);
	}
	assert_int_equal(dw_create_close(fd), 0);
}

static void a_name_is_given_once(void **state)
{
	int dir = ((struct place *)*state)->fd;

	make_file(dir, "temporary");
	assert_int_equal(dw_create_is_there(dir, "file"), 0);
	assert_int_equal(dw_create_rename(dir, "temporary", "file"), 0);
	assert_int_equal(dw_create_is_there(dir, "temporary"), 0);
	assert_int_equal(dw_create_is_there(dir, "file"), 1);
	make_file(dir, "temporary");
	assert_int_equal(dw_create_rename(dir, "temporary", "file"), -EEXIST);
	assert_int_equal(dw_create_is_there(dir, "temporary"), 1);
	assert_int_equal(dw_create_symlink(dir, "link", "nothing"), 0);
	assert_int_equal(dw_create_rename(dir, "temporary", "link"), -EEXIST);
	assert_true(dw_create_token() != dw_create_token());
}

static void what_is_right_is_known(void **state)
{
	int dir = ((struct place *)*state)->fd;
	struct attributes attributes = some_attributes(S_IFREG | 0600);
	struct owned owned;

	make_file(dir, "file");
	assert_int_equal(dw_owned_at(dir, "file", &owned), 0);
	assert_true(dw_restore_is_right(&attributes, &owned));
	dw_owned_forget_mode(&owned);
	assert_false(dw_restore_is_right(&attributes, &owned));
	assert_int_equal(dw_owned_at(dir, "file", &owned), 0);
	attributes.mode = S_IFREG | 0640;
	assert_false(dw_restore_is_right(&attributes, &owned));
	attributes.mode = S_IFDIR | 0600;
	assert_false(dw_restore_is_right(&attributes, &owned));
	attributes = some_attributes(S_IFREG | 04755);
	assert_int_equal(dw_create_mode(&attributes), 0755);
	attributes.set_owner = true;
	assert_int_equal(dw_create_mode(&attributes), 0755);
	attributes.uid++;
	assert_int_equal(dw_create_mode(&attributes), 0700);
	assert_false(dw_restore_is_right(&attributes, &owned));
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_PLACE(nothing_is_replaced),
		IN_A_PLACE(links_are_not_followed),
		IN_A_PLACE(a_moved_directory_is_noticed),
		IN_A_PLACE(attributes_arrive),
		IN_A_PLACE(attributes_of_a_link_are_its_own),
		IN_A_PLACE(setuid_needs_the_right_owner),
		IN_A_PLACE(a_name_is_given_once),
		IN_A_PLACE(what_is_right_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
