import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

final class MappedFileTests: DirectorySuite {
    /// A file is read and hashed as opened, even if its path has since been replaced.
    @Test func replacedFileIsReadAsOpened() throws {
        let path = directory + "/bundle.zip"
        let bundle = try Fixture().bundle()
        try Data(bundle).write(to: URL(fileURLWithPath: path))
        let file = try MappedFile(path: path)
        try Data("another".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        #expect(file.digest() == SHA256Digest(hashing: Bytes(bundle)))
        let reader = try BundleReader(file)
        #expect(reader.name == path)
        try reader.verifyContents()
        #expect(throws: Failure.self) { try BundleReader(path: path) }
    }

    @Test func digestOfManyPieces() throws {
        let path = directory + "/file"
        let content = (0..<(3 << 20) + 17).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        try Data(content).write(to: URL(fileURLWithPath: path))
        #expect(try MappedFile(path: path).digest() == SHA256Digest(hashing: Bytes(content)))
    }
}
