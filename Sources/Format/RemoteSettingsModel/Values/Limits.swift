/// The limits on untrusted data that apps and the tool share. Limits of a single module are in that module.
///
/// Data over a limit is rejected with an error that states the limit. Nothing is truncated silently.
package struct Limits: Sendable, Hashable {
    /// A collection's changeset, in bytes after decompression.
    package var changesetBytes = 256 << 20
    /// The monitor's changeset, in bytes after decompression.
    package var monitorBytes = 16 << 20
    /// The server's root document, in bytes after decompression.
    package var rootDocumentBytes = 1 << 20
    /// A certificate chain, in bytes.
    package var chainBytes = 64 << 10
    /// An attachment, in bytes, regardless of the size in its record. If `Int` has 32 bits, the limit is `Int.max`.
    package var attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The server's zip of a collection's attachments, in bytes (the server itself stops at 20,000,000).
    package var attachmentsZipBytes = 64 << 20
    /// All files in the server's zip together, in bytes after decompression.
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
    /// A collection's metadata, in bytes, from any source: a changeset, a bundle or a cache file.
    package var metadataBytes = 1 << 20
    /// A bundle's `manifest.json`, in bytes.
    package var manifestBytes = 128 << 20
    /// The size, in bytes, up to which the private copy of a bundle that others can write to is kept in memory. A
    /// larger copy is an unnamed file in the temporary directory.
    package var copiedBundleBytes = 16 << 20
    /// Signatures to check in a collection's metadata.
    package var signatures = 16
    /// Attempts for one request: the first, and retries after a timeout, a broken connection or a 5xx.
    package var tries = 4
    /// Seconds to wait for a response's head.
    package var headTimeoutSeconds = 30
    /// Seconds without a byte before the transfer of a body fails.
    package var idleTimeoutSeconds = 30
    /// Bytes by which a body may exceed its limit on the wire, before decompression. Compression lengthens a body by
    /// less than a thousandth, if at all.
    package var wireExcessBytes = 1 << 20
    /// The lowest throughput of a body, in bytes per second on the wire, averaged over `throughputSeconds` of waiting;
    /// 0 for no limit. Time that the reader spends between two reads does not count.
    package var leastBytesPerSecond = 256
    /// Seconds over which the throughput of a body is measured.
    package var throughputSeconds = 60
    /// Seconds for one document (monitor, changeset, chain, root document), from its first request to its last byte,
    /// including redirects, retries and the delays between them.
    package var documentSeconds = 600
    /// Seconds for one download (an attachment, a zip of attachments), counted in the same way. With the defaults, an
    /// attachment of `attachmentBytes` requires 1.2 MB/s.
    package var downloadSeconds = 14_400
    /// Seconds for all requests of one run: a refresh, a sync, a download of a collection's attachments.
    package var runSeconds = 43_200
    /// Seconds to wait for another process that writes to the same storage directory.
    package var storageLockSeconds = 5
    /// The work to validate a collection against a JSON Schema, in steps of the filter engine.
    package var schemaSteps = 200_000_000
    /// Filter expressions.
    package var filter = FilterLimits()

    // Limits shared by several modules that no one has a reason to change.

    /// Certificates in a chain.
    package static let chainCertificates = 8
    /// Seconds without a byte before an update channel's connection is treated as dead. If the server sends heartbeats,
    /// the timeout is three heartbeat intervals.
    package static let updateIdleSeconds = 3600
    /// Certificate chains in an app's storage directory. The oldest are removed. Chain URLs are not signed, so without
    /// a limit a server could add new chains at every sync.
    package static let keptChains = 64
    /// `dumps.lock.json`, in bytes.
    package static let lockBytes = 64 << 20
    /// The longest delay, in seconds, that a server's `Backoff` or `Retry-After` can request.
    package static let backoffSeconds = 86_400
    /// Seconds by which a collection's timestamp may be in the future, because server and device clocks differ.
    package static let clockToleranceSeconds = 86_400

    /// Makes the default limits.
    package init() {}
}

/// The limits on parsing and evaluating one filter expression.
///
/// An expression that exceeds a limit fails, and a failure excludes the record.
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
