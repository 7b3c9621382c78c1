import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// Fetches now if a fetch is due, and then at each interval. Uses the network.
    ///
    ///     for await result in config.fetches(every: .seconds(43_200)) { … }
    ///
    /// The server is asked at most once in the interval, however often the app starts and however many processes share
    /// the storage directory. The interval begins with a successful fetch. After a failure, the next attempt follows
    /// after a minute, and each further pause is twice as long, up to the interval. A random part of up to a tenth of
    /// the interval is added. ``RemoteConfigSettings/minimumFetchInterval`` does not apply, but pauses that the server
    /// asks for do. Nothing is activated. The stream ends with its task or with the service.
    ///
    /// - Parameter interval: from a minute to 366 days. A value outside this range becomes the nearest one in it.
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

    /// Fetches as ``fetches(every:)`` does, and activates each result, until the task is cancelled or the service is
    /// shut down. It can be the body of a service of swift-service-lifecycle. Uses the network.
    ///
    /// - Parameter interval: the interval, as for ``fetches(every:)``.
    public func run(every interval: Duration) async {
        for await result in fetches(every: interval) where (try? result.get()) != nil { _ = try? await activate() }
    }

    /// The active values now, and then after each activation.
    ///
    /// No activation is missed, but of several unread ones only the newest is kept. Each read of the property makes a
    /// new stream, which ends with the remote config or the service. No connection is opened. Does I/O as the first
    /// read of a value does.
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
    /// - Returns: `nil` if another process has just begun the fetch.
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
