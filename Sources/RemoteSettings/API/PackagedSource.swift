import RemoteSettingsModel

/// Where snapshots that were shipped with the app are: a `dumps/` directory as `rsdump refresh` writes it, in one form or
/// another. Its `dumps.lock.json` says what is there, from which server, and when it was verified.
public struct PackagedSource: Sendable {
    enum Form: Sendable {
        case embedded(lock: Bytes, bundles: [CollectionID: Bytes])
        case directory(path: String, isTrusted: Bool)
        case absent(reason: String)
    }

    let form: Form
    /// How it is called in reports.
    public let name: String
    private(set) var acceptsImported = false

    /// Bundles that are part of the program, read in place: nothing is copied.
    ///
    /// They are as trusted as the program itself, and are not verified again.
    ///
    /// - Parameters:
    ///   - lock: the content of `dumps.lock.json`.
    ///   - bundles: the bundles' contents, by collection.
    public static func embedded(
        lock: Bytes, bundles: [CollectionID: Bytes], name: String = "embedded"
    ) -> PackagedSource {
        PackagedSource(form: .embedded(lock: lock, bundles: bundles), name: name)
    }

    /// A directory with `dumps.lock.json` and `<bucket>/<collection>.zip`.
    ///
    /// - Parameter trusted: whether nobody can write to it who could not change the program as well. Otherwise each
    ///   bundle's signature is verified again, once per process, before its records are served.
    public static func directory(_ path: String, trusted: Bool = false) -> PackagedSource {
        PackagedSource(form: .directory(path: path, isTrusted: trusted), name: path)
    }

    /// A directory among a bundle's resources: `.bundleResource(Bundle.module.resourcePath)`.
    ///
    /// - Parameters:
    ///   - resourcePath: where the resources are; `nil` is reported as a source that is missing.
    ///   - directory: the directory's path below it.
    ///   - trusted: as for ``directory(_:trusted:)``; resources of a signed app bundle may be.
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
    /// Serves also what `rsdump import` took from somewhere without a signature, until a sync brings what is signed.
    ///
    /// Only where the source is as trusted as the program: embedded, or a directory said to be trusted. Who packages it
    /// vouches for it; ``RemoteSettingsClient/snapshot`` says that nobody else does. Nothing without a signature is
    /// accepted from a server or from the storage directory for that.
    public func acceptingImported() -> PackagedSource {
        var source = self
        source.acceptsImported = true
        return source
    }
}

extension Bytes {
    /// Memory that is part of the program: it is never freed or written to. Nothing is copied.
    @unsafe
    public static func ofProgram(_ start: UnsafeRawPointer, count: Int) -> Bytes {
        unsafe Bytes(BorrowedMemory(UnsafeRawBufferPointer(start: start, count: count)) { _ in })
    }
}
