import RemoteSettingsHTTP
import RemoteSettingsModel

extension RemoteSettingsConfig {
    /// The policy that decides how a ``RemoteSettingsService`` is notified of new data on the server.
    ///
    /// A service uses one connection for all its clients. It opens the connection for the first listener and closes it
    /// after the last. Listeners are streams of ``RemoteSettingsClient/changes()``, listeners of remote config, and
    /// ``RemoteSettingsService/startUpdates()``. An announcement only starts an ordinary sync, which verifies the data,
    /// so the connection itself need not be trusted.
    public struct UpdatePolicy: Sendable {
        /// The source of announcements.
        @nonexhaustive public enum Channel: Sendable {
            /// The event stream `<server>/updates` of a ``RemoteSettingsServer/custom(url:)``. Mozilla's servers have
            /// no event stream, so no connection is opened for them.
            case automatic
            /// An event stream at a different URL, such as one served by nginx with nchan.
            case eventStream(url: String)
            /// No connection is opened. ``RemoteSettingsService/handlePushMessage(_:)`` still works.
            case off
        }

        /// The source of announcements.
        public var channel: Channel
        /// The maximum delay before a sync starts. The actual delay is a random part of it, so that not all apps
        /// contact the server at the same moment. Increase it if your server cannot serve all apps within this time.
        ///
        /// Announcements that arrive during the delay are covered by the same sync.
        public var jitter: Duration
        /// A source of announcements that replaces ``channel``, for tests.
        package var source: (any UpdateSource)?

        /// Creates a policy. Each parameter sets the property of the same name. Does no I/O.
        public init(channel: Channel = .automatic, jitter: Duration = .milliseconds(500)) {
            self.channel = channel
            self.jitter = jitter
        }

        package init(source: any UpdateSource) {
            self.init()
            self.source = source
        }

        /// A policy without a connection.
        public static let off = UpdatePolicy(channel: .off)
    }
}

/// A source of announcements that a server has new data.
package protocol UpdateSource: Sendable {
    /// Opens one connection. It is called again, after a delay, when the connection has closed. Uses the network.
    ///
    /// - Throws: `Failure` if no connection can be opened. In a cancelled task, the call returns soon.
    func connect() async throws(Failure) -> any UpdateConnection
}

/// A connection of an ``UpdateSource``, with one reader. Releasing it closes the connection.
package protocol UpdateConnection {
    /// Waits for the next message; returns `nil` if the server has closed the connection properly.
    ///
    /// - Throws: `Failure` if the connection failed. In a cancelled task, the call returns soon.
    mutating func next() async throws(Failure) -> UpdateMessage?
}

/// The state of a service's update channel.
@nonexhaustive public enum UpdateStatus: Hashable, Sendable {
    /// No connection is needed: there are no listeners, or ``RemoteSettingsConfig/UpdatePolicy/off`` is configured.
    case idle
    /// The channel is closed because the app has paused it or is in the background.
    case paused
    /// A connection is being opened.
    case connecting
    /// The connection is open.
    case open
    /// The last connection failed or closed for this reason. The next attempt follows after a delay.
    case waiting(reason: String)
    /// More than eleven consecutive connections have failed, the last one for this reason.
    ///
    /// The next attempt follows after some hours, a network change, or a successful sync.
    case givenUp(reason: String)
}
