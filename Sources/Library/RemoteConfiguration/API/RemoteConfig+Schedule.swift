import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// Fetches at an interval, starting now if a fetch is due. Uses the network.
    ///
    ///     for await result in config.fetches(every: .seconds(43_200)) { … }
    ///
    /// The server is contacted at most once per interval, regardless of the number of app starts and of processes that
    /// share the storage directory. The interval begins with a successful fetch. After a failure, the next attempt
    /// follows after a minute; after each further failure, the wait is doubled, up to the interval. A random delay of
    /// up to a tenth of the interval is added. ``RemoteConfigSettings/minimumFetchInterval`` does not apply, but
    /// backoffs that the server requests do. Nothing is activated. The stream finishes when its task is cancelled or
    /// the service is shut down.
    ///
    /// - Parameter interval: the interval, which is clamped to the range from 1 minute to 366 days.
    public func fetches(every interval: Duration) -> AsyncStream<Result<RemoteConfigFetchStatus, RemoteConfigError>> {
        let schedule = (try? client.collection()).map { SyncSchedule(every: interval, of: $0.id) }
        return SyncSchedule.results { [weak self] in
            guard let schedule, let collection = try? self?.client.collection(), !collection.session.isClosed else {
                return nil
            }
            return (schedule.pause(collection.session, [collection]), collection.session.config.environment)
        } of: { [weak self] in
            guard let schedule, let self, let collection = try? self.client.collection() else { return nil }
            return await self.scheduledFetch(schedule, collection)
        }
    }

    /// Fetches at an interval and activates the results, until the task is cancelled or the service is shut down. You
    /// can call it from the `run()` method of a swift-service-lifecycle `Service`. Uses the network.
    ///
    /// - Parameter interval: see ``fetches(every:)``.
    public func run(every interval: Duration) async {
        for await result in fetches(every: interval) where (try? result.get()) != nil { _ = try? await activate() }
    }

    /// A stream of the active values: the current ones, then those after each activation.
    ///
    /// Only the newest unread values are kept, so a slow reader skips older ones. Each access creates a new stream,
    /// which finishes when the remote config is released or the service is shut down. No connection is opened. Does I/O
    /// like the first read of a value.
    public var activations: AsyncStream<RemoteConfigSnapshot> {
        let activations = hub.activations()
        let first = Mutex<RemoteConfigSnapshot?>(snapshot())
        return AsyncStream { [weak self] in
            if let first = first.withLock({ first in
                defer { first = nil }
                return first
            }) {
                return first
            }
            for await _ in activations { return self?.snapshot() }
            return nil
        }
    }

    /// Runs the fetch that is due.
    ///
    /// - Returns: `nil` if another process has just started the fetch.
    private func scheduledFetch(
        _ schedule: SyncSchedule, _ collection: LocalCollection
    ) async -> Result<RemoteConfigFetchStatus, RemoteConfigError>? {
        do {
            guard try await schedule.begin(collection.session, [collection]) else { return nil }
        } catch {
            return .failure(.storage(reason: "\(error)"))
        }
        do throws(RemoteConfigError) {
            let status = try await fetch(withExpirationDuration: 0)
            await schedule.end(collection.session)
            return .success(status)
        } catch {
            return .failure(error)
        }
    }
}
