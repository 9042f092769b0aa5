/* SPDX-License-Identifier: MIT */
/*
 * archive/libarchive: the functions of libarchive, linked or loaded; see base/machine/shared_library.h.
 *
 * libarchive takes libxml2, ICU and a library of C++ with it: linked to a program, they take half of
 * the time until its main() begins, and most programs read no archive.
 */
#ifndef DW_ARCHIVE_LIBARCHIVE_H
#define DW_ARCHIVE_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "base/machine/shared_library.h"

/* All that are used. */
#define LIBARCHIVE_FUNCTIONS(NAMED)                                                      \
	NAMED(entry_acl_add_entry, archive_entry_acl_add_entry)                          \
	NAMED(entry_acl_next, archive_entry_acl_next)                                    \
	NAMED(entry_acl_reset, archive_entry_acl_reset)                                  \
	NAMED(entry_acl_types, archive_entry_acl_types)                                  \
	NAMED(entry_atime, archive_entry_atime)                                          \
	NAMED(entry_atime_is_set, archive_entry_atime_is_set)                            \
	NAMED(entry_atime_nsec, archive_entry_atime_nsec)                                \
	NAMED(entry_birthtime, archive_entry_birthtime)                                  \
	NAMED(entry_birthtime_is_set, archive_entry_birthtime_is_set)                    \
	NAMED(entry_birthtime_nsec, archive_entry_birthtime_nsec)                        \
	NAMED(entry_clear, archive_entry_clear)                                          \
	NAMED(entry_copy_hardlink, archive_entry_copy_hardlink)                          \
	NAMED(entry_copy_pathname, archive_entry_copy_pathname)                          \
	NAMED(entry_copy_symlink, archive_entry_copy_symlink)                            \
	NAMED(entry_ctime, archive_entry_ctime)                                          \
	NAMED(entry_ctime_is_set, archive_entry_ctime_is_set)                            \
	NAMED(entry_ctime_nsec, archive_entry_ctime_nsec)                                \
	NAMED(entry_devmajor, archive_entry_devmajor)                                    \
	NAMED(entry_devminor, archive_entry_devminor)                                    \
	NAMED(entry_filetype, archive_entry_filetype)                                    \
	NAMED(entry_free, archive_entry_free)                                            \
	NAMED(entry_gid, archive_entry_gid)                                              \
	NAMED(entry_gname, archive_entry_gname)                                          \
	NAMED(entry_hardlink, archive_entry_hardlink)                                    \
	NAMED(entry_is_data_encrypted, archive_entry_is_data_encrypted)                  \
	NAMED(entry_mtime, archive_entry_mtime)                                          \
	NAMED(entry_mtime_is_set, archive_entry_mtime_is_set)                            \
	NAMED(entry_mtime_nsec, archive_entry_mtime_nsec)                                \
	NAMED(entry_new, archive_entry_new)                                              \
	NAMED(entry_new2, archive_entry_new2)                                            \
	NAMED(entry_nlink, archive_entry_nlink)                                          \
	NAMED(entry_pathname, archive_entry_pathname)                                    \
	NAMED(entry_perm, archive_entry_perm)                                            \
	NAMED(entry_rdevmajor, archive_entry_rdevmajor)                                  \
	NAMED(entry_rdevminor, archive_entry_rdevminor)                                  \
	NAMED(entry_set_atime, archive_entry_set_atime)                                  \
	NAMED(entry_set_birthtime, archive_entry_set_birthtime)                          \
	NAMED(entry_set_ctime, archive_entry_set_ctime)                                  \
	NAMED(entry_set_gid, archive_entry_set_gid)                                      \
	NAMED(entry_set_ino64, archive_entry_set_ino64)                                  \
	NAMED(entry_set_mode, archive_entry_set_mode)                                    \
	NAMED(entry_set_mtime, archive_entry_set_mtime)                                  \
	NAMED(entry_set_nlink, archive_entry_set_nlink)                                  \
	NAMED(entry_set_rdevmajor, archive_entry_set_rdevmajor)                          \
	NAMED(entry_set_rdevminor, archive_entry_set_rdevminor)                          \
	NAMED(entry_set_size, archive_entry_set_size)                                    \
	NAMED(entry_set_uid, archive_entry_set_uid)                                      \
	NAMED(entry_size, archive_entry_size)                                            \
	NAMED(entry_size_is_set, archive_entry_size_is_set)                              \
	NAMED(entry_sparse_add_entry, archive_entry_sparse_add_entry)                    \
	NAMED(entry_sparse_count, archive_entry_sparse_count)                            \
	NAMED(entry_symlink, archive_entry_symlink)                                      \
	NAMED(entry_uid, archive_entry_uid)                                              \
	NAMED(entry_uname, archive_entry_uname)                                          \
	NAMED(entry_xattr_add_entry, archive_entry_xattr_add_entry)                      \
	NAMED(entry_xattr_next, archive_entry_xattr_next)                                \
	NAMED(entry_xattr_reset, archive_entry_xattr_reset)                              \
	NAMED(error_code, archive_errno)                                                 \
	NAMED(error_string, archive_error_string)                                        \
	NAMED(filter_bytes, archive_filter_bytes)                                        \
	NAMED(filter_code, archive_filter_code)                                          \
	NAMED(filter_count, archive_filter_count)                                        \
	NAMED(format, archive_format)                                                    \
	NAMED(read_data_block, archive_read_data_block)                                  \
	NAMED(read_free, archive_read_free)                                              \
	NAMED(read_header_position, archive_read_header_position)                        \
	NAMED(read_new, archive_read_new)                                                \
	NAMED(read_next_header, archive_read_next_header)                                \
	NAMED(read_open1, archive_read_open1)                                            \
	NAMED(read_open_memory, archive_read_open_memory)                                \
	NAMED(read_set_callback_data, archive_read_set_callback_data)                    \
	NAMED(read_set_format_option, archive_read_set_format_option)                    \
	NAMED(read_set_read_callback, archive_read_set_read_callback)                    \
	NAMED(read_set_seek_callback, archive_read_set_seek_callback)                    \
	NAMED(read_set_skip_callback, archive_read_set_skip_callback)                    \
	NAMED(read_support_filter_bzip2, archive_read_support_filter_bzip2)              \
	NAMED(read_support_filter_compress, archive_read_support_filter_compress)        \
	NAMED(read_support_filter_gzip, archive_read_support_filter_gzip)                \
	NAMED(read_support_filter_lz4, archive_read_support_filter_lz4)                  \
	NAMED(read_support_filter_lzip, archive_read_support_filter_lzip)                \
	NAMED(read_support_filter_lzma, archive_read_support_filter_lzma)                \
	NAMED(read_support_filter_lzop, archive_read_support_filter_lzop)                \
	NAMED(read_support_filter_rpm, archive_read_support_filter_rpm)                  \
	NAMED(read_support_filter_uu, archive_read_support_filter_uu)                    \
	NAMED(read_support_filter_xz, archive_read_support_filter_xz)                    \
	NAMED(read_support_filter_zstd, archive_read_support_filter_zstd)                \
	NAMED(read_support_format_7zip, archive_read_support_format_7zip)                \
	NAMED(read_support_format_ar, archive_read_support_format_ar)                    \
	NAMED(read_support_format_cab, archive_read_support_format_cab)                  \
	NAMED(read_support_format_cpio, archive_read_support_format_cpio)                \
	NAMED(read_support_format_gnutar, archive_read_support_format_gnutar)            \
	NAMED(read_support_format_iso9660, archive_read_support_format_iso9660)          \
	NAMED(read_support_format_lha, archive_read_support_format_lha)                  \
	NAMED(read_support_format_mtree, archive_read_support_format_mtree)              \
	NAMED(read_support_format_rar, archive_read_support_format_rar)                  \
	NAMED(read_support_format_rar5, archive_read_support_format_rar5)                \
	NAMED(read_support_format_raw, archive_read_support_format_raw)                  \
	NAMED(read_support_format_tar, archive_read_support_format_tar)                  \
	NAMED(read_support_format_warc, archive_read_support_format_warc)                \
	NAMED(read_support_format_xar, archive_read_support_format_xar)                  \
	NAMED(read_support_format_zip, archive_read_support_format_zip)                  \
	NAMED(set_error, archive_set_error)                                              \
	NAMED(write_add_filter_by_name, archive_write_add_filter_by_name)                \
	NAMED(write_close, archive_write_close)                                          \
	NAMED(write_data, archive_write_data)                                            \
	NAMED(write_fail, archive_write_fail)                                            \
	NAMED(write_finish_entry, archive_write_finish_entry)                            \
	NAMED(write_free, archive_write_free)                                            \
	NAMED(write_header, archive_write_header)                                        \
	NAMED(write_new, archive_write_new)                                              \
	NAMED(write_open2, archive_write_open2)                                          \
	NAMED(write_set_bytes_in_last_block, archive_write_set_bytes_in_last_block)      \
	NAMED(write_set_bytes_per_block, archive_write_set_bytes_per_block)              \
	NAMED(write_set_format_by_name, archive_write_set_format_by_name)                \
	NAMED(write_set_format_option, archive_write_set_format_option)                  \
	NAMED(write_set_format_raw, archive_write_set_format_raw)                        \
	NAMED(write_set_options, archive_write_set_options)

struct libarchive {
	LIBARCHIVE_FUNCTIONS(DW_SYMBOL_MEMBER)
};

/* The table of functions for one handle, to be released with it. UNSUPPORTED as DW_FILL_SYMBOLS(). */
int dw_libarchive_new(const struct libarchive **la_out, dwarfs_error **err);
void dw_libarchive_free(const struct libarchive *la); /* NULL does nothing */

#endif
