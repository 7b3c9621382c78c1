import Synchronization

/// How many bytes may be kept in memory to answer faster, for all who keep some.
final class KeptBytes: Sendable {
    private let left: Atomic<Int>

    init(_ most: Int) {
        left = Atomic(most)
    }

    /// - Returns: whether there is room; then ``giveBack(_:)`` is due when they are no longer kept.
    func take(_ count: Int) -> Bool {
        if left.subtract(count, ordering: .relaxed).newValue >= 0 { return true }
        giveBack(count)
        return false
    }

    func giveBack(_ count: Int) { left.add(count, ordering: .relaxed) }
}
