#if Server
/// Why a server cannot start.
package enum ServerError: Error, Hashable, Sendable {
    /// The dumps directory has no lock at this path.
    case noLock(String)
    case address(String, port: Int, problem: Problem)

    package enum Problem: Hashable, Sendable {
        case inUse, notOfThisMachine, notAllowed
        case other(String)
    }
}

extension ServerError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noLock(let path): "\(path): there is no lock; to make one, run rsdump refresh"
        case .address(let host, let port, let problem):
            "\(host.contains(":") ? "[\(host)]" : host):\(port) \(problem)"
        }
    }
}

extension ServerError.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse: "is already in use; choose another port with --port, or 0 for a free one"
        case .notOfThisMachine: "is not an address of this machine; choose another with --host"
        case .notAllowed:
            "is not allowed, because ports below 1024 require more rights; choose another with --port"
        case .other(let text): "cannot be used (\(text)); choose another address with --host and --port"
        }
    }
}
#endif
