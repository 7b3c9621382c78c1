import RemoteSettingsModel

/// Why a mirror could not be published.
package enum MirrorError: Error, Hashable, Sendable {
    /// The folder contains something that is not part of a mirror.
    case notAMirror(String, found: String)
    /// The path of the mirror's URL cannot be a folder.
    case unusableURL(String)
    /// Another process publishes into the same folder.
    case busy(String)
    /// A file that was just written has disappeared.
    case vanished(String)
}

extension MirrorError {
    /// Whether the user can avoid the error by choosing another folder.
    package var isUsage: Bool {
        switch self {
        case .notAMirror, .unusableURL: true
        case .busy, .vanished: false
        }
    }
}

extension MirrorError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAMirror(let folder, let found):
            "\(folder): expected an empty folder or a mirror, found \(VisibleText.escape(found)); "
                + "choose another folder, or empty this one"
        case .unusableURL(let url):
            "\(VisibleText.escape(url)): expected a path whose parts can be folders, found one that is empty, "
                + "begins with a dot or is not plain text; choose another path for --url"
        case .busy(let folder): "\(folder): another process is publishing there; try again when it is done"
        case .vanished(let path):
            "\(path): expected the file that was just written, found nothing; check whether another process removes "
                + "files "
                + "there"
        }
    }
}
