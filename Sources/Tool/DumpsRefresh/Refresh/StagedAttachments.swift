import RemoteSettingsModel
import SnapshotBundle

/// The small attachments of one collection that are downloaded and wait for the others, packed as in a bundle, in a
/// single file: creating a file for each takes longer than downloading it.
///
/// Attachments that an interrupted refresh left are hashed before they are used; an incomplete last one is overwritten.
package final class StagedAttachments: Sendable {
    private struct State {
        var file: PackedFile?
        var end = 0
        var places: [SHA256Digest: Place] = [:]
    }

    private struct Place {
        let offset: Int
        let content: PackedContent
    }

    private let path: String
    private let state: Mutex<State>

    /// Reads an existing file, using little memory. Does I/O.
    ///
    /// - Throws: ``FileError``, or `BundleError` where the file cannot be read.
    package init(path: String) throws {
        self.path = path
        var state = State()
        if let size = try FileStore.size(path), size > 0 {
            let mapping = try MappedFile(path: path)
            var discarded = 0
            state.end = StagedHead.begins(mapping.bytes) ? StagedHead.fileHeadSize : 0
            while state.end > 0, let head = StagedHead(mapping.bytes, at: state.end) {
                let start = state.end + StagedHead.size
                let range = start..<start + head.content.packedSize  // bounded: by the file, in StagedHead
                if mapping.digest(of: head.content, at: range) == head.digest {
                    state.places[head.digest] = Place(offset: start, content: head.content)
                }
                if range.upperBound - discarded > 1 << 20 {
                    mapping.discard(discarded..<range.upperBound)
                    discarded = range.upperBound
                }
                state.end = range.upperBound
            }
        }
        self.state = Mutex(state)
    }

    /// Where an attachment's bytes are; `nil` if they have not arrived.
    package func source(of digest: SHA256Digest, size: Int) throws(FileError) -> AttachmentInput? {
        try state.withLock { (state) throws(FileError) in
            guard let place = state.places[digest], place.content.size == size else { return nil }
            return .packed(
                PackedAttachment(file: try file(&state), offset: place.offset, content: place.content))
        }
    }

    /// Appends an attachment whose hash the caller has checked. It is not flushed to the disk, because it is hashed
    /// again when a later refresh reads it.
    package func append(_ content: PackedContent, _ packed: Bytes, as digest: SHA256Digest) throws(FileError) {
        try state.withLock { (state) throws(FileError) in
            let descriptor = try file(&state).descriptor
            var entry: [UInt8] = []
            entry.reserveCapacity(StagedHead.fileHeadSize + StagedHead.size + packed.count)
            if state.end == 0 { entry += StagedHead.fileHead }
            StagedHead(digest: digest, content: content).append(to: &entry)
            unsafe packed.withUnsafeBytes { unsafe entry.append(contentsOf: $0) }
            try unsafe entry.span.withUnsafeBytes { (bytes) throws(FileError) in
                try unsafe write(bytes, to: descriptor, at: state.end)
            }
            state.end += entry.count
            state.places[digest] = Place(offset: state.end - packed.count, content: content)
        }
    }

    private func file(_ state: inout State) throws(FileError) -> PackedFile {
        if let file = state.file { return file }
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw FileError("create", path) }
        let file = PackedFile(path: path, descriptor: descriptor)
        state.file = file
        return file
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(FileError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe pwrite(
                descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written,
                off_t(offset + written))
            if count < 0 {
                if errno == EINTR { continue }
                throw FileError("write", path)
            }
            written += count
        }
    }
}
