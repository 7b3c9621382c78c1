/// The forms that bundles can be exported to.
public enum ExportLayout: String, CaseIterable, Sendable {
    case applicationServices = "application-services"
    case firefox
    case changesets
    case tarZstd = "tar.zst"
    case tarXz = "tar.xz"
    case plist
    case json
    case xml

    /// One line on what it is, for people.
    public var summary: String {
        switch self {
        case .applicationServices: "the dumps directory of Mozilla's application-services"
        case .firefox: "Firefox's defaults/settings directory"
        case .changesets: "what a server answers, with chains and attachments"
        case .tarZstd: "bundles, lock and dumps.yaml in one file, for a site without network"
        case .tarXz: "the same, compressed by xz"
        case .plist: "one collection's fields as defaults for an app: an XML property list"
        case .json: "the same as one JSON object"
        case .xml: "the same as Remote Config's <defaultsMap>, where every value is a text"
        }
    }

    /// Whether it is a tree in which an export can change what it concerns, and leave the rest.
    public var isUpdatable: Bool { self == .firefox || self == .applicationServices }

    /// The form of defaults that it is; `nil` for the others.
    public var defaults: DefaultsFormat? {
        switch self {
        case .plist: .plist
        case .json: .json
        case .xml: .xml
        case .applicationServices, .firefox, .changesets, .tarZstd, .tarXz: nil
        }
    }
}
