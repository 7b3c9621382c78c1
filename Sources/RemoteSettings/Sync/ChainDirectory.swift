import FileStorage
import RemoteSettingsModel
import SnapshotFetch

/// Keeps certificate chains in the storage directory, by their URL. They are verified at every use.
struct ChainDirectory: ChainStore.Keeper {
    let storage: StorageDirectory
    let limits: Limits

    func chain(x5u: String) -> Bytes? {
        try? FileStore.read(storage.chainPath(x5u: x5u), limit: limits.chainBytes)
    }

    func keep(_ pem: Bytes, x5u: String) {
        // Where it cannot be kept, it is fetched again next time.
        try? storage.prepare()
        try? FileStore.makeDirectories(storage.chainsPath)
        try? FileStore.replace(storage.chainPath(x5u: x5u), with: pem, isContended: true)
    }
}
