import Crypto
import FileStorage
import RemoteSettingsModel

/// What a file's content sums up to: one reading for both.
struct ContentSums {
    let sha256: String
    /// Stores list it as the tag of an object.
    let md5: String
    /// Bytes.
    let size: Int

    init(of path: String) throws(FileError) {
        var (sha256, md5, size) = (SHA256(), Insecure.MD5(), 0)
        try FileStore.readPieces(path) { piece throws(FileError) in
            unsafe piece.withUnsafeBytes { bytes in
                unsafe sha256.update(bufferPointer: bytes)
                unsafe md5.update(bufferPointer: bytes)
            }
            size += piece.count
        }
        self.sha256 = Self.hex(sha256.finalize())
        self.md5 = Self.hex(md5.finalize())
        self.size = size
    }

    static func hex(_ digest: some Sequence<UInt8>) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
