import RemoteSettingsModel
import SnapshotBundle

/// One collection in one packaged source: its entry in the lock file, and its bundle.
///
/// The bundle is opened when it is first needed, and remains open.
final class PackagedBundle: Sendable {
    let id: CollectionID
    /// The entry in the lock file.
    let lock: LockFile.Collection
    /// The source's name.
    let sourceName: String
    /// Whether anyone who can change the bundle can also change the program.
    let isTrusted: Bool
    /// Whether a bundle that was imported without a signature is accepted on the authority of the person who packaged
    /// it.
    let acceptsImported: Bool
    private let open: @Sendable () throws(Failure) -> BundleReader
    private let opened = Mutex<BundleReader?>(nil)

    /// Creates a bundle that is not opened yet. Does no I/O.
    ///
    /// - Parameter path: the bundle's path in a source that is a directory; `nil` for the path in the lock file.
    init(_ id: CollectionID, _ lock: LockFile.Collection, in source: PackagedSource, path place: String? = nil) {
        self.id = id
        self.lock = lock
        let name = source.name
        sourceName = name
        switch source.form {
        case .embedded(_, let bundles):
            isTrusted = true
            let bytes = bundles["\(id)"]
            open = { () throws(Failure) in
                guard let bytes else {
                    throw Failure.missingBundle(
                        name, entry: "\(id)", remedy: "run rsdump embed again, and build the app")
                }
                return try BundleReader(bytes: bytes, name: "\(name): \(id)")
            }
        case .directory(let path, let isTrusted):
            self.isTrusted = isTrusted
            let file = "\(path)/\(place ?? lock.bundle.path)"
            open = { () throws(Failure) in
                do throws(Failure) {
                    return isTrusted ? try BundleReader(path: file) : try BundleReader(copying: file)
                } catch {
                    throw error.isMissing ? Failure.missingBundle(file) : error
                }
            }
        case .absent(let reason):
            isTrusted = false
            open = { () throws(Failure) in
                throw Failure.noPackagedSnapshots(in: name, reason)
            }
        }
        acceptsImported = isTrusted && source.acceptsImported
    }

    /// Opens the bundle, and checks by its first bytes that it is the one listed in the lock file. The first call does
    /// I/O.
    func reader() throws(Failure) -> BundleReader {
        if let reader = opened.withLock({ $0 }) { return reader }
        let reader = try open()
        let head = reader.head
        guard head.collection == id, head.timestamp == lock.timestamp, head.trust == lock.trust.kind else {
            throw Failure(
                .damaged, file: reader.name,
                expected: "\(id) at \(lock.timestamp), \(lock.trust.kind.rawValue), as in the lock file",
                found: "\(head.collection) at \(head.timestamp), \(head.trust.rawValue)")
        }
        opened.withLock { $0 = reader }
        return reader
    }

    /// Reads the bundle's snapshot. The signature is verified unless the bundle is as trusted as the program. Does I/O.
    ///
    /// - Parameter isKnownSigned: whether an unsigned bundle that is not as trusted as the program is refused.
    /// - Throws: `SnapshotRefusal` or `Failure`.
    func snapshot(_ verifier: SnapshotVerifier, isKnownSigned: Bool) throws -> Snapshot {
        let bundle = try reader()
        let payload = try bundle.payload(isHashed: !isTrusted && lock.trust.isSigned)
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
        return try verifier.believe(claim, .kept(chain, verifiedAt: verdict.verifiedAt))
    }
}
