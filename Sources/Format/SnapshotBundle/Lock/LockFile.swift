import RemoteSettingsModel

/// The contents of `dumps.lock.json`, which lists the exact contents of `dumps/`. The caller reads and writes the file.
package struct LockFile: Hashable, Sendable {
    static let version = 1

    /// The file's name.
    package static let name = "dumps.lock.json"

    /// A collection's bundle file.
    package struct Bundle: Hashable, Sendable {
        /// The path relative to the lock file's directory: `<bucket>/<collection>.zip`, which is derived from the
        /// collection's name.
        package let path: String
        /// The size in bytes.
        package let size: Int
        /// The SHA-256 of the whole file. It depends on the compressor, unlike ``Collection/content``.
        package let sha256: SHA256Digest

        package init(collection: CollectionID, size: Int, sha256: SHA256Digest) {
            path = Self.path(of: collection)
            self.size = size
            self.sha256 = sha256
        }

        package static func path(of collection: CollectionID) -> String {
            "\(collection.bucket)/\(collection.name).zip"
        }
    }

    /// One collection's entry.
    package struct Collection: Hashable, Sendable {
        /// The URL of the server from which the bundle was downloaded, or the source of an import.
        package var server: String
        package var timestamp: Timestamp
        package var records: Int
        /// The number of attachment files in the bundle.
        package var attachments: Int
        /// The rule that selected the attachments, as one line of text. If the rule in `dumps.yaml` changes, the bundle
        /// is packed again.
        package var attachmentRule: String
        /// The omitted attachments, sorted by reason.
        package var omitted: [Omission]
        /// The SHA-256 of the bundle's manifest, which identifies the snapshot.
        package var content: SHA256Digest
        package var bundle: Bundle
        /// The lock file's claim about the signature. Verifying the bundle checks the claim.
        package var trust: Provenance
        /// The guards that this state violates and that a user has overridden, one line each.
        package var accepted: [String] = []

        package init(
            server: String, timestamp: Timestamp, records: Int, attachments: Int, attachmentRule: String = "all",
            omitted: [Omission], content: SHA256Digest, bundle: Bundle, trust: Provenance
        ) {
            self.server = server
            self.timestamp = timestamp
            self.records = records
            self.attachments = attachments
            self.attachmentRule = attachmentRule
            self.omitted = omitted
            self.content = content
            self.bundle = bundle
            self.trust = trust
        }
    }

    package var collections: [CollectionID: Collection]
    /// The collection with the list of states that versions before 1.0 kept together, if the text lists one. It is not
    /// among ``collections``, and the next commit removes it.
    package internal(set) var retired: CollectionID?

    package init(collections: [CollectionID: Collection] = [:]) {
        self.collections = collections
    }
}

extension LockFile.Collection {
    /// Creates the lock file's entry for a bundle.
    ///
    /// - Parameters:
    ///   - bundle: a bundle with verified contents.
    ///   - server: the URL of the server from which the snapshot was downloaded, or the source of an import.
    ///   - attachmentRule: the rule that selected its attachments.
    package init(_ bundle: WrittenBundle, trust: Provenance, server: String, attachmentRule: String) {
        let head = bundle.manifest.head
        self.init(
            server: server, timestamp: head.timestamp, records: head.records, attachments: head.attachments,
            attachmentRule: attachmentRule, omitted: bundle.manifest.omissions, content: bundle.content,
            bundle: .init(collection: head.collection, size: bundle.size, sha256: bundle.sha256), trust: trust)
    }
}
