/* SPDX-License-Identifier: MIT */
/*
 * What Perl, Ruby and Lua share. Their layers are written in the language itself, and use
 * flat functions: handles are typed pointers that the layer frees, entries and inodes are
 * numbers, names and contents are strings of bytes, outputs are results. A call that fails
 * raises an exception.
 *
 * The file of the language defines before this one
 *   DWARFS_RESULT(value)       a SWIG macro: append a result
 * and for C
 *   script_bytes(data, bytes)  a value of bytes
 *   script_unsigned(number), script_signed(number), script_nothing()
 *   script_pointer(pointer, type)
 *   script_fail(err, code)     free err, raise the exception, leave the wrapper
 *   script_refuse(message)     raise an exception for a wrong argument, leave the wrapper
 *   call_with_handle()         call a callback with a handle: below
 *   call_finding()             call a callback with a finding
 * and the typemaps for `const char *`, `(const char *name, size_t bytes)` and
 * `struct script_room`. It may define DWARFS_BLOCKING, DWARFS_ERROR and DWARFS_RELEASE, which
 * says how a handle is freed. Lua, whose handles free themselves, also defines DWARFS_HANDLE,
 * DWARFS_NULLABLE and DWARFS_NEW.
 */
%{
/* The callbacks of a language: a callable that the layer keeps alive while it is set. */
static int on_include(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	return call_with_handle(user, (void *)input, SWIGTYPE_p_dwarfs_input, err);
}

static int on_progress(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	return call_with_handle(user, (void *)progress, SWIGTYPE_p_dwarfs_progress, err);
}

static int on_difference(const dwarfs_difference *difference, dwarfs_error **err,
			 void *user)
{
	return call_with_handle(user, (void *)difference, SWIGTYPE_p_dwarfs_difference,
				err);
}

static void on_finding(enum dwarfs_finding severity, int code, int64_t section,
		       const char *message, void *user)
{
	call_finding(user, (int)severity, code, section, message);
}
%}

/* The interpreter stays locked, as Perl and Lua have no threads that share one. */
#ifndef DWARFS_BLOCKING
%define DWARFS_BLOCKING(declaration)
%enddef
#endif

/* No classes: the layer calls dwarfs_image_free() and the like, once. */
#ifndef DWARFS_RELEASE
%define DWARFS_RELEASE(name)
%enddef
#endif
#ifndef DWARFS_HANDLE
%define DWARFS_HANDLE(name)
DWARFS_RELEASE(name)
%typemap(check) name *, const name * {
	if (!$1)
		script_refuse("the handle is closed");
}
%enddef
/* For functions that accept NULL. */
%define DWARFS_NULLABLE(parameter)
%typemap(check) parameter ""
%enddef
/* A new handle. */
%define DWARFS_NEW(type, name)
DWARFS_OUTPUT(type *, name, script_pointer(*$1, $*1_descriptor))
%enddef
#endif

/* -- numbers and errors ------------------------------------------------------------------ */

%typemap(out) int ""
%typemap(out) dwarfs_inode, dwarfs_entry { DWARFS_RESULT(script_unsigned($1.number)) }
%typemap(out) const char * {
	DWARFS_RESULT($1 ? script_bytes($1, strlen($1)) : script_nothing())
}

%typemap(in, numinputs=0) dwarfs_error **err
	(dwarfs_error *error = NULL) "$1 = &error;"
#ifndef DWARFS_ERROR
%define DWARFS_ERROR(err)
	if (result < 0)
		script_fail(err, result);
	dwarfs_error_free(err);
%enddef
#endif
%typemap(argout) dwarfs_error **err { DWARFS_ERROR(*$1) }

%define DWARFS_OUTPUT(type, name, value)
%typemap(in, numinputs=0) type *name (type output) {
	memset(&output, 0, sizeof(output));
	$1 = &output;
}
%typemap(argout) type *name {
	if (result >= 0) {
		DWARFS_RESULT(value)
	}
}
%enddef
DWARFS_OUTPUT(uint64_t, offset_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, value_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, errors_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, in_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, stored_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, packed_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, bytes_out, script_unsigned(*$1))
DWARFS_OUTPUT(size_t, bytes_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint64_t, count_out, script_unsigned(*$1))
DWARFS_OUTPUT(uint32_t, count_out, script_unsigned(*$1))
DWARFS_OUTPUT(int64_t, seconds_out, script_signed(*$1))
DWARFS_OUTPUT(int64_t, block_out, script_signed(*$1))
DWARFS_OUTPUT(dwarfs_entry, entry_out, script_unsigned($1->number))
DWARFS_OUTPUT(dwarfs_entry, first_out, script_unsigned($1->number))
DWARFS_OUTPUT(dwarfs_inode, inode_out, script_unsigned($1->number))
DWARFS_OUTPUT(dwarfs_inode, parent_out, script_unsigned($1->number))
DWARFS_OUTPUT(dwarfs_inode, dir_out, script_unsigned($1->number))
DWARFS_NEW(dwarfs_context, context_out)
DWARFS_NEW(dwarfs_io, io_out)
DWARFS_NEW(dwarfs_task, task_out)
DWARFS_NEW(dwarfs_sink, sink_out)
DWARFS_NEW(dwarfs_image_options, options_out)
DWARFS_NEW(dwarfs_image, image_out)
DWARFS_NEW(dwarfs_history, history_out)
DWARFS_NEW(dwarfs_walk, walk_out)
DWARFS_NEW(dwarfs_file, file_out)
DWARFS_NEW(dwarfs_builder, builder_out)
DWARFS_NEW(dwarfs_item, item_out)
DWARFS_NEW(dwarfs_extract, extract_out)
DWARFS_NEW(dwarfs_compare, compare_out)
DWARFS_NEW(dwarfs_archive_import, import_out)
DWARFS_NEW(dwarfs_archive_export, export_out)

/* -- strings ----------------------------------------------------------------------------- */

%apply (const char *name, size_t bytes) {
	(const char *path, size_t bytes),
	(const char *prefix, size_t bytes),
	(const char *target, size_t bytes),
	(const void *data, size_t bytes),
	(const void *value, size_t bytes),
	(const void *value, size_t value_bytes)
};

%typemap(in, numinputs=0) (char *buffer, size_t room, size_t *bytes_out)
	(char text[DWARFS_LINK_BUFFER_BYTES], size_t length = 0) {
	$1 = text;
	$2 = sizeof(text);
	$3 = &length;
}
%typemap(argout) (char *buffer, size_t room, size_t *bytes_out) {
	if (result >= 0) {
		DWARFS_RESULT(script_bytes($1, *$3))
	}
}

/* Memory of the library becomes a value. */
%typemap(in, numinputs=0) (void **data_out, size_t *bytes_out)
	(void *data = NULL, size_t length = 0) {
	$1 = &data;
	$2 = &length;
}
%typemap(argout) (void **data_out, size_t *bytes_out) {
	if (result >= 0) {
		DWARFS_RESULT(script_bytes(*$1, *$2))
		dwarfs_memory_free(*$1);
	}
}

/* -- callbacks --------------------------------------------------------------------------- */

%define DWARFS_CALLBACK(type, name)
%typemap(in) (type name, void *user) {
	$2 = script_callable($input);
	$1 = $2 ? on_##name : NULL;
}
%enddef
DWARFS_CALLBACK(dwarfs_progress_fn, progress)
DWARFS_CALLBACK(dwarfs_include_fn, include)
DWARFS_CALLBACK(dwarfs_finding_fn, finding)
DWARFS_CALLBACK(dwarfs_difference_fn, difference)

/* -- left out ----------------------------------------------------------------------------- */

/* Called by threads that the interpreter does not know, or while it frees something. */
%ignore dwarfs_context_set_log;
%ignore dwarfs_io_new;
%ignore dwarfs_io_new_stream;
%ignore dwarfs_sink_new;
/* Other callbacks, and arrays. */
%ignore dwarfs_builder_set_category_callback;
%ignore dwarfs_builder_set_order_callback;
%ignore dwarfs_builder_set_filter_report;
%ignore dwarfs_archive_import_set_report;
%ignore dwarfs_archive_export_set_report;
%ignore dwarfs_image_unused_bytes;
%ignore dwarfs_prefetch;
%ignore dwarfs_io_read;
%ignore dwarfs_image_read_header;
%ignore dwarfs_read;
%ignore dwarfs_file_read; /* dwarfs_script_read() */
%ignore dwarfs_io_from_memory; /* dwarfs_script_io() */
%ignore dwarfs_link_read_raw;
%ignore dwarfs_image_created_on;
%ignore dwarfs_history_time;
%ignore dwarfs_walk_next; /* dwarfs_script_next() */
%ignore dwarfs_find; /* dwarfs_script_find() */
%rename("$ignore", regexmatch$name = "^dwarfs_(order_list|digest|salvage|stat)") "";

/* -- what the languages add ---------------------------------------------------------------- */

%{
/* Memory for a read, of the language. */
struct script_room {
	void *data;
	size_t bytes;
};
%}

/* The attributes of an entry: inode, mode, uid, gid, bytes, nlink, and mtime, atime, ctime. */
%typemap(in, numinputs=0) int64_t numbers_out[12] (int64_t numbers[12]) "$1 = numbers;"
%typemap(argout) int64_t numbers_out[12] {
	for (int i = 0; result >= 0 && i < 12; i++) {
		DWARFS_RESULT(script_signed($1[i]))
	}
}

/* An attribute, or nothing after the last one. */
%typemap(in, numinputs=0) (const char **name_out, const void **value_out, size_t *bytes_out)
	(const char *attribute, const void *contents, size_t length) {
	$1 = (char **)&attribute;
	$2 = (void **)&contents;
	$3 = &length;
}
%typemap(argout) (const char **name_out, const void **value_out, size_t *bytes_out) {
	if (result == 1) {
		DWARFS_RESULT(script_bytes(*$1, strlen(*$1)))
		DWARFS_RESULT(script_bytes(*$2, *$3))
	}
}
/* The value of one side of a difference. */
%typemap(in, numinputs=0) (const void **side_out, size_t *bytes_out)
	(const void *contents, size_t length) {
	$1 = (void **)&contents;
	$2 = &length;
}
%typemap(argout) (const void **side_out, size_t *bytes_out) {
	DWARFS_RESULT(*$1 ? script_bytes(*$1, *$2) : script_nothing())
}
/* The entry that a walk goes to, or nothing at the end. */
%typemap(in, numinputs=0) dwarfs_entry *next_out (dwarfs_entry entry) "$1 = &entry;"
%typemap(argout) dwarfs_entry *next_out {
	if (result == 1) {
		DWARFS_RESULT(script_unsigned($1->number))
	}
}

DWARFS_BLOCKING(dwarfs_script_read)

%{
/* Find the last name of a path in its directory, and follow links to that. */
static int find_last(const dwarfs_image *image, const char *path, size_t start, size_t end,
		     dwarfs_entry *entry_out)
{
	char *directory = malloc(start + 1);
	dwarfs_inode inode;
	int ret = DWARFS_ERR_NOMEM;

	if (!directory)
		return ret;
	memcpy(directory, path, start);
	directory[start] = 0;
	if ((ret = dwarfs_find_followed(image, directory, entry_out, NULL)) == 0 &&
	    (ret = dwarfs_entry_inode(image, *entry_out, &inode, NULL)) == 0)
		ret = dwarfs_dir_find(image, inode, path + start, end - start, entry_out,
				      NULL);
	free(directory);
	return ret;
}
%}

%inline %{
/* Find an entry as lstat() does: links are followed, but not one that is the last name. */
int dwarfs_script_find(const dwarfs_image *image, const char *path, dwarfs_entry *entry_out,
		       dwarfs_error **err)
{
	size_t start, end = path ? strlen(path) : 0;
	int ret;

	if (!path)
		return dwarfs_error_set(err, DWARFS_ERR_INVALID, 0, "a path is needed");
	if ((ret = dwarfs_find(image, path, entry_out, NULL)) == 0)
		return 0;
	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	if (ret == DWARFS_ERR_NOT_DIR && path[end - 1] != '.' &&
	    find_last(image, path, start, end, entry_out) == 0)
		return 0;
	return dwarfs_find_followed(image, path, entry_out, err);
}

int dwarfs_script_next(dwarfs_walk *walk, dwarfs_entry *next_out, dwarfs_error **err)
{
	return dwarfs_walk_next(walk, next_out, err);
}

int dwarfs_script_xattr(const dwarfs_image *image, dwarfs_inode inode, size_t index,
			const char **name_out, const void **value_out, size_t *bytes_out,
			dwarfs_error **err)
{
	return dwarfs_xattr_at(image, inode, index, name_out, value_out, bytes_out, err);
}

int dwarfs_script_stat(const dwarfs_image *image, dwarfs_entry entry,
		       int64_t numbers_out[12], dwarfs_error **err)
{
	static const enum dwarfs_time times[] = { DWARFS_MTIME, DWARFS_ATIME, DWARFS_CTIME };
	dwarfs_stat *stat = NULL;
	int ret;

	if ((ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_entry_stat(image, entry, stat, err)) == 0) {
		numbers_out[0] = dwarfs_stat_inode(stat).number;
		numbers_out[1] = dwarfs_stat_mode(stat);
		numbers_out[2] = dwarfs_stat_uid(stat);
		numbers_out[3] = dwarfs_stat_gid(stat);
		numbers_out[4] = (int64_t)dwarfs_stat_bytes(stat);
		numbers_out[5] = dwarfs_stat_nlink(stat);
		for (int i = 0; i < 3; i++) {
			numbers_out[6 + 2 * i] = dwarfs_stat_seconds(stat, times[i]);
			numbers_out[7 + 2 * i] = dwarfs_stat_nanoseconds(stat, times[i]);
		}
	}
	dwarfs_stat_free(stat);
	return ret;
}

/* Fewer bytes are read only at the end of the file. */
int dwarfs_script_read(const dwarfs_file *file, uint64_t offset, struct script_room *room,
		       dwarfs_error **err)
{
	return dwarfs_file_read(file, room->data, room->bytes, offset, &room->bytes, err);
}

/* A source of a copy of bytes, which any thread may free. */
int dwarfs_script_io(const void *data, size_t bytes, dwarfs_io **io_out, dwarfs_error **err)
{
	void *copy = malloc(bytes ? bytes : 1);
	int ret;

	if (!copy)
		return dwarfs_error_set(err, DWARFS_ERR_NOMEM, 0, "out of memory");
	memcpy(copy, data, bytes);
	ret = dwarfs_io_from_memory(copy, bytes, free, copy, io_out, err);
	if (ret < 0)
		free(copy);
	return ret;
}

/* Add a file with its contents. */
int dwarfs_script_add_bytes(dwarfs_builder *builder, const char *path, size_t bytes,
			    dwarfs_item *item, const void *value, size_t value_bytes,
			    dwarfs_error **err)
{
	int ret = dwarfs_item_set_memory(item, value, value_bytes, err);

	return ret < 0 ? ret : dwarfs_builder_add_item(builder, path, bytes, item, err);
}
%}
