/// Counts the messages of one connection, minute by minute: a server that sends more than ``mostPerMinute`` has failed, because
/// somebody would have to act on all of them, or to write them down.
package struct MessageRate: Sendable {
    /// Usual is a heartbeat in 15 s, and an update each time that something is published.
    package static let mostPerMinute = 600

    /// The uptime at which the minute began.
    private var minute: Duration
    private var messages = 0

    /// - Parameter now: the uptime at which the connection was made, or asked for.
    package init(at now: Duration) { minute = now }

    /// Counts a message.
    ///
    /// - Parameter now: the uptime at which it arrived.
    /// - Returns: whether the server may go on.
    package mutating func note(at now: Duration) -> Bool {
        if now - minute >= .seconds(60) { (minute, messages) = (now, 0) }
        messages = min(messages, Self.mostPerMinute) + 1
        return messages <= Self.mostPerMinute
    }
}
