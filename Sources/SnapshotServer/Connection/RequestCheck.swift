import NIOHTTP1

/// What a request's head must fulfil beyond its grammar, so that nobody between client and server reads it differently.
enum RequestCheck {
    enum Outcome {
        case good(Responder.Target)
        case refused(Int, Refusal, String)
    }

    static func check(_ head: HTTPRequestHead) -> Outcome {
        guard head.version.major == 1, head.version.minor <= 1 else {
            return .refused(505, .malformed, "HTTP/\(head.version.major).\(head.version.minor)")
        }
        // RFC 9112 §6.1, §6.3: a body whose length two readers may see differently smuggles a request.
        let fields = Fields(head.headers)
        let (lengths, codings) = (fields.lengths, fields.codings)
        guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else {
            return .refused(400, .ambiguousLength, "more than one Content-Length or Transfer-Encoding")
        }
        if let length = lengths.first, length.isEmpty || !length.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .refused(400, .ambiguousLength, "a Content-Length that is no number")
        }
        if let coding = codings.first, head.version.minor == 0 || coding.lowercased() != "chunked" {
            return .refused(400, .ambiguousLength, "a Transfer-Encoding other than chunked")
        }
        // RFC 9112 §3.2: exactly one Host.
        guard fields.hosts == 1 || (fields.hosts == 0 && head.version.minor == 0) else {
            return .refused(400, .malformed, "\(fields.hosts) Host headers")
        }
        guard let target = target(head.uri) else { return .refused(400, .malformed, "an invalid request target") }
        return .good(target)
    }

    /// The header fields that the check is about, found in one pass.
    private struct Fields {
        var lengths: [String] = []
        var codings: [String] = []
        var hosts = 0

        init(_ headers: HTTPHeaders) {
            for (name, value) in headers {
                // Most names differ in length already.
                switch name.utf8.count {
                case 4 where name.lowercased() == "host": hosts += 1
                case 14 where name.lowercased() == "content-length": lengths.append(value)
                case 17 where name.lowercased() == "transfer-encoding": codings.append(value)
                default: break
                }
            }
        }
    }

    /// A path and query in origin form, or behind `http://host` in absolute form (RFC 9112 §3.2).
    private static func target(_ uri: String) -> Responder.Target? {
        var text = uri[...]
        if text.utf8.first != UInt8(ascii: "/") {
            for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
                text = text.dropFirst(scheme.count)
                guard let slash = text.firstIndex(of: "/") else { return Responder.Target(path: "/", query: nil) }
                text = text[slash...]
            }
        }
        let bytes = text.utf8
        guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") })
        else { return nil }
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"))
        let path = text[..<(mark ?? text.endIndex)]
        guard hasValidEscapes(path) else { return nil }
        return Responder.Target(path: path, query: mark.map { text[bytes.index(after: $0)...] })
    }

    /// Every `%` has two digits, and none of them stands for a control character.
    private static func hasValidEscapes(_ path: Substring) -> Bool {
        guard path.utf8.contains(UInt8(ascii: "%")) else { return true }
        var rest = path.utf8[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[rest.index(after: percent)...]
            guard let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2,
                code >= 0x20, code != 0x7F, rest.first != UInt8(ascii: "+")
            else { return false }
            rest = rest.dropFirst(2)
        }
        return true
    }
}
