import RemoteSettings
import RemoteSettingsModel

extension RemoteConfig {
    /// Fetches now if it is due, and then again and again. Uses the network.
    ///
    ///     for await result in config.fetches(every: .seconds(43_200)) { … }
    ///
    /// The server is asked at most once in the interval, however often the app is started and however many processes
    /// share the storage directory. The time counts from a fetch that succeeded. After a failure, the next try follows
    /// after a minute, and after twice the pause each time, up to the interval. Up to a tenth of the interval is added
    /// by chance. ``RemoteConfigSettings/minimumFetchInterval`` does not count, but pauses that the server asks for do.
    /// Nothing is activated. The stream ends with its task, and with the service.
    ///
    /// - Parameter interval: from a minute to 366 days; what is beyond counts as these.
    public func fetches(every interval: Duration) -> AsyncStream<Result<RemoteConfigFetchStatus, RemoteConfigError>> {
        let schedule = (try? client.access).map { SyncSchedule(every: interval, of: $0.id) }
        return AsyncStream { [weak self] in
            while !Task.isCancelled {
                guard let schedule, let access = try? self?.client.access, !access.isClosed else { return nil }
                let pause = access.pause(schedule)
                guard pause <= .zero else {
                    do { try await access.environment.sleep(pause) } catch { return nil }
                    continue
                }
                if let result = await self?.scheduledFetch(schedule, access) { return result }
            }
            return nil
        }
    }

    /// Fetches as ``fetches(every:)`` does and activates what arrives, until the task is cancelled or the service is shut
    /// down: the body of a service of swift-service-lifecycle. Uses the network.
    ///
    /// - Parameter interval: as for ``fetches(every:)``.
    public func run(every interval: Duration) async {
        for await result in fetches(every: interval) where (try? result.get()) != nil { _ = try? await activate() }
    }

    /// The active values now, and again after each activation.
    ///
    /// Nothing between the two is missed. Activations that pile up unread are left out, but for the newest. Each call
    /// makes a new stream. It ends with the remote config or the service. Does I/O as the first read does.
    public func activations() -> AsyncStream<RemoteConfigSnapshot> {
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

    /// - Returns: `nil` if another process has just begun the fetch.
    private func scheduledFetch(
        _ schedule: SyncSchedule, _ access: CollectionAccess
    ) async -> Result<RemoteConfigFetchStatus, RemoteConfigError>? {
        do {
            guard try await access.begin(schedule) else { return nil }
        } catch {
            return .failure(.storage(reason: "\(error)"))
        }
        do throws(RemoteConfigError) {
            let status = try await fetch(withExpirationDuration: 0)
            await access.end(schedule)
            return .success(status)
        } catch {
            return .failure(error)
        }
    }
}
