import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Correctly signed but bad data, as an app may receive it.
enum BadData: CaseIterable {
    case emptyList, half, missingMember, wrongType, zero, everybodyExcluded

    static func good(interval: Int = 24) -> [String: [String: Any]] {
        Dictionary(uniqueKeysWithValues: (0..<8).map { ("r\($0)", ["interval": interval] as [String: Any]) })
    }

    /// The records that are published by mistake.
    var records: [String: [String: Any]] {
        var records = Self.good()
        switch self {
        case .emptyList: records = [:]
        case .half: for number in 4..<8 { records["r\(number)"] = nil }
        case .missingMember: records["r3"] = [:]
        case .wrongType: records["r3"] = ["interval": "24"]
        case .zero: records["r3"] = ["interval": 0]
        case .everybodyExcluded: for id in records.keys { records[id]?["filter_expression"] = "1 == 2" }
        }
        return records
    }

    /// The app's check of new records.
    static func validate(_ old: [RemoteSettingsRecord]?, _ new: [RemoteSettingsRecord]) throws {
        struct Settings: Decodable { let interval: Int }
        let before = old?.count ?? new.count
        guard new.count * 2 > before else { throw UnmetExpectation("\(before) records became \(new.count)") }
        for record in new {
            guard let settings = try? record.decode(as: Settings.self), settings.interval > 0 else {
                throw UnmetExpectation("\(record.id) cannot be used")
            }
        }
    }
}

@Suite(.serialized) struct BadDataTests {
    let place: Workplace
    let collection: ServerCollection
    private let received = Received()

    init() throws {
        place = try Workplace()
        collection = try place.collection()
    }

    private func publish(_ records: [String: [String: Any]]) throws {
        let left = try collection.state().keys.filter { records[$0] == nil }
        if records.isEmpty { return collection.deleteAll() }
        for id in left { collection.delete(id) }
        try collection.put(all: records)
    }

    private func client(_ change: (inout RemoteSettingsConfig) -> Void) -> RemoteSettingsClient {
        place.client(collection, change)
    }

    private func checking(_ config: inout RemoteSettingsConfig) {
        config.validate = { try BadData.validate($1, $2) }
        config.telemetry = received
    }

    @Test(arguments: BadData.allCases) func badDataIsRejectedByTheAppsCheck(_ data: BadData) async throws {
        try publish(BadData.good())
        let client = client(checking)
        try await client.sync()
        let good = state(of: client)
        try publish(data.records)
        // Records are deleted one by one, but only the final state is synced.
        #expect(await refusal(of: client).contains("the app's check failed"))
        #expect(state(of: client) == good)
        #expect(received.lines().contains("\(collection.id) rejected_error manual"))
        #expect("\(client.status.unused)".contains("the app's check failed"))
        // The rejected state is not fetched again, not even by a later process.
        let later = self.client(checking)
        for client in [client, later] {
            let asked = place.server.requests.count
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(place.server.requests.dropFirst(asked).map(\.path).allSatisfy { $0.contains("/monitor/") })
            #expect(state(of: client) == good)
            #expect("\(client.status.unused)".contains("the app's check failed"))
        }
        try publish(BadData.good(interval: 12))
        try await later.sync()
        #expect(try state(of: later) == collection.state())
        #expect(place.server.requests.last?.path.contains("_since") == true, "the sync should request a delta")
    }

    // MARK: The check itself

    @Test func appsCheckTimeout() async throws {
        try publish(BadData.good())
        let time = SteppedTime()
        let isEntered = Mutex(false)
        let mayEnd = Mutex(false)
        let client = client {
            $0.environment = time.environment
            $0.validationTimeout = .seconds(20)
            $0.validate = { _, _, _ in
                isEntered.withLock { $0 = true }
                while !mayEnd.withLock({ $0 }) { usleep(1000) }
            }
        }
        defer { mayEnd.withLock { $0 = true } }
        let sync = Task { try await client.sync() }
        while !isEntered.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        await time.pass(.seconds(21))
        let error = await #expect(throws: RemoteSettingsError.self) { try await sync.value }
        #expect(error.map { "\($0)" }?.contains("did not finish within 20") == true)
        #expect(client.records == nil)
    }

    /// A new version of the app that accepts the state can use it.
    @Test func rejectedStateIsCheckedAgainByNewAppVersion() async throws {
        try publish(BadData.zero.records)
        let old = client {
            checking(&$0)
            $0.userAgent = "app/1"
        }
        await #expect(throws: RemoteSettingsError.self) { try await old.sync() }
        let new = client {
            $0.validate = { _, _, _ in }
            $0.userAgent = "app/2"
        }
        try await new.sync()
        #expect(try state(of: new) == collection.state())
    }

    /// A newer state that is also bad is fetched and rejected separately.
    @Test func secondBadStateIsRejectedByTheCheckToo() async throws {
        try publish(BadData.zero.records)
        let client = client(checking)
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        try publish(BadData.wrongType.records)
        #expect(await refusal(of: client).contains("r3 cannot be used"))
        #expect(received.take().count { $0.status == .rejectedError } == 2)
    }

    /// The check receives the current and the new records off the main thread. It is not called if nothing changed.
    @Test func checkGetsHeldAndNewRecordsOffTheMainThread() async throws {
        try collection.put("a", ["n": 1])
        try collection.put("b", ["n": 1, "filter_expression": "false"])
        let seen = Mutex<[String]>([])
        let client = client {
            $0.validate = { id, old, new in
                let isMain = Thread.isMainThread
                seen.withLock { $0.append("\(id) \(old?.map(\.id) ?? []) \(new.map(\.id)) \(isMain)") }
            }
        }
        try await client.sync()
        try await client.sync()
        try collection.put("c", ["n": 1])
        try await client.sync()
        #expect(
            seen.withLock { $0 } == [
                "\(collection.id) [] [\"a\"] false", "\(collection.id) [\"a\"] [\"a\", \"c\"] false",
            ])
    }
}
