import RemoteSettingsModel

/// The bytes of one entry to write, with their required size and hash.
struct EntrySource {
    let name: String
    let size: Int
    let sha256: SHA256Digest
    let source: AttachmentInput
    /// The name of the bundle that is being written, for error messages.
    let file: String

    /// Reads all bytes into memory and checks them.
    func load() throws(Failure) -> Bytes {
        if case .bytes(let bytes) = source {
            guard bytes.count == size else { throw wrong("\(size) bytes", "\(bytes.count)") }
            let found = SHA256Digest(hashing: bytes)
            guard found == sha256 else { throw wrong("SHA-256 \(sha256)", found.hex) }
            return bytes
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        try read { bytes.append(contentsOf: $0) }
        return Bytes(bytes)
    }

    /// Passes the bytes to `consume`, piece by piece, and then checks their size and hash.
    ///
    /// - Throws: ``Failure`` if the source is missing, cannot be read, or has the wrong size or hash; or the error
    /// of `consume`.
    func read(_ consume: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) {
        var hasher = ContentHasher()
        var count = 0
        try pieces { (piece) throws(Failure) in
            count += piece.count
            guard count <= size else { throw wrong("\(size) bytes", "more") }
            hasher.update(piece)
            try consume(piece)
            return true
        }
        guard count == size else { throw wrong("\(size) bytes", "\(count)") }
        let found = hasher.finish()
        guard found == sha256 else { throw wrong("SHA-256 \(sha256)", found.hex) }
    }

    /// Returns the first bytes, without checking them.
    func prefix(_ count: Int) throws(Failure) -> Bytes {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        try pieces { (piece) throws(Failure) in
            bytes.append(contentsOf: piece.extracting(first: min(piece.count, count - bytes.count)))
            return bytes.count < count
        }
        return Bytes(bytes)
    }

    /// Passes the bytes to `consume` until it returns `false`.
    private func pieces(_ consume: (Span<UInt8>) throws(Failure) -> Bool) throws(Failure) {
        switch source {
        case .bytes(let bytes):
            var offset = 0
            while offset < bytes.count {
                let end = min(offset + (1 << 20), bytes.count)
                guard try bytes[offset..<end].withSpan(consume) else { return }
                offset = end
            }
        case .file(let path): try pieces(ofFile: path, consume)
        case .bundle(let reader): try pieces(of: reader, consume)
        case .omitted: throw wrong(nil, "the attachment's uncompressed bytes are not available")
        }
    }

    private func pieces(of reader: BundleReader, _ consume: (Span<UInt8>) throws(Failure) -> Bool) throws(Failure) {
        var isEnough = false
        do {
            let isPresent = try reader.streamAttachment(sha256) { piece in
                isEnough = try !consume(piece)
                if isEnough { throw CancellationError() }
            }
            guard isPresent else {
                throw Failure(.damaged, file: reader.name, entry: name, found: "the entry is missing")
            }
        } catch let error as Failure where !error.place.isEmpty {
            throw error
        } catch {
            guard isEnough else { throw wrong(nil, "cannot read the source: \(error)") }
        }
    }

    private func pieces(ofFile path: String, _ consume: (Span<UInt8>) throws(Failure) -> Bool) throws(Failure) {
        let file = try Failure.reading(entry: name) { () throws(Failure) in try ReadableFile(path) }
        var piece = [UInt8](repeating: 0, count: min(max(size, 1), 256 << 10))
        while true {
            let count = try Failure.reading(entry: name) { () throws(Failure) in try file.next(into: &piece) }
            guard count > 0, try consume(piece.span.extracting(0..<count)) else { return }
        }
    }

    private func wrong(_ expected: String?, _ found: String) -> Failure {
        let place =
            switch source {
            case .file(let path): path
            case .bundle(let reader): reader.name
            default: file
            }
        return Failure(.usage, file: place, entry: name, expected: expected, found: found)
    }
}
