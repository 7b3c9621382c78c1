import SnapshotOrigin

extension OriginAddress {
    /// The path before everything that the origin serves, without a slash at its end; empty for most.
    var path: String {
        guard let start = url.firstRange(of: "://")?.upperBound, let slash = url[start...].firstIndex(of: "/") else {
            return ""
        }
        return String(url[slash...])
    }

    var isPlainHTTP: Bool { url.hasPrefix("http://") }
}
