import Foundation
import RemoteConfiguration

/// The logic of the sample app, without screens, which an app with SwiftUI and a program in a terminal share.
public final class SampleStore: Sendable {
    /// A market in the list.
    public struct Market: Identifiable, Hashable, Sendable {
        public let id: String
        public let name: String
        /// Whether the record has a picture, even if it is not stored yet.
        public let hasFlag: Bool
    }

    /// The state of one collection on the status screen.
    public struct Served: Identifiable, Hashable, Sendable {
        /// `bucket/collection`.
        public let id: String
        /// The number of records, and their source.
        public let records: String
        /// The day on which they changed on the server; `nil` if there are none.
        public let since: String?
        /// The reason that the last sync failed; `nil` if it succeeded.
        public let error: String?
    }

    private struct Member: Decodable {
        let name: String
    }

    /// The service of the app, which also keeps the update channel open while there is a listener.
    public let service: RemoteSettingsService
    /// The app's parameters.
    public let config: RemoteConfig
    private let markets: RemoteSettingsClient

    /// Creates the store at the start of the app. Uses no network.
    ///
    /// - Parameters:
    ///   - storage: the directory for fetched data. An app that shares it with an extension uses one in the
    ///     container of the app group.
    ///   - settings: the server, the trusted roots, and what is packaged.
    public convenience init(storage: String, settings: RemoteSettingsConfig) {
        self.init(service: RemoteSettingsService(storageDirectory: storage, config: settings))
    }

    /// Creates the store with an existing service, such as that of a test.
    public init(service: RemoteSettingsService) {
        self.service = service
        markets = service.makeClient(collectionName: "markets")
        config = RemoteConfig(collection: "app-config", service: service)
        config.setDefaults(["title": "Markets", "accent": "#2f6fd0", "shows_flags": true])
    }

    /// The heading of the list.
    public var title: String { config["title"].stringValue }

    /// The markets of the newer of the packaged and the fetched state, sorted by name.
    public var rows: [Market] {
        let showsFlags = config["shows_flags"].boolValue
        return (markets.records ?? []).compactMap { record in
            guard let member = try? record.decode(as: Member.self) else { return nil }
            return Market(id: record.id, name: member.name, hasFlag: showsFlags && record.attachment != nil)
        }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// The state of each collection, for the status screen. Uses no network.
    public var served: [Served] {
        service.inspect().collections.map { collection in
            let status = collection.status
            let source =
                switch status.source {
                case .cached: "from the server"
                case .packaged: "shipped with the app"
                case .override: "replaced by a file of this machine"
                case .noSnapshot: "none yet"
                default: "from elsewhere"
                }
            let count = status.recordCount ?? 0
            return Served(
                id: status.collection, records: "\(count) \(count == 1 ? "record" : "records"), \(source)",
                since: status.timestamp.map { String($0.rfc3339.prefix(10)) }, error: collection.lastError)
        }
    }

    /// The state of the whole service as JSON, for a report to your server. Uses no network.
    public func report() throws -> Data { try JSONEncoder().encode(service.inspect()) }

    /// The picture of a market, from the package or the storage, or else from the server; `nil` if it cannot be fetched
    /// now.
    public func flag(of market: Market) async -> Data? {
        guard let record = markets.records?.first(where: { $0.id == market.id }), record.attachment != nil else {
            return nil
        }
        return try? await markets.attachment(for: record).data
    }

    /// Fetches newer data from the server. Pulling the list down calls this.
    ///
    /// - Returns: the text for the user if that fails. The old records are still shown.
    public func refresh() async -> String? {
        do {
            try await service.sync()
            _ = try await config.activate()
            return nil
        } catch let error as RemoteSettingsError {
            if case .offline = error { return "You are offline." }
            return "The list could not be updated."
        } catch {
            return "The list could not be updated."
        }
    }

    /// Does a background refresh. It ends when the system cancels the task, and keeps the data stored so far.
    ///
    /// - Returns: whether the app has the newest state.
    public func refreshInBackground() async -> Bool { await refresh() == nil }

    /// Handles a push message, which may be for another part of the app.
    ///
    /// - Returns: whether it announces newer data, so that the app should refresh.
    public func isAnnouncement(_ message: [AnyHashable: Any]) -> Bool {
        let isStale = (try? config.handlePushMessage(message)) ?? false
        return service.handlePushMessage(message) || isStale
    }

    /// Yields whenever the app should draw again: when records have changed, when parameters were
    /// activated, or when an update has been fetched and activated.
    public var changes: AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let records = Task { [markets] in
            for await _ in markets.changes() { continuation.yield() }
        }
        let updates = Task { [config] in
            // As in Firebase, an error ends the stream of updates. Pulling the list down still works.
            do {
                for try await _ in config.configUpdates { _ = try await config.activate() }
            } catch {}
        }
        let observer = config.addObserver(on: .global()) { event in
            if case .activated = event { continuation.yield() }
        }
        continuation.onTermination = { _ in
            records.cancel()
            updates.cancel()
            observer.remove()
        }
        return stream
    }
}

extension SampleStore {
    /// The settings that the app ships with: the server, the roots and the packaged snapshots.
    public static func packagedSettings() throws -> RemoteSettingsConfig {
        try RemoteSettingsConfig(from: .embeddedSampleDumps)
    }
}
