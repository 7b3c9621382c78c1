import RemoteSettingsModel
import SnapshotBundle

/// The local file that replaces a collection in this process. It is read again after each change.
final class OverridingFile: Sendable {
    private struct State {
        let identity: FileIdentity?
        let current: CurrentState
        let bundle: BundleReader?
    }

    let path: String
    private let id: CollectionID
    private let session: Session
    private let state = Mutex<State?>(nil)

    /// Returns `nil` if the configuration does not override the collection. Does I/O if an override is a directory.
    init?(_ id: CollectionID, _ session: Session) {
        var paths = session.config.overrides.lazy.flatMap { override -> [String] in
            switch override.form {
            case .file(let collection): (try? session.collectionID(collection)) == id ? [override.path] : []
            case .directory:
                ["json", "zip"].map { "\(override.path)/\(id).\($0)" }.filter { (try? FileStore.size($0)) != nil }
            }
        }.makeIterator()
        guard let path = paths.next() else { return nil }
        self.path = path
        self.id = id
        self.session = session
    }

    private var isBundle: Bool { path.hasSuffix(".zip") }

    /// Returns the content of the file. Does I/O.
    ///
    /// If the file cannot be read, for example while an editor is writing it, the earlier content is kept.
    ///
    /// - Returns: the current state, and the earlier state if this call has replaced it.
    func current() -> (current: CurrentState, before: CurrentState?) {
        let identity = (try? FileStore.identity(path)) ?? nil
        let known = state.withLock { $0 }
        if let known, known.identity == identity { return (known.current, nil) }
        let read = read(identity, after: known)
        return state.withLock { state in
            if let first = state, first.identity == identity { return (first.current, nil) }
            defer { state = read }
            return (read.current, state?.current)
        }
    }

    private func read(_ identity: FileIdentity?, after known: State?) -> State {
        do {
            let bundle = isBundle ? try BundleReader(copying: path) : nil
            let unverified =
                if let bundle {
                    UnverifiedSnapshot(collection: id, payload: try bundle.payload(), metadata: try bundle.metadata())
                } else {
                    try snapshot(ofJSON: identity, after: known?.current.snapshot?.timestamp)
                }
            var current = CurrentState()
            current.serve(
                try session.choice.verifier.believe(unverified, .word(.unsigned)), from: .override(path),
                isVerifiedOnDevice: false)
            session.logger.warning(
                "\(id): OVERRIDDEN by \(Counted.text(unverified.records.count, "unverified record")) from \(path)"
            )
            return State(identity: identity, current: current, bundle: bundle)
        } catch {
            session.logger.error("\(id): OVERRIDDEN, but the file cannot be used: \(error)")
            var current = known?.current ?? CurrentState()
            current.unused = [.init(source: .override(path), timestamp: nil, reason: .damaged("\(error)"))]
            return State(identity: identity, current: current, bundle: known?.bundle)
        }
    }

    /// Parses the JSON file. The snapshot's timestamp is the file's modification time, or slightly later if necessary,
    /// so that an edited file always has a newer timestamp, even after two edits within a millisecond.
    private func snapshot(ofJSON identity: FileIdentity?, after known: Timestamp?) throws -> UnverifiedSnapshot {
        guard let identity, let text = try FileStore.read(path, limit: Limits.changesetBytes) else {
            throw RemoteSettingsError.storage(reason: "\(path): no such file")
        }
        let changed = UInt64(clamping: identity.seconds).saturatingMultiplying(by: 1000)
            .saturatingAdding(UInt64(clamping: identity.nanoseconds / 1_000_000))
        let milliseconds = max(changed, known?.milliseconds.saturatingAdding(1) ?? 0)
        do {
            let head = Array(#"{"metadata":{},"timestamp":\#(milliseconds),"changes":"#.utf8)
            let changeset = Bytes(head + (try records(in: text)).array + [UInt8(ascii: "}")])
            return try Changeset(parsing: changeset).snapshot(of: id, onto: nil)
        } catch {
            throw RemoteSettingsError.storage(
                reason:
                    "\(path): the file must be a JSON array of records, or an object with the array in \"data\": "
                    + "\(error)"
            )
        }
    }

    private func records(in text: Bytes) throws(Failure) -> Bytes {
        var reader = JSONReader(text)
        var (lists, isObject) = ([ExactString: Bytes](), true)
        do throws(Failure) { try reader.beginObject() } catch { isObject = false }
        // Content that is neither an object nor an array is reported later, when it is parsed as an array of records.
        guard isObject else { return text }
        while let key = try reader.nextKey() { lists[key] = try reader.skipValue() }
        try reader.finish()
        return lists["data"] ?? lists["changes"] ?? text
    }

    /// Returns a record's attachment from the bundle, or from the directory beside the JSON file, after checking its
    /// hash; `nil` if there is none. Does I/O.
    func attachment(_ wanted: WantedAttachment) -> Bytes? {
        let found: Bytes?
        if isBundle {
            found = (try? state.withLock { $0 }?.bundle?.attachment(wanted.digest, isTrusted: true)) ?? nil
        } else {
            let file = "\(path.hasSuffix(".json") ? String(path.dropLast(5)) : path + ".files")/\(wanted.record)"
            found = (try? FileStore.read(file, limit: Limits.attachmentBytes)) ?? nil
        }
        guard let found, found.count == wanted.size, SHA256Digest(hashing: found) == wanted.digest else { return nil }
        return found
    }
}
