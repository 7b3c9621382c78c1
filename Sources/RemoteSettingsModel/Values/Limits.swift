/// Every limit on data from outside, in one place.
///
/// Data beyond a limit is refused with an error that names the limit. Nothing is truncated silently.
public struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    public var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    public var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    public var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    public var chainBytes = 64 << 10
    /// Certificate chains in an app's storage directory. The oldest are removed. There must be a limit, because the
    /// URLs of chains are not signed, and a server could give each collection new ones at each sync.
    public var keptChains = 64
    /// Certificates in a chain.
    public var chainCertificates = 8
    /// An attachment, in bytes, whatever its record states. If `Int` has 32 bits, this is its highest value.
    public var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    public var attachmentsZipBytes = 64 << 20
    /// All files of the server's zip together, in bytes after decompression.
    public var attachmentsZipContentBytes = 512 << 20
    /// The server's bundle of changesets for a first launch, in bytes as served.
    public var startupBundleBytes = 16 << 20
    /// The server's bundle of changesets for a first launch, in bytes after decompression.
    public var startupBundleContentBytes = 64 << 20
    /// Changesets in the server's bundle for a first launch.
    public var startupBundleChangesets = 10_000
    /// Attachments of a collection.
    public var attachments = 100_000
    /// Records of a collection.
    public var records = 1_000_000
    /// A record in canonical form, in bytes.
    public var recordBytes = 16 << 20
    /// Nesting of arrays and objects in a JSON document.
    public var jsonDepth = 128
    /// Members of a JSON object. In a record, the members of all objects that are open at once are counted together.
    public var jsonMembers = 100_000
    /// Values of all kinds in a JSON document that is read into memory as a tree, and in a record.
    public var jsonValues = 250_000
    /// A collection's metadata, in bytes, wherever it comes from: a changeset, a bundle, a cache file.
    public var metadataBytes = 1 << 20
    /// The first line of a file in an app's storage directory, in bytes: the metadata and the chain as JSON strings.
    public var cacheHeadBytes = 4 << 20
    /// `dumps.yaml`, in bytes.
    public var configurationBytes = 4 << 20
    /// The file that records which servers asked for a pause, in bytes.
    public var backoffFileBytes = 1 << 20
    /// `dumps.lock.json`, in bytes.
    public var lockBytes = 64 << 20
    /// A bundle's `manifest.json`, in bytes.
    public var manifestBytes = 128 << 20
    /// A bundle that others may write to, in bytes, up to which its private copy is in memory. The copy of a larger one
    /// is a file without a name in the temporary directory.
    public var copiedBundleBytes = 16 << 20
    /// Signatures in a collection's metadata that are examined.
    public var signatures = 16
    /// Redirects followed for one request.
    public var redirects = 5
    /// Tries of one request: the first one, and retries after a time-out, a broken connection or a 5xx.
    public var tries = 4
    /// The part of an error answer's body that is kept for the error message, in bytes.
    public var errorBodyBytes = 2 << 10
    /// The longest wait, in seconds, that a server's `Backoff` or `Retry-After` can ask for.
    public var backoffSeconds = 86_400
    /// The longest requested pause, in seconds, that is waited for. A longer one is an error.
    public var patienceSeconds = 5
    /// Seconds by which a collection's timestamp may be ahead of the time at which it is verified, because the clocks
    /// of servers and devices differ.
    public var clockToleranceSeconds = 86_400
    /// Seconds within which an answer's head must arrive.
    public var headTimeoutSeconds = 30
    /// Seconds without a byte after which the transfer of a body fails.
    public var idleTimeoutSeconds = 30
    /// Bytes by which a body on the wire, before decompression, may exceed its limit after decompression. If
    /// compression makes a body longer, it does so by less than a thousandth.
    public var wireExcessBytes = 1 << 20
    /// The lowest throughput of a body, in bytes per second on the wire, over `throughputSeconds` of waiting for it; 0
    /// for no such limit. The time that a reader takes between two reads does not count.
    public var leastBytesPerSecond = 256
    /// Seconds over which the throughput of a body is measured.
    public var throughputSeconds = 60
    /// Seconds for one document (monitor, changeset, chain, root document), from its first request to its last byte.
    /// Redirects, retries and the pauses between them count.
    public var documentSeconds = 600
    /// Seconds for one download (an attachment, a zip of attachments), counted in the same way. At this default, an
    /// attachment of `attachmentBytes` needs 1.2 MB/s.
    public var downloadSeconds = 14_400
    /// Seconds for all requests of one run: a refresh, a sync, a download of a collection's attachments.
    public var runSeconds = 43_200
    /// Seconds without a byte after which the connection of an update channel counts as dead. If the server sends
    /// heartbeats, the library waits for only three of them.
    public var updateIdleSeconds = 3600
    /// Milliseconds between two requests to a server that asked for a `Backoff` during the present run.
    public var gentlePauseMilliseconds = 200
    /// Seconds to wait for another process that writes to the same storage directory.
    public var storageLockSeconds = 5
    /// An older state's file in version control, in bytes. It is read into memory.
    public var historyFileBytes = 1 << 30
    /// Revisions that are searched for an older state.
    public var revisions = 100_000
    /// Files and folders that are searched in a folder of older bundles.
    public var historyFiles = 1_000_000
    /// Depth of a folder of older bundles.
    public var historyDepth = 32
    /// Seconds that one run of git may take, or of the command of `rsdump publish --sign-with`.
    public var programSeconds = 120
    /// Entries of an archive that is imported.
    public var archiveEntries = 500_000
    /// The unpacked size of an imported archive, in bytes. If `Int` has 32 bits, this is its highest value.
    public var archiveBytes = Int(clamping: Int64(64) << 30)
    /// Unpacked bytes for each byte of an archive, checked from 64 MiB on. Deflate cannot exceed 1,032.
    public var archiveRatio = 1_100
    /// Nested folders in an imported archive, counting the file in them as one more.
    public var archivePathDepth = 64
    /// Archives nested in each other.
    public var archiveDepth = 3
    /// The clients of `rsdump serve`.
    public var server = ServerLimits()
    /// Filter expressions.
    public var filter = FilterLimits()

    /// The defaults.
    public init() {}
}

/// The limits on one filter expression, from its text to its value.
///
/// An expression that exceeds one of them is an error, and an error excludes the record.
public struct FilterLimits: Sendable, Hashable {
    /// An expression's text, in bytes of UTF-8.
    public var expressionBytes = 16 << 10
    /// Nesting of parentheses, brackets, braces, arguments and branches of `?:`.
    public var nesting = 32
    /// The work of one evaluation, in steps. One step is an operation, an element that is read, 16 bytes of text, or a
    /// step of a regular expression.
    public var steps = 200_000
    /// A text that an evaluation makes, in bytes of UTF-8.
    public var textBytes = 64 << 10
    /// An array or object that an evaluation makes, in elements.
    public var elements = 10_000
    /// A regular expression, in Unicode scalars.
    public var patternScalars = 1000
    /// A compiled regular expression, in instructions. Bounded repetitions such as `a{2,5}` are written out.
    public var patternInstructions = 5000

    /// The defaults.
    public init() {}
}

/// The limits that `rsdump serve` puts on its clients.
public struct ServerLimits: Sendable, Hashable {
    /// Connections at once. From fifteen sixteenths of them on, each newcomer replaces the connection that has been
    /// idle the longest. If none is idle, it replaces the one that has not taken its answer for the longest. If all are
    /// at work, it waits until one ends. The number is lower if the system allows fewer open files.
    public var connections = 16_384
    /// Connections at once from one IPv4 address, or from one IPv6 network of 64 bits, without those that wait for
    /// updates. A newcomer replaces an idle one as above, and is refused if all are at work. At most three quarters of
    /// ``connections``.
    public var connectionsPerAddress = 1_024
    /// One header field with its name and value, in bytes. It also applies to the request line.
    public var headerFieldBytes = 8 << 10
    /// All header fields of a request, in bytes.
    public var headerBytes = 32 << 10
    /// Header fields of a request.
    public var headerFields = 100
    /// A request's body, in bytes. Bodies are never used. Those within the limit are read and discarded.
    public var requestBodyBytes = 64 << 10
    /// A request on the wire, in bytes. This includes what is neither header nor body, such as chunk extensions.
    public var requestBytes = 1 << 20
    /// Seconds from the connection until the first request is complete.
    public var requestSeconds = 15
    /// Seconds from an answer until the next request is complete.
    public var idleSeconds = 75
    /// Seconds that the client may take to accept the next ``pieceBytes`` of an answer.
    public var stallSeconds = 30
    /// The bytes of an answer that are read for a client at once, and the least that it must accept in
    /// ``stallSeconds``. The next ones are read when it has accepted all of them.
    public var pieceBytes = 64 << 10
    /// The bytes in memory that belong to one client's answer each and that this client has not taken yet, for all
    /// clients together. One IPv4 address or IPv6 network of 64 bits may have as many of them as nobody has. Beyond
    /// that, pieces are of 8 KiB, which do not count, and what must be in memory until its end is answered with 503: a
    /// page, and a large file that is inflated.
    public var untakenBytes = 32 << 20
    /// Connections at once that wait for updates, from all clients. They are part of ``connections``, and at most three
    /// quarters of them. If there is no room for a client, it is asked to come back later.
    public var updateStreams = 12_288
    /// Connections at once that wait for updates, from one IPv4 address or one IPv6 network of 64 bits.
    public var updateStreamsPerAddress = 9_216
    /// Seconds between two heartbeats on a connection that waits for updates.
    public var updateHeartbeatSeconds = 15
    /// Clients per second that come back after the server has ended. Each client that waits for updates is told how
    /// long to stay away, so that no more than this number return at once. The wait is at least 3 seconds and at most
    /// 10 minutes.
    public var updateReturnsPerSecond = 200
    /// Seconds that requests may go on after the server was asked to end.
    public var shutdownSeconds = 10
    /// Older states of a collection from which deltas can begin.
    public var historyStates = 64
    /// Bytes of older bundles that are kept in memory, because they come from git.
    public var historyBytes = 256 << 20
    /// Bytes of a body that is kept in memory once a client has asked for it. A larger one is read each time.
    public var keptBodyBytes = 4 << 20
    /// Bytes of all bodies together that are kept in memory.
    public var keptBytes = 64 << 20
    /// Milliseconds between two checks of a watched directory.
    public var watchMilliseconds = 200

    /// The defaults.
    public init() {}
}
