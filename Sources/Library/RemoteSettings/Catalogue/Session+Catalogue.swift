import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// What a session knows about the catalogue in use.
struct KnownCatalogue {
    /// What was found when the catalogue was last looked for.
    struct Found {
        var view: CatalogueView?
        /// The version of the catalogue's cache file that was read; `nil` if there was none.
        var identity: CacheIdentity?
    }

    var found: Found?
    /// Grows whenever another view replaces the known one.
    var generation = 0
    /// Whether waiting files of killed processes were already looked for.
    var hasSettled = false
    /// Whether this process is storing a catalogue. The file that it replaces need not be read again.
    var isStoring = false

    mutating func replace(_ new: Found) {
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
        let (known, generation, isStoring) = catalogue.withLock { ($0.found, $0.generation, $0.isStoring) }
        if let known, isStoring || (try? storage.identity(Catalogue.collection)) == known.identity { return known.view }
        var found = findCatalogue(of: publisher)
        if let view = known?.view { found.view = successor(of: view, found.view) }
        let (view, isNew) = catalogue.withLock { state in
            let before = state.found?.view
            if state.generation == generation { state.replace(found) }
            return (state.found?.view, before != nil && before !== state.found?.view)
        }
        if isNew { changes.sendStore(of: Catalogue.collection) }
        return view
    }

    /// Whether the catalogue was already looked for.
    var knowsCatalogue: Bool { catalogue.withLock { $0.found != nil } }

    /// - Returns: the view in use from now on. It is `known` if what was found is the same state or cannot replace it.
    private func successor(of known: CatalogueView, _ found: CatalogueView?) -> CatalogueView {
        guard let found, found.snapshot.payload != known.snapshot.payload else { return known }
        do throws(CatalogueError) {
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
        var found = findCatalogue(of: publisher)
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
    func findCatalogue(of publisher: PublisherName) -> KnownCatalogue.Found {
        let current = loader.load(Catalogue.collection)
        var found = KnownCatalogue.Found(identity: current.cacheIdentity)
        guard let snapshot = current.snapshot else { return found }
        func view(_ snapshot: Snapshot, _ source: SnapshotStatus.Source) -> CatalogueView? {
            do throws(CatalogueError) {
                return try CatalogueView(snapshot, from: source, of: publisher, roots: trust.roots, limits: limits)
            } catch {
                logger.warning(
                    "the catalogue that is \(source == .cached ? "stored" : "packaged") is not used: \(error)")
                return nil
            }
        }
        found.view = view(snapshot, current.source)
        if found.view != nil { return found }
        // The newer of the two is not of this publisher, but the other one may be.
        let other =
            current.source == .cached
            ? loader.load(Catalogue.collection, kept: nil) : loader.load(Catalogue.collection, usesPackaged: false)
        found.view = other.snapshot.flatMap { view($0, other.source) }
        return found
    }

    /// Puts a stored catalogue in force, for all collections at once.
    func show(_ view: CatalogueView, identity: CacheIdentity?) {
        catalogue.withLock { $0.replace(.init(view: view, identity: identity)) }
        changes.sendStore(of: Catalogue.collection)
    }

    func forgetCatalogue() {
        catalogue.withLock { state in
            state.found = nil
            state.generation += 1
        }
    }
}
