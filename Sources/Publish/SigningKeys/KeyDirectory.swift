import ContentSigning
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// A directory of keys and certificates. `rsdump keys create` makes one.
///
/// `root.key`, `intermediate.key` and `signer.key` are private keys. Each of them may be kept elsewhere. `root.pem` and
/// `intermediate.pem` are certificates. `chain.pem` is the signing certificate with its issuers, and signatures are
/// published with it. `succession.pem` has the cross-certificates of older roots. The name of every file that ever has
/// a private key ends with `.key`, and `.gitignore` keeps these files out of a repository. `KeyDirectory+Files.swift`
/// says how a key and its certificates are replaced together.
package struct KeyDirectory: Sendable {
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    package func keyPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).key" }
    package func certificatePath(_ role: CertificateRole) -> String {
        role == .signer ? "\(path)/chain.pem" : "\(path)/\(role.rawValue).pem"
    }

    /// The environment variable that can hold a role's key as PEM, in place of the file.
    package static func variable(_ role: CertificateRole) -> String { "RSDUMP_\(role.rawValue.uppercased())_KEY" }
    package static let chainVariable = "RSDUMP_SIGNER_CHAIN"

    /// The properties of a new directory.
    package struct Plan: Sendable {
        /// The names of the root and of the intermediate certificate begin with this.
        package var name = "Remote Settings"
        /// The DNS name of the signing certificate. Clients ask for it.
        package var signer = SignerName.remoteSettings
        /// The key that the signing certificate is for; `nil` to make one. Its private key is elsewhere.
        package var signerKey: PublicKey?
        package var rootDays = 7300
        package var intermediateDays = 1095
        package var signerDays = 90

        package init() {}
    }

    /// Makes a new directory with a root, an intermediate and a signing certificate and their keys. Does I/O.
    ///
    /// The directory appears whole or not at all. If a killed process left an unfinished one beside it, that one is
    /// removed.
    ///
    /// - Returns: SHA-256 of the root certificate's DER, which apps pin.
    /// - Throws: ``SigningKeyError`` if something is already there or if a name cannot be in a certificate, or
    ///   `FileError`.
    package func create(_ plan: Plan, now: Timestamp) throws -> SHA256Digest {
        if try FileStore.list(path).map({ !$0.isEmpty }) ?? FileStore.exists(path) {
            throw SigningKeyError(
                path, expected: "a new or empty directory", found: "something in it",
                remedy: "name another directory; keys are never overwritten")
        }
        let (rootKey, intermediateKey, signerKey) = (PrivateKey(), PrivateKey(), PrivateKey())
        let root = try CertificateAuthority(
            rootNamed: "\(plan.name) root", key: rootKey, days: plan.rootDays, now: now)
        let intermediate = try root.issueIntermediate(
            named: "\(plan.name) intermediate", key: intermediateKey, days: plan.intermediateDays, now: now)
        let chain = try intermediate.issueSigner(
            plan.signer, for: plan.signerKey ?? signerKey.publicKey, days: plan.signerDays, now: now)
        guard let digest = root.root else { preconditionFailure("a certificate that was just made has bytes") }

        try FileStore.makeDirectories(FileStore.parent(of: path))
        try removeUnfinished()
        let made = KeyDirectory(FileStore.uniquePath(path) + ".tmp")
        do {
            try FileStore.makeDirectories(made.path)
            // The lock tells other processes that this one is alive.
            let lock = try DirectoryLock(made.path)
            try made.ignoreKeys()
            try made.write(.root, rootKey, root.certificates)
            try made.write(.intermediate, intermediateKey, [intermediate.certificate])
            try made.write(.signer, plan.signerKey == nil ? signerKey : nil, chain)
            try withExtendedLifetime(lock) { try FileStore.rename(made.path, to: path) }
        } catch {
            try? FileStore.removeTree(made.path)
            throw error
        }
        return digest
    }

    /// Removes the unfinished directories that killed calls of ``create(_:now:)`` left.
    private func removeUnfinished() throws(FileError) {
        let parent = FileStore.parent(of: path)
        let prefix = path.split(separator: "/").last.map { "\($0)." } ?? ""
        for name in try FileStore.list(parent) ?? [] where name.hasPrefix(prefix) && name.hasSuffix(".tmp") {
            let numbers = name.dropFirst(prefix.count).dropLast(4).split(
                separator: "-", omittingEmptySubsequences: false)
            let left = "\(parent)/\(name)"
            guard numbers.count == 2, numbers.allSatisfy({ Int($0) != nil }), try FileStore.isDirectory(left),
                try DirectoryLock(left) != nil
            else { continue }
            try FileStore.removeTree(left)
        }
    }

    /// Makes a new signing key, lets the intermediate certificate issue its certificate, and replaces the current ones.
    /// Does I/O.
    ///
    /// - Parameters:
    ///   - name: the DNS name in the new certificate; `nil` for the one in the current chain.
    ///   - signerKey: the key that the certificate is for; `nil` to make one. Its private key is elsewhere.
    ///   - includingIntermediate: how many days the intermediate certificate is valid after it is renewed with the
    ///     root's key; `nil` if it is not renewed.
    /// - Returns: when the new signing certificate ends.
    /// - Throws: ``SigningKeyError``, `ContentSignatureError` if clients would not accept the new chain, or
    ///   `FileError`. Nothing is replaced then.
    @discardableResult
    package func renew(
        named name: SignerName?, for signerKey: PublicKey? = nil, days: Int,
        includingIntermediate intermediateDays: Int? = nil, environment: [String: String], now: Timestamp
    ) throws -> Timestamp {
        try changing {
            if signerKey != nil, try FileStore.exists(keyPath(.signer)) {
                throw SigningKeyError(
                    keyPath(.signer), expected: "no signing key beside the certificate for another one", found: "one",
                    remedy: "move it to where it is kept, or remove it, then run this again")
            }
            let present = try readKey(.signer, [:]).certificates.first
            let name = name ?? present?.dnsNames.first.map { SignerName($0) } ?? .remoteSettings
            try Self.checkClock(now, against: present)
            var issuer: CertificateAuthority?
            if let intermediateDays {
                let old = try readKey(.intermediate, [:]).certificates.first
                try Self.checkClock(now, against: old)
                let made = try authority(for: .intermediate, environment).issueIntermediate(
                    named: old?.name ?? "Remote Settings intermediate", key: PrivateKey(), days: intermediateDays,
                    now: now)
                _ = try verified(made, name, at: now)
                try replace(.intermediate, made.key, made.certificates)
                issuer = made
            }
            let own = PrivateKey()
            let certificates = try (issuer ?? authority(for: .signer, environment))
                .issueSigner(name, for: signerKey ?? own.publicKey, days: days, now: now)
            _ = try verified(CertificateAuthority.pem(certificates), name, at: now)
            if signerKey == nil {
                try replace(.signer, own, certificates)
            } else {
                try write(.signer, nil, certificates)
            }
            return certificates[0].notAfter
        }
    }

    /// A certificate's validity begins a day before it is made. If it has not begun, the clock is wrong.
    private static func checkClock(_ now: Timestamp, against present: SigningCertificate?) throws(SigningKeyError) {
        guard let present, now < present.notBefore else { return }
        throw SigningKeyError(
            present.name, expected: "a clock after \(present.notBefore.rfc3339), when the current certificate begins",
            found: now.rfc3339, remedy: "set this machine's clock")
    }

    /// Reads the signing key and its chain: those in `RSDUMP_SIGNER_KEY` and `RSDUMP_SIGNER_CHAIN` if these are set,
    /// else those of the directory's files. Does I/O.
    ///
    /// - Throws: ``SigningKeyError`` or `FileError`.
    package func signer(_ environment: [String: String]) throws -> ContentSigner {
        let held = try readKey(.signer, environment)
        guard let key = held.key else { throw missingKey(.signer) }
        return try ContentSigner(key: key, chains: chains(of: held))
    }

    /// Reads the chain of a signing key that is elsewhere: that in `RSDUMP_SIGNER_CHAIN` if it is set, else that of the
    /// directory. Does I/O.
    ///
    /// - Parameter sign: has a message signed with that key.
    /// - Throws: ``SigningKeyError`` or `FileError`.
    package func signer(
        _ environment: [String: String], signingBy sign: @escaping ExternalSigner.Sign
    ) throws -> ExternalSigner {
        try ExternalSigner(
            chains: chains(of: readKey(.signer, environment.filter { $0.key == Self.chainVariable })), sign)
    }

    private func chains(of held: HeldKey) throws -> SignerChains {
        guard !held.certificates.isEmpty else {
            throw SigningKeyError(
                certificatePath(.signer), expected: "the chain of the signing certificate", found: "no such file",
                remedy: "make keys with rsdump keys create DIR, or set \(Self.chainVariable)")
        }
        let chains = try succession().chains(of: held.certificates).map { try CertificateAuthority.pem($0) }
        return try SignerChains(chains[0], older: Array(chains.dropFirst()), place: held.place)
    }

    /// The authority that issues certificates of this role. The root issues an intermediate certificate, and the
    /// intermediate certificate issues a signing certificate.
    func authority(for role: CertificateRole, _ environment: [String: String]) throws -> CertificateAuthority {
        let issuer = role == .intermediate ? CertificateRole.root : .intermediate
        let held = try readKey(issuer, environment)
        guard let key = held.key else { throw missingKey(issuer) }
        guard held.certificates.last?.role == .root else {
            throw SigningKeyError(
                certificatePath(held.certificates.isEmpty ? issuer : .root), expected: "the issuer's certificate",
                found: "no such file", remedy: "put it back; rsdump keys create wrote it")
        }
        return try CertificateAuthority(key: key, certificates: held.certificates, place: held.place)
    }

    private func missingKey(_ role: CertificateRole) -> SigningKeyError {
        SigningKeyError(
            keyPath(role), expected: "a private key", found: "no such file",
            remedy:
                "name the directory that has it (rsdump keys create DIR makes one), or set \(Self.variable(role)) to "
                + "its PEM text")
    }

    /// Verifies the chain of a signing certificate as clients do, under the root at its end.
    ///
    /// - Returns: the hash of the root.
    /// - Throws: `ContentSignatureError`.
    func verified(_ pem: Bytes, _ name: SignerName, at now: Timestamp) throws -> SHA256Digest {
        let chain = try CertificateChain(pem: pem)
        return try chain.verified(anchors: TrustAnchors([chain.root]), signer: name, at: now).root
    }

    /// Verifies an intermediate certificate as clients do: it issues a signing certificate, verifies that one and
    /// discards it.
    func verified(_ authority: CertificateAuthority, _ name: SignerName, at now: Timestamp) throws -> SHA256Digest {
        try verified(authority.issueSigner(name, days: 1, now: now).chain, name, at: now)
    }
}
