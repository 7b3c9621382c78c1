import Dumps
import RemoteSettingsModel

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
