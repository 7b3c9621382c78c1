import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

// A key and its certificates are in two files, but must be replaced together. So a replacement first writes both to a
// third file, `signer.next.key` or `intermediate.next.key`, in one step. It then copies each part to its own file, and
// removes the third file. A reader uses the third file if it exists, and otherwise the two files, which then belong
// together. If a process is killed during a replacement, the next process that changes the directory completes it.
// Tests/Models/keys.pml is a model of this protocol.

/// A key and its certificates, starting with the key's own certificate.
struct HeldKey {
    /// The private key; `nil` if it is not in this directory.
    let key: PrivateKey?
    /// The certificates; empty if there are none. In an intact directory, the last one is the root.
    let certificates: [SigningCertificate]
    /// The file or the environment variable that the certificates came from.
    let place: String

    /// Whether the key belongs to the first certificate, and each certificate was issued by the next one.
    var fits: Bool {
        guard let first = certificates.first else { return true }
        return key.map(first.isFor) ?? true
            && zip(certificates, certificates.dropFirst()).allSatisfy { $0.isIssued(by: $1) }
    }
}

extension KeyDirectory {
    private func nextPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).next.key" }
    /// Returns the path of the file that stores a key and its request until the certificate arrives.
    func waitingPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).new.key" }

    /// The suffix of temporary files that contain a private key.
    private static let privateEnding = ".tmp.key"

    /// Returns a variable's value; `nil` if it is empty. CI services set a missing secret to an empty string.
    static func value(of variable: String, _ environment: [String: String]) -> String? {
        environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a role's key and certificates consistently, even if another process replaces them at the same time. Does
    /// I/O.
    ///
    /// - Returns: the key and the certificates. They may not belong together if the directory's files do not.
    func readKey(_ role: CertificateRole, _ environment: [String: String]) throws -> HeldKey {
        let given = try Self.value(of: Self.variable(role), environment).map {
            try PrivateKey(pem: Bytes(utf8: $0), place: Self.variable(role))
        }
        if role == .signer, let chain = Self.value(of: Self.chainVariable, environment) {
            return HeldKey(
                key: try given ?? privateText(keyPath(role)).map { try PrivateKey(pem: $0, place: keyPath(role)) },
                certificates: try SigningCertificate.all(of: Bytes(utf8: chain), place: Self.chainVariable),
                place: Self.chainVariable)
        }
        var before: [Bytes?] = []
        while true {
            if let next = try next(role), given.map({ next.certificates[0].isFor($0) }) ?? true { return next }
            let key = try given == nil ? privateText(keyPath(role)) : nil
            let files =
                role == .intermediate ? [certificatePath(role), certificatePath(.root)] : [certificatePath(role)]
            let texts = try files.map { try FileStore.read($0, limit: Limits.chainBytes) }
            var certificates: [SigningCertificate] = []
            for (file, text) in zip(files, texts) {
                guard let text else { break }
                let all = try SigningCertificate.all(of: text, place: file)
                certificates += role == .signer ? all : [all[0]]
            }
            let held = HeldKey(
                key: try given ?? key.map { try PrivateKey(pem: $0, place: keyPath(role)) }, certificates: certificates,
                place: files[0])
            // If the files do not belong together, they may have been replaced while they were read, so read again. If
            // the second attempt reads the same contents, return them as they are.
            if held.fits || before == [key] + texts { return held }
            before = [key] + texts
        }
    }

    /// Returns the key and certificates of an unfinished replacement; `nil` if there is none.
    private func next(_ role: CertificateRole) throws -> HeldKey? {
        let place = nextPath(role)
        return try privateText(place).map {
            HeldKey(
                key: try PrivateKey(pem: $0, place: place),
                certificates: try SigningCertificate.all(of: $0, place: place),
                place: place)
        }
    }

    /// Reads a file that contains a private key; returns `nil` if there is no such file.
    ///
    /// - Throws: ``Failure`` if users other than its owner can open it.
    func privateText(_ path: String) throws -> Bytes? {
        guard try FileStore.exists(path) else { return nil }
        // Check the mode before reading. If the file is replaced in between, the new file is private too.
        do {
            guard try !FileStore.isOpenToOthers(path) else {
                throw Failure(
                    file: path, found: "this private key is accessible to other users",
                    remedy: "fix this with: chmod 600 \(path)")
            }
        } catch let error as Failure where error.isMissing {
            return nil
        }
        return try FileStore.read(path, limit: Limits.chainBytes)
    }

    /// Runs `change` while no other process changes the directory. First completes any replacement that a killed
    /// process left unfinished.
    ///
    /// - Throws: ``Failure`` if there is no such directory or if another process is changing it, or the
    ///   error that `change` throws.
    func changing<Result>(_ change: () throws -> Result) throws -> Result {
        guard try FileStore.list(path, isLossy: true) != nil else {
            throw Failure(
                file: path, found: "there is no such key directory",
                remedy: "correct the name, or create one with: rsdump keys create \(ShellWord.quoted(path))")
        }
        guard let lock = try DirectoryLock(path) else {
            throw Failure(
                .busy, file: path, found: "another rsdump is changing this directory",
                remedy: "try again when it has finished")
        }
        return try withExtendedLifetime(lock) {
            try ignoreKeys()
            for role in CertificateRole.allCases {
                for file in [keyPath(role), waitingPath(role), nextPath(role)] {
                    try FileStore.remove(file + Self.privateEnding)
                }
                try FileStore.remove(certificatePath(role) + ".tmp")
                try finishReplacing(role)
                if let held = try privateText(keyPath(role)), let waiting = try privateText(waitingPath(role)),
                    try PrivateKey(pem: held, place: path).isSame(as: PrivateKey(pem: waiting, place: path))
                {
                    try FileStore.remove(waitingPath(role))
                }
            }
            return try change()
        }
    }

    var ignorePath: String { "\(path)/.gitignore" }
    private static let ignoredNames = "*.key"
    private static let ignoreBytes = 1 << 20

    /// Returns whether `.gitignore` keeps private keys out of a repository.
    func ignoresKeys() throws(Failure) -> Bool {
        try FileStore.read(ignorePath, limit: Self.ignoreBytes)?.lines.contains(Bytes(utf8: Self.ignoredNames)) ?? false
    }

    /// Adds private keys to `.gitignore`, to keep them out of a repository.
    func ignoreKeys() throws(Failure) {
        guard try !ignoresKeys() else { return }
        let present = try FileStore.read(ignorePath, limit: Self.ignoreBytes) ?? Bytes()
        try FileStore.replace(ignorePath, with: present.appending(lines: [Self.ignoredNames]), limit: Self.ignoreBytes)
    }

    /// Writes a file that contains a private key, with access for the owner only.
    func writePrivate(_ path: String, _ content: Bytes) throws(Failure) {
        try FileStore.replace(
            path, with: content, limit: Limits.chainBytes, isPrivate: true, ending: Self.privateEnding)
    }

    /// Replaces a role's key and certificates. If their root differs from the current one, the root is replaced too.
    ///
    /// - Parameter certificates: the key's own certificate, then its issuers, with the root last.
    func replace(_ role: CertificateRole, _ key: PrivateKey, _ certificates: [SigningCertificate]) throws {
        try writePrivate(nextPath(role), Bytes(key.pem.array + CertificateAuthority.pem(certificates).array))
        try finishReplacing(role)
    }

    /// Copies the key and certificates of a replacement to their own files, and removes the file of the replacement.
    private func finishReplacing(_ role: CertificateRole) throws {
        guard let next = try next(role), let key = next.key else { return }
        let root = try FileStore.read(certificatePath(.root), limit: Limits.chainBytes)
        let last = try CertificateAuthority.pem(Array(next.certificates.suffix(1)))
        if role != .root, root != last {
            try FileStore.replace(certificatePath(.root), with: last, limit: Limits.chainBytes)
            if role == .signer, next.certificates.count > 2 {
                try FileStore.replace(
                    certificatePath(.intermediate), with: CertificateAuthority.pem([next.certificates[1]]),
                    limit: Limits.chainBytes)
            }
        }
        try write(role, key, role == .signer ? next.certificates : [next.certificates[0]])
        try FileStore.remove(nextPath(role))
    }

    /// Writes a key and its certificates to their files.
    ///
    /// - Parameter key: the private key; `nil` if it is not in this directory.
    func write(_ role: CertificateRole, _ key: PrivateKey?, _ certificates: [SigningCertificate]) throws {
        if let key { try writePrivate(keyPath(role), key.pem) }
        try FileStore.replace(
            certificatePath(role), with: CertificateAuthority.pem(certificates), limit: Limits.chainBytes)
    }
}
