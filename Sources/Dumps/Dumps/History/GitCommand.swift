import RemoteSettingsModel

/// A runner of git commands in one directory, without a shell, a terminal or the network, and with limits on their
/// output and time. Only a filter configured by the user, such as Git LFS, may use the network.
///
/// Aliases, pagers and signature settings have no effect on the commands that it runs. Variables such as `GIT_DIR` are
/// not passed on, so that the repository depends only on the directory; those that name the user's settings and trusted
/// directories are. In a work tree, a directory that itself looks like a bare repository is refused: a commit can
/// contain such a repository instead of a dumps directory, and its settings can name programs to run. Thanks to the
/// time limit, a named pipe in place of a repository's file cannot block git forever.
struct GitCommand: Sendable {
    struct Result {
        let status: Int32
        let output: [UInt8]
        /// The beginning of git's standard error output, shortened for an error message.
        let message: String
    }

    let directory: String
    /// The time limit of one run, in seconds.
    let seconds: Int
    /// Whether a bare repository is used.
    let allowsBare: Bool

    /// Runs git.
    ///
    /// - Parameters:
    ///   - input: the text for git's standard input.
    ///   - limit: the maximum number of bytes of output.
    /// - Throws: ``DumpsError`` with the code `usage` if git is not installed, `refused` if its output exceeds the
    ///   limit, or `program` if it could not be started or was stopped.
    func run(_ arguments: [String], input: [UInt8] = [], limit: Limit) async throws(DumpsError) -> Result {
        let program = ExternalProgram(
            "git",
            ["-C", directory, "--no-pager", "-c", "safe.bareRepository=\(allowsBare ? "all" : "explicit")"] + arguments,
            environment: Self.environment { name in unsafe getenv(name).map { unsafe String(cString: $0) } })
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

    /// The maximum number of bytes of output, and the limit that it is derived from.
    struct Limit {
        let bytes: Int
        let name: String
        let allowed: Int
    }

    /// Returns the environment variables for git. Those that would change its results are left out.
    ///
    /// - Parameter value: returns the value of a variable of this process.
    static func environment(_ value: (String) -> String?) -> [String: String] {
        var kept = [
            "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            // Without these two variables, git in a partial clone would start a transport helper to fetch missing
            // objects. The first one requires git 2.39.4. The second one allows only a protocol that does not exist,
            // and cannot be overridden by settings of the repository.
            "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
        ]
        // The variables from the second line on are for the filter of Git LFS, which may download files.
        for name in [
            "PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "DEVELOPER_DIR",
            "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy",
            "SSL_CERT_FILE", "SSL_CERT_DIR",
            "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
        ] {
            if let value = value(name) { kept[name] = value }
        }
        // Of the settings in the environment, only the trusted directories are passed on. They decide whether git reads
        // the repository at all.
        var count = 0
        for number in 0..<min(max(0, value("GIT_CONFIG_COUNT").flatMap { Int($0) } ?? 0), 1000) {
            guard value("GIT_CONFIG_KEY_\(number)")?.lowercased() == "safe.directory",
                let directory = value("GIT_CONFIG_VALUE_\(number)")
            else { continue }
            kept["GIT_CONFIG_KEY_\(count)"] = "safe.directory"
            kept["GIT_CONFIG_VALUE_\(count)"] = directory
            count += 1  // bounded: by the loop
        }
        if count > 0 { kept["GIT_CONFIG_COUNT"] = "\(count)" }
        return kept
    }
}
