import RemoteSettingsModel

/// A server's message on its update channel: collections have changed, or clients must disconnect for a while.
///
/// An update event contains no records, so it does not have to be trusted. An ordinary sync fetches and verifies the
/// changes. A lost, repeated or false event costs at most one request.
///
/// In an event stream, and in the body that a publisher posts, an event is one line of JSON:
///
///     {"timestamp":1740558489816,"collections":["main/cfr","main/search-config"]}
///     {"retry_after":12}
///     {"disabled":true}
package enum UpdateEvent: Hashable, Sendable {
    /// The server's monitor has a new timestamp. `collections` lists the collections that have changed; `nil` means
    /// that any collection may have changed.
    case update(timestamp: Timestamp, collections: [CollectionID]?)
    /// The server closes the connection and states when clients may reconnect.
    case pause(UpdatePause)
}

/// The time for which a server asks the clients of its update channel not to reconnect.
package enum UpdatePause: Hashable, Sendable {
    /// The client may reconnect after this many seconds. The server has already added a random part to the number.
    case retryAfter(seconds: Int)
    /// The client must not reconnect for 4 hours.
    case disabled
}

/// A message that arrives on an update channel.
package enum UpdateMessage: Hashable, Sendable {
    /// An event from the server.
    case event(UpdateEvent)
    /// A sign that the connection is alive: a comment, a ping, or an event of an unknown kind.
    case heartbeat
    /// The server's requested wait before the next connection.
    case reconnectionTime(Duration)
    /// An event whose data cannot be read. It has no effect.
    case refused(Failure)
}

/// The reason why a connection to an update channel failed or was closed.
package struct UpdateEnd: Hashable, Sendable, CustomStringConvertible {
    /// The client's reaction.
    package enum Kind: Hashable, Sendable {
        /// The client tries again after a pause, which grows with each failure.
        case failed
        /// The server does not have an update channel. The client tries again after 2 to 6 hours.
        case unsupported
        /// The server asked clients to send no requests for this many seconds.
        case notBefore(seconds: Int)
    }

    /// The client's reaction.
    package let kind: Kind
    /// The reason as a sentence for people.
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Creates a value for an error that occurred while a connection was being opened.
    package init(notOpened error: Failure) {
        let kind: Kind =
            if let hold = error.hold {
                .notBefore(seconds: hold.seconds)
            } else {
                error.isRetryable || error.isUnavailability ? .failed : .unsupported
            }
        self.init(kind, "\(error)")
    }
}

extension UpdateEvent {
    /// The name of the event in an event stream, and the value of the header `X-EventSource-Event` (nchan).
    package var name: String {
        switch self {
        case .update: "update"
        case .pause: "pause"
        }
    }

    /// The event as one line of JSON, without a line feed.
    package var json: String {
        switch self {
        case .update(let timestamp, let collections):
            // Collection ids contain no characters that JSON escapes.
            let names = collections.map { ",\"collections\":[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" }
            return "{\"timestamp\":\(timestamp)\(names ?? "")}"
        case .pause(.retryAfter(let seconds)): return "{\"retry_after\":\(seconds)}"
        case .pause(.disabled): return "{\"disabled\":true}"
        }
    }

    /// Returns the event in the event stream format, with the blank line that terminates it.
    ///
    /// - Parameter id: the value of the field `id`, without a line break or NUL; `nil` to omit the field.
    package func text(id: String? = nil) -> String {
        "\(id.map { "id: \($0)\n" } ?? "")event: \(name)\ndata: \(json)\n\n"
    }

    /// Parses an event of an event stream. An event without a name is treated as an `update`.
    ///
    /// - Returns: `nil` for an event of an unknown kind, which clients ignore.
    /// - Throws: ``Failure`` if the data does not match the kind of event.
    package init?(_ event: StreamedEvent) throws(Failure) {
        switch event.name {
        case "", "message", "update": try self.init(updateJSON: Bytes(event.data))
        case "pause": try self.init(pauseJSON: Bytes(event.data))
        default: return nil
        }
    }

    /// Parses the data of an `update` event. Unknown members are ignored.
    ///
    /// - Throws: ``Failure`` if the data is longer than ``EventStreamReader/mostEventBytes`` or is not JSON, if it
    ///   has no timestamp, or if a member has the wrong type.
    package init(updateJSON document: Bytes) throws(Failure) {
        var timestamp: UInt64?
        var collections: [CollectionID]?
        try Self.read(document, "update") { (key, reader) throws(Failure) in
            switch key {
            case "timestamp": timestamp = try reader.unsignedInteger()
            case "collections":
                var list: [CollectionID] = []
                try reader.beginArray()
                while try reader.nextElement() {
                    let start = reader.offset
                    let text = try reader.string()
                    guard let id = try? CollectionID(text) else {
                        throw Failure(
                            .wrongType(expected: "BUCKET/COLLECTION", found: VisibleText.quote(text)), at: start)
                    }
                    list.append(id)
                }
                collections = list
            default: try reader.skipValue()
            }
        }
        guard let timestamp else { throw Self.refused("update", Failure(.missingKey("timestamp"), at: 0)) }
        self = .update(timestamp: Timestamp(milliseconds: timestamp), collections: collections)
    }

    /// Parses the data of a `pause` event. Unknown members are ignored.
    ///
    /// - Throws: ``Failure`` as for an update, and also if the data has neither `disabled` nor `retry_after`.
    package init(pauseJSON document: Bytes) throws(Failure) {
        var seconds: UInt64?
        var isDisabled = false
        try Self.read(document, "pause") { (key, reader) throws(Failure) in
            switch key {
            case "retry_after": seconds = try reader.unsignedInteger()
            case "disabled": isDisabled = try reader.bool()
            default: try reader.skipValue()
            }
        }
        if isDisabled {
            self = .pause(.disabled)
        } else if let seconds {
            self = .pause(.retryAfter(seconds: Int(clamping: seconds)))
        } else {
            throw Self.refused("pause", Failure(.missingKey("retry_after"), at: 0))
        }
    }

    private static func read(
        _ document: Bytes, _ name: String, _ member: (String, inout JSONReader) throws(Failure) -> Void
    ) throws(Failure) {
        guard document.count <= EventStreamReader.mostEventBytes else {
            throw refused(name, Failure(.tooLong(limit: EventStreamReader.mostEventBytes), at: 0))
        }
        var reader = JSONReader(document, depth: 16)
        do throws(Failure) {
            try reader.beginObject()
            while let key = try reader.nextKey() { try member(key, &reader) }
            try reader.finish()
        } catch {
            throw refused(name, error)
        }
    }

    private static func refused(_ name: String, _ error: Failure) -> Failure {
        Failure(error.code, "the data of the event \"\(name)\" is invalid: \(error)")
    }
}
