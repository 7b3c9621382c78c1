import ContentSignature
import RemoteSettingsModel
import SnapshotBundle

/// A collection's metadata as an origin serves it: as it was received, except for the URL of its chain.
///
/// The signature covers records and timestamp only, so metadata may be rewritten. An `x5u` is rewritten where the bundle
/// contains its chain; any other (the second one during a key rotation) stays as it is. Imported metadata may lack the
/// bucket or the id; both are added, because clients need them.
struct ServedMetadata {
    let json: Bytes
    /// The bundle's own metadata where it differs from ``json``; else `nil`.
    let received: Bytes?
    /// `metadata.attachment.bundle`.
    let hasAttachmentsZip: Bool
    /// `metadata.flags` has `startup`.
    let isForStartup: Bool
    let lastModified: Timestamp?

    /// - Parameter chainURL: the URL at which the origin serves the bundle's chain; `nil` for a bundle without a chain.
    init(
        _ bundle: BundleReader, signature: SignatureVerdict?, chainURL: String?, limits: Limits
    ) throws(BundleError) {
        let id = bundle.head.collection
        let metadata = try bundle.metadata()
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: metadata.json, limits: limits)
        } catch {
            throw BundleError(
                .malformed, file: bundle.name, entry: "metadata.json", expected: "a JSON object",
                found: error.description)
        }
        guard case .object(var members) = value else {
            throw BundleError(
                .malformed, file: bundle.name, entry: "metadata.json", expected: "a JSON object", found: "another value"
            )
        }
        if value["id"] == nil { members.append(.init(key: "id", value: .string(id.name))) }
        if value["bucket"] == nil { members.append(.init(key: "bucket", value: .string(id.bucket))) }
        if let chainURL, let chain = try bundle.chain() {
            let held = try Self.heldURLs(
                bundle, metadata, chain: chain, signature: signature, limits: limits)
            members = members.map { member in
                switch (member.key, member.value) {
                case ("signature", let signature):
                    .init(key: member.key, value: Self.rewrite(signature, held: held, to: chainURL))
                case ("signatures", .array(let signatures)):
                    .init(
                        key: member.key,
                        value: .array(signatures.map { Self.rewrite($0, held: held, to: chainURL) }))
                default: member
                }
            }
        }
        let isAsReceived = value == .object(members)
        json = isAsReceived ? metadata.json : Bytes(JSONText.compact(.object(members)))
        received = isAsReceived ? nil : metadata.json
        hasAttachmentsZip = value["attachment"]?["bundle"]?.bool ?? false
        isForStartup = value["flags"]?.array?.contains(.string("startup")) ?? false
        lastModified = (value["last_modified"]?.number?.uint64).map(Timestamp.init(milliseconds:))
    }

    private static func rewrite(_ signature: JSONValue, held: Set<String>, to url: String) -> JSONValue {
        guard case .object(let members) = signature else { return signature }
        return .object(
            members.map { member in
                guard member.key == "x5u", let x5u = member.value.string, held.contains(x5u) else { return member }
                return .init(key: "x5u", value: .string(url))
            })
    }

    /// The index of the signature whose chain the bundle contains.
    private static func heldURLs(
        _ bundle: BundleReader, _ metadata: CollectionMetadata, chain: Bytes, signature: SignatureVerdict?,
        limits: Limits
    ) throws(BundleError) -> Set<String> {
        let urls = Set(metadata.signatures.map(\.x5u))
        guard urls.count > 1, let signature else { return urls }
        let policy = TrustPolicy(roots: TrustAnchors([signature.root]), signer: SignerName(signature.signer))
        let verified: Result<VerifiedChain, ContentSignatureError> = Result { () throws(ContentSignatureError) in
            try CertificateChain(pem: chain, limits: limits).verified(
                anchors: policy.roots, signer: policy.signer(for: bundle.head.collection), at: signature.verifiedAt)
        }
        let unverified = try bundle.unverifiedSnapshot()
        // There is only one signature with a chain, so the bundle's chain must be that one.
        return urls.filter { url in
            (try? unverified.verified(with: [url: verified], signer: policy.signer, limits: limits)) != nil
        }
    }
}
