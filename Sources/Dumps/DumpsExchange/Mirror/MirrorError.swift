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
    /// Whether the user can avoid the error with another folder or another URL.
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
            "\(folder): expected an empty folder or a mirror, found \(VisibleText.escape(found)); choose another "
                + "folder, or empty this one"
        case .unusableURL(let url):
            "--url \(VisibleText.escape(url)): a part of the path cannot be a folder, because it is empty, begins with "
                + "a dot or is not plain text; choose another path"
        case .busy(let folder): "\(folder): another process is publishing there; try again when it is done"
        case .vanished(let path):
            "\(path): this file was just written and is gone; check whether another process removes files there"
        }
    }
}
