import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps
@testable import DumpsExchange

struct EmbeddedTargetTests {
    private let example = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Examples/OfflineExample")

    private func text(_ path: String) throws -> String {
        try String(contentsOf: example.appending(path: "Sources/\(path)"), encoding: .utf8)
    }

    /// `scripts/check consumer` builds and runs the example, so this text is known to compile. commands/embed.txt
    /// covers compilers without `#embed`.
    @Test func embeddedTargetMatchesTheExample() throws {
        let lock = try DumpsDirectory(example.appending(path: "dumps").path).lockFile()
        #expect(lock.collections.count == 2)
        let target = EmbeddedTarget(module: "EmbeddedDumps", dumps: "../../dumps", lock: lock)
        #expect(try target.source == text("EmbeddedDumps/EmbeddedDumps.c"))
        #expect(try target.header == text("EmbeddedDumps/include/EmbeddedDumps.h"))
        #expect(try target.swift == text("offline-example/PackagedSource+EmbeddedDumps.swift"))
    }
}
