/// Where a message goes after a change, and what the message looks like.
package struct NotificationTarget: Hashable, Sendable {
    package enum Format: String, CaseIterable, Hashable, Sendable {
        /// The update event, for nginx with nchan and for webhooks.
        case event
        /// A data message to a topic, by Firebase Cloud Messaging's HTTP v1 API.
        case fcm
        /// A background notification, by Apple's push service.
        case apns
    }

    /// As it was written.
    package let url: String
    package let format: Format
    /// FCM's topic; for APNs the app's bundle identifier.
    package let topic: String?
    /// The environment variable that holds further header fields, one `Name: value` a line; `nil` for none. Credentials are
    /// never in a file or on a command line.
    package let headersVariable: String?

    /// - Throws: ``NotificationTargetError`` if the topic does not go with the format.
    package init(
        url: String, format: Format = .event, topic: String? = nil, headersVariable: String? = nil
    ) throws(NotificationTargetError) {
        if format == .event {
            guard topic == nil else { throw NotificationTargetError("the format event has no topic") }
        } else {
            guard let topic, Self.isTopic(topic) else {
                let name = format == .fcm ? "a topic" : "the app's bundle identifier as its topic"
                let found = topic.map { String(reflecting: $0) } ?? "none"
                throw NotificationTargetError(
                    "the format \(format.rawValue) needs \(name): letters, digits, -, _, ., ~ and %; found \(found)")
            }
        }
        self.url = url
        self.format = format
        self.topic = topic
        self.headersVariable = headersVariable
    }

    /// FCM: `[a-zA-Z0-9-_.~%]+`. Bundle identifiers have fewer characters.
    private static func isTopic(_ text: String) -> Bool {
        (1...900).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                    || "-_.~%".utf8.contains(byte)
            }
    }
}

/// Why a notification cannot be sent as it is configured.
package struct NotificationTargetError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
