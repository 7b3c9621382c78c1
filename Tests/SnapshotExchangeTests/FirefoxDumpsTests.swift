import FirefoxDumps
import Foundation
import RemoteSettings
import Testing

/// The project's own dumps, as an app has them that links the product.
struct FirefoxDumpsTests {
    @Test(arguments: ["password-rules", "language-dictionaries", "devtools-devices"])
    func recordsAreThereWithoutNetwork(_ name: String) throws {
        let storage = FileManager.default.temporaryDirectory.appending(path: "firefox-dumps-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: storage) }
        let service = try RemoteSettingsService(
            storageDir: storage, validating: RemoteSettingsConfig(packaged: [try FirefoxDumps.packaged()]))
        let records = try #require(service.makeClient(collectionName: name).getRecords())
        #expect(records.count > 40)
    }
}
