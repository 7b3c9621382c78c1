import ContentSignature
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Takes snapshots that did not come from a server into a directory of dumps.
///
/// Holds the directory's lock from its making to its end. Each collection is taken or refused by itself; a bundle is
/// written beside its place, read back and renamed, and the lock file comes last.
public final class SnapshotIntake {
    /// A snapshot that is offered.
    public struct Offer: Sendable {
        public let snapshot: Snapshot
        /// The attachments that came with it; the bytes are checked while they are packed.
        public let attachments: [SHA256Digest: AttachmentInput]
        /// Where it came from, for the lock: nothing of this machine.
        public let origin: String

        public init(snapshot: Snapshot, attachments: [SHA256Digest: AttachmentInput], origin: String) {
            self.snapshot = snapshot
            self.attachments = attachments
            self.origin = origin
        }
    }

    public enum Outcome: Hashable, Sendable {
        case created
        case updated
        /// The bundle that is there is the same already, or the same and signed.
        case unchanged
    }

    private let directory: DumpsDirectory
    private let configuration: DumpsConfiguration
    private let limits: Limits
    private let lock: DirectoryLock
    private let isNewDirectory: Bool
    private var lockFile: LockFile
    /// A directory for what is unpacked meanwhile; emptied at the end.
    public let scratch: String

    /// - Throws: ``DumpsError/busy(_:)``, `FileError`, `BundleError` where the lock cannot be read, or
    ///   ``ConfigurationError``.
    public init(_ directory: DumpsDirectory, limits: Limits) throws {
        self.directory = directory
        self.limits = limits
        isNewDirectory = !FileStore.isDirectory(directory.path)
        try FileStore.makeDirectories(directory.path)
        guard let lock = try DirectoryLock(directory.path) else { throw DumpsError.busy(directory.path) }
        self.lock = lock
        scratch = "\(directory.workPath)/import"
        configuration =
            try directory.configurationText().map {
                try ConfigurationReader.read($0, file: directory.configurationPath)
            } ?? DumpsConfiguration()
        lockFile = try directory.recoveredLock(limits: limits).lock
        try directory.prepareWork()
        try FileStore.removeTree(scratch)
        try FileStore.makeDirectories(scratch)
    }

    /// The snapshot that is held, verified by the lock; `nil` where there is none.
    public func held(_ id: CollectionID, by verifier: BundleVerifier) throws -> (Snapshot, LockFile.Collection)? {
        guard let entry = lockFile.collections[id] else { return nil }
        let bundle = try BundleReader(path: directory.bundlePath(id), limits: limits)
        return (try verifier.snapshot(of: bundle, entry), entry)
    }

    /// Packs an offer, unless what is held is better.
    ///
    /// - Throws: ``IntakeError`` where what is held must not be replaced by it; `BundleError` where the bytes of an
    ///   attachment are not those of its record; `FileError`. Then what was held is untouched.
    public func take(_ offer: Offer) throws -> Outcome {
        let snapshot = offer.snapshot
        let id = snapshot.collection
        let held = lockFile.collections[id]
        let present = try? BundleReader(path: directory.bundlePath(id), limits: limits)
        let samePayload = (try? present?.payloadText()) == snapshot.payload.bytes
        let settings = configuration.settings(of: id)
        if let pin = settings.pin, pin.at != snapshot.timestamp {
            throw IntakeError.pinned(id, at: pin.at, offered: snapshot.timestamp)
        }
        if let held {
            try IntakeError.check(offer, against: held, samePayload: samePayload)
            // A signature is not given away for the same records without one.
            if samePayload, held.trust.isSigned, !snapshot.provenance.isSigned { return .unchanged }
        }
        let sources = try sources(offer, settings, present)
        guard let entry = try pack(offer, sources, settings, held: held) else { return .unchanged }
        lockFile.collections[id] = entry
        return held == nil ? .created : .updated
    }

    private func sources(
        _ offer: Offer, _ settings: DumpsConfiguration.Collection, _ present: BundleReader?
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

    /// - Returns: `nil` where the bundle that is there has these bytes already.
    private func pack(
        _ offer: Offer, _ sources: [SHA256Digest: AttachmentInput], _ settings: DumpsConfiguration.Collection,
        held: LockFile.Collection?
    ) throws -> LockFile.Collection? {
        let id = offer.snapshot.collection
        let temporary = directory.packPath(id)
        try FileStore.remove(temporary)
        let written = try BundleWriter(offer.snapshot, attachments: sources, limits: limits).write(
            toNewFile: temporary)
        defer { try? FileStore.remove(temporary) }
        try settings.budget.check(size: written.size, of: written.manifest)
        try checkTotal(id, written.size)
        try BundleReader(path: temporary, limits: limits).verifyContents()
        let entry = LockFile.Collection(
            written, trust: offer.snapshot.provenance, server: offer.origin, attachmentRule: settings.attachments.text)
        let path = directory.bundlePath(id)
        if let held, held.bundle == entry.bundle, held.content == entry.content, FileStore.size(path) == written.size,
            (try? FileStore.digest(of: path)) == written.sha256
        {
            return nil
        }
        try directory.name(id, entry)
        return entry
    }

    /// Holds all bundles together against the budget, with this one as it would be.
    private func checkTotal(_ id: CollectionID, _ size: Int) throws(BudgetExcess) {
        var sizes = lockFile.collections.mapValues { UInt64(clamping: $0.bundle.size) }
        sizes[id] = UInt64(size)
        let total = sizes.values.saturatingSum { $0 }
        guard let limit = configuration.totalBudget, total > limit else { return }
        throw BudgetExcess(
            .total, size: total, limit: limit, contributors: sizes.map { .init(name: "\($0.key)", size: $0.value) })
    }

    /// Writes the lock file where a bundle was taken. Call it once, before ``end()``.
    public func commit() throws {
        if lockFile != (try directory.lockFile(limits: limits)) { try directory.writeLock(lockFile) }
    }

    /// Removes what was only there meanwhile; a directory that was made for nothing too.
    public func end() {
        try? FileStore.removeTree(scratch)
        try? directory.finishWork(keepingDownloads: true)
        if isNewDirectory { try? FileStore.removeIfEmpty(directory.path) }
    }
}
