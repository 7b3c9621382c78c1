import RemoteSettingsModel
import SnapshotBundle

/// The certificate chains of one run. Each URL is fetched only once, and each chain is verified only once per signer.
package actor ChainStore {
    /// A cache that stores chains between runs, by URL.
    package protocol Keeper: Sendable {
        func chain(x5u: String) -> Bytes?
        func keep(_ pem: Bytes, x5u: String)
    }

    private struct Key: Hashable {
        var x5u: String
        var signer: SignerName
    }

    private let client: ServerClient
    private let policy: TrustPolicy
    /// The time of the run, at which the chains must be valid.
    let time: Timestamp
    private let keeper: (any Keeper)?
    private var chains: [String: Task<Result<CertificateChain, Failure>, Never>] = [:]
    /// The URLs of chains that could not be fetched.
    private var unavailable: Set<ExactString> = []
    /// The errors of chains that could not be fetched for a temporary reason, by URL.
    private var failures: [String: Failure] = [:]
    private var verdicts: [Key: Result<VerifiedChain, Failure>] = [:]

    /// Creates a store.
    ///
    /// - Parameter time: the time at which the chains must be valid.
    package init(client: ServerClient, policy: TrustPolicy, time: Timestamp, keeper: (any Keeper)? = nil) {
        self.client = client
        self.policy = policy
        self.time = time
        self.keeper = keeper
    }

    /// Fetches and verifies the chains that the signatures refer to.
    ///
    /// Signatures with an unknown mode or without a chain (an empty `x5u`) are skipped.
    func verdicts(
        on signatures: [ServedSignature], signer: SignerName
    ) async -> [String: Result<VerifiedChain, Failure>] {
        var found: [String: Result<VerifiedChain, Failure>] = [:]
        for signature in signatures
        where signature.mode == "p384ecdsa" && signature.namesChain && found[signature.x5u] == nil {
            found[signature.x5u] = await verdict(signature.x5u, signer)
        }
        return found
    }

    /// Returns those chains that the signatures refer to and that can be parsed, whether trusted or not.
    func chains(
        on signatures: [ServedSignature], _ verdicts: [String: Result<VerifiedChain, Failure>]
    ) async -> [CertificateChain] {
        var found: [CertificateChain] = []
        for signature in signatures {
            switch verdicts[signature.x5u] {
            case .success(let verified)?:
                if let chain = try? CertificateChain(pem: verified.pem) { found.append(chain) }
            case .failure?: if let chain = try? await chain(signature.x5u).get() { found.append(chain) }
            case nil: break
            }
        }
        return found
    }

    /// Returns the reason why the chains could not be fetched, such as a backoff that a server requested, if that is
    /// the only cause of `error`; `nil` otherwise.
    func cause(of error: Failure, _ signatures: [ServedSignature]) -> Failure? {
        guard !error.signatures.isEmpty, error.signatures.allSatisfy({ unavailable.contains($0.x5u.exact) }) else {
            return nil
        }
        let causes = signatures.compactMap { failures[$0.x5u] }
        return causes.first { $0.hold != nil } ?? causes.first
    }

    private func verdict(_ x5u: String, _ signer: SignerName) async -> Result<VerifiedChain, Failure> {
        let key = Key(x5u: x5u, signer: signer)
        if let known = verdicts[key] { return known }
        if let kept = keptVerdict(x5u, signer) {
            verdicts[key] = .success(kept)
            return .success(kept)
        }
        let fetched = await chain(x5u)
        // Another task that waited for the same chain may have verified it in the meantime.
        if let known = verdicts[key] { return known }
        let verdict = fetched.flatMap { chain in
            Result { () throws(Failure) in try chain.verified(anchors: policy.roots, signer: signer, at: time) }
        }
        if case .success(let chain) = verdict { keeper?.keep(chain.pem, x5u: x5u) }
        verdicts[key] = verdict
        return verdict
    }

    /// Verifies the stored chain. A stored chain that does not verify at this time is ignored, because the server may
    /// have a newer one.
    private func keptVerdict(_ x5u: String, _ signer: SignerName) -> VerifiedChain? {
        guard chains[x5u] == nil, let pem = keeper?.chain(x5u: x5u) else { return nil }
        return try? CertificateChain(pem: pem).verified(
            anchors: policy.roots, signer: signer, at: time, checksRoot: false)
    }

    private func chain(_ x5u: String) async -> Result<CertificateChain, Failure> {
        if let known = chains[x5u] { return await known.value }
        let client = client
        let task = WorkThreads.start { () -> Result<CertificateChain, Failure> in
            do throws(Failure) {
                let document = try await client.chain(x5u: x5u)
                return Result { () throws(Failure) in
                    try CertificateChain(pem: document.body)
                }
            } catch {
                await self.record(error, of: x5u)
                return .failure(.chainUnavailable(reason: "\(error)"))
            }
        }
        chains[x5u] = task
        return await task.value
    }

    private func record(_ error: Failure, of x5u: String) {
        unavailable.insert(x5u.exact)
        // A wrong URL is a permanent fault in the metadata that contains it, so it is not stored as a fetch failure.
        if error.isUnavailability || error.hold != nil || error.code == .cancelled { failures[x5u] = error }
    }
}
