@testable import Dumps
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

@Suite struct PublishedCatalogueTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private func days(_ count: Double) -> Timestamp {
        now.advanced(by: .milliseconds(Int64(count * 86_400_000)))
    }

    /// A place with two collections, and a catalogue of both.
    private func published(at time: Timestamp? = nil) async throws -> PublishingPlace {
        let place = try PublishingPlace(at: now)
        try place.configure()
        try place.write("records: {a: {v: 1}}")
        try place.write("records: {a: {v: 1}}", to: "main/other.yaml")
        try await place.publish(at: time ?? now)
        return place
    }

    @Test func whatOneRunPublishesIsOneCatalogue() async throws {
        let place = try await published()
        let first = try place.catalogue()
        #expect(first.number == 1 && first.publisher.description == "settings.example.org" && first.removed.isEmpty)
        #expect((first.made, first.confirmed, first.expires) == (now, now, days(7)))
        #expect(try place.dumps.lockFile(limits: Limits()).catalogue == .init(publisher: first.publisher, number: 1))
        try place.write("records: {a: {v: 2}}")
        let outcomes = try await place.run(at: days(1))
        let catalogue = try #require(outcomes.last?.catalogue)
        #expect(catalogue.status == .made && catalogue.changed == [place.id] && catalogue.added.isEmpty)
        let second = try place.catalogue()
        #expect(second.number == 2 && second.made == days(1))
        for (id, entry) in second.entries {
            let payload = try BundleReader(path: place.dumps.bundlePath(id)).payload()
            #expect(entry.payload == SHA256Digest(hashing: payload.bytes) && entry.timestamp == payload.timestamp)
            #expect(entry.records == payload.records.count)
        }
        #expect(try second.entries.keys.sorted() == [place.id, CollectionID("main/other")])
        // A delta: the record of what did not change keeps its time.
        let records = try BundleReader(path: place.dumps.bundlePath(Catalogue.collection)).payload().records
        #expect(records.record(id: "main_-other")?.lastModified == now)
        #expect(records.record(id: "catalogue")?.lastModified == days(1))
        #expect(try place.dumps.configuration().collections.map(\.id).count == 2)
        try place.verify()
    }

    /// Two publishers of one team must never get the same name.
    @Test func anOriginThatNobodyNamedGetsANameOfItsOwn() throws {
        func name(_ server: String?, _ chance: Double = 0.5) throws -> String {
            try PublisherName.suggested(for: server.map { try ServerURL($0, allowPlainHTTP: true) }, chance: chance)
                .description
        }
        for path in ["", ":443/v1", "/v2/"] {
            #expect(try name("https://Settings.example.org\(path)") == "settings.example.org")
        }
        let distinct = try [
            "https://settings.example.org/staging/v2", "https://settings.example.org/production/v2",
            "https://settings.example.org:8443", "http://settings.example.org", "https://staging.example.org",
        ].map { try name($0) }
        #expect(Set(distinct).count == distinct.count)
        #expect(distinct.prefix(4).allSatisfy { $0.hasPrefix("settings.example.org-") })
        let long = String(repeating: "a", count: 60) + ".example.org"
        for server in [
            nil, "http://127.0.0.1:8888/v1", "http://localhost:8888", "http://[::1]:1/v1", "https://10.0.0.7",
            "https://settings", "https://settings.local", "https://settings.internal", "https://a.home.arpa",
            "https://under_score.example.org", "https://\(long)",
        ] {
            let names = try [0, 0.25, 0.9999999999999999].map { try name(server, $0) }
            #expect(Set(names).count == 3 && names.allSatisfy { $0.hasPrefix("publisher-") }, "\(names)")
        }
    }

    @Test func theFirstPublicationNamesTheOrigin() async throws {
        let place = try PublishingPlace(at: now)
        try place.write("records: {a: {v: 1}}")
        var options = Publisher.Options(time: now)
        func run() async throws -> [Publisher.Outcome] { try await place.publisher(options).run(place.sources.read()) }
        func publisher() throws -> String? { try place.dumps.configuration().catalogue?.publisher.description }
        options.suggestedPublisher = PublisherName("first")
        let outcomes = try await run()
        #expect(outcomes.last?.catalogue?.catalogue.publisher.description == "first")
        #expect(outcomes.last?.notes.contains { $0.contains("has the publisher first") } == true)
        #expect(try publisher() == "first")
        // The run was killed before it wrote dumps.yaml.
        try FileStore.remove(place.dumps.configurationPath)
        options.suggestedPublisher = PublisherName("second")
        options.time = days(1)
        #expect(try await run().last?.catalogue?.status == .unchanged)
        #expect(try publisher() == "first")
        // Once there is a dumps.yaml, nothing is named by itself.
        try place.write("records: {a: {v: 2}}")
        #expect(try await run().flatMap(\.notes).isEmpty)
        options.declinesCatalogues = true
        await #expect {
            try await run()
        } throws: {
            "\($0)".contains("--no-catalogue: ")
        }
    }

    @Test func nobodyIsGivenCataloguesWhoDeclinesThemOrHasPublished() async throws {
        for isNew in [true, false] {
            let place = try PublishingPlace(at: now)
            try place.write("records: {a: {v: 1}}")
            var options = Publisher.Options(time: now)
            func run() async throws -> [CollectionID] {
                try await place.publisher(options).run(place.sources.read()).map(\.id)
            }
            if !isNew {
                #expect(try await run() == [place.id])
                try FileStore.remove(place.dumps.configurationPath)
            }
            options.suggestedPublisher = PublisherName("suggested")
            options.declinesCatalogues = isNew
            #expect(try await run() == [place.id])
            let text = try #require(try place.dumps.configurationText())
            #expect(try place.dumps.configuration().catalogue == nil)
            #expect(text.contains(isNew ? "\ncatalogue: off\n" : "\n# catalogue:\n"))
            #expect(try await run() == [place.id])
            #expect(try place.dumps.configurationText() == text)
        }
    }

    @Test func unchangedSourcesChangeNoByteForHalfOfTheTime() async throws {
        let place = try await published()
        let before = try place.files()
        for time in [now, days(1), days(3.49)] {
            #expect(try await place.run(at: time).last?.catalogue?.status == .unchanged)
            #expect(try place.files() == before)
        }
        let confirmed = try await place.run(at: days(3.5))
        #expect(confirmed.last?.catalogue?.status == .confirmed)
        let catalogue = try place.catalogue()
        #expect(catalogue.number == 1 && catalogue.made == now && catalogue.confirmed == days(3.5))
        #expect(catalogue.expires == days(10.5))
        #expect(try place.files()["main/c.zip"] == before["main/c.zip"])
    }

    @Test func anotherTimeToExpireIsAReasonToConfirm() async throws {
        let place = try await published()
        try place.configure(expiresAfter: "2d")
        #expect(try await place.run(at: days(0.1)).last?.catalogue?.status == .confirmed)
        #expect(try place.catalogue().expires == days(2.1))
        #expect(try await place.run(at: days(0.2)).last?.catalogue?.status == .unchanged)
    }

    @Test func aConfirmationRenewsTheTimeAndNothingElse() async throws {
        let place = try await published()
        let (before, first) = (try place.files(), try place.catalogue())
        try place.write("records: {a: {v: 2}}")
        let outcomes = try await place.publisher(.init(time: days(1))).confirm()
        #expect(outcomes.map(\.id) == [Catalogue.collection] && outcomes[0].catalogue?.status == .confirmed)
        let second = try place.catalogue()
        #expect(second.number == 1 && second.hasSameStates(as: first) && second.made == first.made)
        #expect(second.confirmed == days(1) && second.expires == days(8))
        #expect(try place.files()["main/c.zip"] == before["main/c.zip"])
        #expect(try place.files()["dumps.yaml"] == before["dumps.yaml"])
        // What others put into the directory is a catalogue of its own, as clients would refuse other states under one
        // number.
        try await place.dumps.removeCollections([CollectionID("main/other")])
        #expect(try await place.publisher(.init(time: days(2))).confirm()[0].catalogue?.status == .made)
        #expect(try place.catalogue().number == 2)
    }

    @Test func onlyACatalogueIsConfirmed() async throws {
        let place = try PublishingPlace(at: now)
        await #expect(throws: DumpsError.noCatalogueToConfirm(place.dumps.configurationPath)) {
            _ = try await place.publisher(.init(time: now)).confirm()
        }
        try place.configure()
        await #expect(throws: DumpsError.nothingToConfirm(place.dumps.path)) {
            _ = try await place.publisher(.init(time: now)).confirm()
        }
        #expect(try FileStore.list(place.dumps.path) == ["dumps.yaml"])
    }

    @Test func aRemovedCollectionIsSaidToBeRemoved() async throws {
        let place = try await published()
        let other = try CollectionID("main/other")
        try FileStore.remove("\(place.root)/sources/main/other.yaml")
        // Without a source it stays.
        #expect(try await place.run(at: days(1)).last?.catalogue?.status == .unchanged)
        try await place.dumps.removeCollections([other])
        let catalogue = try #require(try await place.run(at: days(2)).last?.catalogue)
        #expect(catalogue.status == .made && catalogue.removed == [other])
        let gone = try place.catalogue()
        #expect(gone.number == 2 && gone.removed == [other: 2] && gone.entries[other] == nil)
        try place.write("records: {a: {v: 5}}")
        try await place.run(at: days(3))
        #expect(try place.catalogue().removed == [other: 2])
        try place.write("records: {a: {v: 1}}", to: "main/other.yaml")
        #expect(try #require(try await place.run(at: days(4)).last?.catalogue).added == [other])
        let back = try place.catalogue()
        #expect(back.number == 4 && back.removed.isEmpty && back.entries[other] != nil)
    }

    @Test func aCollectionThatFailsKeepsItsPresentState() async throws {
        let place = try await published()
        let first = try place.catalogue()
        let text = try #require(try place.dumps.configurationText())
        try place.dumps.writeConfiguration(
            text.replacing("  main/other:", with: "  main/other:\n    pin: \(now)"))
        try place.write("records: {a: {v: 2}}")
        try place.write("records: {a: {v: 2}}", to: "main/other.yaml")
        let outcomes = try await place.run(at: days(1))
        #expect {
            try outcomes[1].result.get()
        } throws: {
            ($0 as? DumpsError)?.kind == .pin
        }
        let second = try place.catalogue()
        let other = try CollectionID("main/other")
        #expect(second.number == 2 && second.entries[other] == first.entries[other])
        #expect(second.entries[place.id] != first.entries[place.id])
    }

    @Test func anOriginKeepsItsName() async throws {
        let place = try await published()
        let before = try place.files()
        try place.configure(publisher: "staging.example.org")
        try place.write("records: {a: {v: 2}}")
        await #expect {
            try await place.run(at: days(1))
        } throws: {
            "\($0)".contains("the publisher in dumps.yaml is staging.example.org")
        }
        #expect(try place.files()["main/c.zip"] == before["main/c.zip"])
        try await place.dumps.removeCollections([Catalogue.collection])
        #expect(try place.dumps.lockFile(limits: Limits()).catalogue == nil)
        try await place.run(at: days(1))
        #expect(try place.catalogue().number == 1)
    }

    /// A catalogue with any number, signed by the place's own key, as somebody with a leaked one would.
    private func put(_ number: UInt64, into place: PublishingPlace, at time: Timestamp) async throws {
        let text = try #require(try place.dumps.configurationText())
        try await place.dumps.removeCollections([Catalogue.collection])
        try place.dumps.writeConfiguration(text.replacing("catalogue:", with: "#catalogue:"))
        try place.write(
            """
            {"records": {"catalogue": {"format": 1, "publisher": "settings.example.org", "number": \(number),
             "made": \(time), "confirmed": \(time), "expires": \(time)}}}
            """, to: "publisher/catalogue.json")
        _ = try await place.publisher(.init(time: time)).run(place.sources.read([Catalogue.collection])).map {
            try $0.result.get()
        }
        try FileStore.removeTree("\(place.root)/sources/catalogues")
        try place.dumps.writeConfiguration(text)
    }

    @Test func aNumberThatIsUsedUpIsHealedByALaterCertificate() async throws {
        let place = try await published()
        try await put(Catalogue.highestNumber, into: place, at: days(1))
        let forged = try place.verifiedCatalogue()
        #expect(forged.catalogue.number == Catalogue.highestNumber)
        await #expect(throws: DumpsError.numbersUsedUp(Catalogue.collection)) { try await place.run(at: days(1.1)) }
        try place.keys.renew(named: nil, days: 90, environment: [:], now: days(1.2))
        let outcomes = try await place.run(at: days(1.2))
        #expect(outcomes.last?.catalogue?.status == .made)
        let healed = try place.verifiedCatalogue()
        #expect(healed.catalogue.number == 1)
        try healed.checkSuccession(of: forged)
        #expect(throws: BundleError.self) { try forged.checkSuccession(of: healed) }
    }

    /// Of a number that no configured root vouches for, nothing counts.
    @Test func aNumberThatNobodySignedIsNoFloor() async throws {
        let place = try await published()
        let stranger = try await published()
        try await put(77, into: stranger, at: days(1))
        try FileStore.remove(place.dumps.bundlePath(Catalogue.collection))
        let bytes = try #require(try FileStore.read(stranger.dumps.bundlePath(Catalogue.collection), limit: 1 << 20))
        try FileStore.replace(place.dumps.bundlePath(Catalogue.collection), with: bytes)
        var lock = try place.dumps.lockFile(limits: Limits())
        lock.collections[Catalogue.collection] =
            try stranger.dumps.lockFile(limits: Limits()).collections[Catalogue.collection]
        try place.dumps.writeLock(lock)
        try await place.run(at: days(2))
        #expect(try place.catalogue().number == 1)
    }

    @Test func anOlderCertificatePublishesNothing() async throws {
        let place = try await published()
        let old = try place.keys.signer([:])
        try place.keys.renew(named: nil, days: 90, environment: [:], now: days(1))
        try place.write("records: {a: {v: 2}}")
        try await place.run(at: days(1))
        let before = try place.files()
        try place.write("records: {a: {v: 3}}")
        await #expect {
            try await place.publisher(.init(time: days(2)), signer: old).run(place.sources.read())
        } throws: {
            "\($0)".contains("sign with the newer keys")
        }
        await #expect {
            try await place.publisher(.init(time: days(2)), signer: old).confirm()
        } throws: {
            "\($0)".contains("sign with the newer keys")
        }
        #expect(try place.files() == before)
        #expect(try FileStore.list("\(place.dumps.path)/.rsdump") == nil)
    }

    @Test func aClockThatIsBehindConfirmsByTheNextMillisecondAndAtMostADay() async throws {
        let place = try await published(at: days(2))
        _ = try await place.publisher(.init(time: days(1.5))).confirm()
        let catalogue = try place.catalogue()
        #expect(catalogue.confirmed == days(2).advanced(by: .milliseconds(1)))
        #expect(catalogue.expires == days(9).advanced(by: .milliseconds(1)))
        let before = try place.files()
        await #expect {
            try await place.publisher(.init(time: now)).confirm()
        } throws: {
            "\($0)".contains("this machine's clock")
        }
        // Nothing changed, and nothing is due.
        #expect(try await place.run(at: now).last?.catalogue?.status == .unchanged)
        #expect(try place.files() == before)
    }

    @Test func twoRunsAtOneTimeAreTwoCatalogues() async throws {
        let place = try PublishingPlace(at: now)
        try place.configure()
        for (number, name) in ["c", "other"].enumerated() {
            try place.write("records: {a: {v: 1}}", to: "main/\(name).yaml")
            var options = Publisher.Options(time: now)
            options.isExact = true
            let source = try place.sources.read([CollectionID("main/\(name)")])
            for outcome in try await place.publisher(options).run(source) { _ = try outcome.result.get() }
            #expect(try place.catalogue().number == UInt64(number) + 1)
        }
        #expect(try place.catalogue().confirmed == now.advanced(by: .milliseconds(1)))
    }

    @Test func anExpiredCatalogueGoesOn() async throws {
        let place = try await published()
        _ = try await place.publisher(.init(time: days(40))).confirm()
        #expect(try place.catalogue().number == 1)
        try place.write("records: {a: {v: 2}}")
        try await place.run(at: days(80))
        #expect(try place.catalogue().number == 2)
    }

    /// A thief of the old key may have signed another catalogue of the same timestamp. Clients that hold it ask only
    /// for later ones.
    @Test func signingAgainByAnotherKeyConfirmsAndChangesNoNumber() async throws {
        let place = try await published()
        let before = try place.verifiedCatalogue()
        #expect(try await place.publisher(.init(time: days(1))).resign([]).count == 3)
        #expect(try place.verifiedCatalogue() == before)
        try place.keys.renew(named: nil, days: 90, environment: [:], now: days(1))
        #expect(try await place.publisher(.init(time: days(1))).resign([]).last?.catalogue?.status == .confirmed)
        let after = try place.verifiedCatalogue()
        #expect(
            after.catalogue.number == before.catalogue.number && after.catalogue.hasSameStates(as: before.catalogue))
        #expect(after.catalogue.confirmed == days(1))
        let lock = try place.dumps.lockFile(limits: Limits())
        #expect(lock.collections[Catalogue.collection]?.timestamp == days(1))
        #expect(lock.collections[place.id]?.timestamp == now)
        let (begins, began) = (try #require(after.certificateBegins), try #require(before.certificateBegins))
        #expect(begins > began)
        try after.checkSuccession(of: before)
        #expect(try await place.run(at: days(1)).last?.catalogue?.status == .unchanged)
    }

    /// Who proposes a change can write a bundle and the lock. A catalogue whose signature has ended is not signed
    /// again.
    @Test func aCatalogueThatNobodyVouchesForNowIsNotSignedAgain() async throws {
        let place = try await published()
        try place.keys.renew(named: nil, days: 90, environment: [:], now: days(91))
        let before = try place.files()
        await #expect {
            try await place.publisher(.init(time: days(91))).resign([])
        } throws: {
            ($0 as? DumpsError)?.code == .untrusted
        }
        #expect(try place.files() == before)
    }

    @Test func aSecondRootSeesTheSameCatalogue() async throws {
        let place = try await published()
        let others = KeyDirectory("\(place.root)/others")
        let root = try others.create(.init(), now: days(1))
        var options = Publisher.Options(time: days(1))
        options.overlap = try others.signer([:])
        _ = try await place.publisher(options).confirm()
        let first = try place.verifiedCatalogue()
        let second = try place.verifiedCatalogue(root)
        #expect(first.catalogue == second.catalogue)
        let (begins, other) = (try #require(first.certificateBegins), try #require(second.certificateBegins))
        #expect(begins < other)
    }

    @Test func whatNobodyVouchesForIsNotListed() async throws {
        let place = try await published()
        let stranger = try PublishingPlace(at: now)
        try stranger.write("records: {a: {v: 666}}")
        try stranger.write("records: {a: {v: 666}}", to: "main/new.yaml")
        try await stranger.run(at: now)
        func take(_ name: String) throws {
            let id = try CollectionID(name)
            let bytes = try #require(try FileStore.read(stranger.dumps.bundlePath(id), limit: 1 << 20))
            try FileStore.replace(place.dumps.bundlePath(id), with: bytes)
            var lock = try place.dumps.lockFile(limits: Limits())
            lock.collections[id] = try stranger.dumps.lockFile(limits: Limits()).collections[id]
            try place.dumps.writeLock(lock)
        }
        try take("main/new")
        let outcome = try #require(try await place.publisher(.init(time: days(1))).confirm().last)
        #expect(outcome.catalogue?.status == .confirmed)
        #expect(outcome.notes.contains { $0.contains("main/new was not added to the catalogue") })
        // One that is listed must not get the signature of the list.
        try take("main/c")
        await #expect {
            try await place.publisher(.init(time: days(2))).confirm()
        } throws: {
            "\($0)".contains("does not verify against a root")
        }
        #expect(try place.catalogue().confirmed == days(1))
        // Its own source replaces it.
        try await place.run(at: days(2))
        #expect(try place.catalogue().number == 2)
    }

    @Test func aSourceForTheCatalogueIsRefused() async throws {
        let place = try await published()
        try place.write("records: {a: {v: 1}}", to: "publisher/catalogue.yaml")
        let outcomes = try await place.run(at: days(1))
        let refused = try #require(outcomes.first { $0.id == Catalogue.collection && $0.catalogue == nil })
        #expect(throws: DumpsError.sourceOfCatalogue(Catalogue.collection)) { try refused.result.get() }
        let source = try #require(try place.sources.read([Catalogue.collection]).first)
        #expect(throws: DumpsError.sourceOfCatalogue(Catalogue.collection)) {
            try Publisher.check(source, place.dumps.configuration(), at: now)
        }
        #expect(try place.catalogue().number == 1)
    }

    @Test func aPreviewSaysWhatWouldBePublished() async throws {
        let place = try await published()
        try await place.dumps.removeCollections([CollectionID("main/other")])
        try FileStore.remove("\(place.root)/sources/main/other.yaml")
        try place.write("records: {a: {v: 2}}")
        let (states, catalogue) = try Publisher.preview(
            place.sources.read(), in: place.dumps, at: days(1))
        let next = try #require(catalogue)
        #expect(next.catalogue.number == 2 && next.changed == [place.id])
        #expect(try next.removed == [CollectionID("main/other")])
        try await place.run(at: days(1))
        #expect(try place.catalogue() == next.catalogue)
        let previewed = try #require(states[Catalogue.collection])
        let made = try BundleReader(path: place.dumps.bundlePath(Catalogue.collection)).payloadText()
        #expect(previewed.payload.bytes == made)
    }

    /// The process is killed when some bundles have their names, and some not.
    @Test(arguments: 0...3) func aCatalogueIsNamedAsAWhole(named: Int) async throws {
        let place = try await published()
        let (old, first) = (try place.dumps.lockFile(limits: Limits()), try place.files())
        try place.write("records: {a: {v: 2}}")
        try place.write("records: {a: {v: 2}}", to: "main/other.yaml")
        try await place.run(at: days(1))
        let new = try place.dumps.lockFile(limits: Limits())
        let ids = new.collections.keys.sorted()
        // Back to the moment at which the redo log was written.
        try place.dumps.prepareWork()
        for (number, id) in ids.enumerated() where number >= named {
            try FileStore.rename(place.dumps.bundlePath(id), to: place.dumps.packPath(id))
        }
        let log = RedoLog(
            replaces: SHA256Digest(hashing: Bytes(old.text)), staged: ids, removed: [], lock: new)
        try FileStore.replace(place.dumps.redoLogPath, with: Bytes(log.text))
        try place.dumps.writeLock(old)
        #expect(try await place.run(at: days(1)).last?.catalogue?.status == .unchanged)
        #expect(try place.dumps.lockFile(limits: Limits()) == new)
        #expect(try place.files() != first)
        #expect(try FileStore.list("\(place.dumps.path)/.rsdump") == nil)
        try place.verify()
    }

    /// Without a redo log, the bundles are not the directory's yet.
    @Test func whatWasOnlyPackedIsDropped() async throws {
        let place = try await published()
        let before = try place.files()
        try place.dumps.prepareWork()
        try FileStore.replace(place.dumps.packPath(place.id), with: #require(before["main/c.zip"]))
        #expect(try await place.run(at: days(1)).last?.catalogue?.status == .unchanged)
        #expect(try place.files() == before)
        #expect(try FileStore.list("\(place.dumps.path)/.rsdump") == nil)
    }

    @Test func aDirectoryThatAsksForCataloguesNoMoreHasNone() async throws {
        let place = try await published()
        let text = try #require(try place.dumps.configurationText())
        try place.dumps.writeConfiguration(text.replacing("catalogue:", with: "#catalogue:"))
        #expect(try await place.run(at: days(1)).allSatisfy { $0.catalogue == nil })
        #expect(try place.dumps.lockFile(limits: Limits()).catalogue == nil)
    }
}

extension PublishingPlace {
    /// Writes a `dumps.yaml` that asks for catalogues, or changes the one that is there.
    func configure(publisher: String = "settings.example.org", expiresAfter: String? = nil) throws {
        let catalogue = "catalogue: {publisher: \(publisher)\(expiresAfter.map { ", expires-after: \($0)" } ?? "")}"
        guard let text = try dumps.configurationText() else {
            try FileStore.makeDirectories(dumps.path)
            return try dumps.writeConfiguration(
                """
                version: 1
                server: http://127.0.0.1:8888/v1
                trust:
                  roots: ["\(trusted)"]
                \(catalogue)
                collections:

                """)
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("catalogue:") ? catalogue : String($0) }
        try dumps.writeConfiguration(lines.joined(separator: "\n"))
    }

    @discardableResult
    func run(at time: Timestamp) async throws -> [Publisher.Outcome] {
        try await publisher(.init(time: time)).run(sources.read())
    }

    func verifiedCatalogue(_ root: SHA256Digest? = nil) throws -> VerifiedCatalogue {
        let verifier = BundleVerifier(TrustPolicy(roots: TrustAnchors([root ?? trusted])), limits: Limits())
        return try #require(
            try dumps.packagedCatalogue(dumps.lockFile(limits: Limits()), by: verifier, limits: Limits()))
    }

    func catalogue() throws -> Catalogue { try verifiedCatalogue().catalogue }
}
