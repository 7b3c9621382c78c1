import ArgumentParser
import AsyncHTTPTransport
import ContentSignature
import Dumps
import Logging
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// The options of commands that do what an app does with the `RemoteSettings` library.
struct ClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The directory for what syncs store.", valueName: "dir"))
    var storage: String

    @Option(help: ArgumentHelp("A directory of dumps to start from, as an app packages them.", valueName: "dir"))
    var packaged: String?

    @OptionGroup var server: ServerOptions

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "What filters see of the app; may be repeated. Keys: channel, version, appId, locale, os, osVersion, "
                + "formFactor, country; any other is a custom attribute.", valueName: "key=value"))
    var context: [String] = []

    func validate() throws {
        _ = try appContext()
    }

    /// A service over the network, and what ends its connections.
    ///
    /// - Throws: ``CommandFailure``, ``ConfigurationError`` or `FileError` where the options or the packaged directory's
    ///   dumps.yaml are not usable.
    func service() throws -> (service: RemoteSettingsService, end: () async -> Void) {
        // What dumps.yaml says of the server and its roots holds for what is packaged with it.
        var settings = DumpsConfiguration()
        if let packaged, try DumpsDirectory(packaged).configurationText() != nil {
            settings = try DumpsDirectory(packaged).configuration()
        }
        settings = try server.applied(to: settings)
        _ = try settings.serverURL()
        let policy = try settings.policy(file: packaged.map { DumpsDirectory($0).configurationPath } ?? "--server")
        let transport = AsyncHTTPClientTransport(jobs: 8)
        let config = RemoteSettingsConfig(
            server: .custom(url: "\(try settings.serverURL())"), appContext: try appContext(),
            packaged: packaged.map { [.directory($0)] } ?? [], trustRoots: policy.roots, signer: settings.trust.signer,
            acceptsUnsigned: settings.trust.acceptsUnsigned, allowsPlainHTTP: settings.allowsPlainHTTP,
            userAgent: UserAgent(name: "rsdump", version: Version.text),
            logger: Logger(label: "rsdump", factory: { _ in SwiftLogNoOpLogHandler() }), transport: transport)
        let service = RemoteSettingsService(storageDir: storage, config: config)
        return (service, { await transport.shutdown() })
    }

    private func appContext() throws(ValidationError) -> RemoteSettingsContext? {
        guard !context.isEmpty else { return nil }
        var app = RemoteSettingsContext()
        for pair in context {
            guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
                throw ValidationError(
                    "--context is \(String(reflecting: pair)), expected KEY=VALUE, such as country=DE")
            }
            let value = String(pair[pair.index(after: equals)...])
            switch String(pair[..<equals]) {
            case "channel": app.channel = value
            case "version": app.appVersion = value
            case "appId": app.appId = value
            case "locale": app.locale = value
            case "os": app.os = value
            case "osVersion": app.osVersion = value
            case "formFactor": app.formFactor = value
            case "country": app.country = value
            case let key:
                app.customTargettingAttributes = (app.customTargettingAttributes ?? [:]).merging([key: value]) { $1 }
            }
        }
        return app
    }
}

extension CommandFailure {
    /// - Parameter name: the collection that it is about.
    init(_ error: RemoteSettingsError, _ name: String) {
        switch error {
        case .Network(let reason): self.init(.unreachable, "\(name): \(reason)")
        case .Backoff(let seconds): self.init(.backoff, "\(name): the server asked to wait; try again in \(seconds) s")
        case .Other(let reason): self.init(.someFailed, "\(name): \(reason)")
        }
    }
}
