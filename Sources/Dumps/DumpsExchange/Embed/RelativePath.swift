import SnapshotBundle

/// The computation of relative paths between folders.
enum RelativePath {
    /// Returns the relative path from one folder to another, such as `../../dumps`.
    ///
    /// - Throws: `BundleError` if the working directory is unknown.
    static func way(from folder: String, to target: String) throws(BundleError) -> String {
        let start = FileStore.plainComponents(of: try FileStore.absolute(folder))
        let end = FileStore.plainComponents(of: try FileStore.absolute(target))
        let common = zip(start, end).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        let way = Array(repeating: "..", count: start.count - common) + end[common...]
        return way.isEmpty ? "." : way.joined(separator: "/")
    }
}
