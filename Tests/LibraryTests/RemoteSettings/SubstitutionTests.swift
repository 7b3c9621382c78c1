import Foundation
import RemoteSettingsTesting
import Testing

/// The signature covers records and timestamp, but not the collection's name. These tests show when one signed
/// collection can be substituted for another.
@Suite struct SubstitutionTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// Serves the state of another collection as this one's, with rewritten metadata.
    private func pass(off other: ServerCollection, as collection: ServerCollection) throws {
        try place.serve(
            other.changeset { ($0["bucket"], $0["id"]) = (collection.bucket, collection.name) }, as: collection)
    }

    /// Makes `other`, and then the newer `collection`, with the record `a` in a package and also `b` on the server.
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

    /// The lock file assigns bundles to collections, and each bundle states its collection.
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

    /// Known limitation, described in the trust article: a newer collection of the same signer is accepted.
    @Test func substitutedCollectionOfSameSignerIsAccepted() async throws {
        let (collection, other, dumps) = try await collections()
        try other.put("newer")
        try pass(off: other, as: collection)
        let client = place.client(collection) { $0.packaged = [.directory(dumps)] }
        try await client.sync()
        #expect(client.records?.contains { $0.id == "evil" } == true)
    }

    /// If the monitor lists a state older than the stored one, there is nothing to sync. This is not a rollback.
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
