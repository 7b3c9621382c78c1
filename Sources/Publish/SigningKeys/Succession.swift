import ContentSigning
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

// A root can name its successor. The holder of the old root's key issues a cross-certificate (RFC 5280, section 3.2)
// for the name and the key of the new root. Everything that the new root vouches for then has a second chain, which
// ends at the old root. So an app that pins only the old root accepts it. To a verifier, it is a chain like any other.

/// The roots that vouch for a directory's root, directly or through one another, with their cross-certificates.
package struct Succession: Sendable {
    /// One root that vouches for another.
    package struct Step: Sendable {
        /// A certificate of the predecessor, with the successor's name and key.
        package let cross: SigningCertificate
        package let predecessor: SigningCertificate
    }

    package private(set) var steps: [Step] = []

    init() {}

    /// Reads pairs of a cross-certificate and the root that issued it.
    ///
    /// - Throws: ``SigningKeyError`` if the text has anything else.
    init(pem: Bytes, place: String) throws(SigningKeyError) {
        var rest = try SigningCertificate.all(of: pem, place: place)[...]
        while let cross = rest.popFirst() {
            guard let root = rest.popFirst(), root.role == .root, cross.isAuthority, cross.isIssued(by: root) else {
                throw SigningKeyError(
                    place, kind: .untrusted, expected: "cross-certificates, each before the root that issued it",
                    found: "\(VisibleText.escape(cross.name)) without such a root after it",
                    remedy: "make the file with rsdump keys cross-sign, where the old root's key is")
            }
            steps.append(Step(cross: cross, predecessor: root))
        }
    }

    func pem() throws -> Bytes { try CertificateAuthority.pem(steps.flatMap { [$0.cross, $0.predecessor] }) }

    /// Returns a chain, and the chains to older roots that the steps make from it.
    ///
    /// - Parameter own: certificates, with a root as the last one.
    func chains(of own: [SigningCertificate]) -> [[SigningCertificate]] {
        var (chains, left, looked) = ([own], steps, 0)
        while looked < chains.count, let root = chains[looked].last {
            let found = left.filter { $0.cross.standsFor(root) }
            left.removeAll { $0.cross.standsFor(root) }
            chains += found.map { chains[looked].dropLast() + [$0.cross, $0.predecessor] }
            looked += 1
        }
        return chains
    }

    /// Adds steps. A new step replaces an existing one between the same two roots.
    mutating func add(_ others: [Step]) {
        steps.removeAll { old in
            others.contains { $0.cross.standsFor(old.cross) && $0.predecessor.standsFor(old.predecessor) }
        }
        steps = others + steps
    }
}

extension KeyDirectory {
    package var successionPath: String { "\(path)/succession.pem" }

    /// The roots that vouch for this directory's root. Does I/O.
    func succession() throws -> Succession {
        let text = try FileStore.read(successionPath, limit: Limits().chainBytes)
        return try text.map { try Succession(pem: $0, place: successionPath) } ?? Succession()
    }

    /// Issues a cross-certificate for another root with the key of this directory's root. Does I/O.
    ///
    /// - Parameters:
    ///   - pem: the other root's certificate.
    ///   - place: the file with the certificate, for errors.
    ///   - digest: the SHA-256 of the other root, which the holder of this root's key confirms
    ///   - days: how long it is valid; `nil` for as long as both roots are valid. It never outlives either root
    /// - Returns: the text for ``succeed(_:place:after:now:)``: the cross-certificate and this root, then those of this
    ///   root's own predecessors.
    /// - Throws: ``SigningKeyError`` if the certificate is not a root's, or if its SHA-256 is not `digest`.
    package func crossSign(
        _ pem: Bytes, place: String, confirming digest: SHA256Digest?, days: Int?, environment: [String: String],
        now: Timestamp
    ) throws -> Bytes {
        let all = try SigningCertificate.all(of: pem, place: place)
        guard all.count == 1, let root = all.first, root.role == .root, let found = root.sha256 else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "the certificate of one root, signed by its own key",
                found: all.count == 1 ? VisibleText.escape(all[0].name) : "\(all.count) certificates",
                remedy: "name the new root's root.pem")
        }
        guard found == digest else {
            throw SigningKeyError(
                place, kind: digest == nil ? .usage : .untrusted,
                expected: digest.map { "the root \($0)" } ?? "--root with the SHA-256 of the root that you confirm",
                found: "\(VisibleText.escape(root.name)), \(found)",
                remedy: "ask its holder for its SHA-256, in another way than the file came; if it is the same, sign it "
                    + "with: --root \(found)")
        }
        let authority = try authority(for: .intermediate, environment)
        var succession = try succession()
        succession.add([
            .init(
                cross: try authority.crossSign(root, days: days, place: place, now: now),
                predecessor: authority.certificate)
        ])
        return try succession.pem()
    }

    /// Installs a cross-certificate for this directory's root. Everything that the directory's keys sign then also has
    /// a chain that ends at the older root. Does I/O.
    ///
    /// - Parameters:
    ///   - pem: the result of ``crossSign(_:place:confirming:days:environment:now:)`` in the directory that has the
    ///     older root's key.
    ///   - root: the SHA-256 of the older root, which apps pin.
    /// - Returns: the number of chains that the directory has now.
    /// - Throws: ``SigningKeyError`` if the cross-certificate is for another root or was issued by another root,
    ///   `ContentSignatureError` if apps would not accept a chain over it at `now`, or `FileError`. Nothing is replaced
    ///   then.
    @discardableResult
    package func succeed(_ pem: Bytes, place: String, after root: SHA256Digest, now: Timestamp) throws -> Int {
        try changing {
            let added = try Succession(pem: pem, place: place).steps
            let own = try readKey(.signer, [:]).certificates
            func refused(expected: String? = nil, found: String, remedy: String) -> SigningKeyError {
                SigningKeyError(place, kind: .untrusted, expected: expected, found: found, remedy: remedy)
            }
            guard let name = own.first?.dnsNames.first else {
                throw refused(
                    found: "there is no signing certificate in \(path)",
                    remedy: "make it first, with: rsdump keys renew \(path)")
            }
            guard let first = added.first?.predecessor.sha256, first == root else {
                throw refused(
                    expected: "a cross-certificate of the root \(root)",
                    found: "one of \(added.first?.predecessor.sha256.map { "\($0)" } ?? "no root")",
                    remedy: "ask the old root's holder which one is right")
            }
            var succession = try succession()
            succession.add(added)
            let chains = succession.chains(of: own)
            for step in added {
                guard let chain = chains.first(where: { $0.contains { $0.x509 == step.cross.x509 } }) else {
                    throw refused(
                        expected: "a cross-certificate for the root of \(path), or for one that vouches for it",
                        found: "one for \(VisibleText.escape(step.cross.name)) with another key or name",
                        remedy: "run rsdump keys cross-sign with \(path)/root.pem, where the old root's key is")
                }
                _ = try CertificateChain(pem: CertificateAuthority.pem(chain)).ownVerdict(SignerName(name), at: now)
            }
            let most = Limits().chainCertificates / 2
            guard succession.steps.count <= most else {
                throw refused(
                    expected: "at most \(most) older roots", found: "\(succession.steps.count)",
                    remedy: "remove those that no app pins any more from \(successionPath)")
            }
            try FileStore.replace(successionPath, with: succession.pem(), limit: Limits().chainBytes)
            return chains.count
        }
    }
}
