import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The bundles' sizes as locked now, and as locked in git's `HEAD`.
package struct SizeComparison: Sendable {
    private let now: [CollectionID: UInt64]
    private let head: [CollectionID: UInt64]?
    /// Why there is nothing to compare, or nothing to compare with; `nil` if there is.
    package let problem: String?

    /// Does I/O and runs git. Without a repository, or if the lock was never committed, the growth is unknown.
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

    /// Bytes of a collection's bundle, as the lock says; `nil` if it has none.
    package func size(of id: CollectionID) -> UInt64? { now[id] }

    /// Bytes that a bundle has grown since `HEAD`, its whole size if `HEAD` has none; `nil` if that is not known.
    package func growth(of id: CollectionID) -> Int64? {
        guard let head, let size = now[id] else { return nil }
        return Int64(clamping: size) - Int64(clamping: head[id] ?? 0)
    }

    /// Whether `HEAD` does not have the collection.
    package func isNew(_ id: CollectionID) -> Bool { head.map { $0[id] == nil } ?? false }

    /// Bytes of all bundles of the lock.
    package var total: UInt64 { now.values.saturatingSum { $0 } }

    /// Bytes that all bundles together have grown since `HEAD`; `nil` if that is not known.
    package var totalGrowth: Int64? {
        head.map { Int64(clamping: total) - Int64(clamping: $0.values.saturatingSum { $0 }) }
    }
}

extension LockFile {
    fileprivate var sizes: [CollectionID: UInt64] { collections.mapValues { UInt64(clamping: $0.bundle.size) } }
}
