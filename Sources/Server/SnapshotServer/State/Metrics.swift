import RemoteSettingsModel
import SnapshotOrigin

/// Counts server activity for Prometheus (text format 0.0.4).
///
/// Each label has few possible values, regardless of client input.
package final class Metrics: Sendable {
    private struct Counters {
        var requests: [Key: Int] = [:]
        var bytes: [ServerRoute: Int] = [:]
        var refused: [Refusal: Int] = [:]
        var streams = StreamCounters()
        var announced = 0
    }

    /// Counters for the connections that wait for updates.
    private struct StreamCounters {
        var open = 0
        var opened = 0
        var paused = 0
        var shed = 0
        var sent = 0
        var leftOut = 0
    }

    private struct Key: Hashable {
        var route: ServerRoute
        var status: Int
    }

    private let counters = Mutex(Counters())
    private let connections = Mutex(0)
    private let accepted = Mutex(0)
    private let reloads = Mutex(0)

    package init() {}

    func connectionOpened() {
        connections.withLock { $0 += 1 }
        accepted.withLock { $0 += 1 }
    }

    func connectionClosed() { connections.withLock { $0 -= 1 } }

    func reloaded() { reloads.withLock { $0 += 1 } }

    /// Counts a response.
    ///
    /// - Parameter bytes: the size of the body.
    func answered(_ route: ServerRoute, status: Int, bytes: Int) {
        counters.withLock { counters in
            counters.requests[Key(route: route, status: status), default: 0] += 1
            counters.bytes[route, default: 0] += bytes
        }
    }

    func refused(_ refusal: Refusal) {
        counters.withLock { $0.refused[refusal, default: 0] += 1 }
    }

    func announced() { counters.withLock { $0.announced += 1 } }

    func streamOpened() {
        counters.withLock {
            $0.streams.open += 1
            $0.streams.opened += 1
        }
    }

    func streamClosed() { counters.withLock { $0.streams.open -= 1 } }

    func streamPaused() { counters.withLock { $0.streams.paused += 1 } }

    func streamShed() { counters.withLock { $0.streams.shed += 1 } }

    func updateSent() { counters.withLock { $0.streams.sent += 1 } }

    func updateLeftOut() { counters.withLock { $0.streams.leftOut += 1 } }

    func text(_ state: ServedState, untakenBytes: Int) -> String {
        let counters = counters.withLock { $0 }
        var text = ""
        func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: Int)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for sample in samples { text += "\(name)\(sample.labels) \(sample.value)\n" }
        }
        family(
            "rsdump_requests_total", "counter", "Requests served.",
            counters.requests.map { ("{route=\"\($0.key.route.name)\",status=\"\($0.key.status)\"}", $0.value) }
                .sorted { $0.0 < $1.0 })
        family(
            "rsdump_response_body_bytes_total", "counter", "Bytes of response bodies sent.",
            ServerRoute.all.map { ("{route=\"\($0.name)\"}", counters.bytes[$0] ?? 0) })
        family(
            "rsdump_refused_total", "counter", "Connections closed because the client broke a rule or a limit.",
            Refusal.allCases.map { ("{reason=\"\($0.rawValue)\"}", counters.refused[$0] ?? 0) })
        func number(_ name: String, _ type: String, _ help: String, _ value: Int) {
            family(name, type, help, [("", value)])
        }
        number("rsdump_connections", "gauge", "Open connections.", connections.withLock { $0 })
        number(
            "rsdump_connections_accepted_total", "counter", "Connections accepted since the start.",
            accepted.withLock { $0 })
        number("rsdump_untaken_bytes", "gauge", "Bytes in memory that are waiting to be sent.", untakenBytes)
        number("rsdump_reloads_total", "counter", "Reloads of changed bundles.", reloads.withLock { $0 })
        let streams = counters.streams
        number("rsdump_updates_total", "counter", "Changes announced.", counters.announced)
        number("rsdump_update_streams", "gauge", "Open event stream connections.", streams.open)
        number(
            "rsdump_update_streams_opened_total", "counter", "Event stream connections opened since the start.",
            streams.opened)
        number(
            "rsdump_update_streams_paused_total", "counter", "Event stream clients told to reconnect later.",
            streams.paused)
        number(
            "rsdump_update_streams_shed_total", "counter",
            "Event stream connections closed because the client did not read.", streams.shed)
        number(
            "rsdump_update_events_sent_total", "counter", "Announcements sent, one for each connection.", streams.sent)
        number(
            "rsdump_update_events_left_out_total", "counter",
            "Announcements skipped for slow clients, which receive only the newest.", streams.leftOut)
        number("rsdump_collections", "gauge", "Collections served.", state.origin.collections.count)
        number(
            "rsdump_collections_damaged", "gauge", "Collections whose bundle does not match the lock file.",
            state.problems.count)
        family(
            "rsdump_collection_timestamp_milliseconds", "gauge", "The timestamp of a served collection.",
            state.origin.collections.map { ("{collection=\"\($0.id)\"}", Int(clamping: $0.timestamp.milliseconds)) })
        return text
    }
}

/// The reason for closing a connection.
package enum Refusal: String, CaseIterable {
    case malformed
    case headersTooLarge = "headers-too-large"
    case bodyTooLarge = "body-too-large"
    case ambiguousLength = "ambiguous-length"
    case slowRequest = "slow-request"
    case slowReader = "slow-reader"
    case tooManyConnections = "too-many-connections"
    case tooManyStreams = "too-many-streams"
}

/// The kind of resource requested, for the counters. The set of values is bounded.
enum ServerRoute: Hashable, Sendable {
    case origin(OriginRoute)
    case metrics
    case page
    case refused
    case updates

    var name: String {
        switch self {
        case .origin(let route): route.rawValue
        case .metrics: "metrics"
        case .page: "page"
        case .refused: "refused"
        case .updates: "updates"
        }
    }

    static let all: [ServerRoute] = OriginRoute.allCases.map { .origin($0) } + [.metrics, .page, .refused, .updates]
}
