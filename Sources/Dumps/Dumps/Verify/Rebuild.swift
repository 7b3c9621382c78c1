import RemoteSettingsModel
import SnapshotBundle

/// A rebuild, which writes bundles again from their own uncompressed contents to another directory, and compares them
/// with the lock file.
package struct Rebuild: Sendable {
    package enum Verdict: Sendable {
        /// The bytes are identical to those in the lock file.
        case identical
        /// The contents are the same, but the bytes differ, because a different compressor wrote the original bundle.
        case sameContent(size: Int, sha256: SHA256Digest)
        /// The contents differ from those in the lock file, which would be a bug in the writer.
        case different(content: SHA256Digest)
        /// The bundle does not match the lock file, or cannot be written again.
        case failed(any Error)
    }

    package struct Outcome: Sendable {
        package let id: CollectionID
        package let entry: LockFile.Collection
        package let verdict: Verdict
    }

    private let directory: DumpsDirectory
    private let output: String
    private let verifier: BundleVerifier

    /// Creates a rebuild.
    ///
    /// - Parameter output: an empty directory, to which `<bucket>/<collection>.zip` is written.
    package init(_ directory: DumpsDirectory, to output: String, policy: TrustPolicy) {
        self.directory = directory
        self.output = output
        verifier = BundleVerifier(policy)
    }

    /// Rebuilds the bundles. Each one is verified before it is written again. Does I/O; uses no network.
    ///
    /// - Parameter names: the collections; an empty list means all in the lock file.
    /// - Throws: `Failure` if the lock file cannot be read; ``Failure`` if a name is not in the lock file.
    package func run(_ names: [CollectionID]) async throws -> [Outcome] {
        let lock = try directory.lockFile()
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else {
            throw Failure.notLocked(unknown, directory.lockPath, known: lock.collections.keys)
        }
        let wanted = lock.collections.filter { names.isEmpty || names.contains($0.key) }
        return await wanted.sorted { $0.key < $1.key }.concurrentMap { id, entry in
            do {
                return Outcome(id: id, entry: entry, verdict: try rebuild(id, entry))
            } catch {
                return Outcome(id: id, entry: entry, verdict: .failed(error))
            }
        }
    }

    private func rebuild(_ id: CollectionID, _ entry: LockFile.Collection) throws -> Verdict {
        let source = directory.bundlePath(id)
        let bundle = try verifier.verify(source, of: id, against: entry)
        let snapshot = try verifier.snapshot(of: bundle, as: entry)
        let path = "\(output)/\(LockFile.Bundle.path(of: id))"
        try FileStore.makeDirectories(FileStore.parent(of: path), below: output)
        let writer = BundleWriter(snapshot, attachments: try bundle.attachmentInputs(), compression: bundle.compression)
        let written = try writer.write(toNewFile: path)
        guard written.content == entry.content else { return .different(content: written.content) }
        return written.sha256 == entry.bundle.sha256
            ? .identical : .sameContent(size: written.size, sha256: written.sha256)
    }
}

extension Rebuild.Outcome: Encodable {
    fileprivate struct Written: Encodable {
        let size: Int
        let sha256: SHA256Digest
    }

    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collection": id, "status": verdict.word, "content": entry.content,
            "lockedBundle": Written(size: entry.bundle.size, sha256: entry.bundle.sha256),
            "rebuiltBundle": verdict.other, "error": verdict.message,
        ])
    }
}

extension Rebuild.Verdict {
    package var isGood: Bool {
        switch self {
        case .identical: true
        case .sameContent, .different, .failed: false
        }
    }

    package var word: String {
        switch self {
        case .identical: "identical"
        case .sameContent: "same-content"
        case .different: "different"
        case .failed: "failed"
        }
    }

    /// The rebuilt bundle, if only its bytes differ and not its contents; `nil` otherwise.
    fileprivate var other: Rebuild.Outcome.Written? {
        if case .sameContent(let size, let sha256) = self { .init(size: size, sha256: sha256) } else { nil }
    }

    package var message: String? {
        switch self {
        case .identical, .sameContent: nil
        case .different(let content):
            "the rebuilt bundle's content, \(content), differs from the content in the lock file; please report this "
                + "as a bug in rsdump"
        case .failed(let error): "\(error)"
        }
    }
}
