import NIOHTTP1

/// A request whose head was accepted, and which may not be complete yet.
struct ReceivedRequest {
    var head: HTTPRequestHead
    var target: Responder.Target
    /// Bytes of its body so far; none is kept.
    var bodyBytes = 0
}
