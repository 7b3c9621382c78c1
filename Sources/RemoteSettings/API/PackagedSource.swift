import RemoteSettingsModel

/// Snapshots that were shipped with the app: a `dumps/` directory as `rsdump refresh` writes it, embedded in the program or
/// as files. Its `dumps.lock.json` states which collections there are, from which server, and when they were verified.
public struct PackagedSource: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case embedded(lock: Bytes, bundles: [CollectionID: Bytes])
        case directory(path: String, isTrusted: Bool)
        case absent(reason: String)
    }

    let form: Form
    /// The source's name in reports.
    public let name: String
    private(set) var acceptsImported = false

    /// Bundles that are part of the program. They are read in place: nothing is copied.
    ///
    /// They are as trusted as the program itself, and are not verified again. No I/O.
    ///
    /// - Parameters:
    ///   - lock: the content of `dumps.lock.json`.
    ///   - bundles: the bundles' contents, by collection.
    ///   - name: what ``SnapshotStatus`` calls the source.
    public static func embedded(
        lock: Bytes, bundles: [CollectionID: Bytes], name: String = "embedded"
    ) -> PackagedSource {
        PackagedSource(form: .embedded(lock: lock, bundles: bundles), name: name)
    }

    /// A directory with `dumps.lock.json` and `<bucket>/<collection>.zip`, which is read when it is first needed.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - trusted: whether nobody can write to it who could not change the program as well. Otherwise each bundle's signature is verified again, once per process, before its records are served.
    public static func directory(_ path: String, trusted: Bool = false) -> PackagedSource {
        PackagedSource(form: .directory(path: path, isTrusted: trusted), name: path)
    }

    /// A directory among a bundle's resources: `.bundleResource(Bundle.module.resourcePath)`.
    ///
    /// - Parameters:
    ///   - resourcePath: the path of the resources; `nil` is reported as a source that is missing.
    ///   - directory: the directory's path, relative to `resourcePath`.
    ///   - trusted: as for ``directory(_:trusted:)``. It may be set for the resources of a signed app bundle.
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
    /// This source, with the snapshots accepted that `rsdump import` took from somewhere without a signature. They serve
    /// until a sync brings signed ones.
    ///
    /// It has an effect only where the source is as trusted as the program: embedded, or a directory that is `trusted`.
    /// Whoever packages the source vouches for it; ``RemoteSettingsClient/snapshot`` states that nobody else does. Nothing
    /// else is accepted without a signature because of it, neither from a server nor from the storage directory.
    public func acceptingImported() -> PackagedSource {
        var source = self
        source.acceptsImported = true
        return source
    }
}

extension Bytes {
    /// Memory that is part of the program, which is never freed or written to. Nothing is copied.
    ///
    /// - Parameters:
    ///   - start: the first byte. The memory must stay valid and unchanged for as long as the process runs.
    ///   - count: the size in bytes.
    @unsafe
    public static func ofProgram(_ start: UnsafeRawPointer, count: Int) -> Bytes {
        unsafe Bytes(BorrowedMemory(UnsafeRawBufferPointer(start: start, count: count)) { _ in })
    }
}
