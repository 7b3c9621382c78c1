import RemoteSettingsModel
import SnapshotBundle

/// The sizes of the bundles in the current lock and in the lock of git's `HEAD`.
package struct SizeComparison: Sendable {
    private let now: [CollectionID: UInt64]
    private let head: [CollectionID: UInt64]?
    /// Why the sizes cannot be compared; `nil` if they can.
    package let problem: String?

    /// Does I/O and runs git. The growth is unknown without a repository, or if the lock was never committed.
    package init(_ directory: DumpsDirectory, limits: Limits) async {
        do {
            now = try directory.lockFile(limits: limits).sizes
        } catch {
            now = [:]
            head = nil
            problem = "\(error)"
            return
        }
        do {
            let repository = try await GitRepository(containing: directory.path, limits: limits)
            let lock = try await repository.lock(at: try await repository.revision("HEAD"))
            head = lock?.sizes
            problem = lock == nil ? "HEAD has no dumps.lock.json" : nil
        } catch {
            head = nil
            problem = "\(error)"
        }
    }

    /// The bytes of a collection's bundle according to the lock; `nil` if it has none.
    package func size(of id: CollectionID) -> UInt64? { now[id] }

    /// The bytes that a bundle has grown since `HEAD`: its whole size if `HEAD` does not have it; `nil` if unknown.
    package func growth(of id: CollectionID) -> Int64? {
        guard let head, let size = now[id] else { return nil }
        return Int64(clamping: size) - Int64(clamping: head[id] ?? 0)
    }

    /// Whether `HEAD` does not have the collection.
    package func isNew(_ id: CollectionID) -> Bool { head.map { $0[id] == nil } ?? false }

    /// The bytes of all bundles in the lock.
    package var total: UInt64 { now.values.saturatingSum { $0 } }

    /// The bytes that all bundles together have grown since `HEAD`; `nil` if unknown.
    package var totalGrowth: Int64? {
        head.map { Int64(clamping: total) - Int64(clamping: $0.values.saturatingSum { $0 }) }
    }
}

extension LockFile {
    fileprivate var sizes: [CollectionID: UInt64] { collections.mapValues { UInt64(clamping: $0.bundle.size) } }
}
