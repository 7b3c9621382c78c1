import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// The contents of a dumps directory after a successful, a refused or a killed commit.
final class DumpsTransactionTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "dumps-\(UUID().uuidString)")
    private let first: CollectionID
    private let second: CollectionID
    private var directory: DumpsDirectory { DumpsDirectory("\(folder.path)/dumps") }

    init() throws {
        first = try CollectionID("main/a")
        second = try CollectionID("main/b")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Commits both collections at a time that is also the value of their record.
    @discardableResult
    private func commit(
        _ time: UInt64, in directory: DumpsDirectory, total: UInt64? = nil, text: String? = nil
    ) async throws -> LockFile {
        var configuration = DumpsConfiguration()
        configuration.totalBudget = total
        let transaction = try await DumpsTransaction.begin(in: directory)
        defer { try? transaction.end() }
        for id in [first, second] { try stage(id, time, in: transaction) }
        try transaction.commit(configuration, text: text)
        return transaction.after
    }

    private func stage(_ id: CollectionID, _ time: UInt64, in transaction: DumpsTransaction) throws {
        let payload = #"{"data":[{"id":"r","last_modified":\#(time)}],"last_modified":"\#(time)"}"#
        let unverified = UnverifiedSnapshot(
            collection: id, payload: try Payload(parsing: Bytes(utf8: payload)),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: "{}")))
        _ = try transaction.stage(
            Snapshot(vouchingFor: unverified, chain: nil, provenance: .imported), attachments: [:],
            settings: DumpsConfiguration.Collection(id: id, attachments: AttachmentRule()), server: "test")
    }

    /// Leaves a redo log behind, as a killed commit does.
    private func leave(_ log: RedoLog) throws {
        try directory.prepareWork()
        try FileStore.replace(directory.redoLogPath, with: Bytes(log.text))
    }

    private func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            if let data = FileManager.default.contents(atPath: "\(directory.path)/\(path)") { files[path] = data }
        }
        return files
    }

    @Test func commitIsAllOrNothing() async throws {
        try await commit(1, in: directory, text: "version: 1\nserver: dev\ncollections:\n")
        let before = try files()
        #expect(Set(before.keys) == ["dumps.yaml", "dumps.lock.json", "main/a.zip", "main/b.zip"])
        let error = await #expect(throws: Failure.self) {
            try await commit(2, in: directory, total: 10, text: "version: 1\n")
        }
        #expect(error?.excess?.subject == .total)
        #expect(try files() == before)
        // Without a commit, staged data is not used.
        let transaction = try await DumpsTransaction.begin(in: directory)
        try stage(first, 2, in: transaction)
        #expect(transaction.hasStaged(first) && transaction.bundlePath(first) == directory.packPath(first))
        try transaction.end()
        #expect(try files() == before)
        // Identical content does not replace the file.
        let same = try await DumpsTransaction.begin(in: directory)
        try stage(first, 1, in: same)
        #expect(!same.hasStaged(first))
        try same.commit(DumpsConfiguration())
        try same.end()
        #expect(try files() == before)
        let removal = try await DumpsTransaction.begin(in: directory)
        try removal.remove([second])
        try removal.commit(DumpsConfiguration())
        try removal.end()
        #expect(Set(try files().keys) == ["dumps.yaml", "dumps.lock.json", "main/a.zip"])
    }

    /// A commit that replaces `a` and removes `b`, killed after each of its steps.
    @Test(arguments: 0...5) func killedCommitIsCompleted(after step: Int) async throws {
        let old = try await commit(1, in: directory)
        let whole = DumpsDirectory("\(folder.path)/whole")
        try await commit(1, in: whole)
        let transaction = try await DumpsTransaction.begin(in: whole)
        try stage(first, 2, in: transaction)
        try transaction.remove([second])
        try transaction.commit(DumpsConfiguration())
        try transaction.end()
        let new = try whole.lockFile()
        let bundle = try #require(try FileStore.read(whole.bundlePath(first), limit: 1 << 20))

        var log = Bytes(
            RedoLog(
                replaces: SHA256Digest(hashing: Bytes(old.text)), staged: [first], removed: [second], lock: new
            ).text)
        if step == 0 { log = log[0..<(log.count / 2)] }
        try directory.prepareWork()
        try FileStore.replace(directory.packPath(first), with: bundle)
        try FileStore.replace(directory.redoLogPath, with: log)
        if step >= 2 { try FileStore.rename(directory.packPath(first), to: directory.bundlePath(first)) }
        if step >= 3 { try FileStore.replace(directory.lockPath, with: Bytes(new.text)) }
        if step >= 4 { try FileStore.remove(directory.bundlePath(second)) }
        if step >= 5 { try FileStore.remove(directory.redoLogPath) }

        // Readers without write access see the new state as soon as the log is complete.
        let expected = step == 0 ? old : new
        #expect(try directory.readableLock().lock == expected)
        let path = try directory.readablePath(first)
        #expect(try FileStore.digest(of: path) == expected.collections[first]?.bundle.sha256)
        #expect(try await DumpsTransaction.begin(in: directory, isReadOnly: true).before == expected)

        let next = try await DumpsTransaction.begin(in: directory)
        #expect(next.before == expected)
        #expect(next.recovered == ((1...4).contains(step) ? [first, second] : []))
        try next.end()
        #expect(try directory.lockFile() == expected)
        #expect(try FileStore.digest(of: directory.bundlePath(first)) == expected.collections[first]?.bundle.sha256)
        #expect(try FileStore.exists(directory.bundlePath(second)) == (step == 0))
        #expect(try FileStore.list(directory.workPath) == nil)
    }

    /// A commit that also replaces `dumps.yaml`, killed after writing the log, during the replacement, and after it.
    @Test(arguments: 0...2) func transactionKilledWhileReplacingConfiguration(after step: Int) async throws {
        let (yaml, newYAML) = ("version: 1\nserver: dev\ncollections:\n", "version: 1\nserver: stage\ncollections:\n")
        let old = try await commit(1, in: directory, text: yaml)
        let before = try files()
        let whole = DumpsDirectory("\(folder.path)/whole")
        let new = try await commit(2, in: whole, text: newYAML)
        let log = RedoLog(
            replaces: SHA256Digest(hashing: Bytes(old.text)), configuration: SHA256Digest(hashing: Bytes(utf8: yaml)),
            staged: [first, second], removed: [], lock: new)
        try directory.prepareWork()
        for id in [first, second] {
            let bundle = try #require(try FileStore.read(whole.bundlePath(id), limit: 1 << 20))
            try FileStore.replace(directory.packPath(id), with: bundle)
        }
        try FileStore.replace(directory.redoLogPath, with: Bytes(log.text))
        if step == 1 { try FileStore.replace("\(directory.configurationPath).tmp", with: Bytes(utf8: "version")) }
        if step == 2 { try FileStore.replace(directory.configurationPath, with: Bytes(utf8: newYAML)) }

        #expect(try directory.readableLock().lock == (step < 2 ? old : new))
        let next = try await DumpsTransaction.begin(in: directory)
        #expect(next.recovered == (step < 2 ? [] : [first, second]))
        try next.end()
        if step < 2 {
            #expect(try files() == before)
        } else {
            #expect(try directory.lockFile() == new && directory.configurationText() == newYAML)
            #expect(try files().count == before.count)
        }
    }

    /// `git checkout` has replaced the lock file since the commit was killed.
    @Test func outdatedRedoLogIsDropped() async throws {
        try await commit(1, in: directory)
        let lock = try await commit(2, in: directory)
        let before = try files()
        let stale = RedoLog(
            replaces: SHA256Digest(hashing: Bytes(utf8: "another lock file")), staged: [first], removed: [second],
            lock: LockFile())
        try leave(stale)
        #expect(try directory.readableLock().lock == lock)
        try await DumpsTransaction.begin(in: directory).end()
        #expect(try files() == before)
    }

    /// A pull request can contain such a log: repeating an ID 3,000,000 times took 900 MB and 40 s.
    @Test func redoLogWithDuplicatesIsRefused() async throws {
        let lock = try await commit(1, in: directory)
        func text(_ staged: String, _ removed: String = "") -> Bytes {
            let log = RedoLog(replaces: nil, staged: [], removed: [], lock: lock)
            return Bytes(
                utf8: Bytes(log.text).text.replacing(#""staged": []"#, with: #""staged": [\#(staged)]"#)
                    .replacing(#""removed": []"#, with: #""removed": [\#(removed)]"#))
        }
        #expect(try RedoLog(parsing: text(#""main/a", "main/b""#, #""main/c""#), path: "log").collections.count == 3)
        for (staged, removed) in [
            (#""main/a", "main/a""#, ""), (#""main/b", "main/a""#, ""), ("", #""main/a", "main/a""#),
        ] {
            let error = #expect(throws: Failure.self) { try RedoLog(parsing: text(staged, removed), path: "log") }
            #expect(error?.description.contains("without duplicates") == true)
        }
        let many = (0..<270_000).map { "\"a/\(String($0, radix: 36))\"" }.sorted().joined(separator: ",")
        let error = #expect(throws: Failure.self) { try RedoLog(parsing: text(many), path: "log") }
        #expect(error?.code == .overLimit)
        // A refresh removes the log.
        try directory.prepareWork()
        try FileStore.replace(directory.redoLogPath, with: text(#""main/a", "main/a""#))
        try await DumpsTransaction.begin(in: directory).end()
        #expect(try FileStore.list(directory.workPath) == nil)
    }

    /// Stray files: the log of a change interrupted before it took effect, and files in the work directory tracked by
    /// git.
    @Test func redoLogWithoutEffectIsStray() async throws {
        let yaml = "version: 1\nserver: dev\ncollections:\n"
        let lock = try await commit(1, in: directory, text: yaml)
        #expect(try directory.strayFiles(tracked: [], at: "dumps").isEmpty)
        let log = RedoLog(
            replaces: SHA256Digest(hashing: Bytes(lock.text)), configuration: SHA256Digest(hashing: Bytes(utf8: yaml)),
            staged: [], removed: [second], lock: LockFile())
        try leave(log)
        #expect(try directory.strayFiles(tracked: [], at: "dumps").map(\.path) == [".rsdump/next.json"])
        let tracked = [".rsdump/next.json", ".rsdump/other"]
        let strays = try directory.strayFiles(tracked: tracked, at: "it's")
        #expect(strays.map(\.path) == tracked)
        #expect(strays.allSatisfy { $0.problem.hasSuffix(#"git rm -r 'it'\''s/.rsdump'"#) })
    }

    /// Ending a transaction again does not undo later work of another process.
    @Test func transactionEndsOnce() async throws {
        let transaction = try await DumpsTransaction.begin(in: directory)
        try transaction.end()
        try directory.prepareWork()
        try transaction.end()
        #expect(try FileStore.isDirectory(directory.workPath))
        let reader = try await DumpsTransaction.begin(in: directory, isReadOnly: true)
        try reader.end()
        #expect(try FileStore.isDirectory(directory.workPath))
    }

    /// If the staged bundle is missing from the work directory, the collection keeps its state.
    @Test func missingStagedBundleKeepsState() async throws {
        let lock = try await commit(1, in: directory)
        var new = lock
        new.collections[first]?.bundle = .init(
            collection: first, size: 1, sha256: SHA256Digest(hashing: Bytes(utf8: "gone")))
        let log = RedoLog(replaces: SHA256Digest(hashing: Bytes(lock.text)), staged: [first], removed: [], lock: new)
        try leave(log)
        let transaction = try await DumpsTransaction.begin(in: directory)
        #expect(transaction.before == lock)
        try transaction.end()
        #expect(try directory.lockFile() == lock)
    }
}
