import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An import of collections into a dumps directory from sources other than a server.
package struct Import: Sendable {
    package struct Options: Sendable {
        /// The trusted roots and signer for signed collections; by default, no root.
        package var policy = TrustPolicy(roots: TrustAnchors([]))
        /// Files with PEM chains for the verification of signatures.
        package var chains: [String] = []
        /// The time at which chains are verified.
        package var time: Timestamp
        /// The collection of imported files that contain a single collection; `nil` for the one that the files specify.
        package var collection: CollectionID?
        /// The server for a new `dumps.yaml`; `nil` for the default one.
        package var server: String?
        /// The root certificates to trust, for a new `dumps.yaml`.
        package var roots: [SHA256Digest] = []
        /// A function that returns the policy for verifying a dumps directory that is restored with its `dumps.yaml`;
        /// `nil` to use ``policy``.
        package var restoredPolicy: (@Sendable (DumpsConfiguration) throws -> TrustPolicy)?

        package init(time: Timestamp) {
            self.time = time
        }
    }

    /// The result for one collection.
    package struct Outcome: Sendable {
        package let id: CollectionID
        package let result: Result<DumpsTransaction.Taken, any Error>
        package let snapshot: Snapshot?
        package let notes: [String]
    }

    private let transaction: DumpsTransaction
    private var directory: DumpsDirectory { transaction.directory }
    let format: ImportFormat
    let options: Options

    /// Creates an import.
    ///
    /// - Parameters:
    ///   - transaction: a transaction in which nothing was changed yet.
    ///   - options: their policy is that of the settings that were read after the transaction has begun.
    package init(into transaction: DumpsTransaction, from format: ImportFormat, options: Options) {
        self.transaction = transaction
        self.format = format
        self.options = options
    }

    /// Imports the named collections, or all, adds them to `dumps.yaml`, and ends the transaction. Does I/O; uses no
    /// network.
    ///
    /// If the dumps directory does not exist yet and all collections of another one are imported, that directory is
    /// restored exactly, with its `dumps.yaml`.
    ///
    /// - Parameter path: a directory, an archive or a file.
    /// - Throws: `Failure`, also if all bundles together would be too large or if the directory is busy;
    ///   `Failure` for an archive that is damaged or unsafe. In these cases, nothing has changed. An error of a
    ///   single collection is in its outcome.
    package func run(_ path: String, _ names: [CollectionID] = []) throws -> [Outcome] {
        defer { try? transaction.end() }
        try directory.makeScratch()
        do {
            if format == .dumps, names.isEmpty, try !FileStore.exists(directory.configurationPath),
                transaction.before == LockFile()
            {
                let source = DumpsDirectory(try root(of: path, scratch: directory.scratchPath))
                if let text = try source.configurationText() {
                    return try restore(source, text, from: path)
                }
            }
            return try take(offers(path, names), from: path, names)
        } catch {
            throw named(error, of: path)
        }
    }

    private func take(_ offers: [Offered], from path: String, _ names: [CollectionID]) throws -> [Outcome] {
        if let missing = names.first(where: { name in !offers.contains { $0.0 == name } }) {
            throw Failure(
                .usage, file: path, entry: "\(missing)", found: "there is no such collection",
                remedy: [missing].didYouMean(
                    offers.map(\.0), or: "correct the name, or give no names to import all collections"))
        }
        let (isNew, configuration) = (
            try !FileStore.exists(directory.configurationPath), try directory.configurationOrDefault()
        )
        let outcomes = offers.map { id, offer, notes in
            let result = Result { try transaction.take(timely(offer.get()), by: configuration) }
                .mapError { named($0, of: path) }
            return Outcome(id: id, result: result, snapshot: try? offer.get().snapshot, notes: notes)
        }
        let taken = outcomes.filter { (try? $0.result.get()) != nil }.map(\.id)
        guard !taken.isEmpty else { return outcomes }
        try transaction.commit { editor in
            if isNew, let server = options.server { try editor.setServer(server) }
            if isNew { for root in options.roots { try editor.addRoot(root) } }
            _ = try editor.add(taken, attachments: nil)
        }
        return outcomes
    }

    /// Restores a dumps directory with its `dumps.yaml`, the entries of its lock file, the bytes of its bundles, and
    /// files such as `.gitattributes`.
    private func restore(_ source: DumpsDirectory, _ text: String, from path: String) throws -> [Outcome] {
        let configuration = try source.configuration()
        let verifier = BundleVerifier(try options.restoredPolicy.map { try $0(configuration) } ?? options.policy)
        let outcomes = try source.lockFile().collections.sorted { $0.key < $1.key }.map { id, entry in
            var snapshot: Snapshot?
            let result = Result {
                let file = try MappedFile(bundle: source.bundlePath(id))
                let bundle = try verifier.verify(file, of: id, against: entry)
                let found = try verifier.snapshot(of: bundle, as: entry)
                try checkTime(of: found)
                try transaction.stage(file.bytes, of: id, as: entry)
                snapshot = found
                return DumpsTransaction.Taken.created
            }
            return Outcome(id: id, result: result.mapError { named($0, of: path) }, snapshot: snapshot, notes: [])
        }
        guard transaction.after != transaction.before else { return outcomes }
        for (name, content) in try source.documents() { try directory.add(document: name, content) }
        try transaction.commit(configuration, text: text)
        return outcomes
    }

    private func timely(_ offer: DumpsTransaction.Offer) throws(Failure) -> DumpsTransaction.Offer {
        try checkTime(of: offer.snapshot)
        return offer
    }

    /// Refuses a state with a timestamp in the future, which would make every correct later state look like a rollback.
    private func checkTime(of snapshot: Snapshot) throws(Failure) {
        let timestamp = snapshot.timestamp
        guard timestamp > options.time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else { return }
        throw Failure(
            .usage, file: "\(snapshot.collection)",
            found:
                "its timestamp, \(timestamp) (\(timestamp.rfc3339)), is more than a day after the time of the import, "
                + "\(options.time.rfc3339)",
            remedy: "check this machine's clock, or import a correct state")
    }

    /// Converts an error about an unpacked file, so that it names the archive and its entry instead of the temporary
    /// file.
    private func named(_ error: any Error, of path: String) -> any Error {
        let root = "\(directory.scratchPath)/"
        func entry(_ place: String, _ inner: String?) -> String? {
            // The first component is the folder into which the tree was unpacked.
            let inside = String(Substring(place.utf8.dropFirst(root.utf8.count)))
            let name = FileStore.components(of: inside).dropFirst().joined(separator: "/")
            let parts = [name, inner ?? ""].filter { !$0.isEmpty }
            let isDirectory = (try? FileStore.isDirectory(place)) ?? false
            return parts.isEmpty ? nil : parts.joined(separator: isDirectory ? "/" : ": ")
        }
        guard let error = error as? Failure, error.place.utf8.starts(with: root.utf8), !error.isOfSystem else {
            return error
        }
        return error.moved(to: path, entry: entry(error.place, error.entry).map { VisibleText.excerpt($0) })
    }

    private typealias Offered = (CollectionID, Result<DumpsTransaction.Offer, any Error>, notes: [String])

    private func offers(_ path: String, _ names: [CollectionID]) throws -> [Offered] {
        switch format {
        case .firefox, .applicationServices:
            let root = try root(of: path, scratch: directory.scratchPath)
            let tree = DumpTree(root: root, project: format == .firefox ? .firefox : .applicationServices)
            return try tree.collections(names).map { offered($0, $1, from: path) }
        case .changeset:
            let isText = try FileStore.size(path) != nil && !ArchiveFile.isArchive(path)
            let root = isText ? path : try root(of: path, scratch: directory.scratchPath)
            let files = ChangesetFiles(path: root, collection: options.collection)
            return try files.collections(names).map { offered($0, $1, from: path) }
        case .files:
            let root = try root(of: path, scratch: directory.scratchPath)
            return try FilesTree(root: root, collection: options.collection).collections(names)
                .map { offered($0, $1, from: path) }
        case .dumps:
            let source = DumpsDirectory(try root(of: path, scratch: directory.scratchPath))
            return try bundles(of: source, names).map { ($0, $1, []) }
        case .serverZIP: return [try serverZIP(path)]
        }
    }

    private func serverZIP(_ path: String) throws -> Offered {
        guard let id = options.collection ?? ServerZIPFolder.collection(path) else {
            throw Failure(
                .usage, file: path, found: "the collection is unknown, because the name is not like main--markets.zip",
                remedy: "specify the collection with --collection BUCKET/COLLECTION")
        }
        let root = try root(of: path, scratch: directory.scratchPath)
        let folder = AttachmentFolder(root: root, folder: "")
        if try ["manifest.json", "records.json"].allSatisfy({ try FileStore.exists("\(root)/\($0)") }) {
            throw Failure(
                .usage, file: path, found: "this is a bundle, not a server's ZIP file of attachments",
                remedy: "import its dumps directory with --from dumps")
        }
        if let entry = transaction.before.collections[id] {
            let bundle = try directory.bundle(id)
            let snapshot = try BundleVerifier(options.policy).snapshot(of: bundle, as: entry)
            // The directory already contains all records of the collection, so only attachments are read from the ZIP
            // file.
            var held = ImportedCollection(holding: snapshot)
            try folder.gather(into: &held, isCache: true)
            return (
                id, .success(.init(snapshot: snapshot, attachments: held.attachments, origin: entry.server)), held.notes
            )
        }
        return offered(
            id,
            Result {
                var collection = try ServerZIPFolder(root: root).collection(id)
                try folder.gather(into: &collection)
                return collection
            }, from: path)
    }

    private func offered(
        _ id: CollectionID, _ collection: Result<ImportedCollection, any Error>, from path: String
    ) -> Offered {
        var notes: [String] = []
        let offer = Result {
            let collection = try collection.get()
            notes = collection.notes
            return DumpsTransaction.Offer(
                snapshot: try vouched(collection, &notes), attachments: collection.attachments,
                origin: try origin(path))
        }
        return (id, offer, notes)
    }

    /// Verifies the collection if it has signatures and a chain is available.
    ///
    /// In that case, an invalid signature is an error, and never a reason to import the collection as unsigned.
    private func vouched(_ collection: ImportedCollection, _ notes: inout [String]) throws -> Snapshot {
        let unverified = collection.unverified
        var chains = collection.chains
        for path in options.chains {
            guard let chain = try FileStore.read(path, limit: Limits.chainBytes) else {
                throw Failure(
                    .usage, file: path, found: "there is no such file", remedy: "give a PEM file with --chain")
            }
            chains.append(chain)
        }
        let verifier = SnapshotVerifier(options.policy)
        guard !unverified.signatures.isEmpty, !chains.isEmpty else {
            if !unverified.signatures.isEmpty {
                notes.append(
                    "the collection is signed, but its certificate chain is missing, so it was imported as unsigned; "
                        + "pass the chain with --chain"
                )
            }
            return try verifier.believe(unverified, .word(.imported))
        }
        var failure: Failure?
        for chain in chains {
            do throws(Failure) {
                return try verifier.believe(unverified, .kept(chain, verifiedAt: options.time))
            } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? .noSignatures
    }

    /// Returns the name of the source for the lock file. It contains the file name of an archive, but no local path.
    private func origin(_ path: String) throws(Failure) -> String {
        guard try FileStore.size(path) != nil, let name = path.split(separator: "/").last else {
            return format.rawValue
        }
        return "\(format.rawValue): \(name)"
    }
}

/// The formats that can be imported.
package enum ImportFormat: String, CaseIterable, Sendable {
    case firefox
    case applicationServices = "application-services"
    case serverZIP = "server-zip"
    case changeset
    case files
    case dumps

    /// A description of the format for help texts, in one line.
    package var summary: String {
        switch self {
        case .firefox: "Firefox's defaults/settings: a directory, an omni.ja or a .deb"
        case .applicationServices: "the dumps directory of Mozilla's application-services"
        case .serverZIP: "a server's zip of attachments, BUCKET--COLLECTION.zip"
        case .changeset: "saved changesets: JSON, or an export to changesets"
        case .files: "firefox-ios: NAME.json, attachments/NAME/FILE"
        case .dumps: "another dumps directory, git:REV:DIR, or an export to tar.zst"
        }
    }
}

extension Import.Outcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var (status, failure): (String, String?) = ("failed", nil)
        switch result {
        case .success(let taken): status = taken.rawValue
        case .failure(let error): failure = "\(error)"
        }
        try encoder.encode(members: [
            "collection": id, "status": status, "timestamp": snapshot?.timestamp,
            "trust": snapshot?.provenance.kind.rawValue, "notes": notes, "error": failure,
        ])
    }
}
