import RemoteSettingsModel

/// The file for a URL's path, relative to the root of a mirror.
///
/// Locations of attachments come from records, so a path is accepted only if it can be nothing but a file in the tree.
/// It has no empty, `.` or `..` segment, no control character, and no name that file systems or web servers treat
/// specially.
struct MirrorPath: Hashable {
    /// The relative path, with `/`.
    let file: String

    /// - Parameter path: a URL's path, percent-encoded, with its first `/`. To a path that ends in `/`, `index.json` is
    ///   added.
    /// - Returns: `nil` if the path cannot be a file.
    init?(_ path: String) {
        guard path.hasPrefix("/") else { return nil }
        let name = path.hasSuffix("/") ? path + "index.json" : path
        guard let decoded = PercentEncoding.strictlyDecode(name.dropFirst()) else { return nil }
        let segments = decoded.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.allSatisfy(Self.isPlain), decoded.utf8.count <= 1024 else { return nil }
        file = decoded
    }

    private static func isPlain(_ segment: Substring) -> Bool {
        (1...200).contains(segment.utf8.count) && segment.utf8.first != UInt8(ascii: ".")
            && segment.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
    }

    /// The folders that contain the file, outermost first.
    var folders: [String] {
        let parts = file.split(separator: "/").dropLast()
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }
}
