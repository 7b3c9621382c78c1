import RemoteSettingsModel

/// A bundle that is open for reading.
///
/// Opening a bundle reads the ZIP directory at the end of the file, and the first bytes. Everything else is read on
/// demand. Entries that are stored without compression are slices of the mapped file.
///
/// Opening checks only the structure; ``verifyContents()`` checks the contents. Before the records of an untrusted
/// bundle are used, its signature or its hash in the lock file must be verified.
package struct BundleReader: Sendable {
    /// The bundle's path or name, for error messages.
    package let name: String
    package let head: BundleHead
    private let file: Bytes
    let directory: ZIPDirectory
    /// The mapped file; `nil` for bytes in memory.
    let mapping: MappedFile?

    /// Maps the file into memory and reads its ZIP directory. Does I/O.
    ///
    /// - Throws: ``Failure`` if the file cannot be read, or is not a bundle of a known format within `limits`.
    package init(path: String) throws(Failure) {
        try self.init(MappedFile(path: path))
    }

    /// Reads a file that other users may modify while it is read. Does I/O.
    ///
    /// Everything but the attachments is copied to memory. The file stays open: an attachment is copied when it is
    /// read.
    ///
    /// - Throws: the errors of ``init(path:)``.
    package init(copying path: String) throws(Failure) {
        let copy = try MappedFile(copying: path) { (bytes, load) throws(Failure) in
            try load(max(0, bytes.count - ZIPLayout.mostEnd)..<bytes.count)
            do throws(Failure) {
                try load(bytes.withRawSpan { (raw) throws(Failure) in try ZIPEnd(raw, file: path).directory })
                try load(0..<ZIPDirectory(bytes, file: path).startOfAttachments())
            } catch {
                // The reader of the whole file says what is wrong with it.
                try load(0..<bytes.count)
            }
        }
        try self.init(copy)
    }

    /// Reads the ZIP directory of a file that is already mapped, even if its path leads to another file by now.
    package init(_ file: MappedFile) throws(Failure) {
        try self.init(file.bytes, name: file.path, mapping: file)
    }

    /// Reads the ZIP directory of a bundle in memory, such as one that is part of the program. Does no I/O.
    package init(bytes: Bytes, name: String) throws(Failure) {
        try self.init(bytes, name: name, mapping: nil)
    }

    /// The size of the whole file in bytes.
    package var size: UInt64 { UInt64(file.count) }

    /// The SHA-256 of the whole file. Reads every byte.
    package func fileDigest() throws(Failure) -> SHA256Digest {
        guard let mapping else { return SHA256Digest(hashing: file) }
        return mapping.isCopy ? try FileStore.digest(of: mapping.path) : mapping.digest()
    }

    private init(_ bytes: Bytes, name: String, mapping: MappedFile?) throws(Failure) {
        let head: BundleHead
        do throws(Failure) {
            head = try BundleHead.read(bytes[0..<min(bytes.count, BundleFormat.headBytes)], name: name)
        } catch {
            // If the file is truncated or not a ZIP file, prefer the error of the ZIP directory, which is clearer.
            if error.code != .unknownVersion, error.cause != .largeFilePointer {
                _ = try ZIPDirectory(bytes, file: name)
            }
            throw error
        }
        let directory = try ZIPDirectory(bytes, file: name)
        guard directory.hasChain == (head.trust == .signed), directory.attachmentCount == head.attachments else {
            throw Failure(
                .damaged, file: name, entry: BundleFormat.manifest,
                expected: "\(Counted.text(head.attachments, "attachment")), and chain.pem only if it is signed",
                found:
                    "\(Counted.text(directory.attachmentCount, "attachment"))\(directory.hasChain ? ", chain.pem" : "")"
            )
        }
        self.name = name
        self.head = head
        file = bytes
        self.directory = directory
        self.mapping = mapping
    }

    /// Returns the text of `manifest.json`, without copying it.
    package func manifestText() throws(Failure) -> Bytes { try contents(0) }

    /// Returns the manifest. Every call parses it again, so keep the result.
    package func manifest() throws(Failure) -> Manifest {
        try Manifest(parsing: manifestText(), file: name)
    }

    /// Returns `records.json`, the canonical signed payload. If it is stored, the result is a slice of the file,
    /// otherwise every call inflates it.
    ///
    /// Inflated bytes are checked against their CRC-32. Stored bytes are not, because the caller verifies the signature
    /// or trusts the file.
    ///
    /// - Parameter isHashed: whether the caller checks the bytes against a hash or a signature, so that no CRC-32 is
    ///   needed.
    package func payloadText(isHashed: Bool = false) throws(Failure) -> Bytes {
        try contents(1, checksCRC: !isHashed)
    }

    /// Returns `metadata.json`, the collection's metadata as served.
    package func metadataText() throws(Failure) -> Bytes { try contents(2) }

    /// Returns `chain.pem`; `nil` if the bundle is not signed.
    package func chain() throws(Failure) -> Bytes? { directory.hasChain ? try contents(3) : nil }

    /// The hashes of the attachments in the bundle, sorted.
    package var attachments: [SHA256Digest] {
        (directory.fixedCount..<directory.count).compactMap(directory.attachment(at:))
    }

    package func contains(_ digest: SHA256Digest) -> Bool { directory.index(of: digest) != nil }

    /// Returns an attachment's size in bytes, uncompressed; `nil` if the bundle does not contain it.
    package func attachmentSize(_ digest: SHA256Digest) throws(Failure) -> Int? {
        guard let index = directory.index(of: digest) else { return nil }
        return try directory.size(of: index)
    }

    /// Returns an attachment's bytes: a slice of the file if it is stored, otherwise inflated bytes.
    ///
    /// - Parameter isTrusted: whether to skip the check of the SHA-256, for a bundle that is part of the trusted
    ///   program.
    /// - Returns: `nil` if the bundle does not contain it.
    /// - Throws: ``Failure`` if the bytes do not have this hash.
    package func attachment(_ digest: SHA256Digest, isTrusted: Bool = false) throws(Failure) -> Bytes? {
        guard let index = directory.index(of: digest) else { return nil }
        let bytes = try contents(index)
        guard !isTrusted else { return bytes }
        try check(SHA256Digest(hashing: bytes), of: index, is: digest)
        return bytes
    }

    /// Passes an attachment's bytes to `consume` in pieces of at most 1 MiB, with little memory.
    ///
    /// The hash is checked after the last piece, so results of `consume` are valid only after this function has
    /// returned.
    ///
    /// - Returns: whether the bundle contains the attachment.
    /// - Throws: ``Failure`` if the bytes do not have this hash, or the error of `consume`.
    package func streamAttachment(_ digest: SHA256Digest, to consume: (Span<UInt8>) throws -> Void) throws -> Bool {
        guard let index = directory.index(of: digest) else { return false }
        var hasher = ContentHasher()
        try entry(index).read { piece in
            hasher.update(piece)
            try consume(piece)
        }
        try check(hasher.finish(), of: index, is: digest)
        return true
    }

    private func check(_ found: SHA256Digest, of index: Int, is digest: SHA256Digest) throws(Failure) {
        guard found != digest else { return }
        throw Failure(
            .damaged, file: name, entry: directory.name(at: index), expected: "SHA-256 \(digest)", found: found.hex)
    }
}
