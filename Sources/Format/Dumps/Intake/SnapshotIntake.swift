import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Adds snapshots that did not come from a server to a dumps directory.
///
/// It holds the directory's lock for as long as it exists. It accepts or refuses each collection separately. Each
/// bundle is written to a temporary file, read back and renamed. The lock file is written last.
package final class SnapshotIntake {
    /// A snapshot to add.
    package struct Offer: Sendable {
        package let snapshot: Snapshot
        /// The attachments that came with it. Their bytes are checked when they are packed.
        package let attachments: [SHA256Digest: AttachmentInput]
        /// The source of the snapshot, for the lock. It must not contain a path of this machine.
        package let origin: String
        /// The guards that the snapshot violates, and that were overridden to accept it.
        package let accepted: [GuardViolation]

        package init(
            snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput], origin: String,
            accepted: [GuardViolation] = []
        ) {
            self.accepted = accepted
            self.snapshot = snapshot
            self.attachments = attachments
            self.origin = origin
        }
    }

    package enum Outcome: Hashable, Sendable {
        case created
        case updated
        /// The current bundle has the same content, or the same records with a signature.
        case unchanged
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let limits: Limits
    private let lock: DirectoryLock
    /// Whether ``commit()`` renames all bundles together.
    private let holdsBack: Bool
    /// The bundles that are not renamed yet, with their entries.
    private var heldBack: [CollectionID: LockFile.Collection] = [:]
    private let isNewDirectory: Bool
    private var lockFile: LockFile
    /// Whether bundles have been renamed that the written lock does not list. Their notes must then stay.
    private var isAheadOfLock: Bool
    /// A temporary directory for unpacked archives; ``end()`` removes it.
    package let scratch: String

    /// Takes the directory's lock.
    ///
    /// - Parameters:
    ///   - new: the configuration for a directory that does not have a `dumps.yaml` yet.
    ///   - takesTogether: whether to rename all bundles together in ``commit()``. If the snapshots form a catalogue,
    ///     this is always done.
    /// - Throws: ``DumpsError/busy(_:)``, `FileError`, `BundleError` if the lock cannot be read, or
    ///   ``ConfigurationError``.
    package init(
        _ directory: DumpsDirectory, new: DumpsConfiguration = DumpsConfiguration(), takesTogether: Bool = false,
        limits: Limits
    ) throws {
        self.directory = directory
        self.limits = limits
        isNewDirectory = try !FileStore.isDirectory(directory.path)
        try FileStore.makeDirectories(directory.path)
        guard let lock = try DirectoryLock(directory.path) else { throw DumpsError.busy(directory.path) }
        self.lock = lock
        scratch = "\(directory.workPath)/import"
        configuration =
            try directory.configurationText().map {
                try ConfigurationReader.read($0, file: directory.configurationPath)
            } ?? new
        holdsBack = takesTogether || configuration.catalogue != nil
        try directory.finishReplacing(limits: limits)
        let (lockFile, recovered) = try directory.recoveredLock(limits: limits)
        self.lockFile = lockFile
        isAheadOfLock = !recovered.isEmpty
        try directory.prepareWork()
        try FileStore.removeTree(scratch, below: directory.path)
        try FileStore.makeDirectories(scratch, below: directory.path)
    }

    /// The current bundle and its entry; `nil` if there is none. Nothing is verified.
    package func bundle(of id: CollectionID) throws -> (BundleReader, LockFile.Collection)? {
        guard let entry = lockFile.collections[id] else { return nil }
        return (try BundleReader(path: directory.bundlePath(id), limits: limits), entry)
    }

    /// The lock entries of the collections as they will be written.
    package var entries: [CollectionID: LockFile.Collection] { lockFile.collections }

    /// The state of a collection as a catalogue lists it; `nil` if there is none. Nothing is verified.
    ///
    /// - Throws: `BundleError` if its bundle cannot be read, or is not the one in the lock.
    package func listedState(of id: CollectionID) throws(BundleError) -> Catalogue.Entry? {
        guard let entry = lockFile.collections[id] else { return nil }
        return try directory.listedState(of: id, entry, isPacked: heldBack[id] != nil, limits: limits)
    }

    /// Checks the catalogue, as `DumpsDirectory.checkCatalogue(_:roots:limits:)` does.
    package func checkCatalogue(roots: TrustAnchors) throws {
        try directory.checkCatalogue(lockFile, roots: roots, limits: limits)
    }

    /// Packs an offered snapshot, unless the current bundle is better.
    ///
    /// - Throws: ``DumpsError`` if it must not replace the current bundle; `BundleError` if an attachment does not
    ///   match its record; `FileError`. The current bundle then stays as it is.
    package func accept(_ offer: Offer) throws -> Outcome {
        let snapshot = offer.snapshot
        let id = snapshot.collection
        let held = lockFile.collections[id]
        let present = try presentBundle(id)
        let samePayload = present?.reader.hasPayload(snapshot.payload) ?? false
        let settings = configuration.settings(of: id)
        if let pin = settings.pin, pin.at != snapshot.timestamp {
            throw DumpsError.refused(
                id, expected: "\(pin.at), at which dumps.yaml pins it", found: "\(snapshot.timestamp)",
                remedy: "remove the pin first: rsdump pin \(id) --remove")
        }
        if let held {
            try check(snapshot, against: held, samePayload: samePayload)
            // Unsigned records must not replace the same records with a signature.
            if samePayload, held.trust.isSigned, !snapshot.provenance.isSigned { return .unchanged }
        }
        let sources = try sources(offer, settings: settings, present: present?.reader)
        guard let entry = try pack(offer, sources: sources, present: present, settings: settings, held: held) else {
            return .unchanged
        }
        lockFile.collections[id] = entry
        return held == nil ? .created : .updated
    }

    private func check(
        _ snapshot: Snapshot, against held: LockFile.Collection, samePayload: Bool
    ) throws(DumpsError) {
        // The timestamp of an unsigned state proves nothing against a signed one.
        guard held.trust.isSigned || !snapshot.provenance.isSigned else { return }
        let (id, offered) = (snapshot.collection, snapshot.timestamp)
        let removal = "if this is intended, remove the collection first: rsdump remove \(id)"
        guard offered >= held.timestamp else {
            throw .refused(
                id, expected: "at least \(held.timestamp) (\(held.timestamp.rfc3339)), the current timestamp",
                found: "\(offered) (\(offered.rfc3339))", remedy: removal)
        }
        guard held.trust.isSigned, !samePayload else { return }
        guard snapshot.provenance.isSigned else {
            throw .refused(
                id, expected: "a signature, because the current bundle has one", found: "none", remedy: removal)
        }
        guard offered > held.timestamp else {
            throw .refused(
                id, expected: "the current records of \(held.timestamp)", found: "other signed records",
                remedy: "the current bundle is kept; ask the server's owner which records are correct")
        }
    }

    /// The current bundle; `nil` if there is none, or if it is damaged and may be replaced.
    ///
    /// A bundle that cannot be read at the moment says nothing about an offer, so it is an error.
    private func presentBundle(_ id: CollectionID) throws -> BundleAtHand? {
        let path = directory.bundlePath(id)
        guard case .file? = try FileStore.kind(path) else { return nil }
        do throws(BundleError) {
            return try BundleAtHand(path: path, limits: limits)
        } catch {
            guard error.kind != .unreadable else { throw error }
            return nil
        }
    }

    private func sources(
        _ offer: Offer, settings: DumpsConfiguration.Collection, present: BundleReader?
    ) throws -> [SHA256Digest: AttachmentInput] {
        let (wanted, omitted) = try AttachmentSelector(settings.attachments).select(offer.snapshot.records)
        try settings.budget.check(wanted.filter { offer.attachments[$0.digest] != nil })
        var sources = omitted.mapValues { AttachmentInput.omitted($0) }
        for attachment in wanted {
            if let source = offer.attachments[attachment.digest] {
                sources[attachment.digest] = source
            } else if let present, try present.attachmentSize(attachment.digest) == attachment.size {
                sources[attachment.digest] = .bundle(present)
            } else {
                sources[attachment.digest] = .omitted(.notImported)
            }
        }
        return sources
    }

    /// Packs a snapshot.
    ///
    /// - Returns: `nil` if the current bundle has the same content.
    private func pack(
        _ offer: Offer, sources: [SHA256Digest: AttachmentInput], present: BundleAtHand?,
        settings: DumpsConfiguration.Collection, held: LockFile.Collection?
    ) throws -> LockFile.Collection? {
        let id = offer.snapshot.collection
        defer { if heldBack[id] == nil { try? FileStore.remove(directory.packPath(id)) } }
        var entry = try directory.pack(
            offer.snapshot, attachments: sources, settings: settings, server: offer.origin,
            limits: limits)
        let isSameState = present?.reader.hasPayload(offer.snapshot.payload) ?? false
        entry.accepted = isSameState ? held?.accepted ?? [] : offer.accepted.map(\.sentence)
        try checkTotal(id, entry.bundle.size)
        if let held, present?.isFile(of: entry, lockedAs: held) == true { return nil }
        if holdsBack {
            heldBack[id] = entry
        } else {
            isAheadOfLock = true
            try directory.replaceBundle(of: id, with: entry)
        }
        return entry
    }

    /// Checks the total size against the budget, with this bundle's new size.
    private func checkTotal(_ id: CollectionID, _ size: Int) throws(BudgetExcess) {
        var sizes = lockFile.collections.mapValues { UInt64(clamping: $0.bundle.size) }
        sizes[id] = UInt64(size)
        let total = sizes.values.saturatingSum { $0 }
        guard let limit = configuration.totalBudget, total > limit else { return }
        throw BudgetExcess(
            .total, size: total, limit: limit, contributors: sizes.map { .init(name: "\($0.key)", size: $0.value) })
    }

    /// Renames the bundles that were held back, and writes the lock file if a bundle changed. Call it once, before
    /// ``end()``.
    ///
    /// - Parameter catalogue: the catalogue that the caller has made of the collections; `nil` if the lock keeps naming
    ///   the current catalogue.
    package func commit(catalogue: LockFile.CatalogueReference? = nil) throws {
        if !heldBack.isEmpty {
            isAheadOfLock = true
            try directory.replaceBundles(with: heldBack, catalogue: catalogue)
        }
        lockFile.catalogue =
            configuration.catalogue == nil
            ? nil : try catalogue ?? directory.packagedCatalogue(lockFile, limits: limits)
        if lockFile != (try directory.lockFile(limits: limits)) { try directory.writeLock(lockFile) }
        isAheadOfLock = false
    }

    /// Removes temporary files, and also the directory itself if it was created and stayed empty.
    ///
    /// If the lock could not be written, the notes stay, and the next run adds the bundles to the lock.
    package func end() {
        try? FileStore.removeTree(scratch, below: directory.path)
        guard !isAheadOfLock else { return }
        try? directory.finishWork(keepingDownloads: true)
        if isNewDirectory { try? FileStore.removeIfEmpty(directory.path) }
    }
}
