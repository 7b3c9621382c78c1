import Logging

/// An entry of a service's log, such as a failed sync or an unusable snapshot.
public struct RemoteSettingsLogEntry: Hashable, Sendable {
    /// The severity of an entry.
    ///
    /// Closed: no version adds a case.
    public enum Level: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// Internal details, for debugging.
        case debug
        /// Normal operation.
        case info
        /// An unusual event that is not a problem.
        case notice
        /// A problem that the service has handled.
        case warning
        /// A problem that requires action by a person.
        case error

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The severity of the entry.
    public var level: Level
    /// The message. It may contain text from a server.
    public var message: String
}

extension RemoteSettingsLogEntry: CustomStringConvertible {
    /// A line such as `warning: main/markets: …`.
    public var description: String { "\(level): \(message)" }
}

/// The destination of a service's log.
package struct ServiceLog: Sendable {
    let receive: @Sendable (RemoteSettingsLogEntry) -> Void

    /// Creates a log.
    ///
    /// - Parameter receive: a closure that receives the entries. If it is `nil`, they are sent to swift-log with the
    ///   label `remote-settings`, which by default writes them to standard error.
    package init(_ receive: (@Sendable (RemoteSettingsLogEntry) -> Void)?) {
        if let receive {
            self.receive = receive
        } else {
            let logger = Logger(label: "remote-settings")
            self.receive = { logger.log(level: $0.level.ofSwiftLog, "\($0.message)") }
        }
    }

    func debug(_ message: String) { receive(.init(level: .debug, message: message)) }
    func info(_ message: String) { receive(.init(level: .info, message: message)) }
    func notice(_ message: String) { receive(.init(level: .notice, message: message)) }
    package func warning(_ message: String) { receive(.init(level: .warning, message: message)) }
    func error(_ message: String) { receive(.init(level: .error, message: message)) }
}

extension RemoteSettingsLogEntry.Level {
    fileprivate var ofSwiftLog: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
