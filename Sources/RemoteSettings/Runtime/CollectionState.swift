import FileStorage
import RemoteSettingsModel
import Synchronization

/// What a process knows of one collection under one configuration. Shared by all clients of it.
///
/// No lock is held while a file is looked at, read or verified.
final class CollectionState: Sendable {
    private struct State {
        var loaded: LoadedCollection?
        var answer: [RemoteSettingsRecord]?
        /// Grows whenever another state takes the place of `loaded`, so that what was computed from an older one is not
        /// kept.
        var generation = 0
        /// Stores by this process that are under way: the files that they replace need not be read again.
        var stores = 0

        mutating func replace(_ loaded: LoadedCollection?) {
            self.loaded = loaded
            answer = nil
            generation += 1
        }
    }

    let id: CollectionID
    private let cachePath: String
    private let state = Mutex(State())
    let syncs = SharedTask<SyncOutcome>()

    init(_ id: CollectionID, in storage: StorageDirectory) {
        self.id = id
        cachePath = storage.snapshotPath(id)
    }

    /// What serves now. The first call in a process reads and verifies, and so does the first one after another process
    /// has replaced the cache file, which one look at the file tells; two at once may both do so.
    func current(_ session: Session) -> LoadedCollection {
        let (known, generation, isStoring) = state.withLock { ($0.loaded, $0.generation, $0.stores > 0) }
        guard let known else { return first(session, generation) }
        guard !isStoring, FileStore.identity(cachePath) != known.cacheIdentity else { return known }
        return takeOver(from: known, generation, session)
    }

    private func first(_ session: Session, _ generation: Int) -> LoadedCollection {
        let loaded = session.loader.load(id)
        return state.withLock { state in
            guard state.generation == generation, state.loaded == nil else { return state.loaded ?? loaded }
            state.loaded = loaded
            return loaded
        }
    }

    private func takeOver(
        from known: LoadedCollection, _ generation: Int, _ session: Session
    ) -> LoadedCollection {
        let found = session.loader.load(id).succeeding(known)
        let isTaken = state.withLock { state in
            guard state.generation == generation, state.stores == 0 else { return false }
            state.replace(found)
            return true
        }
        guard isTaken else { return state.withLock { $0.loaded } ?? known }
        session.tell(id, from: known.held, to: found.held)
        return found
    }

    /// The records that are for this app, all of one snapshot; `nil` where nothing is held.
    func records(_ session: Session) -> [RemoteSettingsRecord]? {
        let noticed = current(session)
        let (answer, loaded, generation) = state.withLock { ($0.answer, $0.loaded, $0.generation) }
        if let answer { return answer }
        guard let held = (loaded ?? noticed).held else { return nil }
        let records = session.filtered(held)
        state.withLock { if loaded != nil, $0.generation == generation { $0.answer = records } }
        return records
    }

    /// Runs a sync's `store`, and takes what it has stored.
    func storing(_ store: () async throws -> LoadedCollection) async throws -> LoadedCollection {
        state.withLock { $0.stores += 1 }
        defer { state.withLock { $0.stores -= 1 } }
        let stored = try await store()
        state.withLock { $0.replace(stored) }
        return stored
    }

    /// Forgets what was read, so that the next call reads anew.
    func invalidate() {
        state.withLock { $0.replace(nil) }
    }
}

extension LoadedCollection {
    /// This, found where another process had replaced the cache file; or `known` where that is newer: within a process a
    /// collection only goes forward.
    fileprivate func succeeding(_ known: LoadedCollection) -> LoadedCollection {
        guard let before = known.held, held.map({ $0.timestamp < before.timestamp }) ?? true else { return self }
        var kept = known
        kept.cacheIdentity = cacheIdentity
        kept.unused.removeAll { $0.source == .cached }
        kept.unused += unused.filter { $0.source == .cached && $0.reason != .older }
        if let held, held.source == .cached {
            kept.unused.append(.init(source: .cached, timestamp: held.timestamp, reason: .older))
        }
        return kept
    }
}
