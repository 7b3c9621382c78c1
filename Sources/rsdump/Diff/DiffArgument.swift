import ArgumentParser

/// A side of a comparison as the command line names it.
enum DiffArgument: ExpressibleByArgument, Hashable {
    /// A bundle or a directory of dumps.
    case path(String)
    /// A commit's state of the dumps directory, or of the directory or bundle at a path.
    case git(revision: String, path: String?)
    /// What the server has now.
    case server

    init?(argument: String) {
        if argument == "server" {
            self = .server
        } else if argument.hasPrefix("git:") {
            let parts = argument.dropFirst(4).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let revision = parts.first, !revision.isEmpty, parts.count == 1 || !parts[1].isEmpty else {
                return nil
            }
            self = .git(revision: String(revision), path: parts.count == 2 ? String(parts[1]) : nil)
        } else if !argument.isEmpty {
            self = .path(argument)
        } else {
            return nil
        }
    }

    /// How the side is called in the result: as it was given.
    var name: String {
        switch self {
        case .path(let path): path
        case .git(let revision, nil): "git:\(revision)"
        case .git(let revision, let path?): "git:\(revision):\(path)"
        case .server: "server"
        }
    }
}
