import CArchive
import RemoteSettingsModel
import SnapshotBundle

/// A ZIP archive that libarchive writes to a file. Owns libarchive's state and frees it. Not shared between threads.
///
/// Nothing of the machine gets into the archive: no time, user, group or mask; names are written as they are given.
@safe
final class ZIPArchive {
    private let archive: OpaquePointer
    private let entry: OpaquePointer
    private let output: OutputFile
    private var isClosed = false

    init(_ output: OutputFile) throws(BundleError) {
        guard let archive = unsafe archive_write_new() else { throw Self.memory(output.name) }
        guard let entry = unsafe archive_entry_new() else {
            _ = unsafe archive_write_free(archive)
            throw Self.memory(output.name)
        }
        unsafe self.archive = archive
        unsafe self.entry = entry
        self.output = output
        try check(unsafe archive_write_set_format_zip(archive))
        // Names are ASCII; without this, libarchive would look at the locale.
        try check(unsafe archive_write_set_format_option(archive, "zip", "hdrcharset", "UTF-8"))
        try check(unsafe archive_write_set_format_option(archive, "zip", "compression-level", "\(Deflater.level)"))
        try check(unsafe archive_write_set_bytes_per_block(archive, 256 << 10))
        try check(unsafe archive_write_set_bytes_in_last_block(archive, 1))
        let context = unsafe Unmanaged.passUnretained(output).toOpaque()
        try check(unsafe archive_write_open(archive, context, nil, writeToOutput, nil))
    }

    deinit {
        // Without this, freeing an archive that failed would still try to write its end.
        if !isClosed { _ = unsafe archive_write_fail(archive) }
        unsafe archive_entry_free(entry)
        _ = unsafe archive_write_free(archive)
    }

    /// Begins an entry: a regular file of exactly `size` bytes, mode 0644.
    func begin(_ name: String, size: Int, isStored: Bool) throws(BundleError) {
        try check(
            unsafe isStored
                ? archive_write_zip_set_compression_store(archive) : archive_write_zip_set_compression_deflate(archive))
        _ = unsafe archive_entry_clear(entry)
        unsafe archive_entry_set_pathname_utf8(entry, name)
        unsafe archive_entry_set_filetype(entry, 0o100000)
        unsafe archive_entry_set_perm(entry, 0o644)
        unsafe archive_entry_set_uid(entry, 0)
        unsafe archive_entry_set_gid(entry, 0)
        unsafe archive_entry_set_size(entry, la_int64_t(size))
        try check(unsafe archive_write_header(archive, entry), name)
    }

    func append(_ bytes: Span<UInt8>, to name: String) throws(BundleError) {
        var offset = 0
        while offset < bytes.count {
            let written = unsafe bytes.withUnsafeBytes { buffer in
                unsafe archive_write_data(archive, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
            guard written > 0 else { throw failure(name) }
            offset += written
        }
    }

    func endEntry(_ name: String) throws(BundleError) {
        try check(unsafe archive_write_finish_entry(archive), name)
    }

    func close() throws(BundleError) {
        try check(unsafe archive_write_close(archive))
        isClosed = true
    }

    private func check(_ status: Int32, _ name: String? = nil) throws(BundleError) {
        guard status == ARCHIVE_OK else { throw failure(name) }
    }

    private func failure(_ name: String?) -> BundleError {
        if let failure = output.failure { return failure }
        let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
        return BundleError(
            .unwritable, file: output.name, entry: name, expected: "an archive that libarchive can write",
            found: text ?? "an error without a text")
    }

    private static func memory(_ name: String) -> BundleError {
        BundleError(.unwritable, file: name, expected: "memory for the archive", found: "too little")
    }
}

/// Called by libarchive with bytes for the file, and the ``OutputFile`` as its context.
func writeToOutput(
    _ archive: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ bytes: UnsafeRawPointer?, _ count: Int
) -> la_ssize_t {
    guard let context = unsafe context, let bytes = unsafe bytes else { return count == 0 ? 0 : -1 }
    let output = unsafe Unmanaged<OutputFile>.fromOpaque(context).takeUnretainedValue()
    return unsafe output.write(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : -1
}
