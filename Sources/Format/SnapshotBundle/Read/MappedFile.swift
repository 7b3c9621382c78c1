import RemoteSettingsModel

/// The bytes of a regular file, read-only: the file itself mapped into memory, or a private copy of it.
///
/// They are valid as long as this object or any slice of its ``bytes`` exists. If the mapped file is truncated, a
/// process that reads the bytes crashes (SIGBUS). Therefore programs and tools replace a bundle only by renaming a
/// complete file, which does not affect an existing mapping. For files that other users may modify, use
/// ``init(copying:)``.
package final class MappedFile: Sendable {
    package let path: String
    package let bytes: Bytes
    /// Whether discarded pages can be read from the file again.
    private let isBacked: Bool

    /// Opens, maps and closes the file. Does I/O, but does not read the file's contents yet.
    ///
    /// - Throws: an `unreadable` ``Failure`` with the system's message.
    package init(path: String) throws(Failure) {
        let file = try Failure.reading { () throws(Failure) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        isBacked = true
        bytes = try Self.map(file.descriptor, size: file.size, path)
    }

    /// Copies a file that other users may modify or truncate while it is read, so that the bytes that are verified are
    /// the same as those that are used. The copy is in memory. If it is larger than ``Limits/copiedBundleBytes``, it is
    /// a file without a name in the temporary directory. Does I/O.
    ///
    /// - Throws: an `unreadable` ``Failure`` with the system's message.
    package init(copying path: String) throws(Failure) {
        let file = try Failure.reading { () throws(Failure) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        if file.size > Limits.copiedBundleBytes, let copy = try? FileStore.makeUnnamedFile() {
            defer { close(copy) }
            if Self.copy(file, to: copy) {
                bytes = try Self.map(copy, size: file.size, path)
                isBacked = true
                return
            }
        }
        // If the temporary directory is full, try to copy the file to memory.
        bytes = try Self.read(file)
        isBacked = false
    }

    private static func failure(_ path: String, _ found: String) -> Failure {
        .unreadable(path, found: found)
    }

    private static func map(_ descriptor: Int32, size: Int, _ path: String) throws(Failure) -> Bytes {
        guard size > 0 else { return Bytes() }
        let address = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else { throw failure(path, lastSystemError()) }
        return unsafe owned(address, size)
    }

    /// Reads a whole file into memory that is private to this process.
    private static func read(_ file: ReadableFile) throws(Failure) -> Bytes {
        let size = file.size
        guard size > 0 else { return Bytes() }
        guard let (address, bytes) = unsafe makeMemory(size) else { throw failure(file.path, lastSystemError()) }
        let memory = unsafe UnsafeMutableRawBufferPointer(start: address, count: size)
        guard let count = unsafe readFully(file.descriptor, into: memory, at: 0) else {
            throw failure(file.path, lastSystemError())
        }
        guard count == size else {
            throw failure(
                file.path, "the file was truncated while it was being read: only \(count) of \(size) bytes were read")
        }
        return bytes
    }

    /// Allocates memory for a copy. With pages of 4 KiB, this would take ten times as long as copying the bytes, so it
    /// uses pages of 2 MiB if the system supports them. The last one of them may be half empty.
    private static func makeMemory(_ size: Int) -> (address: UnsafeMutableRawPointer, bytes: Bytes)? {
        #if os(Linux)
        let page = 2 << 20
        let inLargePages = size.saturatingAdding(page / 2) / page * page
        #else
        let (page, inLargePages) = (0, 0)
        #endif
        let mapped = inLargePages == 0 ? size : max(size, inLargePages).saturatingAdding(page)
        let start = unsafe mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { return nil }
        var address = unsafe start
        #if os(Linux)
        if inLargePages > 0 {
            unsafe address = unsafe start.alignedUp(toMultipleOf: page)
            // If the system ignores this advice, the copy has small pages.
            _ = unsafe madvise(address, inLargePages, MADV_HUGEPAGE)
        }
        #endif
        // The unused memory before and after the copy is never accessed, so it costs nothing.
        let offset = unsafe address - start
        return unsafe (address, owned(start, mapped)[offset..<offset + size])
    }

    /// Copies the file to an open descriptor.
    ///
    /// - Returns: whether all bytes were copied.
    private static func copy(_ file: ReadableFile, to copy: Int32) -> Bool {
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while offset < file.size {
            guard let count = try? file.next(into: &piece), count > 0,
                unsafe piece.span.extracting(0..<count).withUnsafeBytes({ unsafe writeFully(copy, $0, at: offset) })
            else { return false }
            offset += count
        }
        return true
    }

    private static func owned(_ address: UnsafeMutableRawPointer, _ size: Int) -> Bytes {
        unsafe Bytes(
            BorrowedMemory(UnsafeRawBufferPointer(start: address, count: size)) { memory in
                _ = unsafe munmap(UnsafeMutableRawPointer(mutating: memory.baseAddress), memory.count)
            })
    }

    /// Returns the SHA-256 of the whole file, computed with little memory.
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

    /// Releases the pages in `range`, so that only a small part of a large file is in memory while it is read from
    /// start to end. The system reads the pages from the file again when they are needed.
    func discard(_ range: Range<Int>) {
        guard isBacked, !bytes.isEmpty else { return }
        unsafe bytes.withUnsafeBytes { whole in
            let page = Int(getpagesize())
            let start = (range.lowerBound + page - 1) / page * page
            let end = range.upperBound / page * page
            guard start < end, end <= whole.count, let base = whole.baseAddress else { return }
            _ = unsafe madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
        }
    }
}
