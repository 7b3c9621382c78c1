import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension RemoteSettingsError {
    /// Returns an error for a verified state that was rejected.
    package static func rejected(_ id: CollectionID, _ timestamp: Timestamp, _ reason: String) -> RemoteSettingsError {
        .rejected(
            reason:
                "\(id): the state of \(timestamp.rfc3339) was rejected: \(VisibleText.excerpt(reason)); the current "
                + "state is unchanged; publish a newer one")
    }
}

/// The app's check of a state, which runs on a thread of this package with a time limit.
package enum StateCheck {
    /// Runs the check.
    ///
    /// - Returns: the reason to reject the state; `nil` to accept it.
    /// - Throws: `CancellationError` if the task is cancelled in the meantime.
    package static func refusal(
        within limit: Duration, _ environment: HTTPEnvironment, _ check: @escaping @Sendable () throws -> Void
    ) async throws -> String? {
        let (reasons, continuation) = AsyncStream<String?>.makeStream(bufferingPolicy: .bufferingOldest(1))
        // A check that never returns blocks only its own thread.
        WorkThreads.startThread {
            do {
                try check()
                continuation.yield(nil)
            } catch {
                continuation.yield("the app's check failed: \(error)")
            }
        }
        let alarm = WorkThreads.start {
            guard (try? await environment.sleep(limit)) != nil else { return }
            continuation.yield("the app's check did not finish within \(limit)")
        }
        defer { alarm.cancel() }
        for await reason in reasons { return reason }
        throw CancellationError()
    }
}

extension CollectionSync {
    /// Checks that no state with this timestamp was rejected.
    ///
    /// - Throws: ``RemoteSettingsError/rejected(reason:)``.
    func checkWanted(_ timestamp: Timestamp) throws {
        if let refusal = collection.trial.refusal(at: timestamp) {
            throw RemoteSettingsError.rejected(id, timestamp, refusal.reason)
        }
    }

    /// Lets the app check a fetched state, unless the same content was already rejected.
    ///
    /// - Throws: ``RemoteSettingsError/rejected(reason:)`` if the state must not be stored.
    func validate(_ snapshot: Snapshot, over current: CurrentState) async throws {
        let (trials, subject) = (session.trials, collection.subject)
        if let reason = collection.trial.reason(against: snapshot) {
            throw RemoteSettingsError.rejected(id, snapshot.timestamp, reason)
        }
        var refusal = try await trials.check(of: id)?(snapshot)
        if refusal == nil, let validate = session.config.validate {
            let (name, collection) = ("\(id)", collection)
            let (old, new) = (current.snapshot?.records, snapshot.records)
            refusal = try await StateCheck.refusal(
                within: session.config.validationTimeout, session.config.environment
            ) { try validate(name, old.map { collection.filtered($0) }, collection.filtered(new)) }
        }
        guard let refusal else { return }
        do {
            try trials.reject(.init(snapshot), of: subject, because: refusal, byCheck: true)
        } catch {
            session.logger.warning("\(id): the rejection of a state could not be stored: \(error)")
        }
        throw RemoteSettingsError.rejected(id, snapshot.timestamp, refusal)
    }
}
