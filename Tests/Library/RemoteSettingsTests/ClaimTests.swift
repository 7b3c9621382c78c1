import Foundation
import RemoteSettings
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

extension ServerTests {
    /// A sync believes what a file says of itself only in so far as nothing is fetched. A read refuses what is forged,
    /// and the sync after it fetches the truth.
    @Suite struct ClaimTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        private func path(_ collection: ServerCollection, in storage: String) -> String {
            "\(storage)/\(collection.id).snapshot"
        }

        /// A client as a process that has just started has it.
        private func client(
            _ collection: ServerCollection, _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
        ) -> RemoteSettingsClient {
            place.service(change).makeClient(collectionName: collection.name)
        }

        /// Syncs, and counts the requests for the collection itself.
        private func fetches(_ collection: ServerCollection, by client: RemoteSettingsClient) async throws -> Int {
            let asked = place.server.requests.count
            try await client.sync()
            return place.server.requests.dropFirst(asked).filter { $0.path.contains("/\(collection.name)/") }.count
        }

        /// Replaces a number in the first line of a cache file.
        private func forge(_ collection: ServerCollection, _ old: UInt64, by new: UInt64) throws {
            let file = URL(fileURLWithPath: path(collection, in: place.storage))
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            let end = try #require(text.firstIndex(of: "\n"))
            let line = text[..<end].replacing("\"timestamp\":\(old)", with: "\"timestamp\":\(new)")
            try #require(line != text[..<end])
            try Data((line + text[end...]).utf8).write(to: file)
        }

        @Test func unchangedSyncLooksAtTheFirstLineAlone() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(collection).sync()
            // Whoever reads the payload would refuse it, and set the file aside.
            let file = path(collection, in: place.storage)
            var content = try Data(contentsOf: URL(fileURLWithPath: file))
            content[content.count - 3] ^= 1
            try content.write(to: URL(fileURLWithPath: file))
            let reader = client(collection)
            #expect(try await fetches(collection, by: reader) == 0)
            #expect(FileManager.default.fileExists(atPath: file))
            #expect(reader.getRecords() == nil)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(try await fetches(collection, by: client(collection)) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
        }

        @Test func oldStateUnderTheServersTimestamp() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let old = try collection.timestamp()
            let first = client(collection)
            try await first.sync()
            let dumps = try await place.package([collection])
            try collection.put("b")
            try forge(collection, old, by: collection.timestamp())
            let reader = client(collection) { $0.packaged = [.directory(dumps)] }
            #expect(try await fetches(collection, by: reader) == 0)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
            #expect(reader.snapshot.source != .cached)
            // In the process that has refused it, and in a later one.
            #expect(try await fetches(collection, by: reader) > 0)
            #expect(reader.getRecords()?.map(\.id) == ["a", "b"])
        }

        /// A state that another root vouches for is set aside by the read that refuses it.
        @Test func stateOfAnotherRootUnderTheServersTimestamp() async throws {
            let collection = try place.server.makeCollection()
            let forger = try Workplace()
            let forged = try forger.server.makeCollection(id: collection.id)
            let time = Timestamp(milliseconds: 1_700_000_000_000)
            forged.load(["evil": #"{"id":"evil","last_modified":1700000000000}"#], files: [], timestamp: time)
            forged.sign([SignatureForm(.ofOtherRoot)])
            try await forger.service { $0.trustRoots = forger.server.otherRoot }
                .makeClient(collectionName: forged.name).sync()
            collection.load(["a": #"{"id":"a","last_modified":1700000000000}"#], files: [], timestamp: time)
            try FileManager.default.createDirectory(
                atPath: "\(place.storage)/\(collection.bucket)", withIntermediateDirectories: true)
            let file = path(collection, in: place.storage)
            try FileManager.default.copyItem(atPath: path(forged, in: forger.storage), toPath: file)
            let reader = client(collection)
            #expect(try await fetches(collection, by: reader) == 0)
            #expect(reader.getRecords() == nil)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(FileManager.default.fileExists(atPath: file + ".damaged"))
            #expect(try await fetches(collection, by: client(collection)) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
            #expect(try await fetches(collection, by: client(collection)) == 0)
        }

        @Test func claimToBeNewerThanTheServer() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let time = try collection.timestamp()
            try await client(collection).sync()
            try forge(collection, time, by: time + 1)
            let reader = client(collection)
            #expect(try await fetches(collection, by: reader) == 1)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
        }

        @Test func claimOfAnotherServerOrWithoutASignature() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(collection).sync()
            let file = URL(fileURLWithPath: path(collection, in: place.storage))
            let good = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            for (old, new) in [("\"server\":\"", "\"server\":\"https://other.test/"), ("\"chain\":", "\"train\":")] {
                try Data(good.replacing(old, with: new, maxReplacements: 1).utf8).write(to: file)
                #expect(try await fetches(collection, by: client(collection)) == 1, "\(old)")
                #expect(client(collection).getRecords()?.map(\.id) == ["a"])
            }
        }

        /// A bundle of the program that is broken has the server's timestamp. The first sync finds out.
        @Test func brokenBundleOfTheProgram() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a", ["text": String(repeating: "the truth ", count: 50)])
            let dumps = try await place.package([collection])
            let packaged = [PackagedSource.directory(dumps, trusted: true)]
            #expect(try await fetches(collection, by: client(collection) { $0.packaged = packaged }) == 0)
            let bundle = URL(fileURLWithPath: "\(dumps)/\(collection.id).zip")
            var content = try Data(contentsOf: bundle)
            // The manifest, which comes first, has the name as well.
            let entry = try #require(content.ranges(of: Data("records.json".utf8)).dropFirst().first)
            content[entry.upperBound + 40] ^= 0x24
            try content.write(to: bundle, options: .atomic)
            let reader = client(collection) { $0.packaged = packaged }
            #expect(try await fetches(collection, by: reader) == 1)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
            #expect(try await fetches(collection, by: client(collection) { $0.packaged = packaged }) == 0)
        }

        /// Listeners hear of what another process stores, which shows only if a state is in use.
        @Test func stateThatSomebodyFollowsIsRead() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(collection).sync()
            let follower = client(collection)
            let changes = follower.changes
            try await follower.sync()
            try collection.put("b")
            try await client(collection).sync()
            _ = follower.getRecords()
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.created.map(\.id) == ["b"])
        }
    }
}
