/// What can be imported.
public enum ImportFormat: String, CaseIterable, Sendable {
    case firefox
    case applicationServices = "application-services"
    case serverZIP = "server-zip"
    case changeset
    case dumps

    /// One line on what it is, for people.
    public var summary: String {
        switch self {
        case .firefox: "Firefox's defaults/settings: a directory, an omni.ja or a .deb"
        case .applicationServices: "the dumps directory of Mozilla's application-services"
        case .serverZIP: "a server's zip of attachments, BUCKET--COLLECTION.zip"
        case .changeset: "saved changesets: JSON, .json.mozlz4, or an export to changesets"
        case .dumps: "another directory of dumps, or its export to tar.zst or tar.xz"
        }
    }
}
