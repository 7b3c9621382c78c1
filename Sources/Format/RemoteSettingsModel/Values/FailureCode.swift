/// The kind of a failure. All layers use the same kinds.
///
/// Each module has one error type with a code for programs, and a sentence and a remedy for people. Exit codes,
/// telemetry and the public errors depend only on the code.
package enum FailureCode: Hashable, Sendable {
    /// The arguments, options or configuration are wrong. The same call will fail again.
    case usage
    /// A text is not a valid name of a collection, publisher or attachment.
    case invalidName
    /// The requested object does not exist.
    case missing
    /// Another process has locked the directory.
    case busy
    /// A file on this machine could not be read or written, for example because the disk is full. The data itself may
    /// be fine.
    case storage
    /// A file or a document does not have the required format.
    case malformed
    /// A newer version of this software wrote the file.
    case unknownVersion
    /// Bytes do not match their hash, size or checksum.
    case damaged
    /// A size or a count exceeds its limit.
    case overLimit
    /// The data does not verify against the pinned roots: a signature is wrong, missing or by a different signer.
    case untrusted
    /// A certificate chain cannot be used, so the signature could not be checked.
    case certificate
    /// The server's state is older than the local one, is from the future, or differs from the announced one.
    case rollback
    /// The data is valid, but a guard, a check of the app, a pin or a budget refuses it.
    case refused
    /// No connection could be made.
    case unreachable
    /// The TLS handshake failed.
    case tls
    /// The connection broke before the response was complete.
    case broken
    /// An operation took too long.
    case timeout
    /// A redirect cannot be followed.
    case redirect
    /// The server responded with this error status.
    case status(Int)
    /// The response does not have the requested content.
    case content
    /// The server asked clients to send no requests until this time, which is `seconds` in the future.
    case backoff(until: Timestamp, seconds: Int)
    /// An external program, such as git, failed or could not be run.
    case program
    /// The calling task was cancelled.
    case cancelled
    /// The client, the service or the server was shut down during the call.
    case closed
}

/// An error with a ``code`` that identifies its cause to programs.
package protocol CodedError: Error, Hashable, Sendable, CustomStringConvertible {
    var code: FailureCode { get }
}
