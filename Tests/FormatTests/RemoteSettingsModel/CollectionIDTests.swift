import RemoteSettingsModel
import Testing

struct CollectionIDTests {
    @Test func collectionIDHasBucketAndName() throws {
        let id = try CollectionID("security-state/onecrl")
        #expect(id.bucket == "security-state" && id.name == "onecrl" && id.description == "security-state/onecrl")
    }

    @Test(arguments: [
        "", "main", "main/", "/x", "main/x/y", "main/../x", "../x", "main/-x", "main/x y", "main/é", "main/.x",
        "main/x\n",
    ])
    func invalidCollectionIDIsRefused(_ text: String) {
        #expect(throws: Failure.self) { try CollectionID(text) }
    }
}
