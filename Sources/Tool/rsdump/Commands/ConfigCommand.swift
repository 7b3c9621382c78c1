import ArgumentParser
import ConfigParameters
import Dumps
import DumpsExchange
import Publish
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust
import TargetFilter

/// `rsdump config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Read remote config parameters, check them, and write an app's defaults.",
        discussion: """
            Examples:
              rsdump config get banner_text --context locale=de-AT --explain
              rsdump config check main/app-config
              rsdump config defaults --to swift --collection main/app-config
            """,
        subcommands: [ConfigGet.self, ConfigCheck.self, ConfigDefaults.self])
}

/// `rsdump config get`
struct ConfigGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the value of a parameter for a device, as JSON.",
        discussion: """
            Conditions are evaluated for the given context. Percentages depend on env.id, which --context id=… sets. \
            env.now is the current time unless --context now=… sets it. If a key has no value for such a device, \
            nothing is printed for it. With one key, the command then exits with 1.

            Examples:
              rsdump config get banner_text --context locale=de-AT --context id=1 --explain
              rsdump config get --all --collection main/app-config
            """)

    @Argument(help: "The parameter's key.")
    var key: String?

    @Flag(help: "Print all parameters, one KEY=VALUE per line.")
    var all = false

    @OptionGroup var source: ParameterSource

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "A property of the device, for filters; may be repeated. Keys: channel, version, appId, locale, os, "
                + "osVersion, formFactor, country, or as filters write them (env.channel); any other key is a signal. "
                + "A signal's value is a number, true, false or a text.",
            valueName: "key=value"))
    var context: [String] = []

    @Flag(help: "Say for each of the key's records why it is used or not.")
    var explain = false

    func validate() throws {
        guard (key != nil) != all else { throw ValidationError("name one key, or give --all") }
        _ = try appContext(context)
    }

    func run() async throws {
        let (parameters, name) = try await source.parameters()
        var filter = RecordFilter(context: try filterContext())
        let keys = key.map { [$0] } ?? parameters.keys.sorted()
        if let key, !parameters.contains(key) {
            throw CommandFailure(
                .someFailed,
                "\(name): there is no parameter with the key \(Console.visible(key)); rsdump config get --all lists "
                    + "them"
            )
        }
        var isMissing = false
        for key in keys {
            let explanation = parameters.explanation(of: key, &filter)
            if case .value(let json)? = explanation.winner?.content {
                let value = PlainJSON.text(json)
                Console.print(all ? "\(Console.visible(key))=\(value)" : value)
            } else {
                isMissing = true
                if !all || explain {
                    Console.error("\(Console.visible(key)): no value for this device; the app uses its own default")
                }
            }
            if explain {
                for candidate in explanation.candidates { Console.error("  \(Console.visible("\(candidate)"))") }
            }
        }
        if isMissing, !all { throw ExitCode(ExitStatus.someFailed.rawValue) }
    }

    private func filterContext() throws -> FilterContext {
        var app = try appContext(context) ?? RemoteSettingsContext()
        for (key, text) in app.customTargettingAttributes ?? [:] {
            guard let json = try? JSONValue(parsing: Bytes(utf8: text), limits: Limits()) else { continue }
            switch json {
            case .number, .bool:
                app.attributes[key] = json
                app.customTargettingAttributes?[key] = nil
            default: break
            }
        }
        if app.attributes["now"] == nil {
            app.attributes["now"] = .number(JSONNumber(HTTPEnvironment.system.now().milliseconds))
        }
        return app.filterContext
    }
}

/// `rsdump config check`
struct ConfigCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a collection of parameters for mistakes.",
        discussion: """
            Prints errors and warnings, and exits with 2 if there are errors. Errors are records that are not \
            parameters, keys with several records without a filter, and filters that cannot be parsed. Warnings are \
            keys whose values have different types, keys without a record for every device, and records that no device \
            gets because no device passes their filter or because other records come first. With --defaults, warnings \
            are also keys for which the app has no default, and values whose type is not that of the app's default.

            --used-in reads the app's source files. It warns of parameters that no file mentions, and of keys that the \
            code reads and the collection does not have. It does not see keys that the code puts together at run time.

            Examples:
              rsdump config check main/app-config
              rsdump config check main/app-config --defaults RemoteConfigDefaults.plist
              rsdump config check main/app-config --used-in App/Sources
              rsdump config check parameters.json    records, or a server's answer
            """)

    @Argument(
        help: ArgumentHelp(
            "A collection in the dumps directory, a bundle, or a JSON file of records.",
            valueName: "file|bucket/collection"))
    var file: String

    @Option(
        help: ArgumentHelp(
            "Compare with these defaults of the app: an XML property list, JSON, or Android's defaults XML.",
            valueName: "file"))
    var defaults: String?

    @Option(
        help: ArgumentHelp("A directory of the app's source files; may be repeated.", valueName: "dir"))
    var usedIn: [String] = []

    @OptionGroup var dumps: ReadDumpsOptions

    func run() async throws {
        let (parameters, name) = try await ParameterSource.parameters(file, dumps)
        let findings = parameters.findings(
            inAppDefaults: try defaults.map { try DefaultsFile(path: $0).inAppDefaults })
        for finding in findings {
            Console.print(Console.visible("\(finding.isError ? "error" : "warning"): \(name): \(finding)"))
        }
        let leftovers = try usedIn.isEmpty ? [] : leftovers(of: parameters, name)
        for leftover in leftovers { Console.print(Console.visible("warning: \(leftover)")) }
        let errors = findings.count(where: \.isError)
        guard errors == 0 else {
            throw CommandFailure(
                .usage, "\(name): \(Counted.text(errors, "error")) in its parameters; correct them as listed above")
        }
        if findings.isEmpty, leftovers.isEmpty {
            Console.print("\(name): \(Counted.text(parameters.keys.count, "parameter")), no errors or warnings")
        }
    }
}

extension ConfigCheck {
    /// The limit for a source file, in bytes. People do not write larger ones.
    private static let fileBytes = 4 << 20

    private func leftovers(of parameters: ParameterSet, _ name: String) throws -> [String] {
        var mentions = KeyMentions()
        var files = 0
        for directory in usedIn { try read(directory.withoutTrailingSlashes, into: &mentions, &files) }
        guard files > 0 else {
            let endings = KeyMentions.endings.sorted().joined(separator: ", ")
            throw CommandFailure(
                .usage,
                "\(usedIn.joined(separator: ", ")): there are no source files (\(endings)) here; name the directory of "
                    + "the app's sources")
        }
        let unused = parameters.keys.filter { !mentions.mentions($0) }.sorted()
        let unknown = mentions.reads.filter { !parameters.contains($0.key) }
            .sorted { ($0.file, $0.line, $0.key) < ($1.file, $1.line, $1.key) }
        return unused.map { "\(name): \($0): no source file mentions this key (\(Counted.text(files, "file")) read)" }
            + unknown.map { "\($0.file):\($0.line): the code reads the key \($0.key), which \(name) does not have" }
    }

    /// Reads the files of a directory. Skips links, and directories that tools fill (`.build`, `Pods`,
    /// `node_modules`).
    private func read(_ directory: String, into mentions: inout KeyMentions, _ files: inout Int) throws {
        guard let names = try FileStore.list(directory) else {
            throw CommandFailure(
                .usage,
                "\(directory): there is no such directory, or it cannot be read; name a directory of source files")
        }
        for name in names.sorted() where !name.hasPrefix(".") && !["Pods", "node_modules", "build"].contains(name) {
            let path = "\(directory)/\(name)"
            if try FileStore.isDirectory(path) {
                try read(path, into: &mentions, &files)
            } else if let ending = name.split(separator: ".").dropFirst().last,
                KeyMentions.endings.contains(String(ending)), let size = try FileStore.size(path),
                size <= Self.fileBytes, let content = try FileStore.read(path, limit: Self.fileBytes)
            {
                mentions.add(content.text, file: path)
                files += 1
            }
        }
    }
}

extension DefaultsFile {
    /// Reads a file of in-app defaults of at most 16 MiB.
    init(path: String) throws {
        guard let bytes = try FileStore.read(path, limit: 16 << 20) else {
            throw CommandFailure(.usage, "\(path): there is no such file; give --defaults the app's file of defaults")
        }
        try self.init(bytes, file: path)
    }
}

/// `rsdump config defaults`
struct ConfigDefaults: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults",
        abstract: "Write the parameters' default values as a file for an app.",
        discussion: """
            A parameter's default is its record without a filter. Parameters without such a record are left out, and \
            so are parameters whose default is the app's own. swift writes an accessor for each key, whose type fits \
            all of the key's values.

            Examples:
              rsdump config defaults --to plist -o RemoteConfigDefaults.plist
              rsdump config defaults --to swift --collection main/app-config -o Keys.swift
            """)

    /// The forms in which defaults can be written.
    enum Form: String, CaseIterable, ExpressibleByArgument {
        case plist, json, swift
    }

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The format to write: plist, json or swift.", valueName: "format"))
    var form: Form

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file to write; standard output by default.", valueName: "file"))
    var output: String?

    @OptionGroup var source: ParameterSource

    func run() async throws {
        try FileStore.checkOutput(output)
        let (parameters, name) = try await source.parameters()
        let text: [UInt8]
        switch form {
        case .swift: text = Array(ParameterAccessors(parameters, name: name).text.utf8)
        case .plist: text = try ParameterDefaults(parameters, name: name).text(.plist)
        case .json: text = try ParameterDefaults(parameters, name: name).text(.json)
        }
        if let output {
            try FileStore.writeOutput(output, Bytes(text))
        } else {
            Console.write(text, to: 1)
        }
    }
}

/// The options that name the collection with the parameters.
struct ParameterSource: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A collection in the dumps directory, a bundle, or a JSON file of records; by default, the only "
                + "collection of the dumps directory.",
            valueName: "file|bucket/collection"))
    var collection: String?

    @OptionGroup var dumps: ReadDumpsOptions

    /// - Returns: the parameters, and the collection's name for messages.
    func parameters() async throws -> (parameters: ParameterSet, name: String) {
        if let collection { return try await Self.parameters(collection, dumps) }
        var dumps = dumps
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let collections = try dumps.directory.lockFile(limits: Limits()).collections.keys
            .filter { $0 != Catalogue.collection }.sorted()
        guard let only = collections.first, collections.count == 1 else {
            throw CommandFailure(
                .usage,
                "\(dumps.path) has \(Counted.text(collections.count, "collection")); name one with --collection")
        }
        return try await Self.parameters("\(only)", dumps)
    }

    static func parameters(
        _ file: String, _ dumps: ReadDumpsOptions
    ) async throws -> (parameters: ParameterSet, name: String) {
        var dumps = dumps
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        let table: RecordTable
        if file.hasSuffix(".json") {
            table = try records(file)
        } else {
            let id = file.hasSuffix(".zip") ? nil : try? CollectionID(file)
            let path = id.map(dumps.directory.bundlePath) ?? file
            guard try FileStore.exists(path) else {
                throw CommandFailure(
                    .usage,
                    "\(path): there is no such bundle; give the path of a .zip or .json file, or BUCKET/COLLECTION and "
                        + "--dumps DIR")
            }
            table = try BundleReader(path: path, limits: Limits()).payload().records
        }
        do throws(ParameterRecordError) {
            return (try ParameterSet(table), file)
        } catch {
            throw CommandFailure(.usage, "\(file): \(error)")
        }
    }

    /// Reads the records of a JSON file: an array of records, or an object with the array as `data` or `changes`.
    private static func records(_ file: String) throws -> RecordTable {
        let limits = Limits()
        guard let content = try FileStore.read(file, limit: limits.changesetBytes) else {
            throw CommandFailure(.usage, "\(file): there is no such file; give --collection a JSON file of records")
        }
        do {
            let document = try JSONValue(parsing: content, limits: limits)
            guard let records = document.array ?? document["data"]?.array ?? document["changes"]?.array else {
                throw CommandFailure(
                    .usage,
                    "\(file): expected an array of records, or an object with \"data\" or \"changes\", found another "
                        + "value"
                )
            }
            let changeset = JSONValue.members([
                "metadata": .object([]), "timestamp": .count(1), "changes": .array(records),
            ])
            return try Changeset(parsing: Bytes(JSONText.compact(changeset)), limits: limits).records
        } catch let error as CommandFailure {
            throw error
        } catch {
            throw CommandFailure(.usage, "\(file): expected JSON records, found \(error)")
        }
    }
}
