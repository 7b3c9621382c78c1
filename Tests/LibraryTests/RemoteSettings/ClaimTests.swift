import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

@testable import RemoteSettings

extension ServerTests {
    /// A sync believes what a file says of itself only in so far as nothing is fetched. A read refuses what is forged,
    /// and the sync after it fetches the truth.
    @Suite struct ClaimTests {
        let place: Workplace

        init() throws { place = try Workplace() }

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

        /// Makes the index say something else of the stored state.
        private func claim(_ collection: ServerCollection, _ change: (StoredState) throws -> StoredState) throws {
            try place.files.change { index in
                let key = index.key(collection.id)
                index[key].synced.current = try index[key].synced.current.map(change)
            }
        }

        private func claim(_ collection: ServerCollection, timestamp: Timestamp) throws {
            try claim(collection) {
                StoredState(
                    file: $0.file, size: $0.size,
                    state: .init(timestamp: timestamp, payload: $0.state.payload),
                    server: $0.server, root: $0.root)
            }
        }

        /// A sync that has read nothing believes that a file is whole for a day after it was hashed. A read finds the
        /// damage at once.
        @Test func unchangedSyncReadsNoState() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(collection).sync()
            let file = try place.files.file(collection.id)
            let good = try Data(contentsOf: file)
            var content = good
            content[content.count - 3] ^= 1
            try content.write(to: file)
            let reader = client(collection)
            #expect(try await fetches(collection, by: reader) == 0)
            #expect(reader.getRecords() == nil)
            #expect(try await fetches(collection, by: reader) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
            try content.write(to: place.files.file(collection.id))
            let now = HTTPEnvironment.system.now
            let tomorrow = client(collection) { $0.environment.now = { now().advanced(by: .seconds(86_500)) } }
            #expect(try await fetches(collection, by: tomorrow) == 1)
            // A file of another size, or none, is noticed at once.
            try good.dropLast().write(to: place.files.file(collection.id))
            #expect(try await fetches(collection, by: client(collection)) == 1)
            try FileManager.default.removeItem(at: place.files.file(collection.id))
            #expect(try await fetches(collection, by: client(collection)) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
        }

        @Test func oldStateUnderTheServersTimestamp() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let first = client(collection)
            try await first.sync()
            let dumps = try await place.package([collection])
            try collection.put("b")
            try claim(collection, timestamp: collection.timestamp())
            let reader = client(collection) { $0.packaged = [.directory(dumps)] }
            #expect(try await fetches(collection, by: reader) == 0)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
            #expect(reader.status.source != .cached)
            // In the process that has refused it, and in a later one.
            #expect(try await fetches(collection, by: reader) > 0)
            #expect(reader.getRecords()?.map(\.id) == ["a", "b"])
        }

        /// A state that another root vouches for is not what is held, and is not destroyed by a read.
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
            try place.files.replace(collection.id, by: Data(contentsOf: forger.files.file(forged.id)))
            let file = try place.files.file(collection.id).path
            let reader = client(collection)
            #expect(reader.getRecords() == nil)
            #expect(FileManager.default.fileExists(atPath: file))
            #expect(try await fetches(collection, by: client(collection)) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
            #expect(try await fetches(collection, by: client(collection)) == 0)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
        }

        @Test func claimToBeNewerThanTheServer() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let time = try collection.timestamp()
            try await client(collection).sync()
            try claim(collection, timestamp: time.advanced(by: .milliseconds(1)))
            let reader = client(collection)
            #expect(try await fetches(collection, by: reader) == 1)
            #expect(reader.getRecords()?.map(\.id) == ["a"])
        }

        @Test func claimOfAnotherServerOrWithoutASignature() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            try await client(collection).sync()
            try claim(collection) {
                StoredState(
                    file: $0.file, size: $0.size, state: $0.state, server: "https://other.test", root: $0.root)
            }
            #expect(try await fetches(collection, by: client(collection)) == 1)
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
            try claim(collection) {
                StoredState(file: $0.file, size: $0.size, state: $0.state, server: $0.server, root: nil)
            }
            try await client(collection).sync()
            #expect(client(collection).getRecords()?.map(\.id) == ["a"])
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
            let changes = follower.changes()
            try await follower.sync()
            try collection.put("b")
            try await client(collection).sync()
            _ = follower.getRecords()
            var iterator = changes.makeAsyncIterator()
            #expect(await iterator.next()?.created.map(\.id) == ["b"])
        }
    }
}
