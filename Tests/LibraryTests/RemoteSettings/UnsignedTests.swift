import Foundation
import RemoteSettingsTesting
import Testing

/// If the configuration accepts collections without signature: one that is known to be signed stays signed.
@Suite struct UnsignedTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// A signed collection with the record `a`, packaged.
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

    /// The collection's answer without signatures, for as long as `body` runs.
    private func withoutSignatures<Value>(
        _ collection: ServerCollection, _ body: () async throws -> Value
    ) async throws -> Value {
        try place.serve(collection.unsignedChangeset(), as: collection)
        defer { place.server.inject([]) }
        return try await body()
    }

    /// Writes what an attacker with access to the storage directory could: no signature, another record, a newer
    /// time.
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
            // Whether or not the package's records are wanted.
            #expect(client.records(matching: .init(usesPackaged: false)) == nil)
        }
        // Even if the package itself cannot serve.
        let untrusting = client(collection, [.directory(dumps)]) { $0.trustRoots = place.server.otherRoot }
        #expect(untrusting.records == nil)
        // The next sync puts a signed state in its place.
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
            // Even if the package itself cannot serve.
            let untrusting = self.client(collection, [.directory(dumps)]) { $0.trustRoots = place.server.otherRoot }
            #expect(await refusal(of: untrusting).contains("no signature"))
            #expect(untrusting.records == nil)
        }
    }

    /// A cache file that was signed is remembered if it cannot serve, until the storage is reset.
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
            // Twice: the first one has set a damaged file aside.
            for _ in 0..<2 { #expect(await refusal(of: fresh()).contains("no signature")) }
            let client = fresh()
            try await client.resetStorage()
            try await client.sync()
            #expect(client.status.provenance == .unsigned)
            #expect(client.records?.map(\.id) == ["a", "b"])
        }
    }

    /// A directory that others may write to cannot take a signature away; the program itself can.
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
        // And from then on the server's word without signature is enough.
        try collection.put("c")
        _ = try await withoutSignatures(collection) { try await programs.sync() }
        #expect(client(collection, [.directory(dumps, trusted: true)]).records?.count == 3)
    }
}
