import Dumps
import RemoteSettingsModel

// Errors about imports, exports and mirrors.
extension Failure {
    /// Returns the same error with a different file and entry.
    func moved(to file: String, entry: String?) -> Self {
        let isDamaged = [.damaged, .malformed].contains(code)
        return Self(
            code, place: file, entry: entry, problem: problem,
            remedy: isDamaged ? "get it from its source again" : remedy)
    }

    /// Returns an error for a folder that contains files that are not part of a mirror.
    static func notAMirror(_ folder: String, found: String) -> Self {
        Self(
            place: folder,
            problem: "this is neither an empty folder nor a mirror: found \(VisibleText.escape(found))",
            remedy: "choose a different folder, or empty this one")
    }

    /// Returns an error for a mirror's URL whose path cannot be used as a folder.
    static func unusableURL(_ url: String) -> Self {
        Self(
            place: "--url \(VisibleText.escape(url))",
            problem: "a part of the path cannot be a folder name: it is empty, begins with a dot, or contains special "
                + "characters", remedy: "choose a different path")
    }

    /// Returns an error for a folder into which another process is exporting.
    static func outputIsBusy(_ folder: String) -> Self {
        Self(.busy, place: folder, problem: "another process is writing there", remedy: "try again when it is done")
    }

    /// Returns an error for a file that has disappeared right after it was written.
    static func vanished(_ path: String) -> Self {
        Self(
            .missing, place: path, problem: "a file here disappeared right after it was written",
            remedy: "check whether another process removes files there")
    }
}
