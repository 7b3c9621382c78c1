import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The contents of `dumps.yaml`: the collections, their server and the trust settings.
package struct DumpsConfiguration: Hashable, Sendable {
    /// The only supported version of `dumps.yaml`.
    static let version = 1
    /// The version of this tool, to compare with `requires:`.
    package static let tool = "0.1.0"
    static let toolVersion = version(tool) ?? []

    /// Returns the numbers of a version such as `0.2` or `0.2.1`; `nil` for any other string.
    static func version(_ text: String) -> [Int]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil }
        return (1...3).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }

    /// The section `trust:`. The built-in roots of Mozilla's servers are in `TrustAnchors`.
    package struct Trust: Hashable, Sendable {
        /// The SHA-256 of each trusted root certificate; empty to trust the roots of the named server (`prod`, `stage`,
        /// `dev`).
        package var roots: [SHA256Digest] = []
        /// The required name in the leaf certificate; `nil` for the name that Mozilla uses for the bucket.
        package var signer: String?
        /// Whether to accept a collection without any signature. Its bundle and its entry in the lock file are then
        /// marked `unsigned`.
        package var acceptsUnsigned = false

        init() {}
    }

    /// The settings of one collection.
    package struct Collection: Hashable, Sendable {
        package let id: CollectionID
        package var attachments: AttachmentRule
        /// The pinned state; `nil` if the collection follows the server.
        package var pin: Pin?
        /// The acknowledged failure; `nil` if there is none.
        package var acknowledged: Acknowledgement?
        package var budget = Budget()
        package var guards = Guards()
        package var compression = BundleWriter.Compression.deflate

        package init(id: CollectionID, attachments: AttachmentRule) {
            self.id = id
            self.attachments = attachments
        }
    }

    /// The minimum version of this tool that may read the file; `nil` for any.
    var requires: String?
    /// `prod`, `stage`, `dev`, or a base URL.
    package var server = "prod"
    /// Whether to allow plain HTTP even if the server is on another machine.
    package var allowsPlainHTTP = false
    package var trust = Trust()
    /// Whether the file has the section `catalogue:` of versions before 1.0, which has no effect.
    package var hasCatalogue = false
    /// The default rule for collections without a separate rule.
    var attachments = AttachmentRule()
    /// The default budget for collections without a separate budget.
    var budget = Budget()
    /// The guards for all collections. Each collection can override them.
    package var guards = Guards()
    /// The compression of bundles whose collection does not set one.
    var compression = BundleWriter.Compression.deflate
    /// The maximum total size of all bundles in bytes; `nil` for no limit.
    package var totalBudget: UInt64?
    /// The collections listed in the file, sorted by id.
    package var collections: [Collection] = []

    package init() {}

    /// Returns the settings of a collection; the defaults if the file does not list it.
    package func settings(of id: CollectionID) -> Collection {
        if let own = collections.first(where: { $0.id == id }) { return own }
        var settings = Collection(id: id, attachments: attachments)
        settings.budget = budget
        settings.guards = guards
        settings.compression = compression
        return settings
    }

    /// Parses the server's URL.
    ///
    /// - Throws: `Failure` if it is not a usable URL.
    package func serverURL() throws(Failure) -> ServerURL {
        try ServerURL(server, allowPlainHTTP: allowsPlainHTTP)
    }

    /// Returns the trust policy. If no roots are configured, it trusts the built-in roots if the server is one of
    /// Mozilla's, or no root if the configuration accepts unsigned collections.
    ///
    /// - Parameter file: the name of the configuration file, for the error.
    /// - Throws: `Failure` if there is no root to trust; `Failure` if the server's URL is not usable.
    package func policy(file: String) throws -> TrustPolicy {
        TrustPolicy(
            roots: try roots(file: file), signer: trust.signer.map { SignerName($0) },
            acceptsUnsigned: trust.acceptsUnsigned)
    }

    private func roots(file: String) throws -> TrustAnchors {
        if !trust.roots.isEmpty { return TrustAnchors(trust.roots) }
        if let roots = try serverURL().mozillaRoots { return roots }
        if trust.acceptsUnsigned { return TrustAnchors([]) }
        throw Failure(
            place: file, problem: "no trusted root is configured for \(server)",
            remedy: "write the SHA-256 of its root certificate under trust: roots:, or pass it with --trust-root; if "
                + "the server does not sign, write trust: accept-unsigned: true")
    }
}
