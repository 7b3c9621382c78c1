import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing
@testable import RemoteSettings

/// Information that a service stores and reports about its syncs, such as failures and clock skew, and its reset.
@Suite struct ServiceStateTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test func tenFailuresReportBrokenCollection() async throws {
        let (broken, fine) = (try place.collection("a"), try place.collection("a"))
        let received = Received()
        func service() -> RemoteSettingsService {
            place.service {
                $0.telemetry = received
                $0.limits.all.tries = 1
            }
        }
        let first = service()
        let clients = [broken, fine].map { first.makeClient(collectionName: $0.name) }
        try await first.sync()
        #expect(clients[0].syncFailures == nil)
        try broken.put("b")
        broken.sign([SignatureForm(isTampered: true)])
        _ = received.take()
        try fine.put("b")
        // The failure is thrown only after the other collection has been synced.
        for _ in 0..<9 { await #expect(throws: RemoteSettingsError.self) { try await first.sync(trigger: .timer) } }
        #expect(
            clients[1].records?.count == 2 && clients[0].syncFailures.map { ($0.count, $0.isBroken) }! == (9, false))
        #expect(!received.take().contains { $0.status == .syncBrokenError })
        // The next process continues the count, and the stored records remain available.
        let second = service()
        let later = [broken, fine].map { second.makeClient(collectionName: $0.name) }
        await #expect(throws: RemoteSettingsError.self) { try await later[0].sync() }
        let failures = try #require(later[0].syncFailures)
        #expect(failures.count == 10 && failures.isBroken && failures.attempts.count == 10)
        #expect(failures.attempts.map(\.trigger) == Array(repeating: .timer, count: 9) + [.manual])
        #expect(failures.attempts.allSatisfy { $0.status == .signRetryError && $0.error.contains("signature") })
        #expect("\(failures)".contains("10 syncs failed since"))
        #expect(later[0].records?.map(\.id) == ["a"])
        #expect(later[1].syncFailures == nil)
        let events = received.take().filter { $0.source == broken.id }
        #expect(events.map(\.status) == [.signRetryError, .syncBrokenError])
        // At most ten attempts are kept, and a success removes them all.
        await #expect(throws: RemoteSettingsError.self) { try await later[0].sync() }
        #expect(later[0].syncFailures?.count == 11 && later[0].syncFailures?.attempts.count == 10)
        broken.sign([SignatureForm()])
        try await later[0].sync()
        #expect(later[0].syncFailures == nil)
    }

    /// Failures of the network and backoff requests from the server are not failures of a collection.
    @Test func networkFailuresAreNoCollectionFailures() async throws {
        let collection = try place.collection("a")
        let client = place.client(collection) { $0.limits.all.tries = 1 }
        place.server.inject([Fault("monitor", effect: .status(500))])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        place.server.inject([Fault("/\(collection.name)/", effect: .status(503), headers: ["Retry-After": "3600"])])
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(client.syncFailures == nil)
    }

    /// An app's own files in the storage directory are kept, whatever their names.
    @Test func foreignFilesInStorageAreKept() async throws {
        let collection = try place.collection(attaching: ["a": "file"])
        for number in 0...Limits.keptChains { try write("chains/\(number).pem") }
        let first = place.client(collection)
        try await first.sync()
        _ = try await first.downloadAttachments()
        let folder = "attachments/\(collection.id)"
        let foreign = [
            ".backoff.json", ".chains/x.pem", "Preferences/user.config", "logs/app.previous", "main/a.snapshot",
            "config.json", "main/x.snapshot.bak", "elsewhere/state.json", "main/x.attachments/photo.jpg",
            "states/notes.txt", "states/old.tmp", "chains/mine.pem", "attachments/photo.jpg",
            "attachments/album/photo.jpg", "\(folder)/photo.jpg", "\(folder)/album/photo.jpg",
        ]
        for name in foreign { try write(name) }
        // Leftover files of killed processes.
        let hash = String(repeating: "0", count: 64)
        let left = ["states/\(hash)", "states/\(hash).tmp", "\(folder)/\(hash).0123456789abcdef.part"]
        for name in left { try write(name) }
        let log = Mutex<[RemoteSettingsLogEntry]>([])
        var entries: [RemoteSettingsLogEntry] { log.withLock { $0 }.filter { $0.message.contains("did not write") } }
        let service = place.service { config in
            config.log = { entry in log.withLock { $0.append(entry) } }
            let now = config.environment.now
            config.environment.now = { now().advanced(by: .seconds(200_000)) }
        }
        let client = service.makeClient(collectionName: collection.name)
        for name in ["b", "c"] {
            try collection.put(name)
            try await client.sync()
        }
        #expect(entries.count == 1 && entries.first?.message.contains(#"".backoff.json""#) == true, "\(entries)")
        for name in left { #expect(!isThere(name), "\(name)") }
        try await client.resetStorage()
        try await service.resetStorage()
        for name in foreign + (0...Limits.keptChains).map({ "chains/\($0).pem" }) { #expect(isThere(name), "\(name)") }
        // A directory in place of the index file is not removed either.
        try FileManager.default.removeItem(atPath: "\(place.storage)/index.json")
        try write("index.json/mine.txt")
        await #expect(throws: RemoteSettingsError.self) { try await place.client(collection).sync() }
        #expect(isThere("index.json/mine.txt"))
    }

    private func write(_ name: String) throws { try place.write("x", to: "storage/\(name)") }

    private func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(place.storage)/\(name)") }

    @Test func damagedSyncJournalIsEmpty() async throws {
        let collection = try place.collection()
        let client = place.client(collection)
        let server = #""server":"https://settings.test""#
        let texts = [
            "", "[", "{}", #"{"server":"x","failures":{"\#(collection.id)":{"count":50,"since":1}}}"#,
            #"{\#(server),"failures":{"\#(collection.id)":{"count":-1,"since":1},"../x":{"count":1,"since":1}}}"#,
            #"{\#(server),"failures":{"\#(collection.id)":{"count":1e9,"since":1}},"successes":{"\#(collection.id)":-5,"../x":1},"clockSkew":1.5}"#,
        ]
        for text in texts {
            try place.files.write(#"{"format":1,"journal":\#(text)}"#)
            #expect(client.syncFailures == nil && place.service().lastCheck == nil, "\(text)")
            #expect(place.service().clockSkew == nil, "\(text)")
        }
        // Boundary values are kept and do not trap.
        try collection.put("a")
        collection.sign([SignatureForm(isTampered: true)])
        let failures = #""failures":{"\#(collection.id)":{"count":\#(Int64.max),"since":1}}"#
        let edge = #"{\#(server),\#(failures),"clockSkew":\#(Int64.min)}"#
        try place.files.write(#"{"format":1,"journal":\#(edge)}"#)
        #expect(place.service().clockSkew == .milliseconds(Int64.min))
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(client.syncFailures?.count == Int.max && client.syncFailures?.attempts.count == 1)
        #expect("\(place.service().inspect())".contains("syncs failed"))
    }

    private func date(_ text: String, age: String? = nil) -> Fault {
        Fault("monitor", headers: ["Date": text].merging(age.map { ["Age": $0] } ?? [:]) { first, _ in first })
    }

    @Test func clockDifferenceToServerIsReported() async throws {
        let collection = try place.collection("a")
        let received = Received()
        let service = place.service {
            $0.telemetry = received
            $0.environment.now = { Timestamp(milliseconds: 1_800_000_000_000) }
        }
        let client = service.makeClient(collectionName: collection.name)
        #expect(service.clockSkew == nil)
        // The server's date is 1,799,999,900 s after 1970, plus 40 s in a cache: this clock is 60 s ahead.
        place.server.inject([date(HTTPDate.text(Timestamp(milliseconds: 1_799_999_900_000)), age: "40")])
        _ = try? await client.sync()
        #expect(service.clockSkew == .seconds(60))
        #expect(place.service().clockSkew == .seconds(60))
        let monitor = try MonitorChangeset(parsing: Bytes(utf8: place.server.monitor()))
        let event = try #require(received.take().first { $0.source == "settings-changes-monitoring" })
        #expect(event.age == Timestamp(milliseconds: 1_799_999_940_000).elapsed(since: monitor.timestamp))
        place.server.inject([date(HTTPDate.text(Timestamp(milliseconds: 1_800_000_010_000)))])
        _ = try? await client.sync()
        #expect(service.clockSkew == .seconds(-10))
        // Invalid dates are ignored.
        for lie in ["yesterday", ""] {
            place.server.inject([date(lie)])
            _ = try? await client.sync()
            #expect(service.clockSkew == .seconds(-10))
        }
    }

    /// A sync that finds no changes writes nothing, unless the recorded time of the last one is ten minutes old.
    @Test func syncWithoutNewsWritesNothing() async throws {
        let collection = try place.collection("a")
        let now = Mutex(Timestamp(milliseconds: 1_800_000_000_000))
        let service = place.service { $0.environment.now = { now.withLock { $0 } } }
        let client = service.makeClient(collectionName: collection.name)
        func index() throws -> FileIdentity? { try FileStore.identity("\(place.storage)/index.json") }
        try await client.sync()
        let first = try index()
        now.withLock { $0 = $0.advanced(by: .seconds(599)) }
        #expect(try await service.sync() == [])
        #expect(try index() == first && service.lastCheck == now.withLock { $0 })
        now.withLock { $0 = $0.advanced(by: .seconds(1)) }
        try await service.sync()
        #expect(try index() != first && place.service().lastCheck == now.withLock { $0 })
    }

    @Test(arguments: ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"])
    func falseServerDateIsHarmless(_ text: String) async throws {
        let collection = try place.collection("a")
        place.server.inject([date(text, age: "4294967295")])
        let service = place.service()
        let client = service.makeClient(collectionName: collection.name)
        try await client.sync()
        #expect(client.records?.count == 1)
        #expect(service.clockSkew != nil)
        collection.sign([SignatureForm(.expired)])
        try collection.put("b")
        await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
        #expect(place.client(collection).records?.count == 1)
        let failed = service.inspect()
        #expect(failed.collections[0].lastError?.isEmpty == false)
        #expect(failed.lastAttempt.map { $0 >= (failed.lastCheck ?? $0) } == true)
    }

    @Test func inspectListsAllCollections() async throws {
        let (held, other) = (try place.collection("a"), try place.collection("a"))
        try await place.client(held).sync()
        try held.put("b")
        let service = place.service { $0.limits.all.tries = 1 }
        let client = service.makeClient(collectionName: other.name)
        let asked = place.server.requests.count
        let local = service.inspect()
        #expect(place.server.requests.count == asked)
        #expect(local.server == place.server.url && !local.isPreview && local.storage == place.storage)
        #expect(local.lastCheck != nil && local.backoffUntil == nil)
        #expect(local.collections.map(\.status.collection) == [held.id, other.id])
        #expect(local.collections.map(\.hasClient) == [false, true])
        #expect(local.collections.map(\.status.source) == [.cached, .noSnapshot])
        #expect(local.collections.allSatisfy { $0.serverTimestamp == nil && $0.failures == nil })
        let asServed = try await service.inspectWithServer()
        #expect(place.server.requests.count == asked + 1)
        #expect(asServed.collections[0].serverTimestamp == (try held.timestamp()))
        #expect(asServed.collections[0].status.timestamp == local.collections[0].status.timestamp)
        #expect(asServed.collections[0].behind.map { $0 > .zero } == true && local.collections[0].behind == nil)
        #expect(local.collections.map { $0.lastSuccess == local.lastCheck } == [true, false])
        place.server.inject([Fault("monitor", effect: .status(503), headers: ["Retry-After": "3600"])])
        await #expect(throws: RemoteSettingsError.self) { try await service.inspectWithServer() }
        #expect(service.inspect().backoffUntil != nil)
        let text = "\(service.inspect())"
        #expect(text.contains(held.id) && text.contains("no data") && text.contains("no requests until"))
        withExtendedLifetime(client) {}
    }

    @Test func resetStorageRemovesAllCollections() async throws {
        let (one, two) = (try place.collection(), try place.collection())
        try one.attach(Data("file".utf8), to: "a")
        try two.put("a")
        let first = place.service()
        for collection in [one, two] { try await first.makeClient(collectionName: collection.name).sync() }
        _ = try await first.makeClient(collectionName: one.name).downloadAttachments()
        let outside = try place.write("x", to: "outside/y.snapshot")
        try FileManager.default.createSymbolicLink(
            atPath: "\(place.storage)/linked", withDestinationPath: place.path("outside"))
        let service = place.service()
        let client = service.makeClient(collectionName: two.name)
        #expect(client.records?.count == 1)
        try await service.resetStorage()
        #expect(client.records == nil && service.inspect().lastCheck == nil)
        let left = try FileManager.default.subpathsOfDirectory(atPath: place.storage)
        #expect(left.filter { !$0.hasPrefix("linked") && $0 != "states" && $0 != "index.json" } == [])
        #expect(FileManager.default.fileExists(atPath: outside))
        try await client.sync()
        #expect(client.records?.count == 1)
        try await RemoteSettingsService(storageDirectory: place.path("none"), config: place.config()).resetStorage()
    }

    /// A reset does not bypass a backoff that the server requested.
    @Test func resetStorageKeepsBackoff() async throws {
        let service = place.service { $0.limits.all.tries = 1 }
        place.server.inject([Fault("monitor", effect: .status(503), headers: ["Retry-After": "3600"])])
        await #expect(throws: RemoteSettingsError.self) { try await service.syncCollections() }
        try await service.resetStorage()
        #expect(place.service().inspect().backoffUntil != nil)
    }

    @Test func damagedStoredStateIsReportedToTelemetry() async throws {
        let (collection, _) = try await place.synced("a")
        let path = try place.files.file(collection.id)
        try Data("damaged".utf8).write(to: path)
        let received = Received()
        let client = place.client(collection) { $0.telemetry = received }
        try await client.sync()
        #expect(received.take().map(\.status) == [.success, .corruptionError, .success])
        #expect(client.records?.count == 1)
    }

    @Test func failedCleanupIsReported() async throws {
        let collection = try place.collection(attaching: ["a": "file"])
        let received = Received()
        let client = place.client(collection) { $0.telemetry = received }
        try await client.sync()
        _ = try await client.downloadAttachments()
        // A directory in place of an attachment cannot be removed like a file.
        let orphan = "\(place.attachments(collection))/\(String(repeating: "0", count: 64))"
        try FileManager.default.createDirectory(atPath: orphan, withIntermediateDirectories: true)
        try collection.put("b")
        _ = received.take()
        try await client.sync()
        #expect(received.take().map(\.status) == [.success, .cleanupError, .success])
        #expect(client.records?.count == 2)
    }
}
