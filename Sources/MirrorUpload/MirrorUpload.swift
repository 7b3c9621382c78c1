import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Uploads a mirror to an object store, in an order in which every reader sees one state.
///
/// Content goes first, under names that nobody knows yet. The names that readers know come next. The list of
/// collections comes last and makes the new state visible. An object that no state names any more stays until no cache
/// can name it.
///
/// A state object in the store records what uploads put there, and which upload is at work. If the store has
/// conditional writes, that object and the list of collections are written only if they have not changed since they
/// were read.
package struct MirrorUpload: Sendable {
    package struct Options: Sendable {
        /// How long objects that no state names are kept, in seconds.
        package var keepSeconds = 30 * 86_400
        /// Whether a collection may go back to an older state.
        package var allowsOlder = false
        /// Whether objects that no upload put there may be replaced.
        package var adopts = false

        package init() {}
    }

    /// What an upload did.
    package struct Report: Sendable {
        package let store: String
        package let tree: String
        /// The state that the store now has.
        package let collections: [CollectionID: Timestamp]
        /// The number of objects written. Their size in bytes follows.
        package var written = 0
        package var bytes = 0
        /// The number of objects of the mirror that the store already had.
        package var present = 0
        package var removed = 0
        /// The number of objects that no state names, but that are kept for readers of older states.
        package var kept = 0
        /// Whether the store already had the mirror.
        package var isUnchanged: Bool { written == 0 && removed == 0 }
        package var notes: [String] = []
    }

    /// How long an upload reserves the store for itself, counted from its last sign of life.
    static let leaseSeconds: UInt64 = 120
    /// How much the clocks of different machines may differ.
    private static let skewSeconds: UInt64 = 600
    /// How long an upload waits for another upload to end.
    private static let patience = Duration.seconds(600)
    /// How long an upload waits for processes that a killed upload has left on this machine.
    private static let folderPatience = Duration.seconds(90)
    /// The prefix of folders for temporary files. A publication of the mirror removes such folders too.
    private static let scratchPrefix = ".new-upload"
    private static let batchObjects = 500
    private static let batchBytes = 128 << 20

    private let folder: String
    private let client: any StoreClient
    private let options: Options
    private let environment: HTTPEnvironment
    private let note: @Sendable (String) -> Void
    private var store: String { "\(client.place)" }
    /// The file in which an upload keeps its token. By it, the next upload from this folder recognises a dead one as
    /// its own.
    private var tokenPath: String { "\(folder)/upload-\(SHA256Digest(hashing: Bytes(utf8: store)).hex.prefix(16))" }

    /// - Parameters:
    ///   - folder: the mirror's folder; an absolute path.
    ///   - note: gets a line of progress.
    package init(
        _ folder: String, to client: any StoreClient, options: Options = Options(),
        environment: HTTPEnvironment = .system, note: @escaping @Sendable (String) -> Void
    ) {
        self.folder = folder
        self.client = client
        self.options = options
        self.environment = environment
        self.note = note
    }

    /// The store's state object as it was last read or written.
    private struct Held {
        var state: StoreState
        /// The tag of the object; `nil` if the store has none.
        var tag: String?
    }

    /// The collections of the last state that was uploaded completely. Does I/O and uses the network.
    ///
    /// - Throws: ``UploadError`` or `FileError`.
    package func uploaded() async throws -> [CollectionID: Timestamp] {
        guard try await client.list()[StoreState.key] != nil else { return [:] }
        let scratch = try FileStore.makeTemporaryDirectory("rsdump-upload")
        defer { try? FileStore.removeTree(scratch) }
        return try await readState(scratch).state.visible
    }

    /// Uploads what has changed. Does I/O and uses the network.
    ///
    /// If a run is killed at any moment, readers see either the old or the new state, and the next run completes the
    /// upload.
    ///
    /// - Throws: ``UploadError`` or `FileError`.
    package func run() async throws -> Report {
        guard try FileStore.isDirectory(folder) else {
            throw UploadError.notAMirror(folder, problem: "found no folder")
        }
        let lock = try await folderLock()
        defer { withExtendedLifetime(lock) {} }
        return try await inScratch { scratch in try await run(scratch) }
    }

    private func run(_ scratch: String) async throws -> Report {
        let mirror = try MirrorObjects(readingFrom: folder)
        guard options.keepSeconds >= mirror.longestCacheSeconds else {
            throw UploadError.keepTooShort(seconds: options.keepSeconds, least: mirror.longestCacheSeconds)
        }
        let (listing, found) = try await waitForOthers(scratch)
        var held = found
        if held.tag == nil, !options.adopts, let foreign = mirror.objects.first(where: { listing[$0.key] != nil }) {
            throw UploadError.foreign(key: foreign.key, store: store)
        }
        if !options.allowsOlder { try checkAge(mirror, held.state) }
        let plan = try UploadPlan(
            mirror, listing: listing, state: held.state, now: environment.now(), keepSeconds: options.keepSeconds)
        var report = Report(store: store, tree: mirror.tree, collections: mirror.collections)
        report.present = plan.present.count
        report.kept = plan.superseded.count - plan.removals.count
        let isKnown = Set(plan.superseded.keys).isSubset(of: held.state.superseded.keys)
        guard !plan.writes.isEmpty || !plan.removals.isEmpty || held.state.uploader != nil || !isKnown else {
            return report
        }

        // From here on, the store is reserved for this upload.
        let token = newToken()
        try FileStore.replace(tokenPath, with: Bytes(utf8: token), isPrivate: true)
        held.state.uploader = .init(token: token, until: deadline())
        held.state.objects.merge(plan.present) { _, present in present }
        held.state.pending.formUnion(plan.writes.map(\.key))
        held.state.pending.subtract(plan.present.keys)
        held.state.superseded = plan.superseded
        held.state.collections = mirror.collections
        try await write(&held, scratch)
        let isConditional = if held.state.isConditional { true } else { try await hasConditions(scratch) }
        held.state.isConditional = isConditional
        if !isConditional {
            report.notes.append(
                "\(store) has no conditional writes; of two uploads at the same moment one may go unnoticed")
            // The last upload that wrote the state has the store. After this pause all have written, and the others see
            // it.
            try await environment.sleep(.seconds(2))
            try await renew(&held, isConditional, scratch)
        }

        let phases = Dictionary(grouping: plan.writes, by: \.phase)
        var lastSign = environment.uptime()
        for phase in [UploadObject.Phase.content, .state, .current, .root] {
            for batches in batches(of: phases[phase] ?? []) {
                if environment.uptime() - lastSign > .seconds(Int(Self.leaseSeconds) / 3) {
                    try await renew(&held, isConditional, scratch)
                    lastSign = environment.uptime()
                }
                _ = try await batches.concurrentMap(width: 3) { batch in try await upload(batch, scratch) }
            }
        }
        try await renew(&held, isConditional, scratch)
        _ = try await (phases[.monitor] ?? []).concurrentMap(width: 4) { object in
            try await show(object, over: listing[object.key], isConditional)
        }
        if !plan.removals.isEmpty { try await client.remove(plan.removals, scratch: scratch) }

        for object in plan.writes { held.state.objects[object.key] = object.identity }
        for key in plan.removals {
            held.state.objects[key] = nil
            held.state.superseded[key] = nil
        }
        let isThere = Set(listing.keys).union(plan.writes.map(\.key)).subtracting(plan.removals)
        held.state.objects = held.state.objects.filter { isThere.contains($0.key) }
        held.state.pending = []
        held.state.tree = mirror.tree
        held.state.visible = mirror.collections
        held.state.uploader = nil
        try await write(&held, scratch)
        try FileStore.remove(tokenPath)
        report.written = plan.writes.count
        report.bytes = plan.writes.saturatingSum(\.size)
        report.removed = plan.removals.count
        return report
    }

    /// Makes a state visible to the readers of this list of collections.
    private func show(_ object: UploadObject, over found: StoredObject?, _ isConditional: Bool) async throws {
        try check(object)
        let condition: WriteCondition =
            if !isConditional { .always } else if let found {
                found.tag.map(WriteCondition.ifUnchanged) ?? .always
            } else {
                .ifAbsent
            }
        guard try await client.write(object.key, from: object.file, object.headers, condition) != nil else {
            throw UploadError.overtaken(key: object.key, store: store)
        }
    }

    /// Refuses a mirror that would take readers back to an older state.
    private func checkAge(_ mirror: MirrorObjects, _ state: StoreState) throws(UploadError) {
        for (id, timestamp) in mirror.collections.sorted(by: { $0.key < $1.key }) {
            guard let stored = state.collections[id], stored > timestamp else { continue }
            throw .older(id, stored: stored, mirror: timestamp, store: store)
        }
    }

    // MARK: Others

    /// Reserves this folder for this process, and waits until what a killed upload has left running stops writing.
    private func folderLock() async throws -> DirectoryLock {
        let start = environment.uptime()
        while true {
            if let lock = try DirectoryLock(folder), try StandardInputLock.take("\(folder)/upload-lock") {
                for name in try FileStore.list(folder) ?? [] where name.hasPrefix(Self.scratchPrefix) {
                    try FileStore.removeTree("\(folder)/\(name)")
                }
                return lock
            }
            guard environment.uptime() - start < Self.folderPatience else { throw UploadError.folderBusy(folder) }
            try await environment.sleep(.milliseconds(200))
        }
    }

    /// The listing and the state, as soon as no other upload is at work.
    private func waitForOthers(_ scratch: String) async throws -> ([String: StoredObject], Held) {
        let own = try FileStore.read(tokenPath, limit: 1024).map { String(decoding: $0.array, as: UTF8.self) }
        let start = environment.uptime()
        var (seen, since): (StoreState.Uploader?, Duration) = (nil, start)
        var pause = Duration.milliseconds(500)
        while true {
            let listing = try await client.list()
            let held =
                listing[StoreState.key] == nil ? Held(state: StoreState(), tag: nil) : try await readState(scratch)
            guard let uploader = held.state.uploader, uploader.token != own else { return (listing, held) }
            // The other upload is over if it shows no sign of life for its lease, by this machine's clock alone, or if
            // its time ended long ago.
            let now = environment.uptime()
            if seen != uploader {
                if seen == nil { note("\(store): another upload is under way; waiting for its end") }
                (seen, since) = (uploader, now)
            }
            let isLongOver = uploader.until.milliseconds / 1000 + Self.skewSeconds < environment.now().seconds
            guard !isLongOver, now - since < .seconds(Int(Self.leaseSeconds)) else { return (listing, held) }
            guard now - start < Self.patience else { throw UploadError.storeBusy(store) }
            try await environment.sleep(pause)
            pause = min(pause * 2, .seconds(5))
        }
    }

    private func newToken() -> String {
        (0..<4).map { _ in String(UInt32(environment.random() * 4_294_967_295), radix: 36) }.joined(separator: "-")
    }

    private func deadline() -> Timestamp { environment.now().advanced(by: .seconds(Int(Self.leaseSeconds))) }

    /// Records that this upload is still at work. Throws if another one has taken over.
    private func renew(_ held: inout Held, _ isConditional: Bool, _ scratch: String) async throws {
        if !isConditional {
            let found = try await readState(scratch)
            guard found.state.uploader?.token == held.state.uploader?.token else {
                throw UploadError.overtaken(key: StoreState.key, store: store)
            }
        }
        held.state.uploader?.until = deadline()
        try await write(&held, scratch, isConditional: isConditional)
    }

    /// Whether the store obeys conditions: it must refuse to write an object "only if absent" that is already there.
    private func hasConditions(_ scratch: String) async throws -> Bool {
        let file = "\(scratch)/state.json"
        return try await client.write(StoreState.key, from: file, StoreState.headers, .ifAbsent) == nil
    }

    // MARK: The state object

    private func readState(_ scratch: String) async throws -> Held {
        let file = "\(scratch)/found.json"
        let tag = try await client.read(StoreState.key, to: file)
        let document = try FileStore.read(file, limit: Limits().lockBytes * 4) ?? Bytes([])
        do throws(StateProblem) {
            return Held(state: try StoreState(parsing: document), tag: tag)
        } catch {
            throw UploadError.badState(key: StoreState.key, store: store, problem: error.text)
        }
    }

    private func write(_ held: inout Held, _ scratch: String, isConditional: Bool = true) async throws {
        let file = "\(scratch)/state.json"
        try FileStore.replace(file, with: held.state.document, flushing: false)
        let condition: WriteCondition = isConditional ? held.tag.map(WriteCondition.ifUnchanged) ?? .ifAbsent : .always
        guard let tag = try await client.write(StoreState.key, from: file, StoreState.headers, condition) else {
            throw UploadError.overtaken(key: StoreState.key, store: store)
        }
        held.tag = tag
    }

    // MARK: Objects

    /// The files of each run of the client, which all have the same headers and are limited in number and size.
    ///
    /// Each inner list is one run. The runs of an outer list go on at the same time.
    private func batches(of objects: [UploadObject]) -> [[[UploadObject]]] {
        var batches: [[UploadObject]] = []
        for (_, group) in Dictionary(grouping: objects, by: \.headers).sorted(by: { $0.value[0].key < $1.value[0].key })
        {
            var (batch, bytes) = ([UploadObject](), 0)
            for object in group {
                if batch.count == Self.batchObjects
                    || (!batch.isEmpty && bytes > Self.batchBytes - min(object.size, Self.batchBytes))
                {
                    batches.append(batch)
                    (batch, bytes) = ([], 0)
                }
                batch.append(object)
                bytes = bytes.addingReportingOverflow(object.size).partialValue
            }
            batches.append(batch)
        }
        return stride(from: 0, to: batches.count, by: 3).map { Array(batches[$0..<min($0 + 3, batches.count)]) }
    }

    private func upload(_ batch: [UploadObject], _ scratch: String) async throws {
        guard let first = batch.first else { return }
        let stage = try FileStore.makeUniqueDirectory("\(scratch)/stage")
        for object in batch {
            try check(object)
            let path = "\(stage)/\(object.key)"
            try FileStore.makeDirectories(FileStore.parent(of: path))
            try FileStore.link(object.file, as: path)
        }
        try await client.writeAll(in: stage, first.headers)
        try FileStore.removeTree(stage)
    }

    /// Refuses a file that was damaged since it was written, because it would reach every reader.
    private func check(_ object: UploadObject) throws {
        let sums = try ContentSums(of: object.file)
        guard sums.size == object.size, sums.sha256 == object.sha256 else { throw UploadError.damaged(object.file) }
    }

    /// Runs with a folder for temporary files. If the run is killed, the next publication of the mirror removes the
    /// folder.
    private func inScratch<Value>(_ body: (String) async throws -> Value) async throws -> Value {
        let scratch = try FileStore.makeUniqueDirectory("\(folder)/\(Self.scratchPrefix)")
        defer { try? FileStore.removeTree(scratch) }
        return try await body(scratch)
    }
}
