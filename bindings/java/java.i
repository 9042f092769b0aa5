/* SPDX-License-Identifier: MIT */
/*
 * What Java makes of the C API: the static native methods of the class dwarfsJNI, which only
 * the layer in org/libdwarfs uses. SWIG is run with -noproxy: handles are numbers (long), and
 * Handle.java owns them.
 *
 * - Functions that can fail return their output (0 if there is none) and throw a
 *   DwarfsException.
 * - Names and paths are byte[]. Those that C takes as a string end with a NUL, which the
 *   layer adds. null is NULL.
 * - A callback is an object of the class Callback; all are called by its method call().
 *   The library holds a weak reference: the layer keeps the object alive for as long as the
 *   handle it was given to.
 */
%{
#include <stdint.h>
#include <string.h>

/* Bytes that are copied over the stack, and bytes that a callback gets in one array. */
enum { SMALL_READ_BYTES = 16 << 10, PIECE_BYTES = 1 << 20 };

/* Set once, when the library is loaded. */
static struct {
	JavaVM *vm;
	jclass failure;
	jmethodID make_failure;
	jmethodID call;
	jfieldID message;
	jclass bytes;
} java;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	JNIEnv *env;
	jclass class;

	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return JNI_ERR;
	java.vm = vm;
	class = (*env)->FindClass(env, "org/libdwarfs/Callback");
	if (!class)
		return JNI_ERR;
	java.call = (*env)->GetMethodID(env, class, "call", "(JJ[B[B)J");
	if (!java.call)
		return JNI_ERR;
	java.message = (*env)->GetFieldID(env, class, "message", "[B");
	if (!java.message)
		return JNI_ERR;
	class = (*env)->FindClass(env, "[B");
	if (!class)
		return JNI_ERR;
	java.bytes = (*env)->NewGlobalRef(env, class);
	class = (*env)->FindClass(env, "org/libdwarfs/DwarfsException");
	if (!class)
		return JNI_ERR;
	java.failure = (*env)->NewGlobalRef(env, class);
	java.make_failure = (*env)->GetStaticMethodID(
		env, class, "make", "(I[B[BJI)Lorg/libdwarfs/DwarfsException;");
	return java.bytes && java.failure && java.make_failure ? JNI_VERSION_1_8 : JNI_ERR;
}

/* A new array; NULL with an exception. */
static jbyteArray new_bytes(JNIEnv *env, const void *data, size_t bytes)
{
	jbyteArray array;

	if (bytes > INT32_MAX - 8) {
		jclass class = (*env)->FindClass(env, "java/lang/OutOfMemoryError");

		if (class)
			(*env)->ThrowNew(env, class, "more bytes than an array can have");
		return NULL;
	}
	array = (*env)->NewByteArray(env, (jsize)bytes);
	if (array && bytes > 0)
		(*env)->SetByteArrayRegion(env, array, 0, (jsize)bytes, data);
	return array;
}

static jbyteArray new_text(JNIEnv *env, const char *text)
{
	return new_bytes(env, text, strlen(text));
}

static void throw_new(JNIEnv *env, const char *name, const char *message)
{
	jclass class = (*env)->FindClass(env, name);

	if (class)
		(*env)->ThrowNew(env, class, message);
}

/* Throw the DwarfsException for a failure. Borrows err. */
static void throw_error(JNIEnv *env, const dwarfs_error *err, int code)
{
	const char *path = dwarfs_error_path(err);
	jbyteArray message, name = NULL;
	uint64_t offset;
	jobject failure;

	message = new_text(env, err ? dwarfs_error_message(err) : dwarfs_strerror(code));
	if (!message)
		return;
	if (path && !(name = new_text(env, path)))
		return;
	if (!dwarfs_error_offset(err, &offset))
		offset = UINT64_MAX;
	failure = (*env)->CallStaticObjectMethod(env, java.failure, java.make_failure,
						 (jint)code, message, name, (jlong)offset,
						 (jint)dwarfs_error_errno(err));
	if (!(*env)->ExceptionCheck(env) && failure)
		(*env)->Throw(env, failure);
}

/* The bytes of an array that ends with a NUL; NULL with an exception. */
static const char *get_string(JNIEnv *env, jbyteArray array)
{
	jsize length = (*env)->GetArrayLength(env, array);
	jbyte *bytes = (*env)->GetByteArrayElements(env, array, NULL);

	if (bytes && (length == 0 || memchr(bytes, 0, (size_t)length) != bytes + length - 1)) {
		(*env)->ReleaseByteArrayElements(env, array, bytes, JNI_ABORT);
		throw_new(env, "java/lang/IllegalArgumentException",
			  "a string must have one NUL, at its end");
		return NULL;
	}
	return (const char *)bytes;
}

/* -- callbacks ------------------------------------------------------------------------ */

/* A call of a callback, from a thread that Java may not know. */
struct call {
	JNIEnv *env;
	jobject callback;
	bool is_attached;
};

static bool begin_call(struct call *call, void *user)
{
	JavaVMAttachArgs args = { .version = JNI_VERSION_1_8, .name = (char *)"dwarfs" };
	jint ret = (*java.vm)->GetEnv(java.vm, (void **)&call->env, JNI_VERSION_1_8);

	call->is_attached = ret == JNI_EDETACHED;
	if (call->is_attached)
		ret = (*java.vm)->AttachCurrentThreadAsDaemon(java.vm, (void **)&call->env,
							      &args);
	if (ret != JNI_OK)
		return false;
	if ((*call->env)->PushLocalFrame(call->env, 8) == 0) {
		call->callback = (*call->env)->NewLocalRef(call->env, user);
		if (call->callback)
			return true;
		(*call->env)->PopLocalFrame(call->env, NULL);
	}
	(*call->env)->ExceptionClear(call->env);
	if (call->is_attached)
		(*java.vm)->DetachCurrentThread(java.vm);
	return false;
}

static void end_call(struct call *call)
{
	(*call->env)->ExceptionClear(call->env); /* memory is exhausted */
	(*call->env)->PopLocalFrame(call->env, NULL);
	if (call->is_attached)
		(*java.vm)->DetachCurrentThread(java.vm);
}

/* Report what a callback has thrown. */
static int fail_by_message(struct call *call, int code, dwarfs_error **err)
{
	jbyteArray message = (*call->env)->GetObjectField(call->env, call->callback,
							  java.message);
	const char *text = message ? get_string(call->env, message) : NULL;

	code = dwarfs_error_set(err, code, 0, text ? text : "the callback failed");
	if (text)
		(*call->env)->ReleaseByteArrayElements(call->env, message, (jbyte *)text,
						       JNI_ABORT);
	return code;
}

/*
 * Call: two numbers, a text or NULL, and bytes or NULL. What the callback writes to these
 * bytes is copied back if is_input. Returns what it returns, or a negative code.
 */
static int64_t call_java(void *user, int64_t a, int64_t b, const char *text, void *data,
			 size_t bytes, bool is_input, dwarfs_error **err)
{
	jbyteArray text_array = NULL, data_array = NULL;
	int64_t result = DWARFS_ERR_NOMEM;
	struct call call;

	if (!begin_call(&call, user))
		return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0,
					"the callback does not exist any more");
	if (text)
		text_array = new_text(call.env, text);
	if (data && (text_array || !text))
		data_array = (*call.env)->NewByteArray(call.env, (jsize)bytes);
	if ((text_array || !text) && (data_array || !data)) {
		if (data && !is_input)
			(*call.env)->SetByteArrayRegion(call.env, data_array, 0, (jsize)bytes,
							data);
		result = (*call.env)->CallLongMethod(call.env, call.callback, java.call,
						     (jlong)a, (jlong)b, text_array,
						     data_array);
		if ((*call.env)->ExceptionCheck(call.env)) {
			(*call.env)->ExceptionClear(call.env);
			result = DWARFS_ERR_NOMEM;
		} else if (result < 0) {
			result = fail_by_message(&call, (int)result, err);
		} else if (is_input && (uint64_t)result <= bytes) {
			(*call.env)->GetByteArrayRegion(call.env, data_array, 0, (jsize)result,
							data);
		}
	}
	end_call(&call);
	return result;
}

static int on_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	return (int)call_java(user, (intptr_t)progress, 0, NULL, NULL, 0, false, err);
}

static int on_include(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	return (int)call_java(user, (intptr_t)input, 0, NULL, NULL, 0, false, err);
}

/* The callback returns the address of a string that it keeps, or 0. */
static int on_category(const dwarfs_input *input, const char **category_out,
		       dwarfs_error **err, void *user)
{
	int64_t result = call_java(user, (intptr_t)input, 0, NULL, NULL, 0, false, err);

	if (result < 0)
		return (int)result;
	if (result > 0)
		*category_out = (const char *)(intptr_t)result;
	return 0;
}

static int on_order(dwarfs_order_list *files, dwarfs_error **err, void *user)
{
	return (int)call_java(user, (intptr_t)files, 0, NULL, NULL, 0, false, err);
}

static int on_filter_report(const char *path, bool is_directory, bool included,
			    dwarfs_error **err, void *user)
{
	return (int)call_java(user, is_directory, included, path, NULL, 0, false, err);
}

/* The path is the text; the difference has the rest. */
static int on_difference(const dwarfs_difference *difference, dwarfs_error **err,
			 void *user)
{
	return (int)call_java(user, dwarfs_difference_kind(difference),
			      (intptr_t)difference, dwarfs_difference_path(difference),
			      NULL, 0, false, err);
}

static void on_finding(enum dwarfs_finding severity, int code, int64_t section,
		       const char *message, void *user)
{
	call_java(user, (int64_t)severity << 32 | (uint32_t)code, section, message, NULL, 0,
		  false, NULL);
}

static void on_log(enum dwarfs_log_level level, const char *message, void *user)
{
	call_java(user, (int64_t)level, 0, message, NULL, 0, false, NULL);
}

static int on_write(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	const char *next = data;

	while (bytes > 0) {
		size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
		int64_t ret = call_java(user, 0, 0, NULL, (void *)next, piece, false, err);

		if (ret < 0)
			return (int)ret;
		next += piece;
		bytes -= piece;
	}
	return 0;
}

static int on_stream(void *buffer, size_t bytes, size_t *bytes_out, dwarfs_error **err,
		     void *user)
{
	size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
	int64_t count = call_java(user, 0, 0, NULL, buffer, piece, true, err);

	if (count < 0)
		return (int)count;
	if ((uint64_t)count > piece)
		return dwarfs_error_set(err, DWARFS_ERR_IO, 0,
					"more bytes than were asked for");
	*bytes_out = (size_t)count;
	return 0;
}

static int on_read(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		   dwarfs_error **err, void *user)
{
	size_t piece = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
	int64_t count = call_java(user, (int64_t)offset, 0, NULL, buffer, piece, true, err);

	if (count < 0)
		return (int)count;
	if ((uint64_t)count > piece)
		return dwarfs_error_set(err, DWARFS_ERR_IO, 0,
					"more bytes than were asked for");
	*bytes_out = (size_t)count;
	return 0;
}

/* Release the reference that a source or a sink has: is_weak for a callback. */
static void release_reference(jobject reference, bool is_weak)
{
	JNIEnv *env;
	jint ret = (*java.vm)->GetEnv(java.vm, (void **)&env, JNI_VERSION_1_8);
	bool is_attached = ret == JNI_EDETACHED;

	if (is_attached)
		ret = (*java.vm)->AttachCurrentThreadAsDaemon(java.vm, (void **)&env, NULL);
	if (ret != JNI_OK)
		return;
	if (is_weak)
		(*env)->DeleteWeakGlobalRef(env, reference);
	else
		(*env)->DeleteGlobalRef(env, reference);
	if (is_attached)
		(*java.vm)->DetachCurrentThread(java.vm);
}

static void on_close_callback(void *user)
{
	release_reference(user, true);
}

static void on_close_memory(void *user)
{
	release_reference(user, false);
}
%}

/* Java has no interpreter that is locked. */
%define DWARFS_BLOCKING(declaration)
%enddef

/* Enums are int, and constants are literals. */
%include <enumsimple.swg>
%javaconst(1);

%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    Library.load();
  }
%}

/* -- numbers --------------------------------------------------------------------------- */

/* Sizes and offsets are long; those from 2^63 on are negative, as the constants *_AUTO are. */
%apply long long { uint64_t, int64_t };
%typemap(jni) size_t "jlong"
%typemap(jtype) size_t "long"
%typemap(in) size_t "$1 = (size_t)$input;"
%typemap(out) size_t "$result = (jlong)$1;"

/* A result of 0 is left to the output of the function. */
%typemap(jni) int "jlong"
%typemap(jtype) int "long"
%typemap(in) int "$1 = (int)$input;"
%typemap(out, throws="DwarfsException") int "$result = 0;"
/* The next entry, or -1 at the end. */
%typemap(out, throws="DwarfsException") int dwarfs_walk_next "$result = $1 == 1 ? 0 : -1;"
%typemap(out, throws="DwarfsException") int dwarfs_prefetch "$result = $1 > 0 ? $1 : 0;"

%typemap(jni) dwarfs_entry, dwarfs_inode "jlong"
%typemap(jtype) dwarfs_entry, dwarfs_inode "long"
%typemap(in) dwarfs_entry, dwarfs_inode "$1.number = (uint32_t)$input;"
%typemap(out) dwarfs_entry, dwarfs_inode "$result = (jlong)$1.number;"

/* -- errors and outputs ------------------------------------------------------------------ */

%typemap(in, numinputs=0) dwarfs_error **err
	(dwarfs_error *error = NULL) "$1 = &error;"
%typemap(argout) dwarfs_error **err {
	if (result < 0)
		throw_error(jenv, *$1, result);
	dwarfs_error_free(*$1);
}

/* The one output is the result. */
%define DWARFS_OUTPUT(type, name, value)
%typemap(in, numinputs=0) type *name (type output) {
	memset(&output, 0, sizeof(output));
	$1 = &output;
}
%typemap(argout) type *name {
	if (result >= 0 && !$result)
		$result = (jlong)value;
}
%enddef
DWARFS_OUTPUT(uint64_t, offset_out, *$1)
DWARFS_OUTPUT(uint64_t, value_out, *$1)
DWARFS_OUTPUT(uint64_t, errors_out, *$1)
DWARFS_OUTPUT(size_t, bytes_out, *$1)
DWARFS_OUTPUT(dwarfs_entry, entry_out, $1->number)
DWARFS_OUTPUT(dwarfs_inode, inode_out, $1->number)
DWARFS_OUTPUT(dwarfs_inode, parent_out, $1->number)
DWARFS_OUTPUT(dwarfs_inode, dir_out, $1->number)
DWARFS_OUTPUT(dwarfs_context *, context_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_io *, io_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_task *, task_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_sink *, sink_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_digest *, digest_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_image_options *, options_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_image *, image_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_history *, history_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_stat *, stat_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_walk *, walk_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_file *, file_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_builder *, builder_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_item *, item_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_extract *, extract_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_archive_import *, import_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_archive_export *, export_out, (intptr_t)*$1)
DWARFS_OUTPUT(dwarfs_compare *, compare_out, (intptr_t)*$1)
DWARFS_OUTPUT(uint64_t, count_out, *$1)

/* -- strings and buffers ----------------------------------------------------------------- */

%define DWARFS_BYTES(signature)
%typemap(jni) signature "jbyteArray"
%typemap(jtype) signature "byte[]"
%enddef

DWARFS_BYTES(const char *)
%typemap(in) const char * {
	$1 = NULL;
	if ($input && !($1 = (char *)get_string(jenv, $input)))
		return $null;
}
%typemap(freearg) const char * {
	if ($1)
		(*jenv)->ReleaseByteArrayElements(jenv, $input, (jbyte *)$1, JNI_ABORT);
}
%typemap(out) const char * "$result = $1 ? new_text(jenv, $1) : NULL;"

DWARFS_BYTES((const char *name, size_t bytes))
%typemap(in) (const char *name, size_t bytes) {
	$1 = ($1_ltype)(*jenv)->GetByteArrayElements(jenv, $input, NULL);
	if (!$1)
		return $null;
	$2 = (size_t)(*jenv)->GetArrayLength(jenv, $input);
}
%typemap(freearg) (const char *name, size_t bytes)
	"(*jenv)->ReleaseByteArrayElements(jenv, $input, (jbyte *)$1, JNI_ABORT);"
%apply (const char *name, size_t bytes) {
	(const char *path, size_t bytes),
	(const char *prefix, size_t bytes),
	(const char *target, size_t bytes),
	(const void *data, size_t bytes),
	(const void *value, size_t bytes)
};

/* Names and targets are results, and fit the larger of the two rooms. */
DWARFS_BYTES(int dwarfs_entry_name)
DWARFS_BYTES(int dwarfs_link_read)
%ignore dwarfs_link_read_raw;
%typemap(out, throws="DwarfsException") int dwarfs_entry_name, int dwarfs_link_read "$result = NULL;"
%typemap(in, numinputs=0) (char *buffer, size_t room, size_t *bytes_out)
	(char text[DWARFS_LINK_BUFFER_BYTES], size_t length = 0) {
	$1 = text;
	$2 = sizeof(text);
	$3 = &length;
}
%typemap(argout) (char *buffer, size_t room, size_t *bytes_out) {
	if (result >= 0)
		$result = new_bytes(jenv, $1, *$3);
}

/* Memory of the library becomes an array. */
DWARFS_BYTES(int dwarfs_load)
DWARFS_BYTES(int dwarfs_sink_take)
%typemap(out, throws="DwarfsException") int dwarfs_load, int dwarfs_sink_take "$result = NULL;"
%typemap(in, numinputs=0) (void **data_out, size_t *bytes_out)
	(void *data = NULL, size_t length = 0) {
	$1 = &data;
	$2 = &length;
}
%typemap(argout) (void **data_out, size_t *bytes_out) {
	if (result >= 0)
		$result = new_bytes(jenv, *$1, *$2);
	dwarfs_memory_free(*$1);
}

/* The value of a side of a difference, or null. */
DWARFS_BYTES(int dwarfs_composed_value)
%typemap(out) int dwarfs_composed_value "(void)$1; $result = NULL;"
%typemap(in, numinputs=0) (const void **side_out, size_t *bytes_out)
	(const void *contents, size_t length) {
	$1 = (void **)&contents;
	$2 = &length;
}
%typemap(argout) (const void **side_out, size_t *bytes_out) {
	if (*$1)
		$result = new_bytes(jenv, *$1, *$2);
}

/* A direct buffer, from its first byte to its capacity. */
%typemap(jni) (void *buffer, size_t bytes) "jobject"
%typemap(jtype) (void *buffer, size_t bytes) "java.nio.ByteBuffer"
%typemap(in) (void *buffer, size_t bytes) {
	$1 = (*jenv)->GetDirectBufferAddress(jenv, $input);
	$2 = (size_t)(*jenv)->GetDirectBufferCapacity(jenv, $input);
}

/* Inodes are int, with the bits of their numbers. */
%typemap(jni) (const dwarfs_inode *inodes, size_t count) "jintArray"
%typemap(jtype) (const dwarfs_inode *inodes, size_t count) "int[]"
%typemap(in) (const dwarfs_inode *inodes, size_t count) {
	$1 = (dwarfs_inode *)(*jenv)->GetIntArrayElements(jenv, $input, NULL);
	if (!$1)
		return $null;
	$2 = (size_t)(*jenv)->GetArrayLength(jenv, $input);
}
%typemap(freearg) (const dwarfs_inode *inodes, size_t count)
	"(*jenv)->ReleaseIntArrayElements(jenv, $input, (jint *)$1, JNI_ABORT);"

DWARFS_BYTES(char *hex_out)
%ignore dwarfs_digest_new;
%ignore dwarfs_digest_update;
%ignore dwarfs_digest_finish; /* java.security.MessageDigest has these */

/* -- sources, sinks and callbacks -------------------------------------------------------- */

/* A direct buffer, which the source keeps alive. */
%typemap(jni) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user) "jobject"
%typemap(jtype) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user)
	"java.nio.ByteBuffer"
%typemap(in) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user) {
	$1 = (*jenv)->GetDirectBufferAddress(jenv, $input);
	$2 = (size_t)(*jenv)->GetDirectBufferCapacity(jenv, $input);
	$3 = on_close_memory;
	$4 = (*jenv)->NewGlobalRef(jenv, $input);
	if (!$4) {
		throw_new(jenv, "java/lang/OutOfMemoryError", "no global reference");
		return $null;
	}
}
%typemap(freearg) (const void *data, size_t bytes, dwarfs_io_close_fn close, void *user) {
	if (result < 0)
		on_close_memory($4);
}

/* A reference of dwarfs_java_reference(), which the layer releases after the handle; or 0. */
%define DWARFS_CALLBACK(type, name, trampoline)
%typemap(jni) (type name, void *user) "jlong"
%typemap(jtype) (type name, void *user) "long"
%typemap(in) (type name, void *user) {
	$2 = (void *)(intptr_t)$input;
	$1 = $2 ? trampoline : NULL;
}
%enddef
DWARFS_CALLBACK(dwarfs_progress_fn, progress, on_progress)
DWARFS_CALLBACK(dwarfs_log_fn, log, on_log)
DWARFS_CALLBACK(dwarfs_finding_fn, finding, on_finding)
DWARFS_CALLBACK(dwarfs_include_fn, include, on_include)
DWARFS_CALLBACK(dwarfs_category_fn, category, on_category)
DWARFS_CALLBACK(dwarfs_order_fn, order, on_order)
DWARFS_CALLBACK(dwarfs_filter_report_fn, report, on_filter_report)
DWARFS_CALLBACK(dwarfs_difference_fn, difference, on_difference)

/* A callback whose reference the source or the sink releases. */
%define DWARFS_KEPT_CALLBACK(type, name, trampoline)
%typemap(jni) (type name, dwarfs_io_close_fn close, void *user) "jobject"
%typemap(jtype) (type name, dwarfs_io_close_fn close, void *user) "Callback"
%typemap(in) (type name, dwarfs_io_close_fn close, void *user) {
	$1 = trampoline;
	$2 = on_close_callback;
	$3 = (*jenv)->NewWeakGlobalRef(jenv, $input);
	if (!$3)
		return $null;
}
%typemap(freearg) (type name, dwarfs_io_close_fn close, void *user) {
	if (result < 0)
		on_close_callback($3);
}
%enddef
DWARFS_KEPT_CALLBACK(dwarfs_sink_write_fn, write, on_write)
DWARFS_KEPT_CALLBACK(dwarfs_io_stream_fn, read, on_stream)
%ignore dwarfs_io_new; /* dwarfs_java_source() */

/* Several outputs: see below, or not in the Java package. */
%ignore dwarfs_dir_range;
%ignore dwarfs_image_created_on;
%ignore dwarfs_file_chunk;
%ignore dwarfs_builder_category_bytes;
%ignore dwarfs_history_time;
%ignore dwarfs_file_lost_bytes;
%ignore dwarfs_archive_export_set_report;
%ignore dwarfs_archive_import_set_report;

/* -- what the class adds ----------------------------------------------------------------- */

%typemap(in, numinputs=0) JNIEnv *env "$1 = jenv;"
%define DWARFS_JAVA_TYPE(c_type, java_type)
%typemap(jni) c_type "c_type"
%typemap(jtype) c_type "java_type"
%typemap(in) c_type "$1 = $input;"
%typemap(out) c_type "$result = $1;"
%enddef
DWARFS_JAVA_TYPE(jobject, Object)
DWARFS_JAVA_TYPE(jbyteArray, byte[])
DWARFS_JAVA_TYPE(jlongArray, long[])
DWARFS_JAVA_TYPE(jobjectArray, byte[][])
DWARFS_JAVA_TYPE(jlong, long)
DWARFS_JAVA_TYPE(jint, int)

%inline %{
/* A weak reference to a callback, for functions that take one. */
jlong dwarfs_java_reference(JNIEnv *env, jobject callback)
{
	return (intptr_t)(*env)->NewWeakGlobalRef(env, callback);
}

void dwarfs_java_release(JNIEnv *env, jlong reference)
{
	(*env)->DeleteWeakGlobalRef(env, (jobject)(intptr_t)reference);
}

/* Where the bytes of a direct buffer are. */
jlong dwarfs_java_address(JNIEnv *env, jobject buffer)
{
	return (intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

/* A source that reads by a callback. */
int dwarfs_java_source(JNIEnv *env, jobject callback, uint64_t size, dwarfs_io **io_out,
		       dwarfs_error **err)
{
	jobject user = (*env)->NewWeakGlobalRef(env, callback);
	int ret;

	if (!user) {
		(*env)->ExceptionClear(env);
		return dwarfs_error_set(err, DWARFS_ERR_NOMEM, 0, "out of memory");
	}
	ret = dwarfs_io_new(on_read, size, on_close_callback, user, io_out, err);
	if (ret < 0)
		(*env)->DeleteWeakGlobalRef(env, user);
	return ret;
}

/* Take the contents from an array, and add the item. */
int dwarfs_java_add_bytes(JNIEnv *env, dwarfs_builder *builder, jbyteArray path,
			  dwarfs_item *item, jbyteArray contents, dwarfs_error **err)
{
	jbyte *data = (*env)->GetByteArrayElements(env, contents, NULL);
	jbyte *name = data ? (*env)->GetByteArrayElements(env, path, NULL) : NULL;
	int ret = DWARFS_ERR_NOMEM;

	if (name) {
		ret = dwarfs_item_set_memory(item, data,
					     (size_t)(*env)->GetArrayLength(env, contents), err);
		if (ret == 0)
			ret = dwarfs_builder_add_item(builder, (const char *)name,
						      (size_t)(*env)->GetArrayLength(env, path),
						      item, err);
		(*env)->ReleaseByteArrayElements(env, path, name, JNI_ABORT);
	} else {
		(*env)->ExceptionClear(env);
	}
	if (data)
		(*env)->ReleaseByteArrayElements(env, contents, data, JNI_ABORT);
	return ret;
}

/* The first entry of a directory in the upper 32 bits, how many there are in the lower. */
int dwarfs_java_dir_range(const dwarfs_image *image, dwarfs_inode dir, uint64_t *value_out,
			  dwarfs_error **err)
{
	dwarfs_entry first = { 0 };
	uint32_t count = 0;
	int ret = dwarfs_dir_range(image, dir, &first, &count, err);

	*value_out = (uint64_t)first.number << 32 | count;
	return ret;
}

/* When the image was made; INT64_MIN if it does not say. */
jlong dwarfs_java_created_on(const dwarfs_image *image)
{
	int64_t seconds;

	return dwarfs_image_created_on(image, &seconds) ? seconds : INT64_MIN;
}

/* The attributes of an entry, in the order of the components of the class Attributes. */
int dwarfs_java_stat(JNIEnv *env, const dwarfs_image *image, dwarfs_entry entry,
		     jlongArray numbers, dwarfs_error **err)
{
	dwarfs_stat *stat = NULL;
	int ret = dwarfs_stat_new(&stat, err);

	if (ret == 0 && (ret = dwarfs_entry_stat(image, entry, stat, err)) == 0) {
		jlong all[17] = {
			dwarfs_stat_inode(stat).number,	 dwarfs_stat_mode(stat),
			dwarfs_stat_uid(stat),		 dwarfs_stat_gid(stat),
			(jlong)dwarfs_stat_bytes(stat),	 (jlong)dwarfs_stat_allocated_bytes(stat),
			dwarfs_stat_nlink(stat),	 dwarfs_stat_rdev_major(stat),
			dwarfs_stat_rdev_minor(stat),
		};

		for (int time = 0; time < 4; time++) {
			all[9 + 2 * time] = dwarfs_stat_seconds(stat, (enum dwarfs_time)time);
			all[10 + 2 * time] =
				dwarfs_stat_nanoseconds(stat, (enum dwarfs_time)time);
		}
		(*env)->SetLongArrayRegion(env, numbers, 0, 17, all);
	}
	dwarfs_stat_free(stat);
	return ret;
}

/*
 * Read into a part of an array; returns how many bytes. Large reads are copied once, from the
 * cache to the array.
 */
int dwarfs_java_read(JNIEnv *env, const dwarfs_file *file, jbyteArray array, jint start,
		     jint length, uint64_t offset, uint64_t *value_out, dwarfs_error **err)
{
	char small[SMALL_READ_BYTES];
	dwarfs_borrowed *borrowed = NULL;
	size_t bytes = 0;
	int ret;

	if (length <= SMALL_READ_BYTES) {
		ret = dwarfs_file_read(file, small, (size_t)length, offset, &bytes, err);
		if (ret == 0)
			(*env)->SetByteArrayRegion(env, array, start, (jsize)bytes,
						   (jbyte *)small);
		*value_out = bytes;
		return ret;
	}
	ret = dwarfs_file_borrow(file, (size_t)length, offset, &borrowed, err);
	for (size_t i = 0; ret == 0 && i < dwarfs_borrowed_count(borrowed); i++) {
		size_t part_bytes = 0;
		const jbyte *part = dwarfs_borrowed_part(borrowed, i, &part_bytes);

		(*env)->SetByteArrayRegion(env, array, start + (jsize)bytes, (jsize)part_bytes,
					   part);
		bytes += part_bytes;
	}
	dwarfs_borrowed_free(borrowed);
	*value_out = bytes;
	return ret;
}

/* Names and values of the extended attributes of an inode, in turn; NULL with an exception. */
jobjectArray dwarfs_java_xattrs(JNIEnv *env, const dwarfs_image *image, dwarfs_inode inode)
{
	jobjectArray list = NULL;
	dwarfs_error *err = NULL;
	const char *name;
	const void *value;
	size_t count = 0, bytes;
	int ret;

	while ((ret = dwarfs_xattr_at(image, inode, count, &name, &value, &bytes, &err)) == 1)
		count++;
	if (ret < 0)
		throw_error(env, err, ret);
	else
		list = (*env)->NewObjectArray(env, (jsize)(2 * count), java.bytes, NULL);
	dwarfs_error_free(err);
	for (size_t i = 0; list && i < count; i++) {
		jbyteArray pair[2] = { NULL, NULL };

		if (dwarfs_xattr_at(image, inode, i, &name, &value, &bytes, NULL) == 1 &&
		    (pair[0] = new_text(env, name)))
			pair[1] = new_bytes(env, value, bytes);
		if (!pair[1])
			return NULL;
		for (int part = 0; part < 2; part++) {
			(*env)->SetObjectArrayElement(env, list, (jsize)(2 * i) + part,
						      pair[part]);
			(*env)->DeleteLocalRef(env, pair[part]);
		}
	}
	return list;
}
%}
