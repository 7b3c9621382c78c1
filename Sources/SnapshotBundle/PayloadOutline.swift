import RemoteSettingsModel

/// What can be told of a canonical payload, `{"data":[record…],"last_modified":"<timestamp>"}`, without reading its
/// records: how many there are, and the timestamp.
package struct PayloadOutline: Hashable, Sendable {
    package let records: Int
    package let timestamp: Timestamp

    /// - Returns: `nil` where `payload` has another outline. The records themselves are not checked.
    package init?(_ payload: Bytes) {
        let prefix = Array("{\"data\":[".utf8)
        guard payload.starts(with: prefix) else { return nil }
        let scanned = payload.withSpan { span in Self.scan(span, from: prefix.count) }
        guard let (count, end) = scanned else { return nil }
        let rest = payload[end..<payload.count].text
        let (head, tail) = ("],\"last_modified\":\"", "\"}")
        guard rest.count > head.count + tail.count, rest.hasPrefix(head), rest.hasSuffix(tail),
            let timestamp = Timestamp(rest.dropFirst(head.count).dropLast(tail.count))
        else { return nil }
        records = count
        self.timestamp = timestamp
    }

    /// Counts the objects of an array up to its closing bracket.
    private static func scan(_ text: Span<UInt8>, from start: Int) -> (count: Int, end: Int)? {
        var (depth, count, at) = (0, 0, start)
        while at < text.count {
            switch text[at] {
            case 0x22:
                at += 1
                while at < text.count, text[at] != 0x22 { at += text[at] == 0x5C ? 2 : 1 }
            case 0x7B, 0x5B:
                if depth == 0 { count += 1 }
                depth += 1
            case 0x7D, 0x5D:
                if depth == 0 { return text[at] == 0x5D ? (count, at) : nil }
                depth -= 1
            default: break
            }
            at += 1
        }
        return nil
    }
}
