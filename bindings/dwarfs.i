/* SPDX-License-Identifier: MIT */
/*
 * The C API for scripting languages: the headers as they are, with owners for the handles.
 *
 * Every language gets the same flat functions. What a language needs to turn arguments,
 * results, errors and callbacks into its own (typemaps) is in a file of its own, which
 * defines DWARFS_BLOCKING(declaration) for calls that may take long and must not hold the
 * interpreter. A readable layer on top is written in the language itself.
 */
%module dwarfs

%{
#include <dwarfs/dwarfs.h>
%}

%include <stdint.i>

#ifdef SWIGJAVA
%include "java/java.i"
#endif
#ifdef SWIGPYTHON
%include "python/python.i"
#endif
#ifdef SWIGPERL
%include "perl/perl.i"
#endif
#ifdef SWIGRUBY
%include "ruby/ruby.i"
#endif
#ifdef SWIGLUA
%include "lua/lua.i"
#endif

/* Handles are opaque. The one that a function returns is freed with its owner. */
%nodefaultctor;
#ifndef DWARFS_HANDLE
%define DWARFS_SMALL_HANDLE(name)
struct name {};
%extend name {
	~name()
	{
		name##_free($self);
	}
};
%ignore name##_free;
%enddef
/* It may be the last one that refers to an image or a context, which takes longer to free. */
%define DWARFS_HANDLE(name)
DWARFS_BLOCKING(name::~name)
DWARFS_SMALL_HANDLE(name)
%enddef
#else
%define DWARFS_SMALL_HANDLE(name)
DWARFS_HANDLE(name)
%enddef
#endif

DWARFS_HANDLE(dwarfs_context)
DWARFS_HANDLE(dwarfs_io)
DWARFS_HANDLE(dwarfs_sink)
DWARFS_HANDLE(dwarfs_task)
DWARFS_HANDLE(dwarfs_digest)
DWARFS_HANDLE(dwarfs_image_options)
DWARFS_HANDLE(dwarfs_image)
DWARFS_HANDLE(dwarfs_history)
DWARFS_SMALL_HANDLE(dwarfs_stat)
DWARFS_HANDLE(dwarfs_walk)
DWARFS_HANDLE(dwarfs_file)
DWARFS_HANDLE(dwarfs_builder)
DWARFS_HANDLE(dwarfs_item)
DWARFS_HANDLE(dwarfs_extract)
DWARFS_HANDLE(dwarfs_compare)
DWARFS_HANDLE(dwarfs_archive_import)
DWARFS_HANDLE(dwarfs_archive_export)
#ifdef DWARFS_NULLABLE
DWARFS_NULLABLE(dwarfs_context *context)
DWARFS_NULLABLE(const dwarfs_image_options *options)
DWARFS_NULLABLE(const dwarfs_task *task)
#endif

/* dwarfs_composed_value(); in Python a difference is the arguments of a callback. */
%ignore dwarfs_difference_value;
/* What has no names is for programs that know what they look for. */
%ignore dwarfs_salvage_blocks;
%ignore dwarfs_salvage_blocks_io;

/* An entry and an inode are numbers in every language. */
%ignore dwarfs_entry;
%ignore dwarfs_inode;
%ignore dwarfs_entry_at;
%ignore dwarfs_inode_at;

/* Errors become exceptions, so no error objects are exposed. */
%ignore dwarfs_error_code;
%ignore dwarfs_error_message;
%ignore dwarfs_error_path;
%ignore dwarfs_error_offset;
%ignore dwarfs_error_errno;
%ignore dwarfs_error_free;
%ignore dwarfs_error_set;
/* Structs of pointers, and memory that is freed by its owner. */
%ignore dwarfs_io_range;
%ignore dwarfs_io_set_read_many;
%ignore dwarfs_iovec;
%ignore dwarfs_file_readv;
%ignore dwarfs_memory_free;
%ignore dwarfs_context_new_with_allocator;

/* Bytes of the library where they are: not for a language that keeps what it gets. */
%ignore dwarfs_borrowed;
%ignore dwarfs_file_borrow;
%ignore dwarfs_borrowed_count;
%ignore dwarfs_borrowed_part;
%ignore dwarfs_borrowed_bytes;
%ignore dwarfs_borrowed_free;
%ignore dwarfs_read_in_order;
/* Callbacks come from threads that no interpreter knows. */
%ignore dwarfs_part;
%ignore dwarfs_part_inode;
%ignore dwarfs_part_file_bytes;
%ignore dwarfs_part_is_last;
%ignore dwarfs_part_count;
%ignore dwarfs_part_piece;
%ignore dwarfs_read_parallel;
%ignore dwarfs_read_parallel_threads;
%ignore dwarfs_context_set_span;
/* What a language gives must be there when the item is added: each has its own way. */
%ignore dwarfs_item_set_memory;
%ignore dwarfs_item_set_reader;
/* Columns and tables as they are stored: dwarfsck exports them as JSON. */
%ignore dwarfs_metadata;
%ignore dwarfs_metadata_new;
%ignore dwarfs_metadata_free;
%ignore dwarfs_metadata_next;
%ignore dwarfs_metadata_skip;
%ignore dwarfs_metadata_leave;
%ignore dwarfs_metadata_depth;
%ignore dwarfs_metadata_name;
%ignore dwarfs_metadata_field;
%ignore dwarfs_metadata_type;
%ignore dwarfs_metadata_number;
%ignore dwarfs_metadata_count;
%ignore dwarfs_metadata_bytes;
%ignore dwarfs_metadata_bits;
%ignore dwarfs_metadata_position;
%ignore dwarfs_metadata_layout;
%ignore dwarfs_metadata_total_bytes;
%ignore dwarfs_schema_count;
%ignore dwarfs_schema_root;
%ignore dwarfs_schema_layout;
%ignore dwarfs_schema_field;
/* Names and values of attributes: each language has a way of its own to give them. */
%ignore dwarfs_xattr_list;
%ignore dwarfs_xattr_get;
%ignore dwarfs_xattr_at;
%ignore dwarfs_image_xattr_name;
/* The run does the same, and says in the log what it leaves out. */
%ignore dwarfs_builder_resolve_links;
/* Quantiles say enough there. */
%ignore dwarfs_context_latency_bucket;

/* Whatever reads, writes, compresses, waits or may write to the log. */
DWARFS_BLOCKING(dwarfs_io_open)
DWARFS_BLOCKING(dwarfs_io_from_fd)
DWARFS_BLOCKING(dwarfs_io_read)
DWARFS_BLOCKING(dwarfs_image_open)
DWARFS_BLOCKING(dwarfs_image_open_io)
DWARFS_BLOCKING(dwarfs_image_read_header)
DWARFS_BLOCKING(dwarfs_image_section)
DWARFS_BLOCKING(dwarfs_image_check)
DWARFS_BLOCKING(dwarfs_history_new)
DWARFS_BLOCKING(dwarfs_walk_new)
DWARFS_BLOCKING(dwarfs_read)
DWARFS_BLOCKING(dwarfs_load)
DWARFS_BLOCKING(dwarfs_file_open)
DWARFS_BLOCKING(dwarfs_file_read)
DWARFS_BLOCKING(dwarfs_file_seek_data)
DWARFS_BLOCKING(dwarfs_file_seek_hole)
DWARFS_BLOCKING(dwarfs_prefetch)
DWARFS_BLOCKING(dwarfs_context_trim)
DWARFS_BLOCKING(dwarfs_digest_update)
DWARFS_BLOCKING(dwarfs_builder_add_directory)
DWARFS_BLOCKING(dwarfs_builder_add_item)
DWARFS_BLOCKING(dwarfs_builder_add_tree)
DWARFS_BLOCKING(dwarfs_builder_add_image)
DWARFS_BLOCKING(dwarfs_rewrite)
DWARFS_BLOCKING(dwarfs_builder_scan)
DWARFS_BLOCKING(dwarfs_builder_write_path)
DWARFS_BLOCKING(dwarfs_builder_write)
DWARFS_BLOCKING(dwarfs_sink_open)
DWARFS_BLOCKING(dwarfs_extract_to_directory)
DWARFS_BLOCKING(dwarfs_compare_set_path)
DWARFS_BLOCKING(dwarfs_compare_run)
DWARFS_BLOCKING(dwarfs_archive_import_path)
DWARFS_BLOCKING(dwarfs_archive_import_io)
DWARFS_BLOCKING(dwarfs_archive_export_to_path)
DWARFS_BLOCKING(dwarfs_archive_export_write)

/* Their values are no constants that SWIG could read. */
%ignore DWARFS_OFFSET_AUTO;
%ignore DWARFS_SIZE_AUTO;
%ignore DWARFS_ROOT_ENTRY;
%ignore DWARFS_ROOT_INODE;
%ignore DWARFS_BEGIN_DECLS;
%ignore DWARFS_END_DECLS;
%ignore DWARFS_API;
%ignore DWARFS_MAKE_VERSION;
%ignore DWARFS_VERSION_NUMBER;

%include <dwarfs/api.h>
%include <dwarfs/error.h>
%include <dwarfs/context.h>
%include <dwarfs/io.h>
%include <dwarfs/sink.h>
%include <dwarfs/progress.h>
%include <dwarfs/digest.h>
%include <dwarfs/image.h>
%include <dwarfs/walk.h>
%include <dwarfs/xattr.h>
%include <dwarfs/file.h>
%include <dwarfs/builder.h>
%include <dwarfs/item.h>
%include <dwarfs/rewrite.h>
%include <dwarfs/extract.h>
%include <dwarfs/salvage.h>
%include <dwarfs/compare.h>
%include <dwarfs/archive.h>
#ifndef SWIGPYTHON
%include "composed.i"
#endif
