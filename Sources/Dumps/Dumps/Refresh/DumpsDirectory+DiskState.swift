import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Returns the state of a bundle's file, judging by its size and its first bytes.
    func diskState(_ id: CollectionID, _ held: LockFile.Collection?) -> RefreshPlanner.DiskState {
        let path = bundlePath(id)
        let size: Int
        do throws(BundleError) {
            guard case .file(let found)? = try FileStore.kind(path) else { return .absent }
            size = found
        } catch {
            return .damaged(error.sentence)
        }
        guard let held else { return .asLocked }
        guard size == held.bundle.size else {
            if (try? LargeFilePointer.isAt(path)) == true {
                return .damaged("its bundle is \(LargeFilePointer.name); fetch the bundle with: git lfs pull")
            }
            return .damaged("its bundle is \(size) bytes instead of the \(held.bundle.size) in the lock file")
        }
        do throws(BundleError) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id, head.timestamp == held.timestamp else {
                return .damaged(
                    "its bundle is \(head.collection) at \(head.timestamp), which does not match the lock file")
            }
            return .asLocked
        } catch {
            return .damaged(error.sentence)
        }
    }
}
