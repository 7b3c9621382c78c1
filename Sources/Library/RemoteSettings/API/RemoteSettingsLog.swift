import Logging

/// One entry of a service's log: what is worth knowing, such as a failed sync or a snapshot that cannot be used.
public struct RemoteSettingsLogEntry: Hashable, Sendable {
    /// How much an entry matters.
    ///
    /// Closed: no version adds a case.
    public enum Level: Int, Hashable, Sendable, Comparable, CaseIterable {
        /// What happens inside, for anyone who looks for a fault.
        case debug
        /// Something that happens as it should.
        case info
        /// Something unusual that is not a fault.
        case notice
        /// A fault that the service has dealt with.
        case warning
        /// A fault that somebody has to deal with.
        case error

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// How much it matters.
    public var level: Level
    /// A sentence for people. It may quote what a server has sent.
    public var message: String
}

/// Where a service writes its log.
package struct ServiceLog: Sendable {
    let receive: @Sendable (RemoteSettingsLogEntry) -> Void

    /// - Parameter receive: if it is `nil`, swift-log receives the entries under the label `remote-settings`, and
    ///   writes them to standard error unless the program has set up something else.
    init(_ receive: (@Sendable (RemoteSettingsLogEntry) -> Void)?) {
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
