import RemoteSettingsModel

/// Counts the unsent bytes in memory for responses to individual clients, and limits them.
///
/// The bytes for one network may not exceed the bytes that are still free. A single network can therefore use half of
/// the limit, two networks a third each, and so on, and some bytes always remain for a new network.
final class UntakenBytes: Sendable {
    /// A reservation of counted bytes, which ends when this object is released.
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

    /// The size in bytes up to which a response is not counted, so that small responses can always be sent.
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

    /// Counts bytes for a client.
    ///
    /// - Parameter network: the client's network, as ``ConnectionTable/network(_:)`` returns it.
    /// - Returns: `nil` if the limit is exceeded. Sizes up to ``uncounted`` never exceed it.
    func add(_ count: Int, for network: UInt64) -> Part? {
        if count <= Self.uncounted { return Part(0, for: network, of: self) }
        let fits = counts.withLock { counts in
            let held = counts.byNetwork[network, default: 0]
            // A response larger than the limit is sent only if no other bytes are counted.
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
