import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A local file that replaces a collection, for development only.
///
/// Only the app's own code can set an override, in ``RemoteSettingsConfig/overrides``; a server, the cache or a package
/// cannot. The file is not verified, and its content is never written to the storage directory. While the override is
/// in use, the collection is not synced. The log contains a warning, and ``RemoteSettingsClient/status`` and
/// ``RemoteSettingsService/inspect()`` report the override.
public struct CollectionOverride: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case file(collection: String)
        case directory
    }

    let form: Form
    let path: String

    /// Replaces one collection with a file.
    ///
    /// - Parameters:
    ///   - path: the path of a JSON file, or of a bundle whose name ends in `.zip`. A JSON file contains an array of
    ///     records, or an object with such an array in the member `data`; `rsdump export` and Firefox's own dumps use
    ///     the second form. Its attachments are in a directory beside it, named like the file without its extension;
    ///     each attachment is named after the id of its record. Missing attachments are downloaded.
    ///   - collection: the collection's name in the configured bucket, or `bucket/name`.
    public static func file(_ path: String, of collection: String) -> CollectionOverride {
        CollectionOverride(form: .file(collection: collection), path: path)
    }

    /// Replaces one collection with the file at a URL. See ``file(_:of:)-(String,_)``.
    public static func file(_ url: URL, of collection: String) -> CollectionOverride {
        file(url.path, of: collection)
    }

    /// Replaces collections with the files `<bucket>/<collection>.json` or `.zip` of a directory. See
    /// ``file(_:of:)-(String,_)`` for their content.
    ///
    /// A collection is not replaced if its file does not exist when the collection is first used.
    public static func directory(_ path: String) -> CollectionOverride {
        CollectionOverride(form: .directory, path: path)
    }

    /// Replaces collections with the files of the directory at a URL. See ``directory(_:)-(String)``.
    public static func directory(_ url: URL) -> CollectionOverride { directory(url.path) }
}

extension CollectionOverride {
    /// The URL of the file or directory.
    public var url: URL { URL(fileURLWithPath: path) }
}

extension CollectionOverride: CustomStringConvertible {
    /// The warning that is written to the log.
    public var description: String {
        switch form {
        case .file(let collection): "OVERRIDDEN for development: collection \(collection) is read from \(path)"
        case .directory: "OVERRIDDEN for development: collections are read from files in \(path)"
        }
    }
}
