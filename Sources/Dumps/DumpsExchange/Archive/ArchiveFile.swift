import CArchive
import RemoteSettingsModel
import SnapshotBundle

/// An untrusted archive file, read with libarchive: ZIP, tar, 7z or ar, compressed with gzip, xz or zstd.
///
/// It owns libarchive's state and frees it. It must not be shared between threads.
@safe
final class ArchiveFile {
    struct Entry {
        enum Kind {
            case file
            case directory
            case link
            case other
        }

        /// The name in the archive, unchecked.
        let name: String
        let kind: Kind
        /// The size in bytes stated in the archive; `nil` if there is none.
        let size: Int?
    }

    enum Format {
        case archive
        /// A compressed stream with any content.
        case stream
    }

    /// The number of decompressed bytes read so far.
    var position: Int { unsafe Int(clamping: archive_filter_bytes(archive, 0)) }

    /// Whether skipped entries are decompressed too, because later entries depend on them.
    var isSolid: Bool { unsafe archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK == ARCHIVE_FORMAT_7ZIP }

    private let archive: OpaquePointer
    private let path: String
    private(set) var isCompressed = false

    init(_ path: String, as format: Format) throws(Failure) {
        self.path = path
        guard let archive = unsafe archive_read_new() else {
            throw .unreadable(path, found: "not enough memory to read the archive")
        }
        unsafe self.archive = archive
        let supported: [Int32] =
            switch format {
            // Read ZIP files with seeking, because libarchive then uses the central directory. As a stream, a
            // truncated file would look complete.
            case .archive:
                unsafe [
                    archive_read_support_format_zip_seekable(archive),
                    archive_read_support_format_tar(archive),
                    archive_read_support_format_7zip(archive), archive_read_support_format_ar(archive),
                ]
            case .stream: unsafe [archive_read_support_format_raw(archive)]
            }
        let filters = unsafe [
            archive_read_support_filter_gzip(archive), archive_read_support_filter_xz(archive),
            archive_read_support_filter_zstd(archive),
        ]
        guard (supported + filters).allSatisfy({ $0 == ARCHIVE_OK }),
            unsafe archive_read_open_filename(archive, path, 256 << 10) == ARCHIVE_OK
        else { throw damaged(nil) }
    }

    deinit { _ = unsafe archive_read_free(archive) }

    /// Whether a file begins like an archive. Does I/O.
    static func isArchive(_ path: String) -> Bool {
        (try? ArchiveFile(path, as: .archive).next()) != nil
    }

    /// Reads the next entry; returns `nil` after the last one.
    func next() throws(Failure) -> Entry? {
        var entry: OpaquePointer?
        let status = unsafe archive_read_next_header(archive, &entry)
        isCompressed = unsafe archive_filter_count(archive) > 1
        if status == ARCHIVE_EOF { return nil }
        // Accept warnings: libarchive warns about a name that the locale's encoding cannot express, which is harmless.
        guard status == ARCHIVE_OK || status == ARCHIVE_WARN, let entry = unsafe entry else { throw damaged(nil) }
        guard let text = unsafe archive_entry_pathname(entry) ?? archive_entry_pathname_utf8(entry),
            let name = unsafe String(validatingCString: text)
        else { throw Failure(.malformed, file: path, found: "the name of an entry is not in UTF-8") }
        let isLink = unsafe archive_entry_symlink(entry) != nil || archive_entry_hardlink(entry) != nil
        let type = unsafe archive_entry_filetype(entry)
        guard unsafe archive_entry_is_encrypted(entry) == 0 else {
            throw Failure(.malformed, file: path, entry: name, found: "encrypted entries are not supported")
        }
        let isSizeKnown = unsafe archive_entry_size_is_set(entry) != 0
        return Entry(
            name: name,
            kind: isLink || type == 0o120000
                ? .link : type == 0o100000 ? .file : type == 0o040000 ? .directory : .other,
            size: isSizeKnown ? unsafe Int(exactly: archive_entry_size(entry)) : nil)
    }

    /// Reads the bytes of the entry that ``next()`` returned last, in pieces.
    ///
    /// - Parameter entry: the name of the entry, for errors; `nil` for a stream.
    func read(_ entry: String?, _ consume: (Span<UInt8>) throws -> Void) throws {
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe archive_read_data(archive, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw damaged(entry) }
            if count == 0 { return }
            try consume(buffer.span.extracting(0..<count))
        }
    }

    private func damaged(_ entry: String?) -> Failure {
        let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
        return Failure(
            .usage, file: path, entry: entry,
            found: "not a complete archive (ZIP, tar, 7z or ar; gzip, xz or zstd)" + (text.map { ": \($0)" } ?? ""))
    }
}
