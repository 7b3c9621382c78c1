/// The limits that `rsdump serve` applies to its clients.
package struct ServerLimits: Sendable, Hashable {
    /// The maximum number of concurrent connections. When 15/16 of them are open, each new connection replaces the one
    /// that has been idle longest or, if none is idle, the one whose client has not read its response for the longest
    /// time. If all are busy, the new connection waits until one closes. The limit is lower if the system allows fewer
    /// open files.
    package var connections = 16_384
    /// The maximum number of concurrent connections from one IPv4 address or one IPv6 /64 network, not including those
    /// that wait for updates. At the limit, a new connection replaces an idle one as for ``connections``, and is
    /// refused if all are busy. At most three quarters of ``connections``.
    package var connectionsPerAddress = 1_024
    /// The maximum size of a header field in bytes, including name and value. It also applies to the request line.
    package var headerFieldBytes = 8 << 10
    /// The maximum total size of a request's header fields in bytes.
    package var headerBytes = 32 << 10
    /// The maximum number of header fields in a request.
    package var headerFields = 100
    /// The maximum size of a request body in bytes. The server does not use bodies: it reads and discards a body
    /// within the limit, and refuses a larger one.
    package var requestBodyBytes = 64 << 10
    /// The maximum size of a request on the wire in bytes, including overhead such as chunk extensions.
    package var requestBytes = 1 << 20
    /// The maximum time from connecting until the first request is complete, in seconds.
    package var requestSeconds = 15
    /// The maximum time from a response until the next request is complete, in seconds.
    package var idleSeconds = 75
    /// The maximum time for a client to accept the next ``pieceBytes`` of a response, in seconds.
    package var stallSeconds = 30
    /// The number of bytes of a response that are read for a client at a time. The client must accept them within
    /// ``stallSeconds``; the next bytes are read when it has accepted all of these.
    package var pieceBytes = 64 << 10
    /// The maximum number of unsent bytes in memory for responses to individual clients. One IPv4 address or IPv6 /64
    /// network may not use more than are still free. Above the limit, responses are sent in pieces of 8 KiB, which do
    /// not count, and responses that must be in memory as a whole (pages, and large files that are inflated) fail with
    /// status 503.
    package var untakenBytes = 32 << 20
    /// The maximum number of concurrent connections that wait for updates, from all clients. They count toward
    /// ``connections``, and are at most three quarters of them. Other clients are asked to retry later.
    package var updateStreams = 12_288
    /// The maximum number of concurrent connections that wait for updates from one IPv4 address or one IPv6 /64
    /// network.
    package var updateStreamsPerAddress = 9_216
    /// The interval between heartbeats on a connection that waits for updates, in seconds.
    package var updateHeartbeatSeconds = 15
    /// The maximum number of clients per second that reconnect after the server stops. To achieve this, each client
    /// that waits for updates gets a random delay of 3 seconds to 10 minutes.
    package var updateReturnsPerSecond = 200
    /// The maximum time for open requests to finish after the server was asked to stop, in seconds.
    package var shutdownSeconds = 10
    /// The maximum number of older states of a collection that deltas can start from.
    package var historyStates = 64
    /// The maximum total size in bytes of the older bundles that are kept in memory because they come from git.
    package var historyBytes = 256 << 20
    /// The maximum size in bytes of a body that is cached after its first request. A larger body is read for each
    /// request.
    package var keptBodyBytes = 4 << 20
    /// The maximum total size of all cached bodies in bytes.
    package var keptBytes = 64 << 20
    /// The interval between checks of a watched directory, in milliseconds.
    package var watchMilliseconds = 200

    /// Creates the default limits.
    package init() {}
}
