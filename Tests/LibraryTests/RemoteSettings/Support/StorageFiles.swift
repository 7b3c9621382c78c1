import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

@testable import RemoteSettings

/// A storage directory as seen and changed by an attacker with write access.
struct StorageFiles {
    let storage: String

    private var indexFile: URL { URL(fileURLWithPath: "\(storage)/index.json") }

    func index() throws -> StorageIndex { try StorageIndex(parsing: Bytes([UInt8](try Data(contentsOf: indexFile)))) }

    func change(_ change: (inout StorageIndex) throws -> Void) throws {
        var index = (try? index()) ?? StorageIndex()
        try change(&index)
        try write(String(decoding: index.bytes.array, as: UTF8.self))
    }

    /// Writes any text as the index file.
    func write(_ text: String) throws {
        try FileManager.default.createDirectory(atPath: storage, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: indexFile, options: .atomic)
    }

    /// Returns the file of a stored state.
    ///
    /// - Parameter name: the collection's name, or its key in the index if it is stored for several environments.
    func file(_ name: String, _ slot: KeyPath<StorageIndex.Collection, StoredState?> = \.synced.current) throws -> URL {
        let index = try index()
        guard let stored = index[index.key(name)][keyPath: slot] else { throw CocoaError(.fileNoSuchFile) }
        return URL(fileURLWithPath: "\(storage)/states/\(stored.file.hex)")
    }

    /// Changes a byte near the end of a stored state.
    func damage(_ name: String, _ slot: KeyPath<StorageIndex.Collection, StoredState?> = \.synced.current) throws {
        let file = try file(name, slot)
        var content = try Data(contentsOf: file)
        content[content.count - 10] ^= 1
        try content.write(to: file)
    }

    /// Replaces the current state and updates its index entry.
    func replace(_ name: String, by content: Data) throws {
        let bytes = Bytes([UInt8](content))
        let digest = SHA256Digest(hashing: bytes)
        try FileManager.default.createDirectory(atPath: "\(storage)/states", withIntermediateDirectories: true)
        try content.write(to: URL(fileURLWithPath: "\(storage)/states/\(digest.hex)"), options: .atomic)
        try change { index in
            let file = try? CacheFile(parsing: bytes, of: nil, path: "")
            var key = index.key(name)
            if let file, !key.contains("@") { key = "\(name)@\(ServerIdentity(file.server))" }
            let old = index[key].synced.current
            index[key].synced.current =
                file.map { StoredState($0, content: bytes, digest: digest) }
                ?? old.map {
                    StoredState(file: digest, size: bytes.count, state: $0.state, server: $0.server, root: $0.root)
                }
        }
    }

    /// The file names of the stored states.
    var states: [String] { (try? FileManager.default.contentsOfDirectory(atPath: "\(storage)/states")) ?? [] }
}

extension StorageIndex {
    /// Returns the key of a collection that is stored for one environment.
    func key(_ name: String) -> String { collections.keys.filter { $0.hasPrefix("\(name)@") }.min() ?? name }
}

extension Workplace {
    var files: StorageFiles { StorageFiles(storage: storage) }

    func attachments(_ collection: ServerCollection) -> String { "\(storage)/attachments/\(collection.id)" }
}

/// Calls a function for each set of a storage directory's four files, after the system has purged just these.
func forEachPurge(of storage: String, _ body: ([String]) async throws -> Void) async throws {
    let whole = storage + ".whole"
    try FileManager.default.copyItem(atPath: storage, toPath: whole)
    let files = try FileManager.default.subpathsOfDirectory(atPath: whole).filter {
        try FileStore.size("\(whole)/\($0)") != nil
    }
    #expect(files.count == 4, "\(files)")
    for subset in 0..<(1 << files.count) {
        let purged = files.indices.filter { subset >> $0 & 1 == 1 }.map { files[$0] }
        try FileManager.default.removeItem(atPath: storage)
        try FileManager.default.copyItem(atPath: whole, toPath: storage)
        for file in purged { try FileManager.default.removeItem(atPath: "\(storage)/\(file)") }
        try await body(purged)
    }
}
