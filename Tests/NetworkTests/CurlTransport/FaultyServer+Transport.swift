import CurlTransport
import FaultyServer
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

extension FaultyServer {
    init() throws {
        try self.init(transport: CurlTransport())
    }

    /// A request for a fault, to be sent by a transport without a client.
    func request(_ fault: String, headers: HTTPHeaders = HTTPHeaders()) throws -> HTTPRequest {
        HTTPRequest(
            url: try HTTPURL(url(fault)), headers: headers, headTimeout: .seconds(300), idleTimeout: .seconds(300))
    }
}

/// Runs `body` and returns the reason why it failed.
func reason(of body: () async throws -> some Any, sourceLocation: SourceLocation = #_sourceLocation) async -> Failure? {
    do {
        _ = try await body()
        Issue.record("no error was thrown", sourceLocation: sourceLocation)
    } catch let error as Failure {
        #expect(error.place.contains("://"), "the error contains no URL: \(error)", sourceLocation: sourceLocation)
        return error.reason
    } catch {
        Issue.record("not a Failure: \(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Limits with a single attempt, so that the first failure is reported.
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
