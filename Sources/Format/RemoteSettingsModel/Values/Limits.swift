/// The limits on data from outside that apps and the tool share. Limits that only one room of the tool needs are in
/// that room.
///
/// Data beyond a limit is refused with an error that names the limit. Nothing is truncated silently.
package struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    package var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    package var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    package var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    package var chainBytes = 64 << 10
    /// Certificates in a chain.
    package var chainCertificates = 8
    /// An attachment, in bytes, whatever its record states. If `Int` has 32 bits, the limit is the largest `Int`.
    package var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    package var attachmentsZipBytes = 64 << 20
    /// All files of the server's zip together, in bytes after decompression.
    package var attachmentsZipContentBytes = 512 << 20
    /// Attachments of a collection.
    package var attachments = 100_000
    /// Records of a collection.
    package var records = 1_000_000
    /// A record in canonical form, in bytes.
    var recordBytes = 16 << 20
    /// Nesting of arrays and objects in a JSON document.
    package var jsonDepth = 128
    /// Members of a JSON object.
    package var jsonMembers = 100_000
    /// Values of all kinds in a JSON document that is read into memory as a tree, and in a record.
    package var jsonValues = 250_000
    /// A collection's metadata, in bytes, wherever it comes from: a changeset, a bundle, a cache file.
    package var metadataBytes = 1 << 20
    /// The first line of a file in an app's storage directory, in bytes: the metadata and the chain as JSON strings.
    package var cacheHeadBytes = 4 << 20
    /// A bundle's `manifest.json`, in bytes.
    package var manifestBytes = 128 << 20
    /// A bundle that others may write to, in bytes, for which the private copy is kept in memory. The copy of a larger
    /// one is a file without a name in the temporary directory.
    package var copiedBundleBytes = 16 << 20
    /// Signatures in a collection's metadata that are examined.
    package var signatures = 16
    /// Attempts for one request: the first one, and retries after a time-out, a broken connection or a 5xx.
    package var tries = 4
    /// Seconds within which an answer's head must arrive.
    package var headTimeoutSeconds = 30
    /// Seconds without a byte after which the transfer of a body fails.
    package var idleTimeoutSeconds = 30
    /// Bytes by which a body on the wire, before decompression, may exceed its limit after decompression. Compression
    /// makes a body longer by less than a thousandth, if at all.
    package var wireExcessBytes = 1 << 20
    /// The lowest throughput of a body, in bytes per second on the wire, over `throughputSeconds` of waiting for it; 0
    /// for no limit. The time that a reader takes between two reads does not count.
    package var leastBytesPerSecond = 256
    /// Seconds over which the throughput of a body is measured.
    package var throughputSeconds = 60
    /// Seconds for one document (monitor, changeset, chain, root document), from its first request to its last byte,
    /// including redirects, retries and the pauses between them.
    package var documentSeconds = 600
    /// Seconds for one download (an attachment, a zip of attachments), counted in the same way. With the defaults, an
    /// attachment of `attachmentBytes` requires 1.2 MB/s.
    package var downloadSeconds = 14_400
    /// Seconds for all requests of one run: a refresh, a sync, a download of a collection's attachments.
    package var runSeconds = 43_200
    /// Seconds without a byte after which the connection of an update channel is treated as dead. If the server sends
    /// heartbeats, the library waits for only three of them.
    package var updateIdleSeconds = 3600
    /// Seconds to wait for another process that writes to the same storage directory.
    package var storageLockSeconds = 5
    /// The work of validating a collection against a JSON Schema, in steps of the filter engine.
    package var schemaSteps = 200_000_000
    /// Filter expressions.
    package var filter = FilterLimits()

    // Limits that several rooms share, and that nobody has a reason to change.

    /// Certificate chains in an app's storage directory. The oldest ones are removed. The URLs of chains are not
    /// signed, so without a limit a server could give each collection new chains at each sync.
    package static let keptChains = 64
    /// `dumps.lock.json`, in bytes.
    package static let lockBytes = 64 << 20
    /// The longest wait, in seconds, that a server's `Backoff` or `Retry-After` can ask for.
    package static let backoffSeconds = 86_400
    /// Seconds by which a collection's timestamp may be later than the time of verification, because the clocks of
    /// servers and devices differ.
    package static let clockToleranceSeconds = 86_400

    /// Makes the default limits.
    package init() {}
}

/// The limits on one filter expression, from its text to its value.
///
/// An expression that exceeds one of them fails, and a failure excludes the record.
package struct FilterLimits: Sendable, Hashable {
    /// The work of one evaluation, in steps. One step is an operation, an element that is read, 16 bytes of a string,
    /// or a step of a regular expression.
    package var steps = 200_000

    /// An expression's text, in bytes of UTF-8.
    package static let expressionBytes = 16 << 10
    /// Nesting of parentheses, brackets, braces, arguments and branches of `?:`.
    package static let nesting = 32
    /// A string that an evaluation creates, in bytes of UTF-8.
    package static let textBytes = 64 << 10
    /// An array or object that an evaluation creates, in elements.
    package static let elements = 10_000
    /// A regular expression, in Unicode scalars.
    package static let patternScalars = 1000
    /// A compiled regular expression, in instructions. Bounded repetitions such as `a{2,5}` are expanded.
    package static let patternInstructions = 5000

    /// Makes the default limits.
    package init() {}
}
