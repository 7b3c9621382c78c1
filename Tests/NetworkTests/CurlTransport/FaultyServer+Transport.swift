import CurlTransport
import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

extension FaultyServer {
    init() throws {
        try self.init(transport: CurlTransport())
    }

    /// A request for a fault, for a transport without a client.
    func request(_ fault: String, headers: HTTPHeaders = HTTPHeaders()) throws -> HTTPRequest {
        HTTPRequest(
            url: try HTTPURL(url(fault)), headers: headers, headTimeout: .seconds(300), idleTimeout: .seconds(300))
    }
}

/// The reason for which `body` fails.
func reason(of body: () async throws -> some Any, sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
    do {
        _ = try await body()
        Issue.record("no error was thrown", sourceLocation: sourceLocation)
    } catch let error as Failure {
        #expect(error.place.contains("://"), "the error names no URL: \(error)", sourceLocation: sourceLocation)
        return error.reason
    } catch {
        Issue.record("not a Failure: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Limits with one try only, so that the first failure is the one that is seen.
func oneTry(_ change: (inout Limits) -> Void = { _ in }) -> Limits {
    var limits = FaultyServer.limits
    limits.tries = 1
    change(&limits)
    return limits
}

extension Failure {
    /// The failure without its URL.
    var reason: Failure {
        var copy = self
        copy.place = ""
        return copy
    }
}
