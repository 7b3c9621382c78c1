import Foundation
import RemoteConfiguration

/// Shows a banner, a flag and a color from a collection of parameters, and draws them again when an activation changes
/// them.
///
///     config-example STORAGE SERVER TRUST_ROOT COLLECTION [OPTION VALUE]... [--once]
///
/// STORAGE is a directory for what is fetched. SERVER is a base URL such as http://127.0.0.1:8888/v1. TRUST_ROOT is the
/// SHA-256 of the server's root certificate. `--packaged DIR` is the directory of the snapshots that the app ships with. `--id
/// NAME` is the installation's ID, on which percentages depend. `--interval SECONDS` is the minimum fetch interval (12 hours by
/// default).
///
/// With `--once`, it draws the available values without a request. Otherwise it checks once a second whether a fetch
/// is due, fetches and activates, until standard input ends or for `--seconds N`. With `--listen`, it also keeps a
/// connection to the server's update channel open, and activates each update as soon as it has been fetched. Each line of
/// standard input is a push message of the form `KEY=VALUE KEY=VALUE`, such as `CONFIG_STATE=STALE`.
@main
struct ConfigExample {
    /// A reason to read the parameters again.
    enum Occasion: Sendable {
        case poll
        case activation
        /// The update channel announced an update, which has been fetched.
        case update
        case message(String)
        case end
    }

    let config: RemoteConfig
    var drawn = ""
    var problem = ""

    static func main() async {
        do {
            guard let arguments = Arguments(CommandLine.arguments.dropFirst()) else {
                say(
                    "usage: config-example STORAGE SERVER TRUST_ROOT COLLECTION [--packaged DIR] [--id NAME] "
                        + "[--interval SECONDS] [--once] [--listen] [--seconds N]")
                exit(2)
            }
            var example = try ConfigExample(arguments)
            example.draw()
            if !arguments.isOnce { await example.run(arguments) }
        } catch {
            say("config-example: \(error)")
            exit(1)
        }
    }

    /// Sets up remote config as an app does at its start. Does no I/O, because values are read at their first use.
    init(_ arguments: Arguments) throws {
        var settings = RemoteSettingsConfig(
            server: .custom(url: arguments.server),
            appContext: RemoteSettingsContext(appVersion: "1.0", locale: "en-GB"),
            packaged: arguments.options["--packaged"].map { [.directory($0)] } ?? [],
            trustRoots: try TrustAnchors(parsing: [arguments.root]))
        // Standard output shows the values and failed fetches, so nothing else may be logged there.
        settings.log = { _ in }
        config = RemoteConfig.configure(
            collection: arguments.collection,
            service: RemoteSettingsService(storageDirectory: arguments.storage, config: settings),
            installationID: arguments.options["--id"])
        if let interval = arguments.options["--interval"].flatMap(Double.init) {
            config.configSettings.minimumFetchInterval = interval
        }
        config.setDefaults(["banner": "Hello", "new_checkout": false, "colour": "#808080"])
    }

    /// Fetches and activates for each event until the stream ends.
    mutating func run(_ arguments: Arguments) async {
        let (occasions, continuation) = AsyncStream<Occasion>.makeStream()
        // An activation may also come from another part of the app.
        let observer = config.addObserver { if case .activated = $0 { continuation.yield(.activation) } }
        continuation.yield(.poll)
        let seconds = arguments.options["--seconds"].flatMap(Double.init)
        let clock = Task {
            let end = ContinuousClock.now + .seconds(seconds ?? 1e9)
            while ContinuousClock.now < end {
                try await Task.sleep(until: min(end, .now + .seconds(1)))
                continuation.yield(.poll)
            }
            continuation.yield(.end)
        }
        DispatchQueue.global().async {
            while let line = readLine() { continuation.yield(.message(line)) }
            if seconds == nil { continuation.yield(.end) }
        }
        var listening: Task<Void, Never>?
        for await occasion in occasions {
            switch occasion {
            case .end:
                clock.cancel()
                listening?.cancel()
                observer.remove()
                return
            case .activation: draw()
            case .update:
                // An app chooses when to activate; the observer then draws.
                _ = try? await config.activate()
            case .message(let line): await fetch(onMessage: line)
            case .poll:
                await fetch()
                // Only now, because the state at the start needs no second fetch.
                if arguments.isListening, listening == nil { listening = listen { continuation.yield(.update) } }
            }
        }
    }

    /// Keeps the connection open until the task is canceled.
    func listen(_ onUpdate: @escaping @Sendable () -> Void) -> Task<Void, Never> {
        Task { [config] in
            do {
                for try await _ in config.configUpdates { onUpdate() }
            } catch {
                Self.say("no longer listening: \(error)")
            }
        }
    }

    /// Asks the server if a fetch is due. Values are available even if it fails.
    mutating func fetch(onMessage line: String? = nil) async {
        do {
            if let line, try config.handlePushMessage(Self.message(line)) {
                Self.say("a message marks the values as stale")
            }
            try await config.fetchAndActivate()
            problem = ""
        } catch {
            if problem != "\(error)" { Self.say("not fetched: \(error)") }
            problem = "\(error)"
        }
        draw()
    }

    /// Returns the push message that the system would deliver for a line such as `CONFIG_STATE=STALE`.
    static func message(_ line: String) -> [AnyHashable: Any] {
        var message: [AnyHashable: Any] = [:]
        for field in line.split(separator: " ") {
            let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { message[parts[0]] = parts[1] }
        }
        return message
    }

    /// Draws the three values of one state, unless they are already on the screen.
    mutating func draw() {
        let values = config.snapshot()
        let (banner, flag, colour) = (values["banner"], values["new_checkout"], values["colour"])
        let text =
            "banner \"\(banner)\" (\(banner.source)), new checkout \(flag.boolValue ? "on" : "off") (\(flag.source)), "
            + "colour \(colour) (\(colour.source))"
        if text != drawn { Self.say(isatty(STDOUT_FILENO) == 1 ? Self.onScreen(text, colour.stringValue) : text) }
        drawn = text
    }

    /// The text for a terminal: it clears the screen, and prints the text and a bar in the color `#rrggbb`.
    static func onScreen(_ text: String, _ colour: String) -> String {
        let number = colour.hasPrefix("#") ? UInt32(colour.dropFirst(), radix: 16) ?? 0x808080 : 0x808080
        let (red, green, blue) = (number >> 16 & 255, number >> 8 & 255, number & 255)
        let bar = "\u{1b}[48;2;\(red);\(green);\(blue)m\(String(repeating: " ", count: 40))\u{1b}[0m"
        return "\u{1b}[H\u{1b}[2J\(text)\n\(bar)"
    }

    /// Prints a line immediately, even into a pipe and while another thread waits for standard input.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}

/// The command line.
struct Arguments {
    private static let known: Set = ["--packaged", "--id", "--interval", "--seconds"]

    let storage: String
    let server: String
    let root: String
    let collection: String
    var options: [String: String] = [:]
    var isOnce = false
    var isListening = false

    /// - Returns: `nil` if they do not fit the usage.
    init?(_ arguments: some Collection<String>) {
        var positions: [String] = []
        var rest = arguments.makeIterator()
        while let argument = rest.next() {
            if argument == "--once" {
                isOnce = true
            } else if argument == "--listen" {
                isListening = true
            } else if Self.known.contains(argument) {
                guard let value = rest.next() else { return nil }
                options[argument] = value
            } else if argument.hasPrefix("--") {
                return nil
            } else {
                positions.append(argument)
            }
        }
        guard positions.count == 4 else { return nil }
        (storage, server, root, collection) = (positions[0], positions[1], positions[2], positions[3])
    }
}
