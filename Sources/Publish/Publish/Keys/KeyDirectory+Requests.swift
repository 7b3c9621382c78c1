import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

// If the issuer's key is on a different machine, a request is sent there, and the certificate comes back. It is
// accepted only if it belongs to that request, and to the directory's root or to a new root that the caller specifies.
extension KeyDirectory {
    /// Creates a key and a request for its certificate. Does I/O.
    ///
    /// The owner of the issuer's key responds to the request with ``issue(_:as:named:days:environment:now:)``. The key
    /// is stored until ``install(_:place:changingRootTo:now:)`` installs its certificate. If there is already an open
    /// request with this name, it is returned, so that a certificate that is already being issued still matches the
    /// key.
    ///
    /// - Throws: ``Failure`` if there is an open request with a different name, or if a certificate cannot
    ///   contain the name.
    package func request(_ role: CertificateRole, named name: String) throws -> CertificateRequest {
        try role.check(name, place: "the name")
        try FileStore.makeDirectories(path)
        return try changing {
            let place = waitingPath(role)
            let open = try privateText(place)
            if let open, let request = try? CertificateRequest(pem: open, place: place) {
                guard request.name == name else {
                    throw Failure(
                        file: place,
                        found:
                            "there is already an open request, for "
                            + "\(request.name.map(VisibleText.escape) ?? "a certificate without a name")",
                        remedy: "wait for the certificate, or remove the file to withdraw the request")
                }
                return request
            }
            let key = try open.map { try PrivateKey(pem: $0, place: place) } ?? PrivateKey()
            let request = try CertificateRequest(named: name, key: key)
            try writePrivate(place, Bytes(key.pem.array + request.pem().array))
            return request
        }
    }

    /// Issues the requested certificate with a key of this directory. The root's key issues an intermediate
    /// certificate, and the intermediate's key issues a signing certificate. Does I/O.
    ///
    /// - Parameter name: the name in the request, which the owner of the issuing key confirms; `nil` if it is not
    ///   confirmed.
    /// - Returns: the certificate and its issuers, as PEM.
    /// - Throws: ``Failure`` if no name is confirmed, or if the request contains a different name.
    package func issue(
        _ request: CertificateRequest, as role: CertificateRole, named name: String?, days: Int,
        environment: [String: String], now: Timestamp
    ) throws -> Bytes {
        guard let name, request.name.map({ $0 == name }) ?? true else {
            let asked = request.name.map { VisibleText.escape($0) }
            let digest = request.keyDigest.map { ", for the key \($0)" } ?? ""
            throw Failure(
                file: "the request",
                found: "it is for \(asked ?? "no name")\(digest)" + (name.map { ", not for \($0)" } ?? ""),
                remedy: "verify this with its sender over a different channel than the request; if it is correct, "
                    + "issue the certificate with: --name \(ShellWord.quoted(asked ?? "NAME"))")
        }
        try role.check(name, place: "the name")
        let authority = try authority(for: role, environment)
        return try authority.issue(request, as: role, named: name, days: days, now: now)
    }

    /// Installs a certificate that was issued for the key of an open request. Does I/O.
    ///
    /// - Parameters:
    ///   - pem: the certificate and its issuers.
    ///   - place: the file with the certificate, for errors.
    ///   - newRoot: the hash of the root that replaces the current one, or that is the directory's first root; `nil` if
    ///     the certificate must belong to the current root.
    /// - Returns: the role of the certificate.
    /// - Throws: ``Failure`` if the certificate does not belong to the request or to that root; `Failure`
    ///   if clients would not accept it at `now`. Nothing is replaced in these cases. `Failure` also if a file
    ///   cannot be read or written; the next change of the directory completes a replacement that has begun.
    package func install(
        _ pem: Bytes, place: String, changingRootTo newRoot: SHA256Digest? = nil, now: Timestamp
    ) throws -> CertificateRole {
        try changing {
            let certificates = try SigningCertificate.all(of: pem, place: place)
            let role = certificates[0].role
            if role != .root, let present = try readKey(role, [:]).certificates.first,
                present.x509 == certificates[0].x509
            {
                // An earlier run was killed after the last step, so the certificate is already installed.
                return role
            }
            guard role != .root, let waiting = try privateText(waitingPath(role)) else {
                throw Failure(
                    file: place,
                    found:
                        "the certificate of \(VisibleText.escape(certificates[0].name)) is not for an open request "
                        + "in \(path)",
                    remedy:
                        "request a certificate with: rsdump keys request \(ShellWord.quoted(path)) --for "
                        + (role == .root ? "signer" : role.rawValue)
                )
            }
            func refused(expected: String? = nil, found: String, remedy: String) -> Failure {
                Failure(.untrusted, file: place, expected: expected, found: found, remedy: remedy)
            }
            let key = try PrivateKey(pem: waiting, place: waitingPath(role))
            try SigningCertificate.checkOrder(certificates, place: place)
            guard certificates[0].isFor(key), certificates.last?.role == .root,
                role == .signer || certificates.count == 2
            else {
                throw certificates[0].isFor(key)
                    ? refused(
                        found: "the file must contain the certificate and its issuers, up to the root",
                        remedy: "use the whole file that rsdump keys issue wrote")
                    : refused(
                        found: "the certificate is not for the key in \(waitingPath(role))",
                        remedy: "install the certificate that was issued for the open request")
            }
            let name = role == .signer ? certificates[0].dnsNames.first ?? "" : certificates[0].name
            let asked = (try? CertificateRequest(pem: waiting, place: place))?.name ?? name
            guard name == asked, role == .intermediate || certificates[0].dnsNames == [name] else {
                throw refused(
                    found: "the certificate is for \(VisibleText.escape(name)), but the request was for \(asked)",
                    remedy: "ask the issuer to issue it again")
            }
            let root =
                try role == .signer
                ? verified(CertificateAuthority.pem(certificates), SignerName(name), at: now)
                : verified(
                    CertificateAuthority(key: key, certificates: certificates, place: path), .remoteSettings, at: now)
            if let newRoot {
                try checkChange(ofRootTo: newRoot, found: root, role, place: place)
            } else {
                try checkRoot(root, place: place)
            }
            try replace(role, key, certificates)
            try FileStore.remove(waitingPath(role))
            return role
        }
    }

    private func checkRoot(_ root: SHA256Digest, place: String) throws {
        let text = try FileStore.read(certificatePath(.root), limit: Limits.chainBytes)
        let known = try text.map { try SigningCertificate.all(of: $0, place: certificatePath(.root))[0].sha256 }
        guard known != root else { return }
        throw Failure(
            .untrusted, file: place,
            found: known.flatMap { $0 }.map { "its root is \(root), but the root of \(path) is \($0)" }
                ?? "there is no \(certificatePath(.root)) to compare its root with",
            remedy: "if apps pin the root \(root), or will pin it, install the certificate with: "
                + "rsdump keys renew \(ShellWord.quoted(path)) --certificate \(ShellWord.quoted(place)) --root SHA256")
    }

    private func checkChange(
        ofRootTo newRoot: SHA256Digest, found root: SHA256Digest, _ role: CertificateRole, place: String
    ) throws {
        guard root == newRoot else {
            throw Failure(
                .untrusted, file: place, expected: "the root \(newRoot)", found: "\(root)",
                remedy: "ask the issuer which one is correct")
        }
        // Changing the root would leave these keys without certificates.
        for issuer in [CertificateRole.root, .intermediate] where issuer == .root || role == .signer {
            guard try FileStore.exists(keyPath(issuer)) else { continue }
            throw Failure(
                file: keyPath(issuer),
                found: "this key belongs to the current root, and its certificate would be replaced",
                remedy: "move the key to a safe place, or use a new directory with rsdump keys request")
        }
    }
}
