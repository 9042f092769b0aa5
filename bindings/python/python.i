/* SPDX-License-Identifier: MIT */
/*
 * What Python makes of the C API.
 *
 * - Functions that can fail return their outputs (nothing, one value, or a tuple) and raise
 *   what the factory makes of a dwarfs_error; see set_error_factory().
 * - Names and paths are str, bytes or os.PathLike on the way in, str on the way out, with
 *   the file system encoding and its escapes, so that every byte survives.
 * - Buffers are whatever has the buffer protocol; the library reads and writes them in place.
 * - Blocking calls release the interpreter's lock. Callbacks come back through the
 *   trampolines below, which take it. A callable is borrowed: the layer above keeps it alive
 *   for as long as the handle it was given to.
 * - A callback runs in the interpreter whose call it is. Those that also come from threads of
 *   the library, which are of no call, are for the main interpreter only: a log, and a reader.
 */
%init %{
	/*
	 * An object that SWIG owns takes a reference to the capsule in Swig_Capsule_global when
	 * it is made, and drops one when it is freed. SWIG puts a new capsule there for each
	 * interpreter that imports the module, so an object made before would drop a reference
	 * of a capsule that it has not taken, which is then freed too early. So all use the
	 * capsule of the first interpreter, and one reference more keeps it. It can be NULL:
	 * another extension made by the same SWIG may have made it.
	 */
	static PyObject *first_capsule;
	static bool has_first_capsule;

	if (!has_first_capsule) {
		first_capsule = Py_XNewRef(Swig_Capsule_global);
		has_first_capsule = true;
	}
	Swig_Capsule_global = first_capsule;
%}

%header %{
/*
 * The factory of an interpreter is kept in its own dict: interpreters of one process share
 * the variables of the module, but not their classes. Borrowed.
 */
static const char *const factory_key = "dwarfs._dwarfs.error_factory";

static PyObject *error_factory(void)
{
	PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());

	return dict ? PyDict_GetItemString(dict, factory_key) : NULL;
}

/* The Python exception for a failure. Borrows err. */
static void raise_error(const dwarfs_error *err, int code)
{
	const char *path = dwarfs_error_path(err);
	uint64_t offset;
	PyObject *where, *name, *error, *factory = error_factory();

	if (!factory) {
		PyErr_SetString(PyExc_OSError, err ? dwarfs_error_message(err) :
						     dwarfs_strerror(code));
		return;
	}
	where = dwarfs_error_offset(err, &offset) ? PyLong_FromUnsignedLongLong(offset) :
						    Py_NewRef(Py_None);
	name = path ? PyUnicode_DecodeFSDefault(path) : Py_NewRef(Py_None);
	error = where && name ?
			PyObject_CallFunction(factory, "iO&OOi", code, decode_text,
					      err ? dwarfs_error_message(err) :
						    dwarfs_strerror(code),
					      name, where, dwarfs_error_errno(err)) :
			NULL;
	Py_XDECREF(where);
	Py_XDECREF(name);
	if (error) {
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
		Py_DECREF(error);
	}
}

/*
 * Raise what a callback left behind or, if the call failed, its error; *err is released.
 * Returns whether there is an exception now.
 */
static int raise_failure(dwarfs_error **err, int code)
{
	if (code < 0 && !PyErr_Occurred())
		raise_error(*err, code);
	dwarfs_error_free(*err);
	*err = NULL;
	return PyErr_Occurred() != NULL;
}

/* Add an output: none, one, or a tuple of them. Takes both references. */
static PyObject *append_output(PyObject *result, PyObject *output)
{
	PyObject *tuple, *joined;

	if (!result || !output) {
		Py_XDECREF(result);
		Py_XDECREF(output);
		return NULL;
	}
	if (result == Py_None) {
		Py_DECREF(result);
		return output;
	}
	tuple = PyTuple_Check(result) ? Py_NewRef(result) : PyTuple_Pack(1, result);
	joined = PyTuple_Pack(1, output);
	Py_DECREF(result);
	Py_DECREF(output);
	result = tuple && joined ? PySequence_Concat(tuple, joined) : NULL;
	Py_XDECREF(tuple);
	Py_XDECREF(joined);
	return result;
}

/*
 * The thread state that this thread left when it called the library, NULL outside of such calls:
 * with several interpreters PyGILState_Ensure() would choose that of another one.
 */
static _Thread_local PyThreadState *calling;

/* Release the lock for a call; returns what the end of the call needs. */
static PyThreadState *begin_call(void)
{
	PyThreadState *outer = calling;

	calling = PyEval_SaveThread();
	return outer;
}

static void end_call(PyThreadState *outer)
{
	PyEval_RestoreThread(calling);
	calling = outer;
}

/* The lock, in the interpreter of the call, or else in the first one of this thread. */
struct interpreter {
	PyThreadState *calling;
	PyGILState_STATE lock;
};

static struct interpreter enter_interpreter(void)
{
	struct interpreter interpreter = { .calling = calling };

	if (calling)
		PyEval_RestoreThread(calling);
	else
		interpreter.lock = PyGILState_Ensure();
	calling = NULL;
	return interpreter;
}

static void leave_interpreter(struct interpreter interpreter)
{
	if (interpreter.calling)
		calling = PyEval_SaveThread();
	else
		PyGILState_Release(interpreter.lock);
}

/*
 * The interpreter's lock and a clean slate for a callback. An exception that the thread holds
 * already, from an earlier callback of the same call, is put back when this one returns.
 */
struct entered {
	struct interpreter interpreter;
	PyObject *type, *value, *traceback;
};

static struct entered enter_python(void)
{
	struct entered entered = { .interpreter = enter_interpreter() };

	PyErr_Fetch(&entered.type, &entered.value, &entered.traceback);
	return entered;
}

/* callable: for the report, when the exception has no call that it could be raised from. */
static void leave_python(struct entered entered, bool own_thread, PyObject *callable)
{
	if (PyErr_Occurred() && (entered.type || !own_thread))
		PyErr_WriteUnraisable(callable);
	if (entered.type)
		PyErr_Restore(entered.type, entered.value, entered.traceback);
	leave_interpreter(entered.interpreter);
}

/* Whether the library called back in a thread that Python itself called it from. */
static bool is_python_thread(void)
{
	return calling || PyGILState_GetThisThreadState();
}

/* -- trampolines: user is the callable, or a tuple of them --------------------------------- */

static int call_progress(const dwarfs_progress *progress, PyObject *callable)
{
	PyObject *handle, *result = NULL;

	if (PyErr_CheckSignals() < 0)
		return 1;
	handle = SWIG_InternalNewPointerObj((void *)progress,
					    SWIGTYPE_p_dwarfs_progress, 0);
	if (handle)
		result = PyObject_CallFunctionObjArgs(callable, handle, NULL);
	Py_XDECREF(handle);
	Py_XDECREF(result);
	return result ? 0 : 1;
}

static int on_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	int ret = entered.type ? 1 : call_progress(progress, user);

	leave_python(entered, own, user);
	return ret == 0 ? 0 : DWARFS_ERR_CANCELLED;
}

/* What a callable makes of a handle, which is only valid meanwhile; NULL with an exception. */
static PyObject *call_with_handle(PyObject *callable, const void *pointer,
				  swig_type_info *type)
{
	PyObject *handle = SWIG_InternalNewPointerObj((void *)pointer, type, 0);
	PyObject *result = NULL;

	if (handle)
		result = PyObject_CallFunctionObjArgs(callable, handle, NULL);
	Py_XDECREF(handle);
	return result;
}

static int on_include(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = entered.type ? NULL :
					  call_with_handle(user, input,
							   SWIGTYPE_p_dwarfs_input);
	int ret = result ? PyObject_IsTrue(result) : DWARFS_ERR_CANCELLED;

	Py_XDECREF(result);
	leave_python(entered, own, user);
	return ret;
}

/* user is [callable, name]: it keeps the name that was given last. */
static int on_category(const dwarfs_input *input, const char **category_out,
		       dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *callable = PyList_GetItem((PyObject *)user, 0), *name = NULL;
	int ret;
	PyObject *result = entered.type ? NULL :
					  call_with_handle(callable, input,
							   SWIGTYPE_p_dwarfs_input);

	if (result && result != Py_None && PyUnicode_FSConverter(result, &name))
		PyList_SetItem(user, 1, name);
	if (name)
		*category_out = PyBytes_AsString(name);
	ret = PyErr_Occurred() || entered.type ? DWARFS_ERR_CANCELLED : 0;
	Py_XDECREF(result);
	leave_python(entered, own, callable);
	return ret;
}

static int on_order(dwarfs_order_list *files, dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = entered.type ? NULL :
					  call_with_handle(user, files,
							   SWIGTYPE_p_dwarfs_order_list);

	Py_XDECREF(result);
	leave_python(entered, own, user);
	return result ? 0 : DWARFS_ERR_CANCELLED;
}

static int on_filter_report(const char *path, bool is_directory, bool included,
			    dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = NULL;

	if (!entered.type)
		result = PyObject_CallFunction(user, "O&OO", decode_text, path,
					       is_directory ? Py_True : Py_False,
					       included ? Py_True : Py_False);
	Py_XDECREF(result);
	leave_python(entered, own, user);
	return result ? 0 : DWARFS_ERR_CANCELLED;
}

static void on_finding(enum dwarfs_finding severity, int code, int64_t section,
		       const char *message, void *user)
{
	PyObject *callable = user, *result = NULL;
	bool own = is_python_thread();
	struct entered entered = enter_python();

	if (!entered.type)
		result = PyObject_CallFunction(callable, "iiLO&", (int)severity, code, (long long)section,
				       decode_text, message);
	Py_XDECREF(result);
	leave_python(entered, own, callable);
}

static int on_difference(const dwarfs_difference *difference, dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = NULL;
	const char *values[2];
	size_t bytes[2] = { 0, 0 };

	for (int side = 0; side < 2; side++)
		values[side] = dwarfs_difference_value(difference, side, &bytes[side]);
	if (!entered.type)
		result = PyObject_CallFunction(
			user, "iO&yy#y#", dwarfs_difference_kind(difference), decode_text,
			dwarfs_difference_path(difference),
			dwarfs_difference_name(difference), values[0],
			(Py_ssize_t)bytes[0], values[1], (Py_ssize_t)bytes[1]);
	Py_XDECREF(result);
	leave_python(entered, own, user);
	return result ? 0 : DWARFS_ERR_CANCELLED;
}

/* Of an export or an import: what, path, why. Not after an exception, which ends the run. */
static void report_path(int what, const char *path, const char *why, PyObject *callable)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = NULL;

	if (!entered.type)
		result = PyObject_CallFunction(callable, "iO&O&", what, decode_text, path,
					       decode_text, why);
	Py_XDECREF(result);
	leave_python(entered, own, callable);
}

static void on_export_report(enum dwarfs_export_report what, const char *path,
			     const char *why, void *user)
{
	report_path((int)what, path, why, user);
}

static void on_import_report(enum dwarfs_import_report what, const char *path,
			     const char *why, void *user)
{
	report_path((int)what, path, why, user);
}

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result;

	result = PyObject_CallFunction(user, "iO&", (int)level, decode_text, message);
	Py_XDECREF(result);
	leave_python(entered, own, user);
}

/*
 * Let a callable fill memory of its own, which it may keep, and copy what it says it has
 * read; -1 with an exception.
 */
static int64_t call_reader(PyObject *callable, void *buffer, size_t bytes, uint64_t offset)
{
	PyObject *room = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
	PyObject *view = room ? PyMemoryView_FromObject(room) : NULL, *result = NULL;
	int64_t count = -1;

	if (view)
		result = PyObject_CallFunction(callable, "OK", view,
					       (unsigned long long)offset);
	if (result)
		count = PyLong_AsLongLong(result);
	if (count > 0 && (uint64_t)count <= bytes)
		memcpy(buffer, PyByteArray_AsString(room), (size_t)count);
	Py_XDECREF(result);
	Py_XDECREF(view);
	Py_XDECREF(room);
	return count;
}

/* Make the exception at hand, which stays, the reason of a failure. */
static int fail_by_exception(dwarfs_error **err)
{
	PyObject *type, *value, *traceback, *number = NULL, *text = NULL;
	const char *message = NULL;
	long errnum = 0;
	int ret;

	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	if (value && PyErr_GivenExceptionMatches(value, PyExc_OSError))
		number = PyObject_GetAttrString(value, "errno");
	if (number && PyLong_Check(number))
		errnum = PyLong_AsLong(number);
	if (value && (text = PyObject_Str(value)))
		message = PyUnicode_AsUTF8AndSize(text, NULL);
	PyErr_Clear();
	ret = dwarfs_error_set(err, DWARFS_ERR_IO,
			       message || errnum <= 0 || errnum > 4095 ? 0 : (int)errnum,
			       message);
	Py_XDECREF(text);
	Py_XDECREF(number);
	PyErr_Restore(type, value, traceback);
	return ret;
}

/* Pieces of contents: a callable that gives them, and the one that was given last. */
struct pieces {
	PyObject *callable;
	Py_buffer view;
	bool is_held;
};

static void drop_piece(struct pieces *pieces)
{
	if (pieces->is_held)
		PyBuffer_Release(&pieces->view);
	pieces->is_held = false;
}

/* A buffer, or a tuple of an offset and a buffer. */
static bool hold_piece(struct pieces *pieces, PyObject *result, uint64_t *offset_out)
{
	if (PyTuple_Check(result)) {
		unsigned long long offset;
		PyObject *piece;

		if (!PyArg_ParseTuple(result, "KO", &offset, &piece))
			return false;
		*offset_out = offset;
		result = piece;
	}
	pieces->is_held = PyObject_GetBuffer(result, &pieces->view, PyBUF_SIMPLE) == 0;
	return pieces->is_held;
}

static int on_piece(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		    dwarfs_error **err, void *user)
{
	struct pieces *pieces = user;
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result;
	int ret = DWARFS_ERR_CANCELLED;

	drop_piece(pieces);
	result = PyObject_CallNoArgs(pieces->callable);
	if (result == Py_None) {
		ret = 0;
	} else if (result && hold_piece(pieces, result, offset_out)) {
		*data_out = pieces->view.buf;
		*bytes_out = (size_t)pieces->view.len;
		ret = 1;
	}
	Py_XDECREF(result);
	leave_python(entered, own, pieces->callable);
	return ret;
}

static int on_ordered_piece(dwarfs_inode inode, const void *data, size_t bytes,
			    uint64_t offset, dwarfs_error **err, void *user)
{
	struct entered entered = enter_python();
	PyObject *result = NULL;

	if (!entered.type)
		result = PyObject_CallFunction(user, "Iy#nK", (unsigned int)inode.number,
					       (const char *)data,
					       data ? (Py_ssize_t)bytes : (Py_ssize_t)0,
					       (Py_ssize_t)bytes, (unsigned long long)offset);
	Py_XDECREF(result);
	leave_python(entered, true, user);
	return result ? 0 : DWARFS_ERR_CANCELLED;
}

static int on_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		   dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	int64_t count = call_reader(user, buffer, bytes, offset);
	int ret = 0;

	if (PyErr_Occurred())
		ret = fail_by_exception(err);
	else if (count < 0 || (uint64_t)count > bytes)
		ret = dwarfs_error_set(err, DWARFS_ERR_IO, 0,
				       "the reader returned an impossible number of bytes");
	else
		*bytes_out = (size_t)count;
	leave_python(entered, own, user);
	return ret;
}

/* The callable returns the next bytes, at most as many as asked for; none at the end. */
static int on_stream(void *buffer, size_t bytes, size_t *bytes_out, dwarfs_error **err,
		     void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *result = NULL;
	Py_buffer view = { 0 };
	int ret = DWARFS_ERR_CANCELLED;

	if (!entered.type)
		result = PyObject_CallFunction(user, "n", (Py_ssize_t)bytes);
	if (result && PyObject_GetBuffer(result, &view, PyBUF_SIMPLE) == 0) {
		ret = 0;
		if ((size_t)view.len > bytes)
			PyErr_SetString(PyExc_ValueError, "more bytes than were asked for");
		else
			memcpy(buffer, view.buf, *bytes_out = (size_t)view.len);
		PyBuffer_Release(&view);
	}
	Py_XDECREF(result);
	if (PyErr_Occurred())
		ret = fail_by_exception(err);
	leave_python(entered, own, user);
	return ret;
}

static int on_write(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	bool own = is_python_thread();
	struct entered entered = enter_python();
	PyObject *piece = NULL, *result = NULL;
	int ret = entered.type ? DWARFS_ERR_CANCELLED : 0;

	if (ret == 0)
		piece = PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes);
	if (piece)
		result = PyObject_CallFunctionObjArgs(user, piece, NULL);
	Py_XDECREF(piece);
	Py_XDECREF(result);
	if (PyErr_Occurred())
		ret = fail_by_exception(err);
	leave_python(entered, own, user);
	return ret;
}

static void on_close_object(void *user)
{
	struct interpreter interpreter = enter_interpreter();

	Py_DECREF((PyObject *)user);
	leave_interpreter(interpreter);
}

static void on_close_buffer(void *user)
{
	struct interpreter interpreter = enter_interpreter();

	PyBuffer_Release(user);
	PyMem_Free(user);
	leave_interpreter(interpreter);
}

static bool is_callable(PyObject *object)
{
	if (PyCallable_Check(object))
		return true;
	PyErr_SetString(PyExc_TypeError, "a callable is needed");
	return false;
}

/* For what threads of the library call, too. */
static bool is_main_interpreter(const char *what)
{
	if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
		return true;
	PyErr_Format(PyExc_RuntimeError, "%s can be used in the main interpreter only", what);
	return false;
}
%}

/* Before everything else, as it is used by the code above. */
%begin %{
#include <errno.h>
#include <stdbool.h>

/* The Python number of an entry or an inode. */
#define DWARFS_FROM_NUMBERED(value) PyLong_FromUnsignedLong((value).number)
%}
%runtime %{
#if PY_VERSION_HEX < 0x030a0000
static PyObject *Py_NewRef(PyObject *object)
{
	Py_INCREF(object);
	return object;
}
#endif

/* For the "O&" of a format: text of the library, which may quote any bytes. */
static PyObject *decode_text(void *text)
{
	return PyUnicode_DecodeFSDefault(text);
}
%}

/* -- blocking calls ------------------------------------------------------------------------ */

%define DWARFS_BLOCKING(declaration)
%exception declaration {
	PyThreadState *outer = begin_call();

	$action
	end_call(outer);
}
%enddef

/* -- results and errors -------------------------------------------------------------------- */

%typemap(out) int "$result = Py_NewRef(Py_None);"
%typemap(out) int dwarfs_walk_next, int dwarfs_walk_files_into, int dwarfs_prefetch
	"$result = PyLong_FromLong($1);"

%typemap(out) int dwarfs_builder_category_bytes {
	if ($1 < 0) {
		PyErr_SetString(PyExc_IndexError, "no such category");
		SWIG_fail;
	}
	$result = Py_NewRef(Py_None);
}

/* An entry or an inode is its number in Python. */
%define DWARFS_NUMBERED(name)
%typemap(in, fragment = SWIG_AsVal_frag(unsigned int)) name {
	int ret = SWIG_AsVal(unsigned int)($input, &$1.number);

	if (!SWIG_IsOK(ret))
		%argument_fail(ret, "$type", $symname, $argnum);
}
%typemap(out) name "$result = DWARFS_FROM_NUMBERED($1);"
%enddef
DWARFS_NUMBERED(dwarfs_entry)
DWARFS_NUMBERED(dwarfs_inode)

%typemap(in, numinputs=0) dwarfs_error **err (dwarfs_error *error = NULL) "$1 = &error;"
%typemap(argout) dwarfs_error **err {
	if (raise_failure($1, result)) {
		Py_CLEAR($result);
		SWIG_fail;
	}
}

%typemap(out) const char * {
	$result = $1 ? PyUnicode_DecodeFSDefault($1) : Py_NewRef(Py_None);
}

%define DWARFS_OUTPUT(type, name, convert)
%typemap(in, numinputs=0) type *name (type output = { 0 }) "$1 = &output;"
%typemap(argout) type *name {
	$result = append_output($result, convert(*$1));
	if (!$result)
		SWIG_fail;
}
%enddef
DWARFS_OUTPUT(int64_t, seconds_out, PyLong_FromLongLong)
DWARFS_OUTPUT(int64_t, block_out, PyLong_FromLongLong)
DWARFS_OUTPUT(uint64_t, bytes_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, offset_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, value_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, errors_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, in_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, stored_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(uint64_t, packed_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(size_t, bytes_out, PyLong_FromSize_t)
DWARFS_OUTPUT(uint32_t, count_out, PyLong_FromUnsignedLong)
DWARFS_OUTPUT(uint32_t, mode_out, PyLong_FromUnsignedLong)
DWARFS_OUTPUT(uint64_t, count_out, PyLong_FromUnsignedLongLong)
DWARFS_OUTPUT(dwarfs_entry, entry_out, DWARFS_FROM_NUMBERED)
DWARFS_OUTPUT(dwarfs_entry, first_out, DWARFS_FROM_NUMBERED)
DWARFS_OUTPUT(dwarfs_inode, inode_out, DWARFS_FROM_NUMBERED)
DWARFS_OUTPUT(dwarfs_inode, parent_out, DWARFS_FROM_NUMBERED)
DWARFS_OUTPUT(dwarfs_inode, dir_out, DWARFS_FROM_NUMBERED)

/* A handle that is not made owns nothing: its proxy must not outlive the failure. */
%define DWARFS_OUTPUT_HANDLE(type, name)
%typemap(in, numinputs=0) type **name (type *output = NULL) "$1 = &output;"
%typemap(argout) type **name {
	$result = append_output($result, *$1 ? SWIG_NewPointerObj(*$1, $*1_descriptor,
								  SWIG_POINTER_OWN) :
					       Py_NewRef(Py_None));
	if (!$result)
		SWIG_fail;
}
%enddef
DWARFS_OUTPUT_HANDLE(dwarfs_context, context_out)
DWARFS_OUTPUT_HANDLE(dwarfs_io, io_out)
DWARFS_OUTPUT_HANDLE(dwarfs_task, task_out)
DWARFS_OUTPUT_HANDLE(dwarfs_sink, sink_out)
DWARFS_OUTPUT_HANDLE(dwarfs_digest, digest_out)
DWARFS_OUTPUT_HANDLE(dwarfs_image_options, options_out)
DWARFS_OUTPUT_HANDLE(dwarfs_image, image_out)
DWARFS_OUTPUT_HANDLE(dwarfs_history, history_out)
DWARFS_OUTPUT_HANDLE(dwarfs_stat, stat_out)
DWARFS_OUTPUT_HANDLE(dwarfs_walk, walk_out)
DWARFS_OUTPUT_HANDLE(dwarfs_file, file_out)
DWARFS_OUTPUT_HANDLE(dwarfs_builder, builder_out)
DWARFS_OUTPUT_HANDLE(dwarfs_item, item_out)
DWARFS_OUTPUT_HANDLE(dwarfs_extract, extract_out)
DWARFS_OUTPUT_HANDLE(dwarfs_compare, compare_out)
DWARFS_OUTPUT_HANDLE(dwarfs_archive_import, import_out)
DWARFS_OUTPUT_HANDLE(dwarfs_archive_export, export_out)

/* -- strings and buffers ------------------------------------------------------------------- */

%typemap(in) const char * (PyObject *bytes = NULL) {
	if (!PyUnicode_FSConverter($input, &bytes))
		SWIG_fail;
	$1 = PyBytes_AsString(bytes);
}
%typemap(freearg) const char * "Py_XDECREF(bytes$argnum);"

/* None is NULL: all categories. */
%typemap(in) const char *category (PyObject *bytes = NULL) {
	if ($input != Py_None) {
		if (!PyUnicode_FSConverter($input, &bytes))
			SWIG_fail;
		$1 = PyBytes_AsString(bytes);
	}
}
%typemap(freearg) const char *category "Py_XDECREF(bytes$argnum);"

%typemap(in) (const char *name, size_t bytes) (PyObject *encoded = NULL) {
	if (!PyUnicode_FSConverter($input, &encoded))
		SWIG_fail;
	$1 = PyBytes_AsString(encoded);
	$2 = (size_t)PyBytes_Size(encoded);
}
%typemap(freearg) (const char *name, size_t bytes) "Py_XDECREF(encoded$argnum);"
%apply (const char *name, size_t bytes) {
	(const char *path, size_t bytes),
	(const char *prefix, size_t bytes),
	(const char *target, size_t bytes)
};

/* None is NULL: the default. */
%typemap(in) const char *directory_or_none (PyObject *bytes = NULL) {
	if ($input != Py_None) {
		if (!PyUnicode_FSConverter($input, &bytes))
			SWIG_fail;
		$1 = PyBytes_AsString(bytes);
	}
}
%typemap(freearg) const char *directory_or_none "Py_XDECREF(bytes$argnum);"

/* Names and targets fit the larger of the two rooms. */
%typemap(in, numinputs=0) (char *buffer, size_t room, size_t *bytes_out)
	(char text[DWARFS_LINK_BUFFER_BYTES], size_t length = 0) {
	$1 = text;
	$2 = sizeof(text);
	$3 = &length;
}
%typemap(argout) (char *buffer, size_t room, size_t *bytes_out) {
	$result = append_output($result,
				PyUnicode_DecodeFSDefaultAndSize($1, (Py_ssize_t)*$3));
	if (!$result)
		SWIG_fail;
}

%typemap(in) (void *buffer, size_t bytes) (Py_buffer view = { 0 }) {
	if (PyObject_GetBuffer($input, &view, PyBUF_WRITABLE) < 0)
		SWIG_fail;
	$1 = view.buf;
	$2 = (size_t)view.len;
}
%typemap(freearg) (void *buffer, size_t bytes) "PyBuffer_Release(&view$argnum);"

%typemap(in, numinputs=0) PyObject **contents_out (PyObject *contents = NULL)
	"$1 = &contents;"
%typemap(argout) PyObject **contents_out {
	if (result == 0 && !($result = append_output($result, *$1)))
		SWIG_fail;
}

%typemap(in) (const void *data, size_t bytes) (Py_buffer view = { 0 }) {
	if (PyObject_GetBuffer($input, &view, PyBUF_SIMPLE) < 0)
		SWIG_fail;
	$1 = view.buf;
	$2 = (size_t)view.len;
}
%typemap(freearg) (const void *data, size_t bytes) "PyBuffer_Release(&view$argnum);"
%apply (const void *data, size_t bytes) { (const void *value, size_t bytes) };

%typemap(in, numinputs=0) char *hex_out (char text[DWARFS_DIGEST_HEX_BUFFER_BYTES] = "") "$1 = text;"
%typemap(argout) char *hex_out {
	$result = append_output($result, PyUnicode_DecodeASCII($1, (Py_ssize_t)strlen($1), NULL));
	if (!$result)
		SWIG_fail;
}

/* -- sources: closed by the library, so they are kept alive until then --------------------- */

/* A buffer, which stays exported. */
/* A list of numbers. */
%typemap(in) (const dwarfs_inode *inodes, size_t count) (dwarfs_inode *list = NULL) {
	if (!PyList_Check($input)) {
		PyErr_SetString(PyExc_TypeError, "a list of inodes is needed");
		SWIG_fail;
	}
	$2 = (size_t)PyList_Size($input);
	list = PyMem_Calloc($2 + 1, sizeof(*list));
	if (!list) {
		PyErr_NoMemory();
		SWIG_fail;
	}
	for (size_t i = 0; i < $2; i++) {
		unsigned long inode = PyLong_AsUnsignedLong(PyList_GetItem($input, i));

		if (PyErr_Occurred())
			SWIG_fail;
		list[i].number = inode > UINT32_MAX ? UINT32_MAX : (uint32_t)inode;
	}
	$1 = list;
}
%typemap(freearg) (const dwarfs_inode *inodes, size_t count) "PyMem_Free(list$argnum);"

%typemap(in) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user)
	(Py_buffer *view = NULL) {
	view = PyMem_Calloc(1, sizeof(*view));
	if (!view) {
		PyErr_NoMemory();
		SWIG_fail;
	}
	if (PyObject_GetBuffer($input, view, PyBUF_SIMPLE) < 0) {
		PyMem_Free(view);
		view = NULL;
		SWIG_fail;
	}
	$1 = view->buf;
	$2 = (size_t)view->len;
	$3 = on_close_buffer;
	$4 = view;
}
%typemap(freearg) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user) {
	if (view$argnum && !resultobj) {
		PyBuffer_Release(view$argnum);
		PyMem_Free(view$argnum);
	}
}

/* A tuple of a callable, which gets (memoryview, offset) and returns a count, and a size. */
%typemap(in) (dwarfs_io_read_fn read, uint64_t bytes, dwarfs_io_close_fn close, void *user)
	(PyObject *callable = NULL) {
	unsigned long long size;
	PyObject *number;

	if (!PyTuple_Check($input)) {
		PyErr_SetString(PyExc_TypeError, "a tuple of a callable and a size is needed");
		SWIG_fail;
	}
	if (!PyArg_ParseTuple($input, "OO!", &callable, &PyLong_Type, &number) ||
	    !is_callable(callable) || !is_main_interpreter("an image in a Python file object")) {
		callable = NULL;
		SWIG_fail;
	}
	size = PyLong_AsUnsignedLongLong(number);
	if (PyErr_Occurred()) {
		callable = NULL;
		SWIG_fail;
	}
	$1 = on_read;
	$2 = size;
	$3 = on_close_object;
	$4 = Py_NewRef(callable);
}
%typemap(freearg) (dwarfs_io_read_fn read, uint64_t bytes, dwarfs_io_close_fn close,
		   void *user) {
	if (callable$argnum && !resultobj)
		Py_DECREF(callable$argnum);
}

/* -- callbacks ----------------------------------------------------------------------------- */

%define DWARFS_CALLBACK(type, name, trampoline)
%typemap(in) (type name, void *user) {
	if ($input != Py_None && !is_callable($input))
		SWIG_fail;
	$1 = $input == Py_None ? NULL : trampoline;
	$2 = $input;
}
%enddef
DWARFS_CALLBACK(dwarfs_progress_fn, progress, on_progress)
DWARFS_CALLBACK(dwarfs_finding_fn, finding, on_finding)
DWARFS_CALLBACK(dwarfs_include_fn, include, on_include)
DWARFS_CALLBACK(dwarfs_order_fn, order, on_order)
DWARFS_CALLBACK(dwarfs_filter_report_fn, report, on_filter_report)
DWARFS_CALLBACK(dwarfs_difference_fn, difference, on_difference)
DWARFS_CALLBACK(dwarfs_export_report_fn, report, on_export_report)
DWARFS_CALLBACK(dwarfs_import_report_fn, report, on_import_report)

%typemap(in) (dwarfs_log_fn log, void *user) {
	if ($input != Py_None && (!is_callable($input) || !is_main_interpreter("a log")))
		SWIG_fail;
	$1 = $input == Py_None ? NULL : on_log;
	$2 = $input;
}

/* The arguments of the callback. */
%ignore dwarfs_difference_kind;
%ignore dwarfs_difference_path;
%ignore dwarfs_difference_name;

/* A list of a callable and None, or None. */
%typemap(in) (dwarfs_category_fn category, void *user) {
	if ($input != Py_None && (!PyList_Check($input) || PyList_Size($input) != 2)) {
		PyErr_SetString(PyExc_TypeError, "a list of a callable and None is needed");
		SWIG_fail;
	}
	if ($input != Py_None && !is_callable(PyList_GetItem($input, 0)))
		SWIG_fail;
	$1 = $input == Py_None ? NULL : on_category;
	$2 = $input;
}

/* A callable that the source or the sink keeps alive. */
%define DWARFS_KEPT_CALLBACK(type, name, trampoline)
%typemap(in) (type name, dwarfs_io_close_fn close, void *user) {
	if (!is_callable($input))
		SWIG_fail;
	$1 = trampoline;
	$2 = on_close_object;
	$3 = Py_NewRef($input);
}
%typemap(freearg) (type name, dwarfs_io_close_fn close, void *user) {
	if ($1 && !resultobj)
		Py_DECREF((PyObject *)$3);
}
%enddef
DWARFS_KEPT_CALLBACK(dwarfs_sink_write_fn, write, on_write)
DWARFS_KEPT_CALLBACK(dwarfs_io_stream_fn, read, on_stream)

/* Memory of the library, as bytes. */
%typemap(in, numinputs=0) (void **data_out, size_t *bytes_out)
	(void *data = NULL, size_t length = 0) {
	$1 = &data;
	$2 = &length;
}
%typemap(argout) (void **data_out, size_t *bytes_out) {
	if (*$1) {
		$result = append_output($result,
					PyBytes_FromStringAndSize(*$1, (Py_ssize_t)*$2));
		dwarfs_memory_free(*$1);
		if (!$result)
			SWIG_fail;
	}
}

/* None stands for NULL, which only contexts, options and switches may be. */
%define DWARFS_NOT_NONE(name)
%typemap(check) name *, const name * {
	if (!$1) {
		PyErr_SetString(PyExc_TypeError, "a " #name " is needed, not None");
		SWIG_fail;
	}
}
%enddef
DWARFS_NOT_NONE(dwarfs_io)
DWARFS_NOT_NONE(dwarfs_sink)
DWARFS_NOT_NONE(dwarfs_progress)
DWARFS_NOT_NONE(dwarfs_digest)
DWARFS_NOT_NONE(dwarfs_image)
DWARFS_NOT_NONE(dwarfs_history)
DWARFS_NOT_NONE(dwarfs_stat)
DWARFS_NOT_NONE(dwarfs_walk)
DWARFS_NOT_NONE(dwarfs_file)
DWARFS_NOT_NONE(dwarfs_builder)
DWARFS_NOT_NONE(dwarfs_item)
DWARFS_NOT_NONE(dwarfs_extract)
DWARFS_NOT_NONE(dwarfs_compare)
DWARFS_NOT_NONE(dwarfs_archive_import)
DWARFS_NOT_NONE(dwarfs_archive_export)
DWARFS_NOT_NONE(dwarfs_input)
DWARFS_NOT_NONE(dwarfs_order_list)

/* -- what the module adds ------------------------------------------------------------------ */

%{
/* The block of the first data of a file; -1 if it has none. */
static int first_block(const dwarfs_image *image, dwarfs_inode inode, int64_t *block_out,
		       dwarfs_error **err)
{
	PyThreadState *outer = begin_call();
	dwarfs_file *file = NULL;
	uint64_t offset, bytes, count;
	int ret = dwarfs_file_open(image, inode, &file, err);

	*block_out = -1;
	count = ret < 0 ? 0 : dwarfs_file_chunk_count(file);
	for (uint64_t i = 0; ret == 0 && *block_out < 0 && i < count; i++)
		ret = dwarfs_file_chunk(file, i, block_out, &offset, &bytes, err);
	dwarfs_file_free(file);
	end_call(outer);
	return ret;
}

/* Whether a set has the path, or is None: then every path is wanted. -1 on failure. */
static int is_wanted(PyObject *set_or_none, const char *path)
{
	PyObject *name;
	int ret;

	if (set_or_none == Py_None)
		return 1;
	if (!(name = PyUnicode_DecodeFSDefault(path)))
		return -1;
	ret = PySet_Contains(set_or_none, name);
	Py_DECREF(name);
	return ret;
}

static int append_file(PyObject *list, const char *path, const dwarfs_stat *stat,
		       int64_t block)
{
	PyObject *item = Py_BuildValue("NKL", PyUnicode_DecodeFSDefault(path),
				       (unsigned long long)dwarfs_stat_bytes(stat),
				       (long long)block);
	int ret = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	return ret;
}
%}

%inline %{
/*
 * Append the next regular files of a walk to a list, each as its path, its size and the block of
 * its first data, or -1 if it has none: those whose path is in a set, or all if that is None. At
 * most `most` entries are looked at. Returns whether there may be more.
 */
int dwarfs_walk_files_into(dwarfs_walk *walk, const dwarfs_image *image, size_t most,
			   PyObject *set_or_none, PyObject *list, dwarfs_error **err)
{
	dwarfs_stat *stat = NULL;
	int ret = dwarfs_stat_new(&stat, err);
	int more = ret < 0 ? 0 : 1;

	for (size_t i = 0; ret == 0 && more && i < most; i++) {
		dwarfs_entry entry;
		dwarfs_inode inode;
		int64_t block;

		if ((ret = more = dwarfs_walk_next(walk, &entry, err)) <= 0)
			break;
		if ((ret = is_wanted(set_or_none, dwarfs_walk_path(walk))) <= 0 ||
		    (ret = dwarfs_entry_inode(image, entry, &inode, err)) < 0 ||
		    (ret = dwarfs_inode_stat(image, inode, stat, err)) < 0 ||
		    (dwarfs_stat_mode(stat) & 0170000) != 0100000)
			continue;
		if ((ret = first_block(image, inode, &block, err)) == 0)
			ret = append_file(list, dwarfs_walk_path(walk), stat, block);
	}
	dwarfs_stat_free(stat);
	return ret < 0 ? ret : more;
}

/* The mode of an inode: one call instead of those that make and free a dwarfs_stat. */
int dwarfs_inode_mode(const dwarfs_image *image, dwarfs_inode inode, uint32_t *mode_out,
		      dwarfs_error **err)
{
	dwarfs_stat *stat = NULL;
	int ret = dwarfs_stat_new(&stat, err);

	if (ret == 0)
		ret = dwarfs_inode_stat(image, inode, stat, err);
	if (ret == 0)
		*mode_out = dwarfs_stat_mode(stat);
	dwarfs_stat_free(stat);
	return ret;
}

/* Up to some bytes of a file, read into the object that is returned. */
int dwarfs_file_contents(const dwarfs_file *file, size_t bytes, uint64_t offset,
			 PyObject **contents_out, dwarfs_error **err)
{
	uint64_t size = dwarfs_file_bytes(file);
	uint64_t left = offset < size ? size - offset : 0;
	size_t count = 0;
	PyThreadState *outer;
	PyObject *contents, *shorter;
	int ret;

	if (left > bytes)
		left = bytes;
	if (left > PY_SSIZE_T_MAX) {
		PyErr_NoMemory();
		return DWARFS_ERR_NOMEM;
	}
	if (!(contents = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)left)))
		return DWARFS_ERR_NOMEM;
	outer = begin_call();
	ret = dwarfs_file_read(file, PyBytes_AsString(contents), (size_t)left, offset, &count,
			       err);
	end_call(outer);
	if (ret == 0 && count < left) {
		shorter = PyBytes_FromStringAndSize(PyBytes_AsString(contents),
						    (Py_ssize_t)count);
		Py_DECREF(contents);
		contents = shorter;
		ret = contents ? 0 : DWARFS_ERR_NOMEM;
	}
	if (ret < 0)
		Py_CLEAR(contents);
	*contents_out = contents;
	return ret;
}

/* All bytes of a file that need not be open: most of the time of a small one would be a File's. */
int dwarfs_inode_contents(const dwarfs_image *image, dwarfs_inode inode,
			  PyObject **contents_out, dwarfs_error **err)
{
	dwarfs_file *file = NULL;
	PyThreadState *outer = begin_call();
	int ret = dwarfs_file_open(image, inode, &file, err);

	end_call(outer);
	if (ret == 0)
		ret = dwarfs_file_contents(file, SIZE_MAX, 0, contents_out, err);
	dwarfs_file_free(file);
	return ret;
}

/*
 * Add an item with contents that a callable gives: a buffer, a tuple of an offset and a
 * buffer, or None at the end.
 */
int dwarfs_builder_add_pieces(dwarfs_builder *builder, const char *path, size_t bytes,
			      dwarfs_item *item, uint64_t size, PyObject *callable,
			      dwarfs_error **err)
{
	struct pieces pieces = { .callable = callable };
	PyThreadState *outer;
	int ret = dwarfs_item_set_reader(item, size, on_piece, &pieces, err);

	if (ret < 0)
		return ret;
	outer = begin_call();
	ret = dwarfs_builder_add_item(builder, path, bytes, item, err);
	end_call(outer);
	drop_piece(&pieces);
	dwarfs_item_set_memory(item, NULL, 0, NULL); /* pieces are gone */
	return ret;
}

/* As dwarfs_builder_set_spool(). */
int dwarfs_builder_set_spool_or_default(dwarfs_builder *builder,
					const char *directory_or_none,
					uint64_t memory_bytes, dwarfs_error **err)
{
	return dwarfs_builder_set_spool(builder, directory_or_none, memory_bytes, err);
}

/* As dwarfs_sink_to_nothing(), without a path. */
int dwarfs_sink_to_nothing_named(dwarfs_sink **sink_out, dwarfs_error **err)
{
	return dwarfs_sink_to_nothing(NULL, false, sink_out, err);
}

/* Add the extended attributes of an inode to a dict. */
int dwarfs_xattrs_into(const dwarfs_image *image, dwarfs_inode inode, PyObject *dict,
		       dwarfs_error **err)
{
	const char *name;
	const void *data;
	size_t bytes;
	PyThreadState *outer;
	int ret;

	outer = begin_call();
	ret = dwarfs_xattr_list(image, inode, NULL, 0, NULL, err);
	end_call(outer);
	for (size_t i = 0; ret == 0; i++) {
		PyObject *key, *value;

		ret = dwarfs_xattr_at(image, inode, i, &name, &data, &bytes, err);
		if (ret <= 0)
			return ret;
		key = PyUnicode_DecodeFSDefault(name);
		value = PyBytes_FromStringAndSize(data, (Py_ssize_t)bytes);
		ret = key && value ? PyDict_SetItem(dict, key, value) : -1;
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return ret; /* with the exception, if there is one */
}

/* The names of all extended attributes, to the end of a list. */
int dwarfs_xattr_names_into(const dwarfs_image *image, PyObject *list, dwarfs_error **err)
{
	const char *name;
	PyThreadState *outer;
	int ret;

	outer = begin_call();
	ret = dwarfs_image_xattr_name(image, 0, &name, err);
	end_call(outer);
	for (size_t i = 0; ret >= 0; i++) {
		PyObject *item;

		ret = dwarfs_image_xattr_name(image, i, &name, err);
		if (ret <= 0)
			return ret;
		item = PyUnicode_DecodeFSDefault(name);
		ret = item ? PyList_Append(list, item) : -1;
		Py_XDECREF(item);
	}
	return ret;
}

/* What os.stat_result needs, in one call: mode, inode, links, owners, size, seconds and then
 * nanoseconds of access, modification and change, allocated bytes, and the device. */
PyObject *dwarfs_stat_values(const dwarfs_stat *stat)
{
	typedef unsigned long long wide;

	return Py_BuildValue("KKKKKKLLLKKKKKK", (wide)dwarfs_stat_mode(stat),
			     (wide)dwarfs_stat_inode(stat).number,
			     (wide)dwarfs_stat_nlink(stat), (wide)dwarfs_stat_uid(stat),
			     (wide)dwarfs_stat_gid(stat), (wide)dwarfs_stat_bytes(stat),
			     (long long)dwarfs_stat_seconds(stat, DWARFS_ATIME),
			     (long long)dwarfs_stat_seconds(stat, DWARFS_MTIME),
			     (long long)dwarfs_stat_seconds(stat, DWARFS_CTIME),
			     (wide)dwarfs_stat_nanoseconds(stat, DWARFS_ATIME),
			     (wide)dwarfs_stat_nanoseconds(stat, DWARFS_MTIME),
			     (wide)dwarfs_stat_nanoseconds(stat, DWARFS_CTIME),
			     (wide)dwarfs_stat_allocated_bytes(stat),
			     (wide)dwarfs_stat_rdev_major(stat),
			     (wide)dwarfs_stat_rdev_minor(stat));
}

/*
 * As dwarfs_read_in_order(): callable(inode, data, bytes, offset), with None as data for a
 * hole, and 0 bytes when the file is complete.
 */
int dwarfs_read_pieces(const dwarfs_image *image, const dwarfs_inode *inodes, size_t count,
		       PyObject *callable, dwarfs_error **err)
{
	PyThreadState *outer = begin_call();
	int ret;

	ret = dwarfs_read_in_order(image, inodes, count, on_ordered_piece, NULL, callable, NULL,
				   err);
	end_call(outer);
	return ret;
}

/*
 * Tell how to make an exception in this interpreter: factory(code, message, path, offset,
 * errno).
 */
PyObject *set_error_factory(PyObject *factory)
{
	PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());

	if (!dict) {
		PyErr_SetString(PyExc_RuntimeError, "the interpreter has no dict");
		return NULL;
	}
	return PyDict_SetItemString(dict, factory_key, factory) < 0 ? NULL :
								      Py_NewRef(Py_None);
}
%}
