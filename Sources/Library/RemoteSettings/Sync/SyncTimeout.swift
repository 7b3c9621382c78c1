import RemoteSettingsModel

extension RemoteSettingsService {
    /// Like `sync()`, within a time. Uses the network.
    ///
    /// - Parameter timeout: the longest time to wait. The sync ends then, unless others wait for it as well.
    /// - Throws: ``RemoteSettingsError`` as `sync()` does, and ``RemoteSettingsError/Network(reason:)`` if the time is
    ///   over.
    @discardableResult
    public func sync(timeout: Duration) async throws(RemoteSettingsError) -> [String] {
        try await session.within(timeout) { () async throws(RemoteSettingsError) in try await self.sync() }
    }
}

extension RemoteSettingsClient {
    /// Like `sync()`, within a time. Uses the network.
    ///
    /// - Parameter timeout: the longest time to wait. The sync ends then, unless others wait for it as well.
    /// - Throws: ``RemoteSettingsError`` as `sync()` does, and ``RemoteSettingsError/Network(reason:)`` if the time is
    ///   over.
    public func sync(timeout: Duration) async throws(RemoteSettingsError) {
        try await service.session.within(timeout) { () async throws(RemoteSettingsError) in try await self.sync() }
    }
}

extension Session {
    fileprivate func within<Value: Sendable>(
        _ timeout: Duration, _ body: @escaping @Sendable () async throws(RemoteSettingsError) -> Value
    ) async throws(RemoteSettingsError) -> Value {
        let result = await withTaskGroup(of: Result<Value, RemoteSettingsError>?.self) { group in
            group.addTask {
                do throws(RemoteSettingsError) { return .success(try await body()) } catch { return .failure(error) }
            }
            group.addTask { [config] in
                try? await config.environment.sleep(timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard let result else {
            throw .Network(
                reason: "\((try? server.get()).map { "\($0)" } ?? "the server"): expected an end of the sync within "
                    + "\(timeout), found none; try again later")
        }
        return try result.get()
    }
}
