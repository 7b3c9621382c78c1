import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

/// A directory of keys and certificates. `rsdump keys create` creates one.
///
/// `root.key`, `intermediate.key` and `signer.key` are private keys. Any of them may be stored elsewhere instead.
/// `root.pem` and `intermediate.pem` are certificates. `chain.pem` is the signing certificate with its issuers, which
/// is published with signatures. The name of every file that may contain a private key ends with `.key`, and
/// `.gitignore` keeps these files out of a repository. `KeyDirectory+Files.swift` explains how a key and its
/// certificates are replaced together.
package struct KeyDirectory: Sendable {
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    package func keyPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).key" }
    package func certificatePath(_ role: CertificateRole) -> String {
        role == .signer ? "\(path)/chain.pem" : "\(path)/\(role.rawValue).pem"
    }

    /// The command that renews the signing certificate.
    package var renewCommand: String { "rsdump keys renew \(ShellWord.quoted(path))" }
    /// The command that signs with the renewed one.
    package var resignCommand: String {
        "rsdump publish --resign\(path == "keys" ? "" : " --keys \(ShellWord.quoted(path))")"
    }

    /// Returns the name of the environment variable that may contain a role's key as PEM in place of the file.
    package static func variable(_ role: CertificateRole) -> String { "RSDUMP_\(role.rawValue.uppercased())_KEY" }
    package static let chainVariable = "RSDUMP_SIGNER_CHAIN"

    /// The properties of a new directory.
    package struct Plan: Sendable {
        /// The prefix of the names of the root and intermediate certificates.
        package var name = "Remote Settings"
        /// The DNS name in the signing certificate, which clients check.
        package var signer = SignerName.remoteSettings
        /// The public key for the signing certificate, if its private key is stored elsewhere; `nil` to generate a key.
        package var signerKey: PublicKey?
        package var rootDays = 7300
        package var intermediateDays = 1095
        package var signerDays = 90

        package init() {}
    }

    /// Creates a new directory with a root, an intermediate and a signing certificate and their keys. Does I/O.
    ///
    /// The directory appears only when it is complete.
    ///
    /// - Returns: the SHA-256 of the root certificate's DER, which apps pin.
    /// - Throws: ``Failure`` if the path already exists and is not an empty directory, or if a certificate
    ///   cannot contain a name; `Failure`.
    package func create(_ plan: Plan, now: Timestamp) throws -> SHA256Digest {
        if try FileStore.list(path, isLossy: true).map({ !$0.isEmpty }) ?? FileStore.exists(path) {
            throw Failure(
                file: path, found: "it already exists and is not an empty directory",
                remedy: "choose a different directory; keys are never overwritten")
        }
        let (rootKey, intermediateKey, signerKey) = (PrivateKey(), PrivateKey(), PrivateKey())
        let root = try CertificateAuthority(rootNamed: "\(plan.name) root", key: rootKey, days: plan.rootDays, now: now)
        let intermediate = try root.issueIntermediate(
            named: "\(plan.name) intermediate", key: intermediateKey, days: plan.intermediateDays, now: now)
        let chain = try intermediate.issueSigner(
            plan.signer, for: plan.signerKey ?? signerKey.publicKey, days: plan.signerDays, now: now)
        guard let digest = root.root else { preconditionFailure("a certificate that was just made has bytes") }

        try FileStore.makeDirectories(FileStore.parent(of: path))
        let temporary = try TemporaryDirectory(beside: path)
        defer { withExtendedLifetime(temporary) {} }
        let made = KeyDirectory(temporary.path)
        try made.ignoreKeys()
        try made.write(.root, rootKey, root.certificates)
        try made.write(.intermediate, intermediateKey, [intermediate.certificate])
        try made.write(.signer, plan.signerKey == nil ? signerKey : nil, chain)
        try FileStore.rename(made.path, to: path)
        return digest
    }

    /// Generates a new signing key, issues its certificate with the intermediate key, and replaces the current ones.
    /// Does I/O.
    ///
    /// - Parameters:
    ///   - name: the DNS name in the new certificate; `nil` for the name in the current chain.
    ///   - signerKey: the public key for the certificate, if its private key is stored elsewhere; `nil` to generate a
    ///     key.
    ///   - includingIntermediate: the validity in days of a new intermediate certificate, which the root's key issues;
    ///     `nil` to keep the current one.
    /// - Returns: the time when the new signing certificate expires.
    /// - Throws: ``Failure``, or `Failure`, for example if clients would not accept the new chain. Nothing
    ///   is replaced in these cases. `Failure` also if a file cannot be written; the intermediate may then be
    ///   replaced, but not the signing key.
    @discardableResult
    package func renew(
        named name: SignerName?, for signerKey: PublicKey? = nil, days: Int,
        includingIntermediate intermediateDays: Int? = nil, environment: [String: String], now: Timestamp
    ) throws -> Timestamp {
        try changing {
            if signerKey != nil, try FileStore.exists(keyPath(.signer)) {
                throw Failure(
                    file: keyPath(.signer),
                    found: "there is a signing key, but the new certificate is for a different key",
                    remedy: "move the signing key to a safe place, or remove it, then try again")
            }
            let present = try readKey(.signer, [:]).certificates.first
            let name = name ?? present?.dnsNames.first.map { SignerName($0) } ?? .remoteSettings
            try Self.checkClock(now, against: present)
            // Everything is issued and verified before anything is replaced.
            var intermediate: CertificateAuthority?
            if let intermediateDays {
                let old = try readKey(.intermediate, [:]).certificates.first
                try Self.checkClock(now, against: old)
                let made = try authority(for: .intermediate, environment).issueIntermediate(
                    named: old?.name ?? "Remote Settings intermediate", key: PrivateKey(), days: intermediateDays,
                    now: now)
                _ = try verified(made, name, at: now)
                intermediate = made
            }
            let own = PrivateKey()
            let certificates = try (intermediate ?? authority(for: .signer, environment))
                .issueSigner(name, for: signerKey ?? own.publicKey, days: days, now: now)
            _ = try verified(CertificateAuthority.pem(certificates), name, at: now)
            if let intermediate { try replace(.intermediate, intermediate.key, intermediate.certificates) }
            if signerKey == nil {
                try replace(.signer, own, certificates)
            } else {
                try write(.signer, nil, certificates)
            }
            return certificates[0].notAfter
        }
    }

    /// Checks the clock. A certificate is valid from one day before it was issued, so if that time is in the future,
    /// the clock is wrong.
    private static func checkClock(_ now: Timestamp, against present: SigningCertificate?) throws(Failure) {
        guard let present, now < present.notBefore else { return }
        throw Failure(
            file: present.name,
            found: "this machine's clock (\(now.rfc3339)) is before the current certificate's first day "
                + "(\(present.notBefore.rfc3339))", remedy: "correct this machine's clock")
    }

    /// Reads the signing key and its chain from `RSDUMP_SIGNER_KEY` and `RSDUMP_SIGNER_CHAIN` if these are set, or else
    /// from the directory's files. Does I/O.
    ///
    /// - Throws: ``Failure``.
    package func signer(_ environment: [String: String]) throws -> ContentSigner {
        let held = try readKey(.signer, environment)
        guard let key = held.key else { throw missingKey(.signer) }
        return try ContentSigner(key: key, certificates: certificates(of: held))
    }

    /// Reads the chain of a signing key that is stored elsewhere, from `RSDUMP_SIGNER_CHAIN` if it is set, or else from
    /// the directory. Does I/O.
    ///
    /// - Parameter sign: signs a message with that key.
    /// - Throws: ``Failure``.
    package func signer(
        _ environment: [String: String], signingBy sign: @escaping ExternalSigner.Sign
    ) throws -> ExternalSigner {
        try ExternalSigner(
            certificates: certificates(of: readKey(.signer, environment.filter { $0.key == Self.chainVariable })), sign)
    }

    private func certificates(of held: HeldKey) throws -> SignerChain {
        guard !held.certificates.isEmpty else {
            throw Failure(
                file: certificatePath(.signer), found: "the signing certificate is missing",
                remedy: "create keys with rsdump keys create DIR, or set \(Self.chainVariable)")
        }
        return try SignerChain(CertificateAuthority.pem(held.certificates), place: held.place)
    }

    /// Returns the authority that issues certificates for this role: the root for an intermediate certificate, and the
    /// intermediate for a signing certificate.
    func authority(for role: CertificateRole, _ environment: [String: String]) throws -> CertificateAuthority {
        let issuer = role == .intermediate ? CertificateRole.root : .intermediate
        let held = try readKey(issuer, environment)
        guard let key = held.key else { throw missingKey(issuer) }
        guard held.certificates.last?.role == .root else {
            throw Failure(
                file: certificatePath(held.certificates.isEmpty ? issuer : .root),
                found: "the issuer's certificate is missing",
                remedy: "restore the file that rsdump keys create wrote")
        }
        return try CertificateAuthority(key: key, certificates: held.certificates, place: held.place)
    }

    private func missingKey(_ role: CertificateRole) -> Failure {
        Failure(
            file: keyPath(role), found: "there is no such private key",
            remedy: (role == .signer
                ? "give the directory with the key, create keys with rsdump keys create DIR, "
                : "install an issued certificate with --certificate FILE, give the directory with the key, ")
                + "or set \(Self.variable(role)) to its PEM text")
    }

    /// Verifies the chain of a signing certificate in the same way as clients, with the last certificate as the root.
    ///
    /// - Returns: the hash of the root.
    /// - Throws: `Failure`.
    func verified(_ pem: Bytes, _ name: SignerName, at now: Timestamp) throws -> SHA256Digest {
        let chain = try CertificateChain(pem: pem)
        return try chain.verified(anchors: TrustAnchors([chain.root]), signer: name, at: now).root
    }

    /// Verifies an intermediate certificate in the same way as clients. To do so, it issues a temporary signing
    /// certificate with it, and verifies and discards that one.
    func verified(_ authority: CertificateAuthority, _ name: SignerName, at now: Timestamp) throws -> SHA256Digest {
        try verified(authority.issueSigner(name, days: 1, now: now).chain, name, at: now)
    }
}
