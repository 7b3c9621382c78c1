import RemoteSettingsModel

/// Runs git in one directory, without a shell, a terminal or the network, and with limits on its output and its time.
/// Only a filter of the user, such as Git LFS, may use the network.
///
/// It runs only plumbing commands, which ignore aliases, pagers and signature settings. Variables such as `GIT_DIR` are
/// not passed on, so that the directory alone decides which repository is read. A directory that itself looks like a
/// bare repository is refused: a commit can contain such a repository in place of a dumps directory, and its settings
/// can name programs to run. The time limit also covers a pipe in place of a repository's file, which would keep git
/// waiting for ever.
struct GitCommand: Sendable {
    struct Result {
        let status: Int32
        let output: [UInt8]
        /// The beginning of git's standard error, short enough for an error message.
        let message: String
    }

    let directory: String
    /// How long one run may take.
    let seconds: Int

    /// Runs git.
    ///
    /// - Parameters:
    ///   - input: the text for git's standard input.
    ///   - limit: the largest number of bytes of output that is read.
    /// - Throws: ``DumpsError`` with the code `usage` if there is no git, `refused` if its output is over the limit, or
    ///   `program` if it could not be started or was stopped.
    func run(_ arguments: [String], input: [UInt8] = [], limit: Limit) async throws(DumpsError) -> Result {
        let program = ExternalProgram(
            "git", ["-C", directory, "--no-pager", "-c", "safe.bareRepository=explicit"] + arguments,
            environment: Self.environment)
        do throws(DumpsError) {
            let finished = try await program.run(input: Bytes(input), mostOutput: limit.bytes, seconds: seconds)
            let message = String(decoding: finished.errors.utf8.prefix(500), as: UTF8.self).split(
                whereSeparator: \.isNewline
            )
            .joined(separator: "; ")
            return Result(status: finished.status, output: finished.output, message: message)
        } catch {
            switch error.code {
            case .missing: throw .noGit
            case .overLimit: throw .overLimit(place: directory, limit: limit.name, allowed: limit.allowed)
            case .timeout, .program:
                throw .git(directory: directory, command: arguments.first ?? "", problem: error.problem)
            default: throw error
            }
        }
    }

    /// The largest number of bytes of output, and the limit that this number comes from.
    struct Limit {
        let bytes: Int
        let name: String
        let allowed: Int
    }

    /// The variables that git needs. None of them changes its results.
    private static var environment: [String: String] {
        var kept = [
            "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            // Without these, git in a partial clone would start a transport helper to fetch missing objects. Versions
            // before 2.39.4 do not know the first variable. The second one allows only a protocol that does not exist,
            // and no setting of the repository can override it.
            "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
        ]
        // The second line is for the filter of Git LFS, which may download.
        for name in [
            "PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "DEVELOPER_DIR",
            "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy",
        ] {
            if let value = unsafe getenv(name) { kept[name] = unsafe String(cString: value) }
        }
        return kept
    }
}
