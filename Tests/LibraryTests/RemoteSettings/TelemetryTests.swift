import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// The events that an app's telemetry receives.
@Suite struct TelemetryTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func syncsAreReportedToTelemetry() async throws {
        let collection = try place.collection("a")
        let received = Received()
        let service = place.service { $0.telemetry = received }
        let client = service.makeClient(collectionName: collection.name)
        #expect(await client.recordsOrSync()?.count == 1)
        #expect(received.lines() == ["settings-changes-monitoring success empty", "\(collection.id) success empty"])
        try await client.sync()
        let upToDate = ["settings-changes-monitoring success manual", "\(collection.id) up_to_date manual"]
        #expect(received.lines() == upToDate)
        try collection.put("b")
        let timestamp = try collection.timestamp()
        try await client.sync(expecting: timestamp)
        let events = received.take()
        #expect(events.map(\.trigger) == [.broadcast, .broadcast])
        #expect(events.last?.timestamp == timestamp)
        #expect(events.allSatisfy { $0.duration >= .zero && $0.errorDescription == nil })
        try await service.sync()
        #expect(received.lines() == upToDate + ["settings-sync success manual"])
    }

    @Test func syncFailuresAreReportedToTelemetry() async throws {
        let collection = try place.collection("a")
        let received = Received()
        let service = place.service { $0.limits.all.tries = 1 }
        service.telemetry = received
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        _ = received.take()
        try collection.put("b")

        place.server.inject([Fault("monitor", effect: .status(500))])
        await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
        let sources = ["settings-changes-monitoring", "settings-sync"]
        #expect(received.lines() == sources.map { "\($0) server_error manual" })

        place.server.inject([Fault("/\(collection.name)/changeset", effect: .body("{"))])
        await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
        let events = received.take()
        #expect(events.map(\.source) == ["settings-changes-monitoring", collection.id, "settings-sync"])
        #expect(events.map(\.status) == [.success, .parseError, .syncError])
        #expect(events.dropFirst().first?.errorDescription?.contains(collection.name) == true)

        place.server.inject([])
        collection.sign([SignatureForm(isTampered: true)])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(received.take().last?.status == .signRetryError)
        collection.sign([SignatureForm(.ofOtherRoot)])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(received.take().last?.status == .certificateError)
        // The delta is invalid, but the full changeset verifies.
        collection.sign([SignatureForm()])
        place.server.inject([Fault("/\(collection.name)/changeset", "_since", effect: .body("{}"))])
        try await client.sync()
        #expect(received.take().map(\.status) == [.success, .contentError, .success])

        place.server.inject([Fault("monitor", effect: .status(503), headers: ["Retry-After": "3600"])])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        place.server.inject([])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(received.take().map(\.status) == [.backoff, .backoff])
    }
}
