/// Converts sizes from and to the notation that people write: `20000`, `512 KiB`, `20MiB`, `1.5 GB`.
package enum ByteSize {
    private static let units: [(name: String, factor: UInt64)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000), ("B", 1),
    ]

    /// Returns the number of bytes; `nil` if the text is not a size from 1 to 2^50.
    package static func parse(_ text: String) -> UInt64? {
        var digits = text[...]
        var factor: UInt64 = 1
        if let unit = units.first(where: { text.hasSuffix($0.name) }) {
            factor = unit.factor
            digits = digits.dropLast(unit.name.count)
            while digits.last == " " { digits = digits.dropLast() }
        }
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            parts[0].count <= 16, let whole = UInt64(parts[0])
        else { return nil }
        var bytes = whole.multipliedReportingOverflow(by: factor)
        if parts.count == 2 {
            guard factor > 1, parts[1].count <= 3, let fraction = UInt64(parts[1]) else { return nil }
            let scale: UInt64 = [10, 100, 1000][parts[1].count - 1]
            bytes.partialValue = bytes.partialValue.saturatingAdding(fraction * factor / scale)
        }
        guard !bytes.overflow, (1...(1 << 50)).contains(bytes.partialValue) else { return nil }
        return bytes.partialValue
    }

    /// Returns the size as text, such as `1.4 MiB`. It is exact below 1 KiB.
    package static func text(_ bytes: UInt64) -> String {
        let names = ["KiB", "MiB", "GiB", "TiB"]
        guard bytes >= 1024 else { return "\(bytes) B" }
        // Computed in two parts, because multiplying a size from a record by ten may overflow 64 bits.
        var tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024
        var unit = 0
        while tenths >= 10240, unit < names.count - 1 {
            tenths /= 1024
            unit += 1
        }
        return tenths >= 1000 ? "\(tenths / 10) \(names[unit])" : "\(tenths / 10).\(tenths % 10) \(names[unit])"
    }
}
