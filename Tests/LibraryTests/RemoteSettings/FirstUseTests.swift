import Foundation
import Observation
import RemoteSettings
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

extension ServerTests {
    /// What an app runs into when it uses the library for the first time.
    @Suite struct FirstUseTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        private func reasons(_ client: RemoteSettingsClient) -> [String] { client.status.unused.map { "\($0)" } }

        @Test(arguments: [true, false])
        func packagedSignedStateServesForAnyServer(isTrusted: Bool) async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let dumps = try await place.package([collection])
            let service = place.service {
                $0.packaged = [.directory(dumps, trusted: isTrusted)]
                $0.server = .custom(url: "https://mirror.example/v1")
            }
            #expect(service.makeClient(collectionName: collection.name).records?.count == 1)
            // Without its root it does not, and neither does what nobody signed.
            let other = place.service {
                $0.packaged = [.directory(dumps, trusted: isTrusted)]
                $0.server = .custom(url: "https://mirror.example/v1")
                $0.trustRoots = .mozillaProduction
            }
            #expect(other.makeClient(collectionName: collection.name).records == nil)
        }

        @Test func trustedBundleWithDamagedChainServes() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let dumps = try await place.package([collection])
            let path = "\(dumps)/\(collection.bucket)/\(collection.name).zip"
            var content = try Data(contentsOf: URL(filePath: path))
            // The local header of the entry, and the beginning of its compressed bytes.
            let header = Data("PK\u{3}\u{4}".utf8)
            var name = try #require(content.range(of: Data("chain.pem".utf8)))
            while content[(name.lowerBound - 30)..<(name.lowerBound - 26)] != header {
                let others = name.upperBound..<content.endIndex
                name = try #require(content.range(of: Data("chain.pem".utf8), in: others))
            }
            content[name.upperBound + 20] ^= 0xFF
            try content.write(to: URL(filePath: path))
            let trusted = place.service { $0.packaged = [.directory(dumps, trusted: true)] }
            #expect(trusted.makeClient(collectionName: collection.name).records?.count == 1)
            let service = place.service { $0.packaged = [.directory(dumps)] }
            #expect(service.makeClient(collectionName: collection.name).records == nil)
        }

        @Test func validatingInitRefusesDamagedBundle() async throws {
            let collection = try place.server.makeCollection()
            for number in 0..<200 { try collection.put("r\(number)", ["text": "\(number) \(UUID())"]) }
            let dumps = try await place.package([collection])
            let config = place.config { $0.packaged = [.directory(dumps)] }
            _ = try RemoteSettingsService(storageDirectory: place.storage, validating: config)
            let path = URL(filePath: "\(dumps)/\(collection.bucket)/\(collection.name).zip")
            let good = try Data(contentsOf: path)
            for position in stride(from: 700, to: good.count, by: good.count / 20) {
                var content = good
                content[position] ^= 0x55
                try content.write(to: path)
                #expect(throws: RemoteSettingsError.self, "byte \(position)") {
                    try RemoteSettingsService(storageDirectory: place.storage, validating: config)
                }
            }
        }

        @Test func unknownCollectionNameIsExplained() throws {
            let service = place.service()
            #expect(reasons(service.makeClient(collectionName: "regoins")).first?.contains("check its name") == true)
            #expect(reasons(service.makeClient(collectionName: "a b")).first?.contains("a b") == true)
        }

        @Test func recordDecodingErrorNamesTheRecord() async throws {
            struct Market: Decodable { let name: String }
            let collection = try place.server.makeCollection()
            try collection.put("de", ["name": "Germany"])
            try collection.put("fr", ["name": 7])
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            let error = #expect(throws: RecordDecodingError.self) { try client.records(as: Market.self) }
            #expect(error?.record == "fr" && error?.collection == collection.name)
            var left: [String] = []
            #expect(client.records(as: Market.self) { left.append($0.record) }?.map(\.name) == ["Germany"])
            #expect(left == ["fr"])
        }

        private static let decodings = Mutex(0)

        @Test func recordsAreDecodedOncePerState() async throws {
            struct Counted: Decodable {
                init(from decoder: any Decoder) { FirstUseTests.decodings.withLock { $0 += 1 } }
            }
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            for _ in 0..<3 { #expect(try client.records(as: Counted.self)?.count == 1) }
            #expect(Self.decodings.withLock { $0 } == 1)
            try collection.put("b")
            try await client.sync()
            for _ in 0..<3 { #expect(try client.records(as: Counted.self)?.count == 2) }
            #expect(Self.decodings.withLock { $0 } == 3)
        }

        /// A view that reads records is updated by a sync and by a change of context.
        @Test func recordsAreObservable() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("all")
            try collection.put("beta", ["filter_expression": "env.channel == 'beta'"])
            let service = place.service()
            let client = service.makeClient(collectionName: collection.name)
            let changes = Collector<Int>()
            func watch() -> Int? {
                withObservationTracking {
                    client.records?.count
                } onChange: {
                    changes.add(1)
                }
            }
            #expect(watch() == nil)
            try await client.sync()
            #expect(changes.all.count == 1 && watch() == 1)
            try await client.sync()
            #expect(changes.all.count == 1)
            try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(channel: "beta") })
            #expect(changes.all.count == 2 && watch() == 2)
        }

        @Test func recordUpdatesStartWithHeldAndFollowContext() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("all")
            try collection.put("beta", ["filter_expression": "env.channel == 'beta'"])
            let service = place.service()
            let client = service.makeClient(collectionName: collection.name)
            var updates = client.recordUpdates().makeAsyncIterator()
            // It ends between the call and the first read.
            try await client.sync()
            #expect(await updates.next()?.count == 0)
            #expect(await updates.next()?.map(\.id) == ["all"])
            try service.updateConfig(config: place.config { $0.appContext = RemoteSettingsContext(channel: "beta") })
            #expect(await updates.next()?.map(\.id) == ["all", "beta"])
            client.shutdown()
            #expect(await updates.next() == nil)
        }

        @Test func lastCheckIsNilAfterFailedSync() async throws {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let service = place.service { $0.trustRoots = .mozillaProduction }
            let client = service.makeClient(collectionName: collection.name)
            await #expect(throws: RemoteSettingsError.self) { try await service.sync() }
            #expect(service.lastCheck == nil && service.inspect().lastCheck == nil)
            let good = place.service()
            let goodClient = good.makeClient(collectionName: collection.name)
            try await good.sync()
            #expect(good.lastCheck != nil)
            _ = (client, goodClient)
        }
    }
}
