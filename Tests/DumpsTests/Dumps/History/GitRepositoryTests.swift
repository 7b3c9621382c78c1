@testable import Dumps
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct GitRepositoryTests {
    @Test func gitRevisionsAreNewestFirst() async throws {
        let tree = try WorkTree()
        let repository = try await tree.repository(of: 1, 2, 3)
        try tree.write(Array("other".utf8), to: "other.txt")
        try tree.commit("nothing about the bundle", second: 999)

        let revisions = try await repository.revisions(touching: "main/markets.zip")
        #expect(revisions.map(\.time) == [3, 2, 1].map { WorkTree.time(second: $0 * 60) })
        for (revision, number) in zip(revisions, [3, 2, 1]) {
            let bundle = try SmallBundle(timestamp: UInt64(number))
            #expect(try await repository.file("main/markets.zip", at: revision)?.array == bundle.bytes)
            #expect(try await repository.lock(at: revision)?.collections == [bundle.id: bundle.entry])
            #expect(try await repository.file("other.txt", at: revision) == nil)
        }
        let head = try await repository.revision("HEAD")
        #expect(try await repository.file("other.txt", at: head)?.text == "other")
        #expect(try await repository.revision("main~1") == revisions[0])
        #expect(try await repository.revisions(touching: "main/markets.zip", upTo: "main~2") == Array(revisions[1...]))
        #expect(try await repository.revisions(touching: "").count == 4)
        #expect(repository.gap == nil)
    }

    @Test(arguments: [
        "with space", "-rf", "--help", "a'b\"c", "$(touch x)", "line\nbreak", "*", ":(exclude)x", "ünïcode", "a\\b",
    ])
    func gitDirectoryOfAnyName(name: String) async throws {
        let tree = try WorkTree(dumps: "\(name)/dumps")
        let repository = try await tree.repository(of: 5)
        let revision = try #require(try await repository.revisions(touching: "main/markets.zip").first)
        #expect(try await repository.lock(at: revision)?.collections.count == 1)
        #expect(try await repository.file("main/markets.zip", at: revision) != nil)
    }

    @Test(arguments: [
        "--help", "-1", "HEAD..HEAD~1", "HEAD\nHEAD", "", "^HEAD", "HEAD HEAD", "nonsense", "HEAD:dumps", "--all",
    ])
    func invalidRevisionNamesAreRefused(name: String) async throws {
        let tree = try WorkTree()
        let repository = try await tree.repository(of: 5, 6)
        let wanted = Failure.noRevision(directory: tree.dumps, name: name, gap: nil)
        await #expect(throws: wanted) { try await repository.revision(name) }
    }

    @Test(arguments: ["/etc/passwd", "../x", "main/../x", "./x", "a//b", "a\nb", "a/"])
    func gitPathsOutsideDirectoryAreRefused(path: String) async throws {
        let tree = try WorkTree()
        try tree.commit("first", second: 1)
        let repository = try await GitRepository(containing: tree.dumps)
        let head = try await repository.revision("HEAD")
        await #expect(throws: Failure.invalidPath(path)) { try await repository.file(path, at: head) }
        await #expect(throws: Failure.invalidPath(path)) { try await repository.revisions(touching: path) }
    }

    @Test func directoryOutsideGitIsRefused() async throws {
        let folder = try TemporaryDirectory()
        await #expect { _ = try await GitRepository(containing: folder.path) } throws: {
            guard let error = $0 as? Failure, error.code == .usage, error.place == folder.path else { return false }
            return error.problem.contains("not a git repository")
        }
        let nowhere = await #expect(throws: Failure.self) { try await GitRepository(containing: "/nowhere/at/all") }
        #expect(nowhere?.problem.contains("not in a git work tree") == true)
    }

    @Test func gitRepositoryWithoutCommits() async throws {
        let tree = try WorkTree()
        let repository = try await GitRepository(containing: tree.dumps)
        #expect(try await repository.revisions(touching: "main/markets.zip").isEmpty)
        let wanted = Failure.noRevision(directory: tree.dumps, name: "HEAD", gap: nil)
        await #expect(throws: wanted) { try await repository.revision("HEAD") }
    }

    @Test(arguments: ["data/dumps", "dumps", "hooks"])
    func gitDirectoryThatExistsOnlyInCommits(dumps: String) async throws {
        let tree = try WorkTree(dumps: dumps)
        let bundle = try SmallBundle(timestamp: 5)
        try tree.write(bundle)
        try tree.commit("state", second: 1)
        try tree.git("clone", "--quiet", "--bare", tree.root, "\(tree.root).git")
        defer { try? FileManager.default.removeItem(atPath: "\(tree.root).git") }
        try tree.git("mv", dumps, "moved")
        try tree.commit("moved", second: 2)
        for path in [tree.dumps, "\(tree.root).git/\(dumps)"] {
            let (repository, revision, isFound) = try await GitRepository.finding(
                "dumps.lock.json", of: path, at: "main^{/state}")
            #expect(isFound, "\(path)")
            #expect(try await repository.lock(at: revision)?.collections == [bundle.id: bundle.entry])
            #expect(try await repository.file("main/markets.zip", at: revision)?.array == bundle.bytes)
            #expect(try await repository.revisions(touching: "main/markets.zip").last == revision)
            #expect(try await repository.files(at: revision).map(\.path) == ["dumps.lock.json", "main/markets.zip"])
        }
    }

    @Test func gitEnvironmentKeepsOnlySafeDirectories() {
        let variables = [
            "HOME": "/home/x", "GIT_DIR": "/nowhere", "GIT_CONFIG_GLOBAL": "/settings", "GIT_CONFIG_COUNT": "3",
            "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "touch x", "GIT_CONFIG_KEY_1": "Safe.Directory",
            "GIT_CONFIG_VALUE_1": "/a", "GIT_CONFIG_KEY_2": "safe.bareRepository", "GIT_CONFIG_VALUE_2": "all",
        ]
        let passed = GitCommand.environment(.local, variables)
        #expect(passed["HOME"] == "/home/x" && passed["GIT_CONFIG_GLOBAL"] == "/settings")
        #expect(passed["GIT_CONFIG_COUNT"] == "1")
        #expect(passed["GIT_CONFIG_KEY_0"] == "safe.directory" && passed["GIT_CONFIG_VALUE_0"] == "/a")
        #expect(passed["GIT_DIR"] == nil && passed["GIT_CONFIG_KEY_1"] == nil)
        for count in ["-1", "x", "9223372036854775807"] {
            #expect(GitCommand.environment(.local, ["GIT_CONFIG_COUNT": count])["GIT_CONFIG_COUNT"] == nil)
        }
        // A job also gets credentials and settings, but no variables that change which repository git uses.
        let job = GitCommand.environment(
            .remote, variables.merging(["GIT_INDEX_FILE": "i", "GIT_ASKPASS": "a", "T": "t"]) { $1 })
        #expect(job["GIT_DIR"] == nil && job["GIT_INDEX_FILE"] == nil && job["GIT_ALLOW_PROTOCOL"] == nil)
        #expect(job["GIT_CONFIG_KEY_0"] == "core.fsmonitor" && job["GIT_ASKPASS"] == "a" && job["T"] == "t")
    }

    @Test func gitDirectoriesAreNoFiles() async throws {
        let tree = try WorkTree()
        let repository = try await tree.repository(of: 5)
        let head = try await repository.revision("HEAD")
        #expect(try await repository.file("main", at: head) == nil)
        #expect(try await repository.file("--help", at: head) == nil)
    }

    @Test func gitFilesOverLimitAreRefused() async throws {
        let tree = try WorkTree()
        try tree.write([UInt8](repeating: 0x61, count: 4096), to: "main/markets.zip")
        try tree.commit("first", second: 1)
        var bounds = HistoryLimits()
        bounds.fileBytes = 4095
        let repository = try await GitRepository(containing: tree.dumps, bounds: bounds)
        let head = try await repository.revision("HEAD")
        await #expect { _ = try await repository.file("main/markets.zip", at: head) } throws: {
            guard let error = $0 as? Failure, error.code == .refused else { return false }
            return error.problem == "there are more than 4095 bytes"
        }
    }

    /// A repository's settings can specify programs for git to start; reading the history must start none of them.
    @Test func gitConfigStartsNoProgram() async throws {
        let tree = try WorkTree()
        _ = try await tree.repository(of: 5)
        let script = "\(tree.root)/script"
        let trace = "\(tree.root)/trace"
        try Data("#!/bin/sh\ntouch '\(trace)'\n".utf8).write(to: URL(fileURLWithPath: script))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        for key in [
            "core.pager", "pager.rev-list", "core.fsmonitor", "core.sshCommand", "gpg.program", "diff.external",
            "core.askPass",
        ] { try tree.git("config", key, script) }
        for command in ["rev-list", "rev-parse", "cat-file"] {
            try tree.git("config", "alias.\(command)", "!\(script)")
        }
        try tree.git("config", "log.showSignature", "true")
        try tree.write(Array("* filter=f diff=f\n".utf8), to: ".gitattributes")
        for key in ["filter.f.smudge", "filter.f.clean", "diff.f.textconv"] { try tree.git("config", key, script) }

        let repository = try await GitRepository(containing: tree.dumps)
        let revision = try #require(try await repository.revisions(touching: "main/markets.zip").first)
        #expect(try await repository.file("main/markets.zip", at: revision) != nil)
        #expect(!FileManager.default.fileExists(atPath: trace))
    }

    /// git opens the file and blocks until a process writes to the pipe.
    @Test func gitTimeoutOnPipe() async throws {
        let tree = try WorkTree()
        let head = "\(tree.root)/.git/HEAD"
        try FileManager.default.removeItem(atPath: head)
        #expect(unsafe mkfifo(head, 0o600) == 0)
        var bounds = HistoryLimits()
        bounds.gitSeconds = 1
        let error = await #expect(throws: Failure.self) {
            try await GitRepository(containing: tree.dumps, bounds: bounds)
        }
        #expect(error?.description.contains("it took longer than 1 second") == true)
    }

    /// A commit can contain the files of a bare repository, so the author of the commit would control its settings.
    @Test func embeddedBareRepositoryIsIgnored() async throws {
        let tree = try WorkTree()
        try tree.write(SmallBundle(timestamp: 5))
        let trace = "\(tree.root)/trace"
        let settings = """
            [core]
            \trepositoryformatversion = 1
            \tbare = false
            \tworktree = .
            [extensions]
            \tpartialClone = origin
            [remote "origin"]
            \turl = "ext::touch \(trace)"
            \tpromisor = true
            [protocol "ext"]
            \tallow = always

            """
        try tree.write(Array(settings.utf8), to: "config")
        try tree.write(Array("ref: refs/heads/main\n".utf8), to: "HEAD")
        try tree.write(Array((String(repeating: "1", count: 40) + "\n").utf8), to: "refs/heads/main")
        try tree.write([], to: "objects/x")
        let error = await #expect(throws: Failure.self) {
            let repository = try await GitRepository(containing: tree.dumps)
            _ = try await repository.revision("HEAD")
        }
        #expect(error?.place == tree.dumps && error?.problem.contains("bare repository") == true, "\(error as Any)")
        #expect(!FileManager.default.fileExists(atPath: trace))
    }
}
