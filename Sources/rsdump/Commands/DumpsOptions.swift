import ArgumentParser
import ContentSignature
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The options that every command on a directory of dumps has.
struct DumpsOptions: ParsableArguments {
    @Option(name: .customLong("dumps"), help: ArgumentHelp("The directory of the dumps.", valueName: "dir"))
    var path = "dumps"

    var directory: DumpsDirectory {
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed = trimmed.dropLast() }
        return DumpsDirectory(String(trimmed))
    }
}

/// The option that says which roots vouch for what is signed.
struct TrustOptions: ParsableArguments {
    @Option(
        name: .customLong("trust-root"), parsing: .singleValue,
        help: ArgumentHelp("SHA-256 of a root certificate to trust; may be repeated.", valueName: "sha256"))
    var roots: [String] = []

    func validate() throws {
        do {
            _ = try TrustAnchors(parsing: roots)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The configuration with what the option says in its place.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = configuration
        if !roots.isEmpty { configuration.trust.roots = try TrustAnchors(parsing: roots).roots }
        return configuration
    }
}

/// The options that say which server, and which roots vouch for it.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("prod, stage, dev, or a base URL that ends in /v1 or /v2.", valueName: "server"))
    var server: String?

    @OptionGroup var trust: TrustOptions

    func validate() throws {
        do {
            _ = try server.map { try ServerURL($0) }
        } catch let error as HTTPError where error.reason == .insecure {
            // Whether plain HTTP is allowed is in the configuration, which is not read yet.
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The configuration with what the options say in its place.
    func applied(to configuration: DumpsConfiguration) throws -> DumpsConfiguration {
        var configuration = try trust.applied(to: configuration)
        if let server { configuration.server = server }
        return configuration
    }
}

extension DumpsConfiguration {
    /// - Throws: `HTTPError` where the server is not a usable URL.
    func serverURL() throws(HTTPError) -> ServerURL {
        try ServerURL(server, allowPlainHTTP: allowsPlainHTTP)
    }

    /// What has to vouch for the collections: the configured roots, else those of Mozilla's server of that name.
    ///
    /// - Throws: ``CommandFailure`` where the server is nobody's that we know and no root is configured.
    func policy(file: String) throws -> TrustPolicy {
        TrustPolicy(
            roots: try roots(file: file), signer: trust.signer.map { SignerName($0) },
            acceptsUnsigned: trust.acceptsUnsigned)
    }

    private func roots(file: String) throws -> TrustAnchors {
        if !trust.roots.isEmpty { return TrustAnchors(trust.roots) }
        switch try serverURL() {
        case .prod: return .mozillaProduction
        case .stage, .dev: return .mozillaStaging
        default:
            if trust.acceptsUnsigned { return TrustAnchors([]) }
            throw CommandFailure(
                .usage,
                "\(file): no root is trusted for \(server); name the SHA-256 of its root certificate under trust: roots:, "
                    + "or with --trust-root; or, if it does not sign, say trust: accept-unsigned: true")
        }
    }
}
