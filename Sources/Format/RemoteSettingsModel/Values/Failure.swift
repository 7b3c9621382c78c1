/// The reason that something failed: the one error of everything below the public API.
///
/// Programs decide by its ``code``, and in a few places by its ``cause``. Exit codes, telemetry, the classes in reports
/// and the public errors are tables over the two. People read the rest.
package struct Failure: Error, Hashable, Sendable {
    package let code: Code
    /// The file, URL, collection or argument that the failure is about; empty if the problem names it.
    package var place: String
    /// The line in the file, starting with 1.
    package var line: Int?
    /// The entry, record or member in the file.
    package var entry: String?
    /// The position in the document, in bytes from its start.
    package var offset: Int?
    /// A sentence that names neither the place nor the remedy.
    package var problem: String
    /// The next step for the user; `nil` if the problem already includes it.
    package var remedy: String?
    /// What callers need to know beyond the code; `nil` if the code says it all.
    package var cause: Cause?

    package init(
        _ code: Code = .usage, place: String = "", line: Int? = nil, entry: String? = nil, problem: String,
        remedy: String? = nil, cause: Cause? = nil
    ) {
        (self.code, self.place, self.line, self.entry) = (code, place, line, entry)
        (self.problem, self.remedy, self.cause) = (problem, remedy, cause)
    }

    /// Creates a failure that has no place, or whose caller adds the place.
    package init(_ code: Code, _ problem: String, remedy: String? = nil, cause: Cause? = nil) {
        self.init(code, problem: problem, remedy: remedy, cause: cause)
    }

    /// Creates a failure because of the content of a file.
    ///
    /// - Parameters:
    ///   - expected: the expected value; `nil` if `found` describes the whole problem.
    ///   - remedy: the next step for the user; `nil` for the usual advice for this code.
    package init(
        _ code: Code = .usage, file: String, entry: String? = nil, expected: String? = nil, found: String,
        remedy: String? = nil, cause: Cause? = nil
    ) {
        self.init(
            code, place: file, entry: entry.map { VisibleText.excerpt($0) },
            problem: expected.map { "expected \(VisibleText.excerpt($0)), found \(VisibleText.excerpt(found))" }
                ?? found, remedy: remedy ?? code.usualRemedy, cause: cause)
    }

    /// Creates the same failure at a position in a document, in bytes from its start.
    package init(_ failure: Failure, at offset: Int?) {
        self = failure
        self.offset = offset
    }

    /// The kind of a failure. All layers use the same kinds.
    package enum Code: Hashable, Sendable {
        /// The arguments, options or configuration are wrong. The same call will fail again.
        case usage
        /// A text is not a valid name of a collection, publisher or attachment.
        case invalidName
        /// The requested object does not exist.
        case missing
        /// Another process has locked the directory.
        case busy
        /// A file on this machine could not be read or written, for example because the disk is full. The data itself
        /// may be fine.
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

        /// The usual advice for a file with this problem.
        fileprivate var usualRemedy: String? {
            switch self {
            case .storage: "check the directory's permissions and the free disk space"
            case .malformed, .damaged:
                "restore the file from version control, or run rsdump refresh --full to create it again"
            case .unknownVersion:
                "it was written by a newer rsdump; update rsdump, or restore the file from version control"
            case .overLimit:
                "make it smaller, for example by leaving out attachments (attachments: in dumps.yaml)"
            case .usage: "fetch the file again; nothing was written"
            default: nil
            }
        }
    }

    /// What callers need to know about a failure beyond its code.
    package enum Cause: Hashable, Sendable {
        // MARK: Files and documents
        /// A system call failed. The operation is a verb that precedes the path in the message, such as `open`; `nil`
        /// if the data to pack could not be read. The number is `errno`, or one of the negative ones of ``Failure``.
        case system(operation: String?, number: Int32)
        /// A text, value or key in a document is not the expected one.
        case mismatch(expected: String, found: String)
        /// The file is a pointer of Git LFS.
        case largeFilePointer
        /// Several problems, each with its own place, sorted by file and line.
        case problems([Failure])
        /// Facts for reports.
        case facts(Facts)

        // MARK: Requests
        /// This phase of a request took too long.
        case timeout(TimeoutPhase)
        /// Something other than an HTTP server responded, so the same request would fail again.
        case notHTTP

        // MARK: States of a collection
        /// The reason for each signature that none is valid.
        case signatures([SignatureFailure])
        /// The response is not a changeset.
        case changeset
        /// The response to a request for all records is empty.
        case noAnswer
        /// No signature matches the full list of records, and the list is probably incomplete.
        case cutShort
        /// The state is older than the newest state that was accepted before.
        case rollback(held: Timestamp, answered: Timestamp)
        /// The state's timestamp is ahead of the clock by more than ``Limits/clockToleranceSeconds``.
        case future
        /// The server has different records than the local state, with the same timestamp.
        case equivocation
        /// The state has no signature, and the configuration requires one.
        case unsigned
        /// The collection is known to be signed, but the state has no signature.
        case signatureLost
        /// The server does not have the collection; it responded with this status.
        case unknownCollection(status: Int?)

        // MARK: Refreshes
        /// The server no longer has the collection.
        case gone
        /// Both the server's list and its response are older than the bundle.
        case stale
        /// The server's list announces a state that its response does not contain.
        case undelivered
        /// An attachment could not be downloaded.
        case attachment
        /// A collection is not at its pinned state, or cannot be pinned.
        case pin
        /// An older bundle, of a commit or a folder, cannot be read.
        case historicBundle
        /// The signer failed, so no other collection can be signed either.
        case signer
    }

    /// The phase of a request that took too long.
    package enum TimeoutPhase: String, Hashable, Sendable {
        /// Opening the connection, including the TLS handshake.
        case connect
        /// Waiting for the head of the response.
        case head
        /// Waiting for the next piece of the body.
        case body
        /// A whole document or download, including repeated requests.
        case answer
        /// All requests of a run.
        case run
    }

    /// Facts that a higher layer reports, such as the excess over a budget.
    package struct Facts: Hashable, Sendable {
        package let value: any Hashable & Sendable

        package init(_ value: some Hashable & Sendable) { self.value = value }

        package static func == (one: Self, other: Self) -> Bool { AnyHashable(one.value) == AnyHashable(other.value) }

        package func hash(into hasher: inout Hasher) { AnyHashable(value).hash(into: &hasher) }
    }
}

/// Returns a value, or throws the error that `replace` makes of its failure.
package func mapFailure<Value, Replaced: Error>(
    of value: @autoclosure () throws(Failure) -> Value, _ replace: (Failure) -> Replaced
) throws(Replaced) -> Value {
    do throws(Failure) { return try value() } catch { throw replace(error) }
}

/// The reason why one of several signatures is not valid.
package struct SignatureFailure: Hashable, Sendable, CustomStringConvertible {
    /// The position in the metadata, starting at 1.
    let position: Int
    /// The URL of the certificate chain, as in the metadata.
    package let x5u: String
    /// The reason why this signature is not valid.
    package let reason: Failure

    package init(position: Int, x5u: String, reason: Failure) {
        (self.position, self.x5u, self.reason) = (position, x5u, reason)
    }

    package var description: String { "signature \(position), chain \(VisibleText.quote(x5u)): \(reason)" }
}

extension Failure: CustomStringConvertible {
    package var description: String { located + advice }

    /// The failure without the advice.
    package var located: String {
        var place = place.hasPrefix("http") ? VisibleText.excerpt(place, limit: 300) : place
        if case .system(let operation?, _) = cause { place = "cannot \(operation) \(place)" }
        if let line { place += place.isEmpty ? "line \(line)" : ":\(line)" }
        return place.isEmpty ? sentence : "\(place): \(sentence)"
    }

    /// The problem with the entry that it is about, without the place and the advice.
    package var sentence: String {
        (entry.map { "\($0): " } ?? "") + problem + (offset.map { " at byte \($0)" } ?? "")
    }

    /// The failure without its place, for texts that show it elsewhere.
    package var withoutPlace: String { sentence + advice }

    private var advice: String { remedy.flatMap { $0.isEmpty ? nil : "; \($0)" } ?? "" }

    /// Returns the line number of the failure's position, starting at 1.
    package func line(in document: Bytes) -> Int {
        document.withSpan { $0.line(at: offset ?? 0) }
    }
}

extension Failure {
    /// Whether the data could be read, but a signature or its certificate chain does not verify.
    package var isOfTrust: Bool { code == .untrusted || code == .certificate }

    /// The problems, each with its own file and line; for a single problem, the failure itself.
    package var problems: [Failure] {
        if case .problems(let problems)? = cause { problems } else { [self] }
    }

    /// Creates a failure that combines the problems found in a set of files. The caller must sort them by file and
    /// line.
    package init(problems: [Failure]) {
        self.init(problem: problems.map(\.description).joined(separator: "\n"), cause: .problems(problems))
    }

    /// The reason for each signature that none is valid; empty for other failures.
    package var signatures: [SignatureFailure] {
        if case .signatures(let failures)? = cause { failures } else { [] }
    }

    /// The expected value in a document, and the one in its place; `nil` if the failure is not about one.
    package var mismatch: (expected: String?, found: String)? {
        if case .mismatch(let expected, let found)? = cause { (expected, found) } else { nil }
    }

    /// The facts of a type; `nil` if there are none.
    package func facts<Value>(as type: Value.Type = Value.self) -> Value? {
        if case .facts(let facts)? = cause { facts.value as? Value } else { nil }
    }
}
