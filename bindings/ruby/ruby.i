/* SPDX-License-Identifier: MIT */
/*
 * What Ruby makes of the C API: the functions of the module Dwarfs_native, which only dwarfs.rb
 * uses. Exceptions are made by Dwarfs::Error.make. Strings are bytes, in binary encoding.
 * The interpreter's lock is kept, so no other thread frees a handle during a call.
 */
%{
#include <stdlib.h>
#include <string.h>

#define script_bytes(data, bytes) rb_str_new((const char *)(data), (long)(bytes))
#define script_unsigned(number) ULL2NUM(number)
#define script_signed(number) LL2NUM(number)
#define script_nothing() Qnil
#define script_pointer(pointer, type) SWIG_NewPointerObj(pointer, type, 0)
#define script_callable(value) (NIL_P(value) ? NULL : (void *)(value))
#define script_fail(err, code) raise_error(err, code)
#define script_refuse(message) raise_failure(DWARFS_ERR_INVALID, rb_str_new_cstr(message), Qnil, Qnil, 0)

static void raise_failure(int code, VALUE message, VALUE path, VALUE offset, int errnum)
{
	rb_exc_raise(rb_funcall(rb_path2class("Dwarfs::Error"), rb_intern("make"), 5,
				INT2NUM(code), message, path, offset, INT2NUM(errnum)));
}

/* Frees the error before the wrapper is left. */
static void raise_error(dwarfs_error *err, int code)
{
	const char *path = dwarfs_error_path(err);
	uint64_t offset;
	VALUE message = rb_str_new_cstr(err ? dwarfs_error_message(err) : dwarfs_strerror(code));
	VALUE name = path ? rb_str_new_cstr(path) : Qnil;
	VALUE where = dwarfs_error_offset(err, &offset) ? ULL2NUM(offset) : Qnil;
	int errnum = dwarfs_error_errno(err);

	dwarfs_error_free(err);
	raise_failure(code, message, name, where, errnum);
}

/* The number of an entry or an inode; NUM2UINT() accepts negative ones. */
static uint32_t get_number(VALUE value)
{
	unsigned long long number = NUM2ULL(value);

	if (RB_INTEGER_TYPE_P(value) && RTEST(rb_funcall(value, '<', 1, INT2FIX(0))))
		number = ULLONG_MAX;
	if (number > UINT32_MAX)
		rb_raise(rb_eRangeError, "not a number of 32 bits");
	return (uint32_t)number;
}

/* A call that is protected from exceptions. */
struct call {
	VALUE callable, arguments[4];
	int count;
};

static VALUE run_call(VALUE user)
{
	struct call *call = (struct call *)user;

	return INT2FIX(NUM2INT(rb_funcallv(call->callable, rb_intern("call"), call->count,
					   call->arguments)));
}

/* The layer catches exceptions, and returns a negative number for them. */
static int call_ruby(struct call *call)
{
	int state = 0;
	VALUE result = rb_protect(run_call, (VALUE)call, &state);

	if (state == 0)
		return FIX2INT(result);
	rb_set_errinfo(Qnil);
	return DWARFS_ERR_CANCELLED;
}

static int call_with_handle(void *user, void *handle, swig_type_info *type,
			    dwarfs_error **err)
{
	struct call call = { .callable = (VALUE)user, .count = 1 };
	int ret;

	call.arguments[0] = SWIG_NewPointerObj(handle, type, 0);
	ret = call_ruby(&call);
	if (ret < 0)
		return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "a callback failed");
	return ret;
}

static void call_finding(void *user, int severity, int code, int64_t section,
			 const char *message)
{
	struct call call = { .callable = (VALUE)user, .count = 4 };

	call.arguments[0] = INT2NUM(severity);
	call.arguments[1] = INT2NUM(code);
	call.arguments[2] = LL2NUM(section);
	call.arguments[3] = rb_str_new_cstr(message);
	call_ruby(&call);
}
%}

%define DWARFS_RESULT(value)
	$result = SWIG_Ruby_AppendOutput($result, value);
%enddef

%typemap(in) const char * {
	$1 = NIL_P($input) ? NULL : ($1_ltype)StringValueCStr($input);
}
%typemap(freearg) const char * ""
%typemap(in) (const char *name, size_t bytes) {
	StringValue($input);
	$1 = ($1_ltype)RSTRING_PTR($input);
	$2 = (size_t)RSTRING_LEN($input);
}
%typemap(freearg) (const char *name, size_t bytes) ""
%typemap(in) dwarfs_entry, dwarfs_inode "$1.number = get_number($input);"

/* A number of bytes; the result is a string with those that were read. */
%typemap(in) struct script_room *room (struct script_room memory, volatile VALUE string) {
	memory.bytes = NUM2SIZET($input);
	string = rb_str_new(NULL, (long)memory.bytes);
	memory.data = RSTRING_PTR(string);
	$1 = &memory;
}
%typemap(argout) struct script_room *room {
	if (result >= 0) {
		rb_str_set_len(string$argnum, (long)$1->bytes);
		DWARFS_RESULT(string$argnum)
	}
}

%include "script.i"
