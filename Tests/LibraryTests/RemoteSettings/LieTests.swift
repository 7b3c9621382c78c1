import Foundation
import RemoteSettings
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

extension ServerTests {
    /// No record of a lying server, mirror or file reaches the app. The client keeps what it had, and the error says
    /// what was refused.
    @Suite struct LieTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        /// A collection with one record, synced, and then another one on the server.
        private func behind() async throws -> (ServerCollection, RemoteSettingsClient) {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            try collection.put("b")
            return (collection, client)
        }

        /// Tries to sync, and finds the old state in place, here and in a process that starts later.
        ///
        /// - Returns: what the error says.
        private func refusal(of client: RemoteSettingsClient) async -> String {
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(client.records?.map(\.id) == ["a"])
            let later = place.service().makeClient(collectionName: client.collectionName)
            #expect(later.records?.map(\.id) == ["a"])
            return error.map { "\($0)" } ?? ""
        }

        /// Serves this changeset instead of the collection's own, with the monitor as it is.
        private func serve(_ changeset: [String: Any], as collection: ServerCollection) throws {
            let body = String(decoding: try JSONSerialization.data(withJSONObject: changeset), as: UTF8.self)
            place.server.inject([Fault("/\(collection.name)/changeset", effect: .body(body))])
        }

        @Test func badSignature() async throws {
            let (collection, client) = try await behind()
            collection.sign([SignatureForm(isTampered: true)])
            let asked = place.server.requests.count
            #expect(await refusal(of: client).contains("signature"))
            // One delta, one full retry, no more.
            #expect(place.server.requests.dropFirst(asked).filter { $0.path.contains(collection.name) }.count == 2)
        }

        @Test func otherRoot() async throws {
            let (collection, _) = try await behind()
            let client = place.service { $0.trustRoots = place.server.otherRoot }
                .makeClient(collectionName: collection.name)
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(error.map { "\($0)" }?.contains("root") == true)
            #expect(client.records == nil)
            #expect(
                client.status.unused.contains { rejected in
                    if case .notTrusted = rejected.reason { true } else { false }
                })
        }

        /// Nobody signs where a chain is: one chain under ever new URLs does not fill the disk.
        @Test func chainsUnderNewURLsAreStoredOnce() async throws {
            let collection = try place.server.makeCollection()
            let client = place.service().makeClient(collectionName: collection.name)
            for round in 0..<5 {
                try collection.put("record-\(round)")
                var answer = try collection.changeset()
                var metadata = try #require(answer["metadata"] as? [String: Any])
                var signature = try #require(metadata["signature"] as? [String: Any])
                let url = try #require(signature["x5u"] as? String)
                metadata["signatures"] = (0..<16).map { number in
                    signature["x5u"] = "\(url)?\(round)-\(number)"
                    return signature
                }
                metadata["signature"] = nil
                answer["metadata"] = metadata
                try serve(answer, as: collection)
                try await client.sync()
            }
            #expect(client.records?.count == 5)
            let kept = try FileManager.default.contentsOfDirectory(atPath: "\(place.storage)/chains")
            #expect((1...64).contains(kept.count), "\(kept.count) chains are stored")
        }

        /// Mozilla's reader rewrites `signature.x5u` alone in places.
        @Test(arguments: ["signature", "signatures"])
        func unreachableChainURLUsesOtherSignature(rewritten: String) async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["n": 1])
            var answer = try collection.changeset()
            var metadata = try #require(answer["metadata"] as? [String: Any])
            let reachable = try #require(metadata["signature"] as? [String: Any])
            var unreachable = reachable
            unreachable["x5u"] = "\(place.server.url.dropLast(3))/nothing.pem"
            metadata["signature"] = rewritten == "signature" ? reachable : unreachable
            metadata["signatures"] = [rewritten == "signature" ? unreachable : reachable]
            answer["metadata"] = metadata
            try serve(answer, as: collection)
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            #expect(client.records?.count == 1)
        }

        @Test func tamperedRecord() async throws {
            let (collection, client) = try await behind()
            var answer = try collection.changeset()
            answer["changes"] = [["id": "a", "last_modified": 1, "evil": true]]
            try serve(answer, as: collection)
            #expect(await refusal(of: client).contains("signature"))
            place.server.inject([])
        }

        @Test func mixedRecordsOfTwoStates() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["n": 1])
            let first = try collection.changeset()
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            try collection.put("b", ["n": 1])
            try collection.put("a", ["n": 2])
            var mixed = try collection.changeset()
            let old = try #require(first["changes"] as? [[String: Any]])
            let new = try #require(mixed["changes"] as? [[String: Any]])
            mixed["changes"] = old + new.filter { $0["id"] as? String == "b" }
            try serve(mixed, as: collection)
            #expect(await refusal(of: client).contains("signature"))
            place.server.inject([])
            try await client.sync()
            #expect(try state(of: client) == collection.state())
        }

        @Test func metadataOfAnotherCollection() async throws {
            let (collection, client) = try await behind()
            let other = try place.server.makeCollection()
            try other.put("evil")
            try serve(other.changeset(), as: collection)
            #expect(await refusal(of: client).contains(other.id))
            place.server.inject([])
        }

        @Test func metadataOfAnotherBucket() async throws {
            let (collection, client) = try await behind()
            var answer = try collection.changeset()
            var metadata = try #require(answer["metadata"] as? [String: Any])
            metadata["bucket"] = "security-state"
            answer["metadata"] = metadata
            try serve(answer, as: collection)
            #expect(await refusal(of: client).contains("security-state/"))
            place.server.inject([])
        }

        @Test func rollbackOfServerIsRefused() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let old = try collection.changeset()
            try collection.put("b")
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            try collection.put("c")
            try serve(old, as: collection)
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(error.map { "\($0)" }?.contains("older state") == true)
            #expect(client.records?.count == 2)
            place.server.inject([])
        }

        /// A root was removed because its keys leaked. What the thief had signed with a late timestamp is not read, and
        /// its timestamp keeps no honest state back, whether the file is intact or damaged.
        @Test(arguments: [false, true]) func stateOfRemovedRootIsNoRollbackFloor(isDamaged: Bool) async throws {
            let collection = try place.server.makeCollection()
            collection.sign([SignatureForm(.ofOtherRoot)])
            try collection.put("evil", ["last_modified": UInt64(Date().timeIntervalSince1970 + 20 * 3600) * 1000])
            let both = TrustAnchors(place.server.root.roots + place.server.otherRoot.roots)
            try await place.service { $0.trustRoots = both }.makeClient(collectionName: collection.name).sync()
            let file = try place.files.file(collection.id)
            if isDamaged { try Data(contentsOf: file).dropLast().write(to: file, options: .atomic) }
            try place.server.removeCollection(collection.id)
            let honest = try place.server.makeCollection(id: collection.id)
            try honest.put("a")
            let client = place.service().makeClient(collectionName: collection.name)
            #expect(client.records == nil)
            try await client.sync()
            #expect(client.records?.map(\.id) == ["a"])
        }

        /// The high-water mark outlives a cache file whose payload was damaged.
        @Test func rollbackIsRefusedAfterStoredStateIsDamaged() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let old = try collection.changeset()
            try collection.put("b")
            try await place.service().makeClient(collectionName: collection.name).sync()
            let file = try place.files.file(collection.id)
            var content = try Data(contentsOf: file)
            content.removeLast(5)
            try content.write(to: file)
            let client = place.service().makeClient(collectionName: collection.name)
            #expect(client.records == nil)
            try collection.put("c")
            try serve(old, as: collection)
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            place.server.inject([])
            #expect(error.map { "\($0)" }?.contains("older state") == true)
            #expect(client.records == nil)
            try await client.sync()
            #expect(client.records?.count == 3)
        }

        @Test func missingSignatureOfASignedCollection() async throws {
            let (collection, _) = try await behind()
            let client = place.service { $0.acceptsUnsigned = true }.makeClient(collectionName: collection.name)
            var answer = try collection.changeset()
            var metadata = try #require(answer["metadata"] as? [String: Any])
            metadata["signature"] = nil
            metadata["signatures"] = nil
            answer["metadata"] = metadata
            try serve(answer, as: collection)
            #expect(await refusal(of: client).contains("no signature"))
            place.server.inject([])
        }

        @Test(arguments: ["status 503", "truncated", "not JSON", "endless", "gzip bomb", "redirect loop"])
        func brokenAnswers(_ fault: String) async throws {
            let (collection, _) = try await behind()
            let client = place.service {
                $0.limits.changesetBytes = 1 << 20
                $0.limits.tries = 2
            }.makeClient(collectionName: collection.name)
            let path = "/\(collection.name)/changeset"
            let effect: Fault.Effect =
                switch fault {
                case "status 503": .status(503)
                case "truncated": .truncated(50)
                case "not JSON": .body("<html>")
                case "endless": .endless
                case "gzip bomb": .gzipBomb(64 << 20)
                default: .redirectLoop
                }
            place.server.inject([Fault(path, effect: effect)])
            let refusal = await refusal(of: client)
            #expect(refusal.contains(collection.name))
            #expect(refusal.contains("\(1 << 20) bytes") == ["endless", "gzip bomb"].contains(fault), "\(refusal)")
            place.server.inject([])
            try await client.sync()
            #expect(client.records?.count == 2)
        }

        /// Whichever byte of a cache file is changed, no other record is served. Every seventeenth byte is tried.
        @Test func damagedCacheFile() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["text": "the truth"])
            let dumps = try await place.package([collection])
            try collection.put("b", ["text": "the truth"])
            let first = place.service().makeClient(collectionName: collection.name)
            try await first.sync()
            let held = try #require(first.records)
            let file = try place.files.file(collection.id)
            let good = try Data(contentsOf: file)
            var refused = 0
            for offset in stride(from: 0, to: good.count, by: 17) {
                var bad = good
                bad[offset] ^= 0x11
                try bad.write(to: file)
                let client = place.service { $0.packaged = [.directory(dumps)] }
                    .makeClient(collectionName: collection.name)
                let records = try #require(client.records)
                if client.status.source == .cached {
                    // What was changed does not matter to the signature, such as the name of the server's metadata.
                    #expect(records == held)
                } else {
                    refused += 1
                    #expect(records.map(\.id) == ["a"])
                    #expect(client.status.unused.contains { $0.source == .cached })
                }
            }
            #expect(refused > 0)
        }

        @Test func damagedStoredStateIsReplacedBySync() async throws {
            let (collection, _) = try await behind()
            let file = try place.files.file(collection.id)
            let content = try Data(contentsOf: file)
            try Data(String(decoding: content, as: UTF8.self).replacing("\"id\":\"a\"", with: "\"id\":\"x\"").utf8)
                .write(to: file)
            let client = place.service().makeClient(collectionName: collection.name)
            #expect(client.records == nil)
            #expect(
                client.status.unused.contains { rejected in
                    if case .notTrusted = rejected.reason { rejected.source == .cached } else { false }
                })
            try await client.sync()
            #expect(client.records?.map(\.id) == ["a", "b"])
            #expect(place.files.states.count == 1)
        }

        /// A read with other roots destroys nothing.
        @Test func readWithOtherRootsKeepsStoredState() async throws {
            let (collection, held) = try await behind()
            let other = place.service { $0.trustRoots = place.server.otherRoot }
                .makeClient(collectionName: collection.name)
            #expect(other.records == nil)
            let client = place.service { $0.transport = NoTransport() }.makeClient(collectionName: collection.name)
            #expect(client.records == held.records)
        }

        /// Another collection's cache file under this one's name.
        @Test func storedStateOfAnotherCollectionIsRefused() async throws {
            let (collection, _) = try await behind()
            let other = try place.server.makeCollection()
            try other.put("evil")
            try await place.service().makeClient(collectionName: other.name).sync()
            try Data(contentsOf: place.files.file(other.id)).write(to: place.files.file(collection.id))
            #expect(place.service().makeClient(collectionName: collection.name).records == nil)
        }

        /// A packaged bundle in a directory that others may write to.
        @Test func damagedBundle() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["text": String(repeating: "the truth ", count: 50)])
            let dumps = try await place.package([collection])
            let file = URL(fileURLWithPath: "\(dumps)/main/\(collection.name).zip")
            let good = try Data(contentsOf: file)
            let service = place.service { $0.packaged = [.directory(dumps)] }
            let held = try #require(service.makeClient(collectionName: collection.name).records)
            var refused = 0
            for offset in stride(from: 0, to: good.count, by: 11) {
                var bad = good
                bad[offset] ^= 0x24
                // As a package is replaced: the file of an open mapping stays as it is.
                try bad.write(to: file, options: .atomic)
                let client = place.service { $0.packaged = [.directory(dumps)] }
                    .makeClient(collectionName: collection.name)
                if let records = client.records {
                    #expect(records == held)
                } else {
                    refused += 1
                    #expect(client.status.unused.count == 1)
                }
            }
            #expect(refused > 0)
        }

        @Test func storedStateOfAnotherServerIsNotUsed() async throws {
            let (collection, _) = try await behind()
            let client = place.service { config in
                config.server = .custom(url: "http://127.0.0.1:1/v1")
            }.makeClient(collectionName: collection.name)
            #expect(client.records == nil)
            #expect(
                client.status.unused.first?.reason
                    == .otherServer(found: place.server.url, expected: "http://127.0.0.1:1"))
            // Nothing is wrong with it: it is used again when its server is configured again.
            #expect(place.service().makeClient(collectionName: collection.name).records?.count == 1)
        }
    }
}
