import Foundation
import RemoteSettingsTesting
import Testing

/// The signature covers records and timestamp, not the collection's name. What narrows the passing off of one
/// signed collection as another, and what it leaves.
@Suite struct SubstitutionTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// Serves another collection's state as this one's, with its metadata rewritten.
    private func pass(off other: ServerCollection, as collection: ServerCollection) throws {
        try place.serve(
            other.changeset { ($0["bucket"], $0["id"]) = (collection.bucket, collection.name) }, as: collection)
    }

    /// `other` is older than `collection`, which has the record `a` packaged, and `b` on the server.
    private func collections(
        _ bucket: String = "main"
    ) async throws -> (collection: ServerCollection, other: ServerCollection, dumps: String) {
        let other = try place.server.makeCollection(bucket)
        try other.put("evil")
        let collection = try place.collection("a")
        let dumps = try await place.package([collection])
        try collection.put("b")
        return (collection, other, dumps)
    }

    @Test func stateOfOtherBucketsSignerIsRefused() async throws {
        let (collection, other, _) = try await collections("security-state")
        try other.put("newer")
        try pass(off: other, as: collection)
        let client = place.client(collection)
        #expect(await refusal(of: client).contains("remote-settings.content-signature.mozilla.org"))
        #expect(client.records == nil)
    }

    @Test func stateOlderThanPackageIsRefused() async throws {
        let (collection, other, dumps) = try await collections()
        try pass(off: other, as: collection)
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        #expect(await refusal(of: client).contains("older state"))
        #expect(client.records?.map(\.id) == ["a"])
    }

    /// The lock says which bundle is whose, and each bundle says which collection it is of.
    @Test func exchangedPackagedBundlesAreRefused() async throws {
        let (collection, other, _) = try await collections()
        let dumps = try await place.package([collection, other], as: "both")
        try FileManager.default.removeItem(atPath: "\(dumps)/main/\(collection.name).zip")
        try FileManager.default.copyItem(
            atPath: "\(dumps)/main/\(other.name).zip", toPath: "\(dumps)/main/\(collection.name).zip")
        for isTrusted in [false, true] {
            let client = place.client(collection) { $0.packaged = [.directory(dumps, trusted: isTrusted)] }
            #expect(client.records == nil)
            guard case .damaged(let why)? = client.status.unused.first?.reason else {
                return #expect(Bool(false), "\(client.status)")
            }
            #expect(why.contains(other.name))
        }
    }

    /// What is left: a newer collection of the same signer passes. The trust article says so.
    @Test func substitutedCollectionOfSameSignerIsAccepted() async throws {
        let (collection, other, dumps) = try await collections()
        try other.put("newer")
        try pass(off: other, as: collection)
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        try await client.sync()
        #expect(client.records?.contains { $0.id == "evil" } == true)
    }

    /// A monitor that knows of an older state than what is held is no rollback: there is nothing new.
    @Test func olderMonitorIsNoRollback() async throws {
        let (collection, _, _) = try await collections()
        let monitor = try place.server.monitor()
        try collection.put("c")
        let client = place.client(collection)
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
