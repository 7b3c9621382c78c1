import FileStorage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Ways between folders.
enum RelativePath {
    /// The way from one folder to another, such as `../../dumps`.
    ///
    /// - Throws: `FileError` where the working directory cannot be told.
    static func way(from folder: String, to target: String) throws(FileError) -> String {
        let start = try parts(folder)
        let end = try parts(target)
        let common = zip(start, end).prefix { $0 == $1 }.count
        let way = Array(repeating: "..", count: start.count - common) + end[common...]
        return way.isEmpty ? "." : way.joined(separator: "/")
    }

    private static func parts(_ path: String) throws(FileError) -> [String] {
        var absolute = path
        if !path.hasPrefix("/") {
            guard let current = unsafe getcwd(nil, 0) else { throw FileError("name the working directory of", path) }
            absolute = unsafe String(cString: current) + "/" + path
            unsafe free(current)
        }
        var parts: [String] = []
        for part in absolute.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts
    }
}
