/// What callers tell apart about a failure, in every layer.
///
/// Each module has one error type: a code for programs, and a sentence and a remedy for people. Exit codes, telemetry
/// and the public errors are decided from the code alone.
package enum FailureCode: Hashable, Sendable {
    /// The arguments, options or configuration are wrong. The same call will fail again.
    case usage
    /// No collection, publisher or attachment can have this name.
    case invalidName
    /// What was asked for does not exist.
    case missing
    /// Another process holds the lock.
    case busy
    /// A file of this machine could not be read or written, as on a full disk. Says nothing about the data.
    case storage
    /// A file or a document is not in its format.
    case malformed
    /// A newer version wrote the file.
    case unknownVersion
    /// Bytes are not those that a hash, a size or a checksum promises.
    case damaged
    /// A size or a count is over its limit.
    case overLimit
    /// The pinned roots do not vouch for the data: a signature is wrong, missing or somebody else's.
    case untrusted
    /// A certificate chain cannot be used, so no signature could be checked.
    case certificate
    /// The server's state is older than the one that is held, from the future, or not the one that it announced.
    case rollback
    /// The data is fine, but a guard, a check of the app, a pin or a budget does not let it in.
    case refused
    /// No connection could be made.
    case unreachable
    /// The TLS handshake failed.
    case tls
    /// The connection broke before the answer was complete.
    case broken
    /// Something took too long.
    case timeout
    /// A redirect cannot be followed.
    case redirect
    /// The server answered with this error status.
    case status(Int)
    /// The answer is not what was asked for.
    case content
    /// The server asked for no requests until this time, which is `seconds` away.
    case backoff(until: Timestamp, seconds: Int)
    /// Another program, such as git, failed or could not be run.
    case program
    /// The calling task was cancelled.
    case cancelled
    /// The client, the service or the server was shut down before the call ended.
    case closed
}

/// An error whose cause programs can tell from its ``code``.
package protocol CodedError: Error, Hashable, Sendable, CustomStringConvertible {
    var code: FailureCode { get }
}
