/// The limits of a server of one's own on its clients.
public struct ServerLimits: Sendable, Hashable {
    /// Connections at once; more wait until one ends. Fewer where the system allows fewer open files.
    public var connections = 16_384
    /// One header field, in bytes, name and value; the request line alike.
    public var headerFieldBytes = 8 << 10
    /// All header fields of a request, in bytes.
    public var headerBytes = 32 << 10
    /// Header fields of a request.
    public var headerFields = 100
    /// A request's body, in bytes; none is read, but small ones are passed over.
    public var requestBodyBytes = 64 << 10
    /// A request as it comes over the wire, in bytes: also what is neither header nor body, such as chunks' extensions.
    public var requestBytes = 1 << 20
    /// Seconds from the connection until the first request is complete.
    public var requestSeconds = 15
    /// Seconds from an answer until the next request is complete.
    public var idleSeconds = 75
    /// Seconds that the client may take to accept the next ``pieceBytes`` of an answer.
    public var stallSeconds = 30
    /// An answer's bytes that are on their way to a client at once, and the least that it must accept in ``stallSeconds``.
    public var pieceBytes = 256 << 10
    /// Seconds that requests may go on after the server was asked to end.
    public var shutdownSeconds = 10
    /// Older states of a collection that deltas can begin at.
    public var historyStates = 64
    /// Bytes of older bundles that are kept in memory, because they come from git.
    public var historyBytes = 256 << 20
    /// Bytes of a body that is kept in memory once a client has asked for it; larger ones are read each time.
    public var keptBodyBytes = 4 << 20
    /// Bytes of all bodies that are kept in memory.
    public var keptBytes = 64 << 20
    /// Milliseconds between two looks at a directory that is watched.
    public var watchMilliseconds = 500

    public init() {}
}
