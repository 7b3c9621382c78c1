import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import SnapshotOrigin

extension OriginAnswer {
    fileprivate var resourceOnly: OriginResource? { if case .resource(let resource) = self { resource } else { nil } }
    fileprivate var redirectURL: String? { if case .redirect(let url, _) = self { url } else { nil } }
    fileprivate var problemOnly: OriginProblem? { if case .problem(let problem, _) = self { problem } else { nil } }
}

@Suite struct OriginTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)
    private let long = String(repeating: "a text that deflates well, ", count: 100)

    private func origin() throws -> Origin {
        let old = SampleCollection(timestamp: 10, records: [#"{"id":"a","v":1}"#, #"{"id":"b"}"#, #"{"id":"c"}"#])
        var new = SampleCollection(timestamp: 20, records: [#"{"id":"a","v":2}"#, #"{"id":"c"}"#, #"{"id":"d"}"#])
        new.records.append(SampleCollection.attachment("f", long))
        new.records.append(SampleCollection.attachment("g", "short"))
        new.attachments = [long, "short"]
        new.metadata = #"{"id":"sample","bucket":"main","attachment":{"bundle":true},"x":1.50}"#
        let other = SampleCollection(id: "main/other", timestamp: 15, records: [], metadata: "{}")
        return try Origin(
            [try new.served(history: [old]), try other.served()], address: try OriginAddress(SampleCollection.address),
            softwareVersion: "1.0")
    }

    private func prepare(_ origin: Origin, _ target: String) throws -> PreparedAnswer {
        let parts = target.split(separator: "?", maxSplits: 1)
        return try origin.prepare(path: parts[0], query: parts.count > 1 ? parts[1] : nil, now: now)
    }

    private func ask(_ origin: Origin, _ target: String) throws -> OriginAnswer { try prepare(origin, target).answer() }

    @Test(arguments: [
        ("/v2/", false), ("/v2/__version__", false), ("/nowhere", false), ("/chains/x", false),
        ("/v2/buckets/main/collections/sample/changeset?_expected=0", false),
        ("/v2/buckets/main/collections/sample/changeset?_expected=20&_since=10", true),
        ("/v2/buckets/main/collections/sample/changeset?_expected=20&%5Fsince=10", true),
        ("/v1/buckets/main/collections/sample/changeset?_expected=20&_limit=1", true),
        ("/v2/buckets/monitor/collections/changes/changeset?_expected=0", false),
        ("/v1/buckets/monitor/collections/changes/changeset?_expected=0&_since=%2215%22", true),
        ("/v2/buckets/main/collections/sample_since/changeset?_expected=0", false),
        ("/v1/buckets/monitor/collections/changes/records", true), ("/attachments/a", false),
        ("/attachments/bundles/main--sample.zip", true), ("/attachments/%62undles/main--sample.zip", true),
    ])
    func `Work that may take long is known before it is done`(target: String, isMaking: Bool) throws {
        guard case .making = try prepare(try origin(), target) else { return #expect(!isMaking) }
        #expect(isMaking)
    }

    /// A state whose attachment is version `version` of a list.
    private func list(_ version: Int) -> (state: SampleCollection, text: String) {
        let text = (0..<400).map { "||tracker-\($0 * 7_919 % 10_007)-\($0 == version ? "new" : "old").example^\n" }
            .joined()
        let record = SampleCollection.attachment("f", text, name: "\(version)--f--list.txt")
        return (SampleCollection(timestamp: UInt64(10 + version), records: [record], attachments: [text]), text)
    }

    #if os(Linux)
    @Test(arguments: [0, 64 << 20])
    func `The newest attachment is offered as a delta to five earlier ones`(mostBytes: Int) throws {
        let states = (0...6).map(list)
        let origin = try Origin(
            [try states[6].state.served(history: states[..<6].map(\.state))],
            address: try OriginAddress(SampleCollection.address), softwareVersion: "1.0",
            deltas: MadeDeltas(mostBytes: mostBytes))
        for (version, state) in states.enumerated() {
            let dictionary = SHA256Digest(hashing: Bytes(utf8: state.text))
            for _ in 0..<2 {
                let prepared = try origin.prepare(
                    path: "/attachments/main-workspace/sample/6--f--list.txt", query: nil, dictionary: dictionary,
                    now: now)
                let resource = try #require(try prepared.answer().resourceOnly)
                // A browser can use a file received as a delta as the dictionary for the next version.
                #expect(resource.useAsDictionary?.contains("id=\"6--f--list.txt\"") == true)
                #expect(resource.contentType == "text/plain")
                #expect(resource.isDelta == (1...5).contains(version))
                #expect(
                    resource.isDelta ? resource.content.count < 200 : resource.content.count == states[6].text.count)
            }
        }
        var paths: [String] = []
        try origin.forEachPath { path, _ in if path.hasSuffix(".dcz") { paths.append(path) } }
        #expect(
            paths
                == (1...5).map { version in
                    "/attachments/cdt/main-workspace/sample/compressed/target-6--f--list.txt/dcz/from-\(version)--f--list.txt"
                        + ".dcz"
                })
    }
    #endif

    private func body(_ answer: OriginAnswer, atMost most: Int = .max) throws -> String {
        guard let resource = answer.resourceOnly else { return "\(answer)" }
        let pieces = try resource.content.pieces()
        var text = ""
        while let piece = try pieces.next(atMost: most) {
            #expect(piece.count <= most)
            text += piece.text
        }
        return text
    }

    @Test func `A changeset has the bundle's records and metadata`() throws {
        let text = try body(try ask(try origin(), "/v2/buckets/main/collections/sample/changeset?_expected=0"))
        let changeset = try Changeset(parsing: Bytes(utf8: text))
        #expect(changeset.records.map(\.id) == ["a", "c", "d", "f", "g"])
        #expect(changeset.timestamp.milliseconds == 20)
        #expect(changeset.metadata.json.text.contains("1.50"))
    }

    @Test func `Imported metadata is completed`() throws {
        let text = try body(try ask(try origin(), "/v1/buckets/main/collections/other/changeset?_expected=0"))
        #expect(text == #"{"metadata":{"id":"other","bucket":"main"},"timestamp":15,"changes":[]}"#)
    }

    @Test(arguments: ["?_expected=0", "?_expected=0&_since=15", "?_expected=0&_limit=1"])
    func `The metadata as received is only for clients that ask`(query: String) throws {
        let origin = try origin()
        let path = "/v1/buckets/main/collections/other/changeset"
        func answer(_ withReceivedMetadata: Bool) throws -> OriginResource {
            let prepared = try origin.prepare(
                path: path[...], query: query.dropFirst(), withReceivedMetadata: withReceivedMetadata, now: now)
            return try #require(try prepared.answer().resourceOnly)
        }
        let (plain, extended) = (try answer(false), try answer(true))
        #expect(try !body(.resource(plain)).contains("mirrored_metadata"))
        #expect(try body(.resource(extended)).hasSuffix(#","mirrored_metadata":{}}"#))
        #expect(plain.tag != extended.tag && plain.dependsOnPreference && extended.dependsOnPreference)
    }

    @Test(arguments: [("v1", #","last_modified":20"#), ("v2", "")])
    func `A known state is answered by the true delta`(version: String, time: String) throws {
        let text = try body(
            try ask(try origin(), "/\(version)/buckets/main/collections/sample/changeset?_expected=20&_since=10"))
        #expect(text.contains(#"{"id":"a","v":2},{"id":"d"},"#))
        #expect(text.hasSuffix(#",{"deleted":true,"id":"b"\#(time)}]}"#))
        #expect(!text.contains(#"{"id":"c"}"#))
    }

    @Test func `An unknown state is answered by the full list elsewhere`() throws {
        let path = "/v2/buckets/main/collections/sample/changeset"
        let answer = try ask(try origin(), "\(path)?_since=11&_expected=20")
        #expect(answer.redirectURL == "\(SampleCollection.address)\(path)?_expected=20")
    }

    @Test(arguments: [
        ("/v1/buckets/main/collections/sample/changeset", 400),
        ("/v1/buckets/main/collections/none/changeset?_expected=0", 404),
        ("/v2/buckets/main/collections/sample/changeset?_expected=5&_since=10", 400),
        ("/v2/buckets/main/collections/sample/changeset?_expected=20&_since=%2210%22", 422),
        ("/v2/buckets/main/collections/sample/changeset", 422),
        ("/v2/buckets/main/collections/sample/changeset?_expected=", 422),
        ("/v2/buckets/main/collections/sample/changeset?_expected=0&_since=", 422),
        ("/v2/buckets/main/collections/sample/changeset?_expected=0&_since=4102444800001", 422),
        ("/v1/buckets/main/collections/sample/changeset?_expected=0&_since=4102444800001", 400),
        ("/v1/buckets/main/collections/sample/changeset?_expected=0&_expected=0", 400),
        ("/v1/buckets/main/collections/sample/changeset?_expected=0&_since=10&_since=10", 400),
        ("/v1/buckets/main/collections/sample/changeset?_expected=", 400),
        ("/v1/buckets/main/collections/sample/changeset?_expected=0&_since=x", 400), ("/v1/nothing", 404),
        ("/attachments/../../etc/passwd", 404), ("/attachments/%2e%2e%2fetc%2fpasswd", 404), ("/chains/x.pem", 404),
        ("/v1/buckets/main/collections/..%2Fsample/changeset?_expected=0", 404),
    ])
    func `What cannot be answered is a problem`(target: String, code: Int) throws {
        let problem = try #require(try ask(try origin(), target).problemOnly)
        #expect(problem.status == code)
        let version = APIVersion(path: target)
        let body = try JSONValue(parsing: problem.body(version))
        if version == .v2 {
            #expect((code == 422 ? body["detail"]?.array?.first?["loc"] : body["detail"]) != nil)
        } else {
            #expect(body["code"]?.number?.int64 == Int64(code))
        }
    }

    @Test(arguments: [
        ("/v1/buckets/main/collections/sample/changeset?_expected=0&_since=", 200, "deleted", false),
        (
            "/v2/buckets/main/collections/sample/changeset?_expected=x&_expected=20&_since=1&_since=10", 200, "deleted",
            true
        ),
        ("/v1/__broadcasts__", 200, #"{"broadcasts":{"remote-settings/monitor_changes":"\"20\""},"code":200}"#, true),
        ("/v2/__broadcasts__", 200, "remote-settings/monitor_changes", true),
    ])
    func `Queries are understood as Mozilla's servers do`(
        target: String, code: Int, text: String, isThere: Bool
    ) throws {
        #expect(try body(try ask(try origin(), target)).contains(text) == isThere)
    }

    @Test(arguments: [
        (
            "/v1/buckets/main/collections/sample/changeset/?_expected=0&_since=%2210%22",
            "/v1/buckets/main/collections/sample/changeset?_expected=0&_since=%2210%22"
        ),
        ("/v2/buckets/main/collections/sample/changeset//?a", "/v2/buckets/main/collections/sample/changeset?a="),
        ("/v1/__broadcasts__/", "/v1/__broadcasts__"), ("/v1//", "/v1"), ("/v2", "/v2/"),
        (
            "/v2/buckets/main/collections/sample/changeset?x=%20a&_expected=0&_since=11&x=%0D%0A&y",
            "/v2/buckets/main/collections/sample/changeset?x=%20a&_expected=0&x=%0D%0A&y="
        ),
        (
            "/v1/buckets/monitor/collections/changes/changeset?_expected=0&_since=5&z=1",
            "/v1/buckets/monitor/collections/changes/changeset?_expected=0&z=1"
        ),
        (
            "/v1/buckets/monitor/collections/changes/records?_since=5&_sort=id",
            "/v1/buckets/monitor/collections/changes/records?_sort=id"
        ),
    ])
    func `A redirect keeps the query`(target: String, location: String) throws {
        #expect(try ask(try origin(), target).redirectURL == SampleCollection.address + location)
    }

    @Test func `v1 answers 204 where the monitor cannot be newer, and takes quotation marks`() throws {
        let path = "/v1/buckets/main/collections/sample/changeset"
        let monitor = "/v1/buckets/monitor/collections/changes/changeset"
        guard case .noContent = try ask(try origin(), "\(monitor)?_expected=5&_since=%2210%22") else {
            return #expect(Bool(false), "no 204")
        }
        #expect(try body(try ask(try origin(), "\(path)?_expected=5&_since=%2210%22")).contains("deleted"))
        #expect(try body(try ask(try origin(), "\(path)?_expected=%2220%22&_since=%2210%22")).contains("deleted"))
    }

    @Test func `Mozilla's jobs read the monitor as a list`() throws {
        let origin = try origin()
        let path = "/v1/buckets/monitor/collections/changes/records"
        func names(_ query: String) throws -> [String?] {
            let list = try JSONValue(parsing: Bytes(utf8: try body(try ask(origin, path + query))))
            return list["data"]?.array?.map { $0["collection"]?.string } ?? []
        }
        for query in ["", "?_limit=1&_sort=collection&_fields=id", "?_expected=5", "?bucket=main", "?_token=x"] {
            #expect(try names(query) == ["sample", "other"], "\(query)")
        }
        #expect(try names("?collection=other&bucket=main") == ["other"])
        // As with Kinto, the entity tag is a timestamp, which clients parse.
        let list = try #require(try ask(origin, path).resourceOnly)
        #expect(list.tag == "20" && !list.hasGzip)
        let old = try ask(origin, path + "?_since=%225%22&collection=other")
        #expect(old.redirectURL == "\(SampleCollection.address)\(path)?collection=other")
        for query in ["?v=2", "?gt_last_modified=5", "?_to=5", "?_since=x", "?_since=", "?_since=99999999999999"] {
            #expect(try ask(origin, path + query).problemOnly?.status == 400, "\(query)")
        }
    }

    @Test(arguments: [
        "/v1/buckets/main/collections", "/v1/buckets/main/collections/sample", "/v1/buckets/none/collections",
        "/v1/buckets/main/collections/sample/records", "/v1/buckets/main/collections/sample/records/a",
        "/v1/buckets/monitor/collections/changes/records/a", "/v2/buckets/monitor/collections/changes/records",
    ])
    func `A list of Kinto's is refused with what to read instead`(path: String) throws {
        let problem = try #require(try ask(try origin(), path).problemOnly)
        #expect(problem.status == 404 && problem.message.contains("/changeset?_expected=0"))
    }

    @Test func `The monitor has the newest first, and filters`() throws {
        let path = "/v1/buckets/monitor/collections/changes/changeset?_expected=0"
        let monitor = try MonitorChangeset(parsing: Bytes(utf8: try body(try ask(try origin(), path))))
        #expect(monitor.timestamp.milliseconds == 20)
        #expect(monitor.collections.count == 2)
        #expect(try body(try ask(try origin(), path + "&bucket=main&collection=other")).contains("\"other\""))
        #expect(try ask(try origin(), path + "&_since=3").redirectURL != nil)
        let v2 = path.replacing("/v1/", with: "/v2/")
        #expect(try body(try ask(try origin(), v2 + "&_since=15")).contains(#""collection":"sample""#))
        #expect(try !body(try ask(try origin(), v2 + "&_since=15")).contains(#""collection":"other""#))
        #expect(try !body(try ask(try origin(), path + "&_limit=1")).contains(#""collection":"other""#))
    }

    @Test func `A cut changeset has the newest changes`() throws {
        let path = "/v1/buckets/main/collections/sample/changeset?_expected=0&_limit=1"
        let full = try JSONValue(parsing: Bytes(utf8: try body(try ask(try origin(), path))))
        #expect(full["changes"]?.array?.count == 1 && full["timestamp"]?.number?.int64 == 20)
        let old = try ask(try origin(), path + "&_since=11")
        #expect(old.redirectURL?.hasSuffix("?_expected=0&_limit=1") == true)
    }

    @Test func `Attachments come in place, and deflated ones as gzip without inflating`() throws {
        let origin = try origin()
        let answer = try ask(origin, "/attachments/main-workspace/sample/f.txt")
        for most in [.max, 3] {
            #expect(try body(try ask(origin, "/attachments/main-workspace/sample/g.txt"), atMost: most) == "short")
            #expect(try body(answer, atMost: most) == long)
        }
        let resource = try #require(answer.resourceOnly)
        let gzip = try #require(resource.gzip())
        #expect(gzip.count == 3)
        #expect(resource.contentType == "text/plain")
        #expect(gzip.reduce(0) { $0 + $1.count } < long.utf8.count)
    }

    /// Records can contain locations of attachments that belong to a different collection.
    @Test func `No collection takes the files of another from its clients`() throws {
        func collection(_ id: String, _ text: String, isOmitted: Bool = false) throws -> ServedCollection {
            var sample = SampleCollection(id: id, timestamp: 5, records: [SampleCollection.attachment("a", text)])
            sample.metadata = "{}"
            if isOmitted { sample.omitted = [text] } else { sample.attachments = [text] }
            return try sample.served()
        }
        func served(_ collections: ServedCollection...) throws -> (text: String, conflicts: [String]) {
            let origin = try Origin(
                collections, address: try OriginAddress(SampleCollection.address), softwareVersion: "1")
            return (try body(ask(origin, "/attachments/main-workspace/sample/a.txt")), origin.conflicts)
        }
        let owner = try collection("main/sample", "right")
        for id in ["main/aaa", "main/zzz", "other/sample", "main-preview/sample"] {
            let found = try served(owner, collection(id, "wrong"))
            #expect(found.text == "right", "\(id)")
            #expect(found.conflicts.count == 1)
            #expect(found.conflicts.first?.contains("the one of main/sample is ") == true)
        }
        // The same file is no conflict, and is served from the bundle that has it: previews often lack it.
        for id in ["main/aaa", "main/zzz", "main-preview/sample"] {
            #expect(try served(owner, collection(id, "right", isOmitted: true)) == ("right", []))
            let without = try collection("main/sample", "right", isOmitted: true)
            #expect(try served(without, collection(id, "right")) == ("right", []))
        }
    }

    @Test func `The zip of attachments is read as the server's is`() throws {
        guard case .resource(let zip) = try ask(try origin(), "/attachments/bundles/main--sample.zip"),
            case .segments(let segments) = zip.content
        else { return #expect(Bool(false), "no zip") }
        let archive = try AttachmentsZIP(Bytes(segments.flatMap(\.array)), name: "zip")
        #expect(archive.file(of: "f", size: long.utf8.count)?.text == long)
        #expect(archive.file(of: "g", size: 5)?.text == "short")
        // This collection offers no ZIP.
        #expect(try ask(try origin(), "/attachments/bundles/main--other.zip").problemOnly != nil)
    }

    @Test func `Every path of a mirror is answered with what it lists`() throws {
        let origin = try origin()
        var paths: [String] = []
        try origin.forEachPath { path, resource in
            paths.append(path)
            let prepared = try origin.prepare(
                path: path[...], query: "_expected=0", withReceivedMetadata: true, now: now)
            #expect(try prepared.answer().resourceOnly === resource, "\(path)")
        }
        #expect(paths.contains("/v2/"))
        #expect(paths.contains("/attachments/main-workspace/sample/f.txt"))
        #expect(Set(paths).count == paths.count)
    }

    @Test func `No record takes the place of what the origin makes itself`() throws {
        let name = "main--sample.zip"
        var sample = SampleCollection(timestamp: 5, records: [])
        sample.metadata = #"{"attachment":{"bundle":true}}"#
        sample.records = [
            SampleCollection.attachment("a", "wrong").replacing("main-workspace/sample/a.txt", with: "bundles/\(name)"),
            SampleCollection.attachment("b", "right"),
        ]
        sample.attachments = ["wrong", "right"]
        let origin = try Origin(
            [sample.served()], address: try OriginAddress(SampleCollection.address), softwareVersion: "1")
        let answered = try #require(try ask(origin, "/attachments/bundles/\(name)").resourceOnly)
        var listed: [OriginResource] = []
        try origin.forEachPath { path, resource in
            if path == "/attachments/bundles/\(name)" { listed.append(resource) }
        }
        #expect(listed.count == 2)
        #expect(listed.first === answered)
        #expect(answered.route != .attachment)
    }

    @Test(
        arguments: [
            ("a=1", "1"), ("a=1&a=2", "2"), ("b=1", nil), ("a", ""), ("a=", ""), ("%61=1", "1"), ("a=%22x%22", "\"x\""),
            ("a=b+c", "b c"), ("a=b%2Bc", "b+c"), ("a=1=2", "1=2"), ("&&a=1&&", "1"), ("a=%zz", "%zz"), ("A=1", nil),
            ("", nil),
        ] as [(String, String?)])
    func `A query's parameter is the last of its name, decoded`(query: String, value: String?) {
        #expect(QueryParameters(query[...])["a"] == value)
        #expect(QueryParameters(nil)["a"] == nil)
    }
}
