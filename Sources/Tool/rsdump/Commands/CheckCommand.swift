import ArgumentParser
import ConfigParameters
import Dumps
import DumpsExchange
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump check`
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check source files before publish signs them, or the parameters of an app.",
        usage: "rsdump check [<collections> ...] [<options>]",
        discussion: """
            Checks the source files in --sources or, if --parameters, --defaults or --used-in is given, parameters. \
            Works offline. Exits with 2 if there is an error; warnings do not count.
              rsdump check
              rsdump check --parameters main/app-config --defaults Defaults.plist
            For details, see Publishing.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var options: SourcesOptions
    @OptionGroup var source: ParameterSource

    @Option(help: ArgumentHelp("Also compare with the app's defaults (plist, JSON or Android XML).", valueName: "file"))
    var defaults: String?

    @Option(
        help: ArgumentHelp(
            "Also report parameters that the app's code in this directory does not use, and keys in that code that no "
                + "parameter has; repeatable.", valueName: "dir"))
    var usedIn: [String] = []

    private var checksParameters: Bool { source.place != nil || defaults != nil || !usedIn.isEmpty }

    func validate() throws {
        guard checksParameters, !collections.names.isEmpty else { return }
        throw ValidationError("give the collection with --parameters, not as an argument")
    }

    func run() async throws {
        if checksParameters { return try await checkParameters() }
        var dumps = source.dumps
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let sources = try options.read(collections.names)
        let configuration = try dumps.directory.configurationOrDefault()
        for source in sources {
            do {
                try Publisher.check(source, configuration, at: HTTPEnvironment.system.now())
            } catch let error as Failure where error.excess != nil {
                throw CommandFailure(.usage, "\(source.id): \(error)")
            }
        }
        let all = try collections.names.isEmpty ? sources.map(\.id) : options.sources.collections().map(\.id)
        try checkOthers(sources: Set(all), in: dumps)
        for note in sources.flatMap(\.notes) { Console.error("note: \(Console.visible(note))") }
        let records = sources.reduce(0) { $0 + $1.recordCount }
        Console.print("\(Counted.text(sources.count, "collection")), \(Counted.text(records, "record")): no problems")
    }

    /// Throws if a collection of the dumps directory has neither a source nor a valid signature from a root in
    /// `dumps.yaml`. No reviewer of the sources has seen its data.
    private func checkOthers(sources: Set<CollectionID>, in dumps: ReadDumpsOptions) throws {
        guard try dumps.directory.configurationText() != nil else { return }
        let opened = try OpenDumps(dumps)
        let found = try Publisher.unvouched(in: opened.directory, besides: sources, by: opened.policy)
        guard !found.isEmpty else { return }
        throw CommandFailure(.usage, found.map { "\($0)" }.joined(separator: "\n"))
    }

    private func checkParameters() async throws {
        let named = try await source.read()
        let findings = named.parameters.findings(
            inAppDefaults: try defaults.map { try DefaultsFile(path: $0).inAppDefaults })
        for finding in findings {
            Console.print(Console.visible("\(finding.isError ? "error" : "warning"): \(named.name): \(finding)"))
        }
        let leftovers =
            usedIn.isEmpty ? [] : try AppSources(in: usedIn.map(\.withoutTrailingSlashes)).leftovers(of: named)
        for leftover in leftovers { Console.print(Console.visible("warning: \(leftover)")) }
        let errors = findings.count(where: \.isError)
        guard errors == 0 else {
            let count = Counted.text(errors, "error")
            throw CommandFailure(.usage, "\(named.name): \(count), listed above")
        }
        if findings.isEmpty, leftovers.isEmpty {
            let count = Counted.text(named.parameters.keys.count, "parameter")
            Console.print("\(named.name): \(count), no errors or warnings")
        }
    }
}

extension DefaultsFile {
    /// Reads a file with in-app defaults of at most 16 MiB.
    fileprivate init(path: String) throws {
        guard let bytes = try FileStore.read(path, limit: 16 << 20) else {
            throw CommandFailure(.usage, "\(path): there is no such file; give the app's defaults file with --defaults")
        }
        try self.init(bytes, file: path)
    }
}
