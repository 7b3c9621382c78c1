// The forms with completion handlers are for code that moves over from Firebase. Each does what the asynchronous call
// of the same name does, and calls its handler on the main actor, as Firebase does. The handlers have no default value.
// Otherwise `try await config.fetch()` in top-level code would call this form, which does not wait.

extension RemoteConfig {
    /// Fetches values, as the asynchronous `fetch()` does.
    ///
    /// - Parameter completionHandler: called on the main actor. The error is `nil` only after a success.
    public func fetch(
        completionHandler: (@MainActor @Sendable (RemoteConfigFetchStatus, (any Error)?) -> Void)?
    ) {
        fetch(
            withExpirationDuration: configSettings.minimumFetchInterval, completionHandler: completionHandler)
    }

    /// Fetches values, as the asynchronous `fetch(withExpirationDuration:)` does.
    ///
    /// - Parameters:
    ///   - seconds: how old the last success must be for a new request.
    ///   - completionHandler: called on the main actor. The error is `nil` only after a success.
    public func fetch(
        withExpirationDuration seconds: Double,
        completionHandler: (@MainActor @Sendable (RemoteConfigFetchStatus, (any Error)?) -> Void)?
    ) {
        Task {
            let outcome = await self.fetchOutcome(expiration: seconds)
            await completionHandler?(outcome.status, outcome.error)
        }
    }

    /// Activates values, as the asynchronous `activate()` does.
    ///
    /// - Parameter completion: called on the main actor with whether a value has changed.
    public func activate(completion: (@MainActor @Sendable (Bool, (any Error)?) -> Void)?) {
        Task {
            do throws(RemoteConfigError) {
                let changed = try await self.activate()
                await completion?(changed, nil)
            } catch {
                await completion?(false, error)
            }
        }
    }

    /// Fetches and activates values, as the asynchronous `fetchAndActivate()` does.
    ///
    /// - Parameter completionHandler: called on the main actor. The error is `nil` only after a success.
    public func fetchAndActivate(
        completionHandler: (@MainActor @Sendable (RemoteConfigFetchAndActivateStatus, (any Error)?) -> Void)?
    ) {
        Task {
            do throws(RemoteConfigError) {
                let status = try await self.fetchAndActivate()
                await completionHandler?(status, nil)
            } catch {
                await completionHandler?(.error, error)
            }
        }
    }

    /// Reads the stored or packaged state, as the asynchronous `ensureInitialized()` does.
    ///
    /// - Parameter completionHandler: called on the main actor.
    public func ensureInitialized(completionHandler: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        Task {
            _ = self.layers()
            await completionHandler(nil)
        }
    }

    /// Sets signals, as the asynchronous `setCustomSignals(_:)` does.
    ///
    /// - Parameters:
    ///   - signals: the signals to set; `nil` removes one.
    ///   - completionHandler: called on the main actor.
    public func setCustomSignals(
        _ signals: [String: CustomSignalValue?], completionHandler: (@MainActor @Sendable ((any Error)?) -> Void)?
    ) {
        Task {
            do throws(RemoteConfigCustomSignalsError) {
                try await self.setCustomSignals(signals)
                await completionHandler?(nil)
            } catch {
                await completionHandler?(error)
            }
        }
    }
}
