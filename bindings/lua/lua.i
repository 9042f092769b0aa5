/* SPDX-License-Identifier: MIT */
/*
 * What Lua makes of the C API: the functions of the module dwarfs_native, which only dwarfs.lua
 * uses. Errors are tables with a metatable. Strings are bytes, numbers are integers.
 *
 * A handle is a userdata, a struct box, which frees it once. All memory of Lua that a call needs
 * for its results is allocated before the call where that would otherwise leak. A callback runs
 * in lua_pcall(); its error is kept on the stack, the library returns, and then it is raised.
 * Whatever belongs to a lua_State is in its registry, so several of them are independent.
 */
%{
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define script_bytes(data, bytes) lua_pushlstring(L, (const char *)(data), (bytes))
#define script_unsigned(number) lua_pushinteger(L, (lua_Integer)(number))
#define script_signed(number) lua_pushinteger(L, (lua_Integer)(number))
#define script_nothing() (lua_pushnil(L), (const char *)NULL)
#define script_callable(index) new_callback(L, index)
#define script_refuse(message) raise_failure(L, DWARFS_ERR_INVALID, message)

/* Keys in the registry. */
static const char state_key = 's', callbacks_key = 'c';
static const char box_name[] = "dwarfs handle", error_name[] = "dwarfs error";

/* A call that may call back. */
struct run {
	lua_State *L;	      /* whose stack has the arguments */
	struct run *previous; /* which called the callback that made this call */
	int failure;	      /* where on the stack the error of a callback is, or 0 */
};

/* What belongs to a lua_State. */
struct state {
	struct run *run;
	int failure; /* of the last run, until it is raised */
	lua_Integer handles;
};

/* A handle. User values: 1 is its callback, 2 its task. */
struct box {
	void *pointer; /* NULL when it is closed */
	swig_type_info *type;
	void (*release)(void *pointer);
	struct state *state;
	unsigned users; /* running calls, which must return before it is freed */
};

/* User value 1 is the function. The registry finds it by its address, without keeping it. */
struct callback {
	struct state *state;
};

/* -- errors ------------------------------------------------------------------------------ */

/* That of SWIG takes any userdata for one of its own, also handles and files of io. */
#undef SWIG_fail_arg
#define SWIG_fail_arg(function, argument, type)                                             \
	do {                                                                                \
		SWIG_Lua_pushferrstring(L, "Error in %s (arg %d), expected '%s' got '%s'",  \
					function, argument, type, type_name(L, argument)); \
		goto fail;                                                                  \
	} while (0)

static const char *type_name(lua_State *L, int index)
{
	return luaL_testudata(L, index, box_name) ? box_name : luaL_typename(L, index);
}

/* Push an error. Everything but the message may be missing. */
static void push_failure(lua_State *L, int code, const char *message, const char *path,
			 const uint64_t *offset, int errnum)
{
	lua_createtable(L, 0, 5);
	lua_pushinteger(L, code);
	lua_setfield(L, -2, "code");
	lua_pushstring(L, message);
	lua_setfield(L, -2, "message");
	lua_pushstring(L, path);
	lua_setfield(L, -2, "path");
	if (offset) {
		lua_pushinteger(L, (lua_Integer)*offset);
		lua_setfield(L, -2, "offset");
	}
	lua_pushinteger(L, errnum);
	lua_setfield(L, -2, "errno");
	luaL_setmetatable(L, error_name);
}

static int raise_failure(lua_State *L, int code, const char *message)
{
	push_failure(L, code, message, NULL, NULL, 0);
	return lua_error(L);
}

struct failure {
	const dwarfs_error *err;
	int code;
};

static int convert_error(lua_State *L)
{
	const struct failure *failure = lua_touserdata(L, 1);
	const dwarfs_error *err = failure->err;
	uint64_t offset;
	bool has_offset = dwarfs_error_offset(err, &offset);

	push_failure(L, failure->code,
		     err ? dwarfs_error_message(err) : dwarfs_strerror(failure->code),
		     dwarfs_error_path(err), has_offset ? &offset : NULL,
		     dwarfs_error_errno(err));
	return 1;
}

/* Push the error of a call, or that of Lua if there is no memory for it. */
static void push_error(lua_State *L, const dwarfs_error *err, int code)
{
	struct failure failure = { err, code };

	lua_pushcfunction(L, convert_error);
	lua_pushlightuserdata(L, &failure);
	lua_pcall(L, 1, 1, 0);
}

static struct state *get_state(lua_State *L)
{
	struct state *state;

	lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
	state = lua_touserdata(L, -1);
	lua_pop(L, 1);
	return state;
}

/* Free err. Whether the call failed: then the error is on the stack. */
static bool call_failed(lua_State *L, dwarfs_error *err, int result)
{
	struct state *state = get_state(L);
	int failure = state->failure;

	state->failure = 0;
	if (failure)
		lua_pushvalue(L, failure);
	else if (result < 0)
		push_error(L, err, result);
	dwarfs_error_free(err);
	return failure || result < 0;
}

static int error_tostring(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_getfield(L, 1, "message");
	luaL_tolstring(L, -1, NULL);
	return 1;
}

/* -- handles ----------------------------------------------------------------------------- */

/* Push a handle, which is closed as long as it has no pointer. */
static struct box *new_box(lua_State *L, swig_type_info *type, void (*release)(void *))
{
	struct box *box = lua_newuserdatauv(L, sizeof(*box), 2);

	memset(box, 0, sizeof(*box));
	box->type = type;
	box->release = release;
	box->state = get_state(L);
	luaL_setmetatable(L, box_name);
	return box;
}

static void fill_box(struct box *box, void *pointer)
{
	box->pointer = pointer;
	box->state->handles += pointer != NULL;
}

static void empty_box(struct box *box)
{
	void *pointer = box->pointer;

	box->pointer = NULL;
	if (!pointer || !box->release)
		return;
	box->state->handles--;
	box->release(pointer);
}

static void *get_pointer(lua_State *L, int index, swig_type_info *type, bool nullable)
{
	struct box *box = luaL_testudata(L, index, box_name);

	if (nullable && lua_isnil(L, index))
		return NULL;
	if (!box || box->type != type)
		luaL_typeerror(L, index, type->str);
	if (!box->pointer)
		raise_failure(L, DWARFS_ERR_INVALID,
			      lua_pushfstring(L, "the %s is closed",
					      type->name + strlen("_p_dwarfs_")));
	return box->pointer;
}

/* A handle, or NULL for nil. A task is valid as long as the first argument, which uses it. */
static void *get_nullable(lua_State *L, int index, swig_type_info *type)
{
	void *pointer = get_pointer(L, index, type, true);

	if (type == SWIGTYPE_p_dwarfs_task && index > 1 && luaL_testudata(L, 1, box_name)) {
		lua_pushvalue(L, index);
		lua_setiuservalue(L, 1, 2);
	}
	return pointer;
}

static int close_box(lua_State *L)
{
	struct box *box = luaL_checkudata(L, 1, box_name);

	if (box->users)
		raise_failure(L, DWARFS_ERR_INVALID, "the handle is in use");
	empty_box(box);
	return 0;
}

static int count_handles(lua_State *L)
{
	lua_pushinteger(L, get_state(L)->handles);
	return 1;
}

static void release_memory(void *data)
{
	dwarfs_memory_free(data);
}

static lua_Integer get_integer(lua_State *L, int index, lua_Integer least, lua_Integer most)
{
	lua_Integer number = luaL_checkinteger(L, index);

	luaL_argcheck(L, number >= least && number <= most, index, "number out of range");
	return number;
}

/* -- callbacks --------------------------------------------------------------------------- */

static void count_users(lua_State *L, int change)
{
	for (int i = lua_gettop(L); i > 0; i--) {
		struct box *box = luaL_testudata(L, i, box_name);

		if (box)
			box->users += (unsigned)change;
	}
}

static void enter_run(lua_State *L, struct run *run)
{
	struct state *state = get_state(L);

	*run = (struct run){ .L = L, .previous = state->run };
	state->run = run;
	state->failure = 0;
	count_users(L, 1);
}

static void leave_run(lua_State *L, struct run *run)
{
	struct state *state = get_state(L);

	state->run = run->previous;
	state->failure = run->failure;
	count_users(L, -1);
}

/* A callback for a function, which is valid as long as the first argument; NULL for nil. */
static void *new_callback(lua_State *L, int index)
{
	struct callback *callback = NULL;

	if (!lua_isnil(L, index)) {
		luaL_checktype(L, index, LUA_TFUNCTION);
		callback = lua_newuserdatauv(L, sizeof(*callback), 1);
		callback->state = get_state(L);
		lua_pushvalue(L, index);
		lua_setiuservalue(L, -2, 1);
		lua_rawgetp(L, LUA_REGISTRYINDEX, &callbacks_key);
		lua_pushvalue(L, -2);
		lua_rawsetp(L, -2, callback);
		lua_pop(L, 1);
	} else {
		lua_pushnil(L);
	}
	lua_setiuservalue(L, 1, 1);
	return callback;
}

/* A call of a callback: with a handle, or with a finding. */
struct call {
	struct callback *callback;
	void *handle;
	swig_type_info *type;
	int severity, code;
	int64_t section;
	const char *message;
	int result;
};

/* The handle is closed when the function returns, whoever keeps it. */
static int call_function(lua_State *L)
{
	struct call *call = lua_touserdata(L, 1);
	struct box *box = call->handle ? new_box(L, call->type, NULL) : NULL;
	int count = 1, status;

	lua_rawgetp(L, LUA_REGISTRYINDEX, &callbacks_key);
	lua_rawgetp(L, -1, call->callback);
	lua_getiuservalue(L, -1, 1);
	if (box) {
		box->pointer = call->handle;
		lua_pushvalue(L, 2);
	} else {
		lua_pushinteger(L, call->severity);
		lua_pushinteger(L, call->code);
		lua_pushinteger(L, call->section);
		lua_pushstring(L, call->message);
		count = 4;
	}
	status = lua_pcall(L, count, 1, 0);
	if (box)
		box->pointer = NULL;
	if (status != LUA_OK)
		return lua_error(L);
	call->result = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : (int)lua_tointeger(L, -1);
	return 0;
}

/* Nothing is called after an error, which ends the call of the library. */
static int call_lua(struct call *call)
{
	struct run *run = call->callback->state->run;

	if (!run || run->failure || !lua_checkstack(run->L, 4))
		return DWARFS_ERR_CANCELLED;
	lua_pushcfunction(run->L, call_function);
	lua_pushlightuserdata(run->L, call);
	if (lua_pcall(run->L, 1, 0, 0) == LUA_OK)
		return call->result;
	run->failure = lua_gettop(run->L);
	return DWARFS_ERR_CANCELLED;
}

static int call_with_handle(void *user, void *handle, swig_type_info *type,
			    dwarfs_error **err)
{
	struct call call = { .callback = user, .handle = handle, .type = type };
	int ret = call_lua(&call);

	if (ret < 0)
		return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "a callback failed");
	return ret;
}

static void call_finding(void *user, int severity, int code, int64_t section,
			 const char *message)
{
	struct call call = { .callback = user,
			     .severity = severity,
			     .code = code,
			     .section = section,
			     .message = message };

	call_lua(&call);
}
%}

/* -- what script.i needs ------------------------------------------------------------------ */

%define DWARFS_RESULT(value)
	(void)(value);
	SWIG_arg++;
%enddef

%define DWARFS_BLOCKING(declaration)
%exception declaration {
	struct run run;

	enter_run(L, &run);
	$action
	leave_run(L, &run);
}
%enddef

%define DWARFS_ERROR(err)
	if (call_failed(L, err, result))
		SWIG_fail;
%enddef

/* Only the userdata frees a handle: native.close(). */
%define DWARFS_HANDLE(name)
%ignore name##_free;
%enddef
%typemap(in) SWIGTYPE * {
	$1 = ($1_ltype)get_pointer(L, $input, $1_descriptor, false);
}
%define DWARFS_NULLABLE(parameter)
%typemap(in) parameter {
	$1 = ($1_ltype)get_nullable(L, $input, $1_descriptor);
}
%enddef
/* The userdata exists before the call, and after SWIG has counted the arguments. */
%define DWARFS_NEW(type, name)
%fragment("release_" #type, "header") {
static void release_##type(void *pointer)
{
	type##_free(pointer);
}
}
%typemap(in, numinputs=0, fragment="release_" #type) type **name
	(type *made = NULL, struct box *box, int index) "$1 = &made;"
%typemap(check) type **name {
	box$argnum = new_box(L, $*1_descriptor, release_##type);
	index$argnum = lua_gettop(L);
}
%typemap(argout) type **name {
	if (result >= 0) {
		fill_box(box$argnum, *$1);
		DWARFS_RESULT((lua_pushvalue(L, index$argnum), 0))
	}
}
%enddef

/* SWIG passes numbers as floating point. */
%define DWARFS_NUMBER(type, least, most)
%typemap(in) type "$1 = ($1_ltype)get_integer(L, $input, least, most);"
%typemap(out) type {
	lua_pushinteger(L, (lua_Integer)$1);
	SWIG_arg++;
}
%enddef
DWARFS_NUMBER(int, INT_MIN, INT_MAX)
DWARFS_NUMBER(unsigned int, 0, UINT_MAX)
DWARFS_NUMBER(long, LUA_MININTEGER, LUA_MAXINTEGER)
DWARFS_NUMBER(unsigned long, 0, LUA_MAXINTEGER)
DWARFS_NUMBER(enum SWIGTYPE, 0, INT_MAX)
%typemap(in) bool "$1 = lua_toboolean(L, $input);"

%typemap(in) const char * {
	size_t length = 0;

	$1 = lua_isnil(L, $input) ? NULL : ($1_ltype)luaL_checklstring(L, $input, &length);
	if ($1 && memchr($1, 0, length))
		script_refuse("a string with a NUL byte");
}
%typemap(freearg) const char * ""
%typemap(in) (const char *name, size_t bytes) {
	$1 = ($1_ltype)luaL_checklstring(L, $input, &$2);
}
%typemap(freearg) (const char *name, size_t bytes) ""
%typemap(in) dwarfs_entry, dwarfs_inode {
	$1.number = (uint32_t)get_integer(L, $input, 0, UINT32_MAX);
}

/* A number of bytes; the result is a string with those that were read. */
%typemap(in) struct script_room *room (struct script_room memory, luaL_Buffer buffer) {
	memory.bytes = (size_t)get_integer(L, $input, 0, PTRDIFF_MAX / 2);
	memory.data = luaL_buffinitsize(L, &buffer, memory.bytes);
	$1 = &memory;
}
%typemap(argout) struct script_room *room {
	if (result >= 0) {
		luaL_pushresultsize(&buffer$argnum, $1->bytes);
		SWIG_arg++;
	}
}

/* Handles that belong to another one. */
%ignore dwarfs_builder_context;
%ignore dwarfs_image_ref;

%native(close) int close_box(lua_State *L);
%native(handles) int count_handles(lua_State *L);

%include "script.i"

%typemap(in, numinputs=0) (void **data_out, size_t *bytes_out)
	(void *data = NULL, size_t length = 0, struct box *box) {
	$1 = &data;
	$2 = &length;
}
%typemap(check) (void **data_out, size_t *bytes_out) {
	box$argnum = new_box(L, NULL, release_memory);
}
%typemap(argout) (void **data_out, size_t *bytes_out) {
	if (result >= 0) {
		fill_box(box$argnum, *$1);
		DWARFS_RESULT(script_bytes(*$1, *$2))
		empty_box(box$argnum);
	}
}

/* -- the module --------------------------------------------------------------------------- */

%wrapper %{
int luaopen_dwarfs_swig(lua_State *L);

/* SWIG fills tables of the process when it is called first. */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

static void make_metatables(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "__gc", close_box }, { "__close", close_box }, { NULL, NULL }
	};

	luaL_newmetatable(L, box_name);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
	luaL_newmetatable(L, error_name);
	lua_pushcfunction(L, error_tostring);
	lua_setfield(L, -2, "__tostring");
}

static void make_state(lua_State *L)
{
	memset(lua_newuserdatauv(L, sizeof(struct state), 0), 0, sizeof(struct state));
	lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
	lua_newtable(L);
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "v");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &callbacks_key);
}

static void set_global(lua_State *L, const char *name, int index)
{
	lua_pushglobaltable(L);
	lua_pushstring(L, name);
	lua_pushvalue(L, index);
	lua_rawset(L, -3);
	lua_pop(L, 1);
}

static void get_global(lua_State *L, const char *name)
{
	lua_pushglobaltable(L);
	lua_pushstring(L, name);
	lua_rawget(L, -2);
	lua_remove(L, -2);
}

/* Returns the functions, with the metatable of errors. SWIG's own globals are left out. */
SWIGEXPORT int luaopen_dwarfs_native(lua_State *L)
{
	int status;

	lua_settop(L, 0);
	get_global(L, "swig_type");
	get_global(L, "swig_equals");
	if (!get_state(L))
		make_state(L);
	lua_pushcfunction(L, luaopen_dwarfs_swig);
	pthread_mutex_lock(&init_lock);
	status = lua_pcall(L, 0, 1, 0);
	pthread_mutex_unlock(&init_lock);
	if (status != LUA_OK)
		return lua_error(L);
	set_global(L, "swig_type", 1);
	set_global(L, "swig_equals", 2);
	lua_pushliteral(L, "Error");
	make_metatables(L);
	lua_rawset(L, 3);
	return 1;
}
%}
