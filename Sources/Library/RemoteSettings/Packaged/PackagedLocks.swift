import RemoteSettingsModel
import SnapshotBundle

/// The locks of the packaged sources. They say which collections each source has.
struct PackagedLocks: Sendable {
    private var locks: [(source: PackagedSource, text: Bytes)] = []
    /// The sources that cannot be used at all.
    private(set) var problems: [SnapshotStatus.Unused] = []
    private let limits: Limits

    /// Reads the locks' texts. Does I/O for sources that are directories.
    init(_ sources: [PackagedSource], limits: Limits) {
        self.limits = limits
        for source in sources {
            do {
                locks.append((source, try source.lockText(limits: limits)))
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
    }

    /// The bundles of one collection, newest first. Bundles of the same timestamp are in the order of the sources.
    ///
    /// Does I/O for sources that are directories, because a refresh may have replaced a bundle since the lock was read.
    ///
    /// - Parameter problems: locks that cannot be read are appended.
    func bundles(of id: CollectionID, problems: inout [SnapshotStatus.Unused]) -> [PackagedBundle] {
        var bundles: [PackagedBundle] = []
        for (source, text) in locks {
            do throws(BundleError) {
                let lock = try LockFile.collection(id, in: text, path: source.lockName, limits: limits)
                guard let lock else { continue }
                let bundle = PackagedBundle(id, lock, in: source, limits: limits)
                bundles.append(present(bundle, in: source))
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
        // The sort is stable.
        return bundles.sorted { $0.lock.timestamp > $1.lock.timestamp }
    }

    /// The bundles of one collection that the locks list, in the order of the sources. Does no I/O.
    ///
    /// - Throws: if a lock cannot be read.
    func listed(_ id: CollectionID) throws(BundleError) -> [PackagedBundle] {
        var bundles: [PackagedBundle] = []
        for (source, text) in locks {
            let lock = try LockFile.collection(id, in: text, path: source.lockName, limits: limits)
            if let lock { bundles.append(PackagedBundle(id, lock, in: source, limits: limits)) }
        }
        return bundles
    }

    /// The bundle that has the name now.
    ///
    /// If its state is not that of the given entry, its entry is in the note of a refresh, or in a lock that was
    /// written meanwhile. The model in `Tests/Models/dumps.pml` shows that such a reader finds a whole state at any
    /// moment of a refresh, and after a refresh that was killed.
    ///
    /// - Returns: if neither explains the difference, the bundle in its own state if a signature can vouch for it.
    ///   Otherwise the given bundle; opening it then reports what is wrong.
    private func present(_ bundle: PackagedBundle, in source: PackagedSource) -> PackagedBundle {
        guard case .directory(let path, _) = source.form else { return bundle }
        let id = bundle.id
        if let together = namedTogether(id, in: source, at: path) { return together }
        let note = "\(path)/\(LockFile.notePath(of: id))"
        var candidate = bundle
        // Another round is made only if the lock was written since. The rounds are limited, because somebody may write
        // it all the time.
        for _ in 0..<10 where candidate.isOfAnotherState {
            if let text = try? FileStore.read(note, limit: Limits.lockBytes),
                let entry = try? LockFile.collection(id, in: text, path: note, limits: limits)
            {
                let noted = PackagedBundle(id, entry, in: source, limits: limits)
                if (try? noted.reader()) != nil { return noted }
            }
            guard let text = try? source.lockText(limits: limits),
                let entry = try? LockFile.collection(id, in: text, path: source.lockName, limits: limits),
                entry != candidate.lock
            else { break }
            candidate = PackagedBundle(id, entry, in: source, limits: limits)
        }
        guard candidate.isOfAnotherState else { return candidate }
        return candidate.inItsOwnState(of: source, limits: limits) ?? candidate
    }

    /// The bundle of a release whose bundles get their names together; `nil` if none do.
    ///
    /// As soon as their note is there, all of them are packed, so that a reader can have the whole release.
    private func namedTogether(_ id: CollectionID, in source: PackagedSource, at path: String) -> PackagedBundle? {
        let note = "\(path)/\(LockFile.togetherPath)"
        guard let text = try? FileStore.read(note, limit: Limits.lockBytes),
            let entry = try? LockFile.collection(id, in: text, path: note, limits: limits)
        else { return nil }
        // The name comes last: a bundle that gets it now is found there.
        for place in [LockFile.packPath(of: id), entry.bundle.path] {
            let bundle = PackagedBundle(id, entry, in: source, path: place, limits: limits)
            if (try? bundle.reader()) != nil { return bundle }
        }
        return nil
    }

    /// Everything that the locks list, in the states that the directories have now.
    ///
    /// Each lock is read whole and strictly. Does I/O for sources that are directories.
    ///
    /// - Parameters:
    ///   - problems: locks that cannot be read are appended.
    ///   - isWanted: which collections are looked for.
    func allBundles(
        problems: inout [SnapshotStatus.Unused], where isWanted: (CollectionID) -> Bool = { _ in true }
    ) -> [PackagedBundle] {
        var all: [PackagedBundle] = []
        for (source, text) in locks {
            do throws(BundleError) {
                let lock = try LockFile(parsing: text, path: source.lockName, limits: limits)
                for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) where isWanted(id) {
                    all.append(present(PackagedBundle(id, entry, in: source, limits: limits), in: source))
                }
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
        return all
    }

    private static func unreadable(_ source: PackagedSource, _ error: any Error) -> SnapshotStatus.Unused {
        SnapshotStatus.Unused(
            source: .packaged(source.name), timestamp: nil, reason: .unreadableSource("\(error)"))
    }
}

extension PackagedSource {
    /// The lock's name in errors.
    var lockName: String {
        if case .directory(let path, _) = form { "\(path)/dumps.lock.json" } else { "\(name): dumps.lock.json" }
    }

    func lockText(limits: Limits) throws -> Bytes {
        switch form {
        case .embedded(let text, _): return text
        case .directory:
            guard let text = try FileStore.read(lockName, limit: Limits.lockBytes) else {
                throw BundleError(
                    .missing, file: lockName, expected: "the lock of packaged snapshots", found: "no such file")
            }
            return text
        case .absent(let reason):
            throw BundleError(.missing, file: name, expected: "packaged snapshots", found: reason)
        }
    }
}
