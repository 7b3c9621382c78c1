import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension RemoteSettingsConfig {
    /// Creates a configuration with the server, roots and signer from a packaged source's lock file.
    ///
    /// This avoids configuring them twice. All other settings have their defaults. For one of Mozilla's servers, the
    /// roots are those built into this package. Does I/O if the source is a directory.
    ///
    /// Anyone who can write to the source can decide whom the app trusts. The source must therefore be as trusted as
    /// the program: compiled into it, or a directory that is `trusted`.
    ///
    /// - Throws: ``RemoteSettingsError`` if the source is not as trusted as the program, if its lock file cannot be
    ///   read or is empty, or if its collections have different servers or signers.
    public init(from source: PackagedSource) throws(RemoteSettingsError) {
        func refused(_ found: String, _ advice: String) -> RemoteSettingsError {
            .untrusted(reason: "\(source.name) cannot configure trust: \(found); \(advice)")
        }
        if case .directory(_, isTrusted: false) = source.form {
            throw refused(
                "the directory is not trusted",
                "pass trusted: true if anyone who can write to it can also replace the program; otherwise configure "
                    + "server and trustRoots")
        }
        let lock: LockFile
        do {
            lock = try LockFile(parsing: try source.lockText(), path: source.lockName)
        } catch {
            throw .storage(reason: "\(error)")
        }
        let entries = lock.collections.values
        let servers = Set(entries.map(\.server)).sorted()
        guard let server = servers.first else {
            throw refused("it has no collections", "run rsdump refresh or rsdump publish first")
        }
        guard servers.count == 1 else {
            throw refused(
                "it has collections from several servers (\(servers.joined(separator: ", ")))",
                "configure server and trustRoots")
        }
        self.init(server: .custom(url: server), packaged: [source])
        let verdicts = lock.collections.compactMapValues(\.trust.verdict)
        let roots = Set(verdicts.values.map(\.root))
        if !roots.isEmpty, !roots.isSubset(of: trustPolicy.roots.roots) {
            trustRoots = TrustAnchors(roots.sorted { $0.hex < $1.hex })
        }
        guard verdicts.contains(where: { SignerName.expected(for: $0.key) != SignerName($0.value.signer) }) else {
            return
        }
        let signers = Set(verdicts.values.map(\.signer)).sorted()
        guard signers.count == 1 else {
            throw refused(
                "its collections have several signers (\(signers.joined(separator: ", ")))",
                "configure server, trustRoots and signer, with a service for each signer")
        }
        signer = signers[0]
    }
}
