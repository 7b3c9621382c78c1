import CArchive
import SnapshotBundle

/// A ZIP archive in memory that libarchive reads. Owns libarchive's state and frees it. Not shared between threads.
@safe
final class ArchiveReader {
    struct Entry {
        let name: String
        /// Bytes, uncompressed, as the archive claims; `nil` where it does not say.
        let size: Int?
    }

    private let archive: OpaquePointer
    private let name: String

    /// - Parameter buffer: must stay valid as long as the reader.
    @unsafe
    init(_ buffer: UnsafeRawBufferPointer, name: String) throws(BundleError) {
        self.name = name
        guard let archive = unsafe archive_read_new() else {
            throw BundleError(.unreadable, file: name, expected: "memory for the archive", found: "too little")
        }
        unsafe self.archive = archive
        // Only ZIP by its directory, and no filter: nothing that an archive could choose for itself.
        guard unsafe archive_read_support_format_zip_seekable(archive) == ARCHIVE_OK,
            unsafe archive_read_open_memory(archive, buffer.baseAddress, buffer.count) == ARCHIVE_OK
        else { throw damaged(nil) }
    }

    deinit {
        _ = unsafe archive_read_free(archive)
    }

    /// The next entry, which must be a regular file; `nil` at the end.
    func next() throws(BundleError) -> Entry? {
        var entry: OpaquePointer?
        let status = unsafe archive_read_next_header(archive, &entry)
        if status == ARCHIVE_EOF { return nil }
        guard status == ARCHIVE_OK, let entry = unsafe entry, let path = unsafe archive_entry_pathname(entry) else {
            throw damaged(nil)
        }
        let name = unsafe String(cString: path)
        let isFile = unsafe archive_entry_filetype(entry) == 0o100000
        let isLink = unsafe archive_entry_symlink(entry) != nil || archive_entry_hardlink(entry) != nil
        guard isFile, !isLink, unsafe archive_entry_is_encrypted(entry) == 0 else {
            throw refused(.malformed, name, "a regular file that is not encrypted", "something else")
        }
        let isSizeKnown = unsafe archive_entry_size_is_set(entry) != 0
        return Entry(name: name, size: isSizeKnown ? unsafe Int(exactly: archive_entry_size(entry)) : nil)
    }

    /// The bytes of the entry that ``next()`` gave last, which must be exactly `size`.
    func contents(of entry: String, size: Int) throws(BundleError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(size, 256 << 10) + 1)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe archive_read_data(archive, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw damaged(entry) }
            if count == 0 { break }
            guard bytes.count + count <= size else {
                throw refused(.damaged, entry, "\(size) bytes, as its header says", "more")
            }
            bytes.append(contentsOf: buffer[0..<count])
        }
        guard bytes.count == size else {
            throw refused(.damaged, entry, "\(size) bytes, as its header says", "\(bytes.count)")
        }
        return bytes
    }

    func refused(_ kind: BundleError.Kind, _ entry: String, _ expected: String, _ found: String) -> BundleError {
        BundleError(kind, file: name, entry: String(entry.prefix(300)), expected: expected, found: found)
    }

    private func damaged(_ entry: String?) -> BundleError {
        let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
        return BundleError(
            .damaged, file: name, entry: entry, expected: "a ZIP archive", found: text ?? "something else")
    }
}
