import RemoteSettingsModel
import UpdateEvents

/// The broadcast part of Mozilla's push protocol, for a client without push subscriptions of its own
/// (mozilla-services/push-service, `docs/design.md`).
package enum MozillaPush {
    /// Mozilla's push service.
    package static let mozilla = "wss://push.services.mozilla.com/"
    package static let subprotocol = "push-notification"
    /// The longest message of a server, in bytes.
    package static let mostMessageBytes = 64 << 10
    /// Seconds within which the server must answer the client's first message.
    package static let helloSeconds = 30
    /// Seconds of silence after which the client sends a ping.
    package static let pingSeconds = 1800

    private static let id = "remote-settings/monitor_changes"

    /// A client's first message. It claims to know nothing, so that the answer states the present timestamp.
    package static let hello =
        #"{"messageType":"hello","use_webpush":true,"broadcasts":{"\#(id)":"\"0\""}}"#

    /// What a server's message says.
    ///
    /// - Parameter isFirst: whether it must be the answer to ``hello``.
    /// - Throws: ``UpdateSourceError`` if it is no message of this protocol, or if the server refuses the client.
    package static func message(_ text: String, isFirst: Bool = false) throws(UpdateSourceError) -> UpdateMessage {
        guard text.utf8.count <= mostMessageBytes,
            let document = try? JSONValue(parsing: Bytes(utf8: text), limits: Limits()),
            case .object = document
        else {
            throw UpdateSourceError(
                .failed,
                "expected a message of at most \(mostMessageBytes) bytes of JSON, found "
                    + VisibleText.escape(String(text.prefix(80))))
        }
        let type = document["messageType"]?.string
        if type == "hello" || isFirst {
            guard type == "hello", document["status"]?.number?.uint64 == 200 else {
                throw UpdateSourceError(
                    .failed, "the push server refused the greeting: \(VisibleText.escape(String(text.prefix(200))))")
            }
        }
        guard type == "hello" || type == "broadcast", let version = document["broadcasts"]?[id]?.string,
            // The timestamp is an ETag, with quotation marks.
            let timestamp = Timestamp(version.filter { $0 != "\"" })
        else { return .heartbeat }
        return .event(.update(timestamp: timestamp, collections: nil))
    }
}
