import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle

/// A real git repository in a temporary directory, with a dumps directory in its work tree.
final class WorkTree: Sendable {
    struct GitFailure: Error { let output: String }

    let dumps: String
    var root: String { folder.path }
    private let folder: TemporaryDirectory
    private static let start = 1_700_000_000

    /// - Parameter dumps: the dumps directory's path relative to the repository's root.
    init(dumps: String = "data/dumps") throws {
        folder = try TemporaryDirectory()
        self.dumps = "\(folder.path)/\(dumps)"
        try FileManager.default.createDirectory(atPath: self.dumps, withIntermediateDirectories: true)
        try git("init", "--quiet", "--initial-branch=main")
    }

    /// Writes a file below the dumps directory.
    func write(_ bytes: [UInt8], to path: String) throws {
        let url = URL(fileURLWithPath: "\(dumps)/\(path)")
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    /// Writes a bundle and a lock file that lists only this bundle.
    func write(_ bundle: SmallBundle) throws {
        try write(bundle.bytes, to: LockFile.Bundle.path(of: bundle.id))
        try write(LockFile(collections: [bundle.id: bundle.entry]).text, to: "dumps.lock.json")
    }

    /// Commits everything, `second` seconds after a fixed time.
    func commit(_ message: String, second: Int) throws {
        let date = "\(Self.start + second) +0000"
        try git("add", "--all")
        try git(
            "commit", "--quiet", "--allow-empty", "--message", message,
            environment: ["GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date])
    }

    /// Commits states of a bundle with these timestamps, each with its lock file, one minute apart.
    func repository(of timestamps: UInt64...) async throws -> GitRepository {
        for (index, timestamp) in timestamps.enumerated() {
            try write(SmallBundle(timestamp: timestamp))
            try commit("state", second: (index + 1) * 60)
        }
        return try await GitRepository(containing: dumps)
    }

    static func time(second: Int) -> Timestamp { Timestamp(milliseconds: UInt64(start + second) * 1000) }

    @discardableResult
    func git(_ arguments: String..., environment: [String: String] = [:]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: root)
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GIT_") }
        for who in ["AUTHOR", "COMMITTER"] {
            variables["GIT_\(who)_NAME"] = "Test"
            variables["GIT_\(who)_EMAIL"] = "test@example.org"
        }
        variables["GIT_CONFIG_GLOBAL"] = "/dev/null"
        process.environment = variables.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw GitFailure(output: output) }
        return output
    }
}

/// An unsigned bundle of one record, with its lock file entry.
struct SmallBundle {
    let id: CollectionID
    let bytes: [UInt8]
    let entry: LockFile.Collection

    init(_ name: String = "main/markets", timestamp: UInt64) throws {
        id = try CollectionID(name)
        let unverified = UnverifiedSnapshot(
            collection: id,
            payload: try Payload(
                parsing: Bytes(
                    utf8: #"{"data":[{"id":"r","last_modified":\#(timestamp)}],"last_modified":"\#(timestamp)"}"#)),
            metadata: try CollectionMetadata(
                parsing: Bytes(utf8: #"{"id":"\#(id.name)","bucket":"\#(id.bucket)","signatures":[]}"#)))
        let snapshot = Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
        let path = FileManager.default.temporaryDirectory.appending(path: "bundle-\(UUID().uuidString)").path
        let written = try BundleWriter(snapshot, attachments: [:]).write(toNewFile: path)
        bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        try FileManager.default.removeItem(atPath: path)
        entry = LockFile.Collection(
            server: "test", timestamp: snapshot.timestamp, records: 1, attachments: 0, omitted: [],
            content: written.content, bundle: .init(collection: id, size: written.size, sha256: written.sha256),
            trust: .unsigned)
    }
}
