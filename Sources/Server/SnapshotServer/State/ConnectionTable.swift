import NIOCore
import RemoteSettingsModel

/// All open connections.
///
/// If there are too many, from one address or in total, the longest-idle connection is closed. Idle clients therefore
/// never block new ones.
final class ConnectionTable: Sendable {
    /// One connection. It stores the time when it became idle, so that a request does not have to lock the table.
    final class Connection: Sendable {
        fileprivate let network: UInt64
        fileprivate let channel: any Channel
        /// The time when the connection became idle, in nanoseconds; the maximum value while a request is being
        /// processed.
        fileprivate let idleSince = Mutex(NIODeadline.now().uptimeNanoseconds)

        fileprivate init(_ network: UInt64, _ channel: any Channel) {
            self.network = network
            self.channel = channel
        }

        func isIdle() { idleSince.withLock { $0 = NIODeadline.now().uptimeNanoseconds } }

        func isAtWork() { idleSince.withLock { $0 = .max } }

        /// Records that the client does not read its response. The connection may then be closed if no other one is
        /// idle.
        func isStalled() { idleSince.withLock { $0 = NIODeadline.now().uptimeNanoseconds | 1 << 63 } }
    }

    enum Admission {
        case admitted(Connection)
        /// The client's network has too many connections, none of them idle.
        case refused
    }

    fileprivate struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// The connections that count toward the limit of their address.
        var counted: Set<ObjectIdentifier> = []
        var counts: [UInt64: Int] = [:]
        /// The longest-idle connections from the last search, by network; under `nil`, those of all networks. This
        /// cache avoids a search of all connections for each new client.
        var candidates: [UInt64?: [(connection: Connection, idleSince: UInt64)]] = [:]
    }

    private let limits: ServerLimits
    private let state = Mutex(State())

    init(_ limits: ServerLimits) {
        self.limits = limits
    }

    func add(_ channel: any Channel) -> Admission {
        let connection = Connection(Self.network(channel.remoteAddress), channel)
        let network = connection.network
        let (isAdmitted, closed) = state.withLock { state -> (Bool, Connection?) in
            let count = state.counts[network, default: 0]
            var closed: Connection?
            if count >= limits.connectionsPerAddress {
                closed = state.longestIdle(of: network)
                if closed == nil { return (false, nil) }
            } else if state.connections.count >= limits.connections - limits.connections / 16 {
                // Some capacity is reserved for clients that connect while other connections are being closed.
                closed = state.longestIdle(of: nil)
            }
            state.connections[ObjectIdentifier(connection)] = connection
            state.counted.insert(ObjectIdentifier(connection))
            state.counts[network] = count + 1
            if let closed { state.remove(closed) }
            return (true, closed)
        }
        closed?.channel.close(promise: nil)
        return isAdmitted ? .admitted(connection) : .refused
    }

    func remove(_ connection: Connection) {
        state.withLock { $0.remove(connection) }
    }

    /// Records that the connection waits for updates. From then on ``ServerLimits/updateStreamsPerAddress`` limits it
    /// instead of ``ServerLimits/connectionsPerAddress``.
    func waitsForUpdates(_ connection: Connection) {
        state.withLock { $0.uncount(connection) }
    }

    /// Returns a number that identifies an IPv4 address or an IPv6 /64 network. All addresses of a /64 network have the
    /// same number, because a single client has many of them.
    static func network(_ address: SocketAddress?) -> UInt64 {
        switch address {
        case .v4(let address):
            return 0xFFFF << 32 | UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr))
        case .v6(let address):
            let bytes = unsafe withUnsafeBytes(of: address.address.sin6_addr) { unsafe Array($0) }
            func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
            // An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
            return number(bytes[..<8]) == 0 && number(bytes[8..<12]) == 0xFFFF
                ? number(bytes[10...]) : number(bytes[..<8])
        default: return 0
        }
    }
}

extension ConnectionTable.State {
    fileprivate mutating func remove(_ connection: ConnectionTable.Connection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        uncount(connection)
    }

    fileprivate mutating func uncount(_ connection: ConnectionTable.Connection) {
        guard counted.remove(ObjectIdentifier(connection)) != nil else { return }
        let left = counts[connection.network, default: 1] - 1
        counts[connection.network] = left > 0 ? left : nil
        if left == 0 { candidates[connection.network] = nil }
    }

    /// Returns the connection that has been idle for the longest time.
    ///
    /// - Parameter network: the network to search; `nil` for all.
    /// - Returns: `nil` if none of them is idle.
    fileprivate mutating func longestIdle(of network: UInt64?) -> ConnectionTable.Connection? {
        for isFresh in [false, true] {
            if isFresh {
                let idle = connections.values.lazy
                    .filter { [counted] in
                        network == nil || $0.network == network && counted.contains(ObjectIdentifier($0))
                    }
                    .map { (connection: $0, idleSince: $0.idleSince.withLock { $0 }) }
                    .filter { $0.idleSince != .max }
                // `popLast` removes the one that has been idle the longest.
                candidates[network] = Array(idle.sorted { $0.idleSince < $1.idleSince }.prefix(128).reversed())
            }
            while let (connection, idleSince) = candidates[network]?.popLast() {
                // The connection may have been closed or used since the search.
                if connections[ObjectIdentifier(connection)] != nil,
                    connection.idleSince.withLock({ $0 }) == idleSince
                {
                    return connection
                }
            }
        }
        return nil
    }
}
