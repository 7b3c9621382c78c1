import RemoteSettingsModel
import UpdateEvents

/// How a ``RemoteSettingsService`` learns at once that something was published.
///
/// A service keeps one connection, whatever the number of its clients. It is opened when the first listener asks (a stream
/// of ``RemoteSettingsClient/changes``, a listener of remote config, or ``RemoteSettingsService/startUpdates()``) and closed
/// with the last. What is announced is fetched and verified by an ordinary sync, so that the connection needs no trust.
public struct UpdatePolicy: Sendable {
    /// Where announcements come from.
    public enum Channel: Sendable {
        /// The event stream of a ``RemoteSettingsServer/custom(url:)``, `<server>/updates`; nothing for Mozilla's servers,
        /// which have none.
        case automatic
        /// An event stream at another URL, such as one of nginx with nchan.
        case eventStream(url: String)
        /// Something else, such as Mozilla's push service.
        case source(any UpdateSource)
        /// No connection is made. ``RemoteSettingsService/handlePushMessage(_:)`` works all the same.
        case off
    }

    /// Where announcements come from.
    public var channel: Channel
    /// A sync begins after a random part of this time, so that not all apps ask at one moment. What is announced meanwhile is
    /// part of the same sync.
    public var longestDelay: Duration

    /// A policy; each parameter is the property of the same name, with its default. Does no I/O.
    public init(channel: Channel = .automatic, longestDelay: Duration = .seconds(3)) {
        self.channel = channel
        self.longestDelay = longestDelay
    }

    /// No connection is made.
    public static let off = UpdatePolicy(channel: .off)
}

/// A way to learn that a server has something new: the seam behind which event streams and push services look alike.
public protocol UpdateSource: Sendable {
    /// Opens one connection. Called again, after a pause, when it has ended. Uses the network.
    ///
    /// - Throws: ``UpdateSourceError`` where no connection comes about. In a cancelled task it ends soon.
    func connect() async throws(UpdateSourceError) -> any UpdateConnection
}

/// One connection of an ``UpdateSource``, read by one reader. Releasing it closes the connection.
public protocol UpdateConnection {
    /// Waits for what arrives next; `nil` where the other side has ended the connection properly.
    ///
    /// - Throws: ``UpdateSourceError`` where the connection broke. In a cancelled task it ends soon.
    mutating func next() async throws(UpdateSourceError) -> UpdateMessage?
}

/// Why a connection to an update channel did not come about, or broke.
public struct UpdateSourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the client does next.
    public enum Kind: Hashable, Sendable {
        /// It tries again after a pause, up to seven times.
        case failed
        /// The server has no such channel: it tries again after 4 hours.
        case unsupported
        /// The server asked for no requests for so many seconds.
        case notBefore(seconds: Int)
    }

    /// What the client does next.
    public let kind: Kind
    /// What was expected and what was found, as a sentence for people.
    public let description: String

    /// - Parameters:
    ///   - kind: what the client does next.
    ///   - description: what was expected and what was found, as a sentence for people.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// The state of a service's update channel.
public enum UpdateStatus: Hashable, Sendable {
    /// No connection is wanted: nobody listens, or ``UpdatePolicy/off`` is configured.
    case idle
    /// The app has paused it, or the app is in the background.
    case paused
    /// A connection is being made.
    case connecting
    /// The connection is open.
    case open
    /// The next connection is made after a pause, for this reason.
    case waiting(reason: String)
    /// Seven tries have failed, the last one for this reason. The next try follows a change of the network,
    /// ``RemoteSettingsService/resumeUpdates()``, a sync that succeeds, or the app's next start.
    case givenUp(reason: String)
}
