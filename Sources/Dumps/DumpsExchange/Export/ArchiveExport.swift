import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An archive of a dumps directory, `dumps/…`, with its lock file, configuration and bundles. Collections that are not
/// exported are removed from the lock file and the configuration.
enum ArchiveExport {
    /// Writes the archive.
    ///
    /// - Returns: the number of files and their total size in bytes.
    static func write(
        _ bundles: [BundleReader], of directory: DumpsDirectory, to output: String
    ) throws -> (files: Int, bytes: Int) {
        var members: [TarFile.Member] = []
        let ids = bundles.map(\.head.collection)
        var lock = try directory.lockFile()
        lock.collections = lock.collections.filter { ids.contains($0.key) }
        if let text = try directory.configurationText() {
            var editor = try ConfigurationEditor(text, file: directory.configurationPath)
            for collection in try directory.configuration().collections where !ids.contains(collection.id) {
                _ = try editor.remove(collection.id)
            }
            members.append(.init(name: "dumps/dumps.yaml", content: Bytes(utf8: editor.text)))
        }
        members.append(.init(name: "dumps/dumps.lock.json", content: Bytes(lock.text)))
        for id in ids {
            let file = try MappedFile(path: directory.bundlePath(id))
            members.append(.init(name: "dumps/\(LockFile.Bundle.path(of: id))", content: file.bytes))
        }
        try FileStore.makeDirectories(FileStore.parent(of: output))
        let temporary = try TemporaryDirectory(beside: output)
        defer { withExtendedLifetime(temporary) {} }
        let archive = "\(temporary.path)/archive"
        let size = try TarFile.write(members, toNewFile: archive)
        try FileStore.placeOutput(archive, at: output)
        return (1, size)
    }
}
