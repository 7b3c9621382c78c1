import RemoteSettingsModel

extension FuzzTarget {
    static let compressed = FuzzTarget(
        "compressed", "gzip; what was unpacked is packed and unpacked as the same", longest: 2048,
        words: ["\u{1f}"],
        seeds: { _ in
            let texts = ["", "a", String(repeating: "text ", count: 100)].map { Bytes(utf8: $0) }
            return texts.compactMap { GzipMember.compress([$0, $0], level: 6)?.array }
        },
        mutate: { bytes, random in
            bytes.set(
                random.pick(EdgeNumbers.integers), 4,
                at: random.pick([4, 8, max(0, bytes.count - 4), max(0, bytes.count - 8)]))
        }
    ) { input in
        // Fed in two parts, as by a transport, and as a whole.
        let whole = gunzip([input])
        let middle = input.count / 2
        let parts = gunzip([Array(input[..<middle]), Array(input[middle...])])
        try require(whole == parts, "the text differs when fed in parts")
        guard let whole else { return }
        let packed = GzipMember.compress([Bytes(whole)], level: 6)
        try require(packed.flatMap { gunzip([$0.array]) } == whole, "gzip of gzip differs")
    }

    /// Returns `nil` if the input is not gzip, is truncated, or expands to more than 1 MiB.
    private static func gunzip(_ pieces: [[UInt8]]) -> [UInt8]? {
        guard let stream = try? GzipStream() else { return nil }
        var output: [UInt8] = []
        do throws(Failure) {
            for piece in pieces {
                stream.feed(piece)
                while let next = try stream.next() {
                    output += next
                    guard output.count <= 1 << 20 else { return nil }
                }
            }
        } catch {
            return nil
        }
        return stream.isAtEnd ? output : nil
    }
}
