/// The limits for untrusted data that apps and the tool share. A limit that only one module uses is in that module.
///
/// Data that exceeds a limit is rejected with an error that states the limit. Nothing is truncated silently. A value of
/// this type has the limits of a server's client, of which an app can set some.
package struct Limits: Sendable, Hashable {
    /// The maximum size of a collection's changeset, in bytes after decompression; at most that of the format.
    package var changesetBytes = Self.changesetBytes
    /// The maximum size of an attachment, in bytes, regardless of the size in its record; at most that of the format.
    package var attachmentBytes = Self.attachmentBytes
    /// The maximum number of records of a collection; at most that of the format.
    package var records = Self.records
    /// The maximum size of the monitor's changeset, in bytes after decompression.
    package var monitorBytes = Self.monitorBytes
    /// The maximum size of the server's root document, in bytes after decompression.
    package var rootDocumentBytes = 1 << 20
    /// The maximum size of a certificate chain, in bytes.
    package var chainBytes = Self.chainBytes
    /// The maximum size of the server's ZIP file with a collection's attachments, in bytes (the server's own limit is
    /// 20,000,000).
    package var attachmentsZipBytes = Self.attachmentsZipBytes
    /// The number of bytes by which a compressed body may be longer than the limit for its decompressed size.
    /// Compression makes a body longer by less than a thousandth, if at all.
    package var wireExcessBytes = 1 << 20
    /// The minimum throughput of a body, in bytes per second on the wire, averaged over `throughputSeconds` of waiting;
    /// 0 for no limit. The time that the reader spends between two reads does not count.
    package var leastBytesPerSecond = 256
    /// The period over which the throughput of a body is measured, in seconds.
    package var throughputSeconds = 60
    /// The maximum time for one download (an attachment, or a ZIP file with attachments), in seconds, measured in the
    /// same way. With the defaults, an attachment of `attachmentBytes` requires 1.2 MB/s.
    package var downloadSeconds = 14_400
    /// The maximum number of attempts for one request, including the first. A request is repeated after a time-out, a
    /// broken connection or a 5xx.
    package var tries = 4
    /// The maximum time to wait for the head of a response, in seconds.
    package var headTimeoutSeconds = 30
    /// The maximum time without a byte before the transfer of a body fails, in seconds.
    package var idleTimeoutSeconds = 30
    /// The maximum time for one document (monitor, changeset, chain, root document), in seconds, from its first request
    /// to its last byte, including redirects, retries and the delays between them.
    package var documentSeconds = 600
    /// The maximum time for all requests of one run, in seconds. A run is a refresh, a sync, or a download of a
    /// collection's attachments.
    package var runSeconds = 43_200

    /// Creates the default limits.
    package init() {}

    // Limits that nobody can set.

    /// The maximum size of a collection's changeset, in bytes after decompression.
    package static let changesetBytes = 256 << 20
    /// The maximum size of the monitor's changeset, in bytes after decompression.
    package static let monitorBytes = 16 << 20
    /// The maximum size of a certificate chain, in bytes.
    package static let chainBytes = 64 << 10
    /// The maximum size of an attachment, in bytes, regardless of the size in its record. If `Int` has 32 bits, the
    /// limit is `Int.max`.
    package static let attachmentBytes = Int(clamping: Int64(16) << 30)
    /// The maximum size of the server's ZIP file with a collection's attachments, in bytes (the server's own limit is
    /// 20,000,000).
    package static let attachmentsZipBytes = 64 << 20
    /// The maximum total size of the files in the server's ZIP file, in bytes after decompression.
    package static let attachmentsZipContentBytes = 512 << 20
    /// The maximum number of attachments of a collection.
    package static let attachments = 100_000
    /// The maximum number of records of a collection.
    package static let records = 1_000_000
    /// The maximum size of a record in canonical form, in bytes.
    static let recordBytes = 16 << 20
    /// The maximum nesting depth of arrays and objects in a JSON document.
    package static let jsonDepth = 128
    /// The maximum number of members of a JSON object.
    package static let jsonMembers = 100_000
    /// The maximum number of values in a JSON document that is parsed into a tree, and in a record.
    package static let jsonValues = 250_000
    /// The maximum size of a collection's metadata, in bytes, from any source: a changeset, a bundle or a cache file.
    package static let metadataBytes = 1 << 20
    /// The maximum size of a bundle's `manifest.json`, in bytes.
    package static let manifestBytes = 128 << 20
    /// The maximum number of signatures to check in a collection's metadata.
    package static let signatures = 16
    /// The longest wait in seconds while another process is writing to the same storage directory.
    package static let storageLockSeconds = 5
    /// The maximum work for validating a collection against a JSON Schema, in steps of the filter engine.
    package static let schemaSteps = 200_000_000
    /// The maximum number of certificates in a chain.
    package static let chainCertificates = 8
    /// The maximum time without a byte before an update channel's connection counts as dead, in seconds. If the server
    /// sends heartbeats, the time-out is three heartbeat intervals.
    package static let updateIdleSeconds = 3600
    /// The maximum number of certificate chains in an app's storage directory. The oldest ones are removed. Chain URLs
    /// are not signed, so without a limit a server could add new chains at every sync.
    package static let keptChains = 64
    /// The maximum size of `dumps.lock.json`, in bytes.
    package static let lockBytes = 64 << 20
    /// The longest backoff, in seconds, that a server's `Backoff` or `Retry-After` can request.
    package static let backoffSeconds = 86_400
    /// The maximum number of seconds by which a collection's timestamp may be in the future. It allows for clocks that
    /// differ.
    package static let clockToleranceSeconds = 86_400
}

/// The limits for parsing and evaluating one filter expression.
///
/// An expression that exceeds a limit fails, and a failure excludes the record.
package enum FilterLimits {
    /// The maximum work of one evaluation, in steps. One step is an operation, an element that is read, 16 bytes of a
    /// string, or a step of a regular expression.
    package static let steps = 200_000
    /// The maximum work of all evaluations in one read of a collection, in steps. Parsing an expression takes one step
    /// for every four bytes.
    package static let readSteps = 20_000_000

    /// The maximum length of an expression, in bytes of UTF-8.
    package static let expressionBytes = 16 << 10
    /// The maximum nesting depth of parentheses, brackets, braces, arguments and branches of `?:`.
    package static let nesting = 32
    /// The maximum length of a string that an evaluation creates, in bytes of UTF-8.
    package static let textBytes = 64 << 10
    /// The maximum number of elements of an array or object that an evaluation creates.
    package static let elements = 10_000
    /// The maximum length of a regular expression, in Unicode scalars.
    package static let patternScalars = 1000
    /// The maximum number of instructions of a compiled regular expression. Bounded repetitions such as `a{2,5}` are
    /// expanded.
    package static let patternInstructions = 5000
}
