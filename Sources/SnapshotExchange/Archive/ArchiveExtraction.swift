import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Takes files out of an archive that nobody vouches for, into an empty directory of one's own.
///
/// Every name is checked before anything is done with it, nothing but regular files and their folders is made, and what
/// comes out is bounded by ``Limits``. What is compressed is read to its end first, so that an archive that is cut off or
/// that blows up is refused before a file is written.
package struct ArchiveExtraction {
    /// What is done with an entry.
    package enum Use: Hashable, Sendable {
        case passOver
        /// Written under this name: a relative path without `.` and `..`.
        case extract(as: String)
        /// An archive that is extracted in its place.
        case open
    }

    /// From where on the ratio of what comes out to what went in counts, in bytes.
    private static let ratioFloor = 64 << 20

    private let directory: String
    private let use: (_ name: String, _ isNested: Bool) -> Use
    private let limits: Limits
    private var extracted: Set<String> = []
    private var entries = 0
    private var bytes = 0

    /// - Parameters:
    ///   - directory: exists, is empty, and is removed by the caller, whatever comes.
    ///   - use: gets an entry's path, checked, without a leading `./`, and whether it is in an archive inside of another.
    package init(into directory: String, limits: Limits, use: @escaping (_ name: String, _ isNested: Bool) -> Use) {
        self.directory = directory
        self.limits = limits
        self.use = use
    }

    /// Extracts what is wanted. Does I/O.
    ///
    /// - Throws: `BundleError` that names the entry, or `FileError`.
    package mutating func extract(_ path: String) throws {
        try extract(path, shown: path, depth: 1)
    }

    private mutating func extract(_ path: String, shown: String, depth: Int) throws {
        guard depth <= limits.archiveDepth else {
            throw BundleError(
                .overLimit, file: shown, expected: "at most \(limits.archiveDepth) archives inside each other",
                found: "more")
        }
        let inputSize = FileStore.size(path) ?? 0
        let allowed = max(Self.ratioFloor, inputSize.saturatingMultiplying(by: limits.archiveRatio))
        let archive = try ArchiveFile(path, as: .archive)
        var output = 0
        var next = try archive.next()
        if archive.isCompressed { try checkStream(path, shown, allowed) }
        var nested: [(path: String, name: String)] = []
        while let entry = next {
            entries += 1
            guard entries <= limits.archiveEntries else {
                throw refused(.overLimit, shown, entry.name, "at most \(limits.archiveEntries) entries", "more")
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

    /// Where an entry is written to, and its name where it is an archive itself; `nil` where it is passed over.
    private mutating func target(
        of entry: ArchiveFile.Entry, _ shown: String, depth: Int, number: Int
    ) throws(BundleError) -> (path: String, archive: String?)? {
        let name = try checked(entry.name, shown)
        let use = use(name, depth > 1)
        guard use != .passOver, entry.kind != .directory else { return nil }
        guard entry.kind == .file else {
            throw refused(.wrongSource, shown, entry.name, "a regular file", "a link or a special file")
        }
        guard case .extract(let wanted) = use else { return ("\(directory)/.nested-\(depth)-\(number)", name) }
        guard extracted.insert(wanted).inserted else {
            throw refused(.wrongSource, shown, entry.name, "each name once", "it twice")
        }
        return ("\(directory)/\(wanted)", nil)
    }

    private mutating func write(
        _ entry: ArchiveFile.Entry, of archive: ArchiveFile, to target: String, _ shown: String, allowed: Int,
        output: inout Int
    ) throws {
        let claimed = entry.size ?? 0
        guard claimed >= 0, claimed <= limits.attachmentBytes else {
            throw refused(.overLimit, shown, entry.name, "at most \(limits.attachmentBytes) bytes", "\(claimed)")
        }
        let file = try WritableFile(creating: target, below: directory)
        defer { file.abandon() }
        var size = 0
        try archive.read(entry.name) { piece in
            size += piece.count
            output += piece.count
            bytes += piece.count
            guard output <= allowed else { throw tooMuch(shown, entry.name) }
            guard bytes <= limits.archiveBytes, size <= limits.attachmentBytes else {
                throw refused(
                    .overLimit, shown, entry.name, "at most \(limits.archiveBytes) bytes (Limits.archiveBytes)", "more")
            }
            try file.write(piece)
        }
        if let claimed = entry.size, claimed != size {
            throw refused(.wrongSource, shown, entry.name, "\(claimed) bytes, as its header says", "\(size)")
        }
        try file.finish(flushing: false)
    }

    /// Reads a compressed file to its end: a tar inside of it ends before its compressor's last checksum does.
    private func checkStream(_ path: String, _ shown: String, _ allowed: Int) throws {
        let stream = try ArchiveFile(path, as: .stream)
        guard try stream.next() != nil else { return }
        let allowed = min(allowed, limits.archiveBytes)
        var output = 0
        do {
            try stream.read(nil) { piece in
                output += piece.count
                guard output <= allowed else { throw tooMuch(shown, nil) }
            }
        } catch let error as BundleError {
            let (entry, last) = Self.entry(at: output, of: path)
            throw refused(
                error.kind, shown, entry, error.expected,
                error.found + (last.map { " after \($0.prefix(300))" } ?? ""))
        }
    }

    /// The entry of an archive in which so many bytes have been read, or in which it cannot be read on; where that is in
    /// none, the one before.
    private static func entry(at position: Int, of path: String) -> (inside: String?, after: String?) {
        struct Reached: Error {}
        var last: String?
        guard let archive = try? ArchiveFile(path, as: .archive) else { return (nil, nil) }
        while let entry = try? archive.next() {
            do {
                try archive.read(entry.name) { _ in if archive.position >= position { throw Reached() } }
            } catch {
                return (entry.name, nil)
            }
            last = entry.name
            if archive.position >= position { break }
        }
        return (nil, last)
    }

    /// A relative path that stays below where it starts, without a leading `./` and a trailing `/`.
    private func checked(_ name: String, _ shown: String) throws(BundleError) -> String {
        var parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if parts.last?.isEmpty == true { parts = parts.dropLast() }
        if parts.count > 1, parts.first?.elementsEqual(".".utf8) == true { parts = parts.dropFirst() }
        let isRoot = parts.count == 1 && parts.first?.elementsEqual(".".utf8) == true
        let isSafe = parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual("..".utf8) && (isRoot || !part.elementsEqual(".".utf8))
                && part.count <= 255 && !part.contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") || $0 == 0x7F }
        }
        guard isSafe, !parts.isEmpty, name.utf8.count <= 4096 else {
            throw refused(.wrongSource, shown, name, "a relative path that stays inside of the archive", "another")
        }
        guard parts.count <= limits.archivePathDepth else {
            throw refused(
                .overLimit, shown, name,
                "at most \(limits.archivePathDepth) folders inside each other (Limits.archivePathDepth)",
                "\(parts.count)")
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    private func tooMuch(_ file: String, _ entry: String?) -> BundleError {
        refused(
            .overLimit, file, entry,
            "at most \(limits.archiveRatio) bytes for each byte of the archive (Limits.archiveRatio), and "
                + "\(limits.archiveBytes) in all (Limits.archiveBytes)", "more")
    }

    private func refused(
        _ kind: BundleError.Kind, _ file: String, _ entry: String?, _ expected: String, _ found: String
    ) -> BundleError {
        BundleError(kind, file: file, entry: entry.map { String($0.prefix(300)) }, expected: expected, found: found)
    }
}
