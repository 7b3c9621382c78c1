import Foundation
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing
@testable import RemoteSettings

/// Preview buckets, and the app context that filters can use.
@Suite struct PreviewTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    @Test(arguments: [
        ("markets", "main-preview/markets"), ("main/markets", "main-preview/markets"),
        ("main-preview/markets", "main-preview/markets"), ("security-state/x", "security-state-preview/x"),
    ])
    func previewCollectionNames(_ name: String, _ id: String) throws {
        let service = place.service { $0.isPreview = true }
        #expect("\(try service.session.collectionID(name))" == id)
        #expect(throws: RemoteSettingsError.self) { try service.session.collectionID("../x") }
    }

    @Test func previewIgnoresPublishedPackage() async throws {
        let published = try place.server.makeCollection(id: "main/markets")
        let preview = try place.server.makeCollection(id: "main-preview/markets")
        try published.put("a")
        try preview.put("draft")
        let dumps = try await place.package([published])
        let service = place.service {
            $0.isPreview = true
            $0.packaged = [.directory(dumps)]
        }
        let client = service.makeClient(collectionName: "markets")
        // The package has published data, so a preview does not use it.
        #expect(client.records == nil)
        #expect(client.status.unused.map(\.reason) == [.otherBucket(found: "main")])
        #expect(try await service.sync() == ["markets"])
        #expect(client.records?.map(\.id) == ["draft"])
        #expect(client.collectionName == "markets" && client.status.collection == "main-preview/markets")
        #expect(service.inspect().isPreview)
        // The same client switches back to published data.
        try service.updateConfig(config: place.config { $0.packaged = [.directory(dumps)] })
        #expect(client.records?.map(\.id) == ["a"])
    }

    @Test func previewSignatureIsRequired() async throws {
        let unsigned = try place.server.makeCollection(id: "blocklists-preview/x")
        let forged = try place.server.makeCollection(id: "main-preview/x")
        let list = try place.server.makeCollection(id: "security-state-preview/x")
        for collection in [unsigned, forged, list] { try collection.put("a") }
        forged.sign([SignatureForm(.ofOtherRoot)])
        let service = place.service { $0.isPreview = true }
        for (name, isSigned) in [("blocklists/x", false), ("main/x", false), ("security-state/x", true)] {
            let client = service.makeClient(collectionName: name)
            if isSigned {
                try await client.sync()
                #expect(client.status.provenance?.verdict?.signer == "onecrl.content-signature.mozilla.org")
            } else {
                await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
                #expect(client.records == nil)
            }
        }
    }

    /// Returns the ids of the records whose filters match the context.
    private func ids(_ filters: [String: String], _ context: RemoteSettingsContext) async throws -> [String] {
        let collection = try place.collection()
        for (id, filter) in filters { try collection.put(id, ["filter_expression": filter]) }
        let client = place.client(collection) { $0.appContext = context }
        try await client.sync()
        return client.records?.map(\.id) ?? []
    }

    @Test func filtersSeeTypedContextAttributes() async throws {
        let context = RemoteSettingsContext(
            channel: "release", os: "Darwin", distribution: "partner",
            attributes: [
                "memoryMB": .number(JSONNumber(8192)), "isDefaultBrowser": .bool(true),
                "addons": .object([.init(key: "a", value: .null)]),
            ], preferences: .init(values: ["a.b": .bool(true), "n": .number(JSONNumber(3))], userSet: ["a.b"]))
        let filters = [
            "a": "env.memoryMB >= 4096 && env.isDefaultBrowser", "b": "env.distribution == 'partner'",
            "c": "'a.b'|preferenceValue == true", "d": "'n'|preferenceValue > 2", "e": "'a.b'|preferenceIsUserSet",
            "f": "'n'|preferenceIsUserSet", "g": "'n'|preferenceExists", "h": "'none'|preferenceExists",
            "i": "'none'|preferenceValue('x') == 'x'", "j": "env.os.isMac && !env.os.isWindows",
            "k": "'a' in env.addons", "l": "env.memoryMB == '8192'",
        ]
        #expect(try await ids(filters, context) == ["a", "b", "c", "d", "e", "g", "i", "j", "k"])
    }

    /// As in Mozilla's mobile client, custom attributes take precedence.
    @Test func customTargetingAttributesOverrideContext() async throws {
        let context = RemoteSettingsContext(
            channel: "release", locale: "de", os: "iOS", customTargetingAttributes: ["channel": "beta", "os": "other"],
            attributes: ["channel": .string("nightly"), "locale": .string("fr")])
        let filters = [
            "a": "env.channel == 'beta'", "b": "env.locale == 'fr'", "c": "env.os == 'other'",
            "d": "env.appinfo.OS == 'iOS'", "e": "env.channel == 'release'",
        ]
        #expect(try await ids(filters, context) == ["a", "b", "c", "d"])
    }
}
