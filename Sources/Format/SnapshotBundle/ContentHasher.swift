// Do not import all of Crypto, because it has another type named SHA256Digest.
import struct Crypto.SHA256
import RemoteSettingsModel

/// Computes SHA-256 incrementally.
package struct ContentHasher {
    private var hasher = SHA256()

    package init() {}

    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.update(bufferPointer: $0) }
    }

    package func finish() -> SHA256Digest {
        let digest = unsafe hasher.finalize().withUnsafeBytes { unsafe SHA256Digest(raw: RawSpan(_unsafeBytes: $0)) }
        guard let digest else { preconditionFailure("a SHA-256 hash has 32 bytes") }
        return digest
    }
}

extension SHA256Digest {
    /// Hashes `bytes` with SHA-256.
    package init(hashing bytes: Bytes) {
        var hasher = ContentHasher()
        bytes.withSpan { hasher.update($0) }
        self = hasher.finish()
    }
}
