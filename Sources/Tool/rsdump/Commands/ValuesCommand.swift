import ArgumentParser
import ConfigParameters
import Dumps
import DumpsExchange
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import TargetFilter

/// `rsdump values`
struct ValuesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "values",
        abstract: "Print the values of remote config parameters for a device, as JSON.",
        usage: "rsdump values [<key>] [<options>]",
        discussion: """
            Each value is JSON. Without a key, each line is KEY=VALUE. Exits with 1 if the key has no value.
              rsdump values banner_text --context locale=de-AT --context id=1
            For details, see Publishing.md in share/doc/rsdump.
            """)

    @Argument(help: "The parameter's key.")
    var key: String?

    @OptionGroup var source: ParameterSource
    @OptionGroup var context: ContextOption

    @Flag(help: "Explain why each record of the key is used or not.")
    var explain = false

    func run() async throws {
        let named = try await source.read()
        let parameters = named.parameters
        var filter = RecordFilter(context: try filterContext())
        if let key, !parameters.contains(key) {
            throw CommandFailure(
                .someFailed,
                "\(named.name): no parameter has the key \(Console.visible(key)); without a key, all are listed")
        }
        var isMissing = false
        for key in key.map({ [$0] }) ?? parameters.keys.sorted().map(\.string) {
            let explanation = parameters.explanation(of: key, &filter)
            if case .value(let json)? = explanation.winner?.content {
                let value = PlainJSON.text(json)
                Console.print(self.key == nil ? "\(Console.visible(key))=\(value)" : value)
            } else {
                isMissing = true
                if self.key != nil || explain {
                    Console.error("\(Console.visible(key)): no value for this device; the app uses its own default")
                }
            }
            if explain {
                for candidate in explanation.candidates { Console.error("  \(Console.visible("\(candidate)"))") }
            }
        }
        if isMissing, key != nil { throw ExitStatus.someFailed.code }
    }

    private func filterContext() throws -> FilterContext {
        var app = try appContext(context.pairs) ?? RemoteSettingsContext()
        for (key, text) in app.customTargetingAttributes ?? [:] {
            guard let json = try? JSONValue(parsing: Bytes(utf8: text)) else { continue }
            switch json {
            case .number, .bool:
                app.attributes[key] = json
                app.customTargetingAttributes?[key] = nil
            default: break
            }
        }
        if app.attributes["now"] == nil {
            app.attributes["now"] = .number(JSONNumber(HTTPEnvironment.system.now().milliseconds))
        }
        return app.filterContext
    }
}

/// The options that specify the collection with the parameters.
struct ParameterSource: ParsableArguments {
    @Option(
        name: .customLong("parameters"),
        help: ArgumentHelp(
            "A collection, bundle or JSON file with parameters; by default, the only collection in --dumps.",
            valueName: "source"))
    var place: String?

    @OptionGroup var dumps: ReadDumpsOptions

    func read() async throws -> NamedParameters {
        var dumps = dumps
        let commit = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(commit) {} }
        return try NamedParameters(place, in: dumps.directory)
    }
}
