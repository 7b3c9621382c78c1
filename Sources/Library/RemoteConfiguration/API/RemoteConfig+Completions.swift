// The methods with completion handlers are for code that migrates from Firebase. Each does the same as the asynchronous
// method of the same name, and calls its handler on the main actor, as in Firebase. The handlers have no default value,
// because `try await config.fetch()` in top-level code would then call the method with a handler, which does not wait.

extension RemoteConfig {
    /// Fetches values, like the asynchronous `fetch()`.
    ///
    /// - Parameter completionHandler: called on the main actor. The error is `nil` only after a success.
    public func fetch(completionHandler: (@MainActor @Sendable (RemoteConfigFetchStatus, (any Error)?) -> Void)?) {
        fetch(withExpirationDuration: configSettings.minimumFetchInterval, completionHandler: completionHandler)
    }

    /// Fetches values, like the asynchronous `fetch(withExpirationDuration:)`.
    ///
    /// - Parameters:
    ///   - seconds: the minimum number of seconds between the last successful fetch and a new request.
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

    /// Activates values, like the asynchronous `activate()`.
    ///
    /// - Parameter completion: called on the main actor. Its first argument is whether a value has changed.
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

    /// Fetches and activates values, like the asynchronous `fetchAndActivate()`.
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

    /// Reads the stored or packaged state, like the asynchronous `ensureInitialized()`.
    ///
    /// - Parameter completionHandler: called on the main actor.
    public func ensureInitialized(completionHandler: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        Task {
            _ = self.layers()
            await completionHandler(nil)
        }
    }

    /// Sets signals, like the asynchronous `setCustomSignals(_:)`.
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
