import RemoteSettingsModel

/// The path of the file for a URL, relative to the root of a mirror.
///
/// The locations of attachments come from untrusted records, so a path is accepted only if it can refer to nothing but
/// a file in the tree. It has no empty, `.` or `..` component, no control character, and no name that file systems or
/// web servers treat specially.
struct MirrorPath: Hashable {
    /// The relative path, with `/` as the separator.
    let file: String

    /// Converts a URL's path.
    ///
    /// - Parameter path: a URL's path, percent-encoded, with its leading `/`. If it ends in `/`, `index.json` is
    ///   appended.
    /// - Returns: `nil` if the path cannot be used as a file.
    init?(_ path: String) {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        let name = path.utf8.last == UInt8(ascii: "/") ? path + "index.json" : path
        guard let decoded = PercentEncoding.strictlyDecode(name.dropFirst()) else { return nil }
        // Compare bytes, because Swift combines a slash and a following combining mark into one character.
        let segments = decoded.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Substring.init)
        guard segments.allSatisfy(Self.isPlain), decoded.utf8.count <= 1024 else { return nil }
        file = decoded
    }

    private static func isPlain(_ segment: Substring) -> Bool {
        (1...200).contains(segment.utf8.count) && segment.utf8.first != UInt8(ascii: ".")
            && segment.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
    }

    /// The folders that contain the file, outermost first.
    var folders: [String] {
        let parts = file.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init).dropLast()
        return parts.indices.map { parts[...$0].joined(separator: "/") }
    }
}
