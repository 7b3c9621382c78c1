import CArchive
import RemoteSettingsModel
import SnapshotBundle

/// libarchive's functions, once it is loaded.
enum Libarchive {
    /// - Parameter file: the archive that it is needed for, for error messages.
    /// - Throws: `BundleError` where it is not installed.
    static func functions(for file: String) throws(BundleError) -> rs_archive {
        var problem: UnsafePointer<CChar>?
        guard let functions = unsafe rs_archive_load(&problem) else {
            throw BundleError(
                .missingLibrary, file: file, expected: "libarchive, which reads and writes archives",
                found: unsafe problem.map { unsafe String(cString: $0) } ?? "none")
        }
        return unsafe functions.pointee
    }
}
