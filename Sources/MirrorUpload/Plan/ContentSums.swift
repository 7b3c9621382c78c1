import Crypto
import FileStorage
import RemoteSettingsModel

/// The hashes and the size of a file's content, from one reading of it.
struct ContentSums {
    let sha256: String
    /// The hash that stores list as the tag of an object.
    let md5: String
    /// The size in bytes.
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
