import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Which states are signed, signed again, or refused.
@Suite struct SigningAgainTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)

    private func days(_ count: Int) -> Timestamp { now.advanced(by: .seconds(86_400 * count)) }

    /// Adds an unsigned bundle to the dumps, as a commit that changes only `dumps/` could.
    private func plant(_ records: String, in place: PublishingPlace, at time: Timestamp) async throws {
        let payload = #"{"data":[\#(records)],"last_modified":"\#(time)"}"#
        let unverified = UnverifiedSnapshot(
            collection: place.id, payload: try Payload(parsing: Bytes(utf8: payload)),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: #"{"bucket":"main","id":"c"}"#)))
        let transaction = try await DumpsTransaction.begin(in: place.dumps)
        defer { try? transaction.end() }
        let planted = Snapshot(vouchingFor: unverified, chain: nil, provenance: .imported)
        let configuration = try place.dumps.configurationOrDefault()
        _ = try transaction.take(
            .init(snapshot: planted, attachments: [:], origin: "http://127.0.0.1:8888/v1"), by: configuration)
        try transaction.commit(configuration)
    }

    /// The next timestamp need not be later than an unsigned one, and no records or record timestamps are copied from
    /// an unsigned bundle. See Tests/Integration/commands/publish.txt for a test that such a bundle is never signed.
    @Test func publishIgnoresUnsignedTimestamp() async throws {
        let place = try PublishingPlace(at: now)
        try await plant(#"{"id":"evil","last_modified":1}"#, in: place, at: now.advanced(by: .seconds(86_000)))
        try place.write("records: {a: {v: 1}, evil: {}}")
        #expect(try await place.publish(at: now).timestamp == now)
        #expect(try place.records().map(\.lastModified) == [now, now])
        try place.verify()
    }

    /// The author of a lock file can forge its times, so the signature must be valid now.
    @Test func resignRefusesExpiredSignature() async throws {
        let place = try await PublishingPlace.published(at: now)
        let later = days(91)
        try place.keys.renew(named: nil, days: 90, environment: [:], now: later)
        let outcome = try await place.resign(.init(time: later))
        #expect(#expect(throws: Failure.self) { try outcome.result.get() }?.code == .untrusted)
        let published = try await place.run(.init(time: later))
        let state = try published.result.get()
        #expect(state.status == .resigned && state.timestamp == now)
        #expect(try #require(published.chainEnd) > later)
        try place.verify()
    }

    @Test func resignRefusesBundleOfOtherRoot() async throws {
        let (place, other) = (try await PublishingPlace.published(at: now), try PublishingPlace(at: now))
        let signer = try other.keys.signer([:])
        let outcome = try await place.resign(.init(time: days(1)), roots: [other.trusted], signer: signer)
        #expect(#expect(throws: Failure.self) { try outcome.result.get() }?.code == .untrusted)
        // Published from its source, it is signed for the new root. Of the old bundle, only the timestamp matters.
        let state = try await place.run(.init(time: days(1)), roots: [other.trusted], signer: signer).result.get()
        #expect(state.status == .updated && state.timestamp == days(1))
        try place.verify(roots: [other.trusted])
    }

    /// After a change to any option or input, the bundle is rewritten or a note explains why not.
    @Test(arguments: Change.allCases)
    func publishReportsIgnoredInputs(_ change: Change) async throws {
        let (place, other) = (try PublishingPlace(at: now), try PublishingPlace(at: now))
        try place.write("records: {a: {attachment: files/x.txt}}", to: "main/c/collection.yaml")
        try place.write("content", to: "main/c/files/x.txt")
        var options = Publisher.Options(time: now)
        options.overlap = try other.keys.signer([:])
        _ = try await place.run(options).result.get()
        let before = try place.files()
        options.time = days(1)
        let same = try await place.run(options)
        #expect(try same.result.get().status == .unchanged && same.notes.isEmpty)
        #expect(try place.files() == before)

        let third = try PublishingPlace(at: now)
        switch change {
        case .record: try place.write("records: {a: {v: 1, attachment: files/x.txt}}", to: "main/c/collection.yaml")
        case .metadata:
            try place.write(
                "metadata: {flags: [x]}\nrecords: {a: {attachment: files/x.txt}}", to: "main/c/collection.yaml")
        case .attachment: try place.write("other", to: "main/c/files/x.txt")
        case .exactTime: options.isExact = true
        case .server: options.server = "https://example.org/v1"
        case .noOverlap: options.overlap = nil
        case .otherOverlap: options.overlap = try third.keys.signer([:])
        case .renewedOverlap:
            try other.keys.renew(named: nil, days: 90, environment: [:], now: days(1))
            options.overlap = try other.keys.signer([:])
        case .renewedKeys: try place.keys.renew(named: nil, days: 90, environment: [:], now: days(1))
        case .attachmentRule:
            let text = try #require(try place.dumps.configurationText())
            try place.dumps.writeConfiguration(text + "    attachments: none\n")
        }
        let outcome = try await place.run(options)
        _ = try outcome.result.get()
        let isWritten = try place.files()["main/c.zip"] != before["main/c.zip"]
        #expect(isWritten || !outcome.notes.isEmpty, "\(change)")
        #expect(isWritten == ![Change.exactTime, .renewedKeys, .renewedOverlap].contains(change))
        try place.verify()
        // Renewed keys are used only when signing again is requested explicitly.
        let again = try await place.resign(options).result.get()
        #expect((again.status == .resigned) == [Change.renewedKeys, .renewedOverlap].contains(change))
        #expect(try await place.resign(options).result.get().status == .unchanged)
    }

    enum Change: CaseIterable {
        case record, metadata, attachment, exactTime, server, noOverlap, otherOverlap
        case renewedOverlap, renewedKeys, attachmentRule
    }

    /// Changes roots with a period in which both sign: at each step, clients that trust a signing root can verify the
    /// bundle offline.
    @Test func publishOverlapChangesRoots() async throws {
        let (place, other) = (try await PublishingPlace.published(at: now), try PublishingPlace(at: now))
        func check(_ step: String, _ readers: [[SHA256Digest]]) throws {
            for roots in readers {
                #expect(throws: Never.self, "\(step)") { try place.verify(roots: roots) }
            }
        }
        try check("A", [[place.trusted], [place.trusted, other.trusted]])
        var options = Publisher.Options(time: days(1))
        options.overlap = try other.keys.signer([:])
        let both = try await place.run(options).result.get()
        #expect(both.status == .resigned && both.timestamp == now)
        try check("A and B", [[place.trusted], [place.trusted, other.trusted], [other.trusted]])
        let bundle = try BundleReader(path: place.dumps.bundlePath(place.id))
        #expect(KeptChains(text: try #require(try bundle.chain())).chains.count == 2)
        // Replaces B with C, which only a comparison of the chains detects.
        let third = try PublishingPlace(at: now)
        options.overlap = try third.keys.signer([:])
        #expect(try await place.resign(options).result.get().status == .resigned)
        try check("A and C", [[place.trusted], [third.trusted]])
        #expect(throws: (any Error).self) { try place.verify(roots: [other.trusted]) }
        options.overlap = try other.keys.signer([:])
        _ = try await place.resign(options).result.get()
        // From now on, only the new root signs, although the lock file still lists the old one.
        let last = try await place.resign(
            .init(time: days(2)), roots: [other.trusted], signer: try other.keys.signer([:]))
        #expect(try last.result.get().status == .resigned)
        try check("B", [[other.trusted], [place.trusted, other.trusted]])
        #expect(throws: (any Error).self) { try place.verify(roots: [place.trusted]) }
    }

    @Test func publishRefusesNamedServer() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {v: 1}}")
        try FileStore.makeDirectories(place.dumps.path)
        try place.dumps.writeConfiguration("version: 1\nserver: prod\ncollections:\n")
        await #expect(throws: (any Error).self) { try await place.publish(at: now) }
        #expect(try !FileStore.exists(place.dumps.lockPath))
    }
}
