import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing
@testable import RemoteSettings

/// What a first launch takes out of the server's bundle of changesets, and what it refuses.
@Suite struct StartupBundleTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// One block of literals only (LZ4 block format: a token, lengths in steps of 255, then the bytes).
    private static func packed(_ text: [UInt8], size: Int? = nil) -> [UInt8] {
        let length = size ?? text.count
        var block: [UInt8] = []
        if text.count < 15 {
            block.append(UInt8(text.count << 4))
        } else {
            block.append(0xF0)
            block += Array(repeating: 255, count: (text.count - 15) / 255)
            block.append(UInt8((text.count - 15) % 255))
        }
        return Array("mozLz40\0".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + block + text
    }

    private func serve(_ changesets: [Any]) throws {
        let text = try JSONSerialization.data(withJSONObject: changesets)
        place.server.inject([Fault("startup.json.mozlz4", effect: .bytes(Self.packed(Array(text))))])
    }

    private func collections(_ count: Int) throws -> [ServerCollection] {
        try (0..<count).map { number in
            let collection = try place.server.makeCollection()
            try collection.put("a", ["number": number])
            return collection
        }
    }

    /// The changeset with some of its metadata replaced.
    private func changeset(_ collection: ServerCollection, _ metadata: [String: Any]) throws -> [String: Any] {
        var changeset = try collection.changeset()
        let own = try #require(changeset["metadata"] as? [String: Any])
        changeset["metadata"] = own.merging(metadata) { $1 }
        return changeset
    }

    @Test func aFirstLaunchTakesItsCollections() async throws {
        let served = try collections(4)
        try serve(try served.map { try $0.changeset() })
        let received = Received()
        let service = place.service { $0.telemetry = received }
        let clients = served.prefix(2).map { service.makeClient(collectionName: $0.name) }
        var changes = clients[0].changes.makeAsyncIterator()
        let results = try await service.fetchStartupBundle()
        #expect(results.map(\.collection) == served.prefix(2).map(\.id))
        #expect(results.map(\.isChanged) == [true, true])
        #expect(received.lines().sorted() == served.prefix(2).map { "\($0.id) success startup" })
        #expect(await changes.next()?.created.map(\.id) == ["a"])
        // The root document, the bundle, and one chain.
        #expect(place.server.requests.count == 3)
        for client in clients {
            #expect(client.getRecords()?.map(\.id) == ["a"])
            #expect(client.snapshot.source == .cached && client.snapshot.provenance?.isSigned == true)
        }
        // Nothing is stored of a collection that the app has not named.
        #expect(service.inspect().collections.count == 2)
        let more = try await service.fetchStartupBundle(of: [served[0].name, served[2].id, "absent"])
        #expect(more.map(\.isChanged) == [false, true])
        // A process that starts later verifies what was stored, and a sync finds nothing new.
        let later = place.service()
        let client = later.makeClient(collectionName: served[2].name)
        #expect(client.getRecords()?.count == 1)
        #expect(try await later.sync() == [])
    }

    @Test func newerStatesStay() async throws {
        let collection = try collections(1)[0]
        let old = try collection.changeset()
        try collection.put("b")
        let client = place.service().makeClient(collectionName: collection.name)
        try await client.sync()
        try serve([old])
        let service = place.service()
        let results = try await service.fetchStartupBundle(of: [collection.name])
        #expect(results.map(\.result) == [.success(.upToDate(Timestamp(milliseconds: try collection.timestamp())))])
        #expect(client.getRecords()?.count == 2)
        // What was removed is protected by its mark only as long as it is there.
        let path = try place.files.file(collection.id).path
        var content = try Data(contentsOf: URL(fileURLWithPath: path))
        content[content.count - 3] ^= 1
        try content.write(to: URL(fileURLWithPath: path))
        let rolledBack = try await place.service().fetchStartupBundle(of: [collection.name])
        guard case .failure(let error)? = rolledBack.first?.result else {
            Issue.record("\(rolledBack)")
            return
        }
        #expect("\(error)".contains("older state"))
    }

    @Test func onlyWhatIsSignedIsTaken() async throws {
        let (good, other) = (try collections(2)[0], try collections(2)[1])
        let forged = try collections(5)
        var changed = try forged[0].changeset()
        changed["changes"] = [["id": "evil", "last_modified": 1]]
        forged[1].sign([SignatureForm(.ofOtherRoot)])
        forged[2].sign([SignatureForm(.expired)])
        forged[3].sign([])
        var future = try forged[4].changeset()
        future["timestamp"] = 9_999_999_999_999
        try serve([
            changed, try forged[1].changeset(), try forged[2].changeset(), try forged[3].changeset(), future,
            try good.changeset(),
            // One collection's records under another's name: only the records are signed. A second entry does not
            // count.
            try changeset(other, ["id": good.name]),
            // What names no collection, or none that there can be, is passed over.
            try changeset(other, ["id": "../../x"]), try changeset(other, ["bucket": 5]), [:], 7, "x", [],
            ["metadata": ["bucket": "main", "id": other.name]],
        ])
        let service = place.service()
        let results = try await service.fetchStartupBundle(of: (forged + [good, other]).map(\.name))
        let outcomes = Dictionary(uniqueKeysWithValues: results.map { ($0.collection, $0.isSynced) })
        #expect(outcomes[good.id] == true)
        #expect(outcomes[other.id] == false)
        for collection in forged {
            #expect(outcomes[collection.id] == false)
            #expect(service.makeClient(collectionName: collection.name).getRecords() == nil)
        }
        let client = service.makeClient(collectionName: good.name)
        #expect(client.getRecords()?.first?[field: "number"] == .number(JSONNumber(0)))
        // A revocation list cannot be passed off: another name signs it.
        let list = try place.server.makeCollection("security-state")
        try serve([try changeset(good, ["bucket": "security-state", "id": list.name])])
        #expect(try await service.fetchStartupBundle(of: [list.id]).map(\.isSynced) == [false])
    }

    @Test func badBundlesAreRefused() async throws {
        let collection = try collections(1)[0]
        let service = place.service {
            $0.limits.all.startupBundleBytes = 1 << 20
            $0.limits.all.startupBundleContentBytes = 1 << 20
            $0.limits.all.startupBundleChangesets = 10
            $0.limits.all.tries = 1
        }
        let client = service.makeClient(collectionName: collection.name)
        let bomb = Array("mozLz40\0".utf8) + [0, 0, 0, 4, 0x1F, 0x20, 1, 0] + Array(repeating: 255, count: 300_000)
        let cases: [(Fault.Effect, String)] = [
            (.status(404), "404"), (.body("[]"), "mozLz4"), (.bytes(Array("mozLz40\0".utf8)), "mozLz4"),
            (.bytes(bomb), "1048576"), (.endless, "1048576"),
            (.bytes(Self.packed(Array("{}".utf8))), "array"), (.bytes(Self.packed(Array("[1,".utf8))), "startup"),
            (.bytes(Self.packed(Array("[]".utf8), size: 9)), "LZ4"),
            (.bytes(Self.packed(Array(repeating: UInt8(ascii: "["), count: 5000))), "startup"),
            (.bytes(Self.packed(Array("[1,2,3,4,5,6,7,8,9,10,11]".utf8))), "10"),
        ]
        for (effect, text) in cases {
            place.server.inject([Fault("startup.json.mozlz4", effect: effect)])
            let error = await #expect(throws: RemoteSettingsError.self) { try await service.fetchStartupBundle() }
            #expect(error.map { "\($0)" }?.contains(text) == true, "\(effect): \(String(describing: error))")
        }
        #expect(client.getRecords() == nil)
        place.server.inject([Fault("startup.json.mozlz4", effect: .bytes(Self.packed(Array("[]".utf8))))])
        #expect(try await service.fetchStartupBundle() == [])
        service.shutdown()
        await #expect(throws: RemoteSettingsError.closed) { try await service.fetchStartupBundle() }
    }
}
