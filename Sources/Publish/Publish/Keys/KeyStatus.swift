import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

/// The contents of a key directory, and the expiry of each certificate.
package struct KeyStatus: Sendable {
    package struct Entry: Sendable {
        package let role: CertificateRole
        /// The certificate of this role; `nil` if there is none.
        package let certificate: SigningCertificate?
        /// The status of the private key: whether it is in the directory and belongs to the certificate.
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
}

extension KeyDirectory {
    /// Reads all files. Does I/O. Problems with individual files are reported in the entries.
    package func status(_ environment: [String: String]) throws -> KeyStatus {
        guard try FileStore.list(path, isLossy: true) != nil || Self.value(of: Self.chainVariable, environment) != nil
        else {
            throw Failure(
                file: path, found: "there is no such key directory",
                remedy: "correct the name, or create one with: rsdump keys create \(ShellWord.quoted(path))")
        }
        // Read certificates and keys separately, so that a certificate is shown even if its key has a problem.
        let all = CertificateRole.allCases.map { role in (role, Result { try readKey(role, environment) }) }
        let chained = try all.last.map { _, signer in
            switch signer {
            case .success(let held): held.certificates
            case .failure: try certificates(.signer, environment)
            }
        }
        let entries = try all.map { role, result in
            switch result {
            case .success(let held):
                let certificate = held.certificates.first ?? chained?.first { $0.role == role }
                let isOwn = held.key.map { key in certificate?.isFor(key) ?? false }
                return KeyStatus.Entry(
                    role: role, certificate: certificate, key: isOwn.map { $0 ? .here : .other } ?? .elsewhere,
                    problem: nil)
            case .failure(let error):
                let certificate = try certificates(role, environment).first
                return KeyStatus.Entry(role: role, certificate: certificate, key: .other, problem: "\(error)")
            }
        }
        return KeyStatus(entries: entries, root: entries.first?.certificate?.sha256)
    }

    private func certificates(_ role: CertificateRole, _ environment: [String: String]) throws -> [SigningCertificate] {
        if role == .signer, let chain = Self.value(of: Self.chainVariable, environment) {
            return try SigningCertificate.all(of: Bytes(utf8: chain), place: Self.chainVariable)
        }
        let text = try FileStore.read(certificatePath(role), limit: Limits.chainBytes)
        return try text.map { try SigningCertificate.all(of: $0, place: certificatePath(role)) } ?? []
    }
}
