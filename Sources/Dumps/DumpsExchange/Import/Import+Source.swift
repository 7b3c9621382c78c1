import Dumps
import RemoteSettingsModel
import SnapshotBundle

extension Import {
    /// Finds or unpacks the files of a source. Does I/O.
    ///
    /// - Parameters:
    ///   - path: a directory or an archive.
    ///   - scratch: an empty directory for unpacking an archive.
    /// - Returns: the root directory of the tree.
    /// - Throws: ``Failure`` if there is no such file; `Failure`, for example if an archive is damaged.
    func root(of path: String, scratch: String) throws -> String {
        if try FileStore.isDirectory(path) {
            for inner in inner where try FileStore.isDirectory("\(path)/\(inner)") { return "\(path)/\(inner)" }
            return path
        }
        guard try FileStore.size(path) != nil else {
            throw Failure(
                .usage, file: path, found: "there is no regular file or directory at this path",
                remedy: "check the path")
        }
        // In Firefox's own archives, the tree has a fixed path. In other archives, it may also be at the top level.
        let isStrict = path.hasSuffix(".ja") || path.hasSuffix(".deb")
        var extraction = ArchiveExtraction(into: scratch) { name, isNested in
            use(name, isStrict: isStrict || isNested)
        }
        try extraction.extract(path)
        let found = "\(scratch)/found"
        return try FileStore.isDirectory(found) ? found : "\(scratch)/top"
    }

    /// The possible paths of the tree in the directory or archive given by the user.
    private var inner: [String] {
        switch format {
        case .firefox: ["defaults/settings", "browser/defaults/settings"]
        case .applicationServices: ["components/remote_settings/dumps", "dumps"]
        case .dumps: ["dumps"]
        case .serverZIP, .changeset, .files: []
        }
    }

    private func use(_ name: String, isStrict: Bool) -> ArchiveExtraction.Use {
        if format == .firefox {
            if name == "omni.ja" || name.hasSuffix("browser/omni.ja") { return .open }
            if name.hasPrefix("data.tar"), !name.contains("/") { return .open }
        }
        for inner in inner {
            if name.hasPrefix("\(inner)/") { return .extract(as: "found/\(name.dropFirst(inner.utf8.count + 1))") }
            if let range = name.firstRange(of: "/\(inner)/") {
                return .extract(as: "found/\(name[range.upperBound...])")
            }
        }
        return isStrict ? .passOver : .extract(as: "top/\(name)")
    }

    /// Returns the bundles of another dumps directory, verified against its lock file.
    ///
    /// - Parameter names: the collections to read; an empty list means all.
    func bundles(
        of source: DumpsDirectory, _ names: [CollectionID]
    ) throws -> [(CollectionID, Result<DumpsTransaction.Offer, any Error>)] {
        let lock = try source.lockFile()
        let wanted = lock.collections.filter { names.isEmpty || names.contains($0.key) }
        guard !wanted.isEmpty else {
            throw Failure(
                .usage, file: source.lockPath, found: "there is no lock file with such bundles",
                remedy: "give a dumps directory, or an archive of one")
        }
        return wanted.sorted { $0.key < $1.key }.map { id, entry in
            (id, Result { try offer(source.bundlePath(id), of: id, as: entry) })
        }
    }

    private func offer(
        _ path: String, of id: CollectionID, as entry: LockFile.Collection
    ) throws -> DumpsTransaction.Offer {
        let verifier = BundleVerifier(options.policy)
        let bundle = try verifier.verify(path, of: id, against: entry)
        return .init(
            snapshot: try verifier.snapshot(of: bundle, as: entry), attachments: try bundle.attachmentInputs(),
            origin: entry.server, accepted: entry.accepted)
    }
}
