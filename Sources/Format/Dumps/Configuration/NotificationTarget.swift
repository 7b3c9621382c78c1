/// The address and the format of a message that is sent after a change.
package struct NotificationTarget: Hashable, Sendable {
    package enum Format: String, CaseIterable, Hashable, Sendable {
        /// The update event, for nginx with nchan and for webhooks.
        case event
        /// A data message to a topic, through Firebase Cloud Messaging's HTTP v1 API.
        case fcm
        /// A background notification, through Apple's push service.
        case apns
    }

    /// The URL, as it was written.
    package let url: String
    package let format: Format
    /// FCM's topic, or the app's bundle identifier for APNs.
    package let topic: String?
    /// The environment variable that holds further header fields, one `Name: value` on each line; `nil` for none.
    ///
    /// Credentials are never in a file or on a command line.
    package let headersVariable: String?

    /// - Throws: ``NotificationTargetError`` if the topic does not fit the format.
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

    /// FCM allows `[a-zA-Z0-9-_.~%]+`. Bundle identifiers use fewer characters.
    private static func isTopic(_ text: String) -> Bool {
        (1...900).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                    || "-_.~%".utf8.contains(byte)
            }
    }
}

/// Why a configured notification cannot be sent.
package struct NotificationTargetError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
