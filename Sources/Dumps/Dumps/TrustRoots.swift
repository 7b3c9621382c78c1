import RemoteSettingsHTTP
import SnapshotBundle

extension DumpsConfiguration {
    /// Parses the server's URL.
    ///
    /// - Throws: `HTTPError` if it is not a usable URL.
    package func serverURL() throws(HTTPError) -> ServerURL {
        try ServerURL(server, allowPlainHTTP: allowsPlainHTTP)
    }

    /// Returns the trust policy. If no roots are configured, it trusts the built-in roots if the server is one of
    /// Mozilla's, or no root if the configuration accepts unsigned collections.
    ///
    /// - Parameter file: the name of the configuration file, for the error.
    /// - Throws: `DumpsError` if there is no root to trust; `HTTPError` if the server's URL is not usable.
    package func policy(file: String) throws -> TrustPolicy {
        TrustPolicy(
            roots: try roots(file: file), signer: trust.signer.map { SignerName($0) },
            acceptsUnsigned: trust.acceptsUnsigned)
    }

    private func roots(file: String) throws -> TrustAnchors {
        if !trust.roots.isEmpty { return TrustAnchors(trust.roots) }
        let url = try serverURL()
        if url.isSameServer(as: .prod) { return .mozillaProduction }
        if url.isSameServer(as: .stage) || url.isSameServer(as: .dev) { return .mozillaStaging }
        if trust.acceptsUnsigned { return TrustAnchors([]) }
        throw DumpsError(
            file: file, problem: "no trusted root is configured for \(server)",
            remedy: "write the SHA-256 of its root certificate under trust: roots:, or pass it with --trust-root; if "
                + "the server does not sign, write trust: accept-unsigned: true")
    }
}
