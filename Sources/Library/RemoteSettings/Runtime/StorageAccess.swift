import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RemoteSettingsService {
    /// Moves a storage directory, for example into the container of an app group. Does I/O.
    ///
    /// Call it before a service uses either directory. If the process is killed, either everything or nothing has been
    /// moved. Between two volumes, every file is copied and checked against its hash, and the old directory is intact
    /// until the copy is complete. Files that the library did not write move too on one volume; between two volumes,
    /// they remain in the old directory.
    ///
    /// - Returns: whether the directory was moved. It is not if `from` does not exist or `to` is not empty.
    /// - Throws: ``RemoteSettingsError`` if a directory cannot be read or written, or if another process is writing.
    @discardableResult
    public static func moveStorage(from: String, to: String) throws(RemoteSettingsError) -> Bool {
        do {
            guard try FileStore.isDirectory(from),
                try FileStore.kind(to) == nil || FileStore.list(to, isLossy: true) == []
            else { return false }
            guard let lock = try DirectoryLock(from) else {
                throw RemoteSettingsError.storage(
                    reason: "\(from): another process is writing to the storage directory; try again later")
            }
            defer { withExtendedLifetime(lock) {} }
            try FileStore.makeDirectories(FileStore.parent(of: to))
            do throws(Failure) {
                try FileStore.rename(from, to: to)
            } catch {
                guard error.isOfOtherVolume else { throw error }
                try copy(from, to: to)
                let old = StorageDirectory(path: from)
                try FileStore.remove(old.indexPath)
                try old.removeOwnFiles(in: old.statesPath, levels: 0)
                try old.removeOwnFiles(in: old.allAttachmentsPath, levels: 2)
                try old.removeOwnFiles(in: old.chainsPath, levels: 0)
                try FileStore.removeIfEmpty(from)
            }
            return true
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Moves a storage directory, given by URLs. See ``moveStorage(from:to:)-(String,_)``.
    @discardableResult
    public static func moveStorage(from: URL, to: URL) throws(RemoteSettingsError) -> Bool {
        try moveStorage(from: from.path, to: to.path)
    }

    /// Copies a storage directory, completely or not at all. Files whose content does not match the hash in their name
    /// are left out.
    private static func copy(_ from: String, to: String) throws {
        let temporary = try TemporaryDirectory(beside: to)
        let target = "\(temporary.path)/storage"
        try FileStore.makeDirectories(target)
        func copyAll(_ folder: String) throws {
            for name in try FileStore.list("\(from)/\(folder)") ?? [] {
                let path = "\(folder)/\(name)"
                switch try FileStore.kind("\(from)/\(path)") {
                case .directory: try copyAll(path)
                case .file:
                    let file = try WritableFile(creating: "\(target)/\(path)", below: target)
                    var hasher = ContentHasher()
                    try FileStore.readPieces("\(from)/\(path)") { (piece) throws(Failure) in
                        hasher.update(piece)
                        try file.write(piece)
                    }
                    try file.finish(flushing: true)
                    if let digest = SHA256Digest(hex: name), hasher.finish() != digest {
                        try FileStore.remove("\(target)/\(path)", below: target)
                    }
                default: continue
                }
            }
        }
        for folder in ["states", "attachments", "chains"] { try copyAll(folder) }
        if let index = try FileStore.read("\(from)/index.json", limit: StorageIndex.mostBytes) {
            try FileStore.replace("\(target)/index.json", below: target, with: index)
        }
        try FileStore.flush(tree: target)
        try FileStore.rename(target, to: to)
    }
}
