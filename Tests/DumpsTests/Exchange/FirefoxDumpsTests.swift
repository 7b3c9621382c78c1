import FirefoxDumps
import Foundation
import RemoteSettings
import Testing

/// The project's own dumps, as seen by an app that links the product.
struct FirefoxDumpsTests {
    private let storage = FileManager.default.temporaryDirectory.appending(path: "firefox-dumps-\(UUID())").path

    private var dumps: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "dumps").path
    }

    private func client(_ name: String, _ source: PackagedSource) -> RemoteSettingsClient {
        RemoteSettingsService(storageDirectory: storage, config: RemoteSettingsConfig(packaged: [source]))
            .makeClient(collectionName: name)
    }

    @Test(arguments: ["password-rules", "language-dictionaries", "devtools-devices"])
    func firefoxDumpsServeOffline(_ name: String) throws {
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let service = try RemoteSettingsService(
            storageDirectory: storage, validating: RemoteSettingsConfig(packaged: [FirefoxDumps.packaged]))
        let client = service.makeClient(collectionName: name)
        #expect(try #require(client.records).count > 40)
        #expect(client.status.provenance == .imported)
    }

    /// Unsigned imported data is used only if it is part of the program: anyone who can change it can also change the
    /// program.
    @Test func importedIsServedOnlyOnRequest() {
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let trusted = PackagedSource.directory(dumps, trusted: true)
        #expect(client("password-rules", trusted.acceptingImported()).records?.count == 403)
        let untrusted = PackagedSource.directory(dumps).acceptingImported()
        for source in [trusted, untrusted] {
            let client = client("password-rules", source)
            #expect(client.records == nil)
            #expect(client.status.unused.map(\.reason) == [.unsigned])
        }
    }
}
