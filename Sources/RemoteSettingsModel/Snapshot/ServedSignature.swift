/// A signature as a collection's metadata gives it. Not checked.
public struct ServedSignature: Hashable, Sendable {
    /// base64url of the raw signature.
    public let signature: String
    /// How it was made; only `p384ecdsa` is known.
    public let mode: String
    /// Where the certificate chain is: a URL, absolute or relative to the server's. A development server may sign with a
    /// bare key and leave it empty.
    public let x5u: String

    /// Whether it names a certificate chain. Without one nobody can verify it: it counts as no signature.
    public var namesChain: Bool { !x5u.isEmpty }

    public init(signature: String, mode: String, x5u: String) {
        self.signature = signature
        self.mode = mode
        self.x5u = x5u
    }
}
