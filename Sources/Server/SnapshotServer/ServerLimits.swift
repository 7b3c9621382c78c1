#if Server
/// The limits that `rsdump serve` puts on its clients.
package struct ServerLimits: Sendable, Hashable {
    /// Connections at once. From fifteen sixteenths of them on, each newcomer replaces the connection that has been
    /// idle the longest. If none is idle, it replaces the one that has not taken its answer for the longest. If all are
    /// at work, it waits until one ends. The number is lower if the system allows fewer open files.
    package var connections = 16_384
    /// Connections at once from one IPv4 address, or from one IPv6 network of 64 bits, without those that wait for
    /// updates. A newcomer replaces an idle one as above, and is refused if all are at work. At most three quarters of
    /// ``connections``.
    package var connectionsPerAddress = 1_024
    /// One header field with its name and value, in bytes. It also applies to the request line.
    package var headerFieldBytes = 8 << 10
    /// All header fields of a request, in bytes.
    package var headerBytes = 32 << 10
    /// Header fields of a request.
    package var headerFields = 100
    /// A request's body, in bytes. Bodies are never used. Those within the limit are read and discarded.
    package var requestBodyBytes = 64 << 10
    /// A request on the wire, in bytes. This includes what is neither header nor body, such as chunk extensions.
    package var requestBytes = 1 << 20
    /// Seconds from the connection until the first request is complete.
    package var requestSeconds = 15
    /// Seconds from an answer until the next request is complete.
    package var idleSeconds = 75
    /// Seconds that the client may take to accept the next ``pieceBytes`` of an answer.
    package var stallSeconds = 30
    /// The bytes of an answer that are read for a client at once, and the least that it must accept in
    /// ``stallSeconds``. The next ones are read when it has accepted all of them.
    package var pieceBytes = 64 << 10
    /// The bytes in memory that belong to one client's answer each and that this client has not taken yet, for all
    /// clients together. One IPv4 address or IPv6 network of 64 bits may have as many of them as nobody has. Beyond
    /// that, pieces are of 8 KiB, which do not count, and what must be in memory until its end is answered with 503: a
    /// page, and a large file that is inflated.
    package var untakenBytes = 32 << 20
    /// Connections at once that wait for updates, from all clients. They are part of ``connections``, and at most three
    /// quarters of them. If there is no room for a client, it is asked to come back later.
    package var updateStreams = 12_288
    /// Connections at once that wait for updates, from one IPv4 address or one IPv6 network of 64 bits.
    package var updateStreamsPerAddress = 9_216
    /// Seconds between two heartbeats on a connection that waits for updates.
    package var updateHeartbeatSeconds = 15
    /// Clients per second that come back after the server has ended. Each client that waits for updates is told how
    /// long to stay away, so that no more than this number return at once. The wait is at least 3 seconds and at most
    /// 10 minutes.
    package var updateReturnsPerSecond = 200
    /// Seconds that requests may go on after the server was asked to end.
    package var shutdownSeconds = 10
    /// Older states of a collection from which deltas can begin.
    package var historyStates = 64
    /// Bytes of older bundles that are kept in memory, because they come from git.
    package var historyBytes = 256 << 20
    /// Bytes of a body that is kept in memory once a client has asked for it. A larger one is read each time.
    package var keptBodyBytes = 4 << 20
    /// Bytes of all bodies together that are kept in memory.
    package var keptBytes = 64 << 20
    /// Milliseconds between two checks of a watched directory.
    package var watchMilliseconds = 200

    /// The defaults.
    package init() {}
}
#endif
