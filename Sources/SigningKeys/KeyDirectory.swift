import ContentSignature
import FileStorage
import RemoteSettingsModel

/// A directory of keys and certificates, as `rsdump keys create` makes it.
///
/// `root.key`, `intermediate.key` and `signer.key` are private keys; any of them may be kept elsewhere. `root.pem` and
/// `intermediate.pem` are certificates, and `chain.pem` is the signing certificate with its issuers, which signatures are
/// published with. `.gitignore` keeps private keys out of a repository. While a certificate is requested, its key waits in
/// `signer.new.key` or `intermediate.new.key`.
package struct KeyDirectory: Sendable {
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    package func keyPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).key" }
    package func certificatePath(_ role: CertificateRole) -> String {
        role == .signer ? "\(path)/chain.pem" : "\(path)/\(role.rawValue).pem"
    }
    private func newKeyPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).new.key" }
    private var newChainPath: String { "\(path)/chain.new.pem" }

    /// Variables of the environment that hold a PEM text in place of a file.
    package static func variable(_ role: CertificateRole) -> String { "RSDUMP_\(role.rawValue.uppercased())_KEY" }
    package static let chainVariable = "RSDUMP_SIGNER_CHAIN"

    /// What a new directory is made of.
    package struct Plan: Sendable {
        /// The beginning of the names of the root and of the intermediate certificate.
        package var name = "Remote Settings"
        /// The DNS name of the signing certificate, which clients ask for.
        package var signer = SignerName.remoteSettings
        package var rootDays = 7300
        package var intermediateDays = 1095
        package var signerDays = 90

        package init() {}
    }

    /// Makes a root, an intermediate and a signing certificate with their keys, in a new directory. Does I/O.
    ///
    /// The directory appears whole, or not at all.
    ///
    /// - Returns: SHA-256 of the root certificate's DER, which apps pin.
    /// - Throws: ``SigningKeyError`` where something is there already, or `FileError`.
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
        let signer = try intermediate.issueSigner(plan.signer, key: signerKey, days: plan.signerDays, now: now)
        guard let digest = root.root else { preconditionFailure("a certificate that was just made has bytes") }

        let parent = FileStore.parent(of: path)
        try FileStore.makeDirectories(parent)
        let made = KeyDirectory(FileStore.uniquePath(path) + ".tmp")
        do {
            try FileStore.makeDirectories(made.path)
            try FileStore.replace("\(made.path)/.gitignore", with: Bytes(utf8: "*.key\n"))
            try FileStore.replacePrivate(made.keyPath(.root), with: rootKey.pem)
            try FileStore.replacePrivate(made.keyPath(.intermediate), with: intermediateKey.pem)
            try FileStore.replacePrivate(made.keyPath(.signer), with: signerKey.pem)
            try FileStore.replace(made.certificatePath(.root), with: CertificateAuthority.pem(root.certificates))
            try FileStore.replace(
                made.certificatePath(.intermediate), with: CertificateAuthority.pem([intermediate.certificate]))
            try FileStore.replace(made.certificatePath(.signer), with: signer.chain)
            try FileStore.rename(made.path, to: path)
        } catch {
            try? FileStore.removeTree(made.path)
            throw error
        }
        return digest
    }

    /// Makes a key and the request for its certificate, which the holder of the issuer's key answers with
    /// ``issue(_:as:named:days:environment:now:)``. The key waits until ``install(_:)``. Does I/O.
    ///
    /// - Returns: the request as PEM.
    package func request(_ role: CertificateRole, named name: String) throws -> Bytes {
        let key = PrivateKey()
        let request = try CertificateRequest(named: name, key: key).pem()
        try FileStore.makeDirectories(path)
        let ignore = "\(path)/.gitignore"
        if try FileStore.size(ignore) == nil { try FileStore.replace(ignore, with: Bytes(utf8: "*.key\n")) }
        try FileStore.replacePrivate(newKeyPath(role), with: key.pem)
        return request
    }

    /// Issues what a request asks for, with the key of this directory: an intermediate certificate by the root's, a signing
    /// certificate by the intermediate's. Does I/O.
    ///
    /// - Parameter name: the name in the certificate; `nil` for the one in the request.
    /// - Returns: the certificate and its issuers, as PEM.
    package func issue(
        _ request: CertificateRequest, as role: CertificateRole, named name: String?, days: Int,
        environment: [String: String], now: Timestamp
    ) throws -> Bytes {
        guard let name = name ?? request.name, !name.isEmpty else {
            throw SigningKeyError(
                path, expected: "a name", found: "none in the request", remedy: "give one with --name")
        }
        return try authority(for: role, environment).issue(request, as: role, named: name, days: days, now: now)
    }

    /// Takes over a certificate that was issued for the key of an open request. Does I/O.
    ///
    /// - Parameters:
    ///   - pem: the certificate and its issuers.
    ///   - place: the file that it comes from, for the error.
    /// - Returns: what it is for.
    package func install(_ pem: Bytes, place: String) throws -> CertificateRole {
        let certificates = try SigningCertificate.all(of: pem, place: place)
        let role = certificates[0].role
        let waiting = newKeyPath(role)
        guard try FileStore.exists(waiting), role != .root else {
            throw SigningKeyError(
                place, expected: "a certificate for an open request of \(path)",
                found: "\(certificates[0].name), of which no key waits there",
                remedy: "request one with: rsdump keys request \(path) --for \(role.rawValue)")
        }
        let key = try key(at: waiting)
        for (issued, issuer) in zip(certificates, certificates.dropFirst()) where !issued.isIssued(by: issuer) {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "each certificate to be issued by the next one",
                found: "\(issued.name), which \(issuer.name) did not issue", remedy: "let it be issued again")
        }
        guard certificates[0].isFor(key), certificates.last?.role == .root else {
            throw SigningKeyError(
                place, kind: .untrusted, expected: "a certificate for the key in \(waiting), with its issuers",
                found: certificates[0].isFor(key) ? "no root at its end" : "one for another key",
                remedy: "let the present request be answered, or make a new one")
        }
        if role == .signer {
            try replaceSigner(key, chain: CertificateAuthority.pem(certificates))
            try FileStore.remove(waiting)
        } else {
            if let root = certificates.last {
                try FileStore.replace(certificatePath(.root), with: CertificateAuthority.pem([root]))
            }
            try FileStore.replace(certificatePath(role), with: CertificateAuthority.pem([certificates[0]]))
            try FileStore.rename(waiting, to: keyPath(role))
        }
        return role
    }

    /// Makes a new key and certificate for signing, issued by the intermediate certificate, and puts them in place of the
    /// present ones. Does I/O.
    ///
    /// - Parameters:
    ///   - name: the DNS name in the new certificate; `nil` for the one in the present chain.
    ///   - includingIntermediate: for how many days to renew the intermediate certificate first, with the root's key.
    package func renew(
        named name: SignerName?, days: Int, includingIntermediate intermediateDays: Int? = nil,
        environment: [String: String], now: Timestamp
    ) throws {
        let chain = try FileStore.read(certificatePath(.signer), limit: Limits().chainBytes)
        let present = try chain.map { try SigningCertificate.all(of: $0, place: certificatePath(.signer))[0] }
        let name = name ?? present?.dnsNames.first.map { SignerName($0) } ?? .remoteSettings
        if let intermediateDays {
            let issuer = try authority(for: .intermediate, environment)
            let old = try FileStore.read(certificatePath(.intermediate), limit: Limits().chainBytes)
            let oldName = try old.map { try SigningCertificate.all(of: $0, place: path)[0].name }
            let key = PrivateKey()
            let made = try issuer.issueIntermediate(
                named: oldName ?? "Remote Settings intermediate", key: key, days: intermediateDays, now: now)
            // Whoever is killed between the two has a key without its certificate, which the next renewal replaces.
            try FileStore.replacePrivate(keyPath(.intermediate), with: key.pem)
            try FileStore.replace(
                certificatePath(.intermediate), with: CertificateAuthority.pem([made.certificate]))
        }
        let key = PrivateKey()
        let signer = try authority(for: .signer, environment).issueSigner(name, key: key, days: days, now: now)
        try replaceSigner(key, chain: signer.chain)
    }

    /// Replaces key and chain so that a reader finds two that belong together at any instant: see ``signer(_:)``.
    private func replaceSigner(_ key: PrivateKey, chain: Bytes) throws(FileError) {
        try FileStore.replace(newChainPath, with: chain)
        try FileStore.replacePrivate(keyPath(.signer), with: key.pem)
        try FileStore.rename(newChainPath, to: certificatePath(.signer))
    }

    /// What signs: the key and the chain of the directory, or those in `RSDUMP_SIGNER_KEY` and `RSDUMP_SIGNER_CHAIN` in place
    /// of the files. Does I/O.
    ///
    /// - Throws: ``SigningKeyError`` or `FileError`.
    package func signer(_ environment: [String: String]) throws -> ContentSigner {
        let key = try key(.signer, environment)
        let place = certificatePath(.signer)
        if let chain = Self.value(of: Self.chainVariable, environment) {
            return try ContentSigner(key: key, chain: Bytes(utf8: chain), place: Self.chainVariable)
        }
        // A renewal that was killed between its two renames.
        if let chain = try FileStore.read(newChainPath, limit: Limits().chainBytes),
            let signer = try? ContentSigner(key: key, chain: chain, place: newChainPath)
        {
            return signer
        }
        guard let chain = try FileStore.read(place, limit: Limits().chainBytes) else {
            throw SigningKeyError(
                place, expected: "the chain of the signing certificate", found: "no such file",
                remedy: "make keys with rsdump keys create DIR, or set \(Self.chainVariable)")
        }
        return try ContentSigner(key: key, chain: chain, place: place)
    }

    private func authority(
        for role: CertificateRole, _ environment: [String: String]
    ) throws -> CertificateAuthority {
        let issuer = role == .intermediate ? CertificateRole.root : .intermediate
        let key = try key(issuer, environment)
        var certificates: [SigningCertificate] = []
        for file in issuer == .root ? [certificatePath(.root)] : [certificatePath(issuer), certificatePath(.root)] {
            guard let pem = try FileStore.read(file, limit: Limits().chainBytes) else {
                throw SigningKeyError(
                    file, expected: "the issuer's certificate", found: "no such file",
                    remedy: "put it back; rsdump keys create wrote it")
            }
            certificates.append(try SigningCertificate.all(of: pem, place: file)[0])
        }
        return try CertificateAuthority(key: key, certificates: certificates, place: certificatePath(issuer))
    }

    /// A variable's value; `nil` where it is empty, as secrets are that a CI service does not have.
    fileprivate static func value(of variable: String, _ environment: [String: String]) -> String? {
        environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func key(_ role: CertificateRole, _ environment: [String: String]) throws -> PrivateKey {
        let variable = Self.variable(role)
        if let text = Self.value(of: variable, environment) {
            return try PrivateKey(pem: Bytes(utf8: text), place: variable)
        }
        let path = keyPath(role)
        guard try FileStore.exists(path) else {
            throw SigningKeyError(
                path, expected: "a private key", found: "no such file",
                remedy:
                    "name the directory that has it (rsdump keys create DIR makes one), or set \(variable) to its PEM text"
            )
        }
        return try key(at: path)
    }

    private func key(at path: String) throws -> PrivateKey {
        guard try !FileStore.isOpenToOthers(path) else {
            throw SigningKeyError(
                path, expected: "a private key that only its owner can read", found: "a file that others can open",
                remedy: "take the right from them with: chmod 600 \(path)")
        }
        guard let pem = try FileStore.read(path, limit: Limits().chainBytes) else {
            throw SigningKeyError(
                path, expected: "a private key", found: "no such file", remedy: "put the file back")
        }
        return try PrivateKey(pem: pem, place: path)
    }
}

/// What a directory of keys has, and for how long.
package struct KeyStatus: Sendable {
    package struct Entry: Sendable {
        package let role: CertificateRole
        /// `nil` where there is no certificate.
        package let certificate: SigningCertificate?
        /// Whether its private key is at hand, and is the certificate's.
        package let key: Key
        package let problem: String?
    }

    package enum Key: String, Sendable {
        case here
        case elsewhere
        case other
    }

    /// The root, the intermediate and the signing certificate.
    package let entries: [Entry]
    package let root: SHA256Digest?

    /// When the first certificate of the published chain ends; `nil` where there is no chain.
    package var end: Timestamp? { entries.compactMap { $0.certificate?.notAfter }.min() }
}

extension KeyDirectory {
    /// Looks at all files. Does I/O; problems are in the entries.
    package func status(_ environment: [String: String]) throws -> KeyStatus {
        let given = Self.value(of: Self.chainVariable, environment)
        guard try FileStore.isDirectory(path) || given != nil else {
            throw SigningKeyError(
                path, expected: "a directory of keys", found: "none",
                remedy: "make one with: rsdump keys create \(path)")
        }
        let chain =
            try given.map { Bytes(utf8: $0) }
            ?? FileStore.read(certificatePath(.signer), limit: Limits().chainBytes)
        let chained = try chain.map { try SigningCertificate.all(of: $0, place: certificatePath(.signer)) } ?? []
        let entries = try CertificateRole.allCases.map { role in
            let own =
                role == .signer
                ? nil : try FileStore.read(certificatePath(role), limit: Limits().chainBytes)
            let certificate =
                try own.map { try SigningCertificate.all(of: $0, place: certificatePath(role))[0] }
                ?? chained.first { $0.role == role }
            guard try FileStore.exists(keyPath(role)) || Self.value(of: Self.variable(role), environment) != nil
            else {
                return KeyStatus.Entry(role: role, certificate: certificate, key: .elsewhere, problem: nil)
            }
            do {
                let key = try key(role, environment)
                let isOwn = certificate?.isFor(key) ?? false
                return KeyStatus.Entry(role: role, certificate: certificate, key: isOwn ? .here : .other, problem: nil)
            } catch {
                return KeyStatus.Entry(role: role, certificate: certificate, key: .other, problem: "\(error)")
            }
        }
        return KeyStatus(entries: entries, root: entries.first?.certificate?.sha256)
    }
}
