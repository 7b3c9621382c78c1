import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// A host of git repositories that reviews changes: GitHub with its pull requests, or GitLab with its merge requests.
package protocol Forge: Sendable {
    /// The host's name in messages.
    var name: String { get }

    /// Returns the requests of a branch into a base, without those of forks, newest first. Uses the network.
    func requests(from branch: String, into base: String) async throws -> [ReviewRequest]

    /// Opens a request. Uses the network.
    func open(_ text: RequestText, from branch: String, into base: String) async throws -> ReviewRequest

    /// Replaces the title and the text of a request. Uses the network.
    func update(_ number: UInt64, _ text: RequestText) async throws

    /// Closes a request with a comment, and without its notes: nobody has decided against its content. Uses the
    /// network.
    func close(_ request: ReviewRequest, saying comment: String) async throws
}

/// A pull request, or a merge request of GitLab.
package struct ReviewRequest: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case open, closed, merged
    }

    package let number: UInt64
    package let state: State
    package let url: String
    package let body: String
}

/// What a job writes into a request. The labels and reviewers are only for a new one, so that people can change them.
package struct RequestText: Hashable, Sendable {
    package var title: String
    package var body: String
    package var labels: [String] = []
    package var reviewers: [String] = []
}

/// The API of a host, over HTTP. The token is in a header only.
struct ForgeAPI: Sendable {
    let name: String
    /// The base of all addresses, such as `https://api.github.com/repos/owner/name`.
    let base: String
    let headers: [HTTPHeaders.Field]
    let client: ServerClient

    /// The longest answer in bytes: 100 requests with texts of 64 KiB.
    private static let mostBytes = 32 << 20

    /// Sends one request.
    ///
    /// - Throws: ``JobProblem`` with the host's own message.
    @discardableResult
    func call(
        _ method: HTTPMethod, _ path: String, query: [(String, String)] = [],
        body: KeyValuePairs<String, JSONValue?>? = nil
    ) async throws -> JSONValue {
        do {
            let text = query.map { "\($0)=\(PercentEncoding.component($1))" }.joined(separator: "&")
            let url = try HTTPURL(base + path + (text.isEmpty ? "" : "?\(text)"))
            let json = body.map { Bytes(JSONText.compact(.members($0))) }
            let type: [HTTPHeaders.Field] = json == nil ? [] : [.init("Content-Type", "application/json")]
            let answer = try await client.call(method, url, headers: headers + type, body: json, limit: Self.mostBytes)
            let document = try? JSONValue(parsing: answer.body)
            guard (200...299).contains(answer.status) else {
                throw problem(answer, document, "\(method.rawValue) \(path)")
            }
            guard let document else {
                throw JobProblem(
                    .tryAgain, "\(name) answered \(method.rawValue) `\(path)` with something else than JSON")
            }
            return document
        } catch let error as Failure {
            throw JobProblem(.tryAgain, "\(name) cannot be asked: \(MarkdownText.prose("\(error)"))")
        }
    }

    /// Returns the problem of an answer that is an error.
    private func problem(_ answer: APIAnswer, _ document: JSONValue?, _ request: String) -> JobProblem {
        var words = ["\(name) answered \(answer.status) to `\(request)`"]
        let texts = ["message", "error_description", "error"].compactMap { document?[$0].flatMap(Self.text) }
        if let text = texts.first { words.append(MarkdownText.code(VisibleText.excerpt(text, limit: 300))) }
        if let errors = document?["errors"].flatMap(Self.text), !errors.isEmpty {
            words.append(MarkdownText.code(VisibleText.excerpt(errors, limit: 300)))
        }
        // GitHub's header and GitLab's.
        let isOverRate = ["X-RateLimit-Remaining", "RateLimit-Remaining"].contains { answer.headers[$0] == "0" }
        switch answer.status {
        case 401: words.append("the token is not valid, or has expired")
        case 403 where isOverRate || answer.headers["Retry-After"] != nil, 429:
            words.append("there were too many requests; the next run tries again")
        case 403, 404:
            let needed = ["X-Accepted-GitHub-Permissions", "X-Accepted-OAuth-Scopes"].compactMap { answer.headers[$0] }
            let scope = needed.first { !$0.isEmpty } ?? document?["scope"]?.string
            words.append(
                scope.map { "the token needs \(MarkdownText.code($0))" }
                    ?? "the token may not do this, or does not see the repository")
        case 301, 302, 307, 308: words.append("the repository has moved; correct the URL of the remote")
        default: break
        }
        return JobProblem(.tryAgain, words.joined(separator: ": "))
    }

    /// Returns the text in a value: a string, or the strings in lists and in the members of objects.
    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .array(let values): values.compactMap(text).joined(separator: "; ")
        case .object(let members): members.compactMap { text($0.value) }.joined(separator: " ")
        default: nil
        }
    }

    func number(_ document: JSONValue, _ key: String) throws -> UInt64 {
        guard let number = document[key]?.number?.uint64 else {
            throw JobProblem(.tryAgain, "\(name) answered without \(key)")
        }
        return number
    }

    func list(_ document: JSONValue) throws -> [JSONValue] {
        guard case .array(let values) = document else {
            throw JobProblem(.tryAgain, "\(name) did not answer with a list")
        }
        return values
    }
}

/// GitHub's REST API, version 2022-11-28, also that of GitHub Enterprise.
struct GitHub: Forge {
    var name: String { api.name }
    /// The API of the repository.
    let api: ForgeAPI
    /// The repository, as `owner/name`.
    let repository: String

    func requests(from branch: String, into base: String) async throws -> [ReviewRequest] {
        let owner = repository.split(separator: "/").first ?? ""
        let found = try await api.call(
            .get, "/pulls",
            query: [("head", "\(owner):\(branch)"), ("base", base), ("state", "all"), ("per_page", "100")])
        return try api.list(found).compactMap { each in
            // A fork may belong to the same owner.
            let source = each["head"]?["repo"]?["full_name"]?.string ?? repository
            return source.lowercased() == repository.lowercased() ? try request(each) : nil
        }
    }

    private func request(_ document: JSONValue) throws -> ReviewRequest {
        let isMerged = document["merged_at"]?.string != nil
        return ReviewRequest(
            number: try api.number(document, "number"),
            state: document["state"]?.string == "open" ? .open : isMerged ? .merged : .closed,
            url: document["html_url"]?.string ?? "", body: document["body"]?.string ?? "")
    }

    func open(_ text: RequestText, from branch: String, into base: String) async throws -> ReviewRequest {
        let opened = try request(
            try await api.call(
                .post, "/pulls",
                body: [
                    "title": .string(text.title), "body": .string(text.body), "head": .string(branch),
                    "base": .string(base),
                ]))
        if !text.labels.isEmpty {
            try await api.call(
                .post, "/issues/\(opened.number)/labels", body: ["labels": .array(text.labels.map(JSONValue.string))])
        }
        if !text.reviewers.isEmpty {
            // A team is ORGANIZATION/TEAM.
            let names = text.reviewers.map { $0.split(separator: "/").map(String.init) }
            func list(_ parts: Int) -> JSONValue {
                .array(names.filter { $0.count == parts }.compactMap(\.last).map(JSONValue.string))
            }
            try await api.call(
                .post, "/pulls/\(opened.number)/requested_reviewers",
                body: ["reviewers": list(1), "team_reviewers": list(2)])
        }
        return opened
    }

    func update(_ number: UInt64, _ text: RequestText) async throws {
        try await api.call(
            .patch, "/pulls/\(number)", body: ["title": .string(text.title), "body": .string(text.body)])
    }

    func close(_ request: ReviewRequest, saying comment: String) async throws {
        try await api.call(.post, "/issues/\(request.number)/comments", body: ["body": .string(comment)])
        try await api.call(
            .patch, "/pulls/\(request.number)",
            body: ["state": .string("closed"), "body": .string(RequestNotes.removed(from: request.body))])
    }
}

/// GitLab's REST API, version 4, also of an instance of one's own.
struct GitLab: Forge {
    var name: String { api.name }
    /// The API of the project's merge requests.
    let api: ForgeAPI
    /// The API of all users.
    let users: ForgeAPI

    func requests(from branch: String, into base: String) async throws -> [ReviewRequest] {
        let found = try await api.call(
            .get, "",
            query: [("source_branch", branch), ("target_branch", base), ("state", "all"), ("per_page", "100")])
        return try api.list(found).compactMap { each in
            let numbers = ["source_project_id", "target_project_id"].map { each[$0]?.number?.uint64 }
            return numbers[0] == numbers[1] ? try request(each) : nil
        }
    }

    private func request(_ document: JSONValue) throws -> ReviewRequest {
        let state = document["state"]?.string
        return ReviewRequest(
            number: try api.number(document, "iid"),
            state: state == "opened" ? .open : state == "merged" ? .merged : .closed,
            url: document["web_url"]?.string ?? "", body: document["description"]?.string ?? "")
    }

    func open(_ text: RequestText, from branch: String, into base: String) async throws -> ReviewRequest {
        var reviewers: [JSONValue] = []
        for name in text.reviewers {
            guard let user = try users.list(await users.call(.get, "", query: [("username", name)])).first else {
                throw JobProblem(.usage, "GitLab has no user \(MarkdownText.code(name))")
            }
            reviewers.append(.count(try users.number(user, "id")))
        }
        return try request(
            try await api.call(
                .post, "",
                body: [
                    "source_branch": .string(branch), "target_branch": .string(base), "title": .string(text.title),
                    "description": .string(text.body),
                    "labels": text.labels.isEmpty ? nil : .string(text.labels.joined(separator: ",")),
                    "reviewer_ids": reviewers.isEmpty ? nil : .array(reviewers),
                ]))
    }

    func update(_ number: UInt64, _ text: RequestText) async throws {
        try await api.call(.put, "/\(number)", body: ["title": .string(text.title), "description": .string(text.body)])
    }

    func close(_ request: ReviewRequest, saying comment: String) async throws {
        try await api.call(.post, "/\(request.number)/notes", body: ["body": .string(comment)])
        try await api.call(
            .put, "/\(request.number)",
            body: ["state_event": .string("close"), "description": .string(RequestNotes.removed(from: request.body))])
    }
}
