import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Forged or damaged data from a server, mirror or file never reaches the app. The client keeps its state, and the
/// error explains what was rejected.
@Suite struct LieTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// A collection synced with one record, and a second record that is only on the server.
    private func behind() async throws -> (ServerCollection, RemoteSettingsClient) {
        let (collection, client) = try await place.synced("a")
        try collection.put("b")
        return (collection, client)
    }

    /// Tries to sync, and checks that this client and a later process still serve the old state.
    ///
    /// - Returns: the text of the error.
    private func refusalKeepingOldState(of client: RemoteSettingsClient) async -> String {
        let said = await refusal(of: client)
        let later = place.service().makeClient(collectionName: client.collectionName)
        for client in [client, later] { #expect(client.records?.map(\.id) == ["a"]) }
        return said
    }

    @Test func badSignatureIsRefusedAfterOneFullRetry() async throws {
        let (collection, client) = try await behind()
        collection.sign([SignatureForm(isTampered: true)])
        let asked = place.server.requests.count
        #expect(await refusalKeepingOldState(of: client).contains("signature"))
        // One delta request and one full retry.
        #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains(collection.name) }.count == 2)
    }

    enum FalseChangeset: CaseIterable {
        case tamperedRecord, recordsOfTwoStates, ofAnotherCollection, ofAnotherBucket, withoutSignature
    }

    @Test(arguments: FalseChangeset.allCases) func falseChangesetIsRefused(_ kind: FalseChangeset) async throws {
        let (collection, _) = try await behind()
        let client = place.client(collection) { $0.acceptsUnsigned = kind == .withoutSignature }
        var answer = try collection.changeset()
        var said = "signature"
        switch kind {
        case .tamperedRecord: answer["changes"] = [["id": "a", "last_modified": 1, "evil": true]]
        case .recordsOfTwoStates:
            let old = answer["changes"]
            try collection.put("a", ["n": 2])
            answer = try collection.changeset()
            answer["changes"] = old
        case .ofAnotherCollection:
            let other = try place.collection("evil")
            (answer, said) = (try other.changeset(), other.id)
        case .ofAnotherBucket:
            (answer, said) = (try collection.changeset { $0["bucket"] = "security-state" }, "security-state/")
        case .withoutSignature: (answer, said) = (try collection.unsignedChangeset(), "no signature")
        }
        try place.serve(answer, as: collection)
        #expect(await refusalKeepingOldState(of: client).contains(said))
        place.server.inject([])
        try await client.sync()
        #expect(try state(of: client) == collection.state())
    }

    /// Chain URLs are not signed. One chain served under ever new URLs must not fill the disk.
    @Test func chainsUnderNewURLsAreStoredOnce() async throws {
        let collection = try place.collection()
        let client = place.client(collection)
        for round in 0..<5 {
            try collection.put("record-\(round)")
            let answer = try collection.changeset { metadata in
                var signature = try #require(metadata["signature"] as? [String: Any])
                let url = try #require(signature["x5u"] as? String)
                metadata["signatures"] = (0..<16).map { number in
                    signature["x5u"] = "\(url)?\(round)-\(number)"
                    return signature
                }
                metadata["signature"] = nil
            }
            try place.serve(answer, as: collection)
            try await client.sync()
        }
        #expect(client.records?.count == 5)
        let kept = try FileManager.default.contentsOfDirectory(atPath: "\(place.storage)/chains")
        #expect((1...64).contains(kept.count), "\(kept.count) chains are stored")
    }

    /// Mozilla's reader server sometimes rewrites only `signature.x5u`, so one of the chain URLs may be unreachable.
    @Test(arguments: ["signature", "signatures"])
    func unreachableChainURLUsesOtherSignature(rewritten: String) async throws {
        let collection = try place.collection("a")
        let answer = try collection.changeset { metadata in
            let reachable = try #require(metadata["signature"] as? [String: Any])
            var unreachable = reachable
            unreachable["x5u"] = "\(place.server.url.dropLast(3))/nothing.pem"
            metadata["signature"] = rewritten == "signature" ? reachable : unreachable
            metadata["signatures"] = [rewritten == "signature" ? unreachable : reachable]
        }
        try place.serve(answer, as: collection)
        let client = place.client(collection)
        try await client.sync()
        #expect(client.records?.count == 1)
    }

    @Test func rollbackOfServerIsRefused() async throws {
        let collection = try place.collection("a")
        let old = try collection.changeset()
        try collection.put("b")
        let client = place.client(collection)
        try await client.sync()
        try collection.put("c")
        try place.serve(old, as: collection)
        #expect(await refusal(of: client).contains("older state"))
        #expect(client.records?.count == 2)
    }

    /// A root was removed because its keys leaked. A state that the thief signed with a late timestamp is not read, and
    /// does not block honest states with earlier timestamps, whether its file is intact or damaged.
    @Test(arguments: [false, true]) func stateOfRemovedRootIsNoRollbackFloor(isDamaged: Bool) async throws {
        let collection = try place.collection()
        collection.sign([SignatureForm(.ofOtherRoot)])
        try collection.put("evil", ["last_modified": UInt64(Date().timeIntervalSince1970 + 20 * 3600) * 1000])
        let both = TrustAnchors(place.server.root.roots + place.server.otherRoot.roots)
        try await place.client(collection) { $0.trustRoots = both }.sync()
        if isDamaged { try place.files.damage(collection.id) }
        let honest = try place.server.makeCollection(id: collection.id)
        try honest.put("a")
        let client = place.client(collection)
        #expect(client.records == nil)
        try await client.sync()
        #expect(client.records?.map(\.id) == ["a"])
    }

    /// The high-water mark of a cache file still applies if the file's payload is damaged.
    @Test func rollbackIsRefusedAfterStoredStateIsDamaged() async throws {
        let collection = try place.collection("a")
        let old = try collection.changeset()
        try collection.put("b")
        try await place.client(collection).sync()
        try place.files.damage(collection.id)
        let client = place.client(collection)
        #expect(client.records == nil)
        try collection.put("c")
        try place.serve(old, as: collection)
        #expect(await refusal(of: client).contains("older state"))
        #expect(client.records == nil)
        place.server.inject([])
        try await client.sync()
        #expect(client.records?.count == 3)
    }

    @Test(
        arguments: [
            ("status 503", .status(503)), ("truncated", .truncated(50)), ("not JSON", .body("<html>")),
            ("endless", .endless), ("gzip bomb", .gzipBomb(64 << 20)), ("redirect loop", .redirectLoop),
        ] as [(String, Fault.Effect)])
    func brokenAnswerIsRefused(_ fault: String, effect: Fault.Effect) async throws {
        let (collection, _) = try await behind()
        let client = place.client(collection) {
            $0.limits.changesetBytes = 1 << 20
            $0.limits.tries = 2
        }
        place.server.inject([Fault("/\(collection.name)/changeset", effect: effect)])
        let said = await refusalKeepingOldState(of: client)
        #expect(said.contains(collection.name))
        #expect(said.contains("\(1 << 20) bytes") == ["endless", "gzip bomb"].contains(fault), "\(said)")
        place.server.inject([])
        try await client.sync()
        #expect(client.records?.count == 2)
    }

    /// Changing any byte of a cache file never makes it serve other records. Every 17th byte is tried.
    @Test func damagedCacheFileServesNoOtherRecord() async throws {
        let collection = try place.collection(with: ["a": ["text": "the truth"]])
        let dumps = try await place.package([collection])
        try collection.put("b", ["text": "the truth"])
        let first = place.client(collection)
        try await first.sync()
        let held = try #require(first.records)
        let file = try place.files.file(collection.id)
        let good = try Data(contentsOf: file)
        var refused = 0
        for offset in stride(from: 0, to: good.count, by: 17) {
            var bad = good
            bad[offset] ^= 0x11
            try bad.write(to: file)
            let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
            let records = try #require(client.records)
            if client.status.source == .cached {
                // The changed byte does not affect the signature.
                #expect(records == held)
            } else {
                refused += 1
                #expect(records.map(\.id) == ["a"])
                #expect(client.status.unused.contains { $0.source == .cached })
            }
        }
        #expect(refused > 0)
    }

    /// The cache file of another collection is stored under this collection's name.
    @Test func storedStateOfAnotherCollectionIsRefused() async throws {
        let (collection, _) = try await behind()
        let (other, _) = try await place.synced("evil")
        try Data(contentsOf: place.files.file(other.id)).write(to: place.files.file(collection.id))
        #expect(place.client(collection).records == nil)
    }

    /// The bundle is in a directory that others can write to.
    @Test func damagedBundleServesNoOtherRecord() async throws {
        let collection = try place.collection(with: ["a": ["text": String(repeating: "the truth ", count: 50)]])
        let dumps = try await place.package([collection])
        let file = URL(fileURLWithPath: "\(dumps)/main/\(collection.name).zip")
        let good = try Data(contentsOf: file)
        let config = place.config { $0.packaged = [.directory(dumps)] }
        _ = try RemoteSettingsService(storageDirectory: place.storage, validating: config)
        let held = try #require(place.client(collection) { $0 = config }.records)
        var refused = 0
        for offset in stride(from: 0, to: good.count, by: 11) {
            var bad = good
            bad[offset] ^= 0x24
            // Replace the file atomically, as an update does: an open mapping keeps the old file.
            try bad.write(to: file, options: .atomic)
            let client = place.client(collection) { $0 = config }
            if let records = client.records {
                #expect(records == held)
            } else {
                refused += 1
                #expect(client.status.unused.count == 1)
                #expect(throws: RemoteSettingsError.self, "byte \(offset)") {
                    try RemoteSettingsService(storageDirectory: place.storage, validating: config)
                }
            }
        }
        #expect(refused > 0)
    }
}
