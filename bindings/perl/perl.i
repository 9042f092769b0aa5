/* SPDX-License-Identifier: MIT */
/*
 * What Perl makes of the C API: the functions of the package Dwarfs::Native, which only
 * Dwarfs.pm uses. Exceptions are objects of the class Dwarfs::Error. Strings are bytes: one
 * with wide characters is refused. Files are file handles: file.i.
 */
%{
#include <stdlib.h>
#include <string.h>

#define script_bytes(data, bytes) sv_2mortal(newSVpvn((const char *)(data), (bytes)))
#define script_unsigned(number) sv_2mortal(newSVuv(number))
#define script_signed(number) sv_2mortal(newSViv(number))
#define script_nothing() (&PL_sv_undef)
#define script_pointer(pointer, type) SWIG_NewPointerObj(pointer, type, 0)
#define script_callable(sv) (SvROK(sv) ? (void *)SvRV(sv) : NULL)
#define script_fail(err, code)                                                            \
	do {                                                                              \
		set_error(aTHX_ err, code);                                               \
		SWIG_fail;                                                                \
	} while (0)
#define script_refuse(message)                                                            \
	do {                                                                              \
		set_failure(aTHX_ DWARFS_ERR_INVALID, message, NULL, NULL, 0);            \
		SWIG_fail;                                                                \
	} while (0)

/* Make $@ a Dwarfs::Error. path and offset may be NULL. */
static void set_failure(pTHX_ int code, const char *message, const char *path,
			const uint64_t *offset, int errnum)
{
	HV *fields = newHV();
	SV *object = sv_2mortal(newRV_noinc((SV *)fields));

	(void)hv_stores(fields, "code", newSViv(code));
	(void)hv_stores(fields, "message", newSVpv(message, 0));
	(void)hv_stores(fields, "path", path ? newSVpv(path, 0) : newSV(0));
	(void)hv_stores(fields, "offset", offset ? newSVuv(*offset) : newSV(0));
	(void)hv_stores(fields, "errno", newSViv(errnum));
	sv_bless(object, gv_stashpv("Dwarfs::Error", GV_ADD));
	sv_setsv(ERRSV, object);
}

/* What a callback died with, until the library has returned; undef if none did. */
static SV *pending_failure(pTHX)
{
	return get_sv("Dwarfs::Native::failure", GV_ADD);
}

/* Free err, and die with what a callback died with, if one did. */
static void raise_pending(pTHX_ dwarfs_error *err)
{
	SV *failure = pending_failure(aTHX);
	SV *copy;

	if (!SvOK(failure))
		return;
	dwarfs_error_free(err);
	copy = sv_mortalcopy(failure);
	sv_setsv(failure, &PL_sv_undef);
	croak_sv(copy);
}

/* Make $@ the error of the library, which is freed. */
static void set_error(pTHX_ dwarfs_error *err, int code)
{
	uint64_t offset;
	bool has_offset = dwarfs_error_offset(err, &offset);

	set_failure(aTHX_ code, err ? dwarfs_error_message(err) : dwarfs_strerror(code),
		    dwarfs_error_path(err), has_offset ? &offset : NULL,
		    dwarfs_error_errno(err));
	dwarfs_error_free(err);
}

/* Bytes without a NUL, for C; NULL if there is one. */
static const char *get_string(pTHX_ SV *sv)
{
	STRLEN bytes;
	const char *text = SvPVbyte(sv, bytes);

	return memchr(text, 0, bytes) ? NULL : text;
}

/* An integer from 0 to most. Other values, also NaN and text, are refused. */
static bool get_number(pTHX_ SV *sv, UV most, UV *number)
{
	NV value;

	SvGETMAGIC(sv);
	if (!SvOK(sv) || SvROK(sv) || !looks_like_number(sv))
		return false;
	value = SvNV_nomg(sv);
	if (!(value >= 0) || value > (NV)most)
		return false;
	*number = SvUV_nomg(sv);
	return *number <= most;
}

/* A string with room for a number of bytes; NULL without memory, which would end Perl. */
static SV *new_room(pTHX_ size_t bytes)
{
	void *probe = malloc(bytes + 1);
	SV *string;

	if (!probe)
		return NULL;
	free(probe);
	string = sv_2mortal(newSV(bytes + 1));
	SvPOK_only(string);
	return string;
}

/*
 * Call with arguments that are mortal. Returns an integer, or DWARFS_ERR_CANCELLED. A stack of
 * its own makes last, next and goto out of the callable errors, as they are in sort.
 */
static int call_perl(pTHX_ SV *callable, SV *const *arguments, int count)
{
	int result = DWARFS_ERR_CANCELLED;
	SV *value;
	dSP;

	if (SvOK(pending_failure(aTHX)))
		return result;
	PUSHSTACKi(PERLSI_MAGIC);
	PUSHMARK(SP);
	EXTEND(SP, count);
	for (int i = 0; i < count; i++)
		PUSHs(arguments[i]);
	PUTBACK;
	call_sv(callable, G_SCALAR | G_EVAL);
	SPAGAIN;
	value = POPs;
	PUTBACK;
	if (SvROK(ERRSV) || SvTRUE(ERRSV))
		sv_setsv(pending_failure(aTHX), ERRSV);
	else
		result = (int)SvIV(value);
	POPSTACK;
	return result;
}

/* The layer catches exceptions of callbacks, but not those of a signal handler in between. */
static int call_with_handle(void *user, void *handle, swig_type_info *type,
			    dwarfs_error **err)
{
	dTHX;
	SV *argument;
	int ret;

	ENTER;
	SAVETMPS;
	argument = SWIG_NewPointerObj(handle, type, 0);
	ret = call_perl(aTHX_ user, &argument, 1);
	FREETMPS;
	LEAVE;
	if (ret < 0)
		return dwarfs_error_set(err, DWARFS_ERR_CANCELLED, 0, "a callback failed");
	return ret;
}

static void call_finding(void *user, int severity, int code, int64_t section,
			 const char *message)
{
	dTHX;
	SV *arguments[4];

	ENTER;
	SAVETMPS;
	arguments[0] = script_signed(severity);
	arguments[1] = script_signed(code);
	arguments[2] = script_signed(section);
	arguments[3] = script_bytes(message, strlen(message));
	call_perl(aTHX_ user, arguments, 4);
	FREETMPS;
	LEAVE;
}
%}

/* The stack pointer of the wrapper is from before the call, which may have moved the stack. */
%define DWARFS_RESULT(value)
	{
		SV *one = value;
		SV **top = PL_stack_sp;

		EXTEND(top, argvi + 1);
		PERL_UNUSED_VAR(top);
		ST(argvi) = one;
		argvi++;
	}
%enddef

%define DWARFS_ERROR(err)
	raise_pending(aTHX_ err);
	if (result < 0)
		script_fail(err, result);
	dwarfs_error_free(err);
%enddef

%typemap(in) const char * {
	$1 = NULL;
	if (SvOK($input) && !($1 = ($1_ltype)get_string(aTHX_ $input)))
		script_refuse("a string with a NUL byte");
}
%typemap(freearg) const char * ""
%typemap(in) (const char *name, size_t bytes) {
	STRLEN length;

	$1 = ($1_ltype)SvPVbyte($input, length);
	$2 = length;
}
%typemap(freearg) (const char *name, size_t bytes) ""
%typemap(in) dwarfs_entry, dwarfs_inode {
	UV number;

	if (!get_number(aTHX_ $input, UINT32_MAX, &number))
		script_refuse("an entry or an inode is a number of at most 32 bits");
	$1.number = (uint32_t)number;
}

/* A number of bytes; the result is a string with those that were read. */
%typemap(in) struct script_room *room (struct script_room memory, SV *string) {
	UV number;

	if (!get_number(aTHX_ $input, PTRDIFF_MAX / 2, &number))
		script_refuse("not a number of bytes");
	memory.bytes = number;
	string = new_room(aTHX_ memory.bytes);
	if (!string)
		script_fail(NULL, DWARFS_ERR_NOMEM);
	memory.data = SvPVX(string);
	$1 = &memory;
}
%typemap(argout) struct script_room *room {
	if (result >= 0) {
		SvCUR_set(string$argnum, $1->bytes);
		*SvEND(string$argnum) = 0;
		DWARFS_RESULT(string$argnum)
	}
}

%include "perl/file.i"
%include "script.i"

%typemap(argout) dwarfs_file **file_out {
	if (result >= 0) {
		DWARFS_RESULT(new_file_handle(aTHX_ *$1))
	}
}
