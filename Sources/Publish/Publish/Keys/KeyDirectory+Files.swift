import ContentSigning
import RemoteSettingsModel
import SnapshotBundle

// A key and its certificates are in two files, but are replaced together. A third file, `signer.next.key` or
// `intermediate.next.key`, gets both in one step. Then each is written to its own file, and the third file is removed.
// A reader takes the third file if it is there, or else two files that belong together. The next process that changes
// the directory finishes what a killed process began. Tests/Models/keys.pml is the model of this protocol.

/// A key and its certificates. The key's own certificate comes first.
struct HeldKey {
    /// `nil` if the key is kept elsewhere.
    let key: PrivateKey?
    /// Empty if there are no certificates. In an intact directory, the last one is the root.
    let certificates: [SigningCertificate]
    /// The file or the environment variable that the certificates came from.
    let place: String

    /// Whether the key is that of the first certificate, and each certificate was issued by the next one.
    var fits: Bool {
        guard let first = certificates.first else { return true }
        return key.map(first.isFor) ?? true
            && zip(certificates, certificates.dropFirst()).allSatisfy { $0.isIssued(by: $1) }
    }
}

extension KeyDirectory {
    private func nextPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).next.key" }
    /// The file that holds a key and its request until the certificate arrives.
    func waitingPath(_ role: CertificateRole) -> String { "\(path)/\(role.rawValue).new.key" }

    /// The ending of temporary files that have a private key.
    private static let privateEnding = ".tmp.key"

    /// A variable's value; `nil` if it is empty. A CI service sets a missing secret to an empty text.
    static func value(of variable: String, _ environment: [String: String]) -> String? {
        environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a role's key and certificates in one state, even if another process replaces them meanwhile. Does I/O.
    ///
    /// - Returns: the key and the certificates. If the directory's own files do not fit each other, neither do these.
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
            let texts = try files.map { try FileStore.read($0, limit: Limits().chainBytes) }
            var certificates: [SigningCertificate] = []
            for (file, text) in zip(files, texts) {
                guard let text else { break }
                let all = try SigningCertificate.all(of: text, place: file)
                certificates += role == .signer ? all : [all[0]]
            }
            let held = HeldKey(
                key: try given ?? key.map { try PrivateKey(pem: $0, place: keyPath(role)) }, certificates: certificates,
                place: files[0])
            // Files that do not fit each other may be from two states. If a second read finds the same, they are not.
            if held.fits || before == [key] + texts { return held }
            before = [key] + texts
        }
    }

    /// The state that a running or killed replacement leads to; `nil` if there is no replacement.
    private func next(_ role: CertificateRole) throws -> HeldKey? {
        let place = nextPath(role)
        return try privateText(place).map {
            HeldKey(
                key: try PrivateKey(pem: $0, place: place),
                certificates: try SigningCertificate.all(of: $0, place: place),
                place: place)
        }
    }

    /// The content of a file that has a private key; `nil` if there is no such file.
    ///
    /// - Throws: ``SigningKeyError`` if users other than its owner can open it.
    func privateText(_ path: String) throws -> Bytes? {
        guard try FileStore.exists(path) else { return nil }
        // The mode is checked before the content is read. If the file is replaced in between, the new file is also
        // private.
        do {
            guard try !FileStore.isOpenToOthers(path) else {
                throw SigningKeyError(
                    path, found: "this private key is accessible to other users",
                    remedy: "fix this with: chmod 600 \(path)")
            }
        } catch let error as BundleError where error.isMissing {
            return nil
        }
        return try FileStore.read(path, limit: Limits().chainBytes)
    }

    /// Changes the directory while no other process does. Finishes first what a killed process began.
    ///
    /// - Throws: ``SigningKeyError`` if there is no such directory or if another process changes it, or the error that
    ///   `change` throws.
    func changing<Result>(_ change: () throws -> Result) throws -> Result {
        guard try FileStore.list(path) != nil else {
            throw SigningKeyError(
                path, found: "there is no such key directory",
                remedy: "create one with: rsdump keys create \(path)")
        }
        guard let lock = try DirectoryLock(path) else {
            throw SigningKeyError(
                path, code: .busy, found: "another rsdump is changing this directory",
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

    /// Whether `.gitignore` keeps private keys out of a repository.
    func ignoresKeys() throws(BundleError) -> Bool {
        try FileStore.read(ignorePath, limit: Self.ignoreBytes)?.lines.contains(Bytes(utf8: Self.ignoredNames)) ?? false
    }

    /// Keeps private keys out of a repository, with `.gitignore`.
    func ignoreKeys() throws(BundleError) {
        guard try !ignoresKeys() else { return }
        let present = try FileStore.read(ignorePath, limit: Self.ignoreBytes) ?? Bytes()
        try FileStore.replace(
            ignorePath, with: present.appending(lines: [Self.ignoredNames]), limit: Self.ignoreBytes)
    }

    /// Writes a private key, or a text that contains one.
    func writePrivate(_ path: String, _ content: Bytes) throws(BundleError) {
        try FileStore.replace(
            path, with: content, limit: Limits().chainBytes, isPrivate: true, ending: Self.privateEnding)
    }

    /// Replaces a role's key and certificates. If their root differs from the current one, it is replaced too.
    ///
    /// - Parameter certificates: the key's own certificate, then its issuers, with the root last
    func replace(_ role: CertificateRole, _ key: PrivateKey, _ certificates: [SigningCertificate]) throws {
        try writePrivate(nextPath(role), Bytes(key.pem.array + CertificateAuthority.pem(certificates).array))
        try finishReplacing(role)
    }

    /// Moves a replacement's key and certificates into their own files.
    private func finishReplacing(_ role: CertificateRole) throws {
        guard let next = try next(role), let key = next.key else { return }
        let root = try FileStore.read(certificatePath(.root), limit: Limits().chainBytes)
        let last = try CertificateAuthority.pem(Array(next.certificates.suffix(1)))
        if role != .root, root != last {
            try FileStore.replace(certificatePath(.root), with: last, limit: Limits().chainBytes)
            if role == .signer, next.certificates.count > 2 {
                try FileStore.replace(
                    certificatePath(.intermediate), with: CertificateAuthority.pem([next.certificates[1]]),
                    limit: Limits().chainBytes)
            }
        }
        try write(role, key, role == .signer ? next.certificates : [next.certificates[0]])
        try FileStore.remove(nextPath(role))
    }

    /// Writes a key and its certificates into their files.
    ///
    /// - Parameter key: `nil` if the key is kept elsewhere.
    func write(_ role: CertificateRole, _ key: PrivateKey?, _ certificates: [SigningCertificate]) throws {
        if let key { try writePrivate(keyPath(role), key.pem) }
        try FileStore.replace(
            certificatePath(role), with: CertificateAuthority.pem(certificates), limit: Limits().chainBytes)
    }
}
