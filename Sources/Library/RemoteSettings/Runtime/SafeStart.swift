import RemoteSettingsModel

extension RemoteSettingsService {
    /// Marks this start of the app as successful with all states that it has read, by clients and by remote configs.
    /// Does I/O. It does nothing unless ``RemoteSettingsConfig/usesSafeStart`` is set.
    ///
    /// Call it once the app has passed the point where a bad state would stop it, for example when it shows its first
    /// screen. A state that was read in three consecutive starts without this call is rejected. A background start
    /// counts as well if it reads records.
    ///
    /// - Throws: ``RemoteSettingsError`` if the mark cannot be stored. It is still effective in this process.
    public func markStartSuccessful() throws(RemoteSettingsError) {
        guard session.trials.isSafeStart else { return }
        do {
            try session.trials.markStartSuccessful()
        } catch {
            throw RemoteSettingsError(error)
        }
    }
}

extension RemoteSettingsClient {
    /// Rejects the current state immediately, as repeated failed starts would. Does I/O.
    ///
    /// From now on, the last state that the app started successfully with is used; if there is none, the packaged one.
    /// The rejected state is not fetched again, but a newer one is.
    ///
    /// - Throws: ``RemoteSettingsError`` if there is no current state, if ``RemoteSettingsConfig/usesSafeStart`` is not
    ///   set, or if the rejection cannot be stored. In the last case it is still effective in this process.
    public func rejectState() throws(RemoteSettingsError) {
        try collection().leaveState(because: "the app rejected it", toPrevious: false)
    }

    /// Rejects the current state, as ``rejectState()`` does, and returns to the state before it. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if no earlier state is stored, and under the conditions of ``rejectState()``.
    public func rollback() throws(RemoteSettingsError) {
        try collection().leaveState(because: "the app rolled back to the previous state", toPrevious: true)
    }
}

extension RemoteSettingsError {
    package static let safeStartIsOff = RemoteSettingsError.other(
        reason: "RemoteSettingsConfig.usesSafeStart is off; turn it on before you create the service")

    package static func nothingToGoBackTo(_ collection: String) -> RemoteSettingsError {
        .notFound(reason: "\(collection): there is no previous state to go back to; one is kept from the next sync on")
    }
}
