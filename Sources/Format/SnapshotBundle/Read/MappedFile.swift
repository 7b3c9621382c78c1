import RemoteSettingsModel

/// The bytes of a regular file, read-only: the file itself mapped into memory, or a private copy of parts of it.
///
/// They are valid as long as this object or any slice of its ``bytes`` exists. If the mapped file is truncated, a
/// process that reads the bytes crashes (SIGBUS). Therefore programs and tools replace a bundle only by renaming a
/// complete file, which does not affect an existing mapping. For files that other users may modify, use
/// ``init(copying:parts:)``.
package final class MappedFile: Sendable {
    package let path: String
    package let bytes: Bytes
    /// The open file that parts are copied from; `nil` for a mapped file.
    private let source: Int32?

    /// Opens, maps and closes the file. Does I/O, but does not read the file's contents yet.
    ///
    /// - Throws: an `unreadable` ``Failure`` with the system's message.
    package init(path: String) throws(Failure) {
        let file = try Failure.reading { () throws(Failure) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        source = nil
        bytes = try Self.map(file.descriptor, size: file.size, path)
    }

    /// Maps a bundle that a lock file lists. Does I/O.
    ///
    /// - Throws: as ``init(path:)``; a `missingBundle` ``Failure`` if the file does not exist.
    package convenience init(bundle path: String) throws(Failure) {
        do { try self.init(path: path) } catch { throw error.isMissing ? .missingBundle(path) : error }
    }

    /// Copies parts of a file that other users may modify or truncate while it is read, so that the bytes that are
    /// verified are the same as those that are used. Does I/O.
    ///
    /// - Parameters:
    ///   - path: the file, which stays open.
    ///   - parts: copies the parts that are needed, with a function that copies a range into the bytes. All other bytes
    ///     of ``bytes`` are zero and need no memory; ``copy(_:)`` copies them later.
    /// - Throws: an `unreadable` ``Failure`` with the system's message, or the error of `parts`.
    init(
        copying path: String, parts: (Bytes, (Range<Int>) throws(Failure) -> Void) throws(Failure) -> Void
    ) throws(Failure) {
        let file = try Failure.reading { () throws(Failure) in try ReadableFile(path) }
        defer { withExtendedLifetime(file) {} }
        self.path = path
        let source = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
        guard source >= 0 else { throw Self.failure(path, lastSystemError()) }
        self.source = source
        let (address, memory) = try unsafe Self.makeMemory(max(1, file.size), path)
        bytes = memory[0..<file.size]
        try parts(bytes) { (range) throws(Failure) in
            try unsafe Self.read(range.clamped(to: 0..<file.size), of: source, path, to: address)
        }
    }

    deinit { if let source { close(source) } }

    /// Whether the bytes are a private copy.
    var isCopy: Bool { source != nil }

    /// Returns bytes in which these ranges have the content of the file: those of a mapped file, or a new copy.
    ///
    /// A copy has the size of the file, and only the ranges need memory.
    func copy(_ ranges: [Range<Int>]) throws(Failure) -> Bytes {
        guard let source else { return bytes }
        let (address, copy) = try unsafe Self.makeMemory(bytes.count, path)
        for range in ranges {
            try unsafe Self.read(range.clamped(to: 0..<bytes.count), of: source, path, to: address)
        }
        return copy
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

    /// Reads a range of a file to the same place behind an address.
    private static func read(
        _ range: Range<Int>, of source: Int32, _ path: String, to address: UnsafeMutableRawPointer
    ) throws(Failure) {
        guard !range.isEmpty else { return }
        let memory = unsafe UnsafeMutableRawBufferPointer(start: address + range.lowerBound, count: range.count)
        guard let count = unsafe readFully(source, into: memory, at: range.lowerBound) else {
            throw failure(path, lastSystemError())
        }
        guard count == range.count else {
            throw failure(
                path, "the file was truncated while it was being read: \(range.count - count) bytes are missing")
        }
    }

    private static func makeMemory(
        _ size: Int, _ path: String
    ) throws(Failure) -> (address: UnsafeMutableRawPointer, bytes: Bytes) {
        let start = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start = unsafe start, unsafe start != MAP_FAILED else { throw failure(path, lastSystemError()) }
        return unsafe (start, owned(start, size))
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
        guard !isCopy, !bytes.isEmpty else { return }
        unsafe bytes.withUnsafeBytes { whole in
            let page = Int(getpagesize())
            let start = (range.lowerBound + page - 1) / page * page
            let end = range.upperBound / page * page
            guard start < end, end <= whole.count, let base = whole.baseAddress else { return }
            _ = unsafe madvise(UnsafeMutableRawPointer(mutating: base + start), end - start, MADV_DONTNEED)
        }
    }
}
