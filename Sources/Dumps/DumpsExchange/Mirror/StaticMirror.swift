import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// A Remote Settings server as plain files, which can be served by a web server, an object store or a CDN.
///
/// Its folder contains `current`, a link to a tree of files. A tree is never modified. A new one is written beside it,
/// and then the link is replaced atomically. The same contents always produce the same tree, byte for byte, with the
/// same modification times.
package enum StaticMirror {
    /// The result of a publication.
    package struct Report: Sendable {
        /// The name of the folder that `current` points to. It is derived from the contents.
        package var tree: String
        /// Whether the same tree was already published, so that nothing has changed.
        package var isUnchanged: Bool
        /// The number of files that have a URL, without compressed copies.
        package var objects: Int
        /// The total size of all objects in bytes.
        package var bytes: Int
        /// Notes for the user, such as resources of a server that the mirror lacks, one line each.
        package var notes: [String]
    }

    /// The name of the file beside the trees that records which commands must still be notified of a new tree. It is
    /// not served.
    package static let hooksName = "on-change.json"
    static let linkName = "current"
    private static let treePrefix = "tree-"
    /// The prefix of temporary files, including those of `Examples/object-store/upload`.
    private static let temporaryPrefix = ".new-"

    /// Publishes a mirror in a folder, which is created if it is missing. Does I/O.
    ///
    /// - Parameters:
    ///   - folder: the folder, as an absolute path.
    ///   - read: returns the content. It is called when the folder is locked, so that of two processes, the one that
    ///     publishes later has also read later.
    /// - Throws: ``Failure`` if the URL's path cannot be used as a folder, if the folder contains other files, or if
    ///   another process is publishing there; `Failure`, for example if a bundle cannot be read; the errors of
    ///   `read`. After an error, the previous mirror is still published.
    static func publish(
        to folder: String, address: OriginAddress, _ read: () async throws -> Origin
    ) async throws -> Report {
        guard MirrorPath(address.path + "/v1/") != nil else { throw Failure.unusableURL(address.url) }
        try check(folder)
        try FileStore.makeDirectories(folder)
        guard let lock = try DirectoryLock(folder) else { throw Failure.outputIsBusy(folder) }
        defer { withExtendedLifetime(lock) {} }
        return try write(try await read(), to: folder)
    }

    private static func write(_ origin: Origin, to folder: String) throws -> Report {
        try FileStore.removeChildren(of: folder, below: folder, where: isTemporary)
        let temporary = try FileStore.makeUniqueDirectory("\(folder)/\(temporaryPrefix)tree")
        let newest = origin.collections.map(\.timestamp).max() ?? Timestamp(milliseconds: 0)
        var tree = MirrorTree(folder: temporary, prefix: origin.address.path, newest: newest)
        let name: String
        do {
            try tree.write(origin, earlier: "\(folder)/\(linkName)")
            guard let list = try FileStore.read("\(temporary)/objects.json", limit: .max) else {
                throw Failure.vanished(temporary)
            }
            name = treePrefix + SHA256Digest(hashing: list).hex.prefix(32)
        } catch {
            try? FileStore.removeTree(temporary)
            throw error
        }
        let before = try Link.target(of: "\(folder)/\(linkName)")
        if try FileStore.isDirectory("\(folder)/\(name)") {
            try FileStore.removeTree(temporary)
        } else {
            // A later run assumes that a tree with its final name is complete, so flush its files before the rename.
            try FileStore.flush(tree: temporary)
            try FileStore.rename(temporary, to: "\(folder)/\(name)")
        }
        if before != name { try Link.replace("\(folder)/\(linkName)", with: name) }
        try FileStore.removeChildren(of: folder, below: folder) { isTree($0) && $0 != name }
        return Report(
            tree: name, isUnchanged: before == name, objects: tree.objects.count,
            bytes: tree.objects.saturatingSum(\.size), notes: tree.notes)
    }

    /// Returns whether a name is that of a tree. A user's own folder is very unlikely to have such a name.
    private static func isTree(_ name: String) -> Bool {
        name.hasPrefix(treePrefix) && isHex(name.dropFirst(treePrefix.count), digits: 32)
    }

    /// Returns whether a killed process may have left a file or folder with this name.
    private static func isTemporary(_ name: String) -> Bool {
        // The digits of `FileStore.uniquePath(_:)`.
        if name.hasPrefix("\(linkName).") { return isHex(name.dropFirst(linkName.count + 1), digits: 16) }
        return name == "\(hooksName).tmp" || name.hasPrefix(temporaryPrefix)
    }

    private static func isHex(_ text: Substring, digits: Int) -> Bool {
        text.utf8.count == digits && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Returns the collections of the mirror in a folder, with their timestamps; empty if there is no mirror. Does I/O.
    ///
    /// - Throws: `Failure` or `Failure` if the mirror's monitor cannot be read.
    package static func published(in folder: String, address: OriginAddress) throws -> [CollectionID: Timestamp] {
        let monitor = MirrorPath(address.path + "/v1/buckets/monitor/collections/changes/changeset")
        guard let path = monitor.map({ "\(folder)/\(linkName)/\($0.file)" }),
            let document = try FileStore.read(path, limit: Limits.monitorBytes)
        else { return [:] }
        return try MonitorChangeset(parsing: document).collections
    }

    /// Refuses a folder that contains anything but a mirror.
    package static func check(_ folder: String) throws {
        try FileStore.refuseLinks(onWayTo: folder)
        guard let names = try FileStore.list(folder, isLossy: true) else {
            if try FileStore.size(folder) != nil { throw Failure.notAMirror(folder, found: "a file") }
            return
        }
        let foreign = names.first { name in
            ![linkName, hooksName].contains(name) && !isTree(name) && !isTemporary(name)
        }
        if let foreign { throw Failure.notAMirror(folder, found: foreign) }
    }
}
