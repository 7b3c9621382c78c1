import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Which version of a cache file was read.
typealias CacheIdentity = FileIdentity

/// The storage directory: where what a service keeps lies.
///
/// `<bucket>/<collection>.snapshot` is a ``CacheFile``, `<bucket>/<collection>.previous` the one before it where some of its
/// attachments may still be of use, `<bucket>/<collection>.attachments/<sha256>` an attachment,
/// `.chains/<sha256 of its URL>.pem` a certificate chain, `.backoff.json` what servers asked for. Ids have no dot, so
/// that none of these names can be another's. The names stay the same from one version of an app to the next.
struct StorageDirectory: Sendable {
    let path: String

    var backoffPath: String { "\(path)/.backoff.json" }
    var chainsPath: String { "\(path)/.chains" }

    func snapshotPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).snapshot" }
    func damagedPath(_ id: CollectionID) -> String { snapshotPath(id) + ".damaged" }
    func previousPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).previous" }
    func attachmentsPath(_ id: CollectionID) -> String { "\(path)/\(id.bucket)/\(id.name).attachments" }
    func attachmentPath(_ id: CollectionID, _ digest: SHA256Digest) -> String {
        "\(attachmentsPath(id))/\(digest.hex)"
    }

    func chainPath(x5u: String) -> String {
        "\(chainsPath)/\(SHA256Digest(hashing: Bytes(utf8: x5u)).hex).pem"
    }

    /// Makes the directory, and asks the system to leave it out of backups, where it has such a thing.
    func prepare() throws(FileError) {
        guard !FileStore.isDirectory(path) else { return }
        try FileStore.makeDirectories(path)
        BackupExclusion.apply(to: path)
    }

    /// Reads a collection's cache file, into memory of its own: what is verified cannot be changed afterwards.
    ///
    /// - Returns: `nil` where there is none.
    func cacheFile(_ id: CollectionID, at path: String, limits: Limits) throws -> CacheFile? {
        guard let content = try FileStore.read(path, limit: limits.changesetBytes + limits.metadataBytes * 2) else {
            return nil
        }
        return try CacheFile(parsing: content, of: id, path: path, limits: limits)
    }

    func identity(_ id: CollectionID) -> CacheIdentity? { FileStore.identity(snapshotPath(id)) }

    /// Gives a file that cannot be used another name, for whoever wants to know what happened; unless another version
    /// has taken its place.
    ///
    /// - Returns: the version that is there now.
    func setAside(_ id: CollectionID, _ identity: CacheIdentity) -> CacheIdentity? {
        let path = snapshotPath(id)
        if FileStore.identity(path) == identity { try? FileStore.rename(path, to: damagedPath(id)) }
        return self.identity(id)
    }

    /// What a file which was set aside still tells: the high-water mark, and whether it was of a signed state.
    func toldByDamaged(_ id: CollectionID, limits: Limits) -> (highWaterMark: Timestamp?, wasSigned: Bool) {
        do {
            let file = try cacheFile(id, at: damagedPath(id), limits: limits)
            return (file?.highWaterMark, file?.chain != nil)
        } catch {
            guard let error = error as? CacheFileError else { return (nil, false) }
            return (error.highWaterMark, error.wasSigned)
        }
    }
}
