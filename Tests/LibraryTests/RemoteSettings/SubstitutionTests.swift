import Foundation
import RemoteSettings
import RemoteSettingsTesting
import Testing

extension ServerTests {
    /// The signature covers records and timestamp, not the collection's name. What narrows the passing off of one
    /// signed collection as another, and what it leaves.
    @Suite struct SubstitutionTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        /// Serves another collection's state as this one's, with its metadata rewritten.
        private func pass(off other: ServerCollection, as collection: ServerCollection) throws {
            var answer = try other.changeset()
            var metadata = try #require(answer["metadata"] as? [String: Any])
            metadata["bucket"] = collection.bucket
            metadata["id"] = collection.name
            answer["metadata"] = metadata
            let body = String(decoding: try JSONSerialization.data(withJSONObject: answer), as: UTF8.self)
            place.server.inject([Fault("/\(collection.name)/changeset", effect: .body(body))])
        }

        private func refusal(of client: RemoteSettingsClient) async -> String {
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            place.server.inject([])
            return error.map { "\($0)" } ?? ""
        }

        /// `other` is older than `collection`, which has the record `a` packaged, and `b` on the server.
        private func collections(
            _ bucket: String = "main"
        ) async throws -> (collection: ServerCollection, other: ServerCollection, dumps: String) {
            let other = try place.server.makeCollection(bucket)
            try other.put("evil")
            let collection = try place.server.makeCollection()
            try collection.put("a")
            let dumps = try await place.package([collection])
            try collection.put("b")
            return (collection, other, dumps)
        }

        @Test func stateOfOtherBucketsSignerIsRefused() async throws {
            let (collection, other, _) = try await collections("security-state")
            try other.put("newer")
            try pass(off: other, as: collection)
            let client = place.service().makeClient(collectionName: collection.name)
            #expect(await refusal(of: client).contains("remote-settings.content-signature.mozilla.org"))
            #expect(client.records == nil)
        }

        @Test func stateOlderThanPackageIsRefused() async throws {
            let (collection, other, dumps) = try await collections()
            try pass(off: other, as: collection)
            let client = place.service { $0.packaged = [.directory(dumps)] }.makeClient(collectionName: collection.name)
            #expect(await refusal(of: client).contains("older state"))
            #expect(client.records?.map(\.id) == ["a"])
        }

        /// What was stored once is a floor, though the file be damaged since.
        @Test func stateOlderThanHighWaterMarkIsRefused() async throws {
            let (collection, other, _) = try await collections()
            try await place.service().makeClient(collectionName: collection.name).sync()
            let file = try place.files.file(collection.id)
            try Data(contentsOf: file).dropLast().write(to: file, options: .atomic)
            try collection.put("c")
            try pass(off: other, as: collection)
            let client = place.service().makeClient(collectionName: collection.name)
            #expect(await refusal(of: client).contains("older state"))
            #expect(client.records == nil)
        }

        /// The lock says which bundle is whose, and each bundle says which collection it is of.
        @Test func exchangedPackagedBundlesAreRefused() async throws {
            let (collection, other, _) = try await collections()
            let dumps = try await place.package([collection, other], as: "both")
            try FileManager.default.removeItem(atPath: "\(dumps)/main/\(collection.name).zip")
            try FileManager.default.copyItem(
                atPath: "\(dumps)/main/\(other.name).zip", toPath: "\(dumps)/main/\(collection.name).zip")
            for isTrusted in [false, true] {
                let client = place.service { $0.packaged = [.directory(dumps, trusted: isTrusted)] }
                    .makeClient(collectionName: collection.name)
                #expect(client.records == nil)
                guard case .damaged(let why)? = client.status.unused.first?.reason else {
                    Issue.record("\(client.status)")
                    return
                }
                #expect(why.contains(other.name))
            }
        }

        /// What is left: a newer collection of the same signer passes. The trust article says so.
        @Test func substitutedCollectionOfSameSignerIsAccepted() async throws {
            let (collection, other, dumps) = try await collections()
            try other.put("newer")
            try pass(off: other, as: collection)
            let client = place.service { $0.packaged = [.directory(dumps)] }.makeClient(collectionName: collection.name)
            try await client.sync()
            place.server.inject([])
            #expect(client.records?.contains { $0.id == "evil" } == true)
        }

        /// A monitor that knows of an older state than what is held is no rollback: there is nothing new.
        @Test func olderMonitorIsNoRollback() async throws {
            let (collection, _, _) = try await collections()
            let monitor = try place.server.monitor()
            try collection.put("c")
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            try collection.put("d")
            place.server.inject([Fault("monitor/collections/changes", effect: .body(monitor))])
            try await client.sync()
            #expect(client.records?.count == 3)
            place.server.inject([])
            try await client.sync()
            #expect(try state(of: client) == collection.state())
        }
    }
}
