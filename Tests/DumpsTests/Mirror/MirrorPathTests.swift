import Testing

@testable import DumpsExchange

struct MirrorPathTests {
    @Test(arguments: [
        ("/v1/", "v1/index.json"),
        ("/v2/buckets/main/collections/a/changeset", "v2/buckets/main/collections/a/changeset"),
        ("/attachments/a%20b/%C3%BC.bin", "attachments/a b/ü.bin"), ("/attachments/a..b", "attachments/a..b"),
    ])
    func mirrorPathOfServerPath(path: String, file: String) {
        #expect(MirrorPath(path)?.file == file)
    }

    /// The location of an attachment comes from its record and is not trusted.
    @Test(arguments: [
        "/attachments/../v1/index.json", "/attachments/%2e%2e/%2e%2e/etc/passwd", "/attachments//a", "/attachments/./a",
        "/attachments/a/..", "/attachments/a%2F..%2F..%2Fb", "/attachments/a%00b", "/attachments/a%0Ab",
        "/attachments/.htaccess", "/attachments/a%5Cb", "attachments/a", "",
        "/attachments/\(String(repeating: "a", count: 201))",
    ])
    func mirrorPathTraversalIsRefused(path: String) {
        #expect(MirrorPath(path) == nil)
    }
}
