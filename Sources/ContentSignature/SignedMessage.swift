import Crypto
import RemoteSettingsModel

/// What a content signature is over: SHA-384 of `Content-Signature:`, a zero byte and the payload.
///
/// Hashed once, however many signatures are then tried on it.
struct SignedMessage: Sendable {
    let digest: SHA384Digest

    private static let prefix = Array("Content-Signature:\0".utf8)

    /// Hashes `payload` where it lies, without a copy.
    init(_ payload: Bytes) {
        var hash = SHA384()
        hash.update(data: Self.prefix)
        unsafe payload.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        digest = hash.finalize()
    }
}
