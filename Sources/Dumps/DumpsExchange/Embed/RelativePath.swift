import SnapshotBundle

/// The computation of relative paths between folders.
enum RelativePath {
    /// Returns the relative path from one folder to another, such as `../../dumps`.
    ///
    /// - Throws: `BundleError` if the working directory is unknown.
    static func way(from folder: String, to target: String) throws(BundleError) -> String {
        let start = try parts(folder)
        let end = try parts(target)
        let common = zip(start, end).prefix { $0 == $1 }.count
        let way = Array(repeating: "..", count: start.count - common) + end[common...]
        return way.isEmpty ? "." : way.joined(separator: "/")
    }

    private static func parts(_ path: String) throws(BundleError) -> [String] {
        var parts: [String] = []
        for part in try FileStore.absolute(path).split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts
    }
}
