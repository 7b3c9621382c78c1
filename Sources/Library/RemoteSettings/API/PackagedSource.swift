import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Snapshots that were shipped with the app: a `dumps/` directory that `rsdump refresh` wrote, embedded in the program
/// or as files.
///
/// Its `dumps.lock.json` states which collections there are, which server they come from, and when they were verified.
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

    /// Bundles that are part of the program. They are read in place, and nothing is copied.
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

    /// A directory with `dumps.lock.json` and `<bucket>/<collection>.zip`. It is read when it is first needed.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - trusted: set it only if everyone who can write to the directory can also change the program. If it is not
    ///     set, each bundle's signature is verified again, once per process, before its records are used.
    public static func directory(_ path: String, trusted: Bool = false) -> PackagedSource {
        PackagedSource(form: .directory(path: path, isTrusted: trusted), name: path)
    }

    /// Like ``directory(_:trusted:)-(String,_)``, by the directory's URL.
    public static func directory(_ url: URL, trusted: Bool = false) -> PackagedSource {
        directory(url.path, trusted: trusted)
    }

    /// A directory among a bundle's resources: `.bundleResource(Bundle.module.resourcePath)`.
    ///
    /// - Parameters:
    ///   - resourcePath: the path of the resources. If it is `nil`, the source is reported as missing.
    ///   - directory: the directory's path, relative to `resourcePath`.
    ///   - trusted: as for ``directory(_:trusted:)-(String,_)``. It may be set for the resources of a signed app
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
    /// Like ``bundleResource(_:directory:trusted:)-(String?,_,_)``, by the URL of the resources:
    /// `.bundleResource(Bundle.module.resourceURL)`.
    @_disfavoredOverload
    public static func bundleResource(
        _ resources: URL?, directory: String = "dumps", trusted: Bool = false
    ) -> PackagedSource {
        bundleResource(resources?.path, directory: directory, trusted: trusted)
    }

    /// This source, also accepting the snapshots that `rsdump import` took from elsewhere without a signature.
    ///
    /// They are used until a sync brings signed ones. This has an effect only if the source is as trusted as the
    /// program: embedded, or a directory that is `trusted`. The only one who vouches for the snapshots is whoever
    /// packages the source, and ``RemoteSettingsClient/status`` says so. Data from a server or from the storage
    /// directory must be signed as before.
    public func acceptingImported() -> PackagedSource {
        var source = self
        source.acceptsImported = true
        return source
    }
}

extension Bytes {
    /// Memory that is part of the program and is never freed or written to. Nothing is copied.
    ///
    /// - Parameters:
    ///   - start: the first byte. The memory must stay valid and unchanged for as long as the process runs.
    ///   - count: the size in bytes.
    @unsafe
    public static func ofProgram(_ start: UnsafeRawPointer, count: Int) -> RemoteSettingsBytes {
        unsafe Bytes(BorrowedMemory(UnsafeRawBufferPointer(start: start, count: count)) { _ in })
    }
}
