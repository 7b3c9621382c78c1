import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Where an export goes, and what becomes of what is there.
public struct ExportTarget: Hashable, Sendable {
    /// What may be done with what is at the path already.
    public enum Existing: Hashable, Sendable {
        /// Nothing: the path must be free.
        case keep
        /// It makes way, whatever it is.
        case replace
        /// What the export has is written into it, and what concerns other collections stays. For the layouts that are
        /// trees of other projects.
        case update
    }

    public let path: String
    public let existing: Existing

    public init(_ path: String, existing: Existing = .keep) {
        self.path = path
        self.existing = existing
    }

    /// - Parameters:
    ///   - source: the dumps, of which nothing may be replaced by what is made of them.
    ///   - isUpdatable: whether the export could be written into what is there, for the advice.
    /// - Throws: ``ExchangeError`` where something is there that was not said to be replaced or updated; `FileError` or
    ///   `BundleError` where the lock cannot be read.
    func check(exporting source: DumpsDirectory, isUpdatable: Bool, limits: Limits) throws {
        guard try !source.hasFiles(at: path, limits: limits) else {
            throw ExchangeError(
                .usage, path, expected: "another place than the dumps themselves", found: "files of \(source.path)",
                remedy: "choose another --output")
        }
        let isDirectory = FileStore.isDirectory(path)
        guard isDirectory || FileStore.size(path) != nil else { return }
        switch existing {
        case .replace: return
        case .update:
            guard !isDirectory else { return }
            throw ExchangeError(
                .usage, path, expected: "a directory to update, or nothing", found: "a file",
                remedy: "choose another --output")
        case .keep:
            throw ExchangeError(
                .usage, path, expected: "nothing there yet", found: "a file or directory",
                remedy: "choose another --output, or replace it with --force"
                    + (isUpdatable ? ", or change these collections in it with --update" : ""))
        }
    }
}
