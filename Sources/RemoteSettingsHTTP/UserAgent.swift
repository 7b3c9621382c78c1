/// What a client calls itself. Servers require a name and a version.
public struct UserAgent: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Characters that may not stand in a product token (RFC 9110 §10.1.5) become `-`.
    public init(name: String, version: String) {
        description = "\(Self.token(name))/\(Self.token(version))"
    }

    private static func token(_ text: String) -> String {
        let allowed = Set("!#$%&'*+-.^_`|~".utf8)
        let bytes = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                byte
            default:
                allowed.contains(byte) ? byte : UInt8(ascii: "-")
            }
        }
        return bytes.isEmpty ? "-" : String(decoding: bytes, as: UTF8.self)
    }
}
