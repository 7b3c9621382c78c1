import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// What the packaged sources have, by their locks.
struct PackagedIndex: Sendable {
    /// One collection in one source, as its lock describes it. Its bundle has not been opened.
    struct Entry: Sendable {
        let source: PackagedSource
        let lock: LockFile.Collection
        private let place: Place

        private enum Place: Sendable {
            case memory(Bytes?)
            case file(String)
        }

        /// Whether nobody can change the bundle who could not change the program as well.
        let isTrusted: Bool
        /// Whether the lock says that the bundle is signed.
        var isSigned: Bool { lock.trust.isSigned }
        /// Whether who packaged it vouches for it, where it was imported without a signature.
        var acceptsImported: Bool { isTrusted && source.acceptsImported }

        init(source: PackagedSource, id: CollectionID, lock: LockFile.Collection) {
            self.source = source
            self.lock = lock
            switch source.form {
            case .embedded(_, let bundles):
                place = .memory(bundles[id])
                isTrusted = true
            case .directory(let path, let isTrusted):
                place = .file("\(path)/\(lock.bundle.path)")
                self.isTrusted = isTrusted
            case .absent:
                place = .memory(nil)
                isTrusted = false
            }
        }

        /// Opens the bundle, and checks that it is the one that the lock means as far as its first bytes tell.
        func open(_ id: CollectionID, limits: Limits) throws(BundleError) -> BundleReader {
            let reader: BundleReader
            switch place {
            case .memory(nil):
                throw BundleError(
                    .missing, file: source.name, entry: "\(id)", expected: "the bundle that the lock lists",
                    found: "none")
            case .memory(let bytes?):
                reader = try BundleReader(bytes: bytes, name: "\(source.name): \(id)", limits: limits)
            case .file(let path): reader = try BundleReader(path: path, limits: limits)
            }
            let head = reader.head
            guard head.collection == id, head.timestamp == lock.timestamp, head.trust == lock.trust.kind else {
                throw BundleError(
                    .disagreement, file: reader.name,
                    expected: "\(id) at \(lock.timestamp), \(lock.trust.kind.rawValue), as the lock says",
                    found: "\(head.collection) at \(head.timestamp), \(head.trust.rawValue)")
            }
            return reader
        }
    }

    /// A source that cannot be used at all.
    struct Problem: Sendable {
        var source: String
        var reason: String
    }

    private struct Source: Sendable {
        var source: PackagedSource
        var path: String
        var lock: Bytes
    }

    private var sources: [Source] = []
    private(set) var problems: [Problem] = []
    private let limits: Limits

    /// Reads the locks' texts. Does I/O for sources that are directories.
    init(_ sources: [PackagedSource], limits: Limits) {
        self.limits = limits
        for source in sources {
            do {
                let (lock, path) = try Self.lock(of: source, limits: limits)
                self.sources.append(Source(source: source, path: path, lock: lock))
            } catch {
                problems.append(Problem(source: source.name, reason: "\(error)"))
            }
        }
    }

    /// What the sources have of one collection, newest first; of the same time, in the order of the sources. No I/O.
    ///
    /// - Parameter problems: gets those of locks that cannot be read.
    func entries(_ id: CollectionID, problems: inout [Problem]) -> [Entry] {
        var entries: [Entry] = []
        for source in sources {
            do throws(BundleError) {
                guard let lock = try LockFile.collection(id, in: source.lock, path: source.path, limits: limits) else {
                    continue
                }
                entries.append(Entry(source: source.source, id: id, lock: lock))
            } catch {
                problems.append(Problem(source: source.source.name, reason: "\(error)"))
            }
        }
        // The sort is stable.
        return entries.sorted { $0.lock.timestamp > $1.lock.timestamp }
    }

    /// Everything that the locks list, each read as a whole and strictly. No I/O.
    func all(problems: inout [Problem]) -> [(id: CollectionID, entry: Entry)] {
        var all: [(id: CollectionID, entry: Entry)] = []
        for source in sources {
            do throws(BundleError) {
                let lock = try LockFile(parsing: source.lock, path: source.path, limits: limits)
                for (id, collection) in lock.collections.sorted(by: { $0.key < $1.key }) {
                    all.append((id, Entry(source: source.source, id: id, lock: collection)))
                }
            } catch {
                problems.append(Problem(source: source.source.name, reason: "\(error)"))
            }
        }
        return all
    }

    private static func lock(of source: PackagedSource, limits: Limits) throws -> (text: Bytes, path: String) {
        switch source.form {
        case .embedded(let text, _):
            return (text, "\(source.name): dumps.lock.json")
        case .directory(let directory, _):
            let path = "\(directory)/dumps.lock.json"
            guard let text = try FileStore.read(path, limit: limits.lockBytes) else {
                throw BundleError(
                    .missing, file: path, expected: "the lock of packaged snapshots", found: "no such file")
            }
            return (text, path)
        case .absent(let reason):
            throw BundleError(.missing, file: source.name, expected: "packaged snapshots", found: reason)
        }
    }
}
