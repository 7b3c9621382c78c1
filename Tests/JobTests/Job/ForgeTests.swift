import Dumps
import RemoteSettingsModel
import Testing
@testable import Job
@testable import RemoteSettingsHTTP

@Suite struct ForgeTests {
    /// Gives every request the same response, and records the requests.
    private final class Host: HTTPTransport {
        struct Body: HTTPBody {
            var left: [[UInt8]]
            /// Whether the body ends early.
            let breaks: Bool
            mutating func next() async throws(Failure) -> [UInt8]? {
                if left.isEmpty, breaks { throw Failure("host", .truncated(expected: 100, received: 2)) }
                return left.isEmpty ? nil : left.removeFirst()
            }
        }

        let asked = Mutex<[HTTPRequest]>([])
        private let status: Int
        private let headers: [HTTPHeaders.Field]
        private let body: String
        private let breaks: Bool

        init(_ body: String, _ status: Int = 200, headers: [HTTPHeaders.Field] = [], breaks: Bool = false) {
            (self.status, self.body, self.headers, self.breaks) = (status, body, headers, breaks)
        }

        func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
            asked.withLock { $0.append(request) }
            return HTTPResponse(
                status: status, headers: HTTPHeaders(headers),
                body: Body(left: body.isEmpty ? [] : [Array(body.utf8)], breaks: breaks))
        }

        func forge(_ variables: [String: String], remote: String = "https://github.com/o/r.git") throws -> any Forge {
            try #require(
                try ForgeFinder(variables, transport: self, userAgent: UserAgent(name: "rsdump", version: "1"))
                    .forge(of: remote))
        }
    }

    private static let request = #"{"number": 7, "iid": 7, "state": "open", "html_url": "u", "body": null}"#

    @Test func gitHubRequestsMatchDocumentation() async throws {
        let host = Host("[\(Self.request)]")
        let forge = try host.forge(["GH_TOKEN": "secret"])
        let found = try await forge.requests(from: "a b", into: "main")
        #expect(found == [ReviewRequest(number: 7, state: .open, url: "u", body: "")])
        let asked = host.asked.withLock { $0[0] }
        #expect(
            "\(asked.url)" == "https://api.github.com/repos/o/r/pulls?head=o%3Aa%20b&base=main&state=all&per_page=100")
        #expect(asked.headers["Authorization"] == "Bearer secret" && asked.method == .get && asked.body == nil)
        #expect(asked.headers["User-Agent"] != nil && asked.headers["X-GitHub-Api-Version"] == "2022-11-28")
        try await forge.close(
            ReviewRequest(number: 7, state: .open, url: "", body: "b<!-- rsdump nightly {} -->"), saying: "why")
        let closing = host.asked.withLock {
            $0.dropFirst().map { "\($0.method.rawValue) \($0.url) \($0.body?.text ?? "")" }
        }
        #expect(
            closing == [
                #"POST https://api.github.com/repos/o/r/issues/7/comments {"body":"why"}"#,
                #"PATCH https://api.github.com/repos/o/r/pulls/7 {"state":"closed","body":"b"}"#,
            ])
    }

    @Test func gitLabRequestsMatchDocumentation() async throws {
        let host = Host(Self.request)
        let forge = try host.forge(["GITLAB_TOKEN": "secret"], remote: "git@git.example.org:group/sub/app.git")
        var text = RequestText(title: "t", body: "b")
        text.labels = ["x", "y"]
        #expect(try await forge.open(text, from: "a", into: "main").number == 7)
        let asked = host.asked.withLock { $0[0] }
        #expect("\(asked.url)" == "https://git.example.org/api/v4/projects/group%2Fsub%2Fapp/merge_requests")
        #expect(asked.headers["PRIVATE-TOKEN"] == "secret" && asked.method == .post)
        #expect(
            asked.body?.text
                == #"{"source_branch":"a","target_branch":"main","title":"t","description":"b","labels":"x,y"}"#)
    }

    @Test(arguments: [
        (401, #"{"message": "Bad credentials"}"#, "`Bad credentials`: the token is not valid, or has expired"),
        (403, #"{"message": "Resource not accessible by integration"}"#, "the token needs `pull_requests=write`"),
        (404, "<html>", "the token needs `pull_requests=write`"), (403, "rate", "too many requests"),
        (422, #"{"message": "Validation Failed", "errors": [{"message": "No commits"}]}"#, "`No commits`"),
        (422, #"{"message": {"base": ["is \n::error::"]}}"#, #"`is \u{a}::error::`"#),
        (429, "", "too many requests"), (502, "bad gateway", "GitHub answered 502"),
        (301, "", "the repository has moved"), (200, "<html>", "something else than JSON"),
    ])
    func forgeErrorExplainsAnswer(status: Int, body: String, words: String) async throws {
        let limit = HTTPHeaders.Field("X-RateLimit-Remaining", body == "rate" ? "0" : "9")
        let host = Host(body, status, headers: [.init("X-Accepted-GitHub-Permissions", "pull_requests=write"), limit])
        let forge = try host.forge(["GH_TOKEN": "secret"])
        let error = await #expect(throws: JobProblem.self) { try await forge.requests(from: "a", into: "main") }
        #expect(error?.code == .tryAgain && error?.text.contains(words) == true, "\(String(describing: error))")
        #expect(error?.text.contains("secret") == false && host.asked.withLock { $0.count } == 1)
    }

    @Test func truncatedForgeAnswerIsAnError() async throws {
        let forge = try Host("[]", breaks: true).forge(["GH_TOKEN": "t"])
        await #expect(throws: JobProblem.self) { try await forge.requests(from: "a", into: "main") }
    }

    @Test func forgeIsFoundByRemoteOrVariables() throws {
        func name(_ variables: [String: String], _ remote: String) throws -> String? {
            try ForgeFinder(variables, transport: Host(""), userAgent: UserAgent(name: "r", version: "1"))
                .forge(of: remote)?.name
        }
        #expect(try name([:], "https://github.com/o/r") == nil)
        #expect(try name(["GH_TOKEN": ""], "https://github.com/o/r") == nil)
        #expect(try name(["GITHUB_TOKEN": "t"], "ssh://git@github.com/o/r") == "GitHub")
        #expect(try name(["GH_TOKEN": "t"], "https://git.example.org/o/r") == nil)
        #expect(try name(["GH_TOKEN": "t", "GH_HOST": "git.example.org"], "https://git.example.org/o/r") == "GitHub")
        #expect(try name(["GITLAB_TOKEN": "t"], "https://git.example.org:8443/o/r.git") == "GitLab")
        #expect(try name(["GITLAB_TOKEN": "t", "GH_TOKEN": "t"], "/srv/origin.git") == nil)
        let actions = ["GH_TOKEN": "t", "GITHUB_API_URL": "http://localhost/api/v3", "GITHUB_REPOSITORY": "o/r"]
        #expect(try name(actions, "/srv/origin.git") == "GitHub")
        let pipeline = ["GITLAB_TOKEN": "t", "CI_API_V4_URL": "http://localhost/api/v4", "CI_PROJECT_ID": "7"]
        #expect(try name(pipeline, "/srv/origin.git") == "GitLab")
    }

    /// People may edit the description of a pull request.
    @Test func pullRequestNotesRoundTrip() throws {
        var failing = Failing()
        failing.collections = [try CollectionID("main/a"): "2026-01-02"]
        failing.superseded = [.init(try CollectionID("main/a"), at: Timestamp(milliseconds: 7)): "2026-01-04"]
        failing.refresh = "2026-01-03"
        let notes = RequestNotes(content: "c", failing: failing)
        #expect(RequestNotes(in: "text\r\n\(notes.comment)\r\nmore") == notes)
        for damaged in [
            "", "<!-- rsdump nightly ", "<!-- rsdump nightly {} -->", #"<!-- rsdump nightly {"failing":[]} -->"#,
        ] {
            #expect(RequestNotes(in: damaged) == RequestNotes(content: nil, failing: Failing()))
        }
    }

    @Test func shellWordsAreQuotedIfNeeded() {
        #expect(ShellWord.quoted("git:origin/main") == "git:origin/main")
        #expect(
            ShellWord.quoted("a b") == "'a b'" && ShellWord.quoted("$(x)'") == #"'$(x)'\'''"#
                && ShellWord.quoted("") == "''")
    }
}
