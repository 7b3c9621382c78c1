#ifndef SWIFT_REMOTE_SETTINGS_CARCHIVE_H
#define SWIFT_REMOTE_SETTINGS_CARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

/* libarchive, loaded at the first archive instead of with the program: it brings nine libraries with it, which cost a
   process that reads no archive 2 ms, a tenth of a refresh that finds nothing new. */

#define RS_ARCHIVE_FUNCTIONS(F)                                                                                       \
    F(archive_entry_clear)                                                                                            \
    F(archive_entry_filetype)                                                                                         \
    F(archive_entry_free)                                                                                             \
    F(archive_entry_hardlink)                                                                                         \
    F(archive_entry_is_encrypted)                                                                                     \
    F(archive_entry_new)                                                                                              \
    F(archive_entry_pathname)                                                                                         \
    F(archive_entry_pathname_utf8)                                                                                    \
    F(archive_entry_set_filetype)                                                                                     \
    F(archive_entry_set_gid)                                                                                          \
    F(archive_entry_set_mtime)                                                                                        \
    F(archive_entry_set_pathname_utf8)                                                                                \
    F(archive_entry_set_perm)                                                                                         \
    F(archive_entry_set_size)                                                                                         \
    F(archive_entry_set_uid)                                                                                          \
    F(archive_entry_size)                                                                                             \
    F(archive_entry_size_is_set)                                                                                      \
    F(archive_entry_symlink)                                                                                          \
    F(archive_error_string)                                                                                           \
    F(archive_filter_bytes)                                                                                           \
    F(archive_filter_count)                                                                                           \
    F(archive_format)                                                                                                 \
    F(archive_read_data)                                                                                              \
    F(archive_read_free)                                                                                              \
    F(archive_read_new)                                                                                               \
    F(archive_read_next_header)                                                                                       \
    F(archive_read_open_filename)                                                                                     \
    F(archive_read_support_filter_gzip)                                                                               \
    F(archive_read_support_filter_xz)                                                                                 \
    F(archive_read_support_filter_zstd)                                                                               \
    F(archive_read_support_format_7zip)                                                                               \
    F(archive_read_support_format_ar)                                                                                 \
    F(archive_read_support_format_raw)                                                                                \
    F(archive_read_support_format_tar)                                                                                \
    F(archive_read_support_format_zip_seekable)                                                                       \
    F(archive_write_add_filter_xz)                                                                                    \
    F(archive_write_add_filter_zstd)                                                                                  \
    F(archive_write_close)                                                                                            \
    F(archive_write_data)                                                                                             \
    F(archive_write_fail)                                                                                             \
    F(archive_write_finish_entry)                                                                                     \
    F(archive_write_free)                                                                                             \
    F(archive_write_header)                                                                                           \
    F(archive_write_new)                                                                                              \
    F(archive_write_open)                                                                                             \
    F(archive_write_set_bytes_in_last_block)                                                                          \
    F(archive_write_set_filter_option)                                                                                \
    F(archive_write_set_format_option)                                                                                \
    F(archive_write_set_format_pax_restricted)

#define RS_ARCHIVE_FIELD(name) __typeof__(&name) _Nonnull name;

/* libarchive's functions, each under its own name. */
struct rs_archive {
    RS_ARCHIVE_FUNCTIONS(RS_ARCHIVE_FIELD)
};

/* Loads libarchive, once and for all threads. Returns NULL and sets the problem where that cannot be done. */
const struct rs_archive *_Nullable rs_archive_load(const char *_Nullable *_Nonnull problem);

#endif
