import RemoteSettingsModel
import SnapshotBundle

/// The lock files of the packaged sources, which list the collections in each source.
struct PackagedLocks: Sendable {
    private var locks: [(source: PackagedSource, text: Bytes)] = []
    /// The sources that cannot be used at all.
    private(set) var problems: [CollectionStatus.Unused] = []

    /// Reads the content of the lock files. Does I/O for sources that are directories.
    init(_ sources: [PackagedSource]) {
        for source in sources {
            do {
                locks.append((source, try source.lockText()))
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
    }

    /// Returns the bundles of one collection, in the order of the sources.
    ///
    /// Does I/O for sources that are directories, because a refresh may have replaced a bundle since the lock file was
    /// read.
    ///
    /// - Parameter problems: an array to which unreadable lock files are appended.
    func bundles(of id: CollectionID, problems: inout [CollectionStatus.Unused]) -> [PackagedBundle] {
        var bundles: [PackagedBundle] = []
        for (source, text) in locks {
            do throws(Failure) {
                let lock = try LockFile.collection(id, in: text, path: source.lockName)
                guard let lock else { continue }
                let bundle = PackagedBundle(id, lock, in: source)
                bundles.append(current(bundle, in: source))
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
        return bundles
    }

    /// Returns the bundles of one collection that the lock files list, in the order of the sources. Does no I/O.
    ///
    /// - Throws: an error if a lock file cannot be read.
    func listed(_ id: CollectionID) throws(Failure) -> [PackagedBundle] {
        var bundles: [PackagedBundle] = []
        for (source, text) in locks {
            let lock = try LockFile.collection(id, in: text, path: source.lockName)
            if let lock { bundles.append(PackagedBundle(id, lock, in: source)) }
        }
        return bundles
    }

    /// Returns a sentence for each packaged snapshot of these collections that is from a different server, and for each
    /// unreadable lock file. A snapshot whose origin is unknown is accepted for every server. Does no I/O.
    func foreign(_ ids: Set<CollectionID>, to server: ServerIdentity) -> [String] {
        var sentences: [String] = []
        for (source, text) in locks {
            do throws(Failure) {
                let lock = try LockFile(parsing: text, path: source.lockName)
                for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) where ids.contains(id) {
                    guard case let found = ServerIdentity(entry.server), found.isServer, found != server
                    else { continue }
                    sentences.append(
                        "\(source.name): \(id): expected data from \(server), found data from \(found); package the "
                            + "collection from the required server")
                }
            } catch {
                sentences.append("\(Self.unreadable(source, error))")
            }
        }
        return sentences
    }

    /// Returns the bundle that is currently in the directory.
    ///
    /// A refresh may have replaced the bundle since the lock file was read. The result then has the entry of its redo
    /// log or of the new lock file.
    private func current(_ bundle: PackagedBundle, in source: PackagedSource) -> PackagedBundle {
        guard case .directory(let path, _) = source.form else { return bundle }
        if let committed = committed(bundle.id, in: source, at: path) { return committed }
        guard (try? bundle.reader()) == nil, let text = try? source.lockText(),
            let entry = try? LockFile.collection(bundle.id, in: text, path: source.lockName), entry != bundle.lock
        else { return bundle }
        return PackagedBundle(bundle.id, entry, in: source)
    }

    /// Returns the bundle of a commit that is in progress or was interrupted; `nil` if there is none.
    ///
    /// A commit writes all its bundles before it replaces the first one, so readers can already use the new ones.
    private func committed(_ id: CollectionID, in source: PackagedSource, at path: String) -> PackagedBundle? {
        guard let log = try? RedoLog.read(in: path), log.staged.contains(id),
            let entry = log.lock.collections[id]
        else { return nil }
        // Try the final name last: a bundle that is renamed between the two attempts is found there.
        for place in [RedoLog.packPath(of: id), entry.bundle.path] {
            let bundle = PackagedBundle(id, entry, in: source, path: place)
            if (try? bundle.reader()) != nil { return bundle }
        }
        return nil
    }

    /// Returns all bundles that the lock files list, in the states that the directories contain now.
    ///
    /// Each lock file is parsed completely and strictly. Does I/O for sources that are directories.
    ///
    /// - Parameters:
    ///   - problems: an array to which unreadable lock files are appended.
    ///   - isWanted: a closure that selects the collections to return.
    func allBundles(
        problems: inout [CollectionStatus.Unused], where isWanted: (CollectionID) -> Bool = { _ in true }
    ) -> [PackagedBundle] {
        var all: [PackagedBundle] = []
        for (source, text) in locks {
            do throws(Failure) {
                let lock = try LockFile(parsing: text, path: source.lockName)
                for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) where isWanted(id) {
                    all.append(current(PackagedBundle(id, entry, in: source), in: source))
                }
            } catch {
                problems.append(Self.unreadable(source, error))
            }
        }
        return all
    }

    private static func unreadable(_ source: PackagedSource, _ error: any Error) -> CollectionStatus.Unused {
        CollectionStatus.Unused(source: .packaged(source.name), timestamp: nil, reason: .unreadableSource("\(error)"))
    }
}

extension PackagedSource {
    /// The path of the lock file; for an embedded one, a name for error messages.
    var lockName: String {
        if case .directory(let path, _) = form { "\(path)/dumps.lock.json" } else { "\(name): dumps.lock.json" }
    }

    func lockText() throws -> Bytes {
        switch form {
        case .embedded(let text, _): return text
        case .directory:
            guard let text = try FileStore.read(lockName, limit: Limits.lockBytes) else {
                throw Failure(
                    .missing, file: lockName, found: "the lock file of the packaged snapshots is missing",
                    remedy: "copy the whole dumps directory into the app")
            }
            return text
        case .absent(let reason):
            throw Failure.noPackagedSnapshots(in: name, reason)
        }
    }
}

extension Failure {
    /// Returns an error for a source that does not exist.
    static func noPackagedSnapshots(in name: String, _ reason: String) -> Self {
        Self(
            .missing, file: name, found: "no packaged snapshots: \(reason)",
            remedy: "add the dumps directory to the app's resources")
    }
}
