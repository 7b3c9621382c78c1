import FileStorage
import RemoteSettingsModel

/// A directory that is being written under another name beside its own, which it gets when it is complete.
final class ExportDirectory {
    private let path: String
    private let temporary: String
    private let replaces: Bool
    private var isFinished = false
    /// Files written so far, and their bytes.
    private(set) var files = 0
    private(set) var size = 0

    /// - Throws: ``ExchangeError`` where the path is taken and may not be replaced, or `FileError`.
    init(_ path: String, replaces: Bool) throws {
        try ExportTarget.check(path, replaces: replaces)
        self.path = path
        self.replaces = replaces
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

    /// Gives the directory its name. What had it before is put aside first and removed afterwards.
    func finish() throws {
        if replaces, FileStore.isDirectory(path) || FileStore.size(path) != nil {
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
    }
}

/// Where an export goes.
enum ExportTarget {
    /// - Throws: ``ExchangeError`` where something is there that was not said to be replaced.
    static func check(_ path: String, replaces: Bool) throws(ExchangeError) {
        guard !replaces, FileStore.isDirectory(path) || FileStore.size(path) != nil else { return }
        throw ExchangeError(
            .usage, path, expected: "nothing there yet", found: "a file or directory",
            remedy: "choose another --output, or replace it with --force")
    }
}
