import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Where the files of an import are: the directory that was named, or what was unpacked of an archive.
struct SourceDirectory {
    let path: String
    let format: ImportFormat
    let scratch: String
    let limits: Limits

    /// Finds or unpacks the files. Does I/O.
    ///
    /// - Returns: the directory that is the tree's root.
    /// - Throws: `BundleError` where an archive is not to be trusted, ``ExchangeError`` or `FileError`.
    func root() throws -> String {
        if FileStore.isDirectory(path) {
            for inner in inner where FileStore.isDirectory("\(path)/\(inner)") { return "\(path)/\(inner)" }
            return path
        }
        guard FileStore.size(path) != nil else {
            throw ExchangeError(
                .usage, path, expected: "a regular file or a directory", found: "neither", remedy: "name another path")
        }
        // In an application's own archives the tree has one place; elsewhere it may begin at the top.
        let isStrict = path.hasSuffix(".ja") || path.hasSuffix(".deb")
        var extraction = ArchiveExtraction(into: scratch, limits: limits) { name, isNested in
            use(name, isStrict: isStrict || isNested)
        }
        try extraction.extract(path)
        let found = "\(scratch)/found"
        return FileStore.isDirectory(found) ? found : "\(scratch)/top"
    }

    /// Where projects have the tree, below the directory that people name.
    private var inner: [String] {
        switch format {
        case .firefox: ["defaults/settings", "browser/defaults/settings"]
        case .applicationServices: ["components/remote_settings/dumps", "dumps"]
        case .dumps: ["dumps"]
        case .serverZIP, .changeset: []
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
}
