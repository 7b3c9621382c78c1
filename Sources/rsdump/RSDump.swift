import ArgumentParser

/// The command-line tool.
@main
struct RSDump: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rsdump",
        abstract: "Keeps verified, reproducible snapshot bundles of Remote Settings collections.",
        discussion: """
            A directory (dumps by default) holds dumps.yaml, which people write: the server, who vouches for it, and the \
            collections; and dumps.lock.json and <bucket>/<collection>.zip, which rsdump writes.

            Start with:
              rsdump add main/regions      name a collection
              rsdump refresh               download what is new, verify and write it
              rsdump verify                check every byte and signature again, offline

            For a release:
              rsdump pin main/regions      keep a collection as it is, or as it was
              rsdump refresh --locked      fail where the server has something newer
              rsdump verify --locked       fail where anything is there but what is locked

            \(ExitStatus.help)
            """,
        version: Version.text,
        groupedSubcommands: [
            .init(name: "Collections:", subcommands: [Add.self, Remove.self, PinCommand.self, UnpinCommand.self]),
            .init(
                name: "Dumps:",
                subcommands: [RefreshCommand.self, Status.self, Verify.self, Diff.self, RebuildCommand.self]),
            .init(name: "Exchange:", subcommands: [ImportCommand.self, ExportCommand.self, Embed.self]),
            .init(name: "As a server:", subcommands: [Serve.self]),
            .init(name: "As an app:", subcommands: [Sync.self, Get.self]),
            .init(name: "Bundles:", subcommands: [Inspect.self, Records.self, AttachmentCommand.self]),
        ])

    /// Like ArgumentParser's own, but for the exit code of bad usage, which is 2 here.
    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            Console.error(fullMessage(for: error))
            exit(withError: ExitStatus.usage.code)
        }
    }
}
