import RemoteSettingsModel
import SnapshotBundle

/// An extraction of files from an untrusted archive into an empty directory.
///
/// Every name is checked first. Only regular files and their folders are created, and the size of each file and the
/// total size are limited. A compressed stream is read completely before any of its files is written, so a stream that
/// is truncated or expands too much leaves no files behind.
package struct ArchiveExtraction {
    /// The treatment of an entry.
    package enum Use: Hashable, Sendable {
        case passOver
        /// The entry is written under this name, a relative path without `.` and `..`.
        case extract(as: String)
        /// The entry is itself an archive, whose entries are extracted instead.
        case open
    }

    /// The maximum number of unpacked bytes per byte of an archive. Deflate cannot exceed 1,032.
    private static let ratio = 1_100
    /// The number of extracted bytes below which the compression ratio is not checked.
    private static let ratioFloor = 64 << 20
    /// The maximum number of components in the path of an entry.
    private static let pathDepth = 64
    /// The maximum nesting depth of archives.
    private static let nesting = 3

    private let directory: String
    private let use: (_ name: String, _ isNested: Bool) -> Use
    private let mostEntries: Int
    private let mostBytes: Int
    private var extracted: Set<ExactString> = []
    private var entries = 0
    private var bytes = 0

    /// Creates an extraction.
    ///
    /// - Parameters:
    ///   - directory: an existing, empty directory. The caller removes it, even after an error.
    ///   - use: a closure that decides how an entry is treated. It gets the entry's checked path without a leading
    ///     `./`, and whether the entry is in a nested archive.
    ///   - mostEntries: the maximum number of entries, including those of nested archives.
    ///   - mostBytes: the maximum total number of unpacked bytes. If `Int` has 32 bits, the default is its maximum.
    package init(
        into directory: String, mostEntries: Int = 500_000,
        mostBytes: Int = Int(clamping: Int64(64) << 30), use: @escaping (_ name: String, _ isNested: Bool) -> Use
    ) {
        self.directory = directory
        self.mostEntries = mostEntries
        self.mostBytes = mostBytes
        self.use = use
    }

    /// Extracts the entries selected by `use`. Does I/O.
    ///
    /// - Throws: `Failure`, which names the entry if the error concerns one.
    package mutating func extract(_ path: String) throws {
        try extract(path, shown: path, depth: 1)
    }

    private mutating func extract(_ path: String, shown: String, depth: Int) throws {
        guard depth <= Self.nesting else {
            throw Failure(.overLimit, file: shown, found: "archives are nested more than \(Self.nesting) levels deep")
        }
        let inputSize = try FileStore.size(path) ?? 0
        let allowed = max(Self.ratioFloor, inputSize.saturatingMultiplying(by: Self.ratio))
        let archive = try ArchiveFile(path, as: .archive)
        var output = 0
        var next = try archive.next()
        if archive.isCompressed { try checkStream(path, shown: shown, allowed: allowed) }
        var nested: [(path: String, name: String)] = []
        while let entry = next {
            entries += 1
            guard entries <= mostEntries else {
                throw refused(
                    .overLimit, in: shown, entry: entry.name, found: "the archive has more than \(mostEntries) entries")
            }
            if let (target, name) = try target(of: entry, shown, depth: depth, number: nested.count) {
                if let name { nested.append((target, name)) }
                try write(entry, of: archive, to: target, shown, allowed: allowed, output: &output)
            } else if archive.isSolid {
                output = output.saturatingAdding(max(0, entry.size ?? 0))
                guard output <= allowed else { throw tooMuch(shown, entry.name) }
            }
            next = try archive.next()
        }
        for (path, name) in nested {
            try extract(path, shown: "\(shown): \(name)", depth: depth + 1)
            try FileStore.remove(path)
        }
    }

    /// Returns the path to which an entry is extracted, and its name if it is itself an archive; `nil` if it is
    /// skipped.
    private mutating func target(
        of entry: ArchiveFile.Entry, _ shown: String, depth: Int, number: Int
    ) throws(Failure) -> (path: String, archive: String?)? {
        let name = try checked(entry.name, shown)
        let use = use(name, depth > 1)
        guard use != .passOver, entry.kind != .directory else { return nil }
        guard entry.kind == .file else {
            throw Failure(
                .usage, file: shown, entry: entry.name,
                found: "the entry is a link or a special file, not a regular file",
                remedy: "create the archive again with a regular file in its place; nothing was written")
        }
        guard case .extract(let wanted) = use else { return ("\(directory)/.nested-\(depth)-\(number)", name) }
        guard extracted.insert(wanted.exact).inserted else {
            throw refused(
                .usage, in: shown, entry: entry.name, found: "another entry would be extracted to the same file")
        }
        return ("\(directory)/\(wanted)", nil)
    }

    private mutating func write(
        _ entry: ArchiveFile.Entry, of archive: ArchiveFile, to target: String, _ shown: String, allowed: Int,
        output: inout Int
    ) throws {
        let claimed = entry.size ?? 0
        guard claimed >= 0, claimed <= Limits.attachmentBytes else {
            throw refused(
                .overLimit, in: shown, entry: entry.name,
                found: "the entry is \(claimed) bytes, over the limit of \(Limits.attachmentBytes)")
        }
        let file = try WritableFile(creating: target, below: directory)
        defer { file.abandon() }
        var size = 0
        try archive.read(entry.name) { piece in
            size += piece.count
            output += piece.count
            bytes += piece.count
            guard output <= allowed else { throw tooMuch(shown, entry.name) }
            guard bytes <= mostBytes, size <= Limits.attachmentBytes else {
                throw refused(
                    .overLimit, in: shown, entry: entry.name,
                    found: "this file is too large, or all files together are over the limit of \(mostBytes) bytes")
            }
            try file.write(piece)
        }
        if let claimed = entry.size, claimed != size {
            throw refused(
                .usage, in: shown, entry: entry.name, expected: "\(claimed) bytes, as in its header",
                found: "\(size)")
        }
        try file.finish(flushing: false)
    }

    /// Reads the whole compressed file, including the compressor's last checksum, which comes after the end of the tar
    /// file.
    private func checkStream(_ path: String, shown: String, allowed: Int) throws {
        let stream = try ArchiveFile(path, as: .stream)
        guard try stream.next() != nil else { return }
        let allowed = min(allowed, mostBytes)
        var output = 0
        do {
            try stream.read(nil) { piece in
                output += piece.count
                guard output <= allowed else { throw tooMuch(shown, nil) }
            }
        } catch let error as Failure where !error.isOfSystem {
            let (entry, last) = Self.entry(at: output, of: path)
            throw refused(
                error.code, in: shown, entry: entry,
                found: error.problem + (last.map { " after \(VisibleText.excerpt($0, limit: 300))" } ?? ""))
        }
    }

    /// Returns the name of the entry that contains a position of the decompressed stream, or that cannot be read, as
    /// `inside`. If there is no such entry, returns the name of the last entry before the position as `after`.
    private static func entry(at position: Int, of path: String) -> (inside: String?, after: String?) {
        var last: String?
        guard let archive = try? ArchiveFile(path, as: .archive) else { return (nil, nil) }
        while let entry = try? archive.next() {
            do {
                // Stop reading by throwing any error.
                try archive.read(entry.name) { _ in if archive.position >= position { throw CancellationError() } }
            } catch {
                return (entry.name, nil)
            }
            last = entry.name
            if archive.position >= position { break }
        }
        return (nil, last)
    }

    /// Checks that a name is a relative path without `..`, and returns it without a leading `./` and a trailing `/`.
    private func checked(_ name: String, _ shown: String) throws(Failure) -> String {
        var parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if parts.last?.isEmpty == true { parts = parts.dropLast() }
        if parts.count > 1, parts.first?.elementsEqual(".".utf8) == true { parts = parts.dropFirst() }
        let isRoot = parts.count == 1 && parts.first?.elementsEqual(".".utf8) == true
        let isSafe = parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual("..".utf8) && (isRoot || !part.elementsEqual(".".utf8))
                && part.count <= 255 && !part.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") || $0 == 0x7F }
        }
        guard isSafe, !parts.isEmpty, name.utf8.count <= 4096 else {
            throw refused(
                .usage, in: shown, entry: name,
                found: "the name is not a relative path without .., control characters and backslashes")
        }
        guard parts.count <= Self.pathDepth else {
            throw refused(
                .overLimit, in: shown, entry: name,
                found: "folders are nested \(parts.count) levels deep, over the limit of \(Self.pathDepth)")
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    private func tooMuch(_ shown: String, _ entry: String?) -> Failure {
        refused(
            .overLimit, in: shown, entry: entry,
            found: "the archive expands to more than \(mostBytes) bytes, or to more than \(Self.ratio) times its size")
    }

    private func refused(
        _ code: Failure.Code, in shown: String, entry: String?, expected: String? = nil, found: String
    ) -> Failure {
        Failure(code, file: shown, entry: entry, expected: expected, found: found)
    }
}
