/// Why a server cannot begin.
public enum ServerError: Error, Hashable, Sendable {
    case address(String, port: Int, problem: Problem)
    /// The file of the certificate chain.
    case certificate(String)
    /// The file of the private key.
    case key(String)
    /// Both can be read, and do not belong together.
    case keyOfAnotherCertificate(certificate: String, key: String)

    public enum Problem: Hashable, Sendable {
        case inUse, notOfThisMachine, notAllowed
        case other(String)
    }
}

extension ServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .address(let host, let port, let problem):
            "\(host.contains(":") ? "[\(host)]" : host):\(port): expected an address to listen on, found \(problem)"
        case .certificate(let path):
            "\(path): expected a certificate chain in PEM, the server's own certificate first; found none that can be read"
        case .key(let path): "\(path): expected a private key in PEM, not encrypted; found none that can be read"
        case .keyOfAnotherCertificate(let certificate, let key):
            "\(key): expected the private key of the first certificate in \(certificate), found the key of another"
        }
    }
}

extension ServerError.Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .inUse: "one that somebody listens on already; choose another with --port, 0 for one that is free"
        case .notOfThisMachine: "none of this machine's; choose another with --host"
        case .notAllowed: "one that this process may not listen on; ports below 1024 need more rights"
        case .other(let text): "one that the system refuses (\(text)); choose another with --host and --port"
        }
    }
}
