/* SPDX-License-Identifier: MIT */
/*
 * Files of an image as file handles of Perl.
 *
 * A handle is a glob of the class Dwarfs::File, with the layers ":Dwarfs:perlio": the first
 * reads by the library and owns the file, the second is Perl's own buffer. So <$file>, $/, read,
 * getc, eof, seek, tell, binmode and :encoding are those of Perl. A read that fails dies with
 * a Dwarfs::Error. There is no file descriptor: fileno is -1, and the operator sysread fails.
 */
%{
#include <errno.h>
#include <perliol.h>

struct layer {
	struct _PerlIO base;
	PerlIO *top; /* of the layers of the handle */
	dwarfs_file *file;
	uint64_t position;
};

/* $Dwarfs::handles */
static void count_handle(pTHX_ int change)
{
	SV *count;

	if (PL_phase == PERL_PHASE_DESTRUCT)
		return;
	count = get_sv("Dwarfs::handles", GV_ADD);
	sv_setiv(count, SvIV(count) + change);
}

static IV layer_popped(pTHX_ PerlIO *f)
{
	struct layer *layer = PerlIOSelf(f, struct layer);

	if (layer->file)
		count_handle(aTHX_ -1);
	dwarfs_file_free(layer->file);
	layer->file = NULL;
	return 0;
}

static IV layer_fileno(pTHX_ PerlIO *f)
{
	PERL_UNUSED_ARG(f);
	return -1;
}

/* A new thread gets closed handles: each file is freed by the thread that opened it. */
static PerlIO *layer_dup(pTHX_ PerlIO *f, PerlIO *o, CLONE_PARAMS *param, int flags)
{
	PERL_UNUSED_ARG(f);
	PERL_UNUSED_ARG(o);
	PERL_UNUSED_ARG(param);
	PERL_UNUSED_ARG(flags);
	errno = EBADF;
	return NULL;
}

static SSize_t layer_read(pTHX_ PerlIO *f, void *buffer, Size_t bytes)
{
	struct layer *layer = PerlIOSelf(f, struct layer);
	dwarfs_error *err = NULL;
	size_t done = 0;
	int ret = dwarfs_file_read(layer->file, buffer, bytes, layer->position, &done, &err);

	if (ret < 0) {
		PerlIOBase(f)->flags |= PERLIO_F_ERROR;
		PerlIOBase(layer->top)->flags |= PERLIO_F_ERROR;
		set_error(aTHX_ err, ret);
		croak(NULL);
	}
	if (done == 0 && bytes > 0)
		PerlIOBase(f)->flags |= PERLIO_F_EOF;
	layer->position += done;
	return (SSize_t)done;
}

static IV layer_seek(pTHX_ PerlIO *f, Off_t offset, int whence)
{
	struct layer *layer = PerlIOSelf(f, struct layer);
	uint64_t from = whence == SEEK_CUR   ? layer->position
			: whence == SEEK_END ? dwarfs_file_bytes(layer->file)
					     : 0;

	if ((whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) ||
	    (offset < 0 ? from < -(uint64_t)offset : from + (uint64_t)offset > INT64_MAX)) {
		errno = EINVAL;
		return -1;
	}
	layer->position = from + (uint64_t)offset;
	PerlIOBase(f)->flags &= ~PERLIO_F_EOF;
	return 0;
}

static Off_t layer_tell(pTHX_ PerlIO *f)
{
	return (Off_t)PerlIOSelf(f, struct layer)->position;
}

static IV layer_flush(pTHX_ PerlIO *f)
{
	PERL_UNUSED_ARG(f);
	return 0;
}

static PERLIO_FUNCS_DECL(layer_functions) = {
	.fsize = sizeof(PerlIO_funcs),
	.name = (char *)"Dwarfs",
	.size = sizeof(struct layer),
	.kind = PERLIO_K_RAW,
	.Pushed = PerlIOBase_pushed,
	.Popped = layer_popped,
	.Binmode = PerlIOBase_binmode,
	.Fileno = layer_fileno,
	.Dup = layer_dup,
	.Read = layer_read,
	.Seek = layer_seek,
	.Tell = layer_tell,
	.Close = PerlIOBase_close,
	.Flush = layer_flush,
	.Fill = PerlIOBase_noop_fail,
	.Eof = PerlIOBase_eof,
	.Error = PerlIOBase_error,
	.Clearerr = PerlIOBase_clearerr,
	.Setlinebuf = PerlIOBase_setlinebuf,
};

/* A handle that owns a file; undef without memory, and then the file is freed. */
static SV *new_file_handle(pTHX_ dwarfs_file *file)
{
	PerlIO *f = PerlIO_allocate(aTHX);
	GV *gv = (GV *)newSV(0);
	SV *handle = sv_2mortal(newRV_noinc((SV *)gv));

	if (!f || !PerlIO_push(aTHX_ f, PERLIO_FUNCS_CAST(&layer_functions), "r", NULL)) {
		dwarfs_file_free(file);
		return &PL_sv_undef;
	}
	PerlIOSelf(f, struct layer)->top = f;
	PerlIOSelf(f, struct layer)->file = file;
	count_handle(aTHX_ 1);
	PerlIO_push(aTHX_ f, PERLIO_FUNCS_CAST(&PerlIO_perlio), "r", NULL);
	gv_init_pvn(gv, gv_stashpvs("Dwarfs::File", GV_ADD), "__ANONIO__", 10, 0);
	IoIFP(GvIOn(gv)) = f;
	IoTYPE(GvIOp(gv)) = IoTYPE_RDONLY;
	return sv_bless(handle, gv_stashpvs("Dwarfs::File", GV_ADD));
}

/* The file of a handle; NULL if it is closed. */
static bool get_file(pTHX_ SV *sv, dwarfs_file **file_out)
{
	IO *io;
	PerlIO *f;

	*file_out = NULL;
	if (!SvROK(sv) || !isGV_with_GP(SvRV(sv)) || !sv_derived_from(sv, "Dwarfs::File"))
		return false;
	io = GvIO((GV *)SvRV(sv));
	for (f = io ? IoIFP(io) : NULL; f && PerlIOValid(f); f = PerlIONext(f))
		if (PerlIOBase(f)->tab == PERLIO_FUNCS_CAST(&layer_functions))
			*file_out = PerlIOSelf(f, struct layer)->file;
	return true;
}
%}

%typemap(in) dwarfs_file *, const dwarfs_file * {
	dwarfs_file *file;

	if (!get_file(aTHX_ $input, &file))
		script_refuse("not a file of an image");
	$1 = ($1_ltype)file;
}
/* The handle frees it. */
%ignore dwarfs_file_free;
