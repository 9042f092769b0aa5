/* SPDX-License-Identifier: MIT */
/*
 * common/common: options, numbers, messages and signals of all programs.
 *
 * Messages go to stderr as "program: message", one line each; a live progress display is
 * cleared before and redrawn after each. Everything here uses <dwarfs/...> only.
 */
#ifndef UTILS_COMMON_COMMON_H
#define UTILS_COMMON_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dwarfs/dwarfs.h>

/* -- locals that release themselves -------------------------------------------------- */

#define TOOL_DEFINE_AUTO(name, type)                                                     \
	static inline void tool_cleanup_##name(type **object)                            \
	{                                                                                \
		name##_free(*object);                                                    \
	}
TOOL_DEFINE_AUTO(dwarfs_error, dwarfs_error)
TOOL_DEFINE_AUTO(dwarfs_context, dwarfs_context)
TOOL_DEFINE_AUTO(dwarfs_image_options, dwarfs_image_options)
TOOL_DEFINE_AUTO(dwarfs_image, dwarfs_image)
TOOL_DEFINE_AUTO(dwarfs_history, dwarfs_history)
TOOL_DEFINE_AUTO(dwarfs_metadata, dwarfs_metadata)
TOOL_DEFINE_AUTO(dwarfs_walk, dwarfs_walk)
TOOL_DEFINE_AUTO(dwarfs_stat, dwarfs_stat)
TOOL_DEFINE_AUTO(dwarfs_digest, dwarfs_digest)
TOOL_DEFINE_AUTO(dwarfs_builder, dwarfs_builder)
TOOL_DEFINE_AUTO(dwarfs_extract, dwarfs_extract)
TOOL_DEFINE_AUTO(dwarfs_task, dwarfs_task)
TOOL_DEFINE_AUTO(dwarfs_io, dwarfs_io)
TOOL_DEFINE_AUTO(dwarfs_sink, dwarfs_sink)
TOOL_DEFINE_AUTO(dwarfs_compare, dwarfs_compare)
/* auto_handle(dwarfs_image) *image = NULL; */
#define auto_handle(type) __attribute__((cleanup(tool_cleanup_##type))) type

#define auto_free __attribute__((cleanup(tool_cleanup_memory)))
void tool_cleanup_memory(void *pointer);

/* -- the program and its messages ---------------------------------------------------- */

/*
 * Call first: sets the name for messages and the locale for characters (not for numbers),
 * and makes a limit of file sizes an error of writing instead of a signal.
 */
void tool_start(const char *program);
/* The same, for programs that use no archive: libarchive converts names. Messages do not depend on
 * the locale, and reading its files takes 0.1 ms. */
void tool_start_without_locale(const char *program);

const char *tool_name(void);

/* Whether both paths lead to the same regular file. */
bool tool_is_same_file(const char *a, const char *b);

/* Nanoseconds of the monotonic clock. */
uint64_t tool_now_ns(void);

/* "program: message" on stderr; always returns 1, the exit code of failure. */
int tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same followed by the message of err, "program: what: why"; format may be NULL.
 */
int tool_fail(const dwarfs_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A message of a dwarfs_log_level, printed if the level is on: see tool_set_log_level().
 */
void tool_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Default is DWARFS_LOG_INFO. Errors of tool_error() are printed at every level. */
void tool_set_log_level(int level);
int tool_log_level(void);

/* Say with each message how many seconds after the start which thread has written it. */
void tool_set_log_context(bool on);

/* A dwarfs_log_fn that prints as tool_log() does; user is not used. */
void tool_log_callback(enum dwarfs_log_level level, const char *message, void *user);

/*
 * A context with this log. The workers and the bytes of cache may be TOOL_DEFAULT.
 * On failure the error has been printed, and NULL is returned.
 */
#define TOOL_DEFAULT UINT64_MAX
dwarfs_context *tool_context_new(uint64_t workers, uint64_t cache_bytes);

/*
 * A display on the last line of the terminal: clear and draw are called before and after
 * each message, under the lock of all messages. NULL to remove it. See common/progress.c.
 */
struct tool_live {
	void (*clear)(void *user);
	void (*draw)(void *user);
	void *user;
};
void tool_set_live(const struct tool_live *live);
void tool_lock(void);
void tool_unlock(void);

/* -- options ------------------------------------------------------------------------- */

enum tool_option_flags {
	TOOL_BASIC = 1,	   /* shown by the short help, too */
	TOOL_OPTIONAL = 2, /* the argument may be missing: --name or --name=ARGUMENT */
};

/* What an option does with its argument; the type is that of its member of the settings. */
enum tool_option_kind {
	TOOL_ACTION, /* nothing: the program acts on its id, as for help */
	TOOL_FLAG,   /* bool: becomes true */
	TOOL_TEXT,   /* const char *: the argument itself */
	TOOL_LIST,   /* struct tool_list: the argument is added */
	TOOL_NUMBER, /* uint64_t from min to max */
	TOOL_BYTES,  /* uint64_t: see tool_parse_bytes() */
	TOOL_OFFSET, /* uint64_t: see tool_parse_offset() */
	TOOL_USER,   /* uint32_t: see tool_parse_user() */
	TOOL_GROUP,  /* uint32_t: see tool_parse_group() */
	TOOL_WORD,   /* int: its position in words */
	TOOL_PARSED, /* its function parse puts it into the settings */
};

/*
 * One option of a program; a table of them ends with a name of NULL. The command line, the
 * help and the settings come from this table: a further option is one further row.
 */
struct tool_option {
	int id;		  /* its letter, or a number from 256 up; 0: none */
	const char *name; /* long form, without dashes */
	const char
		*argument; /* word for its argument in the help; NULL if it takes none */
	const char *
		help; /* a line or more, separated by '\n'; NULL: not in the help of dwarfs */
	unsigned flags; /* of tool_option_flags */
	enum tool_option_kind kind;
	size_t target; /* offset of its member in the settings; unused by TOOL_PARSED */
	uint64_t min, max;	  /* of TOOL_NUMBER */
	const char *const *words; /* of TOOL_WORD; they end with NULL */
	size_t given; /* offset of a bool that becomes true with it; 0: none */
	/* 0, or 1 after printing what is wrong; text is NULL if there is no argument. */
	int (*parse)(const struct tool_option *option, const char *text, void *settings);
};

/*
 * The kind and the target of a row, for the struct settings of the program. A member of
 * another type than the kind needs is a warning of the compiler.
 */
#define TOOL_TARGET(type, member)                                                        \
	(offsetof(struct settings, member) +                                             \
	 0 * sizeof((type *)NULL == &((struct settings *)NULL)->member))
#define TOOL_INTO_FLAG(member) TOOL_FLAG, TOOL_TARGET(bool, member)
#define TOOL_INTO_TEXT(member) TOOL_TEXT, TOOL_TARGET(const char *, member)
#define TOOL_INTO_LIST(member) TOOL_LIST, TOOL_TARGET(struct tool_list, member)
#define TOOL_INTO_NUMBER(member, min, max)                                               \
	TOOL_NUMBER, TOOL_TARGET(uint64_t, member), min, max
#define TOOL_INTO_BYTES(member)	 TOOL_BYTES, TOOL_TARGET(uint64_t, member)
#define TOOL_INTO_OFFSET(member) TOOL_OFFSET, TOOL_TARGET(uint64_t, member)
#define TOOL_INTO_USER(member)	 TOOL_USER, TOOL_TARGET(uint32_t, member)
#define TOOL_INTO_GROUP(member)	 TOOL_GROUP, TOOL_TARGET(uint32_t, member)
#define TOOL_INTO_WORD(member, list)                                                     \
	.kind = TOOL_WORD, .target = TOOL_TARGET(int, member), .words = list
#define TOOL_GIVEN(member) .given = TOOL_TARGET(bool, member)

/* The name of an option in messages: "--order", or "-S (--block-size-bits)"; returns buffer. */
#define TOOL_LABEL_ROOM 64
const char *tool_option_label(const struct tool_option *option,
			      char buffer[TOOL_LABEL_ROOM]);

/*
 * Put the argument of an option into the settings. 0, or 1 after printing what is wrong
 * with it. Not for TOOL_ACTION.
 */
int tool_option_set(const struct tool_option *option, const char *text, void *settings);

/* Arguments of an option that may be repeated; they stay in the command line. */
struct tool_list {
	const char **items;
	size_t count;
};

/* 0, or 1 after printing that memory is exhausted. */
int tool_list_add(struct tool_list *list, const char *item);
void tool_list_free(struct tool_list *list);

/* The arguments of a program while they are parsed; the first two fields are public. */
struct tool_args {
	const struct tool_option *option; /* just returned */
	const char *value;		  /* its argument, or NULL */
	const char *word; /* with a long option without an argument: its text */
	int argc;
	char **argv;
	const struct tool_option *options;
	void *longs;
	char *shorts;
};

enum { TOOL_ARGS_END = -1, TOOL_ARGS_BAD = -2 };

/* Returns 0, or 1 after printing that memory is exhausted. */
int tool_args_init(struct tool_args *args, int argc, char **argv,
		   const struct tool_option *options);

/*
 * The next option: its id and args->value; TOOL_ARGS_END when there are no more; or
 * TOOL_ARGS_BAD for an unknown or ambiguous one or a missing argument, which was printed.
 */
int tool_args_next(struct tool_args *args);

/* The next argument that is not an option, after tool_args_next() returned TOOL_ARGS_END;
 * NULL at the end. */
const char *tool_args_positional(struct tool_args *args);

void tool_args_free(struct tool_args *args);
#define auto_args __attribute__((cleanup(tool_args_free))) struct tool_args

/* Print the options, those that are TOOL_BASIC or all. */
void tool_print_options(FILE *out, const struct tool_option *options, bool all);

/* "program X.Y.Z" on stdout. */
void tool_print_version(void);

/* Become man(1) with the page of the program; returns 1 after printing that it cannot. */
int tool_show_man(void);

/*
 * -- values; all return 0, or 1 after printing "invalid ... 'text' for --option" -------
 *
 * An option that begins with a dash is printed as it is: "-o cachesize", or what
 * tool_option_label() returns.
 */

int tool_parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
		      uint64_t *value_out);

/* A number with an optional suffix k, m, g or t (1024 based; "kB" and "KiB" are the
 * same). */
int tool_parse_bytes(const char *option, const char *text, uint64_t *value_out);

/* One of some words, which end with NULL: its position. */
int tool_parse_word(const char *option, const char *text, const char *const *words,
		    int *position_out);

/* Append a word to a list for a message, after ", " unless it is the first one. */
void tool_append_word(char *names, size_t room, const char *word, size_t length);

/* A number, or "auto" for DWARFS_OFFSET_AUTO. */
int tool_parse_offset(const char *option, const char *text, uint64_t *value_out);

/* A name of a dwarfs_log_level ("info" and so on). */
int tool_parse_log_level(const char *option, const char *text, int *level_out);

/* The functions parse of --log-level and --log-with-context: set how messages are printed. */
int tool_take_log_level(const struct tool_option *option, const char *text,
			void *settings);
int tool_take_log_context(const struct tool_option *option, const char *text,
			  void *settings);

/* A number with a unit from ns to d, or the unit alone; seconds without one. */
int tool_parse_time_resolution(const char *option, const char *text, uint64_t *ns_out);

/* A number, or the name of a user or a group of this system. */
int tool_parse_user(const char *option, const char *text, uint32_t *uid_out);
int tool_parse_group(const char *option, const char *text, uint32_t *gid_out);

/* -- people -------------------------------------------------------------------------- */

#define TOOL_TEXT_ROOM 32

/* "512 B", "1.500 KiB", "14.31 MiB"; returns buffer. */
const char *tool_format_bytes(uint64_t bytes, char buffer[TOOL_TEXT_ROOM]);

/* "3.2s", "4m12s", "1h05m"; returns buffer. */
const char *tool_format_duration(uint64_t ns, char buffer[TOOL_TEXT_ROOM]);

/* "2026-05-09 07:29:33" in UTC; returns buffer. */
const char *tool_format_time(int64_t seconds, char buffer[TOOL_TEXT_ROOM]);

/* "-rwxr-xr-x" of st_mode; returns buffer. */
const char *tool_format_mode(uint32_t mode, char buffer[TOOL_TEXT_ROOM]);

/* -- names, which may be any bytes --------------------------------------------------- */

/* How many bytes the well-formed UTF-8 character at the start of a text has; 0 for none. */
size_t tool_character_bytes(const unsigned char *text, size_t left);

bool tool_is_utf8(const void *text, size_t bytes);

/*
 * How many bytes at the start of a text a terminal shows and does not obey: those of a
 * character that is well-formed and no control character; 0 for none.
 */
size_t tool_printable_bytes(const unsigned char *text, size_t left);

/*
 * Write a name as ls(1) does to a terminal if it has bytes that are not to be shown, or
 * begins with a quote: 'one'$'\n''line', which a shell takes as the name.
 */
void tool_print_name(FILE *out, const char *name);

/* Write text of a message, with control characters as \n or \033; other bytes are not
 * changed, also if they are not UTF-8. */
void tool_print_text(FILE *out, const char *text);

/* The plural ending for a count: "" or "s". */
static inline const char *tool_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* -- the end ------------------------------------------------------------------------- */

/*
 * SIGINT, SIGTERM and SIGHUP cancel the task (ignored signals stay ignored). NULL: stop
 * catching them; call this before the task is freed.
 */
void tool_catch_signals(dwarfs_task *task);

/* Flush stdout. Returns code, or 1 after printing that it cannot be written. */
int tool_finish(int code);

#endif
