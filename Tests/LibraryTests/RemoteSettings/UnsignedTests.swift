import Foundation
import RemoteSettings
import RemoteSettingsTesting
import Testing

extension ServerTests {
    /// If the configuration accepts collections without signature: one that is known to be signed stays signed.
    @Suite struct UnsignedTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        /// A signed collection with the record `a`, packaged.
        private func packaged() async throws -> (ServerCollection, String) {
            let collection = try place.server.makeCollection()
            try collection.put("a")
            return (collection, try await place.package([collection]))
        }

        private func client(
            _ collection: ServerCollection, _ packaged: [PackagedSource] = [],
            _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
        ) -> RemoteSettingsClient {
            place.service {
                $0.acceptsUnsigned = true
                $0.packaged = packaged
                change(&$0)
            }.makeClient(collectionName: collection.name)
        }

        /// The collection's answer without signatures, for as long as `body` runs.
        private func withoutSignatures<Value>(
            _ collection: ServerCollection, _ body: () async throws -> Value
        ) async throws -> Value {
            var answer = try collection.changeset()
            var metadata = try #require(answer["metadata"] as? [String: Any])
            metadata["signature"] = nil
            metadata["signatures"] = nil
            answer["metadata"] = metadata
            let text = String(decoding: try JSONSerialization.data(withJSONObject: answer), as: UTF8.self)
            place.server.inject([Fault("/\(collection.name)/changeset", effect: .body(text))])
            let value = try await body()
            place.server.inject([])
            return value
        }

        private func refusal(of client: RemoteSettingsClient) async -> String {
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            return error.map { "\($0)" } ?? ""
        }

        private func snapshotFile(_ collection: ServerCollection) throws -> URL {
            try place.files.file(collection.id)
        }

        /// Writes what an attacker with access to the storage directory could: no signature, another record, a newer
        /// time.
        private func forgeUnsigned(_ collection: ServerCollection, from file: URL) throws {
            let content = try Data(contentsOf: file)
            let end = try #require(content.firstIndex(of: UInt8(ascii: "\n")))
            let head = try JSONSerialization.jsonObject(with: content[..<end])
            var members = try #require(head as? [String: Any])
            let time = try #require((members["timestamp"] as? NSNumber)?.uint64Value) + 5
            let payload = Data(#"{"data":[{"id":"evil","last_modified":1}],"last_modified":"\#(time)"}"#.utf8)
            members["chain"] = nil
            members["verifiedAt"] = nil
            members["metadata"] = #"{"id":"\#(collection.name)","bucket":"main"}"#
            members["timestamp"] = time
            members["payloadBytes"] = payload.count
            try place.files.replace(
                collection.id, by: JSONSerialization.data(withJSONObject: members) + Data("\n".utf8) + payload)
        }

        @Test func signedPackageRefusesUnsignedStoredState() async throws {
            let (collection, dumps) = try await packaged()
            try collection.put("b")
            let synced = client(collection)
            try await synced.sync()
            try forgeUnsigned(collection, from: snapshotFile(collection))
            for source in [PackagedSource.directory(dumps), .directory(dumps, trusted: true)] {
                let client = client(collection, [source])
                #expect(client.records?.map(\.id) == ["a"])
                #expect(client.status.source == .packaged(dumps))
                #expect(client.status.unused.map(\.reason) == [.signatureLost])
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
                let untrusting = self.client(collection, [.directory(dumps)]) {
                    $0.trustRoots = place.server.otherRoot
                }
                #expect(await refusal(of: untrusting).contains("no signature"))
                #expect(untrusting.records == nil)
            }
        }

        /// A cache file that was signed is remembered if it cannot serve, until the storage is reset.
        @Test(arguments: ["damaged", "of a root that is no longer pinned"])
        func unusableSignedStoredStateRefusesUnsigned(_ how: String) async throws {
            let (collection, _) = try await packaged()
            try await client(collection).sync()
            if how == "damaged" {
                var content = try Data(contentsOf: snapshotFile(collection))
                content[content.count - 20] ^= 1
                try content.write(to: snapshotFile(collection))
            }
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

        @Test func unsignedBecomesSigned() async throws {
            let (collection, _) = try await packaged()
            _ = try await withoutSignatures(collection) { try await client(collection).sync() }
            #expect(client(collection).status.provenance == .unsigned)
            try collection.put("b")
            let signed = client(collection)
            try await signed.sync()
            guard case .signed? = signed.status.provenance else {
                Issue.record("\(signed.status)")
                return
            }
            try collection.put("c")
            try await withoutSignatures(collection) { #expect(await refusal(of: signed).contains("no signature")) }
            #expect(signed.records?.map(\.id) == ["a", "b"])
        }
    }
}
