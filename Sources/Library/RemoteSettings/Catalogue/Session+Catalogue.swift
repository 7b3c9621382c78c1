import RemoteSettingsModel
import SnapshotBundle

/// What a session knows about the catalogue in use.
struct KnownCatalogue {
    /// What was found when the catalogue was last looked for.
    struct Found {
        var view: CatalogueView?
        /// The stored states that it was chosen from.
        var slot: StorageIndex.Slot
        /// The states of collections that this process has stored together with it.
        var states: [CollectionID: CurrentState] = [:]
    }

    var found: Found?
    /// Grows whenever another view replaces the known one.
    var generation = 0

    mutating func replace(_ new: Found?) {
        found = new
        generation += 1
    }
}

extension Session {
    /// The catalogue that reads belong to; `nil` if the configuration names no publisher, or if no catalogue of it is
    /// held.
    ///
    /// The first call reads and verifies the catalogue. So does the first call after another process has stored one,
    /// which one `lstat` shows. Within a process, a catalogue is never followed by an earlier one.
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

    /// The state of a collection that this process has stored together with a catalogue.
    func prepared(_ id: CollectionID, of view: CatalogueView?) -> CurrentState? {
        guard let view else { return nil }
        return catalogue.withLock { $0.found?.view === view ? $0.found?.states[id] : nil }
    }

    /// - Returns: the view in use from now on. It is `known` if what was found is the same state or cannot replace it.
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

    /// Looks for the catalogue once more if `view` is packaged, because a refresh may have replaced the packaged
    /// catalogue since. Does I/O then.
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

    /// Reads the newest catalogue of the publisher, cached or packaged. Does I/O.
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

    /// Puts a stored catalogue in force, for all collections at once.
    func show(_ found: KnownCatalogue.Found) {
        catalogue.withLock { $0.replace(found) }
        changes.sendStore(of: Catalogue.collection)
    }

    func forgetCatalogue() { catalogue.withLock { $0.replace(nil) } }
}
