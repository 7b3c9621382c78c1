import Dumps
import RemoteSettingsModel

/// Which state of a collection is to be pinned.
public enum PinRequest: Hashable, Sendable, CustomStringConvertible {
    /// The one that is held, or the only one at the path that is given.
    case present
    /// The one of exactly this timestamp.
    case at(Timestamp)
    /// The newest one whose timestamp is not later than this time.
    case asOf(Timestamp)

    /// Reads milliseconds, or a date, which means its end in UTC, or a time in UTC; `nil` for any other text.
    public init?(_ text: String) {
        if text.utf8.count <= 18, let timestamp = Timestamp(text), timestamp.milliseconds > 0 {
            self = .at(timestamp)
        } else if let day = Pin.date(text) {
            self = .asOf(day.advanced(by: .milliseconds(86_399_999)))
        } else if let time = Timestamp(rfc3339: text) {
            self = .asOf(time)
        } else {
            return nil
        }
    }

    func includes(_ timestamp: Timestamp) -> Bool {
        switch self {
        case .present: true
        case .at(let wanted): timestamp == wanted
        case .asOf(let time): timestamp <= time
        }
    }

    public var description: String {
        switch self {
        case .present: "of any timestamp"
        case .at(let timestamp): "at \(timestamp) (\(timestamp.rfc3339))"
        case .asOf(let time): "as old as \(time.rfc3339)"
        }
    }
}

/// How a pinned collection stands to the server and to its pin's last day.
public struct PinState: Hashable, Sendable {
    public let pin: Pin
    /// `nil` where the server was not asked, or does not list the collection.
    public let serverTimestamp: Timestamp?
    public let isOverdue: Bool

    init(_ pin: Pin, serverTimestamp: Timestamp?, now: Timestamp) {
        self.pin = pin
        self.serverTimestamp = serverTimestamp
        isOverdue = pin.isOverdue(at: now)
    }

    /// How much newer the server's state is, as the difference of the timestamps; `nil` where that is not known.
    public var behind: Duration? { serverTimestamp?.elapsed(since: pin.at) }
}
