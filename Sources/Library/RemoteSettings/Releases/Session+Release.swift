import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// What a session knows about the release in use.
struct KnownRelease {
    /// What was found when the catalogue was last looked for.
    struct Found {
        var view: ReleaseView?
        /// The version of the catalogue's cache file that was read; `nil` if there was none.
        var identity: CacheIdentity?
    }

    var found: Found?
    /// Grows whenever another view replaces the known one.
    var generation = 0
    /// Whether waiting files of killed processes were already looked for.
    var hasSettled = false
    /// Whether this process is storing a release. The file that it replaces need not be read again.
    var isStoring = false

    mutating func replace(_ new: Found) {
        found = new
        generation += 1
    }
}

extension Session {
    /// The release that reads belong to; `nil` if the configuration names no origin, or if no catalogue of it is held.
    ///
    /// The first call reads and verifies the catalogue. So does the first call after another process has stored one,
    /// which one `lstat` shows. Within a process, a release is never followed by an earlier one.
    func currentRelease() -> ReleaseView? {
        guard let origin = releaseOrigin else { return nil }
        let (known, generation, isStoring) = release.withLock { ($0.found, $0.generation, $0.isStoring) }
        if let known, isStoring || (try? storage.identity(Catalogue.collection)) == known.identity { return known.view }
        var found = findRelease(of: origin)
        if let view = known?.view { found.view = successor(of: view, found.view) }
        let (view, isNew) = release.withLock { state in
            let before = state.found?.view
            if state.generation == generation { state.replace(found) }
            return (state.found?.view, before != nil && before !== state.found?.view)
        }
        if isNew { changes.sendStore(of: Catalogue.collection) }
        return view
    }

    /// Whether the catalogue was already looked for.
    var knowsRelease: Bool { release.withLock { $0.found != nil } }

    /// - Returns: the view in use from now on. It is `known` if what was found is the same state or cannot replace it.
    private func successor(of known: ReleaseView, _ found: ReleaseView?) -> ReleaseView {
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
    /// release since. Does I/O then.
    func lookAgain(after view: ReleaseView) {
        guard let origin = releaseOrigin, case .packaged = view.source else { return }
        let generation = release.withLock { $0.generation }
        var found = findRelease(of: origin)
        let next = successor(of: view, found.view)
        guard next !== view else { return }
        found.view = next
        let isTaken = release.withLock { state in
            guard state.generation == generation, state.found?.view === view else { return false }
            state.replace(found)
            return true
        }
        if isTaken { changes.sendStore(of: Catalogue.collection) }
    }

    /// Reads the newest catalogue of the origin, cached or packaged. Does I/O.
    func findRelease(of origin: OriginName) -> KnownRelease.Found {
        let current = loader.load(Catalogue.collection)
        var found = KnownRelease.Found(identity: current.cacheIdentity)
        guard let snapshot = current.snapshot else { return found }
        func view(_ snapshot: Snapshot, _ source: SnapshotStatus.Source) -> ReleaseView? {
            do throws(CatalogueError) {
                return try ReleaseView(snapshot, from: source, of: origin, roots: trust.roots, limits: limits)
            } catch {
                logger.warning(
                    "the catalogue that is \(source == .cached ? "stored" : "packaged") is not used: \(error)")
                return nil
            }
        }
        found.view = view(snapshot, current.source)
        if found.view != nil { return found }
        // The newer of the two is not of this origin, but the other one may be.
        let other =
            current.source == .cached
            ? loader.load(Catalogue.collection, kept: nil) : loader.load(Catalogue.collection, usesPackaged: false)
        found.view = other.snapshot.flatMap { view($0, other.source) }
        return found
    }

    /// Puts a stored release in force, for all collections at once.
    func show(_ view: ReleaseView, identity: CacheIdentity?) {
        release.withLock { $0.replace(.init(view: view, identity: identity)) }
        changes.sendStore(of: Catalogue.collection)
    }

    func forgetRelease() {
        release.withLock { state in
            state.found = nil
            state.generation += 1
        }
    }
}
