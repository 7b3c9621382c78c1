import RemoteSettingsModel
import Synchronization

/// What a process knows of one collection under one configuration. Shared by all clients of it.
final class CollectionState: Sendable {
    private struct State {
        var loaded: LoadedCollection?
        var answer: [RemoteSettingsRecord]?
        /// Grows with every change of `loaded`, so that what was computed from an older one is not kept.
        var generation = 0
    }

    let id: CollectionID
    private let state = Mutex(State())
    let syncs = SharedTask<SyncOutcome>()
    let downloads = SharedDownloads()

    init(_ id: CollectionID) {
        self.id = id
    }

    /// What serves now. The first call in a process reads and verifies; two at once may both do so.
    func current(_ session: Session) -> LoadedCollection {
        let (known, generation) = state.withLock { ($0.loaded, $0.generation) }
        if let known { return known }
        let loaded = session.loader.load(id)
        return state.withLock { state in
            guard state.generation == generation, state.loaded == nil else { return state.loaded ?? loaded }
            state.loaded = loaded
            return loaded
        }
    }

    /// The records that are for this app, all of one snapshot; `nil` where nothing is held.
    func records(_ session: Session) -> [RemoteSettingsRecord]? {
        let (answer, generation) = state.withLock { ($0.answer, $0.generation) }
        if let answer { return answer }
        guard let held = current(session).held else { return nil }
        let records = session.filtered(held)
        state.withLock { if $0.generation == generation { $0.answer = records } }
        return records
    }

    /// Takes what a sync has stored.
    func install(_ loaded: LoadedCollection) {
        state.withLock { state in
            state.loaded = loaded
            state.answer = nil
            state.generation += 1
        }
    }

    /// Forgets what was read, so that the next call reads anew.
    func invalidate() {
        state.withLock { state in
            state.loaded = nil
            state.answer = nil
            state.generation += 1
        }
    }
}
