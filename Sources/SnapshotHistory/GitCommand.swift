import LibC
import Subprocess

/// Runs git in one directory: without a shell, a terminal or the network, and with bounded output.
///
/// It runs only plumbing commands, which ignore aliases, pagers and signature settings. Variables such as `GIT_DIR` are
/// not passed on, so that the directory alone decides which repository is read. A directory that itself looks like a
/// bare repository is refused. A commit can carry such a repository in place of a dumps directory, and its settings can
/// name programs to run.
struct GitCommand: Sendable {
    struct Result {
        let status: Int32
        let output: [UInt8]
        /// The beginning of git's standard error, short enough for an error message.
        let message: String
    }

    let directory: String

    /// - Parameters:
    ///   - input: the text for git's standard input.
    ///   - limit: the most bytes of output that are read.
    /// - Throws: ``HistoryError``: `noGit`, `overLimit`, or `git` if it could not be run or was killed.
    func run(_ arguments: [String], input: [UInt8] = [], limit: Limit) async throws(HistoryError) -> Result {
        let command = arguments.first ?? ""
        do {
            let result = try await Subprocess.run(
                .name("git"),
                arguments: Arguments(
                    ["-C", directory, "--no-pager", "-c", "safe.bareRepository=explicit"] + arguments),
                environment: Self.environment, input: .array(input), output: .bytes(limit: limit.bytes),
                error: .string(limit: 1 << 20))
            let message = String(result.standardError.prefix(500)).split(whereSeparator: \.isNewline)
                .joined(separator: "; ")
            guard case .exited(let status) = result.terminationStatus else {
                throw HistoryError.git(directory: directory, command: command, problem: "it was ended by a signal")
            }
            return Result(status: status, output: result.standardOutput, message: message)
        } catch let error as HistoryError {
            throw error
        } catch let error as SubprocessError {
            switch error.code {
            case .executableNotFound: throw .noGit
            case .outputLimitExceeded: throw .overLimit(place: directory, limit: limit.name, allowed: limit.allowed)
            default: throw .git(directory: directory, command: command, problem: "\(error)")
            }
        } catch {
            throw .git(directory: directory, command: command, problem: "\(error)")
        }
    }

    /// The most bytes of output, and the limit from which that number comes.
    struct Limit {
        let bytes: Int
        let name: String
        let allowed: Int
    }

    /// The variables that git needs. None of them changes what it does.
    private static var environment: Environment {
        var kept: [Environment.Key: String] = [
            "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            // Without these, git would start a transport helper in a partial clone to fetch missing objects. Versions
            // before 2.39.4 do not know the first variable. The second allows only a protocol that does not exist, and
            // no setting of the repository can override it.
            "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
        ]
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "DEVELOPER_DIR"] {
            guard let value = unsafe getenv(name), let key = Environment.Key(rawValue: name) else { continue }
            kept[key] = unsafe String(cString: value)
        }
        return .custom(kept)
    }
}
