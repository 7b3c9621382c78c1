import FaultyServer
import Foundation
@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

#if canImport(Darwin)
import URLSessionTransport
#else
import CurlTransport
#endif

/// The update channel with network and server faults, over the library's own transport and real connections.
///
/// The library's clock runs up to 50 times as fast as real time.
@Suite(.timeLimit(.minutes(5 * slowness))) struct UpdateFaultTests {
    /// Sends requests to loopback over the network and all others to the in-memory server.
    private struct Split: HTTPTransport {
        let server: OriginTransport
        #if canImport(Darwin)
        let network = URLSessionTransport()
        #else
        let network = CurlTransport()
        #endif

        func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
            request.url.isLoopback ? try await network.send(request) : try await server.send(request)
        }
    }

    private static let fast = 50.0 / Double(slowness)
    private static let began = ContinuousClock.now

    private let place: Workplace
    private let collection: ServerCollection
    private let events: EventStreamServer
    private let service: RemoteSettingsService
    private let client: RemoteSettingsClient

    init() throws {
        place = try Workplace()
        collection = try place.collection()
        try collection.put("a", ["value": 0])
        let events = try EventStreamServer(heartbeat: 15 / Self.fast)
        self.events = events
        let start = HTTPEnvironment.system.now()
        let server = place.server
        service = place.service { config in
            let passed: @Sendable () -> Duration = { (ContinuousClock.now - Self.began) * Self.fast }
            config.environment = HTTPEnvironment(
                now: { start.advanced(by: passed()) }, sleep: { try await Task.sleep(for: $0 / Self.fast) },
                random: { Double.random(in: 0..<1) }, uptime: passed)
            config.transport = Split(server: server)
            config.updates = .init(channel: .eventStream(url: events.url))
        }
        client = service.makeClient(collectionName: collection.id)
    }

    private func update() throws -> String {
        let timestamp = try place.server.monitorTimestamp()
        return UpdateEvent.update(timestamp: timestamp, collections: [collection.collection]).text()
    }

    private func until(_ what: String, _ holds: () throws -> Bool) async throws {
        for _ in 0..<6000 * slowness {
            if try holds() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("\(what): \(service.updateStatus), \(events.connections) connections")
    }

    private func isCurrent() throws -> Bool {
        try state(of: client)?["a"].map { try place.server.monitorTimestamp().milliseconds == $0 } ?? false
    }

    @Test func updateStreamFaultsHideNoChange() async throws {
        events.greet("retry: 5000\n\n" + (try update()))
        service.startUpdates()
        try await until("the first connection") { try isCurrent() && events.open == 1 }
        for (number, fault) in EventStreamServer.Fault.allCases.enumerated() {
            events.fail(fault)
            try collection.put("a", ["value": number])
            events.greet(": hi\n\n" + (try update()))
            try await until("\(fault)") { try isCurrent() }
            try await until("\(fault): the next connection") { service.updateStatus == .open }
            // The new connection delivers events as well.
            try collection.put("a", ["again": number])
            events.send(try update())
            try await until("after \(fault)") { try isCurrent() }
            // A connection that lasts a minute counts as success, so the next fault starts without earlier failures.
            let end = ContinuousClock.now + .seconds(70) / Self.fast
            try await until("a minute after \(fault)") { service.updateStatus == .open && ContinuousClock.now > end }
        }
        #expect(events.open <= 1 + 2)
        service.shutdown()
        try await until("the end") { events.open == 0 }
    }
}
