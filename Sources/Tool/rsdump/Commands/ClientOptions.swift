import ArgumentParser
import Dumps
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The options of the commands that use the `RemoteSettings` library as an app does.
struct ClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The directory in which syncs store data.", valueName: "dir"))
    var storage: String

    @Option(help: ArgumentHelp("The dumps directory that an app would package.", valueName: "dir"))
    var packaged: String?

    @OptionGroup var server: ServerOptions

    @OptionGroup var context: ContextOption

    /// Creates a service that uses the network. Like the app, it skips states that the app has rejected.
    ///
    /// - Throws: ``CommandFailure``, ``Failure`` if the options, or the `dumps.yaml` in the
    ///   directory of packaged bundles, cannot be used.
    func service() throws -> RemoteSettingsService {
        // If there is a dumps.yaml beside the packaged bundles, its server and roots apply to them.
        var settings = DumpsConfiguration()
        if let packaged, try DumpsDirectory(packaged).configurationText() != nil {
            settings = try DumpsDirectory(packaged).configuration()
        }
        settings = try server.applied(to: settings)
        _ = try settings.serverURL()
        let policy = try settings.policy(file: packaged.map { DumpsDirectory($0).configurationPath } ?? "--server")
        var config = RemoteSettingsConfig(
            server: .custom(url: "\(try settings.serverURL())"), appContext: try appContext(context.pairs),
            packaged: packaged.map { [.directory($0)] } ?? [], trustRoots: policy.roots)
        config.signer = settings.trust.signer
        config.acceptsUnsigned = settings.trust.acceptsUnsigned
        config.allowsPlainHTTP = settings.allowsPlainHTTP
        config.userAgent = "rsdump/\(RSDump.version)"
        config.log = { _ in }
        config.skipsRejected = true
        return RemoteSettingsService(storageDirectory: storage, config: config)
    }
}

/// Returns the context from the pairs of `--context`; `nil` if there are none.
func appContext(_ context: [String]) throws(ValidationError) -> RemoteSettingsContext? {
    guard !context.isEmpty else { return nil }
    var app = RemoteSettingsContext()
    for pair in context {
        guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
            throw ValidationError("--context expects KEY=VALUE, such as country=DE; found \(VisibleText.quote(pair))")
        }
        let value = String(pair[pair.index(after: equals)...])
        switch try property(pair[..<equals]) {
        case "channel": app.channel = value
        case "version": app.appVersion = value
        case "appId": app.appID = value
        case "locale": app.locale = value
        case "os": app.os = value
        case "osVersion": app.osVersion = value
        case "formFactor": app.formFactor = value
        case "country": app.country = value
        case "now": app.attributes["now"] = .number(JSONNumber(try time(value).milliseconds))
        case let key:
            app.customTargetingAttributes = (app.customTargetingAttributes ?? [:]).merging([key: value]) { $1 }
        }
    }
    return app
}

/// Returns the time that filters use as `env.now`.
private func time(_ text: String) throws(ValidationError) -> Timestamp {
    guard let time = Timestamp(text) ?? Timestamp(rfc3339: text) ?? Pin.date(text) else {
        throw ValidationError(
            "--context: now must be a date, a time such as 2026-12-04T00:00:00Z, or milliseconds since 1970; found "
                + VisibleText.quote(text))
    }
    return time
}

/// Returns the context property for a key of `--context`. The key may have the prefix `env.`, as in filters.
private func property(_ key: Substring) throws(ValidationError) -> String {
    guard key.hasPrefix("env.") else { return String(key) }
    switch key.dropFirst(4) {
    case "appinfo.ID": return "appId"
    case "appinfo.OS", "appinfo.os.name", "os.name": return "os"
    case "appinfo.os.version", "os.version": return "osVersion"
    case let name where !name.isEmpty && !name.contains("."): return String(name)
    default:
        throw ValidationError(
            "--context: \(VisibleText.quote(String(key))) cannot be set; set a single value of env, such as "
                + "env.channel or env.os.name")
    }
}

extension CommandFailure {
    /// Creates a failure from a sync error.
    ///
    /// - Parameter name: the collection or the server that failed.
    init(_ error: RemoteSettingsError, _ name: String) {
        switch error {
        case .offline, .unavailable, .timedOut: self.init(.unreachable, "\(name): \(error)")
        case .backoff: self.init(.backoff, "\(name): \(error)")
        default: self.init(.someFailed, "\(name): \(error)")
        }
    }
}
