import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotFetch

extension Session {
    /// Syncs one collection. Calls at the same time share one sync.
    func sync(
        _ collection: CollectionState, expected: Timestamp?, trigger: UptakeEvent.Trigger
    ) async -> Result<SyncOutcome, RemoteSettingsError> {
        await collection.syncs.run(expected: expected) { [self] in
            do throws(SyncRunFailure) {
                let run = try await SyncRun(self, expected: expected, trigger: trigger)
                return await run.sync(collection)
            } catch {
                return .failure(error.error)
            }
        }
    }

    /// Syncs every collection that was asked for under this configuration, each on its own, after one look at the
    /// monitor. Calls at the same time share one sync.
    ///
    /// - Returns: a failure only where the monitor could not be had.
    func syncAll(
        expected: Timestamp?, trigger: UptakeEvent.Trigger
    ) async -> Result<[CollectionSyncResult], RemoteSettingsError> {
        await serviceSyncs.run(expected: expected) { [self] in
            let began = now
            do throws(SyncRunFailure) {
                let collections = collections
                let run = try await SyncRun(self, expected: expected, trigger: trigger)
                let results = await syncAll(collections, run, expected: expected)
                let hasFailures = results.contains { !$0.isSynced }
                report("settings-sync", hasFailures ? .syncError : .success, trigger, nil, began, nil)
                return .success(results)
            } catch {
                report("settings-sync", error.status, trigger, nil, began, error.error)
                return .failure(error.error)
            }
        }
    }

    /// Collections that are synced at once.
    private static var width: Int { 4 }

    private func syncAll(
        _ collections: [CollectionState], _ run: SyncRun, expected: Timestamp?
    ) async -> [CollectionSyncResult] {
        await withTaskGroup(of: CollectionSyncResult.self) { group in
            var queue = collections.makeIterator()
            var results: [CollectionSyncResult] = []
            func enqueueNext() {
                guard let collection = queue.next() else { return }
                group.addTask {
                    let result = await collection.syncs.run(expected: expected) { await run.sync(collection) }
                    return CollectionSyncResult(collection: "\(collection.id)", result: result)
                }
            }
            for _ in 0..<Self.width { enqueueNext() }
            while let result = await group.next() {
                results.append(result)
                enqueueNext()
            }
            return results.sorted { $0.collection < $1.collection }
        }
    }

    /// Keeps the holds that servers asked for, for the next process. Where they cannot be kept, the server asks again.
    func keepBackoff(_ client: ServerClient) {
        let state = client.backoff
        guard !state.holds(at: now).isEmpty else { return }
        do {
            try storage.prepare()
            try BackoffFile.write(state, to: storage.backoffPath, now: now, isContended: true)
        } catch {
            logger.warning("the server's wish to be left alone could not be kept: \(error)")
        }
    }

    func report(
        _ source: String, _ status: UptakeEvent.Status, _ trigger: UptakeEvent.Trigger, _ timestamp: Timestamp?,
        _ began: Timestamp, _ error: (any Error)?
    ) {
        telemetry?.reportUptake(
            UptakeEvent(
                source: source, status: status, trigger: trigger, timestamp: timestamp,
                duration: now.elapsed(since: began), errorDescription: error.map { "\($0)" }))
    }

    /// Tells who listens what has changed for this app, if anything has.
    func tell(_ id: CollectionID, from old: HeldSnapshot?, to new: HeldSnapshot?) {
        guard let new, events.hasListeners(id) else { return }
        let changes = RecordChanges(from: old.map(filtered) ?? [], to: filtered(new))
        if !changes.isEmpty { events.send(changes, of: id) }
    }
}
