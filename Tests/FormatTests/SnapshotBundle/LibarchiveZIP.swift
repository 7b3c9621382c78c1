import CArchive
import RemoteSettingsModel
import Testing

/// A ZIP file written by libarchive with machine-independent settings, as a reference for bundles.
enum LibarchiveZIP {
    struct Entry {
        var name: String
        var content: [UInt8]
        var isStored: Bool
    }

    struct Failure: Error {
        let text: String
    }

    static func write(_ entries: [Entry], to path: String) throws {
        let archive = try unsafe #require(archive_write_new())
        let entry = try unsafe #require(archive_entry_new())
        defer {
            unsafe archive_entry_free(entry)
            _ = unsafe archive_write_free(archive)
        }
        func check(_ status: Int32) throws {
            guard status == ARCHIVE_OK else {
                throw Failure(text: unsafe archive_error_string(archive).map { unsafe String(cString: $0) } ?? "?")
            }
        }
        try check(unsafe archive_write_set_format_zip(archive))
        try check(unsafe archive_write_set_format_option(archive, "zip", "hdrcharset", "UTF-8"))
        try check(unsafe archive_write_set_format_option(archive, "zip", "compression-level", "9"))
        try check(unsafe archive_write_set_bytes_in_last_block(archive, 1))
        try check(unsafe archive_write_open_filename(archive, path))
        for each in entries {
            try check(
                unsafe each.isStored
                    ? archive_write_zip_set_compression_store(archive)
                    : archive_write_zip_set_compression_deflate(archive))
            _ = unsafe archive_entry_clear(entry)
            unsafe archive_entry_set_pathname_utf8(entry, each.name)
            unsafe archive_entry_set_filetype(entry, 0o100000)
            unsafe archive_entry_set_perm(entry, 0o644)
            unsafe archive_entry_set_uid(entry, 0)
            unsafe archive_entry_set_gid(entry, 0)
            unsafe archive_entry_set_size(entry, la_int64_t(each.content.count))
            try check(unsafe archive_write_header(archive, entry))
            let written = unsafe each.content.withUnsafeBytes {
                unsafe archive_write_data(archive, $0.baseAddress, $0.count)
            }
            guard written == each.content.count else { throw Failure(text: "\(written) bytes written") }
            try check(unsafe archive_write_finish_entry(archive))
        }
        try check(unsafe archive_write_close(archive))
    }
}
