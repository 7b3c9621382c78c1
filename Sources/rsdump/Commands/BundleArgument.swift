import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The argument that names a bundle: its path, or its collection in the directory of dumps.
struct BundleArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A bundle's path, or a collection in the dumps directory.", valueName: "bundle|bucket/collection"))
    var bundle: String

    @OptionGroup var dumps: DumpsOptions

    /// - Throws: `BundleError`, or ``CommandFailure`` where there is no such bundle.
    func open() throws -> BundleReader {
        let path: String
        if !bundle.hasSuffix(".zip"), let id = try? CollectionID(bundle) {
            path = dumps.directory.bundlePath(id)
        } else {
            path = bundle
        }
        guard TextFile.exists(path) else {
            throw CommandFailure(
                .usage,
                "\(path): there is no such bundle; give the path of a .zip, or BUCKET/COLLECTION and --dumps DIR")
        }
        return try BundleReader(path: path, limits: Limits())
    }
}
