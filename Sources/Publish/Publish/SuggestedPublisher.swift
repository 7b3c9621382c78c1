import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension PublisherName {
    /// Suggests a name for a publisher that has none. Two publishers of one team, such as staging and production, must
    /// not get the same name, because with the same keys one could impersonate the other.
    ///
    /// A server URL of the form `https://HOST` with a public host gives `HOST`. If the URL has a port, a path or a
    /// different scheme, part of its SHA-256 is appended to the host, because one host may serve several publishers.
    /// For a URL on the local machine or in a private network, the name is random.
    ///
    /// - Parameters:
    ///   - server: the server from which apps sync; `nil` if unknown.
    ///   - chance: a random number from 0 up to, but not including, 1.
    package static func suggested(for server: ServerURL?, chance: Double) -> PublisherName {
        if let server, let host = PublisherName(server.url.host), isGlobal(server.url.host) {
            let address = server.withoutVersion
            if address == "https://\(host)" { return host }
            let digest = SHA256Digest(hashing: Bytes(utf8: address)).hex.prefix(12)
            if let name = PublisherName("\(host)-\(digest)") { return name }
        }
        let digits = String(UInt64(min(max(chance, 0), 1) * 0x1p53), radix: 16)
        guard let name = PublisherName("publisher-" + digits) else {
            preconditionFailure("hexadecimal digits are part of a name")
        }
        return name
    }

    /// Returns whether a host name refers to the same host from every machine, judging by the name alone.
    private static func isGlobal(_ host: String) -> Bool {
        let labels = host.split(separator: ".")
        guard labels.count > 1, let last = labels.last, last.contains(where: \.isLetter) else { return false }
        // These names are from RFC 6761, 6762 and 8375, or are common in private networks.
        return !host.hasSuffix("home.arpa")
            && !["localhost", "local", "internal", "test", "invalid", "lan", "intranet", "private", "corp", "home"]
                .contains(last)
    }
}
