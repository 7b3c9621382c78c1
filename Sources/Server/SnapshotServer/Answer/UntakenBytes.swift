#if Server
import RemoteSettingsModel

/// The unsent bytes in memory of responses to individual clients.
///
/// One network may use as many of them as are still free: a single network gets half, two get a third each, and so on.
/// A new network therefore always gets its share.
final class UntakenBytes: Sendable {
    /// A number of counted bytes, released together with this object.
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

    /// The size in bytes up to which a response is not counted. This much can always be sent to a client.
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

    /// The number of counted bytes.
    var total: Int { counts.withLock { $0.total } }

    /// - Parameter network: the client's network, as ``ConnectionTable/network(_:)`` returns it.
    /// - Returns: `nil` if the limit is exceeded. Sizes up to ``uncounted`` never exceed it.
    func add(_ count: Int, for network: UInt64) -> Part? {
        if count <= Self.uncounted { return Part(0, for: network, of: self) }
        let fits = counts.withLock { counts in
            let held = counts.byNetwork[network, default: 0]
            // A response larger than the limit is sent if it is the only one.
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
