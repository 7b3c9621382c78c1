import RemoteSettingsModel

extension RemoteSettingsService {
    /// Says that this start of the app got well with all states that it has read: those of clients, and those of remote
    /// configs. Does I/O. It does nothing unless ``RemoteSettingsConfig/safeStart`` is set.
    ///
    /// Call it once the app has done what a bad state would keep it from, such as to show its first screen. A state
    /// that was read in three starts in a row without such a call is set aside. A start in the background is one as
    /// well, if it reads records.
    ///
    /// - Throws: ``RemoteSettingsError`` if it cannot be stored. It still holds for this process.
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
    /// Says that the state in use is bad, as the next failed starts would. Does I/O.
    ///
    /// It is set aside: from now on the last state that the app has started well with is used, else the packaged one.
    /// It is not fetched again; a newer one is. With catalogues, this is so for all collections together.
    ///
    /// - Throws: ``RemoteSettingsError`` if nothing is in use, if ``RemoteSettingsConfig/safeStart`` is
    ///   not set, or if it cannot be stored. In the last case it still holds for this process.
    public func rejectState() throws(RemoteSettingsError) {
        try collection().leaveState(because: "the app rejected it", toPrevious: false)
    }

    /// Goes back to the state before the one in use, which is then set aside as by ``rejectState()``. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError`` if no earlier state is stored, and as ``rejectState()`` does.
    public func rollback() throws(RemoteSettingsError) {
        try collection().leaveState(because: "the app rolled back to the previous state", toPrevious: true)
    }
}

extension RemoteSettingsError {
    package static let safeStartIsOff = RemoteSettingsError.other(
        reason: "RemoteSettingsConfig.safeStart is off; turn it on before you create the service")

    package static func nothingToGoBackTo(_ collection: String) -> RemoteSettingsError {
        .notHeld(
            reason: "\(collection): there is no previous state to go back to; one is kept from the next sync on")
    }
}
