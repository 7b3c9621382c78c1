import CPlatform
import RemoteSettingsModel
import SnapshotBundle

/// Encodes a file as a delta from an older file, in the format `dcz` of RFC 9842. A delta consists of the SHA-256 of
/// the older file and a zstd frame that refers to the older file's bytes.
package enum FileDelta {
    package static let coding = "dcz"
    /// The first bytes of each delta. Together with the SHA-256 that follows, they form a zstd frame that decoders
    /// skip.
    private static let magic: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0, 0, 0]
    package static let headBytes = magic.count + 32

    /// The smallest size of a file for a delta. Below it, a delta saves little more than its request headers cost.
    private static let least = 4 << 10
    /// The largest total size of both files in bytes, because both are in memory at the same time.
    package static let mostBytes = 16 << 20

    /// Returns whether a delta between files of these sizes in bytes is useful, and possible on this system.
    package static func isWorthwhile(from old: Int, to new: Int) -> Bool {
        new >= least && old >= least && old.saturatingAdding(new) <= mostBytes && rs_zstd_load() == 1
    }

    static func head(_ dictionary: SHA256Digest) -> [UInt8] { magic + dictionary.bytes }

    /// Returns the window size in bytes that a decoder must support (RFC 9842, section 5): 8 MiB, or 1.25
    /// times the size of the dictionary, but at most 128 MiB.
    private static func window(_ dictionary: Int) -> Int {
        min(128 << 20, max(8 << 20, dictionary.saturatingAdding(dictionary / 4)))
    }

    /// Returns the base-2 logarithm of the largest window that this decoder accepts.
    static func mostWindowLog(_ dictionary: Int) -> Int32 {
        Int32(Int.bitWidth - (window(dictionary) - 1).leadingZeroBitCount)
    }

    /// Returns the base-2 logarithm of the window to encode with. The whole file fits into the window, so that every
    /// part of it can refer to the dictionary, unless decoders are not required to support a window of that size.
    static func windowLog(of size: Int, _ dictionary: Int) -> Int32 {
        let most = Int.bitWidth - 1 - window(dictionary).leadingZeroBitCount
        return Int32(min(most, max(10, Int.bitWidth - max(0, size - 1).leadingZeroBitCount)))
    }

    /// Returns whether these bytes are a valid delta from the older file to the newer one.
    package static func isSound(_ delta: Bytes, from held: HeldFile, size: Int) -> Bool {
        guard isWorthwhile(from: held.bytes.count, to: size) else { return false }
        do throws(Failure) {
            let decoder = try DeltaDecoder(from: held, size: size)
            try decoder.decode(delta.array)
            try decoder.finish()
            return true
        } catch {
            return false
        }
    }

    /// Returns the digest in the header `Available-Dictionary` (RFC 9842, section 2.2); `nil` if the header is not
    /// valid.
    package static func dictionary(_ availableDictionary: String) -> SHA256Digest? {
        guard availableDictionary.utf8.count == 46, availableDictionary.hasPrefix(":"),
            availableDictionary.hasSuffix(":")
        else { return nil }
        return (try? Base64.decode(Array(availableDictionary.utf8.dropFirst().dropLast()), .standard))
            .flatMap { SHA256Digest($0) }
    }

    /// Returns the header `Use-As-Dictionary` for a file that clients may use as a dictionary. It states which requests
    /// may use the file, and the file's id.
    ///
    /// - Parameters:
    ///   - path: the path of the file's URL.
    ///   - size: the file's size in bytes.
    /// - Returns: `nil` if the file cannot be a dictionary, or if its path has characters other than letters, digits
    ///   and `-._/`.
    package static func useAsDictionary(_ path: String, size: Int) -> String? {
        let isPlain = path.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "-")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
        }
        guard isPlain, isWorthwhile(from: size, to: size), let slash = path.lastIndex(of: "/") else { return nil }
        return "match=\"\(path[...slash])*\", id=\"\(path[path.index(after: slash)...])\", type=raw"
    }

    /// Creates a delta at zstd's compression level 19. This takes about one second for each 2 MB.
    ///
    /// - Returns: `nil` if the delta is at least half as large as the file, if it is not useful, or if zstd fails.
    package static func made(of new: Bytes, from old: Bytes, named digest: SHA256Digest) -> [UInt8]? {
        guard isWorthwhile(from: old.count, to: new.count) else { return nil }
        let windowLog = windowLog(of: new.count, old.count)
        let frame = unsafe old.withUnsafeBytes { prefix in
            unsafe new.withUnsafeBytes { input in
                unsafe [UInt8](unsafeUninitializedCapacity: rs_zstd_bound(input.count)) { output, count in
                    unsafe count = rs_zstd_encode(
                        prefix.baseAddress, prefix.count, input.baseAddress, input.count, output.baseAddress,
                        output.count, 19, windowLog)
                }
            }
        }
        return frame.isEmpty || frame.count >= new.count / 2 ? nil : head(digest) + frame
    }
}

/// A file that the client has. A server may send a newer version of it as a delta.
package struct HeldFile: Sendable {
    let bytes: Bytes
    let digest: SHA256Digest
    /// The last part of the file's location, which the server may use as the file's id.
    let name: String
    /// The SHA-256 that the newer file must have.
    let newer: SHA256Digest

    /// Creates a description of a file that the client has.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of `bytes`. The caller has verified it.
    ///   - location: the file's `attachment.location`.
    ///   - newer: the SHA-256 that the newer file must have.
    package init(_ bytes: Bytes, digest: SHA256Digest, location: String, newer: SHA256Digest) {
        self.bytes = bytes
        self.digest = digest
        self.newer = newer
        name = location.split(separator: "/").last.map { String($0) } ?? ""
    }

    /// The additional headers of a request for the newer file (RFC 9842, section 2.2).
    var headers: [HTTPHeaders.Field] {
        var fields = [
            HTTPHeaders.Field("Accept-Encoding", "\(FileDelta.coding), identity"),
            HTTPHeaders.Field("Available-Dictionary", ":\(Self.base64(digest.bytes)):"),
        ]
        // Omit a name with characters that would have to be escaped. Servers do not generate such names.
        let isPlain = !name.isEmpty && name.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        if isPlain { fields.append(HTTPHeaders.Field("Dictionary-ID", "\"\(name)\"")) }
        return fields
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start...].prefix(3)
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? digits[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Decodes one delta, piece by piece, into memory of the size that the file must have.
///
/// A malicious delta cannot make it use more memory, because the file's memory is also the decoding window. It is not
/// safe to use from several threads.
@safe
package final class DeltaDecoder {
    /// The largest size of a piece of the decoded file in bytes.
    static let pieceBytes = 1 << 20

    private let held: HeldFile
    private let size: Int
    /// A buffer of ``size`` bytes.
    private let output: UnsafeMutableRawBufferPointer
    private let decoder: OpaquePointer
    private var head: [UInt8] = []
    private var produced = 0
    private var isAtEnd = false

    /// Creates a decoder and allocates its memory.
    ///
    /// - Parameter size: the size that the file must have in bytes, at least 1.
    /// - Throws: ``Failure`` if there is no libzstd, or not enough memory.
    package init(from held: HeldFile, size: Int) throws(Failure) {
        guard rs_zstd_load() == 1 else { throw .delta("libzstd.so.1 cannot be loaded") }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
        // The dictionary's memory stays valid after the closure returns, because this object keeps the storage of
        // `held.bytes`, which never changes.
        let decoder = unsafe held.bytes.withUnsafeBytes { prefix in
            unsafe rs_zstd_decoder_make(
                prefix.baseAddress, prefix.count, output.baseAddress, output.count,
                FileDelta.mostWindowLog(prefix.count))
        }
        guard let decoder = unsafe decoder else {
            unsafe output.deallocate()
            throw .delta("there is not enough memory to decode it")
        }
        self.held = held
        self.size = size
        unsafe self.output = unsafe output
        unsafe self.decoder = unsafe decoder
    }

    deinit {
        unsafe rs_zstd_decoder_free(decoder)
        unsafe output.deallocate()
    }

    package func decode(_ piece: [UInt8]) throws(Failure) {
        let missing = FileDelta.headBytes - head.count
        head += piece.prefix(missing)
        guard head.count == FileDelta.headBytes, piece.count > missing else { return }
        guard head == FileDelta.head(held.digest) else { throw .delta("it was created from a different file") }
        guard !isAtEnd else { throw .delta("there are extra bytes at the end") }
        var (consumed, produced) = (max(0, missing), 0)
        let state = unsafe piece.withUnsafeBytes { input in
            unsafe rs_zstd_decode(decoder, input.baseAddress, input.count, &consumed, &produced)
        }
        self.produced = produced
        switch Int(state) {
        case RS_ZSTD_MORE: break
        case RS_ZSTD_END where consumed == piece.count: isAtEnd = true
        case RS_ZSTD_END: throw .delta("there are extra bytes at the end")
        default: throw .delta("it is damaged, or its output is longer than \(size) bytes")
        }
    }

    /// Checks that the file is complete and has the requested hash.
    package func finish() throws(Failure) {
        guard isAtEnd else { throw .delta("it is truncated") }
        guard produced == size else { throw .delta("its output is \(produced) bytes, but the record states \(size)") }
        var hasher = ContentHasher()
        unsafe hasher.update(Span(_unsafeElements: UnsafeRawBufferPointer(output).bindMemory(to: UInt8.self)))
        guard hasher.finish() == held.newer else { throw .delta("the SHA-256 of its output does not match the record") }
    }

    /// Returns the next bytes of the file from `offset` on, at most ``pieceBytes``. Call it after ``finish()``.
    package func piece(at offset: Int) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(rebasing: output[offset..<min(offset + Self.pieceBytes, size)]))
    }
}

extension Failure {
    /// An error for a delta that cannot be used.
    fileprivate static func delta(_ problem: String) -> Self { Self(.damaged, problem) }
}
