import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// The mutable state of an ``OriginTransport``.
struct OriginState {
    /// The newest timestamp so far. Each write gets a new one.
    private(set) var time: Timestamp
    var made = 0
    var collections: [CollectionID: AuthoredCollection] = [:] {
        didSet { origin = nil }
    }
    var faults: [Fault] = []
    var log: [OriginTransport.SeenRequest] = []
    private var origin: Origin?

    init(time: Timestamp) { self.time = time }

    mutating func nextTime() -> Timestamp {
        time = time.advanced(by: .milliseconds(1))
        return time
    }

    mutating func nextFault(_ target: String) -> Fault? {
        guard let index = faults.firstIndex(where: { $0.fits(target) }) else { return nil }
        faults[index].timesLeft -= 1
        return faults[index]
    }

    func zip(at path: Substring) -> [UInt8]? {
        collections.values.first { path.hasSuffix("/\($0.id.bucket)--\($0.id.name).zip") }?.zip
    }

    mutating func currentOrigin(_ address: OriginAddress) throws -> Origin {
        if let origin { return origin }
        var served: [ServedCollection] = []
        for id in Array(collections.keys) {
            guard let collection = try collections[id]?.served(at: address) else { continue }
            served.append(collection)
        }
        let made = try Origin(served, address: address, softwareVersion: "1")
        origin = made
        return made
    }
}

/// A collection that a test edits. After a change, its bundle is created when it is next needed.
struct AuthoredCollection {
    let id: CollectionID
    /// The records as JSON objects, by id.
    private(set) var records: [String: String] = [:]
    private(set) var timestamp: Timestamp
    private var offersZip: Bool
    private var files: [SHA256Digest: Bytes] = [:]
    private var signatures = [SignatureForm()]
    /// The number of times that unchanged data has been signed again.
    private var signings = 0
    var zip: [UInt8]?
    /// The states that clients may have seen, newest first.
    private var history: [BundleReader] = []
    private var present: ServedCollection?

    init(id: CollectionID, timestamp: Timestamp, offersZip: Bool) {
        self.id = id
        self.timestamp = timestamp
        self.offersZip = offersZip
    }

    /// The number of older states that a delta can start from.
    private static let remembered = 20

    private mutating func changes() {
        if let bundle = present?.bundle { history.insert(bundle, at: 0) }
        if history.count > Self.remembered { history.removeLast() }
        present = nil
    }

    /// Edits the collection.
    ///
    /// - Parameter time: the collection's new timestamp. If it is earlier than the current timestamp, the current one
    ///   is kept.
    mutating func edit(at time: Timestamp, _ edit: (inout [String: String]) -> Void) {
        changes()
        edit(&records)
        timestamp = max(timestamp, time)
    }

    mutating func add(_ file: Bytes) -> SHA256Digest {
        let digest = SHA256Digest(hashing: file)
        files[digest] = file
        return digest
    }

    mutating func sign(_ forms: [SignatureForm]) {
        changes()
        signatures = forms
        signings += 1
    }

    mutating func signAgain() { sign(signatures) }

    mutating func forgetOlderStates() {
        history = []
        present = nil
    }

    mutating func served(at address: OriginAddress) throws -> ServedCollection {
        if let present { return present }
        let served = try ServedCollection(
            try bundle(address).reader, signature: nil, history: history, address: address)
        present = served
        return served
    }

    private func bundle(_ address: OriginAddress) throws -> Packed {
        let list = records.sorted { $0.key < $1.key }.map(\.value).joined(separator: ",")
        func changeset(_ metadata: String) throws -> UnverifiedSnapshot {
            let body = #"{"metadata":\#(metadata),"timestamp":\#(timestamp),"changes":[\#(list)]}"#
            return try Changeset(parsing: Bytes(utf8: body)).snapshot(of: id, onto: nil)
        }
        let isSigned = ["main", "blocklists", "security-state", "main-preview", "security-state-preview"]
            .contains(id.bucket)
        let payload = try changeset("{}").payload.bytes
        let entries = try isSigned ? signatures.map { try entry($0, payload, address) } : []
        let signature = entries.first.map { #","signature":\#($0),"signatures":[\#(entries.joined(separator: ","))]"# }
        let unverified = try changeset(
            #"{"id":"\#(id.name)","bucket":"\#(id.bucket)","last_modified":\#(timestamp.advanced(by: .seconds(signings))),"#
                + #""attachment":{"bundle":\#(offersZip)}\#(signature ?? "")}"#)
        let named = try Set(Manifest.files(namedBy: unverified.records, file: "\(id)").map(\.sha256))
        let snapshot = try snapshot(unverified, isSigned: isSigned)
        let name = "\(id) in memory"
        let (bytes, bundle) = try BundleWriter(
            snapshot, attachments: files.filter { named.contains($0.key) }.mapValues { .bytes($0) }
        ).bytes(name: name)
        return Packed(
            bytes: bytes, reader: try BundleReader(bytes: bytes, name: name),
            lock: LockFile.Collection(
                bundle, trust: snapshot.provenance, server: "\(address.url)/v1", attachmentRule: "all"))
    }

    /// A state of the collection as a bundle, with its entry in a lock file.
    struct Packed {
        let bytes: Bytes
        let reader: BundleReader
        let lock: LockFile.Collection
    }

    /// Returns the current state in the form in which it is packaged with an app.
    func packed(at address: OriginAddress) throws -> Packed { try bundle(address) }

    /// Creates the snapshot for the server, which trusts it without verification. Clients have to verify the server's
    /// responses.
    ///
    /// Normally the bundle contains the certificate chain and the server serves it. If a test has changed the
    /// signatures, the bundle has no chain, so that the server does not replace the chain URLs in them.
    private func snapshot(_ unverified: UnverifiedSnapshot, isSigned: Bool) throws -> Snapshot {
        let verifier = SnapshotVerifier(TrustPolicy(roots: TrustAnchors([])))
        guard isSigned, signatures == [SignatureForm()] else {
            return try verifier.believe(unverified, .word(.unsigned))
        }
        let signer = try TestSigners.shared.signer(.current, for: id)
        let verdict = SignatureVerdict(
            signer: signer.name.dnsName, root: TestSigners.shared.root, chainNotAfter: timestamp, verifiedAt: timestamp)
        return try verifier.believe(unverified, .word(.signed(verdict), chain: signer.chain))
    }

    private func entry(_ form: SignatureForm, _ payload: Bytes, _ address: OriginAddress) throws -> String {
        let signer = try TestSigners.shared.signer(form.signer, for: id)
        let signature = try signer.signature(over: form.isTampered ? Bytes(payload.array + [0x21]) : payload)
        let base = form.isRelative ? "chains/" : "\(address.url)/chains/"
        let x5u = base + TestSigners.name(of: signer.chain)
        return #"{"signature":"\#(signature)","mode":"\#(form.mode)","x5u":"\#(x5u)"}"#
    }

    /// Creates the ZIP file of the current attachments, as a server does from time to time.
    ///
    /// - Parameters:
    ///   - omitted: the records to leave out.
    ///   - corrupted: the records whose files get a wrong first byte.
    mutating func buildZip(omit omitted: [String], corrupt corrupted: [String]) throws {
        var metas: [(String, [UInt8])] = []
        var contents: [(String, [UInt8])] = []
        for (id, json) in records.sorted(by: { $0.key < $1.key }) where !omitted.contains(id) {
            let attachment = try JSONValue(parsing: Bytes(utf8: json))["attachment"]
            guard let hash = attachment?["hash"]?.string.flatMap({ SHA256Digest(hex: $0) }),
                var file = files[hash]?.array
            else { continue }
            if corrupted.contains(id) { file[0] ^= 1 }
            metas.append(("\(id).meta.json", Array(json.utf8)))
            contents.append((id, file))
        }
        zip = StoredZIP.bytes(metas + contents)
    }
}

/// A writer of ZIP files with uncompressed entries (APPNOTE 4.3), in the simplest form that readers accept.
enum StoredZIP {
    static func bytes(_ entries: [(name: String, content: [UInt8])]) -> [UInt8] {
        var (file, directory): ([UInt8], [UInt8]) = ([], [])
        for (name, content) in entries {
            let offset = file.count
            // Version 2.0, no flags, no compression, and the time 1980-01-01 00:00.
            var shared = little(20, 0, 0, 0, 0x21)
            shared += little32(checksum(content), UInt32(content.count), UInt32(content.count))
            shared += little(UInt16(name.utf8.count), 0)
            file += little32(0x0403_4B50) + shared + Array(name.utf8) + content
            directory += little32(0x0201_4B50) + little(0x0300 | 20) + shared + little(0, 0, 0)
            directory += little32(0o100644 << 16, UInt32(offset)) + Array(name.utf8)
        }
        let count = UInt16(entries.count)
        let end = little32(0x0605_4B50) + little(0, 0, count, count)
        return file + directory + end + little32(UInt32(directory.count), UInt32(file.count)) + little(0)
    }

    private static func checksum(_ content: [UInt8]) -> UInt32 { crc32(of: content.span, continuing: 0) }

    private static func little(_ values: UInt16...) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    private static func little32(_ values: UInt32...) -> [UInt8] {
        values.flatMap { little(UInt16(truncatingIfNeeded: $0), UInt16(truncatingIfNeeded: $0 >> 16)) }
    }
}
