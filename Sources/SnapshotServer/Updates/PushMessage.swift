import RemoteSettingsModel
import SnapshotOrigin

/// A message from a client of Mozilla's push protocol. This server speaks the part about broadcasts.
package enum PushMessage: Hashable, Sendable {
    /// The first message. It names the broadcasts that the client subscribes to.
    case hello([PushBroadcast])
    /// Subscribes to further broadcasts.
    case subscribe([PushBroadcast])
    /// The message `{}`, which is answered by `{}`.
    case ping
    /// Registers a channel for web push messages, which this server does not have.
    case register(channel: String)
    case unregister(channel: String)
    /// A message about web push messages that needs no answer.
    case ignored

    /// Why a message cannot be read.
    package struct Malformed: Error {}

    /// The limits of a message: its broadcasts, and the bytes in the name of a broadcast or a channel.
    static let mostBroadcasts = 32
    static let mostNameBytes = 256

    /// - Throws: ``Malformed`` if the text is not JSON, lacks a member, has a member of the wrong type, or is of no
    ///   known type.
    package init(_ text: Bytes) throws(Malformed) {
        var limits = Limits()
        limits.jsonDepth = 8
        guard let json = try? JSONValue(parsing: text, limits: limits), case .object(let members) = json else {
            throw Malformed()
        }
        if members.isEmpty {
            self = .ping
            return
        }
        switch json["messageType"]?.string {
        case "hello": self = .hello(try Self.broadcasts(json))
        case "broadcast_subscribe": self = .subscribe(try Self.broadcasts(json))
        case "ping": self = .ping
        case "register": self = .register(channel: try Self.channel(json))
        case "unregister": self = .unregister(channel: try Self.channel(json))
        case "ack", "nack": self = .ignored
        default: throw Malformed()
        }
    }

    private static func broadcasts(_ json: JSONValue) throws(Malformed) -> [PushBroadcast] {
        switch json["broadcasts"] {
        case nil, .null?: return []
        case .object(let members)?:
            guard members.count <= mostBroadcasts else { throw Malformed() }
            var found: [PushBroadcast] = []
            for member in members {
                guard let version = member.value.string, member.key.utf8.count <= mostNameBytes else {
                    throw Malformed()
                }
                found.append(PushBroadcast(id: member.key, version: version))
            }
            return found
        default: throw Malformed()
        }
    }

    private static func channel(_ json: JSONValue) throws(Malformed) -> String {
        guard let channel = json["channelID"]?.string, channel.utf8.count <= mostNameBytes else { throw Malformed() }
        return channel
    }
}

/// A broadcast and the version of it that a client has.
package struct PushBroadcast: Hashable, Sendable {
    package let id: String
    package let version: String

    package init(id: String, version: String) {
        self.id = id
        self.version = version
    }
}

/// The messages that this server sends, as JSON.
package enum PushReply {
    /// - Parameters:
    ///   - uaid: the name of this connection; 32 hexadecimal digits.
    ///   - known: the versions that the client has.
    ///   - version: the present version of the monitor's broadcast.
    package static func hello(uaid: String, _ known: [PushBroadcast], version: String) -> [UInt8] {
        JSONText.compact(
            .members([
                "messageType": .string("hello"), "status": .count(200), "uaid": .string(uaid),
                "use_webpush": .bool(true), "broadcasts": .object(differences(known, version: version)),
            ]))
    }

    /// - Returns: `nil` if the client has the present version of all that it asks for.
    package static func subscribed(_ known: [PushBroadcast], version: String) -> [UInt8]? {
        let differences = differences(known, version: version)
        return differences.isEmpty ? nil : broadcast(differences)
    }

    package static func broadcast(version: String) -> [UInt8] {
        broadcast([.init(key: Origin.broadcastID, value: .string(version))])
    }

    /// The refusal of a registration. The protocol has no status for "never"; 500 says that the server cannot.
    package static func registrationRefused(channel: String) -> [UInt8] {
        JSONText.compact(
            .members([
                "messageType": .string("register"), "channelID": .string(channel), "status": .count(500),
                "pushEndpoint": .string(""),
            ]))
    }

    package static func unregistered(channel: String) -> [UInt8] {
        JSONText.compact(
            .members([
                "messageType": .string("unregister"), "channelID": .string(channel), "status": .count(200),
            ]))
    }

    private static func broadcast(_ members: [JSONValue.Member]) -> [UInt8] {
        JSONText.compact(.members(["messageType": .string("broadcast"), "broadcasts": .object(members)]))
    }

    /// The broadcasts whose version differs from the client's, and under `errors` those that do not exist.
    private static func differences(_ known: [PushBroadcast], version: String) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        var errors: [JSONValue.Member] = []
        for broadcast in known {
            if broadcast.id != Origin.broadcastID {
                errors.append(.init(key: broadcast.id, value: .string("Broadcast not found")))
            } else if broadcast.version != version {
                members.append(.init(key: broadcast.id, value: .string(version)))
            }
        }
        if !errors.isEmpty { members.append(.init(key: "errors", value: .object(errors))) }
        return members
    }
}
