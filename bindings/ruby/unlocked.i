/* SPDX-License-Identifier: MIT */
/*
 * Calls of the library without the interpreter's lock, so that other threads of Ruby run.
 *
 * Each function of DWARFS_BLOCKING(name) is replaced in its wrapper by unlocked_name(). Another
 * thread may close a handle meanwhile: it is freed when the last call that uses it has
 * returned, and no other call takes it. Callbacks come from the thread that called, and take the lock; how one is left
 * (an exception, break, throw, return, the end of its thread) is kept in `pending` until the
 * library has returned, and then goes on from the wrapper. A callback may switch to another fiber,
 * which may use the library, too; one that never goes on leaves its handles in use for good.
 */
%{
#include <pthread.h>
#include <ruby/thread.h>

struct run {
	struct run *next; /* of all threads */
	pthread_t thread;
	const void *handles[3];
	void (*function)(void *user);
	void *user;
	int state; /* of rb_protect() in a callback */
	bool started;
};

/* A handle that was closed while a call used it. */
struct closed {
	struct closed *next;
	void *handle;
	void (*release)(void *handle);
};

/* With the lock. */
static struct run *runs;
static struct closed *closed;
static long handle_count;

static _Thread_local struct run *current; /* whose function this thread runs; NULL in a callback */
static _Thread_local int pending; /* of the last run of this thread */

/* Only the thread that forked goes on. */
static void keep_own_runs(void)
{
	for (struct run **link = &runs; *link;)
		if (pthread_equal((*link)->thread, pthread_self()))
			link = &(*link)->next;
		else
			*link = (*link)->next;
}

static bool is_in_use(const void *handle)
{
	for (struct run *run = runs; run; run = run->next)
		for (int i = 0; i < 3; i++)
			if (run->handles[i] == handle)
				return true;
	return false;
}

static void free_handle(void *handle, void (*release)(void *handle))
{
	struct closed *one;

	if (!handle || !is_in_use(handle)) {
		release(handle);
		return;
	}
	one = malloc(sizeof(*one));
	if (!one)
		return; /* never freed */
	*one = (struct closed){ closed, handle, release };
	closed = one;
}

static void free_closed(void)
{
	for (struct closed **link = &closed; *link;) {
		struct closed *one = *link;

		if (is_in_use(one->handle)) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		one->release(one->handle);
		free(one);
	}
}

static void enter_run(struct run *run)
{
	static bool is_ready;

	if (!is_ready)
		pthread_atfork(NULL, NULL, keep_own_runs);
	is_ready = true;
	run->thread = pthread_self();
	run->next = runs;
	runs = run;
}

static void leave_run(struct run *run)
{
	struct run **link = &runs;

	while (*link != run)
		link = &(*link)->next;
	*link = run->next;
	pending = run->state;
	free_closed();
}

static void *start_run(void *user)
{
	struct run *run = user;

	run->started = true;
	current = run;
	run->function(run->user);
	current = NULL;
	return NULL;
}

static VALUE check_interrupts(VALUE nothing)
{
	rb_thread_check_ints();
	return nothing;
}

/* Does not jump: `pending` says whether to. An interrupt may come before the function starts. */
static void run_unlocked(void (*function)(void *), void *user, const void *const handles[3])
{
	struct run run = { .function = function, .user = user };

	memcpy(run.handles, handles, sizeof(run.handles));
	enter_run(&run);
	while (!run.started && run.state == 0) {
		rb_nogvl(start_run, &run, NULL, NULL, RB_NOGVL_INTR_FAIL);
		if (!run.started)
			rb_protect(check_interrupts, Qnil, &run.state);
	}
	leave_run(&run);
}

/* Free err, and go on with how a callback was left. */
static void jump_if_pending(dwarfs_error *err)
{
	int state = pending;

	pending = 0;
	if (state == 0)
		return;
	dwarfs_error_free(err);
	rb_jump_tag(state);
}

/* -- callbacks --------------------------------------------------------------------------- */

/* A call of a callable with a handle, or with a finding. */
struct call {
	VALUE callable;
	void *handle;
	swig_type_info *type;
	int severity, code;
	int64_t section;
	const char *message;
	int result, state;
};

static VALUE run_call(VALUE user)
{
	struct call *call = (struct call *)user;
	VALUE arguments[4];
	int count = 1;

	if (call->handle) {
		arguments[0] = SWIG_NewPointerObj(call->handle, call->type, 0);
	} else {
		arguments[0] = INT2NUM(call->severity);
		arguments[1] = INT2NUM(call->code);
		arguments[2] = LL2NUM(call->section);
		arguments[3] = rb_str_new_cstr(call->message);
		count = 4;
	}
	call->result = NUM2INT(rb_funcallv(call->callable, rb_intern("call"), count, arguments));
	return Qnil;
}

/*
 * A fiber that leaves the callable and is not resumed would be freed, with the stack that the
 * library and its threads use: it is kept until the callable returns.
 */
static void *protect_call(void *user)
{
	struct call *call = user;
	VALUE fiber = rb_fiber_current();

	rb_gc_register_address(&fiber);
	rb_protect(run_call, (VALUE)call, &call->state);
	rb_gc_unregister_address(&fiber);
	return NULL;
}

/* Nothing is called after one that was left, which ends the call of the library. */
static int call_ruby(struct call *call)
{
	struct run *run = current;

	if (!ruby_native_thread_p() || (run && run->state))
		return DWARFS_ERR_CANCELLED;
	current = NULL;
	if (run)
		rb_thread_call_with_gvl(protect_call, call);
	else
		protect_call(call);
	current = run;
	*(run ? &run->state : &pending) = call->state;
	return call->state ? DWARFS_ERR_CANCELLED : call->result;
}

static int call_with_handle(void *user, void *handle, swig_type_info *type,
			    dwarfs_error **err)
{
	struct call call = { .callable = (VALUE)user, .handle = handle, .type = type };
	int ret = call_ruby(&call);

	if (ret < 0)
		return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "a callback failed");
	return ret;
}

static void call_finding(void *user, int severity, int code, int64_t section,
			 const char *message)
{
	struct call call = { .callable = (VALUE)user,
			     .severity = severity,
			     .code = code,
			     .section = section,
			     .message = message };

	call_ruby(&call);
}

/* -- the functions ----------------------------------------------------------------------- */

#define LIST(...) __VA_ARGS__
#define UNLOCKED(name, handles, parameters, values, arguments, fields)                    \
	struct name##_call {                                                              \
		fields int result;                                                        \
	};                                                                                \
	static void run_##name(void *user)                                                \
	{                                                                                 \
		struct name##_call *call = user;                                          \
		call->result = name arguments;                                            \
	}                                                                                 \
	static int unlocked_##name parameters                                             \
	{                                                                                 \
		struct name##_call call = { LIST values, DWARFS_ERR_CANCELLED };          \
		const void *used[3] = { LIST handles };                                   \
		run_unlocked(run_##name, &call, used);                                    \
		return call.result;                                                       \
	}
#define UNLOCKED_2(name, handles, A, B) \
	UNLOCKED(name, handles, (A a, B b), (a, b), \
		 (call->a, call->b), A a; B b;)
#define UNLOCKED_3(name, handles, A, B, C) \
	UNLOCKED(name, handles, (A a, B b, C c), (a, b, c), \
		 (call->a, call->b, call->c), A a; B b; C c;)
#define UNLOCKED_4(name, handles, A, B, C, D) \
	UNLOCKED(name, handles, (A a, B b, C c, D d), (a, b, c, d), \
		 (call->a, call->b, call->c, call->d), A a; B b; C c; D d;)
#define UNLOCKED_5(name, handles, A, B, C, D, E) \
	UNLOCKED(name, handles, (A a, B b, C c, D d, E e), (a, b, c, d, e), \
		 (call->a, call->b, call->c, call->d, call->e), A a; B b; C c; D d; E e;)
#define UNLOCKED_6(name, handles, A, B, C, D, E, F) \
	UNLOCKED(name, handles, (A a, B b, C c, D d, E e, F f), (a, b, c, d, e, f), \
		 (call->a, call->b, call->c, call->d, call->e, call->f), \
		 A a; B b; C c; D d; E e; F f;)
#define UNLOCKED_7(name, handles, A, B, C, D, E, F, G) \
	UNLOCKED(name, handles, (A a, B b, C c, D d, E e, F f, G g), (a, b, c, d, e, f, g), \
		 (call->a, call->b, call->c, call->d, call->e, call->f, call->g), \
		 A a; B b; C c; D d; E e; F f; G g;)

int dwarfs_composed_add_path(dwarfs_builder *builder, const char *path, bool is_only,
			     const dwarfs_task *task, dwarfs_error **err);

/* A name, its arguments that are handles, and the types of all. */
UNLOCKED_3(dwarfs_io_open, (NULL), const char *, dwarfs_io **, dwarfs_error **)
UNLOCKED_3(dwarfs_io_from_fd, (NULL), int, dwarfs_io **, dwarfs_error **)
UNLOCKED_5(dwarfs_image_open, (a, c), dwarfs_context *, const char *,
	   const dwarfs_image_options *, dwarfs_image **, dwarfs_error **)
UNLOCKED_5(dwarfs_image_open_io, (a, b, c), dwarfs_context *, dwarfs_io *,
	   const dwarfs_image_options *, dwarfs_image **, dwarfs_error **)
UNLOCKED_5(dwarfs_image_section, (a), const dwarfs_image *, uint32_t,
	   enum dwarfs_section_field, uint64_t *, dwarfs_error **)
UNLOCKED_7(dwarfs_image_check, (a, e), const dwarfs_image *, enum dwarfs_check_level,
	   dwarfs_finding_fn, void *, const dwarfs_task *, uint64_t *,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_history_new, (a), const dwarfs_image *, dwarfs_history **,
	   dwarfs_error **)
UNLOCKED_5(dwarfs_walk_new, (a), const dwarfs_image *, dwarfs_entry,
	   enum dwarfs_walk_order, dwarfs_walk **, dwarfs_error **)
UNLOCKED_7(dwarfs_load, (a, d), const dwarfs_image *, const char *, size_t,
	   const dwarfs_task *, void **, size_t *, dwarfs_error **)
UNLOCKED_4(dwarfs_file_open, (a), const dwarfs_image *, dwarfs_inode, dwarfs_file **,
	   dwarfs_error **)
UNLOCKED_4(dwarfs_file_seek_data, (a), const dwarfs_file *, uint64_t, uint64_t *,
	   dwarfs_error **)
UNLOCKED_4(dwarfs_file_seek_hole, (a), const dwarfs_file *, uint64_t, uint64_t *,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_builder_add_directory, (a), dwarfs_builder *, const char *,
	   dwarfs_error **)
UNLOCKED_5(dwarfs_builder_add_item, (a, d), dwarfs_builder *, const char *, size_t,
	   const dwarfs_item *, dwarfs_error **)
UNLOCKED_5(dwarfs_builder_add_tree, (a), dwarfs_builder *, const char *, const char *,
	   size_t, dwarfs_error **)
UNLOCKED_6(dwarfs_builder_add_image, (a, b), dwarfs_builder *, dwarfs_image *,
	   const char *, size_t, enum dwarfs_image_use, dwarfs_error **)
UNLOCKED_5(dwarfs_rewrite, (a, c, d), dwarfs_image *, uint32_t, dwarfs_builder *,
	   dwarfs_sink *, dwarfs_error **)
UNLOCKED_2(dwarfs_builder_scan, (a), dwarfs_builder *, dwarfs_error **)
UNLOCKED_4(dwarfs_builder_write_path, (a), dwarfs_builder *, const char *, bool,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_builder_write, (a, b), dwarfs_builder *, dwarfs_sink *, dwarfs_error **)
UNLOCKED_4(dwarfs_sink_open, (NULL), const char *, bool, dwarfs_sink **, dwarfs_error **)
UNLOCKED_3(dwarfs_extract_to_directory, (a), dwarfs_extract *, const char *,
	   dwarfs_error **)
UNLOCKED_5(dwarfs_compare_set_path, (a, d), dwarfs_compare *, enum dwarfs_compare_side,
	   const char *, const dwarfs_image_options *, dwarfs_error **)
UNLOCKED_5(dwarfs_compare_run, (a), dwarfs_compare *, dwarfs_difference_fn, void *,
	   uint64_t *, dwarfs_error **)
UNLOCKED_3(dwarfs_archive_import_path, (a), dwarfs_archive_import *, const char *,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_archive_import_io, (a, b), dwarfs_archive_import *, dwarfs_io *,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_archive_export_to_path, (a), dwarfs_archive_export *, const char *,
	   dwarfs_error **)
UNLOCKED_3(dwarfs_archive_export_write, (a, b), dwarfs_archive_export *, dwarfs_sink *,
	   dwarfs_error **)
UNLOCKED_5(dwarfs_composed_add_path, (a, d), dwarfs_builder *, const char *, bool,
	   const dwarfs_task *, dwarfs_error **)
UNLOCKED_6(dwarfs_file_read, (a), const dwarfs_file *, void *, size_t, uint64_t, size_t *,
	   dwarfs_error **)
/* It returns nothing to fail with. */
#define unlocked_dwarfs_context_trim dwarfs_context_trim
%}

%define DWARFS_BLOCKING(name)
%exception name {
	refuse_closed(argc, argv);
%#define name unlocked_##name
	$action
%#undef name
}
%enddef
