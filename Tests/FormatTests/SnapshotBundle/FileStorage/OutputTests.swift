import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Which outputs a command may replace at a path that the user specified.
final class OutputTests: DirectorySuite {
    @Test func outputReplacesOnlyDirectoriesItMade() throws {
        let path = directory + "/output"
        func made(_ name: String) throws -> TemporaryDirectory {
            let made = try FileStore.makeOutputDirectory(for: path)
            try FileStore.replace("\(made.path)/\(name)", with: Bytes(utf8: name))
            return made
        }
        func place(_ name: String) throws {
            let made = try made(name)
            try withExtendedLifetime(made) { try FileStore.placeOutput(made.path, at: path) }
        }
        try place("first")
        #expect(try FileStore.list(path) == ["first"])
        try place("second")
        #expect(throws: Failure.self) { try FileStore.placeOutput(directory + "/missing", at: path) }
        #expect(try FileStore.list(path) == ["second"] && FileStore.list(directory) == ["output"])

        // A directory that the tool did not create is replaceable only while it is empty.
        let copy = directory + "/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        try FileStore.checkReplaceable(copy)
        try FileStore.replace(copy + "/second", with: Bytes(utf8: "second"))
        #expect(throws: Failure.self) { try FileStore.checkReplaceable(copy) }
        let third = try made("third")
        defer { withExtendedLifetime(third) {} }
        #expect(throws: Failure.self) { try FileStore.placeOutput(third.path, at: copy) }
        #expect(try FileStore.list(copy) == ["second"] && FileStore.list(third.path) == ["third"])

        let link = directory + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(throws: Failure.self) { try FileStore.placeOutput(third.path, at: link) }
        #expect(try FileStore.list(path) == ["second"])
    }

    /// Writing from a truncated mapped file fails in the system call; the error refers to the source, not the output.
    @Test func truncatedMappedSourceIsReported() throws {
        let source = directory + "/source"
        try Data(repeating: 1, count: 1 << 20).write(to: URL(fileURLWithPath: source))
        let bytes = try MappedFile(path: source).bytes
        try #require(FileHandle(forWritingAtPath: source)).truncate(atOffset: 0)
        let file = try WritableFile(creating: directory + "/target")
        let error = try #require(throws: Failure.self) { try file.write(bytes) }
        #expect(error.isOfSource && error.description.contains("truncated"), "\(error)")
    }
}
