import NIOHTTP1
import RemoteSettingsModel

/// Checks the head of a request more strictly than the decoder does, so that a proxy cannot interpret it differently.
package enum RequestCheck {
    package enum Outcome {
        /// The request is valid. The value is its target in origin form: a path and a query.
        case good(String)
        case refused(HTTPResponseStatus, Refusal, String)
    }

    package static func check(_ head: HTTPRequestHead) -> Outcome {
        guard head.version.major == 1, head.version.minor <= 1 else {
            return .refused(
                .httpVersionNotSupported, .malformed,
                "the unsupported version HTTP/\(head.version.major).\(head.version.minor)")
        }
        // If two parties can interpret the length of a body differently, request smuggling is possible (RFC 9112 §6.1,
        // §6.3).
        let fields = Fields(head.headers)
        let (lengths, codings) = (fields.lengths, fields.codings)
        guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else {
            return .refused(.badRequest, .ambiguousLength, "more than one Content-Length or Transfer-Encoding")
        }
        if let length = lengths.first, length.isEmpty || !length.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .refused(.badRequest, .ambiguousLength, "a Content-Length that is not a number")
        }
        if let coding = codings.first, head.version.minor == 0 || coding.lowercased() != "chunked" {
            return .refused(.badRequest, .ambiguousLength, "a Transfer-Encoding other than chunked")
        }
        // This server never sends 100 Continue (RFC 9110 §10.1.1), so a client that waits for it would wait in vain.
        if !(lengths.isEmpty && codings.isEmpty), head.headers.contains(name: "expect") {
            return .refused(.expectationFailed, .malformed, "a body with an Expect header")
        }
        // A request must have exactly one Host header, with a valid value (RFC 9112 §3.2).
        let hosts = fields.hosts
        guard hosts.count == 1 || (hosts.isEmpty && head.version.minor == 0) else {
            return .refused(.badRequest, .malformed, "\(hosts.count) Host headers")
        }
        guard hosts.allSatisfy(isAuthority) else { return .refused(.badRequest, .malformed, "an invalid Host header") }
        guard let target = target(head.uri) else {
            return .refused(.badRequest, .malformed, "an invalid request target")
        }
        return .good(target)
    }

    /// The header fields that the check needs, collected in one pass.
    private struct Fields {
        var lengths: [String] = []
        var codings: [String] = []
        var hosts: [String] = []

        init(_ headers: HTTPHeaders) {
            for (name, value) in headers {
                // Compare lengths first, because most other names have a different length.
                switch name.utf8.count {
                case 4 where name.lowercased() == "host": hosts.append(value)
                case 14 where name.lowercased() == "content-length": lengths.append(value)
                case 17 where name.lowercased() == "transfer-encoding": codings.append(value)
                default: break
                }
            }
        }
    }

    /// Returns the path and query of a target in origin form, or in absolute form after `http://host` (RFC 9112 §3.2).
    private static func target(_ uri: String) -> String? {
        var text = uri[...]
        if text.utf8.first != UInt8(ascii: "/") {
            guard let scheme = ["http://", "https://"].first(where: text.lowercased().hasPrefix) else { return nil }
            text = text.dropFirst(scheme.count)
            let end = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
            guard end > text.startIndex, isAuthority(text[..<end]) else { return nil }
            text = text[end...]
            if !text.hasPrefix("/") { text = "/" + text }
        }
        let bytes = text.utf8
        guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") })
        else { return nil }
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"))
        let path = text[..<(mark ?? text.endIndex)]
        guard hasValidEscapes(path) else { return nil }
        return String(text)
    }

    /// Returns whether a string is valid as a host and port (RFC 3986 §3.2.2). Any host is accepted.
    private static func isAuthority(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: "\\"),
                UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""):
                false
            default: (0x21...0x7E).contains(byte)
            }
        }
    }

    /// Returns whether each `%` is followed by two hexadecimal digits that do not encode a control character.
    private static func hasValidEscapes(_ path: Substring) -> Bool {
        guard path.utf8.contains(UInt8(ascii: "%")) else { return true }
        return PercentEncoding.complete(path) != nil
            && PercentEncoding.decode(path).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension HTTPRequestHead {
    /// Whether the decoder stops after this request because it treats the following bytes as another protocol.
    ///
    /// The connection must then be closed after the response. A server may ignore an upgrade (RFC 9110 §7.8), as this
    /// one does.
    var endsParsing: Bool { method == .CONNECT || headers.contains(name: "upgrade") }
}
