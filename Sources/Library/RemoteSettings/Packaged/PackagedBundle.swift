import RemoteSettingsModel
import SnapshotBundle

/// One collection in one packaged source: its entry in the lock file, and its bundle.
///
/// The bundle is opened when it is first needed, and remains open.
final class PackagedBundle: Sendable {
    let id: CollectionID
    /// The entry in the lock file, but with the timestamp of the bundle itself (see ``missingState``).
    let lock: LockFile.Collection
    /// The timestamp in the lock file, if the bundle has a different state, because a checkout or copy is incomplete or
    /// a refresh has not written the lock file yet; otherwise `nil`.
    ///
    /// In this case, only the bundle's own signature can establish trust in it, unless its source is as trusted as the
    /// program.
    let missingState: Timestamp?
    /// The source's name.
    let sourceName: String
    /// Whether anyone who can change the bundle can also change the program.
    let isTrusted: Bool
    /// Whether a bundle that was imported without a signature is accepted on the authority of the person who packaged
    /// it.
    let acceptsImported: Bool
    private let open: @Sendable () throws(BundleError) -> BundleReader
    private let opened = Mutex<BundleReader?>(nil)

    /// Creates a bundle that is not opened yet. Does no I/O.
    ///
    /// - Parameter path: the bundle's path in a source that is a directory; `nil` for the path in the lock file.
    convenience init(_ id: CollectionID, _ lock: LockFile.Collection, in source: PackagedSource, path: String? = nil) {
        self.init(id, lock, missingState: nil, in: source, path: path)
    }

    private init(
        _ id: CollectionID, _ lock: LockFile.Collection, missingState: Timestamp?, in source: PackagedSource,
        path place: String? = nil
    ) {
        self.id = id
        self.lock = lock
        self.missingState = missingState
        let name = source.name
        sourceName = name
        switch source.form {
        case .embedded(_, let bundles):
            isTrusted = true
            let bytes = bundles["\(id)"]
            open = { () throws(BundleError) in
                guard let bytes else {
                    throw BundleError(
                        .missing, file: name, entry: "\(id)",
                        found: "the bundle is missing, but the lock file lists it",
                        remedy: "run rsdump embed again, and build the app")
                }
                return try BundleReader(bytes: bytes, name: "\(name): \(id)")
            }
        case .directory(let path, let isTrusted):
            self.isTrusted = isTrusted
            let file = "\(path)/\(place ?? lock.bundle.path)"
            open = { () throws(BundleError) in
                isTrusted
                    ? try BundleReader(path: file) : try BundleReader(copying: file)
            }
        case .absent(let reason):
            isTrusted = false
            open = { () throws(BundleError) in
                throw BundleError.noPackagedSnapshots(in: name, reason)
            }
        }
        acceptsImported = isTrusted && source.acceptsImported
    }

    /// Opens the bundle, and checks by its first bytes that it is the one listed in the lock file. The first call does
    /// I/O.
    func reader() throws(BundleError) -> BundleReader {
        if let reader = opened.withLock({ $0 }) { return reader }
        let reader = try open()
        let head = reader.head
        guard isListed(head) else {
            throw BundleError(
                .damaged, file: reader.name,
                expected: "\(id) at \(lock.timestamp), \(lock.trust.kind.rawValue), as in the lock file",
                found: "\(head.collection) at \(head.timestamp), \(head.trust.rawValue)")
        }
        opened.withLock { $0 = reader }
        return reader
    }

    private func isListed(_ head: BundleHead) -> Bool {
        head.collection == id && head.timestamp == lock.timestamp && head.trust == lock.trust.kind
    }

    /// Returns this bundle with its own state in place of the one in the lock file. Does I/O.
    ///
    /// - Returns: `nil` if the states are the same, if only one of them is signed, or if the file cannot be read.
    func inItsOwnState(of source: PackagedSource) -> PackagedBundle? {
        guard let head = try? open().head, head.collection == id, head.trust == lock.trust.kind,
            head.timestamp != lock.timestamp
        else { return nil }
        var entry = lock
        entry.timestamp = head.timestamp
        return PackagedBundle(id, entry, missingState: lock.timestamp, in: source)
    }

    /// Whether the bundle's first bytes are valid, but belong to a different state than the one in the lock file. The
    /// first access does I/O.
    var isOfAnotherState: Bool {
        guard opened.withLock({ $0 }) == nil, let head = try? open().head else { return false }
        return !isListed(head)
    }

    /// Reads the bundle's snapshot. The signature is verified unless the bundle is as trusted as the program. Does I/O.
    ///
    /// - Parameters:
    ///   - isKnownSigned: whether an unsigned bundle that is not as trusted as the program is refused.
    ///   - now: the time to verify at if the lock file's time of verification is that of a different state.
    /// - Throws: `SnapshotRefusal` or `BundleError`.
    func snapshot(_ verifier: SnapshotVerifier, isKnownSigned: Bool, now: Timestamp) throws -> Snapshot {
        let bundle = try reader()
        let payload = try bundle.payload(isHashed: !isTrusted && lock.trust.isSigned)
        if isTrusted, missingState != nil, let chain = try bundle.chain(), let verdict = lock.trust.verdict,
            let verified = try? verifier.believe(
                .init(collection: id, payload: payload, metadata: bundle.metadata()),
                .kept(chain, verifiedAt: max(verdict.verifiedAt, payload.timestamp)))
        {
            return verified
        }
        if isTrusted {
            // No signature is verified here, so the metadata need not be parsed.
            let claim = UnverifiedSnapshot(
                collection: id, payload: payload, metadata: CollectionMetadata(unread: try bundle.metadataText()))
            guard lock.trust.isSigned || lock.trust == .imported && acceptsImported else {
                return try verifier.believe(claim, .nothing(as: lock.trust, isKnownSigned: false))
            }
            // The chain of a trusted bundle is not used, so it may be damaged.
            return try verifier.believe(claim, .word(lock.trust, chain: (try? bundle.chain()) ?? nil))
        }
        let claim = UnverifiedSnapshot(collection: id, payload: payload, metadata: try bundle.metadata())
        guard let verdict = lock.trust.verdict else {
            return try verifier.believe(claim, .nothing(as: lock.trust, isKnownSigned: isKnownSigned))
        }
        guard let chain = try bundle.chain() else {
            throw SnapshotRefusal(.damaged("\(bundle.name): chain.pem is missing"))
        }
        let locked = Evidence.kept(chain, verifiedAt: verdict.verifiedAt)
        if missingState != nil, let snapshot = try? verifier.believe(claim, locked) { return snapshot }
        return try verifier.believe(claim, missingState == nil ? locked : .kept(chain, verifiedAt: now))
    }
}
