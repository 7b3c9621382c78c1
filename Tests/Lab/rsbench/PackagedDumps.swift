import Foundation
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// A directory that `rsdump refresh` wrote, and the collection of it that is measured.
struct PackagedDumps {
    let path: String
    let id: CollectionID
    let entry: LockFile.Collection

    init(_ path: String, _ collection: String) throws {
        self.path = path
        id = try CollectionID(collection)
        let lock = try LockFile(parsing: try MappedFile(path: "\(path)/dumps.lock.json").bytes, path: path)
        guard let entry = lock.collections[id] else { throw BenchmarkError("\(path) has no \(id)") }
        self.entry = entry
    }

    /// As memory of the program: mapped, so that its pages are shared and are read when they are needed.
    func embedded() throws -> PackagedSource {
        .embedded(
            lock: try MappedFile(path: "\(path)/dumps.lock.json").bytes,
            bundles: ["\(id)": try MappedFile(path: "\(path)/\(entry.bundle.path)").bytes])
    }

    /// A configuration for the server that the lock names.
    func config(_ packaged: [PackagedSource]) throws -> RemoteSettingsConfig {
        guard case .signed(let signature) = entry.trust else { throw BenchmarkError("\(id) is not signed") }
        return RemoteSettingsConfig(
            server: .custom(url: entry.server), packaged: packaged, trustRoots: TrustAnchors([signature.root]))
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
