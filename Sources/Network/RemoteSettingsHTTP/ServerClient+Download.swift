import RemoteSettingsModel

extension ServerClient {
    /// Downloads an attachment piece by piece, and checks its size and hash. If the connection breaks, it resumes the
    /// transfer.
    ///
    /// - Parameters:
    ///   - location: the record's `attachment.location`.
    ///   - size: the size in the record, in bytes.
    ///   - digest: the SHA-256 in the record.
    ///   - resume: the part of the file that an earlier call received.
    ///   - held: an older file from which the server may compute a delta (RFC 9842), if the download does not resume.
    ///     If anything is wrong with the response, the whole file is requested once, without a delta.
    ///   - receive: called with ``DownloadPart/start(_:)`` first, and whenever the transfer is resumed or restarted,
    ///     and otherwise with bytes. The next bytes are read after it has returned.
    /// - Returns: the number of bytes that a delta saved; 0 if the whole file was sent.
    /// - Throws: ``Failure``, with the code `content` if the bytes do not match the record; or the error that
    ///   `receive` throws.
    @discardableResult
    package func attachment(
        _ location: String, at base: AttachmentsURL, size: Int, digest: SHA256Digest, resume: ResumePoint? = nil,
        held: HeldFile? = nil, receive: (DownloadPart) async throws -> Void
    ) async throws -> Int {
        try await download(
            Transfer(
                url: try base.attachment(location), expected: (size, digest), limit: min(limits.attachmentBytes, size),
                resume: resume, held: held),
            receive: receive)
    }

    /// Downloads the ZIP file with a collection's attachments. The server generates it as a cache, so it may be missing
    /// (404) or outdated.
    ///
    /// - Throws: ``Failure``, or the error that `receive` throws.
    package func attachmentsZip(
        _ collection: CollectionID, at base: AttachmentsURL, receive: (DownloadPart) async throws -> Void
    ) async throws {
        _ = try await download(
            Transfer(
                url: base.zip(collection), expected: nil, limit: limits.attachmentsZipBytes, resume: nil, held: nil),
            receive: receive)
    }

    private func download(_ start: Transfer, receive: (DownloadPart) async throws -> Void) async throws -> Int {
        var transfer = start
        let deadline = deadline(.answer, seconds: limits.downloadSeconds)
        var attempts = 0
        // `receive` may also throw a `Failure`, which must not be mistaken for an error of the transfer.
        var isOfReceiver = false
        while true {
            attempts += 1
            do {
                return try await run(&transfer, until: deadline) { part in
                    isOfReceiver = true
                    try await receive(part)
                    isOfReceiver = false
                }
            } catch let error as Failure where !isOfReceiver {
                if transfer.takeOtherWay(after: error) {
                    attempts -= 1
                    onEvent(.wholeFile(error))
                } else {
                    try await pauseIfRepeatable(transfer.final(error), attempts: attempts, until: deadline)
                }
            }
        }
    }

    /// Sends one request of a transfer.
    ///
    /// - Returns: the number of bytes that a delta saved.
    private func run(
        _ transfer: inout Transfer, until deadline: Deadline, receive: (DownloadPart) async throws -> Void
    ) async throws -> Int {
        let headers = transfer.nextHeaders()
        let isPartial = transfer.offset > 0
        var answer = try await exchange(
            transfer.url, headers: headers, limit: transfer.limit, until: deadline,
            accepts: { $0 == 200 || $0 == 206 || ($0 == 416 && isPartial) })
        if let held = transfer.held, answer.isDelta {
            let (file, received) = try await file(of: &answer, from: held, size: transfer.limit)
            try await receive(.start(0))
            for offset in stride(from: 0, to: transfer.limit, by: DeltaDecoder.pieceBytes) {
                try await receive(.bytes(file.piece(at: offset)))
            }
            return max(0, transfer.limit - received)
        }
        let length = try transfer.begin(&answer)
        try await receive(.start(transfer.offset))
        var received = 0
        while length.body != 0, let piece = try await nextPiece(of: &answer) {
            received += piece.count
            try transfer.take(piece, received: received, of: length.body, in: answer)
            try await receive(.bytes(piece))
        }
        if let expected = length.body, received < expected {
            throw Failure(answer.url, .truncated(expected: expected, received: received))
        }
        if let size = length.file, transfer.offset < size {
            throw Failure(answer.url, .truncated(expected: size, received: transfer.offset))
        }
        try transfer.checkWhole(answer)
        return 0
    }

    /// Decodes a response that is a delta from the client's older file.
    ///
    /// A delta may be larger than the file, because Mozilla's job creates such deltas for data that cannot be
    /// compressed.
    ///
    /// - Parameter size: the size that the file must have in bytes.
    /// - Returns: the file, which has the requested hash, and the size of the delta in bytes.
    /// - Throws: ``Failure/badEncoding(_:)`` if the delta cannot be used, or if its transfer failed.
    private func file(
        of answer: inout Answer, from held: HeldFile, size: Int
    ) async throws -> (file: DeltaDecoder, received: Int) {
        do throws(Failure) {
            let decoder = try DeltaDecoder(from: held, size: size)
            var received = 0
            while let piece = try await nextPiece(of: &answer) {
                received += piece.count
                try decoder.decode(piece)
            }
            try decoder.finish()
            return (decoder, received)
        } catch {
            guard error.code != .cancelled else { throw error }
            throw Failure(answer.url, .badEncoding("the delta could not be read: \(error.problem)"))
        }
    }
}
