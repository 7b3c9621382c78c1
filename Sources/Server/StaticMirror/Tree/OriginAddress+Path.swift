import SnapshotOrigin

extension OriginAddress {
    /// The path before every path of the origin, without a slash at the end; usually empty.
    var path: String {
        guard let start = url.firstRange(of: "://")?.upperBound, let slash = url[start...].firstIndex(of: "/") else {
            return ""
        }
        return String(url[slash...])
    }
}
