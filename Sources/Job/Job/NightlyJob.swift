import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The nightly job: it refreshes a dumps directory that is kept in git, and lands what changed on a branch, with one
/// pull request. ``run()`` lists its steps.
///
/// It is always safe to run it again: each run starts from what is on the remote.
package struct NightlyJob: Sendable {
    package struct Options: Sendable {
        /// The dumps directory, from the top of the repository.
        package var dumps = "dumps"
        /// The branch that changes land on; `nil` for one of the directory and the base.
        package var branch: String?
        /// The branch to merge them into; `nil` for the remote's default branch.
        package var base: String?
        package var pushOptions: [String] = []
        package var opensRequest = true
        /// The shell command that generates files from the dumps; `nil` for none.
        package var beforeCommit: String?
        /// The paths whose files that command may change.
        package var also: [String] = []
        package var labels: [String] = []
        package var reviewers: [String] = []
        package var titlePrefix = ""
        /// The commands to run when a change has landed.
        package var onChange: [String] = []

        package init() {}

        /// What the job commits.
        var committed: [String] { [dumps] + also }
    }

    /// What the job needs from the program that runs it.
    package protocol Program: Sendable {
        /// The path of this program, for the command of `--before-commit`.
        var path: String { get }
        var now: Timestamp { get }
        /// Refreshes a directory.
        ///
        /// - Returns: what it did, which is `nil` if it failed as a whole, and the reason of the failure.
        func refresh(_ directory: DumpsDirectory, isFull: Bool) async -> (
            report: RefreshReport?, code: ExitStatus, reason: String?
        )
        /// Returns the records of a directory that the types in a Swift file cannot decode.
        func misfits(_ directory: DumpsDirectory, _ file: String) throws -> [String]
        /// Writes a line to the log.
        func log(_ text: String)
    }

    /// The branch and its base on the remote, and where this run starts.
    struct Place: Sendable {
        let base: String
        let branch: String
        let heads: JobClone.Heads
        /// Where branch and base part; `nil` if the run starts from the base alone, because there is no branch, or the
        /// base has all of its changes.
        let fork: String?

        /// The commit that the run continues.
        var start: String { fork == nil ? heads.base : heads.branch ?? heads.base }
    }

    let clone: JobClone
    let options: Options
    let program: any Program
    let forge: (any Forge)?
    package private(set) var report: NightlyReport
    /// The open request, after it was found.
    private var request: ReviewRequest?

    package init(_ clone: JobClone, options: Options, program: any Program, forge: (any Forge)?) {
        self.clone = clone
        self.options = options
        self.program = program
        self.forge = forge
        report = NightlyReport(dumps: options.dumps)
    }

    /// The directory of all runs in the clone, which is locked as long as one is active.
    private var folder: String { "\(clone.common)/rsdump-nightly" }

    private func state(of branch: String) -> String { "\(folder)/\(branch)" }

    /// Runs all steps. A step that fails ends the run, but an open request still shows why.
    ///
    /// - Returns: the exit code, that of the worst problem. ``report`` has the summary.
    package mutating func run() async -> ExitStatus {
        do {
            let lock = try clone.lock(folder)
            defer { withExtendedLifetime(lock) {} }
            // If somebody pushes meanwhile, everything is done once more on top of that.
            guard try await !night(), try await !night() else { return report.code }
            throw JobProblem(.tryAgain, "somebody else has pushed to the branch each time; the next run tries again")
        } catch {
            note(JobProblem(error))
        }
        return report.code
    }

    /// Runs the steps once.
    ///
    /// - Returns: `false` if somebody else has changed the branch meanwhile.
    private mutating func night() async throws -> Bool {
        (report, request) = (NightlyReport(dumps: options.dumps), nil)
        let place = try await prepare()
        let state = state(of: place.branch)
        try FileStore.makeDirectories(state)
        var hooks = ChangeHooks(options.onChange, of: DumpsDirectory(state), keeping: "\(state)/on-change.json")
        let before = options.onChange.isEmpty ? [:] : try await timestamps(of: place.start)
        try await hooks.begin { before }
        let known = try Failing(at: state)
        var tip = place.heads.branch
        do {
            let tree = try await checkOut(place)
            try await refresh(tree)
            try await verify(tree)
            try await generate(tree)
            if let commit = try await commit(tree, place) {
                try await findRequest(place)
                guard try await isWanted(commit) else { return true }
                guard try await push(commit, place) == .done else { return false }
                tip = commit
            }
        } catch {
            report.brokeOff = true
            note(JobProblem(error))
        }
        try await findRequest(place)
        report.failing = known.updated(by: report, report.requests?.first?.body, today: day)
        try report.failing.write(at: state)
        let isShown = try await review(place, tip)
        if isShown, !report.brokeOff {
            try await notify(hooks, of: tip ?? place.heads.base)
        }
        return true
    }

    private var day: String { Pin.dateText(program.now) }

    private mutating func note(_ problem: JobProblem) {
        if report.add(problem) { program.log("\(problem.code == .backoff ? "warning" : "error"): \(problem)") }
    }
}

// MARK: - The steps
extension NightlyJob {
    /// Finds the branch and its base on the remote.
    private mutating func prepare() async throws -> Place {
        let usual = options.base == nil || options.branch == nil ? try await clone.defaultBranch() : nil
        guard let base = options.base ?? usual else {
            throw JobProblem(.tryAgain, "the remote has no default branch; set the base branch with --base")
        }
        let suffix = base.exact == usual?.exact ? "" : "-for-\(base)"
        let branch = options.branch ?? "remote-settings-\(options.dumps)\(suffix)"
        for name in [branch, base]
        where try await clone.git.run(["check-ref-format", "refs/heads/\(name)"], limit: .whole).status != 0
            || name == "HEAD" || name.hasPrefix("-")
        {
            throw JobProblem(.usage, "\(MarkdownText.code(name)) is not a valid branch name")
        }
        let heads = try await clone.fetch(base: base, branch: branch)
        guard let tip = heads.branch, try await !clone.isAncestor(tip, of: heads.base) else {
            return Place(base: base, branch: branch, heads: heads, fork: nil)
        }
        // Without an ancestor, the base has begun a new history, and the branch cannot be merged into it.
        let fork = try await clone.ancestor(heads.base, tip)
        if fork == nil {
            report.landed.append("The branch shares no commit with the base, so it begins anew.")
        }
        let isMerged = if let fork { try await clone.hasLanded(tip, since: fork, on: heads.base) } else { false }
        return Place(base: base, branch: branch, heads: heads, fork: isMerged ? nil : fork)
    }

    /// Makes the job's tree: the files of the base, with the dumps of both the base and the branch.
    private func checkOut(_ place: Place) async throws -> JobTree {
        let state = state(of: place.branch)
        let start = try await StartTree(clone: clone, dumps: options.dumps, scratch: state).tree(of: place)
        let tree = try await JobTree(
            clone, at: "\(state)/tree", from: place.heads.base, tree: start.tree, dumps: options.dumps,
            isWhole: options.beforeCommit != nil)
        guard try FileStore.exists(tree.directory.configurationPath) else {
            let file = MarkdownText.code("\(options.dumps)/dumps.yaml")
            throw JobProblem(.usage, "\(place.base) has no \(file); create it with rsdump add, and commit it")
        }
        if start.merges, let tip = place.heads.branch { try await merge(tip, place.fork, into: tree) }
        return tree
    }

    /// Merges the bundles of the branch into those of the base, by their content.
    private func merge(_ tip: String, _ fork: String?, into tree: JobTree) async throws {
        do {
            for other in [tree.base, tip] {
                try await clone.fetchFiles(fork ?? tree.base, other, below: options.dumps)
            }
            let directory = tree.directory
            _ = try await DumpsMerge.write(into: directory, onlyChosen: false) {
                try await DumpsMerge(
                    in: directory.path, with: tip, ancestor: fork,
                    policy: { try $0.policy(file: directory.configurationPath) })
            }
        } catch {
            throw JobProblem(
                .tryAgain, "cannot merge the dumps of the branch and its base: \(MarkdownText.prose("\(error)"))")
        }
    }

    private mutating func refresh(_ tree: JobTree, isFull: Bool = false) async throws {
        let refreshed = await program.refresh(tree.directory, isFull: isFull)
        report.refreshed = refreshed.report
        report.refreshedAt = program.now
        let failed = refreshed.report?.failed ?? []
        let forged = failed.filter { $0.error?.isOfTrust ?? false }
        let others = failed.filter { each in !forged.contains { $0.id == each.id } }
        func names(_ outcomes: [CollectionOutcome]) -> String { MarkdownText.codes(outcomes.map { "\($0.id)" }) }
        for outcome in failed { report.warnings.append("\(outcome.id): \(outcome.error.map { "\($0)" } ?? "failed")") }
        if !forged.isEmpty {
            note(JobProblem(.someFailed, "Signature failure: no valid signature for \(names(forged))"))
        }
        let why = refreshed.reason.map { ": \(MarkdownText.code(VisibleText.excerpt($0, limit: 400)))" } ?? ""
        let rest = "the next run will try again; collections that were already refreshed will land"
        switch refreshed.code {
        case .done: break
        case .someFailed:
            if failed.isEmpty { note(JobProblem(.someFailed, "the refresh failed\(why)")) }
            if !others.isEmpty {
                note(JobProblem(.someFailed, "could not refresh \(names(others)); see the reasons below"))
            }
        case .backoff: note(JobProblem(.backoff, "the server asked clients to wait; \(rest)"))
        case .unreachable: note(JobProblem(.unreachable, "the server cannot be reached\(why); \(rest)"))
        case .usage: throw JobProblem(.usage, "the refresh failed because of its options or dumps.yaml\(why)")
        case .verificationFailed, .tryAgain, .wouldChange:
            throw JobProblem(refreshed.code, "the refresh failed\(why); the next run will continue from there")
        }
    }

    /// Verifies every byte of the dumps. If anything is wrong, everything is downloaded again, once.
    private mutating func verify(_ tree: JobTree) async throws {
        guard try await !unverified(tree).isEmpty else { return }
        program.log("the dumps did not verify; downloading everything again")
        try await refresh(tree, isFull: true)
        let found = try await unverified(tree)
        guard !found.isEmpty else { return }
        report.unverified = found
        throw JobProblem(
            .verificationFailed,
            "the dumps did not verify (\(found.map(\.name).joined(separator: " "))); nothing was committed")
    }

    /// Returns what keeps the dumps from landing. Collections that were never fetched, that are not what `dumps.yaml`
    /// asks for or that exceed a budget land with the others, because the refresh has reported them.
    ///
    /// - Parameter isLocked: whether the lock file must also be what `dumps.yaml` asks for.
    private func unverified(_ tree: JobTree, isLocked: Bool = false) async throws -> [NightlyReport.Unverified] {
        let directory = tree.directory
        do {
            let configuration = try directory.configuration()
            let policy = try configuration.policy(file: directory.configurationPath)
            let outcomes = try await Verification(directory, policy: policy)
                .run([], configured: configuration.collections)
            let strays = try directory.strayFiles(tracked: await directory.trackedWork(), at: options.dumps)
            var found =
                outcomes.compactMap { outcome -> NightlyReport.Unverified? in
                    switch outcome.verdict {
                    case .good: nil
                    case .missing where !isLocked: nil
                    case .missing, .interrupted, .bad:
                        ("\(outcome.id)", outcome.verdict.message ?? "")
                    }
                } + strays.map { ($0.path, $0.problem) }
            guard isLocked else { return found }
            found += try directory.unlistedCollections(directory.lockFile()).map {
                ("\($0)", "dumps.yaml does not list it")
            }
            let survey = Survey(directory, configuration: configuration, policy: policy, now: program.now)
            found += try survey.disagreements().map {
                ("\($0.collection)", "dumps.yaml and the lock file differ: it \($0.action.sentence)")
            }
            return found
        } catch {
            return [("rsdump", "\(error)")]
        }
    }

    /// Runs the command of `--before-commit`.
    private mutating func generate(_ tree: JobTree) async throws {
        guard let command = options.beforeCommit else { return }
        try await findTypeBreaks(tree)
        let script = """
            unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_PREFIX
            cd \(GitSetup.quoted(tree.path)) || exit 1
            export RSDUMP=\(GitSetup.quoted(program.path))
            \(command)
            """
        // Its output goes to standard error.
        let status = try await ExternalProgram(shell: script).runVisibly(input: Bytes(), seconds: 3600)
        guard status == 0 else {
            throw JobProblem(.usage, "--before-commit exited with code \(status); nothing was committed")
        }
        let others = try await tree.changes(besides: options.committed)
        guard others.isEmpty else {
            throw JobProblem(
                .usage,
                "--before-commit changed files that are not listed with --also (\(MarkdownText.codes(others))); "
                    + "nothing was committed")
        }
        guard try await unverified(tree).isEmpty else {
            throw JobProblem(
                .verificationFailed, "--before-commit left dumps that do not verify; nothing was committed")
        }
    }

    /// Finds the records that the Swift types of the base do not decode. `rsdump embed --types` made them.
    private mutating func findTypeBreaks(_ tree: JobTree) async throws {
        guard !options.also.isEmpty else { return }
        let file = "\(folder)/types.swift"
        defer { try? FileStore.remove(file) }
        for path in try await clone.entries(tree.base, options.also).keys.sorted() where path.string.hasSuffix(".swift")
        {
            try FileStore.replace(file, with: try await clone.file(path.string, in: tree.base))
            let misfits = (try? program.misfits(tree.directory, file)) ?? []
            report.typeBreaks += misfits.map { "\(MarkdownText.code(path.string)): \(MarkdownText.code($0))" }
        }
        report.warnings += report.typeBreaks.map { "Type break: \($0)" }
    }

    /// Makes the commit, if it changes anything.
    ///
    /// - Returns: `nil` if the branch, or the base if there is no branch, already has these dumps.
    private mutating func commit(_ tree: JobTree, _ place: Place) async throws -> String? {
        try await tree.add(options.committed)
        let wanted = try await clone.entries(tree.written(), options.committed)
        report.isLanded = try await wanted == clone.entries(place.heads.base, options.committed)
        guard !report.isLanded, try await wanted != clone.entries(place.start, options.committed) else { return nil }
        let old = DiffSide.Place.git(revision: place.start, path: tree.directory.path)
        let changes = try await DiffReport(
            from: (old, DiffSide(revision: place.start, path: tree.directory.path)),
            to: (.path(options.dumps), DiffSide(path: tree.directory.path)), names: [])
        report.changes = changes
        var parents = [place.start]
        if place.fork != nil, place.fork != place.heads.base { parents.append(place.heads.base) }
        let others = try await clone.others(of: place, besides: options.committed)
        try await tree.replace(others.new, old: others.old)
        return try await tree.commit(tree.written(), parents: parents, message: NightlyReport.message(changes))
    }

    private mutating func push(_ commit: String, _ place: Place) async throws -> JobClone.Pushed {
        let expected = place.branch.exact == place.base.exact ? place.heads.base : place.heads.branch
        let pushed = try await clone.push(commit, to: place.branch, replacing: expected, options: options.pushOptions)
        if pushed == .done, let changes = report.changes {
            let title = NightlyReport.message(changes).prefix { $0 != "\n" }
            report.landed.append("Landed on \(MarkdownText.code(place.branch)): \(title).")
        }
        return pushed
    }

    /// Tells the commands of `--on-change` what has landed since they were last told.
    private func notify(_ hooks: ChangeHooks, of commit: String) async throws {
        guard !options.onChange.isEmpty else { return }
        for outcome in try await hooks.finish(timestamps(of: commit), request: request?.url) {
            guard let failure = outcome.failure else { continue }
            program.log("warning: --on-change failed: \(VisibleText.escape(failure)); the next run will try again")
        }
    }

    /// Returns the collections of a commit with their timestamps.
    private func timestamps(of commit: String) async throws -> DumpsChange.State {
        try await locked(in: commit).mapValues(\.timestamp)
    }

    /// Returns the collections in the lock file of a commit.
    private func locked(in commit: String) async throws -> [CollectionID: LockFile.Collection] {
        let path = "\(options.dumps)/\(LockFile.name)"
        guard try await !clone.entries(commit, [path]).isEmpty else { return [:] }
        return try LockFile(parsing: try await clone.file(path, in: commit), path: path).collections
    }

    // MARK: - The check of a commit
    /// Checks the commit of the clone, and that the command of `--before-commit` makes the files that it has. Refreshes
    /// nothing, and uses no network.
    package mutating func verifyCommit() async -> ExitStatus {
        do {
            try FileStore.makeDirectories(folder)
            let head = try await clone.git.checked(["rev-parse", "HEAD"]).text
            let tree = try await JobTree(
                clone, at: FileStore.uniquePath("\(folder)/verified"), from: head, dumps: options.dumps,
                isWhole: options.beforeCommit != nil)
            do {
                try await check(tree)
                report.landed.append(
                    "The commit \(head.prefix(12)) verifies"
                        + "\(options.beforeCommit == nil ? "" : ", with the files made from its dumps").")
            } catch {
                note(JobProblem(error))
            }
            try await tree.remove()
        } catch {
            note(JobProblem(error))
        }
        return report.code
    }

    private mutating func check(_ tree: JobTree) async throws {
        report.unverified = try await unverified(tree, isLocked: true)
        guard report.unverified.isEmpty else {
            throw JobProblem(.verificationFailed, "the dumps did not verify; see below")
        }
        try await generate(tree)
        let others = try await tree.changes(besides: [])
        guard others.isEmpty else {
            throw JobProblem(
                .verificationFailed,
                "the commit does not match the output of --before-commit (\(MarkdownText.codes(others)))")
        }
    }

    // MARK: - The request
    /// Whether there is somebody to ask about requests.
    private var asksForge: Bool { options.opensRequest && forge != nil }

    private mutating func findRequest(_ place: Place) async throws {
        guard asksForge, let forge, place.branch.exact != place.base.exact, report.requests == nil else { return }
        do {
            let found = try await forge.requests(from: place.branch, into: place.base)
            report.requests = found
            request = found.first { $0.state == .open }
        } catch {
            note(JobProblem(.tryAgain, "\(JobProblem(error)); the pull requests are not known"))
        }
    }

    /// Returns whether a commit is worth pushing: not if a person has closed a request with the same content.
    private mutating func isWanted(_ commit: String) async throws -> Bool {
        guard request == nil, let closed = try await closed(commit) else { return true }
        report.landed.append("Pull request #\(closed.number), which has this content, was closed; nothing is pushed.")
        return false
    }

    /// Returns the request with a commit's content that a person has closed.
    private func closed(_ commit: String) async throws -> ReviewRequest? {
        let content = try await content(of: commit)
        return report.requests?.first { $0.state == .closed && RequestNotes(in: $0.body).content == content }
    }

    /// Returns a hash of the data in a commit's dumps, and of their other files. It stays the same if the server signs
    /// the same data again.
    private func content(of commit: String) async throws -> String {
        let data = try await locked(in: commit).map { id, each in
            "\(id) \(each.timestamp) \(each.records) \(each.attachments) \(each.attachmentRule)"
        }
        let files = try await clone.entries(commit, [options.dumps]).filter { !StartTree.isDerived($0.key.string) }
        let text = (data + files.map { "\($0.value)\t\($0.key.string)" }).sorted().joined(separator: "\0")
        return SHA256Digest(hashing: Bytes(utf8: text)).hex
    }

    /// Opens or updates the branch's request, or closes it if the base already has everything. After a run that broke
    /// off, it only updates one, so that it shows the failure.
    ///
    /// - Returns: `false` if that failed.
    private mutating func review(_ place: Place, _ tip: String?) async throws -> Bool {
        guard place.branch.exact != place.base.exact, let tip else { return true }
        let hasOthers = try await !clone.others(of: place, besides: options.committed).new.isEmpty
        if report.isLanded, !report.brokeOff, !hasOthers {
            guard let open = request, let forge else { return true }
            try await forge.close(
                open,
                saying: "`\(place.base)` has everything that this request would change, so it is closed.")
            report.landed.append("Pull request #\(open.number) was closed, because the base has all of its changes.")
            request = nil
            return true
        }
        guard place.fork != nil || tip != place.heads.branch else { return true }
        guard asksForge, let forge else {
            if !report.landed.isEmpty {
                report.landed.append(
                    "Next: open a pull request from \(MarkdownText.code(place.branch)) into "
                        + "\(MarkdownText.code(place.base)), if none is open.")
            }
            let file = "\(state(of: place.branch))/body.md"
            try FileStore.replace(file, with: Bytes(utf8: try await text(place, tip).body))
            program.log("the text of the pull request is in \(file)")
            return true
        }
        guard report.requests != nil else { return false }
        do {
            let text = try await text(place, tip)
            if let open = request {
                try await forge.update(open.number, text)
                if !report.landed.isEmpty { report.landed.append("Pull request #\(open.number) was updated.") }
            } else if !report.brokeOff, !report.isLanded, try await closed(tip) == nil {
                let opened = try await forge.open(text, from: place.branch, into: place.base)
                request = opened
                report.landed.append("Pull request: \(opened.url)")
            }
        } catch {
            let pushed = tip == place.heads.branch ? "" : "; the branch was pushed"
            note(JobProblem(.tryAgain, "\(JobProblem(error))\(pushed)"))
            return false
        }
        return true
    }

    private func text(_ place: Place, _ tip: String) async throws -> RequestText {
        try await clone.fetchFiles(place.heads.base, tip, below: options.dumps)
        // Git's filters, such as Git LFS, depend on the attributes in a work tree: the job's own, if it was made.
        let tree = "\(state(of: place.branch))/tree"
        let path = "\(try FileStore.isDirectory(tree) ? tree : clone.top)/\(options.dumps)"
        let all = try await DiffReport(
            from: (
                .git(revision: "\(clone.remote)/\(place.base)", path: nil),
                DiffSide(revision: place.heads.base, path: path)
            ),
            to: (.git(revision: tip, path: nil), DiffSide(revision: tip, path: path)), names: [])
        let (old, new) = (
            try await clone.entries(place.heads.base, options.also), try await clone.entries(tip, options.also)
        )
        let made = Set(old.keys).union(new.keys).sorted().filter { old[$0] != new[$0] }.map { path in
            (old[path] == nil ? "added" : new[path] == nil ? "removed" : "changed", path.string)
        }
        let notes = RequestNotes(content: try await content(of: tip), failing: report.failing)
        return RequestText(
            title: options.titlePrefix + "Update Remote Settings dumps"
                + (options.dumps == "dumps" ? "" : " in \(options.dumps)"),
            body: report.body(
                all, made: made, remote: clone.remote, base: place.base, branch: place.branch, notes: notes),
            labels: options.labels, reviewers: options.reviewers)
    }
}
