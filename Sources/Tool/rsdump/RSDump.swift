import ArgumentParser
import CMappedFaults
import Dumps
import RemoteSettingsModel

/// The command-line tool.
@main
struct RSDump: AsyncParsableCommand {
    /// The text that `--version` prints, which is also the `User-Agent`.
    static let version = DumpsConfiguration.tool

    static let configuration = CommandConfiguration(
        commandName: "rsdump",
        abstract: "Keep verified, reproducible bundles of Remote Settings collections.",
        discussion: """
            A dumps directory (dumps by default) contains dumps.yaml, dumps.lock.json and <bucket>/<collection>.zip. \
            You write dumps.yaml, which lists the server, the trusted roots and the collections. rsdump writes the \
            other files.

            Start with:
              rsdump add main/markets   choose a collection
              rsdump refresh            download what is new, verify it, pack it
              rsdump verify             check every byte and signature again, offline

            To publish your own collections:
              rsdump keys create keys   create keys and certificates
              rsdump check              check the source files
              rsdump publish            sign and pack what changed

            For a release of an app:
              rsdump pin main/markets   keep a collection at its current or an older state
              rsdump refresh --locked   fail if anything would change
              rsdump verify --locked    fail if anything differs from the lock file

            \(ExitStatus.help)
            """,
        version: version,
        groupedSubcommands: [
            .init(
                name: "Collection",
                subcommands: [ListCommand.self, AddCommand.self, RemoveCommand.self, PinCommand.self]),
            .init(
                name: "Dumps",
                subcommands: [
                    RefreshCommand.self, StatusCommand.self, VerifyCommand.self, ShowCommand.self, DiffCommand.self,
                    LogCommand.self, MergeCommand.self, NightlyCommand.self,
                ]),
            .init(name: "Publishing", subcommands: [KeysCommand.self, CheckCommand.self, PublishCommand.self]),
            .init(name: "Exchange", subcommands: [ImportCommand.self, ExportCommand.self, EmbedCommand.self]),
            .init(name: "Server", subcommands: [ServeCommand.self]),
            .init(name: "App", subcommands: [GetCommand.self, ValuesCommand.self]),
        ])

    /// Refuses arguments that are not UTF-8. Swift replaces such bytes, so a command would use or create a different
    /// file.
    ///
    /// - Throws: ``CommandFailure``.
    private static func checkArguments() throws {
        for (index, argument) in CommandLine.arguments.enumerated().dropFirst() {
            guard let bytes = unsafe CommandLine.unsafeArgv[index], unsafe String(validatingCString: bytes) == nil
            else { continue }
            throw CommandFailure(.usage, "\(argument) is not UTF-8; rename the file, or use a different path")
        }
    }

    /// Runs the tool like ArgumentParser's `main`, but exits with the codes of ``ExitStatus``.
    static func main() async {
        // Without this, a signal kills the process if a mapped file is truncated while it is being read.
        _ = mapped_faults_explain(ExitStatus.someFailed.rawValue)
        do {
            try checkArguments()
            var command = try parseAsRoot()
            showDirectory(in: CommandLine.arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            switch exitCode(for: error) {
            case .validationFailure:
                Console.error(unknownCommand(CommandLine.arguments.dropFirst()) ?? fullMessage(for: error))
                exit(withError: ExitStatus.usage.code)
            // The parser reports a request for help or for the version as an error too.
            case .success:
                let words = CommandLine.arguments.dropFirst()
                guard words.first == "help", let message = unknownCommand(words.dropFirst()) else {
                    exit(withError: error)
                }
                Console.error(message)
                exit(withError: ExitStatus.usage.code)
            case let code where error is ExitCode: exit(withError: code)
            default:
                let failure = CommandFailure(error)
                let problems = (error as? Failure)?.problems.map(\.description) ?? [failure.description]
                for problem in problems { Console.error(CommandFailure(failure.status, problem)) }
                exit(withError: failure.status.code)
            }
        }
    }

    /// Adds the `--dumps` option of this command to the commands in its messages, so that they can be pasted. `nightly`
    /// works in a directory of its own.
    private static func showDirectory(in arguments: [String]) {
        let words = arguments.flatMap { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        guard arguments.dropFirst().first != "nightly",
            let path = words.drop(while: { $0 != "--dumps" }).dropFirst().first,
            path == ShellWord.quoted(path), !path.hasPrefix("git:")
        else { return }
        for name in ["add", "remove", "pin", "refresh", "verify", "publish", "merge"] {
            Console.show("rsdump \(name) --dumps \(path)", for: "rsdump \(name)")
        }
    }

    /// Returns a message about a misspelled command; `nil` if there is none that is similar.
    private static func unknownCommand(_ arguments: ArraySlice<String>) -> String? {
        var command: any ParsableCommand.Type = Self.self
        var help = "rsdump help"
        for name in arguments.prefix(while: { !$0.hasPrefix("-") }) {
            var names: [String] = []
            var next: (any ParsableCommand.Type)?
            for subcommand in command.configuration.subcommands {
                names.append(subcommand._commandName)
                if subcommand._commandName.exact == name.exact { next = subcommand }
            }
            guard let next else {
                guard !names.isEmpty else { return nil }
                let similar = name.mostSimilar(in: names).map { "did you mean \($0)?" }
                return
                    "Error: there is no command \(VisibleText.quote(name)); \(similar ?? "list all with: \(help)")"
            }
            command = next
            help += " \(name)"
        }
        return nil
    }
}
