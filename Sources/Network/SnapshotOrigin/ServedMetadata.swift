import RemoteSettingsModel
import SnapshotBundle

/// A collection's metadata as a server sends it: as received, except for the URL of its certificate chain.
///
/// The signature covers only the records and the timestamp, so the server may change the metadata. It rewrites an `x5u`
/// if the bundle contains that chain, and leaves any other unchanged. Imported metadata may lack the bucket or the id.
/// The server adds both, because clients require them.
struct ServedMetadata {
    let json: Bytes
    /// The metadata in the bundle; `nil` if it is the same as ``json``.
    let received: Bytes?
    /// Whether `metadata.attachment.bundle` is true.
    let hasAttachmentsZip: Bool
    let lastModified: Timestamp?

    /// Prepares the metadata of a bundle.
    ///
    /// - Parameter chains: the bundle's chains, each with its URL on this server; empty if the bundle has no chain.
    init(_ bundle: BundleReader, signature: SignatureVerdict?, chains: [(url: String, pem: Bytes)]) throws(Failure) {
        let id = bundle.head.collection
        let metadata = try bundle.metadata()
        let value = try mapFailure(of: try JSONValue(parsing: metadata.json)) {
            Failure(.malformed, file: bundle.name, entry: "metadata.json", found: "not valid JSON: \($0)")
        }
        guard case .object(var members) = value else {
            throw Failure(
                .malformed, file: bundle.name, entry: "metadata.json", expected: "a JSON object", found: value.kind)
        }
        if value["id"] == nil { members.append(.init(key: "id", value: .string(id.name))) }
        if value["bucket"] == nil { members.append(.init(key: "bucket", value: .string(id.bucket))) }
        if !chains.isEmpty {
            let held = try Self.heldURLs(bundle, metadata, chains, signature: signature)
            members = members.map { member in
                switch (member.key, member.value) {
                case ("signature", let signature):
                    .init(key: member.key, value: Self.rewrite(signature, held))
                case ("signatures", .array(let signatures)):
                    .init(
                        key: member.key,
                        value: .array(signatures.map { Self.rewrite($0, held) }))
                default: member
                }
            }
        }
        let isAsReceived = value == .object(members)
        json = isAsReceived ? metadata.json : Bytes(JSONText.compact(.object(members)))
        received = isAsReceived ? nil : metadata.json
        hasAttachmentsZip = value["attachment"]?["bundle"]?.bool ?? false
        lastModified = (value["last_modified"]?.number?.uint64).map(Timestamp.init(milliseconds:))
    }

    private static func rewrite(_ signature: JSONValue, _ held: [ExactString: String]) -> JSONValue {
        guard case .object(let members) = signature else { return signature }
        return .object(
            members.map { member in
                guard member.key == "x5u", let x5u = member.value.string, let url = held[x5u] else { return member }
                return .init(key: "x5u", value: .string(url))
            })
    }

    /// Returns the URLs at which this server offers the chains of signatures, by the URLs in the metadata.
    private static func heldURLs(
        _ bundle: BundleReader, _ metadata: CollectionMetadata, _ chains: [(url: String, pem: Bytes)],
        signature: SignatureVerdict?
    ) throws(Failure) -> [ExactString: String] {
        let urls = Set(metadata.signatures.map(\.x5u.exact))
        guard urls.count > 1 || chains.count > 1, let signature else {
            return Dictionary(uniqueKeysWithValues: urls.map { ($0, chains[0].url) })
        }
        var held: [ExactString: String] = [:]
        let fitting = try bundle.unverifiedSnapshot().signatureChains(chains.map(\.pem), as: signature)
        for case (let made, let chain?) in fitting where held[made.x5u] == nil {
            held[made.x5u] = chains.first { $0.pem == chain.pem }?.url
        }
        return held
    }
}
