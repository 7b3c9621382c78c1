import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettings

/// Threads of one process that change the index concurrently.
final class StorageDirectoryTests: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "storage-\(UUID().uuidString)")
    private let storage: StorageDirectory

    init() { storage = StorageDirectory(path: folder.path) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func add(_ name: String, to index: inout StorageIndex) throws {
        let file = CacheFile(
            collection: try CollectionID("main/\(name)"), server: "https://example.com/v1",
            timestamp: Timestamp(milliseconds: 1), verifiedAt: nil, metadata: Bytes(utf8: "{}"), chain: nil,
            payload: Bytes(utf8: #"{"data":[],"last_modified":"1"}"#))
        index[name].synced.current = storage.add(file, to: &index)
    }

    /// Adds a state while another thread holds the directory lock, so that it is only in memory.
    private func addInMemory(_ name: String) throws {
        let (_, problem) = try storage.update(waiting: .no) { try self.add(name, to: &$0) }
        #expect(problem != nil)
    }

    /// Returns the collections that a new process finds, and whether their files are complete.
    private func stored() -> [String: Bool] {
        let next = StorageDirectory(path: folder.path)
        return next.index().collections.mapValues { $0.synced.current.map(next.isWhole) ?? false }
    }

    @Test func indexChangesOfSeveralThreadsAreMerged() throws {
        let (main, other) = ("before", "while")
        _ = try storage.update(waiting: .no) { try add(main, to: &$0) }
        var calls = 0
        let (_, problem) = try storage.update(waiting: .no) { index in
            calls += 1
            if calls == 1 { try addInMemory(other) }
            index[main].kept = [SHA256Digest(hashing: Bytes(utf8: "\(calls)"))]
        } then: { _ in
            #expect(throws: Never.self) { try self.addInMemory("after") }
        }
        // The change in memory came first, so the closure was called again to apply its change on top.
        #expect(problem == nil && calls == 2)
        #expect(stored() == [main: true, other: true])
        // The later change is only in memory until the next update saves it.
        #expect(Set(storage.index().collections.keys) == [main, other, "after"] && storage.hasUnsaved)
        _ = try storage.update(waiting: .no) { $0[main].kept = [] }
        #expect(stored() == [main: true, other: true, "after": true] && !storage.hasUnsaved)
    }

    /// If a change throws, changes that other threads made meanwhile are kept.
    @Test func failedIndexChangeKeepsOtherThreadsChanges() throws {
        #expect(throws: CancellationError.self) {
            try storage.update(waiting: .no) { index in
                try self.add("refused", to: &index)
                try self.addInMemory("other")
                throw CancellationError()
            }
        }
        _ = try storage.update(waiting: .no) { _ in }
        #expect(stored() == ["other": true])
    }

    /// An index too large to be read does not replace a readable one.
    @Test func tooLargeIndexIsNotWritten() throws {
        _ = try storage.update(waiting: .no) { try add("main", to: &$0) }
        let (_, problem) = try storage.update(waiting: .no) { index in
            index.configs["main/config"] = .array(Array(repeating: .null, count: 1 << 18))
        }
        #expect("\(problem as Any)".contains("262144"))
        #expect(stored() == ["main": true])
        #expect(throws: Failure.self) {
            try storage.update(waiting: .no, mustBeStored: true) { try add("other", to: &$0) }
        }
        _ = try storage.update(waiting: .no) { $0.configs = [:] }
        #expect(stored() == ["main": true] && !storage.hasUnsaved)
    }

    /// A change that could not be written is written when it is repeated.
    @Test func unsavedIndexChangeIsWrittenWhenRepeated() throws {
        _ = try storage.update(waiting: .no) { index in
            try add("one", to: &index)
            try add("two", to: &index)
        }
        _ = try storage.update(waiting: .no) { _ in
        } then: { _ in
            let problem = try? self.storage.update(waiting: .no) { $0["one"] = .init() }.problem
            #expect(problem != nil)
        }
        #expect(stored() == ["one": true, "two": true])
        let (_, problem) = try storage.update(waiting: .no, mustBeStored: true) { $0["one"] = .init() }
        #expect(problem == nil && stored() == ["two": true])
    }

    /// Several threads, each with separate collections, and one that only reads.
    @Test func parallelIndexChangesLoseNoState() async throws {
        let reader = Thread { [storage] in
            while !Thread.current.isCancelled { _ = storage.index() }
        }
        reader.start()
        defer { reader.cancel() }
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for round in 0..<20 {
                        _ = try? self.storage.update(waiting: round % 3 == 0 ? .no : .long, flushing: false) {
                            try self.add("\(thread)-\(round)", to: &$0)
                        }
                    }
                }
            }
        }
        _ = try storage.update(waiting: .long) { _ in }
        let found = stored()
        #expect(found.count == 80 && found.values.allSatisfy(\.self))
    }

    /// A reader uses a state only once the index file lists it, so the state survives if the process is killed.
    @Test func readStateIsListedInIndexFile() {
        // Changes that are only in memory, because the other thread held the lock for too long.
        let unsaved = Mutex<Set<String>>(["other"])
        let writer = Thread { [storage] in
            for round in 0..<60 {
                unsaved.withLock { _ = $0.insert("\(round)") }
                let written = try? storage.update(waiting: .long) { try self.add("\(round)", to: &$0) }
                if let written, written.problem == nil { unsaved.withLock { _ = $0.remove("\(round)") } }
            }
        }
        // This thread's changes are only in memory while the writer holds the lock.
        let other = Thread { [storage] in
            var number = 0
            while !Thread.current.isCancelled {
                number += 1
                _ = try? storage.update(waiting: .no, flushing: false) { index in
                    index["other"].kept = [SHA256Digest(hashing: Bytes(utf8: "\(number)"))]
                }
            }
        }
        writer.start()
        other.start()
        var early: Set<String> = []
        while !writer.isFinished {
            let read = storage.index().collections.keys
            early.formUnion(Set(read).subtracting(StorageDirectory(path: folder.path).index().collections.keys))
        }
        other.cancel()
        while !other.isFinished { FileStore.pause(microseconds: 1000) }
        #expect(storage.index().collections.count == 61)
        #expect(early.subtracting(unsaved.withLock { $0 }).isEmpty)
    }
}
