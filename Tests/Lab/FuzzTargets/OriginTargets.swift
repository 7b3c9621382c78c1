#if Lab
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import SnapshotServer

/// What the targets of requests are answered from: two states of one collection, with an attachment; and one of remote
/// config's parameters, which only the page for people looks at.
private struct ServedSample {
    let origin: Origin
    let catalog: PageCatalog
    let attachment: SHA256Digest

    static let shared: ServedSample = {
        do {
            return try ServedSample()
        } catch {
            preconditionFailure("the sample cannot be served: \(error)")
        }
    }()

    private init() throws {
        func reader(_ input: [UInt8], of collection: CollectionID = fuzzedCollection) throws -> BundleReader {
            guard let bytes = MadeBundle(input).bytes(of: collection, limits: Limits()) else {
                throw Finding("the sample is no bundle")
            }
            return try BundleReader(bytes: Bytes(bytes), name: "sample.zip")
        }
        let bundle = try reader(MadeBundle.sample)
        let older = try reader(
            Array(#"{"data":[{"id":"a"},{"id":"c"}],"last_modified":"5"}"#.utf8) + [0] + Array(#"{"id":"fuzz"}"#.utf8))
        let parameters = try reader(
            Array(
                (#"{"data":[{"id":"a","key":"k","value":"<b>"},{"filter_expression":"env.country == 'DE'","id":"b","#
                    + #""key":"k","priority":2,"value":{"<i>":[null,"\""]}},{"description":"<b>","filter_expression":"#
                    + #""env.id|bucketSample(0,50,100) && age > 3","id":"c","key":"k\"'","value":2},"#
                    + #"{"id":"d","in_app_default":true,"key":"<b>"}],"last_modified":"6"}"#).utf8)
                + [0] + Array(#"{"id":"config"}"#.utf8), of: CollectionID("main/config"))
        let address = try OriginAddress("http://127.0.0.1:8888")
        let served = try ServedCollection(bundle, signature: nil, history: [older], address: address)
        origin = try Origin([served], address: address, softwareVersion: "1")
        catalog = PageCatalog(collections: [
            .init(
                bundle: bundle, bundleSize: 1, provenance: .imported, server: "<b>\"'&", pin: "<i>",
                olderStates: [.init(timestamp: older.head.timestamp) { older }]),
            .init(
                bundle: parameters, bundleSize: 1, provenance: .imported, server: "http://127.0.0.1:8888/v1", pin: nil,
                olderStates: []),
        ])
        attachment = SHA256Digest(hashing: Bytes(utf8: "attachment"))
    }
}

extension FuzzTarget {
    private static let requestWords = [
        "/v1/", "/v2/", "/v1", "buckets/main/collections/fuzz/changeset",
        "buckets/monitor/collections/changes/changeset",
        "/attachments/", "/attachments/bundles/main--fuzz.zip", "/chains/", "__heartbeat__", "__version__",
        "buckets/monitor/collections/changes/records", "/records/a", "?_expected=", "&_since=", "\"", "%22", "%2F",
        "%00", "%", "+", "&", "=", "&bucket=main", "&collection=fuzz", "/collections/main/fuzz", "/changes", "?from=5",
        "&to=7", "?q=",
        "&page=", "&show=all",
        "/collections/main/config/parameters", "?key=k", "&key=", "&country=DE", "&version=", "&locale=de", "&channel=",
        "&os=", "&percent=", "50", "100", "&installation=", "&signals=", "age=4", "%0A", "/attachment", "/download",
        "/icon.svg", "..", "%2e%2e", "é", "%C3%A9", "<script>", "%3Cscript%3E", "'",
    ]

    private static let requestSeeds = [
        "/", "/v1", "/v1/", "/v2/", "/v1/buckets/main/collections/fuzz/changeset?_expected=0",
        "/v1/buckets/main/collections/fuzz/changeset?_expected=7&_since=%225%22",
        "/v2/buckets/main/collections/fuzz/changeset?_expected=7&_since=5",
        "/v1/buckets/monitor/collections/changes/changeset?_expected=1&_since=6&bucket=main&collection=fuzz",
        "/v1/buckets/monitor/collections/changes/records?_since=%226%22&bucket=main&_sort=id",
        "/v1/buckets/main/collections/fuzz/records",
        "/attachments/main/f.txt", "/attachments/bundles/main--fuzz.zip",
        "/chains/x", "/__heartbeat__", "/v1/__version__", "/collections/main/fuzz?q=b&page=2",
        "/collections/main/fuzz?show=all", "/collections/main/fuzz/records/a",
        "/collections/main/fuzz/records/a/attachment",
        "/collections/main/config/parameters", "/collections/main/config/parameters?key=k&country=DE&percent=99.5",
        "/collections/main/config/parameters?key=k%22'&installation=x&signals=age%3D4%0Aname%3D%22a%22&os=Linux",
        "/collections/main/fuzz/records/a/download", "/collections/main/fuzz/changes?from=5", "/icon.svg",
    ].map { Array($0.utf8) }

    /// The path and the query of a request target.
    private static func parts(_ input: [UInt8]) -> (path: String, query: String?) {
        let parts = input.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        return (parts[0], parts.count == 2 ? parts[1] : nil)
    }

    static let origin = FuzzTarget(
        "origin", "a request target of the API; a changeset is one that a client reads", longest: 512,
        words: requestWords,
        seeds: { _ in requestSeeds }
    ) { input in
        let (path, query) = parts(input)
        let prepared = try ServedSample.shared.origin.prepare(
            path: path[...], query: query.map { $0[...] }, now: Timestamp(milliseconds: 8))
        switch try prepared.answer() {
        case .resource(let resource):
            let bytes = try whole(resource)
            if [.changeset, .delta].contains(resource.route) {
                do {
                    let changeset = try Changeset(parsing: bytes, limits: Limits())
                    try require(changeset.timestamp.milliseconds == 7, "a changeset of another timestamp")
                } catch let error as ChangesetError {
                    throw Finding("a changeset that a client refuses: \(error): \(bytes.text)")
                }
            } else if resource.route == .monitor, path.hasSuffix("/changeset") {
                try require(
                    (try? MonitorChangeset(parsing: bytes, limits: Limits())) != nil, "no monitor: \(bytes.text)")
            } else if resource.contentType.hasPrefix("application/json") {
                try require((try? JSONValue(parsing: bytes, limits: Limits())) != nil, "no JSON: \(bytes.text)")
            }
        case .redirect(let url, _):
            try require(url.hasPrefix("http://127.0.0.1:8888/v"), "a redirect elsewhere: \(url)")
            try require(
                url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
                "a redirect that is no header's value: \(url.debugDescription)")
        case .problem(let problem, _):
            for version in [nil] + APIVersion.allCases {
                let body = problem.body(version)
                try require((try? JSONValue(parsing: body, limits: Limits())) != nil, "no JSON: \(body.text)")
            }
        case .noContent, .unknown: break
        }
    }

    private static func whole(_ resource: OriginResource) throws -> Bytes {
        var all: [UInt8] = []
        switch resource.content {
        case .segments(let segments): for segment in segments { all += segment.array }
        default: break
        }
        return Bytes(all)
    }

    static let page = FuzzTarget(
        "page", "a request target of the page for people; the HTML has no tag and attribute that is not the page's own",
        longest: 512, words: requestWords, seeds: { _ in requestSeeds }
    ) { input in
        let (path, query) = parts(input)
        let answer = waited {
            await OriginPage().answer(
                path: path, query: query ?? "", of: ServedSample.shared.catalog, now: Timestamp(milliseconds: 1_000_000)
            )
        }
        try require(
            answer.headers.allSatisfy { $0.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } },
            "a header with a line end")
        guard case .bytes(let bytes) = answer.body, answer[header: "Content-Type"]?.hasPrefix("text/html") == true
        else { return }
        try MarkupCheck.check(bytes.array)
    }
}

/// Reads HTML as a browser's tokenizer does, as far as is needed to see a tag that a text has slipped in.
private enum MarkupCheck {
    private static let tags: Set<String> = [
        "html", "head", "meta", "title", "style", "link", "body", "header", "main", "nav", "footer", "section",
        "article", "h1",
        "h2", "h3", "h4", "p", "a", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr",
        "th", "td",
        "form", "label", "input", "button", "select", "option", "img", "figure", "figcaption", "pre", "code", "span",
        "strong", "em",
        "small", "time", "details", "summary", "ins", "del", "br", "hr", "div", "mark", "abbr", "kbd", "b", "i", "s",
        "data", "bdi",
        "colgroup", "col", "output", "fieldset", "legend", "search", "wbr", "u",
    ]

    static func check(_ html: [UInt8]) throws {
        var at = 0
        while let open = html[at...].firstIndex(of: UInt8(ascii: "<")) {
            at = open + 1
            guard at < html.count else { throw Finding("a < at the end") }
            if html[at] == UInt8(ascii: "!") {
                at = html[at...].firstIndex(of: UInt8(ascii: ">")) ?? html.count
                continue
            }
            if html[at] == UInt8(ascii: "/") { at += 1 }
            let start = at
            while at < html.count, isLetter(html[at]) { at += 1 }
            let name = String(decoding: html[start..<at], as: UTF8.self)
            try require(tags.contains(name), "the tag <\(name)")
            while at < html.count, html[at] != UInt8(ascii: ">") {
                if html[at] == UInt8(ascii: "\"") {
                    guard let close = html[(at + 1)...].firstIndex(of: UInt8(ascii: "\"")) else {
                        throw Finding("an open quote")
                    }
                    at = close
                } else if html[at] == UInt8(ascii: "'") || html[at] == UInt8(ascii: "<") {
                    throw Finding("a \(UnicodeScalar(html[at])) in the tag <\(name)")
                } else if isLetter(html[at]) {
                    let start = at
                    while at < html.count, isLetter(html[at]) || html[at] == UInt8(ascii: "-") { at += 1 }
                    let attribute = String(decoding: html[start..<at], as: UTF8.self)
                    try require(!attribute.hasPrefix("on") && attribute != "style", "the attribute \(attribute)")
                    continue
                }
                at += 1
            }
            if name == "style", html[start - 1] != UInt8(ascii: "/") {
                at = html[at...].firstIndex(of: UInt8(ascii: "<")) ?? html.count
            }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
    }
}
#endif
