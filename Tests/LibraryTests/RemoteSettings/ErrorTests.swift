import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Each error case, as a caller encounters it.
@Suite struct ErrorTests {
    let place: Workplace
    private let collection: ServerCollection

    init() throws {
        place = try Workplace()
        collection = try place.collection("a")
    }

    private func failure(
        of name: String? = nil, _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) async -> RemoteSettingsError? {
        await failure(of: place.service(change).makeClient(collectionName: name ?? collection.name))
    }

    private func failure(of client: RemoteSettingsClient) async -> RemoteSettingsError? {
        do throws(RemoteSettingsError) {
            try await client.sync()
            return nil
        } catch {
            return error
        }
    }

    private func name(_ error: RemoteSettingsError?) -> String {
        switch error {
        case nil: "none"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .noClient: "noClient"
        case .offline: "offline"
        case .unavailable: "unavailable"
        case .timedOut: "timedOut"
        case .notAllowed: "notAllowed"
        case .backoff(let pause): "backoff \(pause.components.seconds > 3000)"
        case .untrusted: "untrusted"
        case .rejected: "rejected"
        case .storage: "storage"
        case .invalidName: "invalidName"
        case .notFound: "notFound"
        case .other: "other"
        }
    }

    @Test func errorCasesOfSyncFailures() async throws {
        #expect(name(await failure()) == "none")
        #expect(name(await failure { $0.network = .never }) == "notAllowed")
        #expect(name(await failure(of: "a b")) == "invalidName")
        #expect(name(await failure { $0.trustRoots = place.server.otherRoot }) == "untrusted")
        #expect(name(await failure(of: "absent")) == "notFound")
        try collection.put("b")
        #expect(name(await failure { $0.validate = { _, _, _ in throw UnmetExpectation("no") } }) == "rejected")
        let fresh = try place.collection("a")
        fresh.sign([SignatureForm(.ofOtherRoot)])
        #expect(name(await failure(of: fresh.name)) == "untrusted")
        place.server.inject([Fault("monitor", effect: .body("{"))])
        #expect(name(await failure()) == "other")
        place.server.inject([Fault("monitor", effect: .status(503))])
        #expect(name(await failure()) == "unavailable")
        place.server.setOffline(true)
        #expect(name(await failure()) == "offline")
        place.server.inject([Fault("monitor", effect: .status(503), headers: ["Retry-After": "3600"])])
        _ = await failure()
        #expect(name(await failure()) == "backoff true")
    }

    /// Limits set by an app: exceeding one is an error, and no value of a limit traps.
    @Test func appLimitsFailAndNeverTrap() async throws {
        #expect(name(await failure { $0.limits.records = 0 }) != "none")
        #expect(name(await failure { $0.limits.changesetBytes = 10 }) != "none")
        for time in [Duration.seconds(Int64.min), .seconds(-1), .zero] {
            var limits = RemoteSettingsLimits()
            (limits.answerTimeout, limits.documentTimeout) = (time, time)
            #expect(limits.answerTimeout == .seconds(1) && limits.documentTimeout == .seconds(1))
        }
        let error = await failure {
            $0.limits.answerTimeout = .seconds(Int64.max)
            $0.limits.documentTimeout = .seconds(Int64.max)
            $0.limits.attachmentBytes = .max
            $0.limits.tries = .max
        }
        #expect(name(error) == "none")
    }

    @Test func cancelledSyncThrowsCancelled() async throws {
        place.server.inject([Fault(delay: .seconds(600))])
        let client = place.client(collection)
        let sync = Task { await failure(of: client) }
        for _ in 0..<100 { await Task.yield() }
        sync.cancel()
        #expect(await sync.value == .cancelled)
    }

    @Test func stateSummaryNamesTimestampAndHash() async throws {
        let (service, other) = (place.service(), try place.collection())
        let clients = [collection.name, other.name].map { service.makeClient(collectionName: $0) }
        #expect(
            service.stateSummary == "\([collection.id, other.id].sorted().map { "\($0)@-" }.joined(separator: " "))")
        try await clients[0].sync()
        let timestamp = try collection.timestamp()
        let text = service.stateSummary.split(separator: " ").first { $0.hasPrefix("\(collection.id)@") }
        #expect(
            text?.hasPrefix("\(collection.id)@\(timestamp):") == true && text?.split(separator: ":").last?.count == 12)
        try collection.put("b")
        try await clients[0].sync()
        #expect(!service.stateSummary.contains("@\(timestamp):"))
    }
}

/// JSON values as an app writes and reads them.
struct JSONLiteralTests {
    private struct Model: Codable, Equatable {
        var any: RemoteSettingsJSON
    }

    private let value: RemoteSettingsJSON = [
        "text": "a\"b", "yes": true, "whole": -3, "part": 1.5, "list": [1, "two", .null], "object": ["a": [:]],
        "large": .number(JSONNumber(UInt64.max)),
    ]

    @Test func jsonValueFromLiterals() throws {
        #expect(value["text"] == "a\"b" && value["yes"] == true && value["whole"]?.number?.int64 == -3)
        #expect(value["list"]?.array?.count == 3 && value["list"]?.array?.last == .null)
        let parsed = try RemoteSettingsJSON(json: #"{"list": [1, "two", null]}"#)
        #expect(parsed["list"] == value["list"])
        #expect(throws: RemoteSettingsError.self) { try RemoteSettingsJSON(json: #"{"a": 1, "a": 2}"#) }
    }

    @Test func jsonValueIsCodable() throws {
        let data = try JSONEncoder().encode(Model(any: value))
        let read = try JSONDecoder().decode(Model.self, from: data)
        for key in ["text", "yes", "whole", "part", "list", "object", "large"] {
            #expect(read.any[key] == value[key], "\(key)")
        }
        #expect(try JSONDecoder().decode(Model.self, from: Data(#"{"any": null}"#.utf8)).any == .null)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Model.self, from: Data("{}".utf8)) }
    }
}
