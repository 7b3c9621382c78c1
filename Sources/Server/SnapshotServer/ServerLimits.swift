#if Server
/// The limits that `rsdump serve` puts on its clients.
package struct ServerLimits: Sendable, Hashable {
    /// The most connections at once. When fifteen sixteenths are reached, each newcomer replaces the connection that
    /// has been idle the longest. If none is idle, it replaces the one that has not taken its answer for the longest.
    /// If all are busy, it waits until one ends. The limit is lower if the system allows fewer open files.
    package var connections = 16_384
    /// The most connections at once from one IPv4 address, or from one IPv6 network of 64 bits, without those that wait
    /// for updates. A newcomer replaces an idle one as above, and is refused if all are busy. At most three quarters of
    /// ``connections``.
    package var connectionsPerAddress = 1_024
    /// The most bytes of a header field, with its name and value. The limit also applies to the request line.
    package var headerFieldBytes = 8 << 10
    /// The most bytes of all header fields of a request.
    package var headerBytes = 32 << 10
    /// The most header fields of a request.
    package var headerFields = 100
    /// The most bytes of a request's body. Bodies are never used. Those within the limit are read and discarded.
    package var requestBodyBytes = 64 << 10
    /// The most bytes of a request on the wire, with what is neither header nor body, such as chunk extensions.
    package var requestBytes = 1 << 20
    /// The most seconds from the connection until the first request is complete.
    package var requestSeconds = 15
    /// The most seconds from an answer until the next request is complete.
    package var idleSeconds = 75
    /// The most seconds that a client may take to accept the next ``pieceBytes`` of an answer.
    package var stallSeconds = 30
    /// The bytes of an answer that are read for a client at once. The client must accept this many within
    /// ``stallSeconds``, and the next ones are read when it has accepted all of them.
    package var pieceBytes = 64 << 10
    /// The most bytes in memory of answers for single clients that those clients have not taken yet. One IPv4 address
    /// or IPv6 network of 64 bits may have as many as are still free. Beyond that, pieces are of 8 KiB, which do not
    /// count. Answers that must be in memory as a whole are then 503: pages, and large files that are inflated.
    package var untakenBytes = 32 << 20
    /// The most connections at once that wait for updates, from all clients. They are part of ``connections``, and at
    /// most three quarters of them. Other clients are asked to come back later.
    package var updateStreams = 12_288
    /// The most connections at once that wait for updates, from one IPv4 address or one IPv6 network of 64 bits.
    package var updateStreamsPerAddress = 9_216
    /// The seconds between two heartbeats on a connection that waits for updates.
    package var updateHeartbeatSeconds = 15
    /// The most clients per second that come back after the server has ended. Each client that waits for updates is
    /// told how long to stay away, at least 3 seconds and at most 10 minutes, so that no more than this number return
    /// at once.
    package var updateReturnsPerSecond = 200
    /// The most seconds that requests may take after the server was asked to end.
    package var shutdownSeconds = 10
    /// The most older states of a collection from which deltas can begin.
    package var historyStates = 64
    /// The most bytes of older bundles that are kept in memory because they come from git.
    package var historyBytes = 256 << 20
    /// The most bytes of a body that is kept in memory after its first request. A larger one is read each time.
    package var keptBodyBytes = 4 << 20
    /// The most bytes of all bodies that are kept in memory.
    package var keptBytes = 64 << 20
    /// The milliseconds between two checks of a watched directory.
    package var watchMilliseconds = 200

    /// The defaults.
    package init() {}
}
#endif
