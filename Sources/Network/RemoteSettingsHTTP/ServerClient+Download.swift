import RemoteSettingsModel

extension ServerClient {
    /// Downloads an attachment piece by piece. If the connection breaks, it resumes the transfer.
    ///
    /// It checks only the transfer. The receiver checks the size and the hash.
    ///
    /// - Parameters:
    ///   - location: the record's `attachment.location`.
    ///   - size: the size that the record states, in bytes. A longer body is refused with
    ///     ``HTTPError/Reason/tooLarge(limit:)``.
    ///   - resume: the place at which an earlier call ended.
    ///   - held: a file to which the server may send a delta (RFC 9842), if the download does not resume. The receiver
    ///     gets the whole file with the requested hash. If anything is wrong with the answer, the whole file is
    ///     requested once, without a delta.
    ///   - receive: called first with ``DownloadPart/start(_:)`` and then with bytes. A second start means what
    ///     ``DownloadPart/start(_:)`` says. The next bytes are read after it has returned.
    /// - Returns: the number of bytes that a delta saved; 0 if the whole file was sent.
    /// - Throws: ``HTTPError``, or the error that `receive` throws.
    @discardableResult
    package func attachment(
        _ location: String, at base: AttachmentsURL, size: Int? = nil, resume: ResumePoint? = nil,
        held: HeldFile? = nil, receive: (DownloadPart) async throws -> Void
    ) async throws -> Int {
        let limit = min(limits.attachmentBytes, size ?? .max)
        return try await download(
            try base.attachment(location), limit: limit, resume: resume, held: held, receive: receive)
    }

    /// Downloads the zip of a collection's attachments. It is a cache, so it may be missing (404) or outdated.
    ///
    /// - Throws: ``HTTPError``, or the error that `receive` throws.
    package func attachmentsZip(
        _ collection: CollectionID, at base: AttachmentsURL, receive: (DownloadPart) async throws -> Void
    ) async throws {
        _ = try await download(
            base.zip(collection), limit: limits.attachmentsZipBytes, resume: nil, receive: receive)
    }

    /// Fetches the changesets that the server recommends for a first launch, as a JSON array in `mozLz40`. It is a
    /// cache, so it may be missing (404) or outdated.
    package func startupBundle(at base: AttachmentsURL) async throws(HTTPError) -> ServerDocument {
        try await document(base.startupBundle, limit: limits.startupBundleBytes).document
    }

    private struct ReceiverFailure: Error {
        let error: any Error
    }

    private func download(
        _ url: HTTPURL, limit: Int, resume: ResumePoint?, held: HeldFile? = nil,
        receive: (DownloadPart) async throws -> Void
    ) async throws -> Int {
        var transfer = Transfer(url: url, limit: limit, resume: resume)
        if transfer.offset == 0 { transfer.held = held }
        let deadline = deadline(.answer, seconds: limits.downloadSeconds)
        var attempts = 0
        while true {
            attempts += 1
            do {
                return try await run(&transfer, until: deadline, receive: receive)
            } catch let failure as ReceiverFailure {
                throw failure.error
            } catch let error as HTTPError {
                // A server without the delta may also answer with an error.
                if transfer.acceptedDelta, error.category == .answer, !error.isRetryable {
                    transfer.restartWithoutDelta()
                    attempts -= 1
                    onEvent(.wholeFile(error))
                    continue
                }
                if error.reason == .rangeNotSatisfied, transfer.offset > 0, attempts < limits.tries {
                    transfer.offset = 0
                    transfer.validator = nil
                    continue
                }
                try await pauseIfRepeatable(error, attempts: attempts, until: deadline)
            }
        }
    }

    /// Sends one request of a transfer.
    ///
    /// - Returns: the number of bytes that a delta saved.
    private func run(
        _ transfer: inout Transfer, until deadline: Deadline, receive: (DownloadPart) async throws -> Void
    ) async throws -> Int {
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
        if let held = transfer.held, answer.isDelta {
            let (file, received) = try await file(of: &answer, from: held, size: transfer.limit)
            try await give(.start(DownloadStart(offset: 0, size: transfer.limit, validator: nil)))
            for offset in stride(from: 0, to: transfer.limit, by: DeltaDecoder.pieceBytes) {
                try await give(.bytes(file.piece(at: offset)))
            }
            return max(0, transfer.limit - received)
        }
        switch try transfer.begin(answer) {
        case .alreadyWhole(let start):
            try await give(.start(start))
        case .bytes(let start, let expected):
            try await give(.start(start))
            var received = 0
            while let piece = try await nextPiece(of: &answer) {
                received += piece.count
                try transfer.check(piece, received: received, of: expected, in: answer)
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
        try transfer.checkWhole(answer)
        return 0
    }

    /// Decodes an answer that is a delta to the held file.
    ///
    /// A delta may be larger than the file, because Mozilla's job makes such deltas of data that cannot be compressed.
    ///
    /// - Parameter size: the size that the file must have in bytes.
    /// - Returns: the file, which has the requested hash, and the size of the delta in bytes.
    /// - Throws: ``HTTPError/Reason/badEncoding(_:)`` if the delta cannot be used, even if its transfer broke.
    private func file(
        of answer: inout Answer, from held: HeldFile, size: Int
    ) async throws -> (file: DeltaDecoder, received: Int) {
        do {
            let decoder = try DeltaDecoder(from: held, size: size)
            var received = 0
            while let piece = try await nextPiece(of: &answer) {
                received += piece.count
                try decoder.decode(piece)
            }
            try decoder.finish()
            return (decoder, received)
        } catch let refusal as DeltaDecoder.Refusal {
            throw HTTPError(answer.url, .badEncoding("the delta cannot be used: \(refusal.problem)"))
        } catch let error as HTTPError where error.category == .answer {
            throw HTTPError(answer.url, .badEncoding("the delta cannot be used: \(error.reason)"))
        }
    }
}
