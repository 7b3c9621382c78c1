import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Bad data that is correctly signed, as an app may get it: what the rows of the table in the article *Recover from bad
/// data* are called there, and what the app's check and a safe start make of each.
enum BadData: String, CaseIterable, CustomTestStringConvertible {
    case emptyList, half, doubled, oneIDMissing, wrongType, hugeText, zero, negative, null, missingMember
    case unknownKind, duplicateKeys, otherCollectionsRecords, yesterdaysData, emptyText, brokenURL, foreignURL
    case deepNesting, fractionForWhole, everybodyExcluded

    var testDescription: String { rawValue }

    private static func good(_ key: String, _ number: Int = 24) -> [String: Any] {
        [
            "key": key, "interval": number, "kind": "plan", "title": "Title of \(key)",
            "url": "https://shop.example/\(key)", "edition": 2,
        ]
    }

    private static func eight(_ record: (Int) -> [String: Any]) -> [String: [String: Any]] {
        Dictionary(uniqueKeysWithValues: (0..<8).map { ("r\($0)", record($0)) })
    }

    static var published: [String: [String: Any]] { eight { good("key-\($0)") } }
    static var repaired: [String: [String: Any]] { eight { good("key-\($0)", 12) } }

    /// The records that somebody publishes by mistake.
    var records: [String: [String: Any]] {
        var records = Self.published
        func change(_ member: String, _ value: Any?) { records["r3"]?[member] = value }
        switch self {
        case .emptyList: records = [:]
        case .half: for number in 4..<8 { records["r\(number)"] = nil }
        case .doubled: for number in 8..<17 { records["r\(number)"] = Self.good("key-\(number)") }
        case .oneIDMissing: records["r0"] = nil
        case .wrongType: change("interval", "24")
        case .hugeText: change("title", String(repeating: "x", count: 1 << 20))
        case .zero: change("interval", 0)
        case .negative: change("interval", -1)
        case .null: change("interval", NSNull())
        case .missingMember: change("interval", nil)
        case .unknownKind: change("kind", "plam")
        case .duplicateKeys: change("key", "key-4")
        case .otherCollectionsRecords:
            records = Self.eight { _ in ["code": "DE"] }
        case .yesterdaysData: for id in records.keys { records[id]?["edition"] = 1 }
        case .emptyText: change("title", "")
        case .brokenURL: change("url", "https//shop.example")
        case .foreignURL: change("url", "https://evil.example/x")
        case .deepNesting: change("interval", (0..<30).reduce(1 as Any) { value, _ in [value] })
        case .fractionForWhole: change("interval", 0.5)
        case .everybodyExcluded: for id in records.keys { records[id]?["filter_expression"] = "1 == 2" }
        }
        return records
    }
}

/// The app's settings as it decodes them, and what it asks of them.
private struct Settings: Decodable {
    enum Kind: String, Decodable { case plan, coupon }

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    let key: String
    let interval: Int
    let kind: Kind
    let title: String
    let url: URL
    let edition: Int

    /// What the app does with records at its start. It throws where an app without a check would die.
    @discardableResult
    static func used(_ records: [RemoteSettingsRecord]?) throws -> [Settings] {
        let settings = try (records ?? []).map { record in
            try JSONDecoder().decode(Settings.self, from: Data(record.json.text.utf8))
        }
        guard Set(settings.map(\.key)).count == settings.count else { throw Wrong(description: "a key twice") }
        guard records?.contains(where: { $0.id == "r0" }) == true else { throw Wrong(description: "no r0") }
        for setting in settings where setting.interval < 1 || setting.url.scheme != "https" {
            throw Wrong(description: "\(setting.key) cannot be used")
        }
        return settings
    }

    /// The app's check.
    static func validate(_ old: [RemoteSettingsRecord]?, _ new: [RemoteSettingsRecord]) throws {
        let settings = try used(new)
        let before = old?.count ?? new.count
        guard new.count * 2 > before, new.count < before * 2 else {
            throw Wrong(description: "\(before) records became \(new.count)")
        }
        let edition = (try? used(old))?.map(\.edition).max() ?? 0
        for setting in settings {
            guard (1...1000).contains(setting.title.utf8.count), setting.url.host() == "shop.example",
                setting.edition >= edition
            else { throw Wrong(description: "\(setting.key) makes no sense") }
        }
    }
}

extension ServerTests {
    @Suite(.serialized) struct BadDataTests {
        let place: Workplace
        let collection: ServerCollection
        private let received = Received()

        init() throws {
            place = try Workplace()
            collection = try place.server.makeCollection()
        }

        private func publish(_ records: [String: [String: Any]]) throws {
            let left = try collection.state().keys.filter { records[$0] == nil }
            if records.isEmpty { return collection.deleteAll() }
            for id in left { collection.delete(id) }
            try collection.put(all: records)
        }

        private func client(_ change: (inout RemoteSettingsConfig) -> Void) -> RemoteSettingsClient {
            place.service(change).makeClient(collectionName: collection.name)
        }

        private func checking(_ config: inout RemoteSettingsConfig) {
            config.validate = { try Settings.validate($1, $2) }
            config.telemetry = received
        }

        @Test(arguments: BadData.allCases)
        func badDataIsRejectedByTheAppsCheck(_ data: BadData) async throws {
            try publish(BadData.published)
            let client = client(checking)
            try await client.sync()
            let good = state(of: client)
            try publish(data.records)
            // What is deleted one by one is published at once here: only the last state is synced.
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(error.map { "\($0)" }?.contains("the app's check failed") == true)
            #expect(state(of: client) == good)
            #expect(received.lines().contains("\(collection.id) rejected_error manual"))
            #expect("\(client.status.unused)".contains("the app's check failed"))
            // It is not asked for again, not by a later process either.
            let later = self.client(checking)
            for client in [client, later] {
                let asked = place.server.requests.count
                await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
                #expect(place.server.requests.dropFirst(asked).map(\.path).allSatisfy { $0.contains("/monitor/") })
                #expect(state(of: client) == good)
                #expect("\(client.status.unused)".contains("the app's check failed"))
            }
            try publish(BadData.repaired)
            try await later.sync()
            #expect(try state(of: later) == collection.state())
            #expect(place.server.requests.last?.path.contains("_since") == true, "a delta to what is held")
        }

        // MARK: The check itself

        @Test func appsCheckTimeout() async throws {
            try publish(BadData.published)
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

        /// An app whose next version understands the state takes it.
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

        /// A newer state that is bad as well is fetched and refused by itself.
        @Test func secondBadStateIsRejectedByTheCheckToo() async throws {
            try publish(BadData.zero.records)
            let client = client(checking)
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            try publish(BadData.negative.records)
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(error.map { "\($0)" }?.contains("key-3") == true)
            #expect(received.take().count { $0.status == .rejectedError } == 2)
        }

        /// The check gets what is held and what would be, off the main thread; a state that is up to date is not
        /// checked.
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
}
