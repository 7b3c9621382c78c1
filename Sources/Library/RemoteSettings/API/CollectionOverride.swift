import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file of this machine that replaces a collection. It is for development only.
///
/// Only the app's own code can set one, in ``RemoteSettingsConfig/overrides``; no server, cache or package can. Nothing
/// verifies what is in the file, and its content is not stored with the collection. While the file is in use, the
/// collection is not synced. A warning in the log says so, and so do ``RemoteSettingsClient/status`` and
/// ``RemoteSettingsService/inspect()``.
public struct CollectionOverride: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case file(collection: String)
        case directory
    }

    let form: Form
    let path: String

    /// One file.
    ///
    /// - Parameters:
    ///   - path: a JSON file, or a bundle whose name ends with `.zip`. A JSON file holds a list of records, or an
    ///     object whose member `data` is one, as `rsdump export` and Firefox's own dumps have it. Its attachments lie
    ///     in a directory that is named like the file without its ending, each under the id of its record. Attachments
    ///     that are not there are downloaded.
    ///   - collection: the collection's name, in the configured bucket; or `bucket/name`.
    public static func file(_ path: String, of collection: String) -> CollectionOverride {
        CollectionOverride(form: .file(collection: collection), path: path)
    }

    /// Like ``file(_:of:)-(String,_)``, by the file's URL.
    public static func file(_ url: URL, of collection: String) -> CollectionOverride {
        file(url.path, of: collection)
    }

    /// A directory with files `<bucket>/<collection>.json` or `.zip`, as for ``file(_:of:)-(String,_)``.
    ///
    /// A collection that has no file when it is first used is not replaced.
    public static func directory(_ path: String) -> CollectionOverride {
        CollectionOverride(form: .directory, path: path)
    }

    /// Like ``directory(_:)-(String)``, by the directory's URL.
    public static func directory(_ url: URL) -> CollectionOverride { directory(url.path) }
}

extension CollectionOverride {
    /// The file or directory.
    public var url: URL { URL(fileURLWithPath: path) }
}

extension CollectionOverride: CustomStringConvertible {
    /// The log's warning.
    public var description: String {
        switch form {
        case .file(let collection): "OVERRIDDEN for development: collection \(collection) is read from \(path)"
        case .directory: "OVERRIDDEN for development: collections are read from files in \(path)"
        }
    }
}
