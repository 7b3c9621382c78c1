#if Server
import RemoteSettingsModel

/// The bytes in memory of answers for single clients that those clients have not taken yet.
///
/// One network may hold as many of them as are still free. So one network alone gets half of them, two get a third
/// each, and so on, and a newcomer always gets its share.
final class UntakenBytes: Sendable {
    /// Some of the bytes. They count until this object is released.
    final class Part: Sendable {
        private let whole: UntakenBytes
        private let count: Int
        private let network: UInt64

        fileprivate init(_ count: Int, for network: UInt64, of whole: UntakenBytes) {
            self.whole = whole
            self.count = count
            self.network = network
        }

        deinit { whole.remove(count, for: network) }
    }

    /// The most bytes that do not count. A client is always sent this many.
    static let uncounted = 8 << 10

    private struct Counts {
        var total = 0
        var byNetwork: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let counts = Mutex(Counts())

    init(limit: Int) {
        self.limit = limit
    }

    /// The number of bytes that count.
    var total: Int { counts.withLock { $0.total } }

    /// - Parameter network: the client's network, as ``ConnectionTable/network(_:)`` returns it.
    /// - Returns: `nil` if there are too many already. Bytes that do not count are never too many
    func add(_ count: Int, for network: UInt64) -> Part? {
        if count <= Self.uncounted { return Part(0, for: network, of: self) }
        let fits = counts.withLock { counts in
            let held = counts.byNetwork[network, default: 0]
            // An answer larger than the limit is sent if it is the only one.
            guard counts.total == 0 || held.saturatingAdding(count) <= limit - counts.total else { return false }
            counts.total = counts.total.saturatingAdding(count)
            counts.byNetwork[network] = held.saturatingAdding(count)
            return true
        }
        return fits ? Part(count, for: network, of: self) : nil
    }

    private func remove(_ count: Int, for network: UInt64) {
        guard count > 0 else { return }
        counts.withLock { counts in
            counts.total -= count
            let left = counts.byNetwork[network, default: count] - count
            counts.byNetwork[network] = left > 0 ? left : nil
        }
    }
}
#endif
