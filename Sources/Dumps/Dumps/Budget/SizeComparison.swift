import RemoteSettingsModel
import SnapshotBundle

/// The sizes of the bundles in the current lock file and in the lock file at git's `HEAD`.
package struct SizeComparison: Sendable {
    private let now: [CollectionID: UInt64]
    private let head: [CollectionID: UInt64]?
    /// The reason that the sizes cannot be compared; `nil` if they can.
    package let problem: String?

    /// Reads the sizes. Does I/O and runs git. The growth is unknown outside a repository, or if the lock file was
    /// never committed.
    package init(_ directory: DumpsDirectory) async {
        do {
            now = try directory.lockFile().sizes
        } catch {
            now = [:]
            head = nil
            problem = "\(error)"
            return
        }
        do {
            let repository = try await GitRepository(containing: directory.path)
            let lock = try await repository.lock(at: try await repository.revision("HEAD"))
            head = lock?.sizes
            problem = lock == nil ? "HEAD has no dumps.lock.json" : nil
        } catch {
            head = nil
            problem = "\(error)"
        }
    }

    /// Returns the size of a collection's bundle in bytes, as stated in the lock file; `nil` if it has none.
    package func size(of id: CollectionID) -> UInt64? { now[id] }

    /// Returns the growth of a bundle since `HEAD` in bytes: its whole size if it is not in `HEAD`; `nil` if unknown.
    package func growth(of id: CollectionID) -> Int64? {
        guard let head, let size = now[id] else { return nil }
        return Int64(clamping: size) - Int64(clamping: head[id] ?? 0)
    }

    /// Returns whether the collection is missing from `HEAD`.
    package func isNew(_ id: CollectionID) -> Bool { head.map { $0[id] == nil } ?? false }

    /// The total size of all bundles in the lock file, in bytes.
    package var total: UInt64 { now.values.saturatingSum { $0 } }

    /// The total growth of all bundles since `HEAD` in bytes; `nil` if unknown.
    package var totalGrowth: Int64? {
        head.map { Int64(clamping: total) - Int64(clamping: $0.values.saturatingSum { $0 }) }
    }
}

extension LockFile {
    fileprivate var sizes: [CollectionID: UInt64] { collections.mapValues { UInt64(clamping: $0.bundle.size) } }
}
