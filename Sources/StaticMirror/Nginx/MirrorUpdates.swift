/// What nginx needs to serve a mirror's update channel.
package struct MirrorUpdates: Hashable, Sendable {
    /// The port on 127.0.0.1 at which nginx accepts update events, from 1 to 65535.
    package let port: Int
    /// The Redis server that shares the channel between hosts; `nil` for a single host.
    package let redis: RedisAddress?

    package init(port: Int, redis: RedisAddress? = nil) {
        self.port = port
        self.redis = redis
    }
}

/// The address of a Redis server in nchan's notation: `redis://[:PASSWORD@]HOST[:PORT][/DATABASE]`.
package struct RedisAddress: Hashable, Sendable {
    let url: String
    let hasPassword: Bool

    /// - Returns: `nil` if the text has another form. An accepted text has no character with a meaning in nginx's
    ///   configuration, and nothing percent-encoded, because nchan does not decode it.
    package init?(_ text: String) {
        guard text.hasPrefix("redis://") else { return nil }
        var place = text.dropFirst("redis://".count)
        var password: Substring?
        if let end = place.lastIndex(of: "@") {
            password = place[..<end]
            place = place[place.index(after: end)...]
        }
        let parts = place.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let authority = parts[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard Self.isPlain(authority[0]), authority.dropFirst().allSatisfy(Self.isNumber),
            parts.dropFirst().allSatisfy(Self.isNumber),
            password.map({ $0.hasPrefix(":") && Self.isPlain($0.dropFirst(), or: "~*+=!_@") }) ?? true
        else { return nil }
        url = text
        hasPassword = password != nil
    }

    private static func isPlain(_ text: Substring, or others: String = "") -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: others.utf8.contains(byte)
                }
            }
    }

    private static func isNumber(_ text: Substring) -> Bool { isPlain(text) && UInt16(text) != nil }
}
