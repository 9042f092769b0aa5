/* SPDX-License-Identifier: MIT */
/*
 * What Ruby makes of the C API: the functions of the module Dwarfs_native, which only dwarfs.rb
 * uses. Exceptions are made by Dwarfs::Error.make. Strings are bytes, in binary encoding.
 * Calls that take long release the interpreter's lock: unlocked.i.
 */
%{
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/*
 * A handle that another thread closes has a pointer of NULL from then on. One may have been closed
 * after its argument was converted, as that of another argument may run Ruby code.
 */
static void refuse_closed(int count, const VALUE *arguments)
{
	for (int i = 0; i < count; i++)
		if (RB_TYPE_P(arguments[i], T_DATA) && !DATA_PTR(arguments[i]))
			script_refuse("the handle is closed");
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
%}

%define DWARFS_RESULT(value)
	$result = SWIG_Ruby_AppendOutput($result, value);
%enddef

%exception {
	refuse_closed(argc, argv);
	$action
}
%include "ruby/unlocked.i"

%define DWARFS_ERROR(err)
	jump_if_pending(err);
	if (result < 0)
		script_fail(err, result);
	dwarfs_error_free(err);
%enddef
%define DWARFS_RELEASE(name)
%fragment("release_" #name, "header") {
static void release_##name(void *pointer)
{
	name##_free(pointer);
}
}
%fragment("release_" #name);
%exception name##_free {
	DATA_PTR(argv[0]) = NULL;
	free_handle(arg1, release_##name);
}
%enddef

/* Copies: another thread may change the string during the call. */
%typemap(in) const char * (volatile VALUE string) {
	string = NIL_P($input) ? Qnil : rb_str_new_cstr(StringValueCStr($input));
	$1 = NIL_P(string) ? NULL : ($1_ltype)RSTRING_PTR(string);
}
%typemap(freearg) const char * "RB_GC_GUARD(string$argnum);"
%typemap(in) (const char *name, size_t bytes) (volatile VALUE string) {
	string = rb_str_new_frozen(StringValue($input));
	$1 = ($1_ltype)RSTRING_PTR(string);
	$2 = (size_t)RSTRING_LEN(string);
}
%typemap(freearg) (const char *name, size_t bytes) "RB_GC_GUARD(string$argnum);"
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

/* All bytes of a file, as a string. */
%typemap(in, numinputs=0) VALUE *contents_out (volatile VALUE contents = Qnil)
	"$1 = (VALUE *)&contents;"
%typemap(argout) VALUE *contents_out {
	if (result >= 0) {
		DWARFS_RESULT(*$1)
	}
}

%include "script.i"

%{
/* A callable whose address C has: the garbage collector neither frees nor moves it. */
struct pin {
	struct pin *next;
	VALUE value;
};

static struct pin *pins;
%}

%inline %{
void dwarfs_script_pin(VALUE value)
{
	struct pin *pin = ALLOC(struct pin);

	*pin = (struct pin){ pins, value };
	pins = pin;
	rb_gc_register_address(&pin->value);
}

void dwarfs_script_unpin(VALUE value)
{
	for (struct pin **link = &pins; *link; link = &(*link)->next) {
		struct pin *pin = *link;

		if (pin->value != value)
			continue;
		*link = pin->next;
		rb_gc_unregister_address(&pin->value);
		xfree(pin);
		return;
	}
}

/* How many handles the process has open, after a change. */
long dwarfs_script_handles(long change)
{
	return handle_count += change;
}
%}

%{
#define READ_PIECE_BYTES ((size_t)8 << 20)

/* In pieces: a signal or another thread may end it. The file is kept between them. */
static int unlocked_dwarfs_script_read(const dwarfs_file *file, uint64_t offset,
				       struct script_room *room, dwarfs_error **err)
{
	struct run keep = { .handles = { file } };
	size_t done = 0, bytes = 1;
	int ret = 0;

	enter_run(&keep);
	while (ret == 0 && keep.state == 0 && bytes > 0 && done < room->bytes) {
		size_t left = room->bytes - done;

		if (done > 0)
			rb_protect(check_interrupts, Qnil, &keep.state);
		if (keep.state)
			break;
		ret = unlocked_dwarfs_file_read(file, (char *)room->data + done,
						left < READ_PIECE_BYTES ? left : READ_PIECE_BYTES,
						offset + done, &bytes, err);
		keep.state = pending;
		if (ret == 0)
			done += bytes;
	}
	room->bytes = done;
	leave_run(&keep);
	return ret;
}
%}

%{
/* A file that is read without the lock. */
struct loading {
	const dwarfs_image *image;
	dwarfs_inode inode;
	dwarfs_file *file; /* from the first step on */
	char *data;
	size_t bytes, done, last; /* last: how many the last step has read */
	dwarfs_error **err;
	int result;
};

static void load_piece(void *user)
{
	struct loading *load = user;
	size_t left = load->bytes - load->done;

	load->last = 0;
	if (!load->file)
		load->result = dwarfs_file_open(load->image, load->inode, &load->file,
						load->err);
	if (load->result == 0 && left > 0)
		load->result = dwarfs_file_read(
			load->file, load->data + load->done,
			left < READ_PIECE_BYTES ? left : READ_PIECE_BYTES, load->done,
			&load->last, load->err);
	load->done += load->last;
}

static int size_of(const dwarfs_image *image, dwarfs_inode inode, uint64_t *bytes_out,
		   dwarfs_error **err)
{
	dwarfs_stat *stat = NULL;
	int ret = dwarfs_stat_new(&stat, err);

	if (ret == 0 && (ret = dwarfs_inode_stat(image, inode, stat, err)) == 0)
		*bytes_out = S_ISREG(dwarfs_stat_mode(stat)) ? dwarfs_stat_bytes(stat) : 0;
	dwarfs_stat_free(stat);
	return ret;
}
%}

%inline %{
/*
 * Open a file, and read all of it, in pieces as dwarfs_script_read(). Most of the time of a small
 * file would be that of a Reader.
 */
int dwarfs_script_load(const dwarfs_image *image, dwarfs_inode inode, VALUE *contents_out,
		       dwarfs_error **err)
{
	struct loading load = { .image = image, .inode = inode, .err = err };
	struct run keep = { .handles = { image } };
	const void *used[3] = { image };
	uint64_t bytes = 0;

	if ((load.result = size_of(image, inode, &bytes, err)) < 0)
		return load.result;
	if (bytes > LONG_MAX)
		rb_raise(rb_eNoMemError, "the file is larger than a string can be");
	*contents_out = rb_str_new(NULL, (long)bytes);
	load.data = RSTRING_PTR(*contents_out);
	load.bytes = (size_t)bytes;
	enter_run(&keep);
	do {
		if (load.done > 0)
			rb_protect(check_interrupts, Qnil, &keep.state);
		if (keep.state)
			break;
		run_unlocked(load_piece, &load, used);
		keep.state = pending;
	} while (load.result == 0 && load.last > 0 && load.done < load.bytes);
	dwarfs_file_free(load.file);
	leave_run(&keep);
	rb_str_set_len(*contents_out, (long)load.done);
	return load.result;
}
%}
