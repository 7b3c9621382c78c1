import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

struct DumpsDirectoryTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// IDs may contain hyphens, so the names of work files must not depend on where a hyphen is.
    @Test func workFilesAreUniquePerCollection() throws {
        let directory = DumpsDirectory("dumps")
        let ids = try ["a/b--c", "a--b/c", "a--b--c/d", "a/b--c--d"].map { try CollectionID($0) }
        for path in [directory.packPath, directory.serverZIPPath, directory.stagedPath as (CollectionID) -> String] {
            #expect(Set(ids.map(path)).count == ids.count)
        }
    }

    /// A pull request can contain such a link.
    @Test(arguments: ["", "/staging"])
    func workDirectoryLinkIsRefused(place: String) async throws {
        let (precious, dumps) = ("\(folder.path)/precious", "\(folder.path)/dumps")
        try FileManager.default.createDirectory(atPath: "\(precious)/in", withIntermediateDirectories: true)
        let parent = place.isEmpty ? dumps : "\(dumps)/.rsdump"
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: "\(dumps)/.rsdump\(place)", withDestinationPath: precious)
        let directory = DumpsDirectory(dumps)
        #expect(throws: Failure.self) { try directory.prepareWork() }
        await #expect(throws: Failure.self) { try await DumpsTransaction.begin(in: directory) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: precious) == ["in"])
    }

    /// Each edit reads, changes and rewrites the whole dumps.yaml.
    @Test func concurrentConfigurationEditsAreAllKept() async throws {
        let directory = DumpsDirectory("\(folder.path)/dumps")
        let ids = try (0..<24).map { try CollectionID("main/c\($0)") }
        let (first, last) = (ids[..<12], ids[12...])
        // On a busy machine, an edit may time out while it waits for the others.
        @Sendable func edit(_ body: () async throws -> Void) async throws {
            while true {
                do {
                    return try await body()
                } catch let error as Failure where error == .busy(directory.path) {}
            }
        }
        func add(_ ids: some Sequence<CollectionID>) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for id in ids {
                    group.addTask { try await edit { _ = try await directory.addCollections([id], server: "dev") } }
                }
                try await group.waitForAll()
            }
        }
        try await add(first)
        async let added: Void = add(last)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in first { group.addTask { try await edit { try await directory.removeCollections([id]) } } }
            try await group.waitForAll()
        }
        try await added
        #expect(try directory.configuration().collections.map(\.id) == last.sorted())
    }

    @Test func lockedDumpsDirectoryIsBusy() async throws {
        let directory = DumpsDirectory("\(folder.path)/dumps")
        await #expect(throws: Failure.notNamed([], directory.configurationPath, known: [])) {
            try await directory.removeCollections([])
        }
        #expect(try !FileStore.exists(directory.path))
        let transaction = try await DumpsTransaction.begin(in: directory)
        await #expect(throws: Failure.busy(directory.path)) {
            try await DumpsTransaction.begin(in: directory, waiting: .zero)
        }
        // The directory was created for the transaction and is removed because it stayed empty.
        try transaction.end()
        #expect(try !FileStore.exists(directory.path))
    }
}
