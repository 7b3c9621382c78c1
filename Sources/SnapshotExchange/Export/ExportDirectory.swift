import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// A directory that is being written under another name beside its own, which it gets when it is complete.
final class ExportDirectory {
    let path: String
    private let temporary: String
    private let existing: ExportTarget.Existing
    /// Whether there is a directory that is updated.
    let isUpdate: Bool
    private var isFinished = false
    /// Folders of which no attachment stays that was not written or kept.
    private var owned: Set<String> = []
    /// Files written so far, and their bytes.
    private(set) var files = 0
    private(set) var size = 0

    /// - Parameter target: checked already.
    /// - Throws: `FileError`.
    init(_ target: ExportTarget) throws(FileError) {
        path = target.path
        existing = target.existing
        isUpdate = target.existing == .update && FileStore.isDirectory(path)
        temporary = FileStore.uniquePath(path) + ".tmp"
        try FileStore.makeDirectories(temporary)
    }

    deinit {
        if !isFinished { try? FileStore.removeTree(temporary) }
    }

    /// Writes one file.
    ///
    /// - Parameter name: below the directory, of valid ids and fixed words: the caller checks what comes from outside.
    func write(_ content: [UInt8], to name: String) throws {
        try write(to: name) { write in try write(content.span) }
    }

    /// Whether a file has been written already.
    func contains(_ name: String) -> Bool { FileStore.size("\(temporary)/\(name)") != nil }

    /// Writes one file piece by piece.
    func write(to name: String, _ body: ((Span<UInt8>) throws -> Void) throws -> Void) throws {
        let target = "\(temporary)/\(name)"
        try FileStore.makeDirectories(FileStore.parent(of: target))
        let file = try WritableFile(creating: target)
        defer { file.abandon() }
        try body { piece in
            try file.write(piece)
            size += piece.count
        }
        try file.finish(flushing: true)
        files += 1
    }

    /// Says that a folder has the attachments of what is exported: in an update, no other ones stay.
    func own(_ folder: String) { owned.insert(folder) }

    /// Whether a directory is updated that has this file.
    func had(_ name: String) -> Bool { isUpdate && FileStore.size("\(path)/\(name)") != nil }

    /// The content of a file in the directory that is updated; `nil` where there is none.
    func present(_ name: String, limit: Int) throws(FileError) -> Bytes? {
        isUpdate ? try FileStore.read("\(path)/\(name)", limit: limit) : nil
    }

    /// Keeps a file of the directory that is updated, if it is this one.
    ///
    /// - Returns: whether it is there, and is what its record says.
    func keep(_ name: String, _ attachment: RecordAttachment) throws(FileError) -> Bool {
        let present = "\(path)/\(name)"
        guard isUpdate, FileStore.size(present).map(UInt64.init(clamping:)) == attachment.size else { return false }
        var hasher = ContentHasher()
        try FileStore.readPieces(present) { (piece) throws(FileError) in hasher.update(piece) }
        guard hasher.finish() == attachment.hash else { return false }
        try FileStore.makeDirectories(FileStore.parent(of: "\(temporary)/\(name)"))
        try FileStore.link(present, as: "\(temporary)/\(name)")
        return true
    }

    /// Gives the directory its name. What had it before is put aside first and removed afterwards.
    ///
    /// - Returns: the files of an updated directory that are no longer there.
    func finish() throws -> [String] {
        var dropped: [String] = []
        if isUpdate { try carry("", &dropped) }
        if existing != .keep, FileStore.isDirectory(path) || FileStore.size(path) != nil {
            let old = FileStore.uniquePath(path) + ".old"
            try FileStore.rename(path, to: old)
            do {
                try FileStore.rename(temporary, to: path)
            } catch {
                try? FileStore.rename(old, to: path)
                throw error
            }
            isFinished = true
            if FileStore.isDirectory(old) { try FileStore.removeTree(old) } else { try FileStore.remove(old) }
        } else {
            try FileStore.rename(temporary, to: path)
            isFinished = true
        }
        return dropped
    }

    /// Whether a file of the present directory is one of a pair, an attachment and what is said of it.
    private func isAttachment(_ place: String) -> Bool {
        let suffix = ".meta.json"
        return place.hasSuffix(suffix) || FileStore.size("\(path)/\(place)\(suffix)") != nil
    }

    /// Gives what stays of the present directory a second name in the new one.
    private func carry(_ folder: String, _ dropped: inout [String]) throws(FileError) {
        for name in try FileStore.list("\(path)/\(folder)") ?? [] {
            let place = folder.isEmpty ? name : "\(folder)/\(name)"
            let target = "\(temporary)/\(place)"
            if FileStore.isDirectory("\(path)/\(place)") {
                try carry(place, &dropped)
            } else if FileStore.size(target) != nil {
                continue
            } else if owned.contains(folder), isAttachment(place) {
                dropped.append(place)
            } else {
                try FileStore.makeDirectories(FileStore.parent(of: target))
                try FileStore.link("\(path)/\(place)", as: target)
            }
        }
    }
}
