import RemoteSettingsModel
import SnapshotBundle

// The check of a proposal: what it may be trusted for is decided by the commit that it is proposed for.
extension DumpsConfiguration {
    /// Reads the `dumps.yaml` and the lock file of a commit. Runs git.
    ///
    /// - Throws: ``Failure``, also if the commit has no `dumps.yaml`.
    package static func committed(
        _ name: String, in directory: String
    ) async throws -> (configuration: Self, lock: LockFile) {
        let (repository, revision, isFound) = try await GitRepository.finding("dumps.yaml", of: directory, at: name)
        guard isFound, let configuration = try await repository.configuration(at: revision) else {
            throw Failure(
                place: "git:\(name)", problem: "this commit has no \(directory)/dumps.yaml",
                remedy: "give the branch that the change is proposed for")
        }
        return (configuration, try await repository.lock(at: revision) ?? LockFile())
    }

    /// Returns this configuration with the server and the trust settings of another one.
    package func trusting(as base: DumpsConfiguration) -> DumpsConfiguration {
        var configuration = self
        configuration.server = base.server
        configuration.allowsPlainHTTP = base.allowsPlainHTTP
        configuration.trust = base.trust
        return configuration
    }

    /// Returns a sentence for each setting by which this configuration trusts more, or something else, than another
    /// one.
    package func trustBeyond(_ base: DumpsConfiguration) -> [String] {
        var found: [String] = []
        if server != base.server { found.append("it changes server from \(base.server) to \(server)") }
        if allowsPlainHTTP, !base.allowsPlainHTTP { found.append("it sets allow-plain-http") }
        if trust.acceptsUnsigned, !base.trust.acceptsUnsigned { found.append("it sets trust: accept-unsigned") }
        if trust.signer != base.trust.signer {
            found.append("it changes trust: signer to \(trust.signer ?? "the name that Mozilla uses")")
        }
        let added = trust.roots.filter { !base.trust.roots.contains($0) }
        found += added.map { "it adds the root \($0) to trust: roots" }
        if trust.roots.isEmpty, !base.trust.roots.isEmpty { found.append("it removes trust: roots") }
        return found
    }
}
