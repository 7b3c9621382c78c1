import Foundation
import RemoteConfiguration

/// A list of markets in an app: the records of a collection, and a title from remote config.
public final class MarketList: Sendable {
    private struct Market: Decodable {
        let name: String
    }

    private let client: RemoteSettingsClient
    private let config: any RemoteConfigReading

    public init(service: RemoteSettingsService, config: any RemoteConfigReading) {
        client = service.makeClient(collectionName: "markets")
        self.config = config
    }

    public var title: String { config.string(forKey: "title", default: "Markets") }

    /// The sorted names, or the text for an empty list if there are no records.
    public var lines: [String] {
        let names = (try? client.records(as: Market.self))?.map(\.name).sorted() ?? []
        return names.isEmpty ? ["No markets yet"] : names
    }

    /// Asks the server, and returns the text for the user if that fails.
    public func refresh() async -> String? {
        do {
            try await client.sync()
            return nil
        } catch .offline {
            return "You are offline."
        } catch {
            return "The markets could not be updated."
        }
    }

    public func flag(of id: String) async -> Data? {
        guard let record = client.records?.first(where: { $0.id == id }) else { return nil }
        return try? await client.attachment(for: record).data
    }

    /// The names, each time that they change.
    public var updates: AsyncStream<[String]> {
        let changes = client.changes()
        return AsyncStream { continuation in
            let task = Task {
                for await _ in changes { continuation.yield(lines) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
