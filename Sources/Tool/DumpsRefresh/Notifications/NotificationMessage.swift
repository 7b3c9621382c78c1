import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// An update event in the form that its target expects.
struct NotificationMessage: Hashable, Sendable {
    /// The most bytes that a message may have. nginx accepts this with a mirror's configuration, and FCM and APNs
    /// deliver no more.
    static let mostBytes = 4096

    let headers: [HTTPHeaders.Field]
    let body: [UInt8]

    /// - Parameter collections: the collections that changed. They are left out if the event would be too long, which
    ///   means that any may have changed.
    init(to target: NotificationTarget, timestamp: Timestamp, collections: [CollectionID]) {
        var headers = [HTTPHeaders.Field("Content-Type", "application/json")]
        switch target.format {
        case .event:
            let whole = UpdateEvent.update(timestamp: timestamp, collections: collections)
            let event =
                whole.json.utf8.count <= Self.mostBytes ? whole : .update(timestamp: timestamp, collections: nil)
            headers.append(.init("X-EventSource-Event", event.name))
            body = Array(event.json.utf8)
        case .fcm:
            let data = JSONValue.members(["CONFIG_STATE": .string("STALE"), "timestamp": .string("\(timestamp)")])
            // Without this part, FCM delivers to iOS only while the app is in the foreground.
            let apns = JSONValue.members([
                "headers": .members(["apns-push-type": .string("background"), "apns-priority": .string("5")]),
                "payload": .members(["aps": .members(["content-available": .count(1)])]),
            ])
            body = JSONText.compact(
                .members([
                    "message": .members([
                        "topic": target.topic.map(JSONValue.string), "data": data, "apns": apns,
                    ])
                ]))
        case .apns:
            headers.append(.init("apns-push-type", "background"))
            // A priority of 10 is an error for a background notification.
            headers.append(.init("apns-priority", "5"))
            if let topic = target.topic { headers.append(.init("apns-topic", topic)) }
            body = JSONText.compact(
                .members([
                    "aps": .members(["content-available": .count(1)]), "CONFIG_STATE": .string("STALE"),
                    "timestamp": .string("\(timestamp)"),
                ]))
        }
        self.headers = headers
    }
}

extension HTTPHeaders {
    /// Reads header fields that a user wrote, one `Name: value` per line. Empty lines are skipped.
    ///
    /// - Throws: `NotificationTargetError`. It quotes no value, because values are credentials.
    package init(lines text: String) throws(NotificationTargetError) {
        self.init()
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else {
                throw NotificationTargetError("a line is not a header field; write Name: value")
            }
            let (name, value) = (String(line[..<colon]), line[line.index(after: colon)...].drop { $0 == " " })
            let isToken = name.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
            guard !name.isEmpty, isToken, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw NotificationTargetError("a line is not a header field of ASCII characters; write Name: value")
            }
            guard !["host", "content-length", "transfer-encoding", "connection"].contains(name.lowercased()) else {
                throw NotificationTargetError("the header field \(name) cannot be set; leave it out")
            }
            add(name, String(value))
        }
    }
}
