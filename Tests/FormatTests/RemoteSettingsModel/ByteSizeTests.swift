import RemoteSettingsModel
import Testing

struct ByteSizeTests {
    @Test(
        arguments: [
            ("1", 1), ("20000", 20_000), ("512 KiB", 524_288), ("20MiB", 20_971_520), ("1.5 GB", 1_500_000_000),
            ("0.25 MiB", 262_144), ("3 B", 3), ("1024 TiB", 1 << 50),
        ] as [(String, UInt64)])
    func byteSizeIsParsed(text: String, bytes: UInt64) {
        #expect(ByteSize.parse(text) == bytes)
    }

    @Test(arguments: [
        "", "0", "-1", "1.5", "MiB", "1 XiB", "1..5 MiB", "1025 TiB", "99999999999999999999", "٣ MiB", "1e3",
        "18446744.999 TB",
    ])
    func invalidByteSizeIsRefused(_ text: String) {
        #expect(ByteSize.parse(text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (300 << 10, "300 KiB"),
            (7 << 30, "7.0 GiB"), (1 << 53, "8192 TiB"), (.max, "16777215 TiB"),
        ] as [(UInt64, String)])
    func byteSizeIsPrinted(bytes: UInt64, text: String) {
        #expect(ByteSize.text(bytes) == text)
    }

    @Test func sumsAndProductsSaturate() {
        #expect([UInt64.max, 1].saturatingSum { $0 } == .max)
        #expect([Int.max, 1, -5].saturatingSum { $0 } == Int.max - 5)
        #expect([Int.min, -1].saturatingSum { $0 } == .min)
        #expect([Int]().saturatingSum { $0 } == 0)
        #expect(Int64.min.saturatingMultiplying(by: 2) == .min)
        #expect(Int64.min.saturatingMultiplying(by: -2) == .max)
    }
}
