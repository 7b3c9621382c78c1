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
        abstract: "Check the sources that publish reads, or the parameters that an app reads.",
        discussion: """
            Works offline and without keys. Prints every problem with its file, its line and what to do about it. Problems are ids that are invalid or \
            used twice, unknown keys and conditions, filters that cannot be parsed, parameters whose values have \
            different types, records that the schema in the collection's metadata does not allow, attachments that are \
            missing, outside of their directory or over the budget in dumps.yaml, and numbers that no record can hold. \
            A collection in the dumps directory is a problem too if it has neither a source nor a signature of a root \
            in dumps.yaml. Values that no device gets are noted.

            With --parameters, --defaults or --used-in, it checks the parameters of a collection, whoever published it. \
            Errors are records that are not parameters, keys with several records without a filter, and filters that \
            cannot be parsed. Warnings are keys whose values have different types, keys without a record for every \
            device, and records that no device gets because no device passes their filter or because other records \
            come first. With --defaults, warnings are also keys for which the app has no default, and values whose type \
            is not that of the app's default.

            --used-in reads the app's source files. It warns of parameters that no file mentions, and of keys that the \
            code reads and the collection does not have. It does not see keys that the code puts together at run time.

            Examples:
              rsdump check
              rsdump check main/settings --sources sources --dumps dumps
              rsdump check --parameters main/app-config --defaults Defaults.plist
              rsdump check --parameters parameters.json --used-in App/Sources

            Exits with 2 if there is a problem or an error. Warnings do not count.
            """)

    @OptionGroup var collections: CollectionNames

    @OptionGroup var options: SourcesOptions
    @OptionGroup var source: ParameterSource

    @Option(
        help: ArgumentHelp(
            "Compare the parameters with these defaults of the app: an XML property list, JSON, or Android's defaults "
                + "XML.",
            valueName: "file"))
    var defaults: String?

    @Option(help: ArgumentHelp("A directory of the app's source files; may be repeated.", valueName: "dir"))
    var usedIn: [String] = []

    private var checksParameters: Bool { source.place != nil || defaults != nil || !usedIn.isEmpty }

    func validate() throws {
        guard checksParameters, !collections.names.isEmpty else { return }
        throw ValidationError("name the collection with --parameters, not beside it")
    }

    func run() async throws {
        if checksParameters { return try await checkParameters() }
        var dumps = source.dumps
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let sources = try options.sources.read(collections.names)
        let configuration = try dumps.directory.configurationOrDefault()
        for source in sources {
            do {
                try Publisher.check(source, configuration, at: HTTPEnvironment.system.now())
            } catch let error as DumpsError where error.kind == .budget {
                throw CommandFailure(.usage, "\(source.id): \(error)")
            }
        }
        let all = try collections.names.isEmpty ? sources.map(\.id) : options.sources.collections().map(\.id)
        try checkOthers(sources: Set(all), in: dumps)
        for note in sources.flatMap(\.notes) { Console.error("note: \(Console.visible(note))") }
        let records = sources.reduce(0) { $0 + $1.recordCount }
        Console.print(
            "\(Counted.text(sources.count, "collection")), \(Counted.text(records, "record")): no problems")
    }

    /// Throws if a collection of the dumps directory has neither a source nor a signature of a root in `dumps.yaml`.
    /// Such a collection must not get a signature.
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
            throw CommandFailure(.usage, "\(named.name): \(count) in its parameters; correct them as listed above")
        }
        if findings.isEmpty, leftovers.isEmpty {
            let count = Counted.text(named.parameters.keys.count, "parameter")
            Console.print("\(named.name): \(count), no errors or warnings")
        }
    }
}

extension DefaultsFile {
    /// Reads a file of in-app defaults of at most 16 MiB.
    fileprivate init(path: String) throws {
        guard let bytes = try FileStore.read(path, limit: 16 << 20) else {
            throw CommandFailure(.usage, "\(path): there is no such file; give --defaults the app's file of defaults")
        }
        try self.init(bytes, file: path)
    }
}
