import AsyncHTTPClient
import LibC
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import RemoteSettingsHTTP

/// Translates the errors of AsyncHTTPClient and NIO.
struct FailureTranslation: Sendable {
    private let url: HTTPURL
    private let headSeconds: Int
    private let idleSeconds: Int

    init(_ request: HTTPRequest) {
        url = request.url
        headSeconds = Int(clamping: request.headTimeout.components.seconds)
        idleSeconds = Int(clamping: request.idleTimeout.components.seconds)
    }

    func error(_ reason: HTTPError.Reason) -> HTTPError { HTTPError(url, reason) }

    func beforeHead(_ error: any Error) -> HTTPError {
        if let error = error as? NIOConnectionError { return self.error(.unreachable(Self.reason(of: error))) }
        if Self.isEarlyEnd(error) { return self.error(.connection("closed before the answer was there")) }
        if let error = error as? IOError, ![ECONNRESET, EPIPE].contains(error.errnoCode) {
            return self.error(.unreachable(Self.text(of: error)))
        }
        switch error as? HTTPClientError {
        case .deadlineExceeded: return self.error(.timeout(.head, seconds: headSeconds))
        case .readTimeout: return self.error(.timeout(.head, seconds: min(headSeconds, idleSeconds)))
        case .invalidURL, .emptyHost, .emptyScheme:
            return self.error(.invalidURL("the HTTP client does not accept it"))
        default: return anywhere(error) ?? self.error(.unreachable("\(error)"))
        }
    }

    func inBody(_ error: any Error, announced: Int?, received: Int) -> HTTPError {
        if Self.isEarlyEnd(error) { return self.error(.truncated(expected: announced, received: received)) }
        switch error as? HTTPClientError {
        case .readTimeout, .deadlineExceeded: return self.error(.timeout(.body, seconds: idleSeconds))
        default: return anywhere(error) ?? self.error(.connection("\(error)"))
        }
    }

    private static func isEarlyEnd(_ error: any Error) -> Bool {
        if let error = error as? HTTPParserError { return error == .invalidEOFState }
        return error as? HTTPClientError == .remoteConnectionClosed
    }

    private func anywhere(_ error: any Error) -> HTTPError? {
        switch error {
        case is CancellationError:
            return self.error(.cancelled)
        case let error as HTTPClientError:
            switch error {
            case .cancelled: return self.error(.cancelled)
            case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
                return self.error(.timeout(.connect, seconds: headSeconds))
            default: return self.error(.connection(error.shortDescription))
            }
        case let error as HTTPParserError:
            return self.error(.notHTTP("\(error)"))
        case let error as IOError:
            return self.error(.connection(Self.text(of: error)))
        case is NotProcessed:
            return self.error(.connection("the server has not processed the request, again and again"))
        case let error as NIOHTTP2Errors.StreamClosed:
            return self.error(.connection("the HTTP/2 stream was closed with code \(error.errorCode.networkCode)"))
        default:
            let name = String(reflecting: type(of: error))
            // The names of NIOSSL's errors do not justify a dependency on it.
            if name.hasPrefix("NIOSSL.") { return self.error(.tls("\(error)")) }
            // Their texts repeat what the server sent, such as a whole head.
            let isHTTP2 = name.hasPrefix("NIOHTTP2.") || name.hasPrefix("NIOHPACK.")
            return isHTTP2 ? self.error(.connection("HTTP/2: \(type(of: error))")) : nil
        }
    }

    /// The system's message without the name of the call, because NIO often names the wrong one.
    private static func text(of error: any Error) -> String {
        guard let code = (error as? IOError)?.errnoCode else { return "\(error)" }
        return unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    private static func reason(of error: NIOConnectionError) -> String {
        let addresses = error.connectionErrors.map { "\($0.target): \(text(of: $0.error))" }
        if !addresses.isEmpty { return addresses.joined(separator: "; ") }
        if let lookup = error.dnsAError ?? error.dnsAAAAError {
            return "host \(error.host) not found (\(lookup))"
        }
        return "\(error.host) port \(error.port)"
    }
}
