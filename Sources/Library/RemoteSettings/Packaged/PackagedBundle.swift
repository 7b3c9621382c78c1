import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// A payload and the SHA-256 of its bytes.
struct HashedPayload: Sendable {
    let payload: Payload
    let digest: SHA256Digest
}

/// One collection in one packaged source: its entry in the source's lock, and its bundle.
///
/// The bundle is opened when it is first needed, and stays open.
final class PackagedBundle: Sendable {
    let id: CollectionID
    /// The lock's entry. Its timestamp is the bundle's.
    let lock: LockFile.Collection
    /// The state that the lock names, if the bundle is of another one because a checkout or copy is incomplete.
    ///
    /// Only the bundle's own signature vouches for the bundle then; the lock says nothing about it.
    let missingState: Timestamp?
    /// The source's name.
    let sourceName: String
    /// Whether everyone who can change the bundle can also change the program.
    let isTrusted: Bool
    /// Whether a bundle that was imported without a signature is accepted, because whoever packaged it vouches for it.
    let acceptsImported: Bool
    private let open: @Sendable () throws(BundleError) -> BundleReader
    private let opened = Mutex<BundleReader?>(nil)

    /// Does no I/O.
    ///
    /// - Parameter path: the bundle's place in a source that is a directory; `nil` for the one that the lock names.
    convenience init(
        _ id: CollectionID, _ lock: LockFile.Collection, in source: PackagedSource, path: String? = nil, limits: Limits
    ) {
        self.init(id, lock, missingState: nil, in: source, path: path, limits: limits)
    }

    private init(
        _ id: CollectionID, _ lock: LockFile.Collection, missingState: Timestamp?, in source: PackagedSource,
        path place: String? = nil, limits: Limits
    ) {
        self.id = id
        self.lock = lock
        self.missingState = missingState
        let name = source.name
        sourceName = name
        switch source.form {
        case .embedded(_, let bundles):
            isTrusted = true
            let bytes = bundles[id]
            open = { () throws(BundleError) in
                guard let bytes else {
                    throw BundleError(
                        .missing, file: name, entry: "\(id)", expected: "the bundle that the lock lists", found: "none")
                }
                return try BundleReader(bytes: bytes, name: "\(name): \(id)", limits: limits)
            }
        case .directory(let path, let isTrusted):
            self.isTrusted = isTrusted
            let file = "\(path)/\(place ?? lock.bundle.path)"
            open = { () throws(BundleError) in
                isTrusted
                    ? try BundleReader(path: file, limits: limits) : try BundleReader(copying: file, limits: limits)
            }
        case .absent(let reason):
            isTrusted = false
            open = { () throws(BundleError) in
                throw BundleError(.missing, file: name, expected: "packaged snapshots", found: reason)
            }
        }
        acceptsImported = isTrusted && source.acceptsImported
    }

    /// Opens the bundle, and checks by its first bytes that it is the one that the lock lists. Does I/O at the first
    /// call.
    func reader() throws(BundleError) -> BundleReader {
        if let reader = opened.withLock({ $0 }) { return reader }
        let reader = try open()
        let head = reader.head
        guard head.collection == id, head.timestamp == lock.timestamp, head.trust == lock.trust.kind else {
            throw BundleError(
                .disagreement, file: reader.name,
                expected: "\(id) at \(lock.timestamp), \(lock.trust.kind.rawValue), as the lock says",
                found: "\(head.collection) at \(head.timestamp), \(head.trust.rawValue)")
        }
        opened.withLock { $0 = reader }
        return reader
    }

    /// The bundle in its file's own state, if that is signed and is not the state that the lock names. Does I/O.
    ///
    /// - Returns: `nil` if only the lock could vouch for the bundle, because the source is trusted or nothing is
    ///   signed.
    func inItsOwnState(of source: PackagedSource, limits: Limits) -> PackagedBundle? {
        guard !isTrusted, lock.trust.isSigned, let head = try? open().head, head.collection == id,
            head.trust == .signed, head.timestamp != lock.timestamp
        else { return nil }
        var entry = lock
        entry.timestamp = head.timestamp
        return PackagedBundle(id, entry, missingState: lock.timestamp, in: source, limits: limits)
    }

    /// Whether the bundle's first bytes are sound, but of another state than the one that the lock lists. Does I/O at
    /// the first call.
    var isOfAnotherState: Bool {
        do throws(BundleError) {
            _ = try reader()
            return false
        } catch {
            return error.kind == .disagreement
        }
    }

    /// Reads the bundle's snapshot. The signature is verified unless the bundle is as trusted as the program. Does I/O.
    ///
    /// - Parameter now: the time to verify at if the lock does not say when the bundle was verified.
    /// - Throws: `SnapshotRefusal`, `BundleError` or `ContentSignatureError`.
    func snapshot(_ verifier: KeptSnapshotVerifier, now: Timestamp) throws -> Snapshot {
        let bundle = try reader()
        if isTrusted {
            // Nothing is verified, so the metadata need not be parsed.
            let claim = UnverifiedSnapshot(
                collection: id, payload: try Self.payload(bundle),
                metadata: CollectionMetadata(unread: try bundle.metadataText()))
            return Snapshot(vouchingFor: claim, chain: try bundle.chain(), provenance: lock.trust)
        }
        guard let verdict = lock.trust.verdict else {
            let claim = UnverifiedSnapshot(
                collection: id, payload: try bundle.payload(), metadata: try bundle.metadata())
            return Snapshot(vouchingFor: claim, chain: nil, provenance: lock.trust)
        }
        let (payload, ahead) = try payload(bundle, verifiedAt: verdict.verifiedAt, by: verifier)
        let claim = UnverifiedSnapshot(
            collection: id, payload: payload, metadata: try ahead.metadata ?? bundle.metadata())
        guard let chain = try ahead.chain ?? bundle.chain() else {
            throw SnapshotRefusal(.damaged("\(bundle.name): expected chain.pem, found none"))
        }
        func snapshot(at time: Timestamp) throws(ContentSignatureError) -> Snapshot {
            try verifier.verified(claim, chain: chain, at: time, message: ahead.message)
        }
        if missingState != nil, let snapshot = try? snapshot(at: verdict.verifiedAt) { return snapshot }
        return try snapshot(at: missingState == nil ? verdict.verifiedAt : now)
    }

    /// The payload and its SHA-256, which nothing vouches for yet. Does I/O.
    func hashedPayload() throws(BundleError) -> HashedPayload {
        let bundle = try reader()
        let (payload, digest) = try Self.payload(bundle) { text in
            SHA256Digest(hashing: text)
        } following: { memory, look in
            var hasher = ContentHasher()
            memory.follow { block in
                hasher.update(block)
                look(block)
            }
            return hasher.finish()
        }
        return HashedPayload(payload: payload, digest: digest)
    }

    /// Reads the bundle's snapshot if its payload is the one that a verified catalogue lists. Does I/O.
    ///
    /// The catalogue's signature vouches for the payload by its SHA-256. The bundle's own signature is not verified.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of the payload in the catalogue.
    ///   - provenance: the catalogue's.
    ///   - ahead: the bundle's payload if it was read before; `nil` reads it.
    /// - Returns: `nil` if the payload has another hash.
    /// - Throws: `BundleError`.
    func snapshot(
        listedAs digest: SHA256Digest, provenance: Provenance, ahead: HashedPayload?
    ) throws(BundleError) -> Snapshot? {
        let hashed = if let ahead { ahead } else { try hashedPayload() }
        guard hashed.digest == digest else { return nil }
        let bundle = try reader()
        let claim = UnverifiedSnapshot(collection: id, payload: hashed.payload, metadata: try bundle.metadata())
        return Snapshot(vouchingFor: claim, chain: try bundle.chain(), provenance: provenance)
    }

    /// What vouches for a payload, as far as it could be read and verified in parallel. The rest is `nil`.
    private struct Ahead {
        var metadata: CollectionMetadata?
        var chain: Bytes?
        var message: SignedMessage
    }

    /// Inflates and indexes a bundle's payload, and verifies in parallel what vouches for it.
    private func payload(
        _ bundle: BundleReader, verifiedAt time: Timestamp, by verifier: KeptSnapshotVerifier
    ) throws(BundleError) -> (Payload, Ahead) {
        @Sendable func vouched(_ hash: () -> SignedMessage) -> Ahead {
            let (metadata, chain) = (try? bundle.metadata(), try? bundle.chain())
            if let chain { verifier.verifyAhead(chain: chain, of: id, at: time) }
            var message = hash()
            if let metadata, let chain {
                verifier.verifyAhead(&message, metadata.signatures, chain: chain, of: id, at: time)
            }
            return Ahead(metadata: metadata, chain: chain, message: message)
        }
        return try Self.payload(bundle) { text in
            vouched { SignedMessage(text) }
        } following: { memory, look in
            vouched {
                var beginning = SignedMessage.Beginning()
                memory.follow { block in
                    beginning.append(block)
                    look(block)
                }
                return SignedMessage(memory.bytes, continuing: beginning)
            }
        }
    }

    /// Inflates and indexes a bundle's payload, and hashes it in parallel.
    ///
    /// - Parameters:
    ///   - hash: hashes a payload that is stored, not deflated.
    ///   - following: hashes the part that is inflated so far while the rest is inflated. It must show each block to
    ///     its second argument.
    private static func payload<Hashed: Sendable>(
        _ bundle: BundleReader, hash: @Sendable (Bytes) -> Hashed,
        following: @Sendable (GrowingMemory, (Span<UInt8>) -> Void) -> Hashed
    ) throws(BundleError) -> (Payload, Hashed) {
        guard let memory = try bundle.payloadMemory() else {
            let text = try bundle.payloadText()
            let (payload, hashed) = sideBySide(bytes: text.count) {
                Result { () throws(BundleError) in try bundle.payload(parsing: text) }
            } _: {
                hash(text)
            }
            return (try payload.get(), hashed)
        }
        let (read, followed) = sideBySide(bytes: memory.capacity) {
            let inflated = Result { () throws(BundleError) in try bundle.inflatePayload(into: memory) }
            let payload = inflated.flatMap {
                Result { () throws(BundleError) in try bundle.payload(parsing: memory.bytes) }
            }
            return (inflated, payload)
        } _: {
            var crc: UInt32 = 0
            let hashed = following(memory) { crc = crc32(of: $0, continuing: crc) }
            return (crc, hashed)
        }
        try read.0.get()
        _ = try bundle.payloadText(in: memory, crc: followed.0)
        return (try read.1.get(), followed.1)
    }

    /// Inflates and indexes the payload of a bundle that needs no verification.
    private static func payload(_ bundle: BundleReader) throws(BundleError) -> Payload {
        guard let memory = try bundle.payloadMemory() else { return try bundle.payload() }
        let (inflated, followed) = sideBySide(bytes: memory.capacity) {
            Result { () throws(BundleError) in try bundle.inflatePayload(into: memory) }
        } _: {
            var crc: UInt32 = 0
            var scanner = bundle.payloadScanner()
            memory.follow { block in
                crc = crc32(of: block, continuing: crc)
                memory.bytes.withSpan { scanner.advance($0) }
            }
            return (crc, scanner)
        }
        try inflated.get()
        let text = try bundle.payloadText(in: memory, crc: followed.0)
        return try bundle.payload(parsing: text, continuing: followed.1)
    }
}
