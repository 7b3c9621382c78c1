import Foundation
import RemoteSettings
import Synchronization
import Testing

extension ServerTests {
    /// What an app's telemetry receives.
    @Suite struct TelemetryTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        private final class Received: RemoteSettingsTelemetry {
            private let events = Mutex<[UptakeEvent]>([])

            func reportUptake(_ event: UptakeEvent) { events.withLock { $0.append(event) } }

            /// `source status trigger` of each since the last call.
            func lines() -> [String] {
                take().map { "\($0.source) \($0.status.rawValue) \($0.trigger.rawValue)" }
            }

            func take() -> [UptakeEvent] {
                events.withLock { events in
                    defer { events = [] }
                    return events
                }
            }
        }

        @Test func sourcesStatusesAndTriggers() async throws {
            let collection = try await place.server.makeCollection()
            try await collection.put("a")
            let received = Received()
            let service = place.service { $0.telemetry = received }
            let client = service.makeClient(collectionName: collection.name)
            #expect(await client.getRecords(syncIfEmpty: true)?.count == 1)
            #expect(
                received.lines() == ["settings-changes-monitoring success empty", "\(collection.id) success empty"])
            try await client.sync()
            #expect(
                received.lines() == [
                    "settings-changes-monitoring success manual", "\(collection.id) up_to_date manual",
                ])
            try await collection.put("b")
            let timestamp = try await collection.timestamp()
            try await client.sync(expectedTimestamp: timestamp)
            let events = received.take()
            #expect(events.map(\.trigger) == [.broadcast, .broadcast])
            #expect(events.last?.timestamp == Timestamp(milliseconds: timestamp))
            #expect(events.allSatisfy { $0.duration >= .zero && $0.errorDescription == nil })
            try await service.sync()
            #expect(
                received.lines() == [
                    "settings-changes-monitoring success manual", "\(collection.id) up_to_date manual",
                    "settings-sync success manual",
                ])
        }

        @Test func whatFails() async throws {
            let collection = try await place.server.makeCollection()
            try await collection.put("a")
            let received = Received()
            let service = place.service { $0.limits.tries = 1 }
            service.setTelemetry(telemetry: received)
            let client = service.makeClient(collectionName: collection.name)
            try await client.sync()
            _ = received.take()
            try await collection.put("b")

            try await place.server.faults([["path": "monitor", "status": 500]])
            await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
            #expect(
                received.lines() == [
                    "settings-changes-monitoring server_error manual", "settings-sync server_error manual",
                ])

            let faults: [([String: Any], String)] = [
                (["body": "{"], "parse_error"), (["body": "{}"], "content_error"), (["status": 500], "server_error"),
                (["truncate": 20], "network_error"),
            ]
            for (fault, status) in faults {
                let path = ["path": "\(collection.name)/changeset"] as [String: Any]
                try await place.server.faults([fault.merging(path) { first, _ in first }])
                await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
                let events = received.take()
                #expect(events.map(\.source) == ["settings-changes-monitoring", collection.id, "settings-sync"])
                #expect(events.map(\.status.rawValue) == ["success", status, "sync_error"])
                #expect(events.dropFirst().first?.errorDescription?.contains(collection.name) == true)
            }

            try await place.server.faults([])
            try await collection.sign([["tampered": true]])
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(received.take().last?.status == .signRetryError)
            try await collection.sign([["chain": "otherroot"]])
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(received.take().last?.status == .certificateError)
            // A delta that does not verify, and a full answer that does.
            try await collection.sign([[:]])
            try await place.server.faults([["path": "\(collection.name)/changeset.*_since", "body": "{}"]])
            try await client.sync()
            #expect(received.take().map(\.status) == [.success, .contentError, .success])

            try await place.server.faults([
                ["path": "monitor", "status": 503, "headers": ["Retry-After": "3600"]]
            ])
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            try await place.server.faults([])
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(received.take().map(\.status) == [.backoff, .backoff])
        }
    }
}
