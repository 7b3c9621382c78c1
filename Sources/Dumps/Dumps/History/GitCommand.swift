import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The runner of all git commands: in one directory, without a shell or a terminal, and with limits on their output and
/// time.
///
/// Aliases and pagers have no effect, and neither have settings that would change the output of a command or let it
/// refuse its work (``fixed``). Variables such as `GIT_DIR` are not passed on, so that the repository depends only on
/// the directory. In a work tree, a directory that itself looks like a bare repository is refused: a commit can contain
/// such a repository instead of a dumps directory, and its settings can name programs to run. Thanks to the time limit,
/// a named pipe in place of a repository's file cannot block git forever.
package struct GitCommand: Sendable {
    package struct Result: Sendable {
        package let status: Int32
        package let output: [UInt8]
        /// The end of git's standard error output, shortened for an error message.
        package let message: String

        /// The output, without the line feed at its end.
        package var text: String {
            String(decoding: output.last == UInt8(ascii: "\n") ? output.dropLast() : output[...], as: UTF8.self)
        }

        /// The parts of output that ends each part with a zero byte.
        package var parts: [String] { output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) } }
    }

    /// What a command may use besides the repository.
    package enum Access: Hashable, Sendable {
        /// Nothing. Only a filter that the user has configured, such as Git LFS, may use the network.
        case local
        /// The network, with the credentials that the user or the continuous integration has set up for git.
        case remote
    }

    package let directory: String
    /// The time limit of one run, in seconds.
    let seconds: Int
    /// Whether a bare repository is used.
    let allowsBare: Bool
    let access: Access
    /// More settings, such as `core.sparseCheckout=true`.
    let settings: [String]

    package init(
        directory: String, seconds: Int, allowsBare: Bool = false, access: Access = .local, settings: [String] = []
    ) {
        self.directory = directory
        self.seconds = seconds
        self.allowsBare = allowsBare
        self.access = access
        self.settings = settings
    }

    /// The values of settings that a person may have set otherwise.
    private static let fixed = [
        "core.quotePath=false", "core.fsmonitor=false", "core.splitIndex=false", "core.untrackedCache=false",
        "index.sparse=false", "submodule.recurse=false", "fetch.recurseSubmodules=false", "fetch.prune=false",
        "fetch.pruneTags=false", "push.recurseSubmodules=no", "push.followTags=false", "push.gpgSign=false",
        "gc.auto=0", "maintenance.auto=false", "color.ui=false", "i18n.commitEncoding=UTF-8",
    ]

    /// Runs git.
    ///
    /// - Parameters:
    ///   - input: the text for git's standard input.
    ///   - variables: more environment variables, such as `GIT_INDEX_FILE`.
    ///   - limit: the maximum number of bytes of output.
    /// - Throws: ``Failure`` with the code `usage` if git is not installed, `refused` if its output exceeds the
    ///   limit, or `program` if it could not be started or was stopped.
    package func run(
        _ arguments: [String], input: [UInt8] = [], variables: [String: String] = [:],
        limit: Limit
    ) async throws(Failure) -> Result {
        // Of the hooks, a job needs only the one that uploads files of Git LFS.
        let hooks = access == .remote && arguments.first != "push" ? ["core.hooksPath=/dev/null"] : []
        let fixed = ["safe.bareRepository=\(allowsBare ? "all" : "explicit")"] + Self.fixed + hooks + settings
        let program = ExternalProgram(
            "git", ["-C", directory, "--no-pager"] + fixed.flatMap { ["-c", $0] } + arguments,
            environment: Self.environment(access, ProcessInfo.processInfo.environment).merging(variables) { $1 })
        do throws(Failure) {
            let finished = try await program.run(input: Bytes(input), mostOutput: limit.bytes, seconds: seconds)
            let message = finished.errors.split(whereSeparator: \.isNewline).suffix(8).joined(separator: "; ").suffix(
                700)
            return Result(status: finished.status, output: finished.output, message: String(message))
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

    /// Runs git, whose exit code must be 0.
    ///
    /// - Throws: the errors of ``run(_:input:variables:limit:)``, and one with git's own words if it fails.
    package func checked(
        _ arguments: [String], input: [UInt8] = [], variables: [String: String] = [:],
        limit: Limit = .whole
    ) async throws(Failure) -> Result {
        let result = try await run(arguments, input: input, variables: variables, limit: limit)
        guard result.status == 0 else {
            throw .git(
                directory: directory, command: arguments.first ?? "",
                problem: result.message.isEmpty ? "exit code \(result.status)" : result.message)
        }
        return result
    }

    /// The maximum number of bytes of output, and the limit that it is derived from.
    package struct Limit: Sendable {
        let bytes: Int
        let name: String
        let allowed: Int

        /// The limit for lists of all files of a repository.
        package static let whole = Limit(bytes: 256 << 20, name: "bytes", allowed: 256 << 20)
    }

    /// The variables of git that are passed on with ``Access/remote``: settings, credentials, and who commits.
    private static let passed = [
        "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM", "GIT_ASKPASS", "GIT_SSH", "GIT_SSL_", "GIT_PROXY_", "GIT_HTTP_", "GIT_AUTHOR_",
        "GIT_COMMITTER_", "GIT_EXEC_PATH", "GIT_LFS_", "GIT_TRACE",
    ]

    /// Returns the environment variables for git. Those that would change its results are left out.
    ///
    /// - Parameter all: the variables of this process.
    static func environment(_ access: Access, _ all: [String: String]) -> [String: String] {
        var kept = [
            "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
        ]
        guard access == .local else {
            for (name, value) in all where !name.hasPrefix("GIT_") || passed.contains(where: name.hasPrefix) {
                kept[name] = kept[name] ?? value
            }
            return kept
        }
        kept["GIT_LITERAL_PATHSPECS"] = "1"
        // Without these two variables, git in a partial clone would start a transport helper to fetch missing objects.
        // The first one requires git 2.39.4. The second one allows only a protocol that does not exist, and cannot be
        // overridden by settings of the repository.
        kept["GIT_NO_LAZY_FETCH"] = "1"
        kept["GIT_ALLOW_PROTOCOL"] = "none"
        // The variables from the second line on are for the filter of Git LFS, which may download files.
        for name in [
            "PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "DEVELOPER_DIR",
            "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy",
            "SSL_CERT_FILE", "SSL_CERT_DIR",
            "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
        ] {
            if let value = all[name] { kept[name] = value }
        }
        // Of the settings in the environment, only the trusted directories are passed on. They decide whether git reads
        // the repository at all.
        var count = 0
        for number in 0..<min(max(0, all["GIT_CONFIG_COUNT"].flatMap { Int($0) } ?? 0), 1000) {
            guard all["GIT_CONFIG_KEY_\(number)"]?.lowercased() == "safe.directory",
                let directory = all["GIT_CONFIG_VALUE_\(number)"]
            else { continue }
            kept["GIT_CONFIG_KEY_\(count)"] = "safe.directory"
            kept["GIT_CONFIG_VALUE_\(count)"] = directory
            count += 1  // bounded: by the loop
        }
        if count > 0 { kept["GIT_CONFIG_COUNT"] = "\(count)" }
        return kept
    }
}
