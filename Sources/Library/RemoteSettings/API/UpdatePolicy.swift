import RemoteSettingsHTTP
import RemoteSettingsModel

/// How a ``RemoteSettingsService`` learns at once that something was published.
///
/// A service keeps one connection for all its clients. The connection is opened for the first listener and closed after
/// the last. A listener is a stream of ``RemoteSettingsClient/changes()``, a listener of remote config, or
/// ``RemoteSettingsService/startUpdates()``. An ordinary sync fetches and verifies what is announced, so the connection
/// needs no trust.
public struct UpdatePolicy: Sendable {
    /// Where announcements come from.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Channel: Sendable {
        /// The event stream `<server>/updates` of a ``RemoteSettingsServer/custom(url:)``. Mozilla's servers have none,
        /// so no connection is made for them.
        case automatic
        /// An event stream at another URL, such as one of nginx with nchan.
        case eventStream(url: String)
        /// No connection is made. ``RemoteSettingsService/handlePushMessage(_:)`` still works.
        case off
    }

    /// Where announcements come from.
    public var channel: Channel
    /// The longest time before a sync begins. A random part of it is used, so that not all apps ask the server at one
    /// moment. Make it longer for more apps than your server can answer within this time.
    ///
    /// What is announced meanwhile is part of the same sync.
    public var jitter: Duration
    /// Something else that announces, in place of ``channel``. Tests set it.
    package var source: (any UpdateSource)?

    /// Makes a policy. Each parameter is the property of the same name, with its default. Does no I/O.
    public init(channel: Channel = .automatic, jitter: Duration = .milliseconds(500)) {
        self.channel = channel
        self.jitter = jitter
    }

    package init(source: any UpdateSource) {
        self.init()
        self.source = source
    }

    /// No connection is made.
    public static let off = UpdatePolicy(channel: .off)
}

/// A way to learn that a server has something new.
package protocol UpdateSource: Sendable {
    /// Opens one connection. It is called again, after a pause, when the connection has ended. Uses the network.
    ///
    /// - Throws: `HTTPError` if no connection can be made. In a cancelled task, the call ends soon.
    func connect() async throws(HTTPError) -> any UpdateConnection
}

/// One connection of an ``UpdateSource``, with one reader. Releasing it closes the connection.
package protocol UpdateConnection {
    /// Waits for the next message; `nil` if the other side has ended the connection properly.
    ///
    /// - Throws: `HTTPError` if the connection broke. In a cancelled task, the call ends soon.
    mutating func next() async throws(HTTPError) -> UpdateMessage?
}

/// The state of a service's update channel.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum UpdateStatus: Hashable, Sendable {
    /// No connection is wanted: nobody listens, or ``UpdatePolicy/off`` is configured.
    case idle
    /// The app has paused it, or the app is in the background.
    case paused
    /// A connection is being made.
    case connecting
    /// The connection is open.
    case open
    /// The next connection is made after a pause, because of this reason.
    case waiting(reason: String)
    /// More than eleven connections in a row have failed, the last one for this reason.
    ///
    /// The next try follows after hours, a change of the network, or a sync that succeeds.
    case givenUp(reason: String)
}
