import RemoteSettingsModel

extension Session {
    /// Runs a sync, with a time limit unless `timeout` is `nil`.
    func within<Value: Sendable>(
        _ timeout: Duration?, _ body: @escaping @Sendable () async throws(RemoteSettingsError) -> Value
    ) async throws(RemoteSettingsError) -> Value {
        guard let timeout else { return try await body() }
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
            throw .timedOut(
                reason: "\((try? server.get()).map { "\($0)" } ?? "the server"): the sync did not finish within "
                    + "\(timeout); try again later")
        }
        return try result.get()
    }
}
