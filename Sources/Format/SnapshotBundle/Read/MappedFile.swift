import RemoteSettingsModel

/// The bytes of a regular file, read-only: the file itself mapped into memory, or a private copy of it.
///
/// They last as long as this object or any slice of its ``bytes``. A reader crashes (SIGBUS) if its mapped file is
/// shortened. Bundles of the program and of tools are therefore only replaced by renaming a finished file over them,
/// which leaves an existing mapping as it is. ``init(copying:limits:)`` reads files that others may write to.
package final class MappedFile: Sendable {
    package let path: String
    package let bytes: Bytes
    /// Whether discarded pages can be read again from a file.
    private let isBacked: Bool

    /// Opens, maps and closes the file. Does I/O, but does not read the file's contents yet.
    ///
    /// - Throws: ``BundleError`` of kind `unreadable`, with the system's message.
    package init(path: String) throws(BundleError) {
        let file = try BundleError.reading { () throws(BundleError) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        isBacked = true
        bytes = try Self.map(file.descriptor, size: file.size, path)
    }

    /// Copies a file that others may change or shorten while it is read, so that the bytes that are verified are the
    /// bytes that are used. The copy is in memory. If it is larger than ``Limits/copiedBundleBytes``, it is a file
    /// without a name in the temporary directory. Does I/O.
    ///
    /// - Throws: ``BundleError`` of kind `unreadable`, with the system's message.
    package init(copying path: String, limits: Limits) throws(BundleError) {
        let file = try BundleError.reading { () throws(BundleError) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        if file.size > limits.copiedBundleBytes, let copy = try? FileStore.makeUnnamedFile() {
            defer { close(copy) }
            if Self.copy(file, to: copy) {
                bytes = try Self.map(copy, size: file.size, path)
                isBacked = true
                return
            }
        }
        // If the temporary directory has no room, memory may still have it.
        bytes = try Self.read(file)
        isBacked = false
    }

    private static func failure(_ path: String, _ found: String) -> BundleError {
        .unreadable(path, found: found)
    }

    private static func map(_ descriptor: Int32, size: Int, _ path: String) throws(BundleError) -> Bytes {
        guard size > 0 else { return Bytes() }
        let address = unsafe mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else { throw failure(path, lastSystemError()) }
        return unsafe owned(address, size)
    }

    /// Reads a file from its start into memory that only this process has.
    private static func read(_ file: ReadableFile) throws(BundleError) -> Bytes {
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

    /// Memory for a copy. All its pages are new, and getting them in units of 4 KiB takes ten times as long as copying.
    /// Pages of 2 MiB are therefore used if the system has them. The last one may be half empty.
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
            // If the system ignores the advice, the copy has small pages.
            _ = unsafe madvise(address, inLargePages, MADV_HUGEPAGE)
        }
        #endif
        // The memory around the copy is never touched and costs nothing.
        let offset = unsafe address - start
        return unsafe (address, owned(start, mapped)[offset..<offset + size])
    }

    /// Copies the file to another.
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

    /// The SHA-256 of the whole file, computed with little memory.
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

    /// Tells the system that the pages in `range` are not needed for now, so that little of a large file stays in
    /// memory while it is read from end to end. The system reads them from the file again when they are used again.
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
