import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

/// A dumps directory with sample collections that can be served and modified. Its signing keys are generated at
/// startup.
package actor DemoOrigin {
    /// The SHA-256 of the root certificate, for clients to pin.
    package nonisolated let root: SHA256Digest

    /// The placeholder for the certificate chain's URL in the bundles. The server replaces it with its own URL.
    private static let x5u = "https://demo.invalid/chains/demo.pem"

    private let directory: String
    private let signing: (signer: ContentSigner, chain: VerifiedChain)
    private let verifiedAt: Timestamp
    private var lock = LockFile()
    private var collections: [String: DemoCollection] = [:]
    private var publications = 0

    /// Generates the keys and certificates, and writes the first bundles. Does I/O.
    ///
    /// - Parameters:
    ///   - directory: an existing directory for the bundles and the lock file.
    ///   - now: the current time. The certificates are valid around it, and the first state is one day older.
    package init(directory: String, now: Timestamp) throws {
        self.directory = directory
        verifiedAt = now
        let authority = try CertificateAuthority(rootNamed: "rsdump demo root", key: PrivateKey(), days: 3650, now: now)
        let signer = try authority.issueIntermediate(
            named: "rsdump demo intermediate", key: PrivateKey(), days: 365, now: now
        ).issueSigner(now: now)
        let unverified = try CertificateChain(pem: signer.chain)
        root = unverified.root
        let chain = try unverified.verified(anchors: TrustAnchors([root]), signer: signer.name, at: now)
        signing = (signer, chain)
        try FileStore.makeDirectories("\(directory)/main")
        let time = now.advanced(by: .seconds(-86_400))
        var lock = LockFile()
        for (index, collection) in DemoSamples.collections(at: time).enumerated() {
            collections[collection.name] = collection
            // Each collection has a different timestamp, as on a real server.
            let (id, entry) = try Self.write(
                collection, at: time.advanced(by: .seconds(index)), signing, verifiedAt: now, in: directory)
            lock.collections[id] = entry
        }
        self.lock = lock
        try FileStore.replace("\(directory)/dumps.lock.json", with: Bytes(lock.text))
    }

    /// Changes collections like a human editor: updates a record, deletes one, adds one with an attachment, and signs
    /// the three new states.
    ///
    /// - Returns: the changes made, one line each.
    package func publish(now: Timestamp) throws -> [String] {
        publications += 1
        let newest = lock.collections.values.map(\.timestamp).max() ?? now
        let time = max(now, newest.advanced(by: .seconds(1)))
        var done: [String] = []
        try change("settings", at: time) { collection in
            let value = publications % 24 + 1
            collection.put("sync-interval", #""key":"sync-interval","value":\#(value),"unit":"h""#, at: time)
            done.append("main/settings: sync-interval is \(value)")
        }
        try change("markets", at: time.advanced(by: .milliseconds(1))) { collection in
            let gone = publications == 1 ? "nowhere" : collection.records.keys.sorted().first ?? ""
            guard collection.records.removeValue(forKey: gone) != nil else { return }
            done.append("main/markets: \(gone) is deleted")
        }
        try change("icons", at: time.advanced(by: .milliseconds(2))) { collection in
            let petals = 22 + publications
            DemoSamples.addIcon(petals, to: &collection, at: time)
            done.append("main/icons: petals-\(petals) is new, with its attachment")
        }
        try FileStore.replace("\(directory)/dumps.lock.json", with: Bytes(lock.text))
        return done
    }

    private func change(_ name: String, at time: Timestamp, _ edit: (inout DemoCollection) -> Void) throws {
        guard var collection = collections[name] else { return }
        edit(&collection)
        let (id, entry) = try Self.write(collection, at: time, signing, verifiedAt: verifiedAt, in: directory)
        collections[name] = collection
        lock.collections[id] = entry
    }

    private static func write(
        _ collection: DemoCollection, at time: Timestamp, _ signing: (signer: ContentSigner, chain: VerifiedChain),
        verifiedAt: Timestamp, in directory: String
    ) throws -> (CollectionID, LockFile.Collection) {
        let id = try CollectionID(bucket: "main", name: collection.name)
        let snapshot = try signed(collection, id, at: time, signing)
        let sources = collection.files.mapValues { AttachmentInput.bytes($0) }
        let path = "\(directory)/\(LockFile.Bundle.path(of: id))"
        let temporary = FileStore.uniquePath(path) + ".tmp"
        // Pack only the files that records still refer to.
        let written = try BundleWriter(snapshot, attachments: sources).write(toNewFile: temporary)
        try FileStore.rename(temporary, to: path)
        return (
            id,
            LockFile.Collection(
                written, trust: snapshot.provenance, server: "rsdump serve --demo",
                attachmentRule: "all")
        )
    }

    private static func signed(
        _ collection: DemoCollection, _ id: CollectionID, at time: Timestamp,
        _ signing: (signer: ContentSigner, chain: VerifiedChain)
    ) throws -> Snapshot {
        func changeset(_ metadata: String) throws -> UnverifiedSnapshot {
            let records = collection.records.sorted { $0.key < $1.key }.map(\.value).joined(separator: ",")
            let body = #"{"metadata":\#(metadata),"timestamp":\#(time),"changes":[\#(records)]}"#
            return try Changeset(parsing: Bytes(utf8: body)).snapshot(of: id, onto: nil)
        }
        let signature = try signing.signer.signature(over: try changeset("{}").payload.bytes)
        let entry = #"{"signature":"\#(signature)","mode":"p384ecdsa","x5u":"\#(x5u)"}"#
        let metadata =
            #"{"id":"\#(id.name)","bucket":"\#(id.bucket)","last_modified":\#(time),"#
            + #""attachment":{"enabled":\#(!collection.files.isEmpty),"required":false,"bundle":\#(collection.hasZip)},"#
            + #""signature":\#(entry),"signatures":[\#(entry)]}"#
        return try changeset(metadata).verified(with: [x5u: .success(signing.chain)])
    }
}
