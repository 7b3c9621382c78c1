/// Every limit that this package puts on what comes from outside, in one place.
///
/// What goes over a limit is refused with an error that names the limit; nothing is truncated silently.
public struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    public var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    public var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    public var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    public var chainBytes = 64 << 10
    /// Certificates in a chain.
    public var chainCertificates = 8
    /// An attachment, in bytes, whatever its record declares. Where `Int` has 32 bits, its highest value.
    public var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    public var attachmentsZipBytes = 64 << 20
    /// Attachments of a collection.
    public var attachments = 100_000
    /// Records of a collection.
    public var records = 1_000_000
    /// Arrays and objects inside each other in a JSON document.
    public var jsonDepth = 128
    /// A collection's metadata as a bundle holds it, in bytes.
    public var metadataBytes = 1 << 20
    /// `dumps.lock.json`, in bytes.
    public var lockBytes = 64 << 20
    /// A bundle's `manifest.json`, in bytes.
    public var manifestBytes = 128 << 20
    /// Entries of signatures looked at in a collection's metadata.
    public var signatures = 16
    /// Redirects followed for one request.
    public var redirects = 5
    /// Tries of one request: the first one and its repetitions after a time-out, a broken connection or a 5xx.
    public var tries = 4
    /// What is kept of the body of an error answer, in bytes, to be shown.
    public var errorBodyBytes = 2 << 10
    /// The longest wait, in seconds, that a server's `Backoff` or `Retry-After` can ask for.
    public var backoffSeconds = 86_400
    /// The longest wait asked for, in seconds, that is sat out instead of failing.
    public var patienceSeconds = 5
    /// Seconds until an answer's head must have come.
    public var headTimeoutSeconds = 30
    /// Seconds to wait for more of a body.
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
    /// Folders inside each other in a folder of older bundles.
    public var historyDepth = 32
    /// Entries of an archive that is imported.
    public var archiveEntries = 500_000
    /// What comes out of an archive that is imported, in bytes. Where `Int` has 32 bits, its highest value.
    public var archiveBytes = Int(clamping: Int64(64) << 30)
    /// What comes out of an archive for each byte of it; looked at from 64 MiB on (deflate cannot go over 1,032).
    public var archiveRatio = 1_100
    /// Archives inside each other.
    public var archiveDepth = 3
    /// Clients of a server of one's own.
    public var server = ServerLimits()
    /// Filter expressions.
    public var filter = FilterLimits()

    public init() {}
}
