/// Every limit on data from outside, in one place.
///
/// Data over a limit is refused with an error that names the limit; nothing is truncated silently.
public struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    public var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    public var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    public var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    public var chainBytes = 64 << 10
    /// Certificate chains in an app's storage directory. The oldest are removed: where a chain is, nobody has signed, so
    /// that a server could give each collection new URLs at each sync.
    public var keptChains = 64
    /// Certificates in a chain.
    public var chainCertificates = 8
    /// An attachment, in bytes, whatever its record declares. Where `Int` has 32 bits, its highest value.
    public var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    public var attachmentsZipBytes = 64 << 20
    /// What the files of the server's zip have together after decompression, in bytes.
    public var attachmentsZipContentBytes = 512 << 20
    /// The server's bundle of changesets for a first launch, in bytes as served.
    public var startupBundleBytes = 16 << 20
    /// The same in bytes after decompression.
    public var startupBundleContentBytes = 64 << 20
    /// Changesets in it.
    public var startupBundleChangesets = 10_000
    /// Attachments of a collection.
    public var attachments = 100_000
    /// Records of a collection.
    public var records = 1_000_000
    /// A record in canonical form, in bytes.
    public var recordBytes = 16 << 20
    /// Nesting of arrays and objects in a JSON document.
    public var jsonDepth = 128
    /// Members of a JSON object. In a record, those of all objects that are open at once count together.
    public var jsonMembers = 100_000
    /// Values of all kinds in a JSON document that is read into memory as a tree, and in a record.
    public var jsonValues = 250_000
    /// A collection's metadata, in bytes, wherever it comes from: a changeset, a bundle, a cache file.
    public var metadataBytes = 1 << 20
    /// The first line of a file in an app's storage directory, in bytes: the metadata and the chain as JSON strings.
    public var cacheHeadBytes = 4 << 20
    /// `dumps.yaml`, in bytes.
    public var configurationBytes = 4 << 20
    /// The file that says which servers asked for no requests, in bytes.
    public var backoffFileBytes = 1 << 20
    /// `dumps.lock.json`, in bytes.
    public var lockBytes = 64 << 20
    /// A bundle's `manifest.json`, in bytes.
    public var manifestBytes = 128 << 20
    /// A bundle that others may write to is read from a private copy: in memory up to so many bytes, beyond them a file
    /// without a name in the temporary directory.
    public var copiedBundleBytes = 16 << 20
    /// Entries of signatures looked at in a collection's metadata.
    public var signatures = 16
    /// Redirects followed for one request.
    public var redirects = 5
    /// Tries of one request: the first one and its repetitions after a time-out, a broken connection or a 5xx.
    public var tries = 4
    /// How much of an error answer's body is kept for the error message, in bytes.
    public var errorBodyBytes = 2 << 10
    /// The longest wait, in seconds, that a server's `Backoff` or `Retry-After` can ask for.
    public var backoffSeconds = 86_400
    /// The longest requested wait, in seconds, that is waited for; a longer one is an error.
    public var patienceSeconds = 5
    /// Seconds that a collection's timestamp may be ahead of the time at which it is verified: the clocks of servers and
    /// devices differ.
    public var clockToleranceSeconds = 86_400
    /// Seconds within which an answer's head must arrive.
    public var headTimeoutSeconds = 30
    /// Seconds without a byte after which the transfer of a body fails.
    public var idleTimeoutSeconds = 30
    /// The most bytes that a body may have on the wire, before decompression, beyond its limit after decompression. No
    /// body that compression makes longer needs a thousandth more.
    public var wireExcessBytes = 1 << 20
    /// The least throughput of a body, in bytes a second on the wire, over `throughputSeconds` of waiting for it; 0 for no
    /// such limit. Time that a reader takes between two reads does not count.
    public var leastBytesPerSecond = 256
    /// Seconds over which the throughput of a body is measured.
    public var throughputSeconds = 60
    /// Seconds for one document (monitor, changeset, chain, root document), from its first request to its last byte, with
    /// redirects, repetitions and the pauses between them.
    public var documentSeconds = 600
    /// Seconds for one download (an attachment, a zip of attachments), likewise. At this default, an attachment of
    /// `attachmentBytes` needs 1.2 MB/s.
    public var downloadSeconds = 14_400
    /// Seconds for all requests of one run: a refresh, a sync, a download of a collection's attachments.
    public var runSeconds = 43_200
    /// Seconds without a byte after which the connection of an update channel counts as dead. Where the server sends
    /// heartbeats, the library waits for three of them only.
    public var updateIdleSeconds = 3600
    /// Milliseconds between two requests to a server that asked for a `Backoff` in the run that is under way.
    public var gentlePauseMilliseconds = 200
    /// Seconds to wait for another process that writes to the same storage directory.
    public var storageLockSeconds = 5
    /// An older state's file in version control, in bytes; it is read into memory.
    public var historyFileBytes = 1 << 30
    /// Revisions looked at for an older state.
    public var revisions = 100_000
    /// Files and folders looked at in a folder of older bundles.
    public var historyFiles = 1_000_000
    /// Depth of a folder of older bundles.
    public var historyDepth = 32
    /// Entries of an archive that is imported.
    public var archiveEntries = 500_000
    /// The unpacked size of an imported archive, in bytes. Where `Int` has 32 bits, its highest value.
    public var archiveBytes = Int(clamping: Int64(64) << 30)
    /// Unpacked bytes for each byte of an archive; checked from 64 MiB on (deflate cannot exceed 1,032).
    public var archiveRatio = 1_100
    /// Folders inside each other in an archive that is imported, and the file in them.
    public var archivePathDepth = 64
    /// Nesting of archives.
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
/// An expression that goes over one of them is an error, which excludes its record.
public struct FilterLimits: Sendable, Hashable {
    /// An expression's text, in bytes of UTF-8.
    public var expressionBytes = 16 << 10
    /// Nesting of parentheses, brackets, braces, arguments and branches of `?:`.
    public var nesting = 32
    /// The work of one evaluation, in steps: an operation, an element looked at, 16 bytes of text, or a step of a
    /// regular expression each cost one.
    public var steps = 200_000
    /// Any one text that an evaluation makes, in bytes of UTF-8.
    public var textBytes = 64 << 10
    /// Any one array or object that an evaluation makes, in elements.
    public var elements = 10_000
    /// A regular expression, in Unicode scalars.
    public var patternScalars = 1000
    /// A compiled regular expression, in instructions; bounded repetitions such as `a{2,5}` are written out.
    public var patternInstructions = 5000

    /// The defaults.
    public init() {}
}

/// The limits that `rsdump serve` puts on its clients.
public struct ServerLimits: Sendable, Hashable {
    /// Connections at once. From fifteen sixteenths of them on, each newcomer takes the place of the one that has been idle
    /// the longest, else of the one that has not taken its answer for the longest; where all are at work, it waits until one
    /// ends. Fewer where the system allows fewer open files.
    public var connections = 16_384
    /// Connections at once of one IPv4 address, or of one IPv6 network of 64 bits; a newcomer takes the place of an idle
    /// one, as above, and is refused where all are at work. At most three quarters of ``connections``.
    public var connectionsPerAddress = 12_288
    /// One header field, in bytes, name and value; the request line alike.
    public var headerFieldBytes = 8 << 10
    /// All header fields of a request, in bytes.
    public var headerBytes = 32 << 10
    /// Header fields of a request.
    public var headerFields = 100
    /// A request's body, in bytes. Bodies are never used; those within the limit are read and discarded.
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
    /// Bytes of the pages for people that clients have yet to take, of all together; beyond them the answer is 503. A page
    /// is made in memory for each client.
    public var pageBytes = 64 << 20
    /// The work of a page that evaluates filters, in the steps of ``FilterLimits/steps``, of all its evaluations together; what is
    /// beyond it is left out, and the page says so.
    public var pageSteps = 2_000_000
    /// Connections at once that wait for updates, of all clients; each is one of ``connections``, of which they are at most
    /// three quarters. A client for which there is no room is asked to come back later.
    public var updateStreams = 12_288
    /// Connections at once that wait for updates, of one IPv4 address or one IPv6 network of 64 bits.
    public var updateStreamsPerAddress = 9_216
    /// Seconds between two signs of life on a connection that waits for updates.
    public var updateHeartbeatSeconds = 15
    /// A message of a client of the push protocol, in bytes.
    public var pushMessageBytes = 8 << 10
    /// Seconds from the handshake of the push protocol until the client's first message is complete.
    public var pushHelloSeconds = 5
    /// Clients a second that come back after the server has ended: each of those that wait for updates is told how long to
    /// stay away, so that not more than these return at once. The wait is at least 3 seconds and at most 10 minutes.
    public var updateReturnsPerSecond = 200
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
    /// Milliseconds between two checks of a watched directory.
    public var watchMilliseconds = 500

    /// The defaults.
    public init() {}
}
