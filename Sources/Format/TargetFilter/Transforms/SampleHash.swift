import Crypto
import RemoteSettingsModel

/// A hash that maps an input to one of 2^48 points, as in Gecko: the first 48 bits of the SHA-256 of the input's JSON.
struct SampleHash {
    /// The number of points that buckets can contain. The last of the 2^48 points is in no bucket, even for 100 %.
    static let points = (UInt64(1) << 48) - 1
    private static let highest = Double(points)

    private let point: UInt64

    init(_ input: FilterValue, budget: inout WorkBudget) throws(Failure) {
        // For undefined, Gecko hashes the empty string.
        let text = try FilterJSON.text(input, budget: &budget) ?? ""
        try budget.spend(text: text.utf8.count)
        var hash = SHA256()
        let bytes = Array(text.utf8)
        unsafe bytes.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        point = hash.finalize().prefix(6).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns whether the input's point is in the first part of all points, whose size is the fraction `rate`.
    ///
    /// - Returns: `nil` if `rate` is outside 0…1.
    func isBelow(_ rate: Double) -> Bool? {
        Self.range(from: 0, to: rate).map { $0.contains(point) }
    }

    /// Returns whether the input is in one of `count` buckets beginning with `start`, wrapping around after `total`
    /// buckets.
    ///
    /// - Returns: `nil` if an argument is negative or not finite, or if `total` is 0.
    func isInBucket(start: Double, count: Double, total: Double) -> Bool? {
        Self.buckets(start: start, count: count, total: total).map { $0.contains { $0.contains(point) } }
    }

    /// Returns the points of some buckets; see ``isInBucket(start:count:total:)``.
    static func buckets(start: Double, count: Double, total: Double) -> [Range<UInt64>]? {
        guard start >= 0, count >= 0, total > 0, start.isFinite, count.isFinite, total.isFinite else { return nil }
        let first = start.truncatingRemainder(dividingBy: total)
        let end = first + count
        guard end > total else { return range(from: first / total, to: end / total).map { [$0] } }
        guard let head = range(from: 0, to: end.truncatingRemainder(dividingBy: total) / total),
            let tail = range(from: first / total, to: 1)
        else { return nil }
        return [head, tail]
    }

    /// Returns the points between two fractions of all points; `nil` if a fraction is outside 0…1.
    static func range(from: Double, to: Double) -> Range<UInt64>? {
        guard let low = boundary(from), let high = boundary(to), low <= high else { return nil }
        return low..<high
    }

    private static func boundary(_ fraction: Double) -> UInt64? {
        fraction >= 0 && fraction <= 1 ? UInt64((fraction * highest).rounded(.down)) : nil
    }
}
