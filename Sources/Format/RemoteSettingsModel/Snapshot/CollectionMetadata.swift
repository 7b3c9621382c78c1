/// A collection's metadata: the bytes as served, and the members that this package uses.
package struct CollectionMetadata: Hashable, Sendable {
    /// The metadata's JSON, byte for byte as served.
    package private(set) var json: Bytes
    package let id: String?
    package let bucket: String?
    package let signatures: [ServedSignature]
    /// Whether the server offers the collection's attachments as one ZIP file (`attachment.bundle`).
    package let hasAttachmentsZip: Bool

    /// Parses a collection's metadata.
    ///
    /// - Parameter reserved: how much of the limits it must leave.
    /// - Throws: ``Failure`` if it is not a JSON object, or has more than ``Limits/metadataBytes`` bytes or
    ///   ``Limits/jsonValues`` values.
    package init(parsing json: Bytes, reserving reserved: (bytes: Int, values: Int) = (0, 0)) throws(Failure) {
        let mostBytes = Limits.metadataBytes - reserved.bytes
        guard json.count <= mostBytes else { throw Failure(.tooLong(limit: mostBytes), at: 0) }
        let value = try JSONValue(parsing: json, values: Limits.jsonValues - reserved.values)
        guard case .object = value else { throw Failure(.wrongType(expected: "an object", found: value.kind), at: 0) }
        self.json = json
        id = value["id"]?.string
        bucket = value["bucket"]?.string
        hasAttachmentsZip = value["attachment"]?["bundle"]?.bool ?? false
        // Servers before 2024 send a single object `signature`. Later ones send a list `signatures`, and some send
        // both. Some servers rewrite `x5u` in only one of them, so the chain may be available at only one of the two
        // URLs.
        var all = (value["signatures"]?.array ?? []).prefix(Limits.signatures).compactMap(ServedSignature.init)
        if all.count < Limits.signatures, let single = value["signature"].flatMap(ServedSignature.init),
            !all.contains(single)
        {
            all.append(single)
        }
        signatures = all
    }

    /// Parses the metadata in a member of a changeset. Errors contain the name of the member.
    init(_ json: Bytes, of member: String) throws(Failure) {
        do throws(Failure) {
            try self.init(parsing: json)
        } catch {
            throw .metadata(error, member: member)
        }
    }

    /// Stores the bytes without parsing them. All other properties are empty.
    ///
    /// This is for bundles that are part of the trusted program, whose signatures are not verified.
    package init(unread json: Bytes) {
        self.json = json
        (id, bucket, signatures, hasAttachmentsZip) = (nil, nil, [], false)
    }

    /// Returns the members that the collection's owner sets, without those for the id, the last change and the
    /// signatures.
    ///
    /// - Throws: ``Failure`` if the metadata was stored without parsing and is not JSON.
    package func writtenMembers() throws(Failure) -> [JSONValue.Member] {
        guard case .object(let members) = try JSONValue(parsing: json) else { return [] }
        return members.filter { !["id", "bucket", "last_modified", "signature", "signatures"].contains($0.key) }
    }

    /// Returns the metadata from a mirror, with the bytes that the mirror itself received.
    ///
    /// A mirror serves the certificate chains, so it rewrites each `x5u`. With the original bytes, a mirror of a mirror
    /// can keep the first server's metadata unchanged. The signatures are those that the mirror serves, because clients
    /// can fetch their chains.
    ///
    /// - Throws: ``Failure`` if `original` is not a collection's metadata, or if a member that this package uses
    ///   differs, apart from the URLs of chains. Otherwise the kept bytes would differ from the verified members.
    func received(as original: Bytes) throws(Failure) -> CollectionMetadata {
        let received = try CollectionMetadata(original, of: Changeset.mirroredMetadata)
        guard (received.id ?? id)?.exact == id?.exact, (received.bucket ?? bucket)?.exact == bucket?.exact,
            received.hasAttachmentsZip == hasAttachmentsZip,
            Set(received.signatures.map(\.withoutURL)) == Set(signatures.map(\.withoutURL))
        else { throw .otherMirroredMetadata }
        var metadata = self
        metadata.json = original
        return metadata
    }
}

extension ServedSignature {
    fileprivate init?(_ value: JSONValue) {
        guard let signature = value["signature"]?.string, let x5u = value["x5u"]?.string else { return nil }
        // Early servers omitted `mode`, because `p384ecdsa` was the only one.
        self.init(signature: signature, mode: value["mode"]?.string ?? "p384ecdsa", x5u: x5u)
    }
}

/// A signature from a collection's metadata. It is not verified.
package struct ServedSignature: Hashable, Sendable {
    /// The raw signature in base64url.
    package let signature: String
    /// The algorithm. The only known one is `p384ecdsa`.
    package let mode: String
    /// The URL of the certificate chain, absolute or relative to the server's URL. It is empty on a development server,
    /// which signs with a key without a certificate.
    package let x5u: String
    /// Whether the signature refers to a certificate chain. A signature without a chain cannot be verified, so it is
    /// ignored.
    package var namesChain: Bool { !x5u.isEmpty }
    fileprivate var withoutURL: ServedSignature { ServedSignature(signature: signature, mode: mode, x5u: "") }

    init(signature: String, mode: String, x5u: String) {
        self.signature = signature
        self.mode = mode
        self.x5u = x5u
    }
}
