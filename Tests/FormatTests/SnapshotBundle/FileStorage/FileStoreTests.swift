import Foundation
import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

/// Reading, replacing and removing files. Each test has its own directory.
final class FileStoreTests: DirectorySuite {
    private func path(_ name: String) -> String { "\(directory)/\(name)" }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
    }

    @Test func readOrWriteBeyondLimitIsRefused() throws {
        try FileStore.replace(path("a"), with: Bytes(utf8: "abc"), limit: 3)
        let error = #expect(throws: Failure.self) {
            try FileStore.replace(path("a"), with: Bytes(utf8: "abcd"), limit: 3)
        }
        #expect(error?.isTooLarge == true)
        #expect(try FileStore.read(path("a"), limit: 3) == Bytes(utf8: "abc"))
        #expect(throws: Failure("read", path("a"), errno: EFBIG)) { try FileStore.read(path("a"), limit: 2) }
        #expect(try names() == ["a"])
    }

    @Test(arguments: [0, 1, 100_000])
    func fileIsReadAsWritten(count: Int) throws {
        let content = Bytes((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        try FileStore.replace(path("a"), with: content)
        #expect(try FileStore.read(path("a"), limit: count) == content)
        #expect(try FileStore.size(path("a")) == count)
        #expect(try names() == ["a"])
    }

    @Test func missingPathIsNoError() throws {
        #expect(try FileStore.read(path("a"), limit: 10) == nil)
        #expect(try FileStore.read(path("a/b"), limit: 10) == nil)
        #expect(try FileStore.list(path("a")) == nil)
        #expect(try FileStore.size(path("a")) == nil)
        #expect(try FileStore.identity(path("a")) == nil)
        #expect(try FileStore.resolved(path("a")) == nil)
        #expect(try !FileStore.isDirectory(path("a")))
        try FileStore.remove(path("a"))
        try FileStore.removeTree(path("a"))
        try FileStore.removeIfEmpty(path("a"))
    }

    /// The system refuses to resolve these paths, so it is unknown whether they exist.
    @Test func inaccessiblePathIsAnError() throws {
        try link("loop", to: path("loop"))
        for (name, code) in [(String(repeating: "a", count: 300), ENAMETOOLONG), ("loop/a", ELOOP)] {
            let path = path(name)
            let calls: [() throws -> Any?] = [
                { try FileStore.size(path) }, { try FileStore.exists(path) }, { try FileStore.isDirectory(path) },
                { try FileStore.resolved(path) }, { try FileStore.kind(path) }, { try FileStore.identity(path) },
                { try FileStore.read(path, limit: 10) }, { try FileStore.list(path) },
                { try WritableFile(creating: path) },
            ]
            for call in calls {
                let error = #expect(throws: Failure.self) { try call() }
                #expect(error?.errorNumber == code && error?.place == path)
            }
        }
    }

    /// If pipes were accepted, each of these calls would block until the other end is opened.
    @Test func pipeIsRefusedAsFile() throws {
        try #require(unsafe mkfifo(path("pipe"), 0o600) == 0)
        let refused = Failure("use", path("pipe"), errno: Failure.notRegular)
        #expect(throws: refused) { try FileStore.read(path("pipe"), limit: 10) }
        #expect(throws: refused) { try FileStore.readPieces(path("pipe")) { _ in } }
        #expect(throws: Failure.self) { try WritableFile(creating: path("pipe")) }
        #expect(throws: Failure.self) { try WritableFile(appendingTo: path("pipe")) }
        #expect("\(refused)".contains("not a regular file"))
        // With a reader at the other end, opening succeeds, but a pipe is still not a regular file.
        let reader = unsafe open(path("pipe"), O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(throws: refused) { try WritableFile(creating: path("pipe")) }
    }

    /// Without this check, a process with write access to /dev would replace the device for the whole system.
    @Test func outputToDeviceOrLinkIsRefused() throws {
        try #require(unsafe mkfifo(path("pipe"), 0o600) == 0)
        try FileManager.default.createDirectory(atPath: path("folder"), withIntermediateDirectories: false)
        // /dev/stdout is a link to the standard output, which may be a file.
        try FileStore.replace(path("file"), with: Bytes(utf8: "old"))
        try link("link", to: path("file"))
        let codes = [
            "pipe": Failure.notRegular, "/dev/null": Failure.notRegular, "link": Failure.isLink, "folder": EISDIR,
        ]
        for (name, code) in codes {
            let path = name.hasPrefix("/") ? name : path(name)
            let refused = Failure("replace", path, errno: code)
            #expect(throws: refused) { try FileStore.checkOutput(path) }
            #expect(throws: refused) { try FileStore.writeOutput(path, Bytes(utf8: "x")) }
        }
        try FileStore.checkOutput(nil)
        #expect(try names() == ["file", "folder", "link", "pipe"])
        #expect(try FileStore.kind("/dev/null") == .other)
    }

    @Test func outputReplacesOnlyItsFile() throws {
        for name in ["a", "a.tmp", "b"] { try FileStore.replace(path(name), with: Bytes(utf8: "old")) }
        try FileStore.writeOutput(path("a"), Bytes(utf8: "new"))
        try FileStore.writeOutput(path("c"), Bytes(utf8: "new"))
        struct Refused: Error {}
        #expect(throws: Refused.self) { try FileStore.writeOutput(path("b")) { _ in throw Refused() } }
        #expect(try names() == ["a", "a.tmp", "b", "c"])
        let contents = try names().map { try FileStore.read(path($0), limit: 10)?.text }
        #expect(contents == ["new", "old", "old", "new"])
    }

    @Test func sameFileThroughLinks() throws {
        for name in ["a", "b"] { try FileStore.replace(path(name), with: Bytes(utf8: "same")) }
        try FileStore.link(path("a"), as: path("hard"))
        try link("soft", to: path("a"))
        #expect(try FileStore.identity(path("a")) == FileStore.identity(path("hard")))
        #expect(throws: Failure.self) { try FileStore.link(path("a"), as: path("hard")) }
        #expect(throws: Failure.self) { try FileStore.rename(path("absent"), to: path("d")) }
        for name in ["a", "hard", "soft"] { #expect(try FileStore.isSameFile(path("a"), path(name))) }
        for name in ["b", "absent"] { #expect(try !FileStore.isSameFile(path("a"), path(name))) }
    }

    @Test func removeTreeKeepsLinkTargets() throws {
        try FileStore.makeDirectories(path("precious/in"))
        try FileStore.replace(path("precious/in/a"), with: Bytes(utf8: "1"))
        try link("tree", to: path("precious"))
        try FileStore.removeTree(path("tree"))
        #expect(try names() == ["precious"])
        try FileStore.makeDirectories(path("tree/deep"))
        try link("tree/deep/link", to: path("precious"))
        try link("tree/file", to: path("precious/in/a"))
        try link("tree/dangling", to: path("nowhere"))
        #expect(try FileStore.list(path("tree")) == ["dangling", "deep", "file"])
        try FileStore.removeTree(path("tree"))
        #expect(try names() == ["precious"])
        #expect(try FileStore.read(path("precious/in/a"), limit: 10)?.text == "1")
        #expect(throws: Failure.self) {
            try link("again", to: path("precious"))
            try FileStore.refuseLink(path("again"))
        }
        try FileStore.refuseLink(path("precious"))
        try FileStore.refuseLink(path("absent"))
    }

    @Test func readPiecesGivesTheWholeFile() throws {
        let content = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try FileStore.replace(path("a"), with: Bytes(content))
        var read: [UInt8] = []
        var largest = 0
        try FileStore.readPieces(path("a")) { piece in
            largest = max(largest, piece.count)
            for index in piece.indices { read.append(piece[index]) }
        }
        #expect(read == content)
        #expect(largest <= 256 << 10)
        #expect(throws: Failure.self) { try FileStore.readPieces(path("b")) { _ in } }
    }

    @Test func kindOfPath() throws {
        try FileStore.replace(path("file"), with: Bytes())
        try FileStore.makeDirectories(path("d"))
        try link("link", to: path("file"))
        try link("m", to: path("d"))
        #expect(try FileStore.kind(path("file")) == .file(size: 0))
        #expect(try FileStore.kind(path("link")) == .link)
        #expect(try FileStore.kind(directory) == .directory)
        #expect(try FileStore.size(path("link")) == nil)
        #expect(try FileStore.identity(path("link")) == nil)
        #expect(try !FileStore.isDirectory(path("m")))
        #expect(try FileStore.resolved(path("m")) == FileStore.resolved(path("d")))
        #expect(try FileStore.kind(path("nothing")) == nil)
        #expect(try FileStore.kind(path("file/nothing")) == nil)
    }

    @Test(arguments: [false, true])
    func replaceIsAtomicForReaders(isContended: Bool) throws {
        try FileStore.replace(path("a"), with: Bytes(utf8: "old"), isContended: isContended)
        let before = try #require(try FileStore.identity(path("a")))
        let reader = try FileHandle(forReadingFrom: URL(fileURLWithPath: path("a")))
        try FileStore.replace(path("a"), with: Bytes(utf8: "new"), isContended: isContended)
        #expect(try FileStore.identity(path("a")) != before)
        #expect(try reader.readToEnd() == Data("old".utf8))
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "new")
        #expect(try names() == ["a"])
    }

    /// The old file remains, and no temporary file is left behind.
    @Test func failedReplaceKeepsOldFile() throws {
        try FileManager.default.createDirectory(atPath: path("a/full"), withIntermediateDirectories: true)
        #expect(throws: Failure.self) { try FileStore.replace(path("a"), with: Bytes(utf8: "x")) }
        #expect(try names() == ["a"])
        let error = #expect(throws: Failure.self) { try FileStore.replace(path("none/a"), with: Bytes()) }
        #expect(error?.isMissing == true)
        #expect(error?.description.contains(path("none/a")) == true)
    }

    /// A link at the path of the temporary file is not followed.
    @Test func temporaryFileIsNotWrittenThroughLink() throws {
        try FileStore.replace(path("outside"), with: Bytes(utf8: "untouched"))
        try link("a.tmp", to: path("outside"))
        try FileStore.replace(path("a"), with: Bytes(utf8: "new"))
        #expect(try FileStore.read(path("outside"), limit: 100)?.text == "untouched")
        #expect(try FileStore.read(path("a"), limit: 100)?.text == "new")
        #expect(try names() == ["a", "outside"])
        try link("b", to: path("outside"))
        #expect(throws: Failure.self) { try WritableFile(creating: path("b")) }
        #expect(throws: Failure.self) { try WritableFile(appendingTo: path("b")) }
        #expect(try FileStore.read(path("outside"), limit: 100)?.text == "untouched")
    }

    /// A link planted below a directory that the user specified cannot redirect operations to another place.
    @Test(arguments: ["root/sub", "root/sub/deep"])
    func linkBelowRootIsRefused(linked: String) throws {
        try FileStore.makeDirectories(path("outside/deep"))
        for name in ["outside/a", "outside/deep/a"] { try FileStore.replace(path(name), with: Bytes(utf8: "kept")) }
        try FileStore.makeDirectories(FileStore.parent(of: path(linked)))
        try link(linked, to: path("outside") + (linked.hasSuffix("deep") ? "/deep" : ""))
        let (root, target) = (path("root"), path("root/sub/deep/a"))
        try FileStore.replace(path("root/a"), with: Bytes(utf8: "mine"))
        let refused = Failure("use", path(linked), errno: Failure.isLink)
        #expect(throws: refused) { try FileStore.replace(target, below: root, with: Bytes(utf8: "x")) }
        #expect(throws: refused) { try FileStore.replace(target, below: root, with: Bytes(), isContended: true) }
        #expect(throws: refused) { try WritableFile(creating: target, below: root) }
        #expect(throws: refused) { try FileStore.remove(target, below: root) }
        #expect(throws: refused) { try FileStore.removeTree(target, below: root) }
        #expect(throws: refused) { try FileStore.rename(self.path("root/a"), to: target, below: root) }
        #expect(throws: refused) { try FileStore.rename(target, to: self.path("root/b"), below: root) }
        #expect(throws: refused) { try FileStore.makeDirectories(target, below: root) }
        #expect(throws: Failure.self) { try FileStore.remove(root + "/../outside/a", below: root) }
        #expect(throws: Failure.self) { try FileStore.remove(self.path("outside/a"), below: root) }
        for name in ["outside/a", "outside/deep/a"] {
            #expect(try FileStore.read(path(name), limit: 10)?.text == "kept")
        }
        #expect(try FileStore.list(path("outside")) == ["a", "deep"])
        #expect(try FileStore.list(path("outside/deep")) == ["a"])
        // The specified directory itself may be a link, at its owner's choice; missing directories in it are created.
        try link("named", to: root)
        try FileStore.replace(path("named/new/place/a"), below: path("named"), with: Bytes(utf8: "x"))
        try FileStore.rename(path("named/new/place/a"), to: path("named/other/b"), below: path("named"))
        #expect(try FileStore.read(path("root/other/b"), limit: 10)?.text == "x")
        try FileStore.remove(path("named/other/none/at/all"), below: path("named"))
        try FileStore.removeTree(path("named/new"), below: path("named"))
        #expect(try !FileStore.exists(path("root/new")))
    }

    /// Other hard links to the file keep their content when the file is created anew.
    @Test func createdFileBreaksHardLink() throws {
        try FileStore.replace(path("precious"), with: Bytes(utf8: "kept"))
        try FileStore.link(path("precious"), as: path("a"))
        let file = try WritableFile(creating: path("a"))
        try file.write(Bytes(utf8: "new"))
        try file.finish(flushing: false)
        #expect(try FileStore.read(path("precious"), limit: 10)?.text == "kept")
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "new")
    }

    @Test func abandonedTemporaryDirectoryIsRemoved() throws {
        let digits = "0123456789abcdef"
        try FileStore.makeDirectories(path("keys.\(digits).tmp/inside"))
        for kept in ["keys.\(digits)", "keys.\(digits.dropLast()).tmp", "keys.x.\(digits).tmp", "other.\(digits).tmp"] {
            try FileStore.makeDirectories(path(kept))
        }
        try FileStore.makeDirectories(path("outside"))
        try link("keys.\(String(digits.reversed())).tmp", to: path("outside"))
        let before = try Set(names())
        let first = try TemporaryDirectory(beside: path("keys"))
        // The process that owns this directory is still running.
        let second = try TemporaryDirectory(beside: path("keys"))
        let made = Set([first, second].map { $0.path.split(separator: "/").last.map(String.init) ?? "" })
        #expect(made.count == 2)
        #expect(try Set(names()) == before.subtracting(["keys.\(digits).tmp"]).union(made))
        try FileStore.rename(second.path, to: path("keys"))
        withExtendedLifetime(second) {}
        #expect(try FileStore.isDirectory(path("keys")) && FileStore.isDirectory(first.path))
    }

    @Test func makeDirectoriesCreatesParents() throws {
        try FileStore.makeDirectories(path("a/b/c"))
        try FileStore.makeDirectories(path("a/b/c"))
        #expect(try FileStore.isDirectory(path("a/b/c")))
        try FileStore.replace(path("file"), with: Bytes())
        #expect(throws: Failure.self) { try FileStore.makeDirectories(path("file/d")) }
    }

    /// A commit can contain thousands of nested directories: more than the limit of open files, and with a path too
    /// long for any system call.
    @Test func removeTreeOfAnyDepth() throws {
        try FileStore.makeDirectories(path("tree/1"))
        try FileStore.makeDirectories(path("tree/3/4"))
        try FileStore.makeDirectories(path("kept"))
        for file in ["tree/2", "tree/3/4/5", "kept/6"] { try FileStore.replace(path(file), with: Bytes()) }
        var directory = unsafe open(path("tree"), O_RDONLY | O_DIRECTORY)
        // More than the default limit of open files.
        for _ in 0..<1200 {
            try #require(unsafe mkdirat(directory, "d", 0o777) == 0)
            let inner = unsafe openat(directory, "d", O_RDONLY | O_DIRECTORY)
            close(directory)
            try #require(inner >= 0)
            directory = inner
        }
        #expect(unsafe symlinkat(path("kept"), directory, "link") == 0)
        close(directory)
        try FileStore.removeTree(path("tree"))
        #expect(try names() == ["kept"])
        #expect(try FileStore.list(path("kept")) == ["6"])
    }

    @Test func onlyEmptyDirectoryIsRemoved() throws {
        try FileStore.makeDirectories(path("kept"))
        try FileStore.replace(path("kept/4"), with: Bytes())
        try FileStore.removeIfEmpty(path("kept"))
        #expect(try names() == ["kept"])
        try FileStore.remove(path("kept/4"))
        try FileStore.removeIfEmpty(path("kept"))
        #expect(try names() == [])
    }

    #if os(Linux)
    /// Linux allows any bytes except 0 and the slash in file names, and git can store them. Apple's file systems
    /// require UTF-8.
    private func makeUnreadableName(in folder: String, isDirectory: Bool = false) throws {
        let name = (Array(path(folder).utf8) + [UInt8(ascii: "/"), 0xFF, 0]).map(CChar.init(bitPattern:))
        guard !isDirectory else { return try #require(unsafe mkdir(name, 0o777) == 0) }
        let file = unsafe open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0o666)
        try #require(file >= 0)
        close(file)
    }

    @Test(arguments: ["tree", "tree/a", "tree/a/b"])
    func nonUTF8NameIsRemovedWithTree(folder: String) throws {
        try FileStore.makeDirectories(path(folder))
        try makeUnreadableName(in: folder)
        try FileStore.flush(tree: path("tree"))
        try FileStore.removeTree(path("tree"))
        try FileStore.makeDirectories(path(folder))
        try makeUnreadableName(in: folder, isDirectory: true)
        try FileStore.removeTree(path("tree"), below: directory)
        #expect(try names() == [])
    }

    /// No path can express such a name, so listing an input directory reports it.
    @Test func nonUTF8NameInListIsAnError() throws {
        try FileStore.makeDirectories(path("tree"))
        try FileStore.replace(path("tree/a"), with: Bytes())
        try makeUnreadableName(in: "tree")
        let error = #expect(throws: Failure.self) { try FileStore.list(path("tree")) }
        #expect(error == Failure("use", path("tree/\u{FFFD}"), errno: Failure.notUTF8))
        #expect(try FileStore.list(path("tree"), isLossy: true) == ["a", "\u{FFFD}"])
        try FileStore.removeChildren(of: path("tree"), below: directory) { $0 != "a" }
        #expect(try FileStore.list(path("tree")) == ["a"])
    }

    @Test func nonUTF8NameInTemporaryDirectoryIsRemoved() throws {
        do {
            let temporary = try TemporaryDirectory(beside: path("keys"))
            let name = temporary.path.split(separator: "/").last.map(String.init)
            try makeUnreadableName(in: #require(name))
        }
        #expect(try names() == [])
        // An unrelated name that is not UTF-8 does not prevent the removal of directories left by killed processes.
        try makeUnreadableName(in: ".")
        try FileStore.makeDirectories(path("keys.0123456789abcdef.tmp"))
        _ = try TemporaryDirectory(beside: path("keys"))
        #expect(try FileStore.list(directory, isLossy: true) == ["\u{FFFD}"])
    }
    #endif

    @Test func appendingContinuesAtTheEnd() throws {
        let file = try WritableFile(creating: path("a"))
        try file.write(Array("one".utf8))
        try file.finish(flushing: true)
        let more = try WritableFile(appendingTo: path("a"))
        try more.write(Bytes(utf8: " two"))
        try more.finish(flushing: false)
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "one two")
        let again = try WritableFile(appendingTo: path("a"))
        try again.restart()
        try again.write(Array("3".utf8))
        again.abandon()
        again.abandon()
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "3")
        let fresh = try WritableFile(creating: path("a"))
        try fresh.write(Array("wrong".utf8))
        try fresh.restart()
        try fresh.write(Array("4".utf8))
        try fresh.finish(flushing: false)
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "4")
        _ = try WritableFile(creating: path("a"))
        #expect(try FileStore.read(path("a"), limit: 10)?.text == "")
    }

    /// Swift combines a slash and a combining mark into one character; to the system it remains a slash.
    @Test(arguments: [
        ("/a/b", "/a"), ("a/b", "a"), ("a", "."), ("/a", "/"), ("a/\u{301}b", "a"), ("/\u{301}b", "/"),
        ("/a/\u{301}/\u{301}", "/a/\u{301}"),
    ])
    func parentOfPath(_ path: String, _ parent: String) {
        #expect(FileStore.parent(of: path).utf8.elementsEqual(parent.utf8))
    }

    @Test func pathsAreComparedByBytes() throws {
        #expect(try FileStore.absolute("/\u{301}a").utf8.elementsEqual("/\u{301}a".utf8))
        #expect(try FileStore.absolute("./\u{301}a").utf8.elementsEqual(FileStore.absolute("\u{301}a").utf8))
        #expect(
            FileStore.components(of: "a//\u{301}b/../\u{301}").map { Array($0.utf8) }
                == ["a", "\u{301}b", "..", "\u{301}"].map { Array($0.utf8) })
        try FileStore.makeDirectories(path("new/\u{301}x/\u{301}y"))
        #expect(try FileStore.isDirectory(path("new/\u{301}x/\u{301}y")))
        try FileStore.writeOutput(path("new/\u{301}z"), Bytes(utf8: "z"))
        #expect(try FileStore.list(path("new"))?.count == 2)
    }

    /// Processes in two containers may both have the process ID 1 and work in the same directory.
    @Test func uniquePathsDoNotDependOnTheProcess() {
        let names = (0..<1000).map { _ in FileStore.uniquePath("/a") }
        #expect(Set(names).count == 1000)
        #expect(names.allSatisfy { $0.utf8.count == 19 && !$0.contains("\(getpid())-") })
    }

    @Test func directoryLockIsExclusive() throws {
        var first = try DirectoryLock(directory)
        #expect(first != nil)
        #expect(try DirectoryLock(directory) == nil)
        // The lock creates no visible file and does not affect other directories.
        #expect(try names() == [])
        try FileStore.makeDirectories(path("other"))
        #expect(try DirectoryLock(path("other")) != nil)
        first = nil
        #expect(try DirectoryLock(directory) != nil)
        let missing = #expect(throws: Failure.self) { try DirectoryLock(path("missing")) }
        #expect(missing?.isMissing == true)
        try FileStore.replace(path("file"), with: Bytes())
        #expect(throws: Failure.self) { try DirectoryLock(path("file")) }
    }
}
