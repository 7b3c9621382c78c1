import RemoteSettingsModel

extension ServerClient {
    /// Downloads an attachment piece by piece, and resumes the transfer if the connection breaks.
    ///
    /// It checks only the transfer; the receiver checks size and hash.
    ///
    /// - Parameters:
    ///   - location: the record's `attachment.location`.
    ///   - size: the size that the record states, in bytes. A longer body is refused with
    ///     ``HTTPError/Reason/tooLarge(limit:)``.
    ///   - resume: the place where an earlier call ended.
    ///   - receive: called with ``DownloadPart/start(_:)`` first, then with bytes. A second start means what
    ///     ``DownloadPart/start(_:)`` says. The next bytes are read after it has returned.
    /// - Throws: ``HTTPError``, or the error that `receive` throws.
    package func attachment(
        _ location: String, at base: AttachmentsURL, size: Int? = nil, resume: ResumePoint? = nil,
        receive: (DownloadPart) async throws -> Void
    ) async throws {
        let limit = min(limits.attachmentBytes, size ?? .max)
        try await download(try base.attachment(location), limit: limit, resume: resume, receive: receive)
    }

    /// Downloads the zip of all attachments of a collection. It is a cache: it may be missing (404) or outdated.
    ///
    /// - Throws: ``HTTPError``, or the error that `receive` throws.
    package func attachmentsZip(
        _ collection: CollectionID, at base: AttachmentsURL, receive: (DownloadPart) async throws -> Void
    ) async throws {
        try await download(
            base.zip(collection), limit: limits.attachmentsZipBytes, resume: nil, receive: receive)
    }

    /// The changesets that the server recommends for a first launch, as a JSON array in `mozLz40`. It is a cache: it
    /// may be missing (404) or outdated.
    package func startupBundle(at base: AttachmentsURL) async throws(HTTPError) -> ServerDocument {
        try await document(base.startupBundle, limit: limits.startupBundleBytes).document
    }

    private struct ReceiverFailure: Error {
        let error: any Error
    }

    private func download(
        _ url: HTTPURL, limit: Int, resume: ResumePoint?, receive: (DownloadPart) async throws -> Void
    ) async throws {
        var transfer = Transfer(url: url, limit: limit, resume: resume)
        let deadline = deadline(.answer, seconds: limits.downloadSeconds)
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try await run(&transfer, until: deadline, receive: receive)
            } catch let failure as ReceiverFailure {
                throw failure.error
            } catch let error as HTTPError {
                if error.reason == .rangeNotSatisfied, transfer.offset > 0, attempts < limits.tries {
                    transfer.offset = 0
                    transfer.validator = nil
                    continue
                }
                try await pauseIfRepeatable(error, attempts: attempts, until: deadline)
            }
        }
    }

    /// One request of a transfer.
    private func run(
        _ transfer: inout Transfer, until deadline: Deadline, receive: (DownloadPart) async throws -> Void
    ) async throws {
        func give(_ part: DownloadPart) async throws {
            do {
                try await receive(part)
            } catch {
                throw ReceiverFailure(error: error)
            }
        }
        let isPartial = transfer.offset > 0
        var answer = try await exchange(
            transfer.url, headers: transfer.headers, limit: transfer.limit, until: deadline,
            accepts: { $0 == 200 || $0 == 206 || ($0 == 416 && isPartial) })
        switch try transfer.begin(answer) {
        case .alreadyWhole(let start):
            try await give(.start(start))
        case .bytes(let start, let expected):
            try await give(.start(start))
            var received = 0
            while let piece = try await nextPiece(of: &answer) {
                received += piece.count
                try transfer.check(piece.count, received: received, of: expected, in: answer)
                try await give(.bytes(piece))
                transfer.offset += piece.count
            }
            if let expected, received < expected {
                throw HTTPError(answer.url, .truncated(expected: expected, received: received))
            }
            if let size = start.size, transfer.offset < size {
                throw HTTPError(answer.url, .truncated(expected: size, received: transfer.offset))
            }
        }
    }
}
