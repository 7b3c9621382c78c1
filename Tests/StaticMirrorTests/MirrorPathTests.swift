import Testing

@testable import StaticMirror

struct MirrorPathTests {
    @Test(arguments: [
        ("/v1/", "v1/index.json"),
        ("/v2/buckets/main/collections/a/changeset", "v2/buckets/main/collections/a/changeset"),
        ("/attachments/a%20b/%C3%BC.bin", "attachments/a b/ü.bin"), ("/attachments/a..b", "attachments/a..b"),
    ])
    func aPathIsAFile(path: String, file: String) {
        #expect(MirrorPath(path)?.file == file)
    }

    /// A record decides what its attachment's location is.
    @Test(arguments: [
        "/attachments/../v1/index.json", "/attachments/%2e%2e/%2e%2e/etc/passwd", "/attachments//a", "/attachments/./a",
        "/attachments/a/..", "/attachments/a%2F..%2F..%2Fb", "/attachments/a%00b", "/attachments/a%0Ab",
        "/attachments/.htaccess", "/attachments/a%5Cb", "attachments/a", "",
        "/attachments/\(String(repeating: "a", count: 201))",
    ])
    func pathsThatCouldLeadElsewhereAreRefused(path: String) {
        #expect(MirrorPath(path) == nil)
    }

    /// A quotation mark with an accent on it is another character, and the same byte.
    @Test(arguments: [
        "/srv/a\"b", "/srv/a\"\u{301}b", "/srv/a;\u{308}", "/srv/$\u{20DD}x", "/srv/{\u{301}", "srv", "\u{301}/srv", "",
    ])
    func foldersThatNginxWouldReadDifferentlyAreRefused(folder: String) {
        #expect(throws: MirrorError.unusablePath(folder)) { try StaticMirror.check(folder) }
    }

    @Test(arguments: [
        ("redis://10.0.0.5", false), ("redis://redis.example.org:6379", false), ("redis://127.0.0.1:6379/3", false),
        ("redis://:s3cret@host", true), ("redis://:a@b@host:1/0", true),
    ])
    func addressesOfRedis(text: String, hasPassword: Bool) throws {
        #expect(try #require(RedisAddress(text)).hasPassword == hasPassword)
    }

    @Test(arguments: [
        "", "redis://", "http://host", "rediss://host", "redis://host:", "redis://host:x", "redis://host:99999",
        "redis://host/x",
        "redis://ho st", "redis://host\";", "redis://host;", "redis://user:p@host", "redis://:@host",
        "redis://:p$x@host",
        "redis://:p%40@host", "redis://h\u{F6}st", "redis://host\n", "redis://host:+1", "redis://[::1]",
        "redis://host\u{301}",
    ])
    func whatIsNoAddressOfRedisIsRefused(text: String) {
        #expect(RedisAddress(text) == nil)
    }
}
