import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a service does with its storage directory.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum StorageAccess: Hashable, Sendable {
    /// It reads and writes.
    case readWrite
    /// It only reads, and takes no lock: for a widget or an extension beside its app.
    ///
    /// Whatever the app stores is served. What the service fetches itself is verified, and is served from memory until
    /// the process ends or the app stores something.
    case readOnly
}

extension RemoteSettingsService {
    /// Moves a storage directory, such as into the container of an app group. Does I/O.
    ///
    /// Call it before a service uses either directory. A call that is killed moves everything or nothing. Between two
    /// volumes, every file is checked against its hash, and a killed call leaves the old directory as it is.
    ///
    /// - Returns: whether it was moved. If there is nothing at `from`, or something at `to`, nothing is done.
    /// - Throws: ``RemoteSettingsError`` if a directory cannot be read or written, or if another process is writing.
    @discardableResult
    public static func moveStorage(from: String, to: String) throws(RemoteSettingsError) -> Bool {
        do {
            guard try FileStore.isDirectory(from), try FileStore.kind(to) == nil || FileStore.list(to) == [] else {
                return false
            }
            guard let lock = try DirectoryLock(from) else {
                throw RemoteSettingsError.storage(
                    reason: "\(from): another process is writing to the storage directory; try again later")
            }
            defer { withExtendedLifetime(lock) {} }
            try FileStore.makeDirectories(FileStore.parent(of: to))
            do throws(BundleError) {
                try FileStore.rename(from, to: to)
            } catch {
                guard error.isOfOtherVolume else { throw error }
                try copy(from, to: to)
                try FileStore.removeTree(from)
            }
            return true
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Like ``moveStorage(from:to:)-(String,_)``, by the directories' URLs.
    @discardableResult
    public static func moveStorage(from: URL, to: URL) throws(RemoteSettingsError) -> Bool {
        try moveStorage(from: from.path, to: to.path)
    }

    /// Copies a storage directory, whole or not at all. Files that are not what their names say are left out.
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
                    try FileStore.readPieces("\(from)/\(path)") { (piece) throws(BundleError) in
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
