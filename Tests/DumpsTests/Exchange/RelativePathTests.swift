import Testing

@testable import DumpsExchange

struct RelativePathTests {
    @Test(arguments: [
        ("/a/Sources/E", "/a/dumps", "../../dumps"), ("/a/Sources/E", "/a/Sources/E", "."),
        ("/a/Sources/E", "/a/Sources/E/dumps", "dumps"), ("/a/b/../Sources/./E/", "/a//dumps", "../../dumps"),
        ("Sources/E", "dumps", "../../dumps"), ("E", "../dumps", "../../dumps"),
        ("/a/\u{E9}/E", "/a/e\u{301}/dumps", "../../e\u{301}/dumps"), ("/a/../\u{301}b", "/dumps", "../dumps"),
    ])
    func relativePathBetweenFolders(_ folder: String, _ target: String, _ way: String) throws {
        #expect(try RelativePath.way(from: folder, to: target).utf8.elementsEqual(way.utf8))
    }
}
