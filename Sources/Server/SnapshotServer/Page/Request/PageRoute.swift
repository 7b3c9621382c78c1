import RemoteSettingsModel

/// The part of the web UI that a path refers to.
enum PageRoute: Equatable {
    case home
    case icon
    case collection(CollectionID)
    case changes(CollectionID)
    case parameters(CollectionID)
    case record(CollectionID, String)
    case attachment(CollectionID, String)
    case download(CollectionID, String)

    /// Parses a path.
    ///
    /// - Returns: `nil` for a path that cannot be a page, regardless of the served collections.
    init?(path: String) {
        var segments: [String] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            guard let text = PercentEncoding.strictlyDecode(part) else { return nil }
            segments.append(text)
        }
        guard path.hasPrefix("/") else { return nil }
        if segments == [""] || segments.isEmpty {
            self = .home
            return
        }
        if segments == ["icon.svg"] {
            self = .icon
            return
        }
        guard segments[0] == "collections", segments.count >= 3,
            let id = try? CollectionID(bucket: segments[1], name: segments[2])
        else { return nil }
        switch segments.dropFirst(3).first {
        case nil: self = .collection(id)
        case "changes" where segments.count == 4: self = .changes(id)
        case "parameters" where segments.count == 4: self = .parameters(id)
        case "records" where segments.count >= 5 && Identifier.isValid(segments[4].utf8):
            switch segments.dropFirst(5) {
            case []: self = .record(id, segments[4])
            case ["attachment"]: self = .attachment(id, segments[4])
            case ["download"]: self = .download(id, segments[4])
            default: return nil
            }
        default: return nil
        }
    }
}
