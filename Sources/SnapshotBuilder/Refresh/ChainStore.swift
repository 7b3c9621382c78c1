import ContentSignature
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The certificate chains of one run: each is fetched once for its URL, and verified once for each signer.
actor ChainStore {
    private struct Key: Hashable {
        var x5u: String
        var signer: String
    }

    private let client: ServerClient
    private let roots: TrustAnchors
    private let time: Timestamp
    private var chains: [String: Task<Result<CertificateChain, ContentSignatureError>, Never>] = [:]
    private var verdicts: [Key: Result<VerifiedChain, ContentSignatureError>] = [:]

    /// - Parameter time: when the chains must be valid.
    init(client: ServerClient, roots: TrustAnchors, time: Timestamp) {
        self.client = client
        self.roots = roots
        self.time = time
    }

    /// The verdict on each chain that the signatures name. Only those of a known mode are fetched.
    func verdicts(
        on signatures: [ServedSignature], signer: SignerName
    ) async -> [String: Result<VerifiedChain, ContentSignatureError>] {
        var found: [String: Result<VerifiedChain, ContentSignatureError>] = [:]
        for signature in signatures where signature.mode == "p384ecdsa" && found[signature.x5u] == nil {
            found[signature.x5u] = await verdict(signature.x5u, signer)
        }
        return found
    }

    private func verdict(_ x5u: String, _ signer: SignerName) async -> Result<VerifiedChain, ContentSignatureError> {
        let key = Key(x5u: x5u, signer: signer.dnsName)
        if let known = verdicts[key] { return known }
        let chain = await chain(x5u)
        let verdict = chain.flatMap { chain in
            Result { () throws(ContentSignatureError) in try chain.verified(anchors: roots, signer: signer, at: time) }
        }
        verdicts[key] = verdict
        return verdict
    }

    private func chain(_ x5u: String) async -> Result<CertificateChain, ContentSignatureError> {
        if let known = chains[x5u] { return await known.value }
        let client = client
        let task = Task { () -> Result<CertificateChain, ContentSignatureError> in
            do {
                let document = try await client.chain(x5u: x5u)
                return Result { () throws(ContentSignatureError) in
                    try CertificateChain(pem: document.body, limits: client.limits)
                }
            } catch {
                return .failure(.chainUnavailable(reason: "\(error)"))
            }
        }
        chains[x5u] = task
        return await task.value
    }
}
