import struct Crypto.SHA256
import RemoteSettingsModel

/// The certificate chains of a snapshot's signatures in a single text: `chain.pem` in a bundle, or the chain in a cache
/// file.
///
/// The first chain is stored as it was served. Before each further chain there is a line `|`, and each of its lines
/// begins with `| `. PEM parsers skip such lines as explanatory text (RFC 7468, section 2), and so do versions of this
/// package that support only one chain. This type verifies nothing.
package struct KeptChains: Sendable {
    private static let separator = Array("\n|\n".utf8)
    /// The largest number of chains to read. During a migration to another root, there are signatures with two or three
    /// chains.
    static let most = 8

    /// The chains as PEM texts, without the prefixes of their lines.
    package let chains: [Bytes]
    /// All chains in one text.
    let text: Bytes

    /// Parses a stored text.
    package init(text: Bytes) {
        self.text = text
        let bytes = text.array
        guard bytes.contains(UInt8(ascii: "|")) else {
            chains = [text]
            return
        }
        var parts: [[UInt8]] = [[]]
        var rest = bytes[...]
        while let byte = rest.first {
            if rest.starts(with: Self.separator) {
                parts.append([])
                rest = rest.dropFirst(Self.separator.count)
            } else {
                parts[parts.count - 1].append(byte)
                rest = rest.dropFirst()
            }
        }
        chains =
            [Bytes(parts[0])]
            + parts.dropFirst().prefix(Self.most - 1).map { part in
                let lines = part.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                return Bytes(Array(lines.map { $0.dropFirst(2) }.joined(separator: [UInt8(ascii: "\n")])))
            }
    }

    /// Combines chains into one text.
    ///
    /// - Parameters:
    ///   - first: the chain for readers that support only one.
    ///   - others: further chains. A chain is skipped if it is a duplicate, if its line endings could confuse other
    ///     readers, or if the text would become longer than ``Limits/chainBytes``.
    init(_ first: Bytes, _ others: [Bytes]) {
        var (chains, text) = ([first], first.array)
        for chain in others where !chains.contains(chain) && chains.count < Self.most {
            let lines = chain.array.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let marked = Self.separator + lines.map { Array("| ".utf8) + $0 }.joined(separator: [UInt8(ascii: "\n")])
            guard text.count + marked.count <= Limits.chainBytes, !chain.array.contains(UInt8(ascii: "\r")) else {
                continue
            }
            text += marked
            chains.append(chain)
        }
        self.chains = chains
        self.text = Bytes(text)
    }
}

extension Snapshot {
    /// Returns the snapshot with the chains of its other signatures, so that clients that trust only a different root
    /// can verify it too.
    ///
    /// A chain is kept if it was valid for the signer when the snapshot was verified, and if it matches one of the
    /// signatures. Its root does not have to be pinned, because each reader of the snapshot has different pins. Does no
    /// I/O.
    package func keeping(_ others: [CertificateChain]) -> Snapshot {
        guard let chain, let verdict = provenance.verdict, !others.isEmpty else { return self }
        let message = SignedMessage(payload.bytes)
        let signer = SignerName(verdict.signer)
        let fitting = others.filter { other in
            let own = Result { () throws(Failure) in try other.ownVerdict(signer, at: verdict.verifiedAt) }
            return (try? unverified.newestChain(of: unverified.chains(own), signer: signer, message)) != nil
        }
        let known = KeptChains(text: chain).chains
        let kept = KeptChains(known[0], known.dropFirst() + fitting.map(\.pem))
        return with(chain: kept.text)
    }

    /// Returns each signature of the metadata with its stored chain, verified for the time at which the snapshot was
    /// verified.
    ///
    /// The chain is `nil` if none of the chains matches. Does no I/O.
    package func signatureChains() -> [(signature: ServedSignature, chain: VerifiedChain?)] {
        guard let chain, let verdict = provenance.verdict else { return metadata.signatures.map { ($0, nil) } }
        return unverified.signatureChains(KeptChains(text: chain).chains, as: verdict)
    }
}

extension UnverifiedSnapshot {
    /// Returns each signature with the chain of its key, verified against the chain's own root. Does no I/O.
    ///
    /// The chain is `nil` if none matches. If several roots certify the same key, the key has a chain for each of them,
    /// and its signatures match all of these chains. In that case, a URL with the hash of a chain as its last part, as
    /// on this package's servers, identifies the chain. Otherwise each signature gets the next matching chain.
    ///
    /// - Parameter verdict: the name that the chains must be issued for, and the time at which they must be valid.
    package func signatureChains(
        _ pems: [Bytes], as verdict: SignatureVerdict
    ) -> [(signature: ServedSignature, chain: VerifiedChain?)] {
        let chains = pems.compactMap { pem in
            try? CertificateChain(pem: pem)
                .ownVerdict(SignerName(verdict.signer), at: verdict.verifiedAt)
        }
        let names = chains.map { SHA256Digest(SHA256.hash(data: $0.pem.array)).map { "/\($0).pem" } }
        let message = SignedMessage(payload.bytes)
        var used: Set<Int> = []
        return signatures.enumerated().map { position, signature in
            let isExamined = signature.isKnown && position < Limits.signatures
            let fitting = chains.indices.filter { index in
                isExamined && (try? chains[index].verify(signature, over: message)) != nil
            }
            let own =
                fitting.first { names[$0].map(signature.x5u.hasSuffix) ?? false }
                ?? fitting.first { !used.contains($0) } ?? fitting.first
            if let own { used.insert(own) }
            return (signature, own.map { chains[$0] })
        }
    }
}

extension CertificateChain {
    /// Verifies the chain against its own root, which does not have to be pinned.
    package func ownVerdict(_ signer: SignerName, at time: Timestamp) throws(Failure) -> VerifiedChain {
        try verified(anchors: TrustAnchors([root]), signer: signer, at: time)
    }
}
