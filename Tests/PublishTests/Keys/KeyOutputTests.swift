import ContentSigning
import RemoteSettingsModel
import Publish
import SnapshotBundle
import Testing

/// Files that `--output` of `rsdump keys` must not replace.
@Suite struct KeyOutputTests {
    private let folder: TemporaryDirectory
    private let keys: KeyDirectory
    private var root: String { folder.path }

    init() throws {
        folder = try TemporaryDirectory()
        keys = KeyDirectory("\(folder.path)/keys")
        _ = try keys.create(.init(), now: Timestamp(milliseconds: 1_780_000_000_000))
    }

    @Test func outputReplacesNoFileOfKeyDirectory() throws {
        let names = try #require(try FileStore.list(keys.path))
        #expect(names.count == 7)
        for name in names + ["signer.new.key", "CHAIN.PEM", "Other.KEY"] {
            let error = #expect(throws: Failure.self) { try KeyDirectory.checkOutput("\(keys.path)/\(name)") }
            #expect(error?.code == .usage)
        }
        // In a CI job, the directory may contain only certificates, with the keys stored elsewhere.
        for name in names where name.hasSuffix(".key") { try FileStore.remove("\(keys.path)/\(name)") }
        for name in ["root.pem", "chain.pem", ".gitignore"] {
            #expect(throws: Failure.self) { try KeyDirectory.checkOutput("\(keys.path)/\(name)") }
        }
    }

    @Test func outputReplacesNoPrivateKey() throws {
        let key = try #require(try FileStore.read(keys.keyPath(.root), limit: 65_536))
        try FileStore.replace("\(root)/saved", with: Bytes(utf8: "text\n\(key.text)"))
        try FileStore.link(keys.keyPath(.root), as: "\(root)/linked.pem")
        for name in ["saved", "linked.pem", "new.key"] {
            #expect(throws: Failure.self) { try KeyDirectory.checkOutput("\(root)/\(name)") }
        }
        #expect(unsafe symlink(keys.keyPath(.root), "\(root)/link.pem") == 0)
        #expect(throws: Failure.self) { try KeyDirectory.checkOutput("\(root)/link.pem") }
        #expect(unsafe symlink(keys.path, "\(root)/directory") == 0)
        #expect(throws: Failure.self) { try KeyDirectory.checkOutput("\(root)/directory/root.pem") }
    }

    @Test func outputMayReplaceFilesWithoutKeys() throws {
        try FileStore.replace("\(root)/request.pem", with: Bytes(utf8: "-----BEGIN CERTIFICATE REQUEST-----"))
        for path in ["\(root)/request.pem", "\(root)/chain.pem", "\(keys.path)/request.pem", "new.pem"] {
            #expect(throws: Never.self) { try KeyDirectory.checkOutput(path) }
        }
        #expect(throws: Never.self) { try KeyDirectory.checkOutput(nil) }
    }
}
