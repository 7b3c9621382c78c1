import RemoteSettingsModel
import SnapshotBundle

/// The git repository that contains a dumps directory, or contained it in an earlier commit, for reading older states.
/// Only ``set(_:to:)`` and ``stage(_:)`` change it.
///
/// Each call runs `git`, without a shell and without the network. Variables such as `GIT_DIR` have no effect. If a file
/// in a commit is a Git LFS pointer, the file is read through git's filter, which may download it.
package struct GitRepository: Sendable {
    /// A commit.
    package struct Revision: Hashable, Sendable {
        /// The commit's full hash, in hexadecimal digits.
        let commit: String
        /// The time of the commit in whole seconds, according to the clock of the committer's machine.
        package let time: Timestamp
    }

    /// The content of a file in the repository, identified by the hash of its git object.
    struct Blob: Hashable, Sendable {
        let name: String
        /// The size in bytes. For a Git LFS pointer, it is the size of the actual file.
        let size: Int
        /// The file in Git LFS; `nil` for a file that is in the repository itself.
        fileprivate(set) var large: LargeFile?

        static func == (one: Blob, other: Blob) -> Bool { one.name == other.name }

        func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }

    /// A file in Git LFS, to which a pointer in the repository refers.
    struct LargeFile: Sendable {
        let sha256: SHA256Digest
        /// The file's place in a commit, as an argument for git. It is needed because git's filters depend on the path.
        let place: String
        /// The file's name in messages.
        let shown: String
    }

    /// The dumps directory, as given by the user. Paths are relative to it.
    let directory: String
    /// Whether the directory exists in the file system.
    let isPresent: Bool
    /// The names of the folders between the place where git runs, or the top of a bare repository, and the directory.
    private let inside: [String]
    private let isBare: Bool
    /// Whether older commits are missing because the clone is shallow, as is common in continuous integration.
    let isShallow: Bool
    private let git: GitCommand
    private let bounds: HistoryLimits

    /// Finds the repository that contains the directory: in its work tree, or in the commits of a bare repository. The
    /// directory may be missing, because it was moved or deleted; then its nearest existing parent is in the
    /// repository.
    ///
    /// - Throws: ``Failure`` if git is not installed or there is no repository.
    package init(containing directory: String, bounds: HistoryLimits = HistoryLimits()) async throws(Failure) {
        guard !directory.utf8.contains(0) else { throw .invalidPath(directory) }
        var (base, inside) = (directory.isEmpty ? "." : directory, [String]())
        func goUp() {
            let parts = Self.parts(base)
            inside = parts.suffix(1) + inside
            base = (base.utf8.first == UInt8(ascii: "/") ? "/" : "") + parts.dropLast().joined(separator: "/")
            if base.isEmpty { base = "." }
        }
        while try !Self.isDirectory(base), base != "/", base != "." { goUp() }
        isPresent = inside.isEmpty
        var place = try await Self.place(base, directory, bounds)
        // A folder of a bare repository, such as hooks, is not the folder with this name in its commits.
        while place.isBare, !place.isTop, base != "/", base != "." {
            goUp()
            place = try await Self.place(base, directory, bounds)
        }
        (git, isBare, isShallow) = (place.git, place.isBare, place.isShallow)
        self.directory = directory
        self.inside = inside
        self.bounds = bounds
    }

    /// Finds the repository that contains a folder.
    ///
    /// - Parameter directory: the dumps directory, for errors.
    private static func place(
        _ folder: String, _ directory: String, _ bounds: HistoryLimits
    ) async throws(Failure) -> (git: GitCommand, isBare: Bool, isShallow: Bool, isTop: Bool) {
        let git = GitCommand(directory: folder, seconds: bounds.gitSeconds, allowsBare: try !isInWorkTree(folder))
        let answer = try await git.run(
            ["rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--is-bare-repository", "--git-dir"],
            limit: short)
        let words = answer.output.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard answer.status == 0, words.count >= 4, words[0] == "true" || words[2] == "true" else {
            let problem =
                answer.message.isEmpty ? "it is in a git repository, but outside the work tree" : answer.message
            throw .noRepository(directory: directory, problem: problem)
        }
        return (git, words[0] != "true", words[1] == "true", words[3] == ".")
    }

    /// Finds a file of a dumps directory in a commit. A directory that does not exist now may have existed at this path
    /// from the current directory or, as in git, from the top of the repository.
    ///
    /// - Returns: the commit, and the repository with the directory that contains the file. If there is none, the
    ///   directory is relative to the current one.
    static func finding(
        _ file: String, of directory: String, at name: String
    ) async throws(Failure) -> (repository: GitRepository, revision: Revision, isFound: Bool) {
        let here = try await GitRepository(containing: directory)
        let revision = try await here.revision(name)
        if try await here.blobs([file], at: [revision]).first ?? nil != nil { return (here, revision, true) }
        guard !here.isPresent, !here.isBare, directory.utf8.first != UInt8(ascii: "/") else {
            return (here, revision, false)
        }
        let top = try await GitRepository(here, atTop: here.place(["--show-toplevel"]))
        guard try await top.blobs([file], at: [revision]).first ?? nil != nil else { return (here, revision, false) }
        return (top, revision, true)
    }

    /// Creates the same repository with its directory's path taken from the top of the work tree.
    private init(_ other: GitRepository, atTop top: String) {
        inside = Self.parts(other.directory)
        git = GitCommand(directory: top, seconds: other.git.seconds, allowsBare: false)
        (directory, isPresent, isBare, isShallow) = (other.directory, false, false, other.isShallow)
        bounds = other.bounds
    }

    /// Returns the names in a path, without empty ones and `.`.
    private static func parts(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).compactMap(String.init).filter { $0 != "." }
    }

    /// Follows links, as git does.
    private static func isDirectory(_ path: String) throws(Failure) -> Bool {
        try FileStore.resolved(path).map { path throws(Failure) in try FileStore.isDirectory(path) } ?? false
    }

    /// Returns whether a folder or one of its parents contains `.git`. Below it, a bare repository may have come with a
    /// commit, and is not used.
    private static func isInWorkTree(_ folder: String) throws(Failure) -> Bool {
        guard var place = try FileStore.resolved(folder) else { return true }
        while try FileStore.kind("\(place)/.git") == nil {
            if place == "/" { return false }
            place = FileStore.parent(of: place)
        }
        return true
    }

    private static let short = GitCommand.Limit(bytes: 64 << 10, name: "bytes", allowed: 64 << 10)

    /// Returns the commit that a name refers to: `HEAD`, a branch, a tag, an abbreviated hash, `main~3`.
    ///
    /// - Throws: ``Failure``, also if the name does not refer to a commit.
    package func revision(_ name: String) async throws(Failure) -> Revision {
        guard let commit = try await commit(name) else { throw .noRevision(directory: directory, name: name, gap: gap) }
        let answer = try await checked(["rev-list", "--no-walk", "--timestamp", commit], limit: Self.short)
        guard let revision = Self.revisions(answer).first else {
            throw .git(directory: directory, command: "rev-list", problem: "it did not print a commit hash")
        }
        return revision
    }

    /// Returns the common ancestor of two commits; `nil` if they have none.
    func commonAncestor(_ one: String, _ other: String) async throws(Failure) -> String? {
        let answer = try await git.run(["merge-base", one, other], limit: Self.short)
        let commit = String(decoding: answer.output.prefix { $0 != 0x0A }, as: UTF8.self)
        guard answer.status == 0, !commit.isEmpty else {
            if let gap { throw .noAncestor(directory: directory, gap: gap) }
            return nil
        }
        return commit
    }

    /// Returns whether older commits with these files may be missing: whether one of the commits is the oldest of a
    /// shallow clone.
    ///
    /// - Parameter revisions: the commits that changed the files.
    func isCut(_ revisions: [Revision]) async throws(Failure) -> Bool {
        guard isShallow, let newest = revisions.first else { return false }
        let limit = GitCommand.Limit(bytes: bounds.revisions * 66, name: "commits", allowed: bounds.revisions)
        let oldest = try await checked(["rev-list", "--max-parents=0", newest.commit], limit: limit)
            .split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        return !Set(oldest).isDisjoint(with: revisions.map(\.commit))
    }

    /// The reason that older commits are missing, and the remedy; `nil` if the clone has all commits.
    package var gap: String? {
        isShallow ? "this clone has only the newest commits; fetch the others with: git fetch --unshallow" : nil
    }

    /// Returns the name of the commit that a merge, cherry-pick or rebase in progress brings in; `nil` if there is none.
    package func incoming() async throws(Failure) -> String? {
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD"] where try await commit(name) != nil { return name }
        // A rebase that is complete leaves REBASE_HEAD behind.
        for folder in ["rebase-merge", "rebase-apply"] {
            let path = try await place(["--path-format=absolute", "--git-path", folder])
            if try FileStore.isDirectory(path), try await commit("REBASE_HEAD") != nil { return "REBASE_HEAD" }
        }
        return nil
    }

    /// Returns the path of a hook, whether it belongs to this repository only, and the path of the directory relative
    /// to the top of the work tree.
    ///
    /// With `core.hooksPath`, several repositories may share the same hooks.
    func hook(_ name: String) async throws(Failure) -> (path: String, isOwn: Bool, directory: String) {
        let path = try await place(["--path-format=absolute", "--git-path", "hooks/\(name)"])
        let common = try await place(["--path-format=absolute", "--git-common-dir"])
        var prefix = try await place(["--show-prefix"]) + inside.joined(separator: "/")
        if prefix.hasSuffix("/") { prefix.removeLast() }
        return (path, path == "\(common)/hooks/\(name)", prefix.isEmpty ? "." : prefix)
    }

    /// Returns a path printed by `git rev-parse`, which may contain line feeds.
    private func place(_ arguments: [String]) async throws(Failure) -> String {
        let output = try await checked(["rev-parse"] + arguments, limit: Self.short)
        guard output.last == 0x0A, let path = String(validating: output.dropLast(), as: UTF8.self) else {
            throw .git(directory: directory, command: "rev-parse", problem: "it did not print a path in UTF-8")
        }
        return path
    }

    /// Returns the paths of the files that git tracks in a folder of the directory, sorted. They are relative to the
    /// directory. Names that are not UTF-8 have replacement characters.
    ///
    /// - Parameter revision: a commit; `nil` for what the next commit would contain.
    func tracked(below folder: String, in revision: Revision? = nil) async throws(Failure) -> [String] {
        let files = bounds.trackedFiles
        // The system's limit for a path is 4096 bytes.
        let limit = GitCommand.Limit(bytes: files * 4096, name: "tracked files in \(folder)", allowed: files)
        let command =
            revision.map { ["ls-tree", "-r", "-z", "--name-only", $0.commit] } ?? ["ls-files", "-z"]
        return try await checked(command + ["--", relative(folder)], limit: limit).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Stages changed or removed files of the directory for the next commit.
    ///
    /// - Returns: whether this changes the next commit.
    package func stage(_ files: [String]) async throws(Failure) -> Bool {
        let before = try await checked(["write-tree"], limit: Self.short)
        let paths = try files.map { (file) throws(Failure) in try relative(file) }
        _ = try await checked(["add", "--all", "--"] + paths, limit: Self.short)
        return try await checked(["write-tree"], limit: Self.short) != before
    }

    /// Sets a variable in the repository's own configuration.
    func set(_ variable: String, to value: String) async throws(Failure) {
        _ = try await checked(["config", "--local", variable, value], limit: Self.short)
    }

    /// Returns the commits that changed a path, newest first, up to and including `name`. Empty if nothing has been
    /// committed yet.
    ///
    /// The commits of a side branch are left out if merging it did not change the path.
    ///
    /// - Parameter path: a file or a folder, relative to the dumps directory; empty for the directory itself.
    /// - Throws: ``Failure``, also if the name does not refer to a commit.
    package func revisions(touching path: String, upTo name: String = "HEAD") async throws(Failure) -> [Revision] {
        let path = try relative(path)
        guard let commit = try await commit(name) else {
            if name == "HEAD" { return [] }
            throw .noRevision(directory: directory, name: name, gap: gap)
        }
        // A line has at most 20 digits, a space, 64 digits and a line feed.
        let limit = GitCommand.Limit(bytes: bounds.revisions * 86, name: "commits", allowed: bounds.revisions)
        return Self.revisions(try await checked(["rev-list", "--timestamp", commit, "--", path], limit: limit))
    }

    /// Returns the files of the directory in a commit, at any depth, and whether each is a regular file. The bytes of
    /// names that are not UTF-8 are replaced.
    func files(at revision: Revision) async throws(Failure) -> [(path: String, isRegular: Bool)] {
        let directory = try relative("")
        let limit = GitCommand.Limit(bytes: 64 << 20, name: "bytes in the names of files", allowed: 64 << 20)
        let tree =
            revision.commit + (directory == "." && isBare ? "^{tree}" : ":\(directory == "." ? "./" : directory)")
        return try await checked(["ls-tree", "-r", "-z", "--full-tree", tree], limit: limit)
            .split(separator: 0).compactMap { line in
                guard let tab = line.firstIndex(of: 0x09) else { return nil }
                return (String(decoding: line[(tab + 1)...], as: UTF8.self), line.starts(with: "100".utf8))
            }
    }

    /// Returns a file's bytes in a commit; `nil` if the commit does not contain the file.
    ///
    /// - Parameter path: the path, relative to the dumps directory.
    func file(_ path: String, at revision: Revision) async throws(Failure) -> Bytes? {
        guard let blob = try await blobs([path], at: [revision]).first ?? nil else { return nil }
        return try await contents(blob, of: path, at: revision)
    }

    /// Returns the `dumps.yaml` of a commit; `nil` if the commit has none.
    ///
    /// - Throws: ``Failure``
    func configuration(at revision: Revision) async throws -> DumpsConfiguration? {
        let (path, place) = ("dumps.yaml", name("dumps.yaml", at: revision))
        guard let blob = try await blobs([path], at: [revision]).first ?? nil else { return nil }
        guard blob.size <= DumpsDirectory.configurationBytes else {
            throw Failure.overLimit(place: place, limit: "bytes", allowed: DumpsDirectory.configurationBytes)
        }
        let text = try DumpsDirectory.configurationText(await contents(blob, of: path, at: revision), file: place)
        return try ConfigurationReader.read(text, file: place)
    }

    /// Returns the lock file in a commit; `nil` if the commit has none.
    ///
    /// - Throws: ``Failure``, also if the file is not a lock file of a known version.
    package func lock(at revision: Revision) async throws(Failure) -> LockFile? {
        guard let text = try await file(Self.lockPath, at: revision) else { return nil }
        return try LockFile(parsing: text, path: name(Self.lockPath, at: revision))
    }

    static let lockPath = "dumps.lock.json"

    /// Returns the name of a commit's file in messages.
    func name(_ path: String, at revision: Revision) -> String {
        "git:\(revision.commit.prefix(12)):\(directory)/\(path)"
    }

    /// Returns the file at each path in each commit: first the files of the first commit, in the order of the paths,
    /// then those of the next commit, and so on. A missing file is `nil`.
    func blobs(_ paths: [String], at revisions: [Revision]) async throws(Failure) -> [Blob?] {
        var input: [UInt8] = []
        for revision in revisions {
            for path in paths { input.append(contentsOf: "\(revision.commit):\(try relative(path))\n".utf8) }
        }
        guard !input.isEmpty else { return [] }
        let count = paths.count * revisions.count
        let limit = GitCommand.Limit(bytes: input.count + 128 * count, name: "commits", allowed: bounds.revisions)
        let lines = try await checked(
            ["cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)"], input: input, limit: limit
        ).split(separator: UInt8(ascii: "\n"))
        guard lines.count == count else {
            throw .git(
                directory: directory, command: "cat-file", problem: "expected \(count) lines, found \(lines.count)")
        }
        var blobs: [Blob?] = lines.map { line in
            // git prints "<name> missing" if there is nothing at the path. A folder or a submodule is not a file
            // either.
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 3, words[0].elementsEqual("blob".utf8),
                let size = Int(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            return Blob(name: String(decoding: words[2], as: UTF8.self), size: size)
        }
        let places = input.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        try await refuseMissing(zip(places, blobs).filter { $1 == nil }.map(\.0))
        var pointers: [Blob: LargeFilePointer] = [:]
        let small = Set(blobs.compactMap(\.self).filter { $0.size <= LargeFilePointer.mostBytes })
        try await readObjects(small) { pointers[$0] = LargeFilePointer($1) }
        for index in blobs.indices {
            guard let blob = blobs[index], let pointer = pointers[blob] else { continue }
            let shown = name(paths[index % paths.count], at: revisions[index / paths.count])
            blobs[index] = Blob(
                name: blob.name, size: pointer.size,
                large: LargeFile(sha256: pointer.sha256, place: places[index], shown: shown))
        }
        return blobs
    }

    /// Refuses files that exist in their commits but are missing from a partial clone. Without this check, they would
    /// seem not to exist in the commits.
    private func refuseMissing(_ places: [String]) async throws(Failure) {
        guard !places.isEmpty, try await isPartial() else { return }
        for place in places {
            let answer = try await git.run(["rev-parse", "--verify", "--quiet", place], limit: Self.short)
            guard answer.status != 0 else { throw .partialClone(directory: directory, problem: "\(place) is missing") }
        }
    }

    /// Returns whether the clone is partial, so that git would fetch missing files or folders from a remote.
    private func isPartial() async throws(Failure) -> Bool {
        let answer = try await git.run(["config", "--get-regexp", #"^remote\..*\.promisor$"#], limit: Self.short)
        return answer.status == 0
    }

    /// Checks the size of a file.
    ///
    /// - Throws: ``Failure`` if the file is too large to be read.
    func check(_ blob: Blob, at place: String) throws(Failure) {
        guard blob.size <= bounds.fileBytes else {
            throw .overLimit(place: place, limit: "bytes", allowed: bounds.fileBytes)
        }
    }

    /// Returns a blob's bytes.
    ///
    /// - Parameters:
    ///   - path: the path at which the blob was found, for error messages.
    func contents(_ blob: Blob, of path: String, at revision: Revision) async throws(Failure) -> Bytes {
        try check(blob, at: name(path, at: revision))
        if let large = blob.large { return try await contents(of: large, size: blob.size) }
        let limit = GitCommand.Limit(bytes: blob.size, name: "bytes", allowed: bounds.fileBytes)
        let bytes = try await checked(["cat-file", "blob", blob.name], limit: limit)
        guard bytes.count == blob.size else {
            throw .git(
                directory: directory, command: "cat-file",
                problem: "expected \(blob.size) bytes, found \(bytes.count)")
        }
        return Bytes(bytes)
    }

    /// Reads a file in Git LFS through git's filter.
    private func contents(of file: LargeFile, size: Int) async throws(Failure) -> Bytes {
        let problem: String
        do throws(Failure) {
            let limit = GitCommand.Limit(
                bytes: max(size, LargeFilePointer.mostBytes), name: "bytes", allowed: bounds.fileBytes)
            let answer = try await git.run(["cat-file", "--filters", file.place], limit: limit)
            let bytes = Bytes(answer.output)
            if answer.status == 0, bytes.count == size, SHA256Digest(hashing: bytes) == file.sha256 { return bytes }
            problem =
                answer.status != 0
                ? answer.message
                : LargeFilePointer.isAtStart(of: bytes)
                    ? "no filter is set up for it" : "the filter returned different bytes"
        } catch {
            switch error.code {
            case .program: problem = error.problem
            case .refused: problem = "the filter returned more than \(size) bytes"
            default: throw error
            }
        }
        throw .largeFile(place: file.shown, problem: problem)
    }

    /// Reads many small blobs with few processes, and calls `visit` once for each, in any order.
    func read(_ blobs: Set<Blob>, _ visit: (Blob, Bytes) -> Void) async throws(Failure) {
        try await readObjects(blobs.filter { $0.large == nil }, visit)
        for blob in blobs {
            if let large = blob.large { visit(blob, try await contents(of: large, size: blob.size)) }
        }
    }

    private func readObjects(_ blobs: Set<Blob>, _ visit: (Blob, Bytes) -> Void) async throws(Failure) {
        var rest = Array(blobs)[...]
        while !rest.isEmpty {
            var chunk: [Blob] = []
            var bytes = 0
            while let blob = rest.first, chunk.isEmpty || bytes.saturatingAdding(blob.size) <= Self.chunkBytes {
                chunk.append(rest.removeFirst())
                bytes = bytes.saturatingAdding(blob.size).saturatingAdding(128)
            }
            let limit = GitCommand.Limit(bytes: bytes, name: "bytes", allowed: bounds.fileBytes)
            let input = Array(chunk.map { $0.name + "\n" }.joined().utf8)
            let output = Bytes(try await checked(["cat-file", "--batch"], input: input, limit: limit))
            var offset = 0
            for blob in chunk {
                let head = Bytes(utf8: "\(blob.name) blob \(blob.size)\n")
                let start = offset + head.count
                guard blob.size < output.count - start, output[offset..<start] == head else {
                    throw .git(
                        directory: directory, command: "cat-file",
                        problem: "expected the object \(blob.name), found unexpected output")
                }
                let end = start + blob.size  // bounded: by the output, above
                visit(blob, output[start..<end])
                offset = end + 1
            }
        }
    }

    /// The maximum number of bytes that one process reads.
    static let chunkBytes = 16 << 20

    /// The tags of a repository, by the file at one path in their commits.
    struct Tags {
        /// The names of the tags whose commits have a file at the path, sorted.
        var files: [Blob: [String]] = [:]
        /// The names of the other tags, sorted.
        var others: [String] = []

        /// The reason that no tag is found, and the remedy; `nil` if there are tags.
        var gap: String? {
            files.isEmpty && others.isEmpty ? "this clone has no tags; fetch them with: git fetch --tags" : nil
        }
    }

    /// Finds the file at a path in the commit of each tag.
    ///
    /// - Throws: ``Failure``
    func tags(of path: String) async throws(Failure) -> Tags {
        let limit = GitCommand.Limit(bytes: bounds.revisions * 512, name: "tags", allowed: bounds.revisions)
        let names = try await checked(["for-each-ref", "--format=%(refname:strip=2)", "refs/tags"], limit: limit)
            .split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }.sorted()
        let commits = names.map { Revision(commit: "refs/tags/\($0)", time: Timestamp(milliseconds: 0)) }
        var tags = Tags()
        for (name, blob) in zip(names, try await blobs([path], at: commits)) {
            if let blob { tags.files[blob, default: []].append(name) } else { tags.others.append(name) }
        }
        return tags
    }

    /// Returns the hash of the commit that a name refers to; `nil` if there is none.
    func commit(_ name: String) async throws(Failure) -> String? {
        // The name is passed on standard input, so that git cannot mistake it for an option or a range.
        guard !name.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        let answer = try await checked(
            ["cat-file", "--batch-check=%(objecttype) %(objectname)"], input: Array("\(name)^{commit}\n".utf8),
            limit: GitCommand.Limit(bytes: Self.short.bytes + name.utf8.count, name: "commits", allowed: 1))
        let words = answer.split(whereSeparator: { $0 == 0x20 || $0 == 0x0A })
        guard words.count == 2, words[0].elementsEqual("commit".utf8) else { return nil }
        let commit = String(decoding: words[1], as: UTF8.self)
        return commit.utf8.count >= 40 && commit.allSatisfy(\.isHexDigit) ? commit : nil
    }

    /// Returns a path below the directory as an argument for git; for an empty path, that of the directory.
    ///
    /// The leading `./` makes it relative to the folder in which git runs, and never an option. A bare repository has
    /// no such folder.
    private func relative(_ path: String) throws(Failure) -> String {
        guard path.isEmpty || Self.isBelow(path), inside.isEmpty || Self.isBelow(inside.joined(separator: "/")) else {
            throw .invalidPath(path)
        }
        let parts = inside + (path.isEmpty ? [] : [path])
        return parts.isEmpty ? "." : (isBare ? "" : "./") + parts.joined(separator: "/")
    }

    /// Returns whether a path leads to a file below the directory, and has no control characters.
    static func isBelow(_ path: String) -> Bool {
        FileStore.components(of: path, keepingEmpty: true).allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
            && !path.utf8.contains { $0 < 0x20 }
    }

    private func checked(
        _ arguments: [String], input: [UInt8] = [], limit: GitCommand.Limit
    ) async throws(Failure) -> [UInt8] {
        let answer = try await git.run(arguments, input: input, limit: limit)
        guard answer.status == 0 else {
            let problem = answer.message.isEmpty ? "exit code \(answer.status)" : answer.message
            if try await isPartial() { throw .partialClone(directory: directory, problem: problem) }
            throw .git(directory: directory, command: arguments[0], problem: problem)
        }
        return answer.output
    }

    /// Parses lines that each contain a time in seconds and a commit.
    private static func revisions(_ output: [UInt8]) -> [Revision] {
        output.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            // A commit time before 1970 is treated as 1970.
            guard words.count == 2 else { return nil }
            let seconds = UInt64(words[0]) ?? 0
            return Revision(
                commit: words[1],
                time: Timestamp(milliseconds: seconds.saturatingMultiplying(by: 1000)))
        }
    }
}
