import CollectionSources
import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SigningKeys
import SnapshotBundle

/// Publishes sources: signs what changed, and hands it to a directory of dumps like any other snapshot.
package struct Publish: Sendable {
    package struct Options: Sendable {
        /// The time of new timestamps and of verification.
        package var time: Timestamp
        /// Whether `time` was asked for, so that another timestamp would not be what was meant.
        package var isExact = false
        /// Where the chain can be fetched; `nil` for the origin that serves the collection.
        package var chainURL: String?
        /// A second signer, whose signatures stand beside the first one's while apps move to another root, and where its chain
        /// can be fetched.
        package var overlap: (signer: ContentSigner, chainURL: String)?
        /// Where apps sync what is published, for `dumps.yaml` and the lock; `nil` for what `dumps.yaml` says.
        package var server: String?

        package init(time: Timestamp) {
            self.time = time
        }
    }

    /// The result for one collection.
    package struct Outcome: Sendable {
        package let id: CollectionID
        package let result: Result<NextState, any Error>
        /// When the first certificate of the published chain ends; `nil` where nothing is published.
        package let chainEnd: Timestamp?
        package let notes: [String]
    }

    /// For a new `dumps.yaml`, where no server is given: `rsdump serve` on this machine.
    private static let defaultServer = "http://127.0.0.1:8888/v1"

    private let directory: DumpsDirectory
    private let signer: ContentSigner
    private let policy: TrustPolicy
    private let options: Options
    private let limits: Limits

    /// - Parameter policy: what apps trust. Nothing is published that it does not accept.
    package init(
        into directory: DumpsDirectory, signer: ContentSigner, policy: TrustPolicy, options: Options,
        limits: Limits = Limits()
    ) {
        self.directory = directory
        self.signer = signer
        self.policy = policy
        self.options = options
        self.limits = limits
    }

    /// The collections' next states, without signing or writing anything. Does I/O; needs no keys.
    package static func preview(
        _ sources: [CollectionSource], in directory: DumpsDirectory, at time: Timestamp, isExact: Bool,
        limits: Limits = Limits()
    ) throws -> [(id: CollectionID, state: Result<NextState, any Error>)] {
        let lock = try directory.recoveredLock(limits: limits).lock
        return sources.map { source in
            (
                source.id,
                Result {
                    let present = try lock.collections[source.id].map { _ in
                        try BundleReader(path: directory.bundlePath(source.id), limits: limits).unverifiedSnapshot()
                    }
                    return try NextState(source, onto: present, at: time, isExact: isExact, limits: limits)
                }
            )
        }
    }

    /// Publishes collections, each by itself, and names them in `dumps.yaml`. Does I/O, no network.
    ///
    /// - Throws: `DumpsError.busy` where another process works in the directory, `ContentSignatureError` where the chain is not
    ///   one that apps accept, `FileError` or `ConfigurationError`; then nothing has changed. What concerns one collection is
    ///   in its outcome.
    package func run(_ sources: [CollectionSource]) throws -> [Outcome] {
        try publish(sources.map { ($0.id, $0) })
    }

    /// Signs collections again without a look at sources; no data changes.
    ///
    /// - Parameter names: none for all that the directory has.
    package func resign(_ names: [CollectionID]) throws -> [Outcome] {
        let lock = try directory.lockFile(limits: limits)
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else { throw DumpsError.notLocked(unknown, directory.lockPath) }
        return try publish((names.isEmpty ? lock.collections.keys.sorted() : names).map { ($0, nil) })
    }

    private func publish(_ collections: [(id: CollectionID, source: CollectionSource?)]) throws -> [Outcome] {
        guard let first = collections.first else { return [] }
        // An error of the chain concerns all of them, and is found before anything is written.
        _ = try chain(for: first.id)
        let configuration = try directory.configurationText().map {
            try ConfigurationReader.read($0, file: directory.configurationPath)
        }
        let server = self.server(configuration)
        let intake = try SnapshotIntake(directory, limits: limits)
        defer { intake.end() }
        let verifier = BundleVerifier(policy, limits: limits)
        let outcomes = collections.map { id, source in
            var notes = source?.notes ?? []
            var end: Timestamp?
            let result = Result {
                let held = try self.held(id, intake, verifier)
                let rule = (configuration ?? DumpsConfiguration()).settings(of: id).attachments.text
                let (state, snapshot) = try next(id, source, held, rule: rule, server: server)
                end = (snapshot ?? held?.snapshot)?.provenance.verdict?.chainNotAfter
                guard let snapshot else { return state }
                let outcome = try intake.take(
                    .init(snapshot: snapshot, attachments: source?.attachments ?? [:], origin: server))
                return state.status == .repacked && outcome == .unchanged
                    ? NextState(keeping: state.unsigned, as: .unchanged) : state
            }
            if let end, (try? result.get().status) == .unchanged, end < options.time.advanced(by: .seconds(21 * 86_400))
            {
                notes.append("its signature ends at \(end.rfc3339); sign it again with: rsdump publish --resign")
            }
            return Outcome(id: id, result: result, chainEnd: end, notes: notes)
        }
        try intake.commit()
        try name(outcomes.filter { (try? $0.result.get()) != nil }.map(\.id), isNew: configuration == nil)
        return outcomes
    }

    private func held(
        _ id: CollectionID, _ intake: SnapshotIntake, _ verifier: BundleVerifier
    ) throws -> (snapshot: Snapshot, entry: LockFile.Collection)? {
        do {
            return try intake.held(id, by: verifier)
        } catch {
            throw PublishError.damaged(id, "\(error)")
        }
    }

    /// - Returns: the next state, and the snapshot to be packed; no snapshot where the present bundle stays.
    private func next(
        _ id: CollectionID, _ source: CollectionSource?, _ held: (snapshot: Snapshot, entry: LockFile.Collection)?,
        rule: String, server: String
    ) throws -> (NextState, Snapshot?) {
        let present = held.map {
            UnverifiedSnapshot(
                collection: id, payload: $0.snapshot.payload, metadata: $0.snapshot.metadata)
        }
        guard let source else {
            guard let held, let present else { throw DumpsError.notLocked([id], directory.lockPath) }
            let state = try NextState(resigning: present, at: options.time, limits: limits)
            let isCurrent =
                held.snapshot.chain == signer.chain && held.entry.server == server
                && present.signatures.count == (options.overlap == nil ? 1 : 2)
            return isCurrent ? (NextState(keeping: present, as: .unchanged), nil) : (state, try signed(state.unsigned))
        }
        let state = try NextState(source, onto: present, at: options.time, isExact: options.isExact, limits: limits)
        if state.status == .unchanged, let held {
            // An unsigned bundle gets its signature.
            guard held.snapshot.provenance.isSigned else { return (state, try signed(state.unsigned)) }
            guard held.entry.server == server else {
                let moved = try NextState(resigning: state.unsigned, at: options.time, limits: limits)
                return (moved, try signed(moved.unsigned))
            }
            let isMissing = held.entry.omitted.contains { $0.reason == .notImported }
            guard isMissing || held.entry.attachmentRule != rule else { return (state, nil) }
            return (NextState(keeping: state.unsigned, as: .repacked), held.snapshot)
        }
        return (state, try signed(state.unsigned))
    }

    /// The server for the lock's entries: apps use packaged snapshots of the server that they sync with, and of no other.
    private func server(_ configuration: DumpsConfiguration?) -> String {
        let server = options.server ?? configuration?.server ?? Self.defaultServer
        // Mozilla's servers have names, and nothing is published there.
        return server.hasPrefix("http") ? server : "publish"
    }

    private func chain(for id: CollectionID) throws(ContentSignatureError) -> VerifiedChain {
        try signer.verifiedChain(by: policy, of: id, at: options.time, limits: limits)
    }

    /// Signs a state, and verifies it as apps do.
    private func signed(_ state: UnverifiedSnapshot) throws -> Snapshot {
        // Nobody believes data that is newer than its verification.
        guard state.timestamp <= options.time.advanced(by: .seconds(limits.clockToleranceSeconds)) else {
            throw PublishError.clockBehind(state.collection, present: state.timestamp, time: options.time)
        }
        let chain = try chain(for: state.collection)
        let x5u = options.chainURL ?? "chains/\(SHA256Digest(hashing: signer.chain)).pem"
        var entries = [try entry(signer, over: state, x5u: x5u)]
        if let (other, url) = options.overlap {
            let own = try CertificateChain(pem: other.chain, limits: limits)
            _ = try own.verified(
                anchors: TrustAnchors([own.root]), signer: policy.signer(for: state.collection), at: options.time)
            entries.append(try entry(other, over: state, x5u: url))
        }
        guard case .object(let members) = try JSONValue(parsing: state.metadata.json, limits: limits) else {
            throw PublishError.damaged(state.collection, "its metadata is no object")
        }
        let kept = members.filter { $0.key != "signature" && $0.key != "signatures" }
        let json = JSONText.compact(
            .object(
                kept + [.init(key: "signature", value: entries[0]), .init(key: "signatures", value: .array(entries))]))
        let unverified = UnverifiedSnapshot(
            collection: state.collection, payload: state.payload,
            metadata: try CollectionMetadata(parsing: Bytes(json), limits: limits))
        return try unverified.verified(with: [x5u: .success(chain)], signer: chain.signer, limits: limits)
    }

    private func entry(_ signer: ContentSigner, over state: UnverifiedSnapshot, x5u: String) throws -> JSONValue {
        .members([
            "mode": .string("p384ecdsa"), "signature": .string(try signer.signature(over: state.payload.bytes)),
            "x5u": .string(x5u),
        ])
    }

    private func name(_ ids: [CollectionID], isNew: Bool) throws {
        guard !ids.isEmpty else { return }
        if isNew {
            let signer = policy.signer.map { "\n  signer: \($0)" } ?? ""
            let roots = policy.roots.roots.map { "\n    - \"\($0)\"" }.joined()
            try directory.writeConfiguration(
                """
                # The collections that rsdump publish makes from their sources, for apps and for rsdump serve.
                version: 1

                # Where they are served; rsdump refresh asks it. Write your origin's address here.
                server: \(options.server ?? Self.defaultServer)

                trust:
                  roots:\(roots)\(signer)

                collections:

                """)
        }
        _ = try directory.addCollections(ids, server: isNew ? nil : options.server)
    }
}
