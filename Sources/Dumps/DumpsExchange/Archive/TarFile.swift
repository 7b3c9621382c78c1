import CArchive
import RemoteSettingsModel
import SnapshotBundle

/// A writer of reproducible tar files (POSIX pax), compressed with zstd. All members have the same time, owner and
/// mode, so that the output depends only on their names and contents.
@safe
package final class TarFile {
    /// A regular file with mode 0644.
    package struct Member: Sendable {
        package let name: String
        package let content: Bytes

        package init(name: String, content: Bytes) {
            self.name = name
            self.content = content
        }
    }

    private let archive: OpaquePointer
    private let entry: OpaquePointer
    private let output: ArchiveOutput
    private var isClosed = false

    /// Writes all members to a new file and flushes it to disk. Does I/O.
    ///
    /// - Returns: the file's size in bytes.
    /// - Throws: `Failure`, after removing the file.
    package static func write(_ members: [Member], toNewFile path: String) throws(Failure) -> Int {
        try OutputFile.create(path: path) { (descriptor) throws(Failure) in
            let file = OutputFile(descriptor: descriptor, name: path)
            let tar = try TarFile(ArchiveOutput(file))
            for member in members { try tar.append(member) }
            try tar.close()
            return file.size
        }
    }

    private init(_ output: ArchiveOutput) throws(Failure) {
        func memory() -> Failure {
            Failure(.storage, file: output.file.name, found: "not enough memory to write the archive")
        }
        guard let archive = unsafe archive_write_new() else { throw memory() }
        guard let entry = unsafe archive_entry_new() else {
            _ = unsafe archive_write_free(archive)
            throw memory()
        }
        unsafe self.archive = archive
        unsafe self.entry = entry
        self.output = output
        try check(unsafe archive_write_set_format_pax_restricted(archive))
        try check(unsafe archive_write_set_format_option(archive, "pax", "hdrcharset", "UTF-8"))
        try check(unsafe archive_write_add_filter_zstd(archive))
        try check(unsafe archive_write_set_bytes_in_last_block(archive, 1))
        let context = unsafe Unmanaged.passUnretained(output).toOpaque()
        try check(unsafe archive_write_open(archive, context, nil, writeToOutput, nil))
    }

    deinit {
        if !isClosed { _ = unsafe archive_write_fail(archive) }
        unsafe archive_entry_free(entry)
        _ = unsafe archive_write_free(archive)
    }

    private func append(_ member: Member) throws(Failure) {
        _ = unsafe archive_entry_clear(entry)
        unsafe archive_entry_set_pathname_utf8(entry, member.name)
        unsafe archive_entry_set_filetype(entry, 0o100000)
        unsafe archive_entry_set_perm(entry, 0o644)
        unsafe archive_entry_set_uid(entry, 0)
        unsafe archive_entry_set_gid(entry, 0)
        unsafe archive_entry_set_size(entry, la_int64_t(member.content.count))
        unsafe archive_entry_set_mtime(entry, 0, 0)
        try check(unsafe archive_write_header(archive, entry), member.name)
        try unsafe member.content.withUnsafeBytes { (bytes) throws(Failure) in
            var offset = 0
            while offset < bytes.count {
                let written = unsafe archive_write_data(
                    archive, bytes.baseAddress.map { unsafe $0 + offset }, bytes.count - offset)
                guard written > 0 else { throw failure(member.name) }
                offset += written
            }
        }
        try check(unsafe archive_write_finish_entry(archive), member.name)
    }

    private func close() throws(Failure) {
        try check(unsafe archive_write_close(archive))
        isClosed = true
    }

    private func check(_ status: Int32, _ name: String? = nil) throws(Failure) {
        guard status == ARCHIVE_OK else { throw failure(name) }
    }

    private func failure(_ name: String?) -> Failure {
        if let failure = output.failure { return failure }
        let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
        return Failure(
            .storage, file: output.file.name, entry: name, found: "cannot write the archive: \(text ?? "unknown error")"
        )
    }
}

/// The file that libarchive writes to, and the error that its C callback cannot throw.
private final class ArchiveOutput {
    let file: OutputFile
    private(set) var failure: Failure?

    init(_ file: OutputFile) {
        self.file = file
    }

    func write(_ bytes: Span<UInt8>) -> Bool {
        do throws(Failure) {
            try file.write(bytes)
            return true
        } catch {
            failure = error
            return false
        }
    }
}

/// Writes bytes from libarchive to the ``ArchiveOutput`` that `context` points to; returns -1 if that fails.
private func writeToOutput(
    _ archive: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ count: Int
) -> la_ssize_t {
    guard let context = unsafe context, let bytes = unsafe bytes else { return count == 0 ? 0 : -1 }
    let output = unsafe Unmanaged<ArchiveOutput>.fromOpaque(context).takeUnretainedValue()
    let buffer = unsafe UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: count)
    return unsafe output.write(buffer.span) ? count : -1
}
