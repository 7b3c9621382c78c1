import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct PublishTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private let day = Duration.seconds(86_400)

    @Test func publishStampsOnlyChangedRecords() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {v: 1}, b: {v: 1.0}, c: {v: [1, {x: é}]}}")
        #expect(try await place.publish(at: now).status == .created)
        let later = now.advanced(by: .seconds(60))
        try place.write("records: {b: {v: 1.0}, a: {v: 2}, d: {}}")
        let state = try await place.publish(at: later)
        #expect(state.status == .updated && state.unsigned.timestamp == later)
        #expect([state.changes.created, state.changes.updated, state.changes.deleted] == [1, 1, 1])
        #expect(try place.records().map(\.lastModified) == [later, now, later])
        #expect(try place.dumps.configuration().collections.map(\.id) == [place.id])
        try place.verify()
    }

    @Test func publishOfUnchangedSourcesWritesNothing() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {v: 1e2, w: 0.1}, b: {filter_expression: env.x == 1}}")
        try await place.publish(at: now)
        let before = try place.files()
        // The same content, written differently.
        try place.write(
            "metadata: {}\nrecords:\n- {id: b, filter_expression: 'env.x == 1'}\n- {w: 0.10, v: 1e2, id: a}")
        #expect(try await place.publish(at: now.advanced(by: day)).status == .unchanged)
        #expect(try place.files() == before)
        #expect(try FileStore.list("\(place.dumps.path)/.rsdump") == nil)
    }

    @Test func metadataAloneKeepsTheTimestamp() async throws {
        let place = try await PublishingPlace.published(at: now)
        try place.write("metadata: {flags: [startup]}\nrecords: {a: {v: 1}}")
        let state = try await place.publish(at: now.advanced(by: day))
        #expect(state.status == .metadata && state.unsigned.timestamp == now)
        let bundle = try BundleReader(path: place.dumps.bundlePath(place.id))
        #expect(try bundle.metadata().json.text.contains(#""flags":["startup"]"#))
        try place.verify()
    }

    @Test func publishWithClockBehindMovesForward() async throws {
        let place = try await PublishingPlace.published(at: now)
        try place.write("records: {a: {v: 2}}")
        #expect(
            try await place.publish(at: now.advanced(by: .seconds(-3600))).unsigned.timestamp
                == now.advanced(by: .milliseconds(1)))
        try place.verify()
    }

    @Test func publishAfterFarFutureStateIsRefused() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {v: 1}}")
        let ahead = now.advanced(by: .seconds(10 * 86_400))
        try await place.publish(at: ahead)
        let before = try place.files()
        #expect(try await place.publish(at: now).status == .unchanged)
        try place.write("records: {a: {v: 2}}")
        await #expect(throws: Failure.clockBehind(place.id, present: ahead, time: now)) {
            try await place.publish(at: now)
        }
        try place.write("metadata: {flags: [startup]}\nrecords: {a: {v: 1}}")
        await #expect(throws: Failure.clockBehind(place.id, present: ahead, time: now)) {
            try await place.publish(at: now)
        }
        try place.keys.renew(named: nil, days: 90, environment: [:], now: now)
        let resigned = try await place.resign(.init(time: now))
        #expect(#expect(throws: Failure.self) { try resigned.result.get() }?.code == .untrusted)
        #expect(try place.files() == before)
    }

    @Test func publishTimeMustBeLater() async throws {
        let place = try await PublishingPlace.published(at: now)
        let before = try place.files()
        try place.write("records: {a: {v: 2}}")
        await #expect(throws: Failure.notLater(place.id, present: now, time: now)) {
            try await place.publish(at: now, isExact: true)
        }
        #expect(try place.files() == before)
    }

    @Test func publishIsReproducible() async throws {
        var texts: [Bytes] = []
        for _ in 0..<2 {
            let place = try PublishingPlace(at: now)
            try place.write("records: {b: {v: 1}, a: {v: 2, attachment: files/x.txt}}", to: "main/c/collection.yaml")
            try place.write("content", to: "main/c/files/x.txt")
            try await place.publish(at: now, isExact: true)
            texts.append(try BundleReader(path: place.dumps.bundlePath(place.id)).payloadText())
        }
        #expect(texts[0] == texts[1])
    }

    @Test func attachmentsArePackedAndKept() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {attachment: files/x.txt}}", to: "main/c/collection.yaml")
        try place.write("content", to: "main/c/files/x.txt")
        try await place.publish(at: now)
        let digest = SHA256Digest(hashing: Bytes(utf8: "content"))
        #expect(try BundleReader(path: place.dumps.bundlePath(place.id)).attachment(digest)?.text == "content")
        try place.write("other", to: "main/c/files/x.txt")
        #expect(try await place.publish(at: now.advanced(by: day)).status == .updated)
        let bundle = try BundleReader(path: place.dumps.bundlePath(place.id))
        #expect(!bundle.contains(digest) && bundle.attachments.count == 1)
        try place.verify()
    }

    @Test func resigningChangesSignaturesOnly() async throws {
        let place = try await PublishingPlace.published(at: now)
        let before = try BundleReader(path: place.dumps.bundlePath(place.id))
        let later = now.advanced(by: .seconds(80 * 86_400))
        var outcome = try await place.resign(.init(time: later))
        // With the same chain, there is no reason to sign again.
        #expect(try outcome.result.get().status == .unchanged)
        try place.keys.renew(named: nil, days: 90, environment: [:], now: later)
        outcome = try await place.resign(.init(time: later))
        #expect(try outcome.result.get().status == .resigned)
        #expect(try #require(outcome.chainEnd) > later.advanced(by: .seconds(80 * 86_400)))
        let after = try BundleReader(path: place.dumps.bundlePath(place.id))
        #expect(try before.payloadText() == after.payloadText())
        #expect(try before.chain() != after.chain())
        #expect(try await place.publish(at: later).status == .unchanged)
        try place.verify()
        let unknown = try CollectionID("main/unknown")
        await #expect(throws: Failure.notLocked([unknown], place.dumps.lockPath, known: [])) {
            try await place.publisher(.init(time: later)).resign([unknown])
        }
    }

    @Test func endingSignatureIsNoted() async throws {
        let place = try await PublishingPlace.published(at: now)
        let outcome = try await place.run(.init(time: now.advanced(by: .seconds(80 * 86_400))))
        #expect(outcome.notes.contains { $0.contains("--resign") })
    }

    @Test func publishRefusesDamagedBundle() async throws {
        let place = try await PublishingPlace.published(at: now)
        let path = place.dumps.bundlePath(place.id)
        var bytes = try #require(try FileStore.read(path, limit: 1 << 24)).array
        bytes[bytes.count / 2] ^= 1
        try FileStore.replace(path, with: Bytes(bytes))
        try place.write("records: {a: {v: 2}}")
        let error = await #expect(throws: Failure.self) { try await place.publish(at: now.advanced(by: day)) }
        #expect(error?.code == .damaged)
    }

    @Test func pinnedCollectionStays() async throws {
        let place = try await PublishingPlace.published(at: now)
        let text = try #require(try place.dumps.configurationText())
        try place.dumps.writeConfiguration(text + "    pin: \(now)\n")
        try place.write("records: {a: {v: 2}}")
        let refused = await #expect(throws: Failure.self) { try await place.publish(at: now.advanced(by: day)) }
        #expect(refused?.cause == .pin)
    }
}
