import LibC
import RemoteSettingsModel

/// A regular file, mapped read-only into memory.
///
/// The mapping lasts as long as this object or any slice of its ``bytes``. A file that is shortened while it is mapped
/// would crash its reader (SIGBUS); bundles are therefore only ever replaced by renaming a finished file over them,
/// which leaves an existing mapping untouched. Nothing else may write to a bundle in place.
package final class MappedFile: Sendable {
    package let path: String
    package let bytes: Bytes

    /// Opens, maps and closes the file. Does I/O, but reads no page of the file yet.
    ///
    /// - Throws: ``BundleError`` of kind `unreadable`, with the system's own words.
    package init(path: String) throws(BundleError) {
        func failure(_ found: String) -> BundleError {
            BundleError(.unreadable, file: path, expected: "a readable regular file", found: found)
        }
        // Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(lastSystemError()) }
        defer { close(descriptor) }

        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(lastSystemError()) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("something that is not a regular file") }
        guard let size = Int(exactly: status.st_size) else { throw failure("\(status.st_size) bytes") }

        self.path = path
        guard size > 0 else {
            bytes = Bytes()
            return
        }
        let address = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else { throw failure(lastSystemError()) }
        bytes = unsafe Bytes(
            BorrowedMemory(UnsafeRawBufferPointer(start: address, count: size)) { memory in
                _ = unsafe munmap(UnsafeMutableRawPointer(mutating: memory.baseAddress), memory.count)
            })
    }

    /// The SHA-256 of the whole file, read in little memory.
    package func digest() -> SHA256Digest {
        let piece = 1 << 20
        var hasher = ContentHasher()
        for start in stride(from: 0, to: bytes.count, by: piece) {
            let range = start..<min(start + piece, bytes.count)
            bytes[range].withSpan { hasher.update($0) }
            discard(range)
        }
        return hasher.finish()
    }

    /// Tells the system that the pages inside of `range` are not needed for now, so that reading a large file from
    /// end to end keeps little of it resident. They are read from the file again when they are touched again.
    package func discard(_ range: Range<Int>) {
        guard !bytes.isEmpty else { return }
        unsafe bytes.withUnsafeBytes { whole in
            let page = Int(getpagesize())
            let start = (range.lowerBound + page - 1) / page * page
            let end = range.upperBound / page * page
            guard start < end, end <= whole.count, let base = whole.baseAddress else { return }
            _ = unsafe madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
        }
    }
}
