import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle

@testable import RemoteSettings

/// What somebody who can write to a storage directory sees and does there.
struct StorageFiles {
    let storage: String

    private var indexFile: URL { URL(fileURLWithPath: "\(storage)/index.json") }

    func index() throws -> StorageIndex { try StorageIndex(parsing: Bytes([UInt8](try Data(contentsOf: indexFile)))) }

    func change(_ change: (inout StorageIndex) throws -> Void) throws {
        var index = (try? index()) ?? StorageIndex()
        try change(&index)
        try write(String(decoding: index.bytes.array, as: UTF8.self))
    }

    /// Writes an index, whatever it is.
    func write(_ text: String) throws {
        try FileManager.default.createDirectory(atPath: storage, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: indexFile, options: .atomic)
    }

    /// The file of a stored state.
    ///
    /// - Parameter name: the collection's name, if it is of one environment; else its key in the index.
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

    /// Puts a state in the place of the current one, with an index that says what it is.
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

    /// The names of the stored states.
    var states: [String] { (try? FileManager.default.contentsOfDirectory(atPath: "\(storage)/states")) ?? [] }
}

extension StorageIndex {
    /// The key of a collection that is of one environment.
    func key(_ name: String) -> String { collections.keys.filter { $0.hasPrefix("\(name)@") }.min() ?? name }
}

extension Workplace {
    var files: StorageFiles { StorageFiles(storage: storage) }

    func attachments(_ collection: ServerCollection) -> String { "\(storage)/attachments/\(collection.id)" }
}
