import CPlatform
import RemoteSettingsModel
import SnapshotBundle

/// Writes a file as a delta to another one, in the form `dcz` of RFC 9842. A delta consists of the SHA-256 of the other
/// file, and a zstd frame that refers to its bytes.
package enum FileDelta {
    package static let coding = "dcz"
    /// The beginning of each delta, before the SHA-256. The two form a zstd frame that decoders skip.
    private static let magic: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0, 0, 0]
    package static let headBytes = magic.count + 32

    /// The smallest size for a delta. Below it, a delta saves little more than its own request headers cost.
    private static let least = 4 << 10
    /// The largest size of both files together in bytes, because they are in memory at once.
    package static let mostBytes = 16 << 20

    /// Whether a delta between files of these sizes in bytes is useful, and possible on this system.
    package static func isWorthwhile(from old: Int, to new: Int) -> Bool {
        new >= least && old >= least && old.saturatingAdding(new) <= mostBytes && rs_zstd_load() == 1
    }

    static func head(_ dictionary: SHA256Digest) -> [UInt8] { magic + dictionary.bytes }

    /// The window that a decoder must accept, in bytes (RFC 9842, section 5): 8 MiB, or a quarter more than the
    /// dictionary, but at most 128 MiB.
    private static func window(_ dictionary: Int) -> Int {
        min(128 << 20, max(8 << 20, dictionary.saturatingAdding(dictionary / 4)))
    }

    /// The logarithm of the largest window that is accepted.
    static func mostWindowLog(_ dictionary: Int) -> Int32 {
        Int32(Int.bitWidth - (window(dictionary) - 1).leadingZeroBitCount)
    }

    /// The logarithm of the window to encode with. The whole file fits into it, so that all of it can refer to the
    /// dictionary, unless decoders do not have to accept such a window.
    static func windowLog(of size: Int, _ dictionary: Int) -> Int32 {
        let most = Int.bitWidth - 1 - window(dictionary).leadingZeroBitCount
        return Int32(min(most, max(10, Int.bitWidth - max(0, size - 1).leadingZeroBitCount)))
    }

    /// Whether these bytes are a delta from the held file to the newer one.
    package static func isSound(_ delta: Bytes, from held: HeldFile, size: Int) -> Bool {
        guard isWorthwhile(from: held.bytes.count, to: size) else { return false }
        do throws(FormatError) {
            let decoder = try DeltaDecoder(from: held, size: size)
            try decoder.decode(delta.array)
            try decoder.finish()
            return true
        } catch {
            return false
        }
    }

    /// The file that `Available-Dictionary` names (RFC 9842, section 2.2); `nil` if the header is not valid.
    package static func dictionary(_ availableDictionary: String) -> SHA256Digest? {
        guard availableDictionary.utf8.count == 46, availableDictionary.hasPrefix(":"),
            availableDictionary.hasSuffix(":")
        else { return nil }
        return (try? Base64.decode(Array(availableDictionary.utf8.dropFirst().dropLast()), .standard))
            .flatMap { SHA256Digest($0) }
    }

    /// The header `Use-As-Dictionary` of a file that may become a dictionary. It says which requests may name the file,
    /// and by which id.
    ///
    /// - Parameters:
    ///   - path: the path of the file's URL.
    ///   - size: the file's size in bytes.
    /// - Returns: `nil` if the file cannot become a dictionary, or if its path has more than plain names.
    package static func useAsDictionary(_ path: String, size: Int) -> String? {
        let isPlain = path.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "-")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
        }
        guard isPlain, isWorthwhile(from: size, to: size), let slash = path.lastIndex(of: "/") else { return nil }
        return "match=\"\(path[...slash])*\", id=\"\(path[path.index(after: slash)...])\", type=raw"
    }

    /// Makes the smallest delta that zstd can make. It takes about a second for each 2 MB.
    ///
    /// - Returns: `nil` if it is not smaller than half of the file, if it is not useful, or if it fails.
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

/// A file that the client has, to which a server may send a newer one as a delta.
package struct HeldFile: Sendable {
    let bytes: Bytes
    let digest: SHA256Digest
    /// The last part of the file's location, by which a server may know it.
    let name: String
    /// The SHA-256 that the newer file must have.
    let newer: SHA256Digest

    /// Takes a file that the client has.
    ///
    /// - Parameters:
    ///   - digest: the SHA-256 of the held bytes, which has been checked.
    ///   - location: the held file's `attachment.location`.
    ///   - newer: the SHA-256 that the newer file must have.
    package init(_ bytes: Bytes, digest: SHA256Digest, location: String, newer: SHA256Digest) {
        self.bytes = bytes
        self.digest = digest
        self.newer = newer
        name = location.split(separator: "/").last.map { String($0) } ?? ""
    }

    /// The headers of a request for the newer file (RFC 9842, section 2.2).
    var headers: [HTTPHeaders.Field] {
        var fields = [
            HTTPHeaders.Field("Accept-Encoding", "\(FileDelta.coding), identity"),
            HTTPHeaders.Field("Available-Dictionary", ":\(Self.base64(digest.bytes)):"),
        ]
        // A string of a structured field. No name that a server makes has a character that would have to be escaped.
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
/// A delta cannot make it use more memory, because the file's memory is also its window. Threads must not share it.
@safe
package final class DeltaDecoder {
    /// The largest size of a piece of the decoded file in bytes.
    static let pieceBytes = 1 << 20

    private let held: HeldFile
    private let size: Int
    /// Memory for ``size`` bytes.
    private let output: UnsafeMutableRawBufferPointer
    private let decoder: OpaquePointer
    private var head: [UInt8] = []
    private var produced = 0
    private var isAtEnd = false

    /// Allocates the memory.
    ///
    /// - Parameter size: the size that the file must have in bytes, at least 1.
    /// - Throws: ``FormatError`` if there is no libzstd, or not enough memory.
    package init(from held: HeldFile, size: Int) throws(FormatError) {
        guard rs_zstd_load() == 1 else { throw .delta("libzstd.so.1 cannot be loaded") }
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
        // The memory outlives the closure, because this object keeps the storage of `held.bytes`, which never changes.
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

    package func decode(_ piece: [UInt8]) throws(FormatError) {
        let missing = FileDelta.headBytes - head.count
        head += piece.prefix(missing)
        guard head.count == FileDelta.headBytes, piece.count > missing else { return }
        guard head == FileDelta.head(held.digest) else {
            throw .delta("it is a delta for a different file")
        }
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

    /// Checks that the file is complete and is the requested one.
    package func finish() throws(FormatError) {
        guard isAtEnd else { throw .delta("it is truncated") }
        guard produced == size else {
            throw .delta("its output is \(produced) bytes, but the record states \(size)")
        }
        var hasher = ContentHasher()
        unsafe hasher.update(Span(_unsafeElements: UnsafeRawBufferPointer(output).bindMemory(to: UInt8.self)))
        guard hasher.finish() == held.newer else {
            throw .delta("the SHA-256 of its output does not match the record")
        }
    }

    /// The next bytes of the file from `offset` on, at most ``pieceBytes``. Call it after ``finish()``.
    package func piece(at offset: Int) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(rebasing: output[offset..<min(offset + Self.pieceBytes, size)]))
    }
}

extension FormatError {
    /// A delta cannot be used.
    fileprivate static func delta(_ problem: String) -> Self { Self(.init(.damaged, problem)) }
}
