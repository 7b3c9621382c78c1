import RemoteSettingsModel

/// A file of this machine that takes the place of a collection: for development, and for nothing else.
///
/// Only the app's own code can set one, in ``RemoteSettingsConfig/overrides``; nothing that a server, a cache or a package holds
/// can. Nobody vouches for what is in the file, and nothing of it is stored where a collection is. While a file has its place, a
/// collection is not synced. The log says so with a warning, and so do ``RemoteSettingsClient/snapshot`` and
/// ``RemoteSettingsService/inspect()``.
public struct CollectionOverride: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case file(collection: String)
        case directory
    }

    let form: Form
    /// The file or directory.
    public let path: String

    /// One file.
    ///
    /// - Parameters:
    ///   - path: a JSON file with a list of records, or with an object whose member `data` is one, as `rsdump export` and
    ///     Firefox's own dumps have it; or a bundle, whose name ends with `.zip`. A JSON file's attachments lie in a directory that is
    ///     named like the file without its ending, each under the id of its record. What is not there is downloaded.
    ///   - collection: the collection's name, in the bucket of the configuration; or `bucket/name`.
    public static func file(_ path: String, of collection: String) -> CollectionOverride {
        CollectionOverride(form: .file(collection: collection), path: path)
    }

    /// A directory with files `<bucket>/<collection>.json` or `.zip`, as for ``file(_:of:)``. Collections that have none when
    /// they are first used are as they would be without it.
    public static func directory(_ path: String) -> CollectionOverride {
        CollectionOverride(form: .directory, path: path)
    }
}

extension CollectionOverride: CustomStringConvertible {
    /// The log's warning.
    public var description: String {
        switch form {
        case .file(let collection): "OVERRIDDEN for development: the collection \(collection) is read from \(path)"
        case .directory: "OVERRIDDEN for development: collections are read from the files below \(path)"
        }
    }
}
