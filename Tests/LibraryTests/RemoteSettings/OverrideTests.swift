import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

/// Files that replace collections while an app is being developed.
@Suite struct OverrideTests {
    let place: Workplace
    let collection: ServerCollection

    init() throws {
        place = try Workplace()
        collection = try place.server.makeCollection(id: "main/markets")
        try collection.put("served", ["n": 1])
    }

    private func write(_ text: String, to name: String = "markets.json") throws -> String {
        try place.write(text, to: name)
    }

    private func client(_ overrides: CollectionOverride...) -> RemoteSettingsClient {
        place.service { $0.overrides = overrides }.makeClient(collectionName: "markets")
    }

    @Test(arguments: [
        #"[{"id":"b","n":2},{"id":"a","deleted":false}]"#, #"{"data":[{"id":"a"},{"id":"b"}],"timestamp":5}"#,
        "\u{20}\n" + #"{"timestamp":"x","changes":[{"id":"b"},{"id":"a"},{"id":"c","deleted":true}]}"#,
    ])
    func overrideFileReplacesCollection(_ text: String) async throws {
        let path = try write(text)
        let service = place.service { $0.overrides = [.file(path, of: "markets")] }
        let client = service.makeClient(collectionName: "markets")
        #expect(client.records?.map(\.id) == ["a", "b"])
        #expect(client.status.source == .override(path) && client.status.provenance == .unsigned)
        #expect(!client.status.isVerifiedOnDevice)
        #expect(service.inspect().description.contains("OVERRIDDEN for development by \(path)"))
        // No request is sent, and nothing is stored.
        try await client.sync()
        #expect(await client.recordsOrSync()?.count == 2)
        #expect(try await client.fetchRecords(.init(sync: .always, usesPackaged: false)).count == 2)
        #expect(place.server.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: place.storage))
    }

    /// Other collections sync as usual, and removing the override restores the stored state.
    @Test func overrideAffectsOnlyItsCollection() async throws {
        let other = try place.server.makeCollection(id: "main/other")
        try other.put("a")
        try await place.service().makeClient(collectionName: "markets").sync()
        let cached = try place.files.index()["main/markets@https://settings.test"]
        let path = try write(#"[{"id":"mine"}]"#)
        let service = place.service { $0.overrides = [.file(path, of: "main/markets")] }
        let markets = service.makeClient(collectionName: "markets")
        let others = service.makeClient(collectionName: "other")
        try collection.put("later")
        #expect(try await service.sync() == ["other"])
        #expect(markets.records?.map(\.id) == ["mine"] && others.records?.map(\.id) == ["a"])
        #expect(try markets.pruneAttachments() == 0)
        #expect(try place.files.index()["main/markets@https://settings.test"] == cached)
        #expect(place.server.requests.count { $0.path.contains("markets/changeset") } == 1)
        try service.updateConfig(config: place.config())
        #expect(markets.records?.map(\.id) == ["served"])
        try await markets.sync()
        #expect(markets.records?.map(\.id) == ["later", "served"])
    }

    @Test func editedOverrideFileIsReadAgain() async throws {
        let path = try write(#"[{"id":"a"}]"#)
        let client = client(.file(path, of: "markets"))
        var changes = client.changes().makeAsyncIterator()
        #expect(client.records?.count == 1)
        let before = try #require(client.getLastModifiedTimestamp())
        // While an editor has written only half of the file, the previous records remain in use.
        _ = try write(#"[{"id":"a"},{"i"#)
        #expect(client.records?.map(\.id) == ["a"])
        let rejected = try #require(client.status.unused.first)
        #expect("\(rejected)".contains(path) && rejected.source == .override(path))
        _ = try write(#"[{"id":"a"},{"id":"new"}]"#)
        #expect(client.records?.map(\.id) == ["a", "new"])
        #expect(client.status.unused.isEmpty)
        #expect(await changes.next()?.created.map(\.id) == ["new"])
        #expect(try #require(client.getLastModifiedTimestamp()) >= before)
    }

    @Test func unreadableOverrideFileIsReported() async throws {
        for (text, said) in [("{", "must"), (#"[{"n":1}]"#, "id"), (#"{"data":3}"#, "an array"), ("\"x\"", "array")] {
            let path = try write(text)
            let client = client(.file(path, of: "markets"))
            #expect(client.records == nil, "\(text)")
            #expect(client.status.unused.contains { "\($0)".contains(path) && "\($0)".contains(said) })
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect("\(try #require(error))".contains("RemoteSettingsConfig.overrides"))
        }
        let missing = client(.file(place.path("none.json"), of: "markets"))
        #expect(missing.records == nil)
        #expect("\(try #require(missing.status.unused.first))".contains("none.json"))
    }

    @Test func overrideDirectoryReplacesItsCollections() async throws {
        let root = place.path("mine")
        _ = try write(#"[{"id":"mine"}]"#, to: "mine/main/markets.json")
        let dumps = try await place.package([try filled("main/icons")])
        try FileManager.default.copyItem(atPath: "\(dumps)/main/icons.zip", toPath: "\(root)/main/icons.zip")
        let service = place.service { $0.overrides = [.directory(root)] }
        #expect(service.makeClient(collectionName: "markets").records?.map(\.id) == ["mine"])
        let icons = service.makeClient(collectionName: "icons")
        let record = try #require(icons.records?.first)
        let asked = place.server.requests.count
        #expect(try await icons.getAttachment(record: record) == Data("globe".utf8))
        #expect(place.server.requests.count == asked)
        // Other collections are not affected.
        _ = try filled("main/others")
        let others = service.makeClient(collectionName: "others")
        #expect(others.records == nil)
        try await others.sync()
        #expect(others.records?.count == 1 && others.status.source == .cached)
    }

    private func filled(_ id: String) throws -> ServerCollection {
        let collection = try place.server.makeCollection(id: id)
        try collection.attach(Data("globe".utf8), to: "globe", of: ["name": "globe"])
        return collection
    }

    /// As in Firefox, attachments are named after their records and stored beside the list. A wrong hash is rejected.
    @Test func overrideAttachmentsAreBesideTheFile() async throws {
        let served = try filled("main/icons")
        let hash = SHA256Digest(hashing: Bytes(utf8: "globe"))
        let record = try #require((try served.changeset()["changes"] as? [[String: Any]])?.first)
        let list = String(decoding: try JSONSerialization.data(withJSONObject: ["data": [record]]), as: UTF8.self)
        let path = try write(list, to: "icons.json")
        let service = place.service { $0.overrides = [.file(path, of: "icons")] }
        let client = service.makeClient(collectionName: "icons")
        let icon = try #require(client.records?.first)
        _ = try write("other", to: "icons/globe")
        #expect(client.localAttachment(for: icon) == nil)
        _ = try write("globe", to: "icons/globe")
        #expect(client.localAttachment(for: icon)?.source == .packaged(path))
        let file = try await client.attachmentFile(for: icon)
        #expect(try Data(contentsOf: file.url) == Data("globe".utf8))
        #expect(file.url.path.hasSuffix(hash.hex))
        #expect(place.server.requests.isEmpty)
    }

    /// Symbolic links are not followed.
    @Test func overrideFileBehindLinkIsNotRead() throws {
        let path = try write(#"[{"id":"a"}]"#, to: "real.json")
        try FileManager.default.createSymbolicLink(atPath: place.path("link.json"), withDestinationPath: path)
        #expect(client(.file(place.path("link.json"), of: "markets")).records == nil)
    }
}
