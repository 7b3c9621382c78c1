import RemoteSettingsModel
import SnapshotBundle

/// The catalogue in use in a session, cached in memory.
struct KnownCatalogue {
    /// The result of the last search for a catalogue.
    struct Found {
        var view: CatalogueView?
        /// The stored states that the catalogue was chosen from.
        var slot: StorageIndex.Slot
        /// The states of collections that this process has stored together with the catalogue.
        var states: [CollectionID: CurrentState] = [:]
    }

    var found: Found?
    /// A number that increases whenever `found` is replaced.
    var generation = 0

    mutating func replace(_ new: Found?) {
        found = new
        generation += 1
    }
}

extension Session {
    /// Returns the catalogue that reads use; `nil` if the configuration has no publisher, or if none of its
    /// catalogues is stored or packaged.
    ///
    /// The catalogue is read and verified on the first call, and again on the first call after another process has
    /// stored a new one (detected with one `lstat`). Within a process, a catalogue is never replaced by an earlier one.
    func currentCatalogue() -> CatalogueView? {
        guard let publisher = publisher else { return nil }
        let slot = storage.index()[key(of: Catalogue.collection)].synced
        let (known, generation) = catalogue.withLock { ($0.found, $0.generation) }
        if let known, known.slot.hasSameStates(as: slot) { return known.view }
        var found = findCatalogue(of: publisher, in: slot)
        if let view = known?.view { found.view = successor(of: view, found.view) }
        let (view, isNew) = catalogue.withLock { state in
            let before = state.found?.view
            if state.generation == generation { state.replace(found) }
            return (state.found?.view, before != nil && before !== state.found?.view)
        }
        if isNew { changes.sendStore(of: Catalogue.collection) }
        return view
    }

    /// Returns the collection's state that this process stored together with the catalogue `view`; `nil` if there is
    /// none, or if `view` is no longer the catalogue in use.
    func prepared(_ id: CollectionID, of view: CatalogueView?) -> CurrentState? {
        guard let view else { return nil }
        return catalogue.withLock { $0.found?.view === view ? $0.found?.states[id] : nil }
    }

    /// Returns the view to use after `known`.
    ///
    /// - Returns: `known` if `found` is `nil`, is the same catalogue, or may not replace it; otherwise `found`.
    private func successor(of known: CatalogueView, _ found: CatalogueView?) -> CatalogueView {
        guard let found, found.snapshot.payload != known.snapshot.payload else { return known }
        do throws(BundleError) {
            try found.checkSuccession(of: known)
            return found
        } catch {
            logger.warning("the stored catalogue is not used: \(error)")
            return known
        }
    }

    /// Searches for the catalogue again if `view` is packaged, because a refresh may have replaced the packaged
    /// catalogue. Does I/O in that case.
    func lookAgain(after view: CatalogueView) {
        guard let publisher = publisher, case .packaged = view.source else { return }
        let generation = catalogue.withLock { $0.generation }
        var found = findCatalogue(of: publisher, in: storage.index()[key(of: Catalogue.collection)].synced)
        let next = successor(of: view, found.view)
        guard next !== view else { return }
        found.view = next
        let isTaken = catalogue.withLock { state in
            guard state.generation == generation, state.found?.view === view else { return false }
            state.replace(found)
            return true
        }
        if isTaken { changes.sendStore(of: Catalogue.collection) }
    }

    /// Reads the newest catalogue of the publisher, stored or packaged. Does I/O.
    func findCatalogue(of publisher: PublisherName, in slot: StorageIndex.Slot) -> KnownCatalogue.Found {
        let trial = trials.trial(of: subject(of: Catalogue.collection))
        var found = KnownCatalogue.Found(slot: slot)
        _ = choice.choose(Catalogue.collection, from: slot, asking: trial) { snapshot, source in
            let view = try CatalogueView(snapshot, from: source, roots: trust.roots, limits: limits)
            guard view.catalogue.publisher == publisher else {
                throw SnapshotRefusal(
                    .otherPublisher(found: "\(view.catalogue.publisher)", expected: "\(publisher)"))
            }
            found.view = view
        }
        return found
    }

    /// Commits a stored catalogue, so that all collections use it from the same moment on.
    func show(_ found: KnownCatalogue.Found) {
        catalogue.withLock { $0.replace(found) }
        changes.sendStore(of: Catalogue.collection)
    }

    func forgetCatalogue() { catalogue.withLock { $0.replace(nil) } }
}
