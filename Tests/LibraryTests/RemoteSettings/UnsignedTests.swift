import Foundation
import RemoteSettingsTesting
import Testing

/// A collection known to be signed must stay signed, even if the configuration accepts unsigned collections.
@Suite struct UnsignedTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// A signed and packaged collection with the record `a`.
    private func packaged() async throws -> (ServerCollection, String) {
        let collection = try place.collection("a")
        return (collection, try await place.package([collection]))
    }

    private func client(
        _ collection: ServerCollection, _ packaged: [PackagedSource] = [],
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteSettingsClient {
        place.client(collection) {
            ($0.acceptsUnsigned, $0.packaged) = (true, packaged)
            change(&$0)
        }
    }

    /// Serves the collection without signatures while `body` runs.
    private func withoutSignatures<Value>(
        _ collection: ServerCollection, _ body: () async throws -> Value
    ) async throws -> Value {
        try place.serve(collection.unsignedChangeset(), as: collection)
        defer { place.server.inject([]) }
        return try await body()
    }

    /// Forges a stored state, as an attacker with access to the storage directory could: without signature, with a
    /// different record and a newer timestamp.
    private func forgeUnsigned(_ collection: ServerCollection) throws {
        let content = try Data(contentsOf: place.files.file(collection.id))
        let end = try #require(content.firstIndex(of: UInt8(ascii: "\n")))
        let head = try JSONSerialization.jsonObject(with: content[..<end])
        var members = try #require(head as? [String: Any])
        let time = try #require((members["timestamp"] as? NSNumber)?.uint64Value) + 5
        let payload = Data(#"{"data":[{"id":"evil","last_modified":1}],"last_modified":"\#(time)"}"#.utf8)
        (members["chain"], members["verifiedAt"]) = (nil, nil)
        members["metadata"] = #"{"id":"\#(collection.name)","bucket":"main"}"#
        members["timestamp"] = time
        members["payloadBytes"] = payload.count
        try place.files.replace(
            collection.id, by: JSONSerialization.data(withJSONObject: members) + Data("\n".utf8) + payload)
    }

    @Test func signedPackageRefusesUnsignedStoredState() async throws {
        let (collection, dumps) = try await packaged()
        try collection.put("b")
        try await client(collection).sync()
        try forgeUnsigned(collection)
        for source in [PackagedSource.directory(dumps), .directory(dumps, trusted: true)] {
            let client = client(collection, [source])
            #expect(client.records?.map(\.id) == ["a"])
            #expect(client.status.source == .packaged(dumps))
            #expect(client.status.unused.map(\.reason) == [.signatureLost])
            // The stored state is rejected even if packaged records are not requested.
            #expect(client.records(matching: .init(usesPackaged: false)) == nil)
        }
        // The same if the package itself is not trusted.
        let untrusting = client(collection, [.directory(dumps)]) { $0.trustRoots = place.server.otherRoot }
        #expect(untrusting.records == nil)
        // The next sync replaces the forged state with a signed one.
        let next = client(collection, [.directory(dumps)])
        try await next.sync()
        #expect(next.status.source == .cached)
        #expect(try state(of: next) == collection.state())
    }

    @Test func signedPackageRefusesUnsignedServerState() async throws {
        let (collection, dumps) = try await packaged()
        try collection.put("b")
        try await withoutSignatures(collection) {
            let client = client(collection, [.directory(dumps)])
            #expect(await refusal(of: client).contains("no signature"))
            #expect(client.records?.map(\.id) == ["a"])
            // The same if the package itself is not trusted.
            let untrusting = self.client(collection, [.directory(dumps)]) { $0.trustRoots = place.server.otherRoot }
            #expect(await refusal(of: untrusting).contains("no signature"))
            #expect(untrusting.records == nil)
        }
    }

    /// A signed cache file that cannot be used still proves that the collection is signed, until the storage is reset.
    @Test(arguments: ["damaged", "of a root that is no longer pinned"])
    func unusableSignedStoredStateRefusesUnsigned(_ how: String) async throws {
        let (collection, _) = try await packaged()
        try await client(collection).sync()
        if how == "damaged" { try place.files.damage(collection.id) }
        func fresh() -> RemoteSettingsClient {
            client(collection) { if how != "damaged" { $0.trustRoots = place.server.otherRoot } }
        }
        #expect(fresh().records == nil)
        try collection.put("b")
        try await withoutSignatures(collection) {
            // Twice: the first sync may reject a damaged file, and the next one must still know the signature.
            for _ in 0..<2 { #expect(await refusal(of: fresh()).contains("no signature")) }
            let client = fresh()
            try await client.resetStorage()
            try await client.sync()
            #expect(client.status.provenance == .unsigned)
            #expect(client.records?.map(\.id) == ["a", "b"])
        }
    }

    /// A package that others can write to cannot make a signed collection unsigned; a trusted package can.
    @Test func unsignedPackageOverSignedStoredState() async throws {
        let (collection, _) = try await packaged()
        try await client(collection).sync()
        try collection.put("b")
        let dumps = try await withoutSignatures(collection) {
            try await place.package([collection], as: "unsigned", acceptsUnsigned: true)
        }
        let others = client(collection, [.directory(dumps)])
        #expect(others.records?.map(\.id) == ["a"])
        #expect(others.status.unused.map(\.reason) == [.signatureLost])
        let programs = client(collection, [.directory(dumps, trusted: true)])
        #expect(programs.records?.map(\.id) == ["a", "b"])
        #expect(programs.status.provenance == .unsigned)
        // From then on, the server may omit signatures as well.
        try collection.put("c")
        _ = try await withoutSignatures(collection) { try await programs.sync() }
        #expect(client(collection, [.directory(dumps, trusted: true)]).records?.count == 3)
    }
}
