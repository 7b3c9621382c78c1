/// A collection's metadata: the bytes as served, and the members that this package uses.
package struct CollectionMetadata: Hashable, Sendable {
    /// The metadata's JSON, byte for byte as served.
    package private(set) var json: Bytes
    package let id: String?
    package let bucket: String?
    package let signatures: [ServedSignature]
    /// Whether the server offers the collection's attachments as one zip (`attachment.bundle`).
    package let hasAttachmentsZip: Bool

    /// Reads a collection's metadata.
    ///
    /// - Throws: ``FormatError`` if it is not a JSON object, or has more than ``Limits/metadataBytes`` bytes or
    ///   ``Limits/jsonValues`` values.
    package init(parsing json: Bytes, limits: Limits) throws(FormatError) {
        guard json.count <= limits.metadataBytes else {
            throw FormatError(.tooLong(limit: limits.metadataBytes), at: 0)
        }
        let value = try JSONValue(parsing: json, limits: limits)
        guard case .object = value else {
            throw FormatError(.wrongType(expected: "an object", found: value.kind), at: 0)
        }
        self.json = json
        id = value["id"]?.string
        bucket = value["bucket"]?.string
        hasAttachmentsZip = value["attachment"]?["bundle"]?.bool ?? false
        // Servers before 2024 send a single object `signature`. Later ones send a list, and some send both. Readers
        // rewrite `x5u` in only one of them in places, so the chain may be available at only one of the two URLs.
        var all = (value["signatures"]?.array ?? []).prefix(limits.signatures).compactMap(ServedSignature.init)
        if all.count < limits.signatures, let single = value["signature"].flatMap(ServedSignature.init),
            !all.contains(single)
        {
            all.append(single)
        }
        signatures = all
    }

    /// Reads the metadata in a changeset's member. Errors name the member.
    init(_ json: Bytes, of member: String, limits: Limits) throws(FormatError) {
        do throws(FormatError) {
            try self.init(parsing: json, limits: limits)
        } catch {
            throw .metadata(error, member: member)
        }
    }

    /// Keeps the bytes without parsing them. All other properties are empty.
    ///
    /// This is for a bundle that is part of the trusted program. Its signatures are not verified.
    package init(unread json: Bytes) {
        self.json = json
        (id, bucket, signatures, hasAttachmentsZip) = (nil, nil, [], false)
    }

    /// The members that people write. The other members name the collection and say when it changed and who signed it.
    ///
    /// - Throws: ``FormatError`` if the metadata was kept without parsing and is not JSON.
    package func writtenMembers(limits: Limits) throws(FormatError) -> [JSONValue.Member] {
        guard case .object(let members) = try JSONValue(parsing: json, limits: limits) else { return [] }
        return members.filter { !["id", "bucket", "last_modified", "signature", "signatures"].contains($0.key) }
    }

    /// A mirror's metadata, with the bytes that the mirror received in place of those that it serves.
    ///
    /// A mirror serves certificate chains itself, so it rewrites each `x5u`. A mirror of a mirror keeps the first
    /// server's bytes. The signatures are those that the mirror serves, because clients can fetch their chains.
    ///
    /// - Throws: ``FormatError`` if `original` is not a collection's metadata, or if it differs in more than the
    ///   URLs of chains. Only verified metadata is kept.
    func received(as original: Bytes, limits: Limits) throws(FormatError) -> CollectionMetadata {
        let received = try CollectionMetadata(original, of: Changeset.mirroredMetadata, limits: limits)
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
        // Early servers left out `mode`, because there was only this one.
        self.init(signature: signature, mode: value["mode"]?.string ?? "p384ecdsa", x5u: x5u)
    }
}

/// A signature from a collection's metadata. It is not verified.
package struct ServedSignature: Hashable, Sendable {
    /// The raw signature in base64url.
    package let signature: String
    /// The algorithm. The only known one is `p384ecdsa`.
    package let mode: String
    /// The URL of the certificate chain, absolute or relative to the server's URL. It is empty on a development server
    /// that signs with a bare key.
    package let x5u: String
    /// Whether the signature names a certificate chain. Without a chain nobody can verify it, so it does not count.
    package var namesChain: Bool { !x5u.isEmpty }
    fileprivate var withoutURL: ServedSignature { ServedSignature(signature: signature, mode: mode, x5u: "") }

    init(signature: String, mode: String, x5u: String) {
        self.signature = signature
        self.mode = mode
        self.x5u = x5u
    }
}
