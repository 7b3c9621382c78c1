import RemoteSettingsModel
import SnapshotBundle

/// A directory that is written under a temporary name beside its final path, and is renamed when it is complete. An update
/// moves each of its files into the existing directory instead.
final class ExportDirectory {
    let path: String
    private let temporaryDirectory: TemporaryDirectory
    private var temporary: String { temporaryDirectory.path }
    /// Whether an existing directory is updated.
    let isUpdate: Bool
    /// The folders whose attachments an update replaces, and whether these have sidecars. It removes all attachments from
    /// them that were neither written nor kept.
    private var owned: [ExactString: Bool] = [:]
    private var kept: Set<ExactString> = []
    /// Two updates of one directory would lose each other's entries.
    private let lock: DirectoryLock?
    /// The number of files written so far.
    private(set) var files = 0
    private(set) var size = 0

    /// Creates a temporary directory.
    ///
    /// - Throws: `Failure`.
    init(_ path: String, _ existing: Export.Existing) throws(Failure) {
        self.path = path
        isUpdate = if existing == .update { try FileStore.isDirectory(path) } else { false }
        lock = try isUpdate ? DirectoryLock(path) : nil
        if isUpdate, lock == nil { throw .outputIsBusy(path) }
        // Inside, because the directory may be on a file system of its own.
        temporaryDirectory =
            try isUpdate ? TemporaryDirectory(beside: "\(path)/.rsdump") : FileStore.makeOutputDirectory(for: path)
    }

    /// Writes one file. An update keeps a JSON file that differs only in its form, so that only changed data makes a
    /// difference.
    ///
    /// - Parameter name: a path in the directory. The caller checks its untrusted components.
    func write(_ content: [UInt8], to name: String) throws {
        let content = try presentForm(of: content, name) ?? content
        try write(to: name) { write in try write(content.span) }
    }

    /// Returns the content of a file in the directory to update if it has the same data; otherwise `nil`.
    private func presentForm(of content: [UInt8], _ name: String) throws(Failure) -> [UInt8]? {
        // Indentation and escapes make a text a few times as long, at most.
        let limit = content.count.multipliedReportingOverflow(by: 8).partialValue
        guard isUpdate, let size = try FileStore.size("\(path)/\(name)"), size <= limit,
            let present = try present(name, limit: limit), DumpText.haveSameData(present, Bytes(content))
        else { return nil }
        return present.array
    }

    /// Returns whether a file was already written.
    func contains(_ name: String) throws(Failure) -> Bool { try FileStore.size("\(temporary)/\(name)") != nil }

    /// Writes one file in pieces.
    func write(to name: String, _ body: ((Span<UInt8>) throws -> Void) throws -> Void) throws {
        let target = "\(temporary)/\(name)"
        let file = try WritableFile(creating: target, below: temporary)
        defer { file.abandon() }
        try body { piece in
            try file.write(piece)
            size += piece.count
        }
        // All files are flushed together, before the directory is renamed.
        try file.finish(flushing: false)
        files += 1
    }

    /// Marks a folder as containing the attachments of an exported collection. An update removes all other attachments
    /// from it.
    ///
    /// - Parameter hasSidecars: whether only a file with a `.meta.json` is an attachment.
    func own(_ folder: String, hasSidecars: Bool = true) { owned[folder.exact] = hasSidecars }

    /// Returns whether the directory to update contains this file.
    func had(_ name: String) throws(Failure) -> Bool {
        guard isUpdate else { return false }
        return try FileStore.size("\(path)/\(name)") != nil
    }

    /// Returns the content of a file in the directory to update; `nil` if there is none.
    func present(_ name: String, limit: Int) throws(Failure) -> Bytes? {
        isUpdate ? try FileStore.read("\(path)/\(name)", limit: limit) : nil
    }

    /// Keeps an attachment of the directory to update, if its size and hash match its record.
    ///
    /// - Returns: whether it was kept.
    func keep(_ name: String, _ attachment: RecordAttachment) throws(Failure) -> Bool {
        let present = "\(path)/\(name)"
        guard isUpdate, try FileStore.size(present).map(UInt64.init(clamping:)) == attachment.size else { return false }
        var hasher = ContentHasher()
        try FileStore.readPieces(present) { (piece) throws(Failure) in hasher.update(piece) }
        guard hasher.finish() == attachment.hash else { return false }
        kept.insert(name.exact)
        return true
    }

    /// Moves the directory to its final path, or an update's files into the directory.
    ///
    /// - Returns: the files that an update removed.
    func finish() throws -> [String] {
        guard isUpdate else {
            try FileStore.placeOutput(temporary, at: path)
            return []
        }
        try FileStore.flush(tree: temporary)
        var dropped: [String] = []
        for (folder, hasSidecars) in owned {
            for name in try FileStore.list("\(path)/\(folder.string)") ?? [] {
                let place = "\(folder.string)/\(name)"
                guard try FileStore.size("\(path)/\(place)") != nil, try !contains(place), !kept.contains(place.exact),
                    try !hasSidecars || isAttachment(place)
                else { continue }
                dropped.append(place)
            }
        }
        try move("")
        for place in dropped { try FileStore.remove("\(path)/\(place)", below: path) }
        return dropped.sorted()
    }

    /// Returns whether a file of the current directory is part of a pair: an attachment and its `.meta.json`.
    private func isAttachment(_ place: String) throws(Failure) -> Bool {
        let suffix = ".meta.json"
        if place.hasSuffix(suffix) { return true }
        return try FileStore.size("\(path)/\(place)\(suffix)") != nil
    }

    /// Moves the files of a folder into the directory to update, which keeps its other files.
    private func move(_ folder: String) throws(Failure) {
        let names = try FileStore.list("\(temporary)/\(folder)") ?? []
        for name in names {
            let place = folder.isEmpty ? name : "\(folder)/\(name)"
            if try FileStore.isDirectory("\(temporary)/\(place)") {
                try move(place)
            } else {
                try FileStore.rename("\(temporary)/\(place)", to: "\(path)/\(place)", below: path)
            }
        }
    }
}
