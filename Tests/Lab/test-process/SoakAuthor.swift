import ContentSigning
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Writes signed states of a few collections to a dumps directory on command.
///
/// Commands: `signer FIRST LAST` creates a key with a certificate that is valid from day FIRST to day LAST after the
/// start; `publish COLLECTION` and `expired COLLECTION` change a collection, the latter with a lock file stating that the
/// state was verified a day ago, so that a server serves data signed with an expired key; `resign` signs all states
/// again. Each command prints a line for every state written, and then `done`.
struct SoakAuthor {
    private struct Collection {
        var records: [String: String] = [:]
        var files: [SHA256Digest: Bytes] = [:]
        var timestamp = Timestamp(milliseconds: 0)
        /// The number of changes so far.
        var changes = 0
    }

    static let names = ["settings", "markets", "icons", "certificates"]
    private static let x5u = "https://soak.invalid/chains/soak.pem"

    private let directory: String
    private let authority: CertificateAuthority
    private let root: SHA256Digest
    /// When the first key was created.
    private let start = Self.now
    private var signing: (signer: ContentSigner, chain: VerifiedChain)
    private var lock = LockFile()
    private var collections: [String: Collection] = [:]

    private static var now: Timestamp { HTTPEnvironment.system.now() }

    init(directory: String) throws {
        self.directory = directory
        authority = try CertificateAuthority(rootNamed: "soak root", key: PrivateKey(), days: 3650, now: start)
            .issueIntermediate(named: "soak intermediate", key: PrivateKey(), days: 365, now: start)
        guard let root = authority.root else { preconditionFailure("the new certificate cannot be serialized") }
        self.root = root
        signing = try Self.signing(authority, root, days: -1...9, after: start)
        try FileStore.makeDirectories("\(directory)/main")
    }

    private static func signing(
        _ authority: CertificateAuthority, _ root: SHA256Digest, days: ClosedRange<Int>, after start: Timestamp
    ) throws -> (ContentSigner, VerifiedChain) {
        let signer = try authority.issueSigner(
            from: start.advanced(by: .seconds(days.lowerBound * 86_400)), days: days.upperBound, now: start)
        let chain = try CertificateChain(pem: signer.chain)
            .verified(anchors: TrustAnchors([root]), signer: signer.name, at: now)
        return (signer, chain)
    }

    mutating func run() throws {
        for name in Self.names { try publish(name, verifiedAt: Self.now) }
        try writeLock()
        say("root \(root)")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "signer":
                guard words.count == 3, let first = Int(words[1]), let last = Int(words[2]) else { break }
                signing = try Self.signing(authority, root, days: first...last, after: start)
            case "publish": try publish(words[1], verifiedAt: Self.now)
            case "expired":
                try publish(words[1], verifiedAt: Timestamp(milliseconds: Self.now.milliseconds - 86_000_000))
            case "resign": for name in Self.names { try write(name, verifiedAt: Self.now) }
            default: break
            }
            try writeLock()
            say("done")
        }
    }

    /// Changes a collection. Its size stays about the same, so growth elsewhere indicates a leak.
    private mutating func publish(_ name: String, verifiedAt: Timestamp) throws {
        var collection = collections[name] ?? Collection()
        collection.timestamp = max(Self.now, collection.timestamp.advanced(by: .milliseconds(1)))
        collection.changes += 1
        let time = collection.timestamp
        let count = name == "certificates" ? 2000 : 40
        for index in 0..<count where collection.changes == 1 || (index + collection.changes) % 7 == 0 {
            let id = "record-\(index)"
            var attachment = ""
            if name == "icons" {
                let file = Bytes(utf8: String(repeating: "\(id) at \(time) ", count: 50 + index * 20))
                let digest = SHA256Digest(hashing: file)
                collection.files[digest] = file
                attachment =
                    #","attachment":{"filename":"f.bin","mimetype":"text/plain","size":\#(file.count),"#
                    + #""location":"main-workspace/icons/\#(digest.hex.prefix(32)).bin","hash":"\#(digest)"}"#
            }
            collection.records[id] =
                #"{"id":"\#(id)","last_modified":\#(time),"change":\#(collection.changes),"text":"ü 🦊"\#(attachment)}"#
        }
        // One record is added and removed in turns.
        collection.records["now-and-then"] =
            collection.changes % 2 == 0 ? nil : #"{"id":"now-and-then","last_modified":\#(time)}"#
        collection.files = collection.files.filter { file in
            collection.records.values.contains { $0.contains(file.key.hex) }
        }
        collections[name] = collection
        try write(name, verifiedAt: verifiedAt)
    }

    private mutating func write(_ name: String, verifiedAt: Timestamp) throws {
        guard let collection = collections[name] else { return }
        let id = try CollectionID(bucket: "main", name: name)
        let list = collection.records.sorted { $0.key < $1.key }.map(\.value).joined(separator: ",")
        func changeset(_ metadata: String) throws -> UnverifiedSnapshot {
            let body = #"{"metadata":\#(metadata),"timestamp":\#(collection.timestamp),"changes":[\#(list)]}"#
            return try Changeset(parsing: Bytes(utf8: body)).snapshot(of: id, onto: nil)
        }
        let payload = try changeset("{}").payload.bytes
        let entry =
            #"{"signature":"\#(try signing.signer.signature(over: payload))","mode":"p384ecdsa","x5u":"\#(Self.x5u)"}"#
        let metadata =
            #"{"id":"\#(name)","bucket":"main","last_modified":\#(collection.timestamp),"#
            + #""attachment":{"enabled":true,"required":false,"bundle":false},"signature":\#(entry),"signatures":[\#(entry)]}"#
        let snapshot = try changeset(metadata).verified(with: [Self.x5u: .success(signing.chain)])
        let path = "\(directory)/\(LockFile.Bundle.path(of: id))"
        let temporary = FileStore.uniquePath(path) + ".tmp"
        let written = try BundleWriter(snapshot, attachments: collection.files.mapValues { .bytes($0) })
            .write(toNewFile: temporary)
        try FileStore.rename(temporary, to: path)
        var trust = snapshot.provenance
        if let verdict = trust.verdict {
            trust = .signed(
                SignatureVerdict(
                    signer: verdict.signer, root: verdict.root, chainNotAfter: verdict.chainNotAfter,
                    verifiedAt: verifiedAt))
        }
        lock.collections[id] = LockFile.Collection(
            written, trust: trust, server: "Tests/Faults/soak", attachmentRule: "all")
        say("\(id) \(collection.timestamp) \(SHA256Digest(hashing: payload))")
    }

    private func writeLock() throws {
        try FileStore.replace("\(directory)/dumps.lock.json", with: Bytes(lock.text))
    }
}
