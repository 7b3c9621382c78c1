import RemoteSettingsModel

/// Why a refresh could not begin.
public enum RefreshError: Error, Hashable, Sendable, CustomStringConvertible {
    case busy(String)
    case nothingConfigured(String)
    case notConfigured([CollectionID], String)
    case notLocked([CollectionID], String)
    case emptyMonitor(String)

    public var description: String {
        switch self {
        case .busy(let path): "another refresh is working in \(path); wait for it to end"
        case .nothingConfigured(let file): "\(file) names no collections; add one with: rsdump add BUCKET/COLLECTION"
        case .notConfigured(let names, let file):
            "\(names.map(\.description).joined(separator: ", ")) is not in \(file); "
                + "add it with: rsdump add \(names.map(\.description).joined(separator: " "))"
        case .notLocked(let names, let file):
            "\(file) has no \(names.map(\.description).joined(separator: ", ")); fetch it with: rsdump refresh"
        case .emptyMonitor(let server): "\(server): the monitor answered 204, expected its list of collections"
        }
    }
}
