/* SPDX-License-Identifier: MIT */
/*
 * common/common: messages, the context and the signals of a program.
 *
 * The only state of the programs that is not in their main() is here: the name, the
 * log level, the live display on the last line of the terminal, and the cancellation flag
 * for signals.
 */
#include "common/common.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
	const char *name;
	int log_level;
	pthread_mutex_t lock;
	struct tool_live live;
	bool has_live;
	bool has_context;
	uint64_t started; /* monotonic, ns */
	dwarfs_task *_Atomic task;
} tool = {
	.name = "dwarfs",
	.log_level = DWARFS_LOG_INFO,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

void tool_cleanup_memory(void *pointer)
{
	free(*(void **)pointer);
}

void tool_start_without_locale(const char *program)
{
	tool.name = program;
	/* A file that grows too large is an error to report, not a reason to die. */
	signal(SIGXFSZ, SIG_IGN);
}

void tool_start(const char *program)
{
	tool_start_without_locale(program);
	setlocale(LC_CTYPE, "");
}

uint64_t tool_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

const char *tool_name(void)
{
	return tool.name;
}

void tool_lock(void)
{
	pthread_mutex_lock(&tool.lock);
}

void tool_unlock(void)
{
	pthread_mutex_unlock(&tool.lock);
}

void tool_set_live(const struct tool_live *live)
{
	tool_lock();
	tool.has_live = live != NULL;
	if (live)
		tool.live = *live;
	tool_unlock();
}

void tool_set_log_context(bool on)
{
	tool.has_context = on;
	tool.started = tool_now_ns();
}

/* The prefix of a message. */
static void print_context(void)
{
	fprintf(stderr, "%s: ", tool.name);
	if (tool.has_context)
		fprintf(stderr, "[%.6f %ld] ",
			(double)(tool_now_ns() - tool.started) / 1e9,
			(long)syscall(SYS_gettid));
}

/* One line on stderr, above the live display. */
static void print_message(const char *kind, const char *message, const char *reason)
{
	tool_lock();
	if (tool.has_live)
		tool.live.clear(tool.live.user);
	print_context();
	fputs(kind, stderr);
	tool_print_text(stderr, message);
	fputs(*message && *reason ? ": " : "", stderr);
	tool_print_text(stderr, reason);
	putc('\n', stderr);
	if (tool.has_live)
		tool.live.draw(tool.live.user);
	tool_unlock();
}

static void print_formatted(const char *kind, const char *reason, const char *format,
			    va_list arguments)
{
	auto_free char *message = NULL;

	if (vasprintf(&message, format, arguments) < 0) {
		message = NULL;
		print_message(kind, format, reason);
		return;
	}
	print_message(kind, message, reason);
}

bool tool_is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino && S_ISREG(of_a.st_mode);
}

int tool_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_formatted("", "", format, arguments);
	va_end(arguments);
	return 1;
}

/* As other programs do when the reader of their output ends first; not if it is ignored. */
static void end_by_broken_pipe(const dwarfs_error *err)
{
#ifdef SIGPIPE
	if (dwarfs_error_errno(err) == EPIPE)
		raise(SIGPIPE);
#else
	(void)err;
#endif
}

int tool_fail(const dwarfs_error *err, const char *format, ...)
{
	va_list arguments;

	end_by_broken_pipe(err);
	if (!format) {
		print_message("", "", dwarfs_error_message(err));
		return 1;
	}
	va_start(arguments, format);
	print_formatted("", dwarfs_error_message(err), format, arguments);
	va_end(arguments);
	return 1;
}

void tool_set_log_level(int level)
{
	tool.log_level = level;
}

int tool_log_level(void)
{
	return tool.log_level;
}

static const char *log_kind(int level)
{
	switch (level) {
	case DWARFS_LOG_FATAL:
	case DWARFS_LOG_ERROR:
	case DWARFS_LOG_INFO:
		return "";
	case DWARFS_LOG_WARN:
		return "warning: ";
	case DWARFS_LOG_VERBOSE:
		return "verbose: ";
	case DWARFS_LOG_DEBUG:
		return "debug: ";
	default:
		return "trace: ";
	}
}

void tool_log(int level, const char *format, ...)
{
	va_list arguments;

	if (level > tool.log_level)
		return;
	va_start(arguments, format);
	print_formatted(log_kind(level), "", format, arguments);
	va_end(arguments);
}

void tool_log_callback(enum dwarfs_log_level level, const char *message, void *user)
{
	(void)user;
	if ((int)level <= tool.log_level)
		print_message(log_kind(level), message, "");
}

dwarfs_context *tool_context_new(uint64_t workers, uint64_t cache_bytes)
{
	auto_handle(dwarfs_context) *context = NULL;
	auto_handle(dwarfs_error) *err = NULL;
	dwarfs_context *result;

	if (dwarfs_context_new(&context, &err) < 0 ||
	    dwarfs_context_set_log(context, tool.log_level, tool_log_callback, NULL,
				   &err) < 0 ||
	    (workers != TOOL_DEFAULT &&
	     dwarfs_context_set_workers(
		     context, workers > UINT32_MAX ? UINT32_MAX : workers, &err) < 0) ||
	    (cache_bytes != TOOL_DEFAULT &&
	     dwarfs_context_set_cache_bytes(context, cache_bytes, &err) < 0)) {
		tool_fail(err, NULL);
		return NULL;
	}

	result = context;
	context = NULL;
	return result;
}

static void on_signal(int number)
{
	(void)number;
	dwarfs_task_cancel(tool.task);
}

void tool_catch_signals(dwarfs_task *task)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = task ? on_signal : SIG_DFL };
	struct sigaction old;
	size_t i;

	if (task)
		tool.task = task;
	sigemptyset(&action.sa_mask);
	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	tool.task = task;
}

int tool_finish(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	return tool_error("cannot write to standard output: %s", strerror(errno));
}
