import RemoteSettingsModel

/// Why a mirror could not be uploaded.
package enum UploadError: Error, Hashable, Sendable {
    /// The folder has no mirror, or a mirror that an older version wrote.
    case notAMirror(String, problem: String)
    /// A file of the mirror differs from what its list describes.
    case damaged(String)
    /// Another process works in the mirror's folder.
    case folderBusy(String)
    /// Another upload to the same place is under way.
    case storeBusy(String)
    /// Another upload took over, or someone else wrote to the store.
    case overtaken(key: String, store: String)
    /// The place has an object that no upload put there.
    case foreign(key: String, store: String)
    /// The store's state is newer than the mirror.
    case older(CollectionID, stored: Timestamp, mirror: Timestamp, store: String)
    /// The state object cannot be read.
    case badState(key: String, store: String, problem: String)
    /// Superseded objects would be kept for less time than caches keep answers.
    case keepTooShort(seconds: Int, least: Int)
    /// The client's program is not installed.
    case noProgram(String, package: String)
    /// The client's program failed.
    case failed(program: String, action: String, store: String, problem: String)
}

extension UploadError {
    /// Whether the user must change something before another try.
    package var isUsage: Bool {
        switch self {
        case .notAMirror, .foreign, .older, .badState, .keepTooShort, .noProgram: true
        case .damaged, .folderBusy, .storeBusy, .overtaken, .failed: false
        }
    }
}

extension UploadError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAMirror(let folder, let problem):
            "\(folder): expected a mirror, \(problem); write one with rsdump export --to mirror"
        case .damaged(let path):
            "\(VisibleText.escape(path)): its size or SHA-256 differs from what objects.json says; remove the mirror's "
                + "folder "
                + "and write it again with rsdump export --to mirror"
        case .folderBusy(let folder):
            "\(folder): another process publishes or uploads this mirror; try again when it is done"
        case .storeBusy(let store): "\(store): another upload is under way; try again when it is done"
        case .overtaken(let key, let store):
            "\(store): \(VisibleText.escape(key)) was changed during the upload, probably by another upload; run the "
                + "upload again"
        case .foreign(let key, let store):
            "\(store): expected an empty place or one of an earlier upload, found \(VisibleText.escape(key)); choose "
                + "another "
                + "prefix, or pass --adopt to replace such objects"
        case .older(let collection, let stored, let mirror, let store):
            "\(store): \(collection) is at \(stored), the mirror is older (\(mirror)); upload a newer mirror, or pass "
                + "--allow-older to go back on purpose"
        case .badState(let key, let store, let problem):
            "\(store): \(key): \(problem); remove this object and pass --adopt, so that the upload starts anew"
        case .keepTooShort(let seconds, let least):
            "--keep is \(seconds) s, and caches may keep answers for \(least) s; choose at least that"
        case .noProgram(let program, let package):
            "\(program) was not found in PATH; install it (\(package)), or name a place for another client"
        case .failed(let program, let action, let store, let problem):
            "\(store): \(program) could not \(action): \(VisibleText.escape(problem))"
        }
    }
}
