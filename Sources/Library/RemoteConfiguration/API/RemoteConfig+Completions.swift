// The forms with completion handlers are for code that moves over from Firebase. Each does what the asynchronous call
// of the same name does, and calls the handler on the main actor, as Firebase does. A handler has no default value:
// with one, `try await config.fetch()` in a program's top-level code would call this form, which does not wait.

extension RemoteConfig {
    /// Like the asynchronous `fetch()`.
    ///
    /// - Parameter completionHandler: called on the main actor; the error is `nil` only for a success.
    public func fetch(
        completionHandler: (@MainActor @Sendable (RemoteConfigFetchStatus, (any Error)?) -> Void)?
    ) {
        fetch(
            withExpirationDuration: configSettings.minimumFetchInterval, completionHandler: completionHandler)
    }

    /// Like the asynchronous `fetch(withExpirationDuration:)`.
    ///
    /// - Parameters:
    ///   - seconds: the server is asked if the last success is at least this old.
    ///   - completionHandler: called on the main actor; the error is `nil` only for a success.
    public func fetch(
        withExpirationDuration seconds: Double,
        completionHandler: (@MainActor @Sendable (RemoteConfigFetchStatus, (any Error)?) -> Void)?
    ) {
        Task {
            let outcome = await self.fetchOutcome(expiration: seconds)
            await completionHandler?(outcome.status, outcome.error)
        }
    }

    /// Like the asynchronous `activate()`.
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

    /// Like the asynchronous `fetchAndActivate()`.
    ///
    /// - Parameter completionHandler: called on the main actor; the error is `nil` only for a success.
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

    /// Like the asynchronous `ensureInitialized()`.
    ///
    /// - Parameter completionHandler: called on the main actor.
    public func ensureInitialized(completionHandler: @escaping @MainActor @Sendable ((any Error)?) -> Void) {
        Task {
            _ = self.layers()
            await completionHandler(nil)
        }
    }

    /// Like the asynchronous `setCustomSignals(_:)`.
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
