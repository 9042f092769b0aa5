/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/mount: a mounted image, and the interfaces of its parts.
 */
#ifndef UTILS_DWARFS_MOUNT_H
#define UTILS_DWARFS_MOUNT_H

#include "dwarfs/options.h"

TOOL_DEFINE_AUTO(dwarfs_file, dwarfs_file)
TOOL_DEFINE_AUTO(dwarfs_borrowed, dwarfs_borrowed)

struct ahead;
struct files;
struct folded;
struct opened;
struct perfmon;
struct requests;
struct affinity;

/* The state of a mount. Settings and pointers do not change while it is mounted. */
struct mounted {
	const struct settings *settings;
	const dwarfs_image *image;
	bool keep_sparse;	 /* the kernel may cache files with holes */
	_Atomic bool no_open;	 /* the kernel need not ask when files are opened */
	_Atomic bool no_opendir; /* nor for directories */
	struct files *files;	 /* open files */
	struct ahead *ahead;	 /* decoding ahead */
	struct perfmon *perfmon; /* NULL: no times are taken */
	struct affinity *affinity;
	struct requests *requests;	 /* how many there were */
	_Atomic bool agrees_on_io_uring; /* with the kernel, in the first request */
	struct folded *folded;		 /* NULL: names match as they are */
	struct opened *opened;		 /* NULL: opened files are not recorded */
};

/* -- dwarfs/operations.c: directories, attributes and links; dwarfs/file_contents.c: contents ------ */

/* The user data of the session is a struct mounted. */
extern const struct fuse_lowlevel_ops dwarfs_ops;

static inline struct mounted *mounted_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* An inode of the image has the number plus 1 here, since 1 is the root for the kernel.
 */
static inline dwarfs_inode inode_of(fuse_ino_t ino)
{
	return dwarfs_inode_at(ino - FUSE_ROOT_ID > UINT32_MAX
				       ? UINT32_MAX
				       : (uint32_t)(ino - FUSE_ROOT_ID));
}
static inline fuse_ino_t ino_of(dwarfs_inode inode)
{
	return (fuse_ino_t)inode.number + FUSE_ROOT_ID;
}

/* Reply with the failure, and log it if the image is damaged. */
void reply_failure(fuse_req_t req, fuse_ino_t ino, int code, const dwarfs_error *err);

/* 0, or 1 after printing why not. */
int files_new(struct files **files_out);
void files_free(struct files *files);
/* Whether the kernel may cache all files of the image, also those with holes. */
bool files_keep_sparse(const struct settings *settings, const dwarfs_image *image);
/* Close files that are not being read. */
void files_trim(struct files *files);
/* Have a part of a file decoded; -1 when it ends before, or cannot be read. */
int files_warm(const struct mounted *mounted, dwarfs_inode inode, uint64_t offset,
	       size_t bytes);

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t bytes, off_t offset,
	     struct fuse_file_info *info);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
	      struct fuse_file_info *info);

/* -- dwarfs/request_loop.c ------------------------------------------------------------ */

/* There could not be even one thread, or its descriptor. */
#define REQUEST_LOOP_NOT_STARTED (-1)

/*
 * Receive and serve requests until the session ends: 0, a negative errno value, or
 * REQUEST_LOOP_NOT_STARTED. There are up to most_threads threads, which is not 0. The calling
 * thread calls once_started() with the argument while the first of them serves.
 */
int request_loop_run(struct fuse_session *session, const struct mounted *mounted,
		     unsigned most_threads, void (*once_started)(const void *argument),
		     const void *argument);
/* Before a request is served that may take long: another thread receives the next ones. */
void request_loop_release(void);

/* -- dwarfs/xattr.c ----------------------------------------------------------------- */

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room);
/* Whether any entry of an image has an access control list. */
bool has_access_lists(const dwarfs_image *image);

/* -- dwarfs/read_ahead.c: threads that decode what will be read soon --------------------- */

/* 0, or 1 after printing an error in the settings. */
int ahead_new(struct mounted *mounted, struct ahead **ahead_out);
/* Start the threads, after mounting; fewer if the system cannot start all. */
void ahead_start(struct ahead *ahead);
/* End them, in the middle of a file if need be. */
void ahead_free(struct ahead *ahead);

/* An entry of a directory that is being read, which is a regular file. */
void ahead_note_entry(struct ahead *ahead, dwarfs_inode inode, dwarfs_entry entry);
/* A file is read from its start. */
void ahead_note_start(struct ahead *ahead, dwarfs_inode inode);
/* A part of a file will be read soon. */
void ahead_want(struct ahead *ahead, dwarfs_inode inode, uint64_t offset, uint64_t bytes);
/* How far ahead of a reader of one file it is worth to decode. */
uint64_t ahead_window(const struct ahead *ahead);

/* -- dwarfs/reader_order.c: files that are read in the order of their directory ------------ */

#define ORDER_STREAMS 16

/* A reader that reads the files of a directory in order. */
struct stream {
	uint32_t last;	/* number of the entry whose file was read last */
	uint32_t ahead; /* entries before this are decompressed, or being decompressed
				 */
	uint32_t mark;	/* when the reader reaches this entry, decompress more */
	uint32_t run;	/* files in a row, without the first */
	uint32_t turn;	/* counts the directions that this slot was used for */
	uint64_t used_at;
	uint64_t window;    /* bytes to decode ahead next time */
	uint32_t dir_end;   /* where the directory of last ends; 0: not known */
	uint32_t crossings; /* ends of directories that the reader has passed */
};

struct order {
	struct stream streams[ORDER_STREAMS];
	uint64_t clock;
	uint64_t most_bytes;   /* all windows together */
	uint32_t most_readers; /* at a time; more of them keep all processors busy */
};

void order_init(struct order *order, uint64_t most_bytes, uint32_t most_readers);
/*
 * The stream that a read of an entry's file belongs to; entry is its number. *wants_more_out: decompress more
 * entries after order->streams[result].ahead. A stream that changes its direction gets
 * another turn number.
 */
size_t order_note(struct order *order, uint32_t entry, bool *wants_more_out);
/* How many bytes to decompress ahead after the end of the reader's directory: few, unless
 * it has passed such ends before. */
uint64_t order_beyond(const struct stream *stream);

/* -- dwarfs/case_folding.c: names whatever their case --------------------------------------- */

/* 0, or 1 after printing which names differ only in case, or another failure. */
int folded_new(const dwarfs_image *image, struct folded **folded_out);
void folded_free(struct folded *folded);
/* As dwarfs_dir_find(). */
int folded_find(const struct folded *folded, dwarfs_inode dir, const char *name,
		dwarfs_entry *entry_out, dwarfs_error **err);

/* -- dwarfs/opened_files.c: which files were opened, in order ----------------------------- */

/* 0, or 1 after printing why the file cannot be written. */
int opened_new(const dwarfs_image *image, const char *path, struct opened **opened_out);
void opened_note(struct opened *opened, dwarfs_inode inode);
/* Write the paths, and free it. NULL is accepted. */
void opened_finish(struct opened *opened);

/* -- dwarfs/perfmon.c: how long things take ----------------------------------------- */

enum perf_timer {
	PERF_LOOKUP,
	PERF_GETATTR,
	PERF_READLINK,
	PERF_OPEN,
	PERF_READ,
	PERF_LSEEK,
	PERF_OPENDIR,
	PERF_READDIR,
	PERF_READDIRPLUS,
	PERF_STATFS,
	PERF_GETXATTR,
	PERF_LISTXATTR,
	PERF_RELEASE,
	PERF_IOCTL,
	PERF_FS_FIND,
	PERF_FS_STAT,
	PERF_FS_READLINK,
	PERF_FS_LIST,
	PERF_READER_OPEN,
	PERF_READER_READ,
	PERF_READER_SEEK,
	PERF_CACHE_PREFETCH,
	PERF_CACHE_READAHEAD,
	PERF_CACHE_PRELOAD,
	PERF_CACHE_TRIM,
	PERF_TIMER_COUNT,
};

/* 0, or 1 after printing why the trace cannot be written. trace may be NULL. */
int perfmon_new(unsigned parts, const char *trace, struct perfmon **perfmon_out);
void perfmon_free(struct perfmon *perfmon);
/* The statistics of the mount as text, which the caller frees; NULL: no memory. */
char *perfmon_describe(const struct mounted *mounted);

/* The time until the end of the block is taken. */
struct perf_span {
	struct perfmon *perfmon;
	enum perf_timer timer;
	uint64_t inode;
	uint64_t start; /* 0: it is not taken */
};
struct perf_span perf_begin(struct perfmon *perfmon, enum perf_timer timer,
			    uint64_t inode);
void perf_end(struct perf_span *span);
#define PERF_JOIN2(a, b) a##b
#define PERF_JOIN(a, b)	 PERF_JOIN2(a, b)
#define PERF_SPAN(perfmon, timer, inode)                                                 \
	__attribute__((cleanup(perf_end), unused)) struct perf_span PERF_JOIN(           \
		span_, __LINE__) = perf_begin(perfmon, timer, inode)

/* -- dwarfs/requests.c: each request, from its arrival to its end --------------------- */

/* 0, or 1 after printing why not. */
int requests_new(struct requests **requests_out);
void requests_free(struct requests *requests);
/* The requests of a kind that have arrived; 0 for timers of other parts. */
uint64_t requests_count(const struct requests *requests, enum perf_timer timer);
/* Of all of them, those that came by io_uring. */
uint64_t requests_by_io_uring(const struct requests *requests);
/* A thread polled for the next request, and found it or gave up. */
void requests_count_poll(struct requests *requests, bool found);
uint64_t requests_polls(const struct requests *requests, bool found);

struct request_span {
	const struct mounted *mounted;
	bool is_by_io_uring;
	struct perf_span perf;
};
struct request_span request_begin(fuse_req_t req, enum perf_timer timer, uint64_t inode,
				  uint64_t bytes);
void request_end(struct request_span *span);
/* A request of some kind is served until the end of the block. bytes: of a read. */
#define REQUEST(req, timer, inode, bytes)                                                \
	__attribute__((cleanup(request_end), unused)) struct request_span request_span = \
		request_begin(req, timer, inode, bytes)

/* -- dwarfs/refused_writes.c ------------------------------------------------------------------ */

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
		struct fuse_file_info *info);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t device);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *info);
/* Also of a directory. */
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	       const char *new_name, unsigned flags);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t bytes,
	      off_t offset, struct fuse_file_info *info);
void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
		 size_t bytes, int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

/* -- dwarfs/io_uring.c ------------------------------------------------------------------------ */

/* The modes are of enum io_uring_mode. 0, or 1 after printing why not. */
int io_uring_add_option(struct fuse_args *args, int mode);
/* In the first request: whether libfuse and the kernel agree to use it. */
bool io_uring_agree(struct fuse_conn_info *connection, int mode);
/* Whether a message of libfuse says that it could not be started after all; this is noted. */
bool io_uring_take_message(const char *format);
bool io_uring_has_failed(void);
/* After the first request: 0, or 1 after printing why it is not used although it has to. */
int io_uring_check(int mode, bool is_agreed);
/* Whether a request came by it. */
bool io_uring_made(fuse_req_t req);

/* -- dwarfs/kernel_settings.c ---------------------------------------------------------------- */

/* The number of a file system, as stat() has it in st_dev. */
struct mount_device {
	unsigned major, minor;
};

/* The topmost FUSE mount at path. */
bool kernel_find_mount(const char *path, struct mount_device *device_out);

/* Have the kernel read more at a time from the mount at path; only root may, and nothing
 * depends on it. */
void kernel_read_ahead(const char *path);

/* -- dwarfs/descriptors.c ----------------------------------------------------------- */

#define MOST_KEPT 8

/* Descriptors that stay open. */
struct descriptors {
	int fds[MOST_KEPT];
	size_t count;
};

void descriptors_keep(struct descriptors *keep, int fd);
/* Keep the descriptor of a path such as "/dev/fd/9"; no other path, nor NULL. */
void descriptors_keep_path(struct descriptors *keep, const char *path);
/* Close all others above the three standard ones. */
void descriptors_close(const struct descriptors *keep);

/* -- dwarfs/background.c: a process of its own -------------------------------------- */

/*
 * Go on in a child process; the parent waits for background_ready() of the child, and
 * ends: here it gets true, and the exit code. The child gets false, and has the standard
 * descriptors and those that its arguments name.
 */
bool background_start(const struct command *command, int *pipe_out, int *code_out);
/* All is well: let go of the terminal and the parent. */
int background_ready(int pipe);

/* -- dwarfs/auto_unmount.c ----------------------------------------------------------------- */

/* Another process, which removes the mount when this one is killed. */
struct guard {
	int pipe; /* -1: there is none */
	int process;
	const char *path;
};

/* Before there are threads; path outlives the guard. 0, or 1 after printing why not. */
int guard_start(struct guard *guard, const char *path);
/* It is mounted now; as guard_start(). */
int guard_mounted(const struct guard *guard);
/* It is unmounted, or was never mounted. */
void guard_end(struct guard *guard);

#endif
