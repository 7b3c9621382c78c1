import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A set of snapshots shipped with the app: a `dumps/` directory written by `rsdump refresh`, compiled into the program
/// or as files.
///
/// Its `dumps.lock.json` lists the collections, the server they come from, and when they were verified.
public struct PackagedSource: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case embedded(lock: Bytes, bundles: [String: Bytes])
        case directory(path: String, isTrusted: Bool)
        case absent(reason: String)
    }

    let form: Form
    /// The source's name in reports.
    public let name: String
    private(set) var acceptsImported = false

    /// Creates a source from bundles that are compiled into the program. They are read in place, without a copy.
    ///
    /// They are as trusted as the program itself, so they are not verified again. Does no I/O.
    ///
    /// - Parameters:
    ///   - lock: the content of `dumps.lock.json`.
    ///   - bundles: the bundles' contents, by `bucket/name`.
    ///   - name: the source's name in ``CollectionStatus``.
    public static func embedded(
        lock: RemoteSettingsBytes, bundles: [String: RemoteSettingsBytes], name: String = "embedded"
    ) -> PackagedSource {
        PackagedSource(form: .embedded(lock: lock, bundles: bundles), name: name)
    }

    /// Creates a source from a directory with `dumps.lock.json` and `<bucket>/<collection>.zip`. The directory is not
    /// read before it is needed.
    ///
    /// - Parameters:
    ///   - path: the path of the directory.
    ///   - trusted: `true` only if anyone who can write to the directory can also replace the program. If it is
    ///     `false`, each bundle's signature is verified once per process before its records are used.
    public static func directory(_ path: String, trusted: Bool = false) -> PackagedSource {
        PackagedSource(form: .directory(path: path, isTrusted: trusted), name: path)
    }

    /// Creates a source from the directory at a URL. See ``directory(_:trusted:)-(String,_)``.
    public static func directory(_ url: URL, trusted: Bool = false) -> PackagedSource {
        directory(url.path, trusted: trusted)
    }

    /// Creates a source from a directory in a bundle's resources: `.bundleResource(Bundle.module.resourcePath)`.
    ///
    /// - Parameters:
    ///   - resourcePath: the path of the resources. If it is `nil`, the source is reported as missing.
    ///   - directory: the directory's path, relative to `resourcePath`.
    ///   - trusted: see ``directory(_:trusted:)-(String,_)``. It may be `true` for the resources of a signed app
    ///     bundle.
    public static func bundleResource(
        _ resourcePath: String?, directory: String = "dumps", trusted: Bool = false
    ) -> PackagedSource {
        guard let resourcePath else {
            return PackagedSource(form: .absent(reason: "the bundle has no resources"), name: directory)
        }
        return .directory("\(resourcePath)/\(directory)", trusted: trusted)
    }
}

extension PackagedSource {
    /// Creates a source from a directory in a bundle's resources, given by URL:
    /// `.bundleResource(Bundle.module.resourceURL)`. See ``bundleResource(_:directory:trusted:)-(String?,_,_)``.
    @_disfavoredOverload
    public static func bundleResource(
        _ resources: URL?, directory: String = "dumps", trusted: Bool = false
    ) -> PackagedSource {
        bundleResource(resources?.path, directory: directory, trusted: trusted)
    }

    /// Returns this source with unsigned snapshots from `rsdump import` accepted.
    ///
    /// They are used until a sync stores signed ones. This has an effect only if the source is as trusted as the
    /// program: compiled into it, or a directory that is `trusted`. Such snapshots are as trustworthy as the person who
    /// packages the source; ``RemoteSettingsClient/status`` reports them as imported. Data from a server or from the
    /// storage directory must still be signed.
    public func acceptingImported() -> PackagedSource {
        var source = self
        source.acceptsImported = true
        return source
    }
}

extension Bytes {
    /// Creates bytes from memory that is part of the program and is never freed or written to. The memory is not
    /// copied.
    ///
    /// - Parameters:
    ///   - start: the first byte. The memory must stay valid and unchanged until the process exits.
    ///   - count: the size in bytes.
    @unsafe
    public static func ofProgram(_ start: UnsafeRawPointer, count: Int) -> RemoteSettingsBytes {
        unsafe Bytes(BorrowedMemory(UnsafeRawBufferPointer(start: start, count: count)) { _ in })
    }
}
