import ContentSigning
import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// A temporary directory with sources, keys and dumps.
final class PublishingPlace {
    let root: String
    let keys: KeyDirectory
    let dumps: DumpsDirectory
    let trusted: SHA256Digest
    let id: CollectionID

    init(at time: Timestamp, keys plan: KeyDirectory.Plan = .init()) throws {
        root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/publish")
        keys = KeyDirectory("\(root)/keys")
        dumps = DumpsDirectory("\(root)/dumps")
        trusted = try keys.create(plan, now: time)
        id = try CollectionID("main/c")
    }

    deinit { try? FileStore.removeTree(root) }

    func write(_ text: String, to path: String = "main/c.yaml") throws {
        try FileStore.makeDirectories(FileStore.parent(of: "\(root)/sources/\(path)"))
        try FileStore.replace("\(root)/sources/\(path)", with: Bytes(utf8: text))
    }

    var sources: SourceDirectory { SourceDirectory("\(root)/sources") }

    /// A publisher for one run.
    func publisher(
        _ options: Publisher.Options, roots: [SHA256Digest]? = nil, signer: (any PayloadSigner)? = nil
    ) async throws -> Publisher {
        Publisher(
            into: try await .begin(in: dumps), signer: try signer ?? keys.signer([:]),
            policy: TrustPolicy(roots: TrustAnchors(roots ?? [trusted])), options: options)
    }

    /// The outcome of a run for the first collection.
    func run(
        _ options: Publisher.Options, roots: [SHA256Digest]? = nil, signer: (any PayloadSigner)? = nil
    ) async throws -> Publisher.Outcome {
        try #require(try await publisher(options, roots: roots, signer: signer).run(sources.read()).first)
    }

    /// The outcome of signing the first collection again.
    func resign(
        _ options: Publisher.Options, roots: [SHA256Digest]? = nil, signer: (any PayloadSigner)? = nil
    ) async throws -> Publisher.Outcome {
        try #require(try await publisher(options, roots: roots, signer: signer).resign([]).first)
    }

    @discardableResult
    func publish(at time: Timestamp, isExact: Bool = false) async throws -> NextState {
        var options = Publisher.Options(time: time)
        options.isExact = isExact
        return try await run(options).result.get()
    }

    /// A place with a published collection of one record.
    static func published(at time: Timestamp) async throws -> PublishingPlace {
        let place = try PublishingPlace(at: time)
        try place.write("records: {a: {v: 1}}")
        try await place.publish(at: time)
        return place
    }

    func records() throws -> RecordTable { try BundleReader(path: dumps.bundlePath(id)).payload().records }

    func files() throws -> [String: Bytes] {
        var files: [String: Bytes] = [:]
        for path in ["dumps.yaml", "dumps.lock.json", "main/c.zip"] {
            files[path] = try FileStore.read("\(dumps.path)/\(path)", limit: 1 << 24)
        }
        return files
    }

    func verify(roots: [SHA256Digest]? = nil) throws {
        let lock = try dumps.lockFile()
        let verifier = BundleVerifier(TrustPolicy(roots: TrustAnchors(roots ?? [trusted])))
        try verifier.verify(dumps.bundlePath(id), of: id, against: #require(lock.collections[id]))
    }
}

extension DumpsDirectory {
    /// Replaces `dumps.yaml`, as a user would.
    func writeConfiguration(_ text: String) throws {
        try FileStore.replace(configurationPath, with: Bytes(utf8: text))
    }
}
