import ArgumentParser
import CurlTransport
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import StaticMirror

/// The options that announce a change: `--notify` and its companions.
struct NotifyOptions: ParsableArguments {
    static let help = """
        With --notify, each target is told of a change when the new state is in place. It gets a POST of the update \
        event, such as {"timestamp":1740558489816,"collections":["main/regions"]}, or of a message that Firebase Cloud \
        Messaging or Apple's push service delivers to apps (--notify-format). A target is tried three times. If it \
        cannot be told, a warning says so, and the exit code stays what it would be without the target. The next run \
        with the same --notify tells the target of everything that it has missed.

        Targets that differ in format, topic or credentials have names under notify: in dumps.yaml.
        """

    @Option(
        name: .customLong("notify"), parsing: .singleValue,
        help: ArgumentHelp(
            "After a change, tell this URL, or the target of this name in dumps.yaml; may be repeated.",
            valueName: "url|name"))
    var names: [String] = []

    @Option(
        name: .customLong("notify-format"),
        help: ArgumentHelp("What is posted to the URLs of --notify: event, fcm or apns.", valueName: "format"))
    var format: NotificationTarget.Format?

    @Option(
        name: .customLong("notify-topic"),
        help: ArgumentHelp("For fcm the topic, for apns the app's bundle identifier.", valueName: "topic"))
    var topic: String?

    @Option(
        name: .customLong("notify-headers-from-env"),
        help: ArgumentHelp(
            "The environment variable with header fields for the URLs of --notify, such as Authorization: "
                + "Bearer TOKEN.",
            valueName: "variable"))
    var headersVariable: String?

    func validate() throws {
        for name in names where Self.isURL(name) {
            do {
                _ = try Notifier.Recipient(target(name), headers: HTTPHeaders())
            } catch {
                throw ValidationError("--notify: \(error)")
            }
        }
        guard names.contains(where: Self.isURL) || (format == nil && topic == nil && headersVariable == nil) else {
            throw ValidationError(
                "--notify-format, --notify-topic and --notify-headers-from-env go with the URL of a --notify")
        }
    }

    /// The beginning of the variable names that a dumps.yaml may use.
    private static let variablePrefix = "RSDUMP_NOTIFY_"

    private static func isURL(_ name: String) -> Bool { name.contains(":") || name.contains("/") }

    private func target(_ url: String) throws(NotificationTargetError) -> NotificationTarget {
        try NotificationTarget(
            url: url, format: format ?? .event, topic: topic, headersVariable: headersVariable)
    }

    /// Makes a change to a directory of dumps and announces it to the targets.
    ///
    /// - Parameter configuration: called only if there are targets.
    func telling<Value>(
        of directory: DumpsDirectory, _ configuration: @autoclosure () throws -> DumpsConfiguration,
        _ change: () async throws -> Value
    ) async throws -> (Value, [Notifier.Outcome]) {
        guard !names.isEmpty else { return (try await change(), []) }
        let recipients = try recipients(configuration(), file: directory.configurationPath)
        try directory.prepareNotifications()
        defer { try? directory.finishNotifications() }
        return try await tell(recipients, keeping: directory.notificationsPath, change) {
            try directory.lockFile(limits: Limits()).collections.mapValues(\.timestamp)
        }
    }

    /// Publishes a mirror and announces it to the targets.
    func telling<Value>(
        ofMirror folder: String, state: () throws -> Notifier.State,
        _ configuration: @autoclosure () throws -> DumpsConfiguration, file: String, _ change: () async throws -> Value
    ) async throws -> (Value, [Notifier.Outcome]) {
        guard !names.isEmpty else { return (try await change(), []) }
        let recipients = try recipients(configuration(), file: file)
        try StaticMirror.check(folder)
        try FileStore.makeDirectories(folder)
        return try await tell(
            recipients, keeping: "\(folder)/\(StaticMirror.notificationsName)", change, state: state)
    }

    private func tell<Value>(
        _ recipients: [Notifier.Recipient], keeping path: String, _ change: () async throws -> Value,
        state: () throws -> Notifier.State
    ) async throws -> (Value, [Notifier.Outcome]) {
        let transport = CurlTransport()
        let notifier = Notifier(
            recipients, keeping: path, userAgent: UserAgent(name: "rsdump", version: RSDump.version)
        ) { request, body throws(HTTPError) in
            let answer = try await transport.post(body, by: request)
            return (answer.status, answer.headers)
        }
        try notifier.begin(state())
        let result: Result<Value, any Error>
        do { result = .success(try await change()) } catch { result = .failure(error) }
        var outcomes: [Notifier.Outcome] = []
        do {
            outcomes = try await notifier.finish(state())
        } catch {
            // The change is made, even if the notifications fail.
            Console.error("warning: \(Console.visible("\(error)"))")
        }
        for outcome in outcomes {
            switch outcome.result {
            case .unchanged, .told: break
            case .pending(let error): Console.error("warning: not told, the next run tries again: \(error)")
            case .gone(let error): Console.error("warning: not told, and not tried again; remove the target: \(error)")
            }
        }
        return (try result.get(), outcomes)
    }

    private func recipients(_ configuration: DumpsConfiguration, file: String) throws -> [Notifier.Recipient] {
        try names.map { name in
            let target: NotificationTarget
            if Self.isURL(name) {
                target = try self.target(name)
            } else if let named = configuration.notificationTargets[name] {
                target = named
            } else {
                let known = Counted.list(configuration.notificationTargets.keys.sorted())
                throw CommandFailure(
                    .usage,
                    "--notify \(Console.visible(name)): expected a URL or a name under notify: in \(file), which "
                        + (known.isEmpty ? "has none" : "has \(known)"))
            }
            // The prefix keeps a person who may change dumps.yaml from sending this machine's other secrets to a server
            // of theirs.
            if let variable = target.headersVariable, !Self.isURL(name), !variable.hasPrefix(Self.variablePrefix) {
                throw CommandFailure(
                    .usage,
                    "\(file): notify: \(Console.visible(name)): headers-from-env: expected a variable whose name "
                        + "begins with \(Self.variablePrefix), found \(Console.visible(variable)); rename the variable")
            }
            let headers = try Self.headers(target.headersVariable)
            do {
                return try Notifier.Recipient(target, headers: headers)
            } catch {
                throw CommandFailure(.usage, "\(file): notify: \(Console.visible(name)): \(error)")
            }
        }
    }

    private static func headers(_ variable: String?) throws -> HTTPHeaders {
        guard let variable else { return HTTPHeaders() }
        guard let value = unsafe getenv(variable).map({ unsafe String(cString: $0) }), !value.isEmpty else {
            throw CommandFailure(
                .usage, "the environment variable \(variable) is not set; --notify takes header fields from it")
        }
        do {
            return try HTTPHeaders(lines: value)
        } catch {
            throw CommandFailure(.usage, "the environment variable \(variable): \(error)")
        }
    }
}

extension NotificationTarget.Format: ExpressibleByArgument {
    // If ArgumentParser made this from the cases, every refresh would look up a dozen types at its start.
    package init?(argument: String) { self.init(rawValue: argument) }

    package static var allValueStrings: [String] { allCases.map { $0.rawValue } }

    package var defaultValueDescription: String { rawValue }
}

/// The results of `--notify` in the output of a command.
enum NotificationReport {
    /// One line for each target that was told. A line feed precedes each line.
    static func text(_ outcomes: [Notifier.Outcome]) -> String {
        outcomes.filter(\.isTold).map { outcome in
            "\n\(outcome.recipient.label): told that \(Counted.text(outcome.collections.count, "collection")) changed"
        }.joined()
    }

    /// `nil` if there are no targets. The output then has no such member.
    static func json(_ outcomes: [Notifier.Outcome]) -> JSONValue? {
        guard !outcomes.isEmpty else { return nil }
        return .array(
            outcomes.map { outcome in
                let (status, error): (String, HTTPError?) =
                    switch outcome.result {
                    case .unchanged: ("unchanged", nil)
                    case .told: ("told", nil)
                    case .pending(let error): ("pending", error)
                    case .gone(let error): ("gone", error)
                    }
                return .members([
                    "target": .string(outcome.recipient.label),
                    "format": .string(outcome.recipient.target.format.rawValue),
                    "status": .string(status), "timestamp": .count(outcome.timestamp.milliseconds),
                    "collections": .array(outcome.collections.map { .string("\($0)") }),
                    "error": error.map { .string("\($0)") },
                ])
            })
    }
}

extension Notifier.Outcome {
    fileprivate var isTold: Bool { if case .told = result { true } else { false } }
}
