@testable import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct BundleHistoryTests {
    @Test func bundlesOfTheGitHistory() async throws {
        let tree = try WorkTree()
        let bundles = try [10, 20, 30].map { try SmallBundle(timestamp: $0) }
        let repository = try await tree.repository(of: 10, 20, 30)
        let listing = try await BundleHistory([.git(repository)]).bundles(of: bundles[0].id)
        #expect(listing.unusable.isEmpty)
        #expect(listing.bundles.map(\.timestamp.milliseconds) == [30, 20, 10])
        for (found, bundle) in zip(listing.bundles, bundles.reversed()) {
            let reader = try await found.open()
            #expect(reader.head.timestamp == bundle.entry.timestamp)
            #expect(try reader.verifyContents().head == reader.head)
            #expect(try await found.lockEntry() == bundle.entry)
        }
        #expect(try await BundleHistory([.git(repository)]).bundles(of: CollectionID("main/other")).bundles.isEmpty)
    }

    @Test func historyWithoutLockFileUsesManifest() async throws {
        let tree = try WorkTree()
        for (second, timestamp) in [UInt64(10), 20].enumerated() {
            try tree.write(SmallBundle(timestamp: timestamp).bytes, to: "main/markets.zip")
            try tree.commit("state", second: second)
        }
        let repository = try await GitRepository(containing: tree.dumps)
        let listing = try await BundleHistory([.git(repository)]).bundles(of: CollectionID("main/markets"))
        #expect(listing.bundles.map(\.timestamp.milliseconds) == [20, 10])
        #expect(try await listing.bundles[0].lockEntry() == nil)
    }

    @Test func historyCommitWithMismatchedLock() async throws {
        let tree = try WorkTree()
        // The sizes are equal, so only the hash and the content differ.
        let (locked, committed) = (try SmallBundle(timestamp: 11), try SmallBundle(timestamp: 12))
        try #require(locked.bytes.count == committed.bytes.count)
        try tree.write(locked)
        try tree.write(committed.bytes, to: "main/markets.zip")
        try tree.commit("a lock of another state", second: 1)
        let repository = try await GitRepository(containing: tree.dumps)
        let found = try #require(try await BundleHistory([.git(repository)]).bundles(of: locked.id).bundles.first)
        #expect(try await found.lockEntry() == nil)
        let error = await #expect(throws: Failure.self) { try await found.open() }
        #expect(error.map(FailureClass.init) == .bundle)
    }

    @Test func historySkipsFilesThatAreNoBundles() async throws {
        let tree = try WorkTree()
        try tree.write(Array("no bundle".utf8), to: "main/markets.zip")
        try tree.commit("damaged", second: 1)
        try tree.write(SmallBundle(timestamp: 10))
        try tree.commit("mended", second: 2)
        let repository = try await GitRepository(containing: tree.dumps)
        let listing = try await BundleHistory([.git(repository)]).bundles(of: CollectionID("main/markets"))
        #expect(listing.bundles.map(\.timestamp.milliseconds) == [10])
        #expect(listing.unusable.count == 1)
    }

    @Test func historyFolderIsReadRecursively() async throws {
        let tree = try WorkTree()
        try tree.write(SmallBundle(timestamp: 10).bytes, to: "2026-01/main/markets.zip")
        try tree.write(SmallBundle(timestamp: 30).bytes, to: "kept-for-later.bin")
        try tree.write(SmallBundle(timestamp: 20).bytes, to: "a/b/c/d/old one.zip")
        try tree.write(SmallBundle("main/other", timestamp: 40).bytes, to: "main/markets.zip")
        try tree.write(SmallBundle(timestamp: 50).bytes, to: ".hidden/main/markets.zip")
        try tree.write(Array("readme".utf8), to: "README")
        try tree.write([], to: "empty.zip")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: "\(tree.dumps)/loop", withDestinationPath: tree.dumps)
        try files.createSymbolicLink(
            atPath: "\(tree.dumps)/link.zip", withDestinationPath: "\(tree.dumps)/kept-for-later.bin")

        let id = try CollectionID("main/markets")
        let listing = try await BundleHistory([.path(tree.dumps)]).bundles(of: id)
        #expect(listing.bundles.map(\.timestamp.milliseconds) == [30, 20, 10])
        #expect(listing.unusable.isEmpty)
        for found in listing.bundles { #expect(try await found.open().head.collection == id) }
    }

    @Test func historyLockCountsOnlyForItsBundles() async throws {
        let tree = try WorkTree()
        let bundle = try SmallBundle(timestamp: 10)
        try tree.write(bundle)
        let history = BundleHistory([.path("\(tree.dumps)/main/markets.zip")])
        let found = try #require(try await history.bundles(of: bundle.id).bundles.first)
        #expect(try await found.lockEntry() == bundle.entry)
        try tree.write(SmallBundle(timestamp: 12).bytes, to: "main/markets.zip")
        let other = try #require(try await history.bundles(of: bundle.id).bundles.first)
        #expect(try await other.lockEntry() == nil)
    }

    @Test func namedHistoryFileMustBeTheBundle() async throws {
        let tree = try WorkTree()
        try tree.write(SmallBundle("main/other", timestamp: 10).bytes, to: "x.zip")
        try tree.write(Array("no bundle".utf8), to: "y.zip")
        for name in ["x.zip", "y.zip", "z.zip"] {
            await #expect {
                _ = try await BundleHistory([.path("\(tree.dumps)/\(name)")]).bundles(of: CollectionID("main/markets"))
            } throws: {
                guard let error = $0 as? Failure, FailureClass(error) == .bundle else { return false }
                return "\(error)".contains("\(tree.dumps)/\(name): ")
            }
        }
    }

    @Test func historyFolderIsBounded() async throws {
        let tree = try WorkTree()
        for name in ["a/b/c/1", "a/b/c/2"] { try tree.write([], to: name) }
        let id = try CollectionID("main/markets")
        var bounds = HistoryLimits()
        bounds.files = 4
        let tooMany = await #expect(throws: Failure.self) {
            try await BundleHistory([.path(tree.dumps)], bounds: bounds).bundles(of: id)
        }
        #expect(tooMany?.description.contains("there are more than \(bounds.files) files and folders") == true)
        bounds.files = 5
        #expect(try await BundleHistory([.path(tree.dumps)], bounds: bounds).bundles(of: id).bundles.isEmpty)
        bounds.depth = 3
        let tooDeep = await #expect(throws: Failure.self) {
            try await BundleHistory([.path(tree.dumps)], bounds: bounds).bundles(of: id)
        }
        #expect(tooDeep?.description.contains("there are more than \(bounds.depth) nested folders") == true)
    }
}
