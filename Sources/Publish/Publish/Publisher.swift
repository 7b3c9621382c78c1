import ContentSigning
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A publisher of source files, which signs each changed collection and packs it into a dumps directory.
package struct Publisher: Sendable {
    package struct Options: Sendable {
        /// The time for new timestamps, and for the verification of signatures.
        package var time: Timestamp
        /// Whether the user specified this `time`. It is then an error if a different timestamp would be needed.
        package var isExact = false
        /// A second signer, for the period in which apps migrate to a different root. Its signatures are added to those
        /// of the first signer.
        package var overlap: (any PayloadSigner)?
        /// The server from which apps sync, for `dumps.yaml` and the lock file; `nil` for the one in `dumps.yaml`.
        package var server: String?
        /// The collections whose next states are published even if they violate guards.
        package var accepted: Set<CollectionID> = []

        package init(time: Timestamp) {
            self.time = time
        }
    }

    /// The result for one collection.
    package struct Outcome: Sendable {
        package let id: CollectionID
        package let result: Result<NextState, any Error>
        /// The earliest expiry of a certificate in the chain; `nil` if the collection has no verified state.
        package let chainEnd: Timestamp?
        package fileprivate(set) var notes: [String]
    }

    /// The directory's current state of a collection.
    private struct Held {
        let unverified: UnverifiedSnapshot
        let entry: LockFile.Collection
        /// The verified snapshot, or the reason why it does not verify against a configured root.
        let vouched: Result<Snapshot, Failure>

        var present: PresentState {
            let isVouched = if case .success = vouched { true } else { false }
            return PresentState(payload: unverified.payload, metadata: unverified.metadata, isVouched: isVouched)
        }
    }

    /// The server in a new `dumps.yaml` if none is given: `rsdump serve` on the local machine.
    private static let defaultServer = "http://127.0.0.1:8888/v1"

    private let transaction: DumpsTransaction
    private var directory: DumpsDirectory { transaction.directory }
    private let signer: any PayloadSigner
    private let policy: TrustPolicy
    private let options: Options

    /// Creates a publisher for one run.
    ///
    /// - Parameters:
    ///   - transaction: a transaction in which nothing was changed yet. The run ends it. Whatever the run uses was read
    ///     after the transaction has begun.
    ///   - policy: the trust policy of the apps. A state is published only if this policy accepts it.
    package init(into transaction: DumpsTransaction, signer: any PayloadSigner, policy: TrustPolicy, options: Options) {
        self.transaction = transaction
        self.signer = signer
        self.policy = policy
        self.options = options
    }

    /// Computes the collections' next states. Signs nothing and writes nothing. Does I/O.
    ///
    /// This needs no keys and verifies no signatures. It relies on the lock file's list of signed states.
    ///
    /// - Parameter accepted: the collections whose guard violations are accepted; `nil` to skip the guards.
    package static func preview(
        _ sources: [CollectionSource], in directory: DumpsDirectory, at time: Timestamp, isExact: Bool = false,
        accepted: Set<CollectionID>? = nil
    ) throws -> [CollectionID: ComparedSnapshot] {
        let lock = try directory.readableLock().lock
        let configuration = try directory.configurationOrDefault()
        let states = try sources.map { source in
            let present = try present(source.id, lock, in: directory)
            let next = try NextState(source, onto: present, at: time, isExact: isExact)
            if let accepted { _ = try guarded(next, onto: present, by: configuration, accepted: accepted) }
            return next
        }
        let compared = states.map { ($0.collection, ComparedSnapshot(planned: $0.unsigned)) }
        return Dictionary(compared) { _, last in last }
    }

    private static func present(
        _ id: CollectionID, _ lock: LockFile, in directory: DumpsDirectory
    ) throws -> PresentState? {
        try lock.collections[id].map { entry in
            let state = try BundleReader(path: directory.readablePath(id))
                .unverifiedSnapshot()
            return PresentState(payload: state.payload, metadata: state.metadata, isVouched: entry.trust.isSigned)
        }
    }

    /// Checks a next state against the collection's pin and guards.
    ///
    /// - Returns: the violations that were accepted.
    private static func guarded(
        _ next: NextState, onto present: PresentState?, by configuration: DumpsConfiguration,
        accepted: Set<CollectionID>
    ) throws(Failure) -> [GuardViolation] {
        guard [.created, .updated].contains(next.status) else { return [] }
        let settings = configuration.settings(of: next.collection)
        guard settings.pin == nil else { throw .pinned(next.collection) }
        let violations = settings.guards.violations(
            of: next.payload.records, after: present?.payload.records, isPublished: true)
        guard violations.isEmpty || accepted.contains(next.collection) else {
            throw .guarded(next.collection, violations, command: "rsdump publish")
        }
        return violations
    }

    /// Checks a source in the same way as publishing does, but without a current state. It finds errors that occur only
    /// when records are created, such as numbers that are out of range. Does no I/O, and needs neither keys nor a dumps
    /// directory.
    ///
    /// - Throws: ``Failure``, also if attachments exceed the configuration's budget; `Failure`.
    package static func check(
        _ source: CollectionSource, _ configuration: DumpsConfiguration, at time: Timestamp
    ) throws {
        let state = try NextState(source, onto: nil, at: time, isExact: false)
        let settings = configuration.settings(of: source.id)
        try settings.budget.check(AttachmentSelector(settings.attachments).select(state.payload.records).wanted)
    }

    /// Returns the collections of a directory that have neither a source nor a valid signature of a configured root,
    /// each with the reason. A reviewer of the sources has never seen such collections. Does I/O.
    ///
    /// Collections from a server that does not sign them are not included, if the configuration accepts that.
    package static func unvouched(
        in directory: DumpsDirectory, besides sources: Set<CollectionID>, by policy: TrustPolicy
    ) throws -> [Failure] {
        let verifier = BundleVerifier(policy)
        return try directory.lockFile().collections.sorted { $0.key < $1.key }.compactMap { id, entry in
            if sources.contains(id) || entry.trust == .unsigned && policy.acceptsUnsigned { return nil }
            guard entry.trust.isSigned else { return .notVouched(id, "it is \(entry.trust.kind.rawValue)") }
            do {
                try verifier.verify(directory.bundlePath(id), of: id, against: entry)
                return nil
            } catch let error as Failure where error.isOfTrust {
                return .notVouched(id, "\(error)")
            } catch {
                return .damaged(id, error)
            }
        }
    }

    /// Publishes each collection independently of the others, and adds it to `dumps.yaml`. Does I/O, no network.
    ///
    /// - Throws: ``Failure``, for example if the signer fails; `Failure`, for example if apps would not accept
    ///   the chain. In these cases nothing has changed. An error that concerns only one collection is in that
    ///   collection's outcome.
    package func run(_ sources: [CollectionSource]) async throws -> [Outcome] {
        try await publish(sources.map { ($0.id, $0) })
    }

    /// Signs collections again without reading sources. No data changes. Does I/O, no network.
    ///
    /// - Parameter names: the collections; empty for all that are in the directory.
    package func resign(_ names: [CollectionID]) async throws -> [Outcome] {
        let lock = transaction.before
        let unknown = names.filter { lock.collections[$0] == nil }
        guard unknown.isEmpty else {
            throw Failure.notLocked(unknown, directory.lockPath, known: lock.collections.keys)
        }
        return try await publish((names.isEmpty ? lock.collections.keys.sorted() : names).map { ($0, nil) })
    }

    /// The values that are the same for all collections of a run.
    private struct Run {
        let verifier: BundleVerifier
        let configuration: DumpsConfiguration
        let server: String
    }

    private func publish(_ collections: [(id: CollectionID, source: CollectionSource?)]) async throws -> [Outcome] {
        defer { try? transaction.end() }
        guard let first = collections.first?.id else { return [] }
        // A bad chain is an error for all collections, so check the chains before writing anything.
        _ = try chains(for: first)
        let written = try directory.configurationText().map {
            try ConfigurationReader.read($0, file: directory.configurationPath)
        }
        let server = try self.server(written)
        let configuration = written ?? DumpsConfiguration()
        // Nothing is changed before the commit, so a signer that fails leaves the directory as it was. A directory that
        // is not writable is an error of the run, not of each collection.
        try directory.prepareWork()
        let run = Run(verifier: BundleVerifier(policy), configuration: configuration, server: server)
        var outcomes: [Outcome] = []
        for (id, source) in collections {
            outcomes.append(try await outcome(id, source, run))
        }
        let published = outcomes.filter { (try? $0.result.get()) != nil }.map(\.id)
        guard !published.isEmpty else {
            try transaction.commit(configuration)
            return outcomes
        }
        try transaction.commit(creating: written == nil ? newText : nil) { editor in
            if written != nil, let server = options.server { try editor.setServer(server) }
            _ = try editor.add(published, attachments: nil)
        }
        return outcomes
    }

    /// Publishes one collection and returns the result.
    ///
    /// - Throws: the error of a signer, which affects all collections.
    private func outcome(_ id: CollectionID, _ source: CollectionSource?, _ run: Run) async throws -> Outcome {
        var notes = source?.notes ?? []
        var end: Timestamp?
        let result: Result<NextState, any Error>
        do {
            let held = try current(id, run)
            let rule = run.configuration.settings(of: id).attachments.text
            var violations: [GuardViolation] = []
            let (state, snapshot) = try await next(id, source, held, rule: rule, server: run.server, &notes) { next in
                violations = try Self.guarded(
                    next, onto: held?.present, by: run.configuration, accepted: options.accepted)
            }
            notes += violations.map { "accepted despite a guard: \($0)" }
            end = try (snapshot ?? held?.vouched.get())?.provenance.verdict?.chainNotAfter
            if let snapshot {
                let outcome = try transaction.take(
                    .init(
                        snapshot: snapshot, attachments: source?.attachments ?? [:], origin: run.server,
                        accepted: violations.map(\.sentence)), by: run.configuration)
                let isSame = state.status == .repacked && outcome == .unchanged
                result = .success(isSame ? state.with(.unchanged) : state)
            } else {
                result = .success(state)
            }
        } catch let error as Failure where error.cause == .signer {
            throw error
        } catch {
            result = .failure(error)
        }
        if let end, (try? result.get().status) == .unchanged, end < options.time.advanced(by: .seconds(21 * 86_400)) {
            notes.append("its signature expires at \(end.rfc3339); sign it again with: rsdump publish --resign")
        }
        return Outcome(id: id, result: result, chainEnd: end, notes: notes)
    }

    private func current(_ id: CollectionID, _ run: Run) throws -> Held? {
        do {
            guard let entry = transaction.before.collections[id] else { return nil }
            let bundle = try directory.bundle(id)
            let unverified = try bundle.unverifiedSnapshot()
            let vouched: Result<Snapshot, Failure>
            do {
                let snapshot = try run.verifier.snapshot(of: bundle, payload: unverified.payload, as: entry)
                vouched =
                    snapshot.provenance.isSigned
                    ? .success(snapshot) : .failure(.notVouched(id, "it is \(entry.trust.kind.rawValue)"))
            } catch let error as Failure where error.isOfTrust {
                vouched = .failure(.notVouched(id, "\(error)"))
            }
            return Held(unverified: unverified, entry: entry, vouched: vouched)
        } catch  where !error.isOfMachine {
            throw Failure.damaged(id, error)
        }
    }

    /// Computes and signs the next state of a collection.
    ///
    /// - Parameter check: called with the next state before it is signed; may throw.
    /// - Returns: the next state and the snapshot to pack. The snapshot is `nil` if the current bundle is kept.
    private func next(
        _ id: CollectionID, _ source: CollectionSource?, _ held: Held?, rule: String, server: String,
        _ notes: inout [String], check: (NextState) throws -> Void
    ) async throws -> (NextState, Snapshot?) {
        let chains = try chains(for: id)
        guard let source else { return try await resigned(id, held, chains, server: server) }
        let state = try NextState(source, onto: held?.present, at: options.time, isExact: options.isExact)
        try check(state)
        guard let held, case .success(let present) = held.vouched else {
            return (state, try await signed(state, chains))
        }
        let before = try PublishedFrom(present, held.entry)
        let made = chains.map(\.made)
        var after = try PublishedFrom(state, made, server: server, rule: rule)
        if after == before {
            if options.isExact { notes.append("nothing changed, so the timestamp is unchanged and --at was ignored") }
            return (state, nil)
        }
        guard state.status == .unchanged else { return (state, try await signed(state, chains)) }
        let isRenewed = before.server == server && before.isRenewed(by: after, at: options.time)
        if !isRenewed { return (state.with(.resigned), try await signed(state, chains)) }
        if before.signatures != made {
            notes.append(
                "signed by an earlier key of the same root; the signature is still valid; to sign again, run: "
                    + "rsdump publish --resign")
        }
        after.signatures = before.signatures
        return after == before ? (state, nil) : (state.with(.repacked), present)
    }

    /// Returns the current state if it verifies against a configured root now. The lock file alone is not sufficient,
    /// because anyone who proposes a change can modify it.
    private func vouchedNow(_ id: CollectionID, _ held: Held?) throws -> (held: Held, snapshot: Snapshot) {
        guard let held else { throw Failure.notLocked([id], directory.lockPath, known: []) }
        let present = try held.vouched.get()
        do throws(Failure) {
            _ = try SnapshotVerifier(policy).believe(
                held.unverified, .kept(present.chain ?? Bytes([]), verifiedAt: options.time))
        } catch {
            throw Failure.notVouched(id, "its signature is not valid at \(options.time.rfc3339): \(error)")
        }
        return (held, present)
    }

    /// Signs the current state again.
    private func resigned(
        _ id: CollectionID, _ held: Held?, _ chains: [Chain], server: String
    ) async throws -> (NextState, Snapshot?) {
        let (held, present) = try vouchedNow(id, held)
        let state = try NextState(keeping: held.present, of: id, as: .resigned, at: options.time)
        let before = try PublishedFrom(present, held.entry)
        var after = before
        after.signatures = chains.map(\.made)
        after.server = server
        return after == before ? (state.with(.unchanged), nil) : (state, try await signed(state, chains))
    }

    /// Returns the server for the lock file's entries. Apps use packaged snapshots only if these are from the server
    /// that they sync with.
    private func server(_ configuration: DumpsConfiguration?) throws(Failure) -> String {
        let server = options.server ?? configuration?.server ?? Self.defaultServer
        guard try ServerURL(server, allowPlainHTTP: true).mozillaRoots == nil else {
            throw Failure(
                place: directory.configurationPath,
                problem: "you cannot publish for \(server), which is Mozilla's server",
                remedy: "write your server's URL after server:, or give it with --server")
        }
        return server
    }

    /// A signer with its verified chain, and the description of the signatures that it makes.
    private struct Chain {
        let signer: any PayloadSigner
        let verified: VerifiedChain
        let made: PublishedFrom.Signature
    }

    /// Returns the chains of the signers. Apps must already trust the root of the first one.
    private func chains(for id: CollectionID) throws(Failure) -> [Chain] {
        func chain(of signer: any PayloadSigner) throws(Failure) -> Chain {
            let verified = try CertificateChain(pem: signer.chain)
                .ownVerdict(policy.signer(for: id), at: options.time)
            return Chain(signer: signer, verified: verified, made: .init(verified))
        }
        let own = try chain(of: signer)
        guard policy.roots.roots.contains(own.verified.root) else {
            throw .untrustedRoot(found: own.verified.root, pinned: policy.roots.roots)
        }
        guard let other = options.overlap else { return [own] }
        return [own, try chain(of: other)]
    }

    /// Signs a state, and verifies it in the same way as the apps that pin each root.
    private func signed(_ state: NextState, _ chains: [Chain]) async throws -> Snapshot {
        // Apps refuse data whose timestamp is too far in the future.
        guard state.timestamp <= options.time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw Failure.clockBehind(state.collection, present: state.timestamp, time: options.time)
        }
        let signatures = try await signatures(over: state.payload.bytes, chains)
        let entries = zip(signatures, chains).map { signature, chain in
            JSONValue.members([
                "mode": .string("p384ecdsa"), "signature": .string(signature), "x5u": .string(chain.made.url),
            ])
        }
        guard case .object(let members) = try JSONValue(parsing: state.metadata.json) else {
            throw Failure.damaged(state.collection, Failure(problem: "its metadata is not an object"))
        }
        let unsigned = members.filter { $0.key != "signature" && $0.key != "signatures" }
        let json = JSONText.compact(
            .object(
                unsigned + [
                    .init(key: "signature", value: entries[0]), .init(key: "signatures", value: .array(entries)),
                ]))
        let unverified = UnverifiedSnapshot(
            collection: state.collection, payload: state.payload,
            metadata: try CollectionMetadata(parsing: Bytes(json)))
        let snapshots = try chains.map { chain in
            try unverified.verified(with: [chain.made.url: .success(chain.verified)], signer: chain.verified.signer)
        }
        let others = try chains.dropFirst().map { try CertificateChain(pem: $0.verified.pem) }
        return snapshots[0].keeping(others)
    }

    private func signatures(over payload: Bytes, _ chains: [Chain]) async throws(Failure) -> [String] {
        var made: [String] = []
        for chain in chains {
            do {
                made.append(try await chain.signer.signature(over: payload))
            } catch {
                throw .signer(error)
            }
        }
        return made
    }

    /// The text of a new `dumps.yaml` without collections.
    private var newText: String {
        let signer = policy.signer.map { "\n  signer: \($0)" } ?? ""
        let roots = policy.roots.roots.map { "\n    - \"\($0)\"" }.joined()
        return """
            # The collections that rsdump publish creates from sources, for apps and for rsdump serve.
            version: 1

            # The server of these collections, which apps sync with. Write your server's URL here.
            server: \(options.server ?? Self.defaultServer)

            trust:
              roots:\(roots)\(signer)

            collections:

            """
    }
}
