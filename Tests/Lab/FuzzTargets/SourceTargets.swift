#if Lab
import ConfigParameters
import ContentSigning
import Crypto
import Dumps
import Foundation
import Publish
import RemoteSettingsModel
import SigningKeys
import SnapshotBundle
import SnapshotTrust
import TargetFilter

private let sourceWords = [
    "records:\n", "  - ", "metadata:\n", "id-from: ", "parameters:\n", "conditions:\n", "groups:\n", "attachment: ",
    "{file: f.txt, filename: x, mimetype: text/plain}", "f.txt", "../f.txt", "filter_expression: ", "value: ",
    "when:\n",
    "{condition: ", "percent: ", "percent: [0, 50]", "seed: ", "in-app-default: true", "type: json", "description: ",
    "last_modified: 1", "deleted: true", "null", "~", "true", "no", ".inf", "0x1F", "1_000", "12:30", "&a ", "*a",
    "<<: ",
    "!!str ", "|\n", ">-\n", "---\n", "...\n", "# ", "? ", "\"", "'", "\t", "\r\n", "\u{85}", "\u{2028}", "\u{FEFF}",
    "\\u",
]

private let templateWords = [
    "\"conditions\":[", "\"name\":\"", "\"expression\":\"", "\"parameters\":{", "\"parameterGroups\":{",
    "\"defaultValue\":{\"value\":\"", "\"useInAppDefault\":true", "\"conditionalValues\":{", "\"valueType\":\"NUMBER\"",
    "\"BOOLEAN\"", "\"JSON\"", "\"rolloutValue\":{\"rolloutId\":\"r\",\"value\":\"x\",\"percent\":12.5}", "percent",
    "percent('seed') <= 10", "percent between 10 and 20", "device.os == 'ios'", "device.language in ['de']",
    "device.country", "app.version.>=(['1.0'])", "app.build", "app.id", "app.customSignal['k'].exactlyMatches(['v'])",
    "app.userProperty['p'].contains(['x'])", "dateTime < dateTime('2026-01-01T00:00:00')", "app.audiences.inAtLeastOne",
    " && ", "true", "\\\"", "\\u0085", "\\u0000", "\\ud83d\\ude00", "&a", "*a", "#", ": ", "\u{2028}", "[[[[", "\\n",
]

private let markupWords = [
    "<?xml version=\"1.0\"?>", "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">",
    "<plist version=\"1.0\">",
    "</plist>", "<dict>", "</dict>", "<dict/>", "<key>", "</key>", "<string>", "</string>", "<integer>", "</integer>",
    "<real>", "</real>", "<true/>", "<false/>", "<array>", "</array>", "<array/>", "<data>", "</data>", "<date>",
    "2026-01-01T00:00:00Z", "</date>", "<defaultsMap>", "</defaultsMap>", "<entry>", "</entry>", "<value>", "</value>",
    "<!--", "-->", "<![CDATA[", "]]>", "&amp;", "&#x1F600;", "&#0;", "&#xD800;", "&#", "&lt;", "<!ENTITY a \"b\">", "[",
    "nan", "inf", "0x10", "/>", "</",
]

extension FuzzTarget {
    static let expansion = FuzzTarget(
        "expansion",
        "parameters and their conditions after expansion: each record is a parameter, and their filters stay within their room",
        longest: 4096, words: sourceWords + ["c", "d", "{when: {c: 1}}", "when: [", "]", "}", ", ", "c: ", "d: ", "k"],
        seeds: { _ in
            [
                "conditions: {c: \"env.a == 1\", d: {filter: \"env.b > 2\", percent: [1, 2.5]}}\nparameters:\n"
                    + "  k: {value: 0, when: {c: 1, d: 2}}\n  l: {when: [{condition: c, percent: 5, value: a}, {condition: d, value: b}]}\n",
                "conditions: {c: \"true\"}\ngroups: {g: {parameters: {a: {when: {c: 1}}, b: {when: {c: 2}}}}}\n",
            ].map { [240] + Array($0.utf8) }
        }
    ) { input in
        guard let factor = input.first else { return }
        // The first byte says how long a condition is made, so that few bytes of input become many.
        let long = "'\(String(repeating: "x", count: Int(factor) << 6))' == 'x'"
        let text = String(decoding: input.dropFirst(), as: UTF8.self).replacing("\"true\"", with: "\"\(long)\"")
        let scratch = Scratch("expansion")
        defer { scratch.remove() }
        try FileStore.makeDirectories("\(scratch.path)/main")
        try FileStore.replace("\(scratch.path)/main/fuzz.yaml", with: Bytes(utf8: text), flushing: false)
        guard let source = try? SourceDirectory(scratch.path).read().first else { return }
        var expanded = 0
        for record in source.records {
            let json = try CanonicalJSON.canonicalize(Bytes(utf8: "{\(record.members.text)}"), limits: Limits())
            guard let document = try? JSONValue(parsing: json, limits: Limits()) else { continue }
            expanded += document["filter_expression"]?.string?.utf8.count ?? 0
        }
        try require(
            expanded <= ParameterCompiler.room(Limits()) + (input.count << 15), "\(expanded) bytes of filters")
    }

    static let sources = FuzzTarget(
        "sources",
        "the files that publish reads (YAML, JSON); what is taken are records as a server has them, each id once",
        longest: 2048, words: sourceWords,
        seeds: { source in
            let yaml = [
                """
                metadata: {title: "x", n: 1.5}
                id-from: name
                records:
                  - {name: first, attachment: f.txt, filter_expression: "env.locale == 'de'"}
                  - id: b
                    list: [1, null, yes-it-is, {a: "no"}]
                    text: |
                      two
                      lines

                """,
                """
                conditions:
                  beta: env.channel == 'beta'
                  half: {percent: 50}
                  part: {filter: "env.locale == 'de'", percent: [0, 50], seed: s}
                parameters:
                  greeting: Hello
                  text: {description: d, value: Hi, when: {beta: x, half: {value: Hallo}}}
                  own: {in-app-default: true, when: {part: 1}}
                  off: {value: 1, when: [{condition: beta, in-app-default: true}, {filter: "env.a == 1", value: 2}]}
                  shape: {type: json, value: {a: 1}, when: {beta: text}}
                groups:
                  home: {description: p, parameters: {inGroup: yes-it-is}}

                """,
                "records: {a: {x: 1}, b: {attachment: {file: f.txt, filename: n, mimetype: a/b}}}\n",
                "- {id: a, n: -7}\n",
            ].map { Array($0.utf8) }
            let json = [
                #"{"records":[{"id":"a","x":[1.0,true,null,"é"]},{"id":"b"}],"metadata":{"t":1}}"#,
                #"{"parameters":{"a":{"value":{"b":[]},"type":"json"}},"conditions":{"c":"true"}}"#,
            ].map { Array($0.utf8) }
            return yaml.map { [0] + $0 } + json.map { [1] + $0 } + [[2] + yaml[1] + [0] + yaml[3]]
                + source.changesets.prefix(4).compactMap { bytes in
                    guard let document = try? JSONValue(parsing: Bytes(bytes), limits: Limits()),
                        let changes = document["changes"]
                    else { return nil }
                    return [1] + JSONText.compact(changes)
                }
        }
    ) { input in
        guard let kind = input.first else { return }
        let scratch = Scratch("sources")
        defer { scratch.remove() }
        let folder = "\(scratch.path)/main/fuzz"
        let parts = input.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map {
            Data($0)
        }
        try FileStore.makeDirectories(folder)
        try Data("attachment".utf8).write(to: URL(filePath: "\(folder)/f.txt"))
        switch kind % 3 {
        case 0: try parts[0].write(to: URL(filePath: "\(folder)/collection.yaml"))
        case 1: try Data(input.dropFirst()).write(to: URL(filePath: "\(folder)/collection.json"))
        default:
            try parts[0].write(to: URL(filePath: "\(folder)/collection.yml"))
            try parts[parts.count - 1].write(to: URL(filePath: "\(folder)/record.yaml"))
        }
        let read: [CollectionSource]
        do {
            read = try SourceDirectory(scratch.path).read()
        } catch let error as SourceProblems {
            try require(!error.problems.isEmpty, "an error without a problem")
            for problem in error.problems {
                try require("\(problem)".contains(scratch.path), "an error that does not name the file: \(problem)")
            }
            return
        }
        if kind % 3 == 1 {
            try require(
                (try? JSONValue(parsing: Bytes(Array(input.dropFirst())), limits: Limits())) != nil,
                "taken, but no JSON")
        }
        try require(read.count == 1, "\(read.count) collections")
        for source in read { try check(source) }
    }

    /// The records of a source can be published: canonical JSON with valid ids, each once, in their order.
    private static func check(_ source: CollectionSource) throws {
        var last: String?
        for record in source.records {
            let json: Bytes
            do throws(JSONError) {
                json = try CanonicalJSON.canonicalize(Bytes(utf8: "{\(record.members.text)}"), limits: Limits())
            } catch {
                throw Finding("the record \(record.id) cannot be published: \(error)")
            }
            let made = Record(id: record.id, json: json)
            try require(made.field("id") == .string(record.id), "the record \(record.id) has another id")
            try require(Identifier.isValid(record.id.utf8), "the id \(record.id)")
            try require(made.field("last_modified") == nil, "a record with a time")
            try require(last.map { $0.utf8.lexicographicallyPrecedes(record.id.utf8) } ?? true, "ids out of order")
            last = record.id
            guard let attachment = try made.attachment() else { continue }
            try require(source.attachments[attachment.hash] != nil, "an attachment that is not there")
        }
    }

    /// Reads a source file that an import has written, as `publish` does.
    private static func published(_ source: Bytes, of input: [UInt8], in scratch: Scratch) throws -> CollectionSource {
        try FileStore.makeDirectories("\(scratch.path)/main")
        try Data(source.array).write(to: URL(filePath: "\(scratch.path)/main/fuzz.yaml"))
        do {
            let read = try SourceDirectory(scratch.path).read()
            try require(read.count == 1, "\(read.count) collections")
            try check(read[0])
            return read[0]
        } catch {
            throw Finding("what was imported cannot be published: \(error): \(source.text.debugDescription)")
        }
    }

    static let template = FuzzTarget(
        "template", "a Firebase template, imported; publish reads the source that comes of it", longest: 2048,
        words: templateWords,
        seeds: { _ in
            [
                #"""
                {"conditions":[{"name":"beta users!","expression":"device.os == 'ios' && percent <= 10","tagColor":"BLUE"},
                 {"name":"german","expression":"device.language in ['de']"}],
                 "parameters":{"greeting":{"defaultValue":{"value":"Hi \"you\" \u0085 #1: yes"},"description":"d",
                  "conditionalValues":{"german":{"value":"Hallo"},"beta users!":{"value":"Hello"}}},
                  "flag":{"defaultValue":{"value":"FALSE"},"valueType":"BOOLEAN",
                   "conditionalValues":{"german":{"useInAppDefault":true}}},
                  "number":{"defaultValue":{"value":"-007.50"},"valueType":"NUMBER"},
                  "rolled":{"defaultValue":{"value":"old"},"conditionalValues":{"german":
                   {"rolloutValue":{"rolloutId":"rollout_1","value":"new","percent":12.5}}}}}}
                """#,
                #"""
                {"parameters":{"shape":{"defaultValue":{"value":"{\"a\":[1,null,\"no\"]}"},"valueType":"JSON"},
                 "alone":{"defaultValue":{"useInAppDefault":true}},"empty":{"defaultValue":{"value":""}}},
                 "parameterGroups":{"home page":{"description":"d","parameters":{"title":{"defaultValue":{"value":"T"}}}}},
                 "version":{"versionNumber":"6"}}
                """#,
                #"""
                {"conditions":[{"name":"v","expression":"app.version.>=(['1.2.0']) && app.id == '1:2:ios:3'"},
                 {"name":"d","expression":"dateTime < dateTime('2026-01-01T00:00:00', 'Europe/Berlin')"},
                 {"name":"u","expression":"app.userProperty['level'].contains(['a','b']) && device.country in ['DE']"}],
                 "parameters":{"a":{"conditionalValues":{"v":{"value":"1"},"d":{"value":"2"}}}}}
                """#,
            ].flatMap { text in [UInt8(0), 1].map { [$0] + Array(text.utf8) } }
        }
    ) { input in
        guard let kind = input.first else { return }
        let made: FirebaseTemplate
        do throws(SourceProblems) {
            made = try FirebaseTemplate(Bytes(Array(input.dropFirst())), file: "fuzz.json", skipping: kind % 2 == 1)
        } catch {
            try require(!error.problems.isEmpty, "an error without a problem")
            for problem in error.problems {
                try require("\(problem)".hasPrefix("fuzz.json"), "an error that does not name the file: \(problem)")
            }
            return
        }
        try require(kind % 2 == 1 || made.skipped.isEmpty, "something was left out unasked")
        let scratch = Scratch("template")
        defer { scratch.remove() }
        let source = try published(made.source, of: input, in: scratch)
        var filter = RecordFilter(context: .app(channel: "beta", version: "1.2", locale: "de", os: "iOS"))
        let parameters = try ParameterSet(
            source.records.map {
                Record(
                    id: $0.id,
                    json: try CanonicalJSON.canonicalize(Bytes(utf8: "{\($0.members.text)}"), limits: Limits()))
            })
        for key in parameters.keys { _ = parameters.winner(for: key.string, &filter) }
    }

    static let defaults = FuzzTarget(
        "defaults",
        "in-app defaults (XML property list, JSON, Android's XML), imported; publish reads what comes of it",
        longest: 2048, words: markupWords,
        seeds: { _ in
            [
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0"><dict>
                <key>text</key><string>a &lt; b &#x1F600;</string><key>n</key><integer>5</integer>
                <key>r</key><real>2.5</real><key>yes</key><true/><key>list</key><array><string/><false/></array>
                <key>map</key><dict><key>k</key><dict/></dict></dict></plist>
                """,
                "<defaultsMap><entry><key>a</key><value>1 &amp; 2</value></entry><entry><key>b</key><value/></entry></defaultsMap>",
                "<!-- c --><plist><dict><key>a</key><string><![CDATA[<x>]]></string></dict></plist>",
                #"{"a":"x","b":1,"c":[1,null,{"d":true}],"e":null,"f":{"g":"no"}}"#,
            ].map { Array($0.utf8) }
        }
    ) { input in
        let made: DefaultsFile
        do throws(SourceProblems) {
            made = try DefaultsFile(Bytes(input), file: "fuzz")
        } catch {
            try require(!error.problems.isEmpty, "an error without a problem")
            for problem in error.problems {
                try require("\(problem)".hasPrefix("fuzz"), "an error that does not name the file: \(problem)")
            }
            return
        }
        let scratch = Scratch("defaults")
        defer { scratch.remove() }
        let source = try published(made.source, of: input, in: scratch)
        let count = made.inAppDefaults.values.count
        try require(source.records.count == count, "\(count) defaults, \(source.records.count) records")
    }

    static let returned = FuzzTarget(
        "returned",
        "requests, and certificates that come back: nothing is taken but an answer to the open request, under the known "
            + "root",
        longest: 8192,
        words: [
            "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE REQUEST-----\n",
            "-----END CERTIFICATE REQUEST-----\n", "-----BEGIN PRIVATE KEY-----\n", "MII", "\n", "\\n", "A", "=",
        ],
        seeds: { source in
            guard !source.isRepeatable, let keys = try? ReturnedKeys.made.get() else { return [SeedSource.chain] }
            return keys.answers + [SeedSource.chain]
        }
    ) { input in
        let keys = try ReturnedKeys.made.get()
        let text = Bytes(input)
        if let request = try? CertificateRequest(pem: text, place: "fuzz") {
            // Whatever it asks for, nothing is issued under a name that nobody has confirmed.
            let issued = try? keys.offline.issue(
                request, as: .signer, named: "s.example.org", days: 9, environment: [:], now: ReturnedKeys.now)
            try require(
                issued == nil || request.name ?? "s.example.org" == "s.example.org", "another name was confirmed")
        }
        let scratch = Scratch("returned")
        defer { scratch.remove() }
        let online = KeyDirectory("\(scratch.path)/keys")
        try FileStore.makeDirectories(online.path)
        for (name, content) in keys.online {
            try FileStore.replace(
                "\(online.path)/\(name)", with: content, flushing: false, isPrivate: name.hasSuffix(".key"))
        }
        guard (try? online.install(text, place: "fuzz", now: ReturnedKeys.now)) != nil else {
            for (name, content) in keys.online where name.hasSuffix(".key") || name.hasSuffix(".pem") {
                try require(
                    try FileStore.read("\(online.path)/\(name)", limit: 1 << 20) == content,
                    "\(name) was changed by a refusal")
            }
            return
        }
        let signer = try online.signer([:])
        try require(signer.name == SignerName("s.example.org"), "a certificate under another name was taken")
        let chain = try CertificateChain(pem: signer.chain)
        try require(chain.root == keys.root, "a certificate of another root was taken")
        _ = try chain.verified(anchors: TrustAnchors([keys.root]), signer: signer.name, at: ReturnedKeys.now)
    }

    static let keys = FuzzTarget(
        "keys",
        "PEM texts of private keys, certificates and requests for them; a key that is taken signs with its chain",
        longest: 4096,
        words: [
            "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----\n", "-----BEGIN EC PRIVATE KEY-----\n",
            "-----END EC PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE REQUEST-----\n", "-----END CERTIFICATE REQUEST-----\n", "ENCRYPTED", "\\n", "\\r",
            "\\",
            "\r\n", "=", "MIG2", "AAAA", "/", "+", "\u{0}", "-----BEGIN EC PARAMETERS-----\n",
        ],
        seeds: { source in
            if source.isRepeatable {
                let key = try P384.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 47) + [1])
                let pem = Array(key.pemRepresentation.utf8)
                return [pem, SeedSource.chain, pem + SeedSource.chain]
            }
            let scratch = Scratch("keys-seeds")
            defer { scratch.remove() }
            try FileStore.makeDirectories(scratch.path)
            let directory = KeyDirectory("\(scratch.path)/keys")
            _ = try directory.create(.init(), now: Timestamp(milliseconds: 1_700_000_000_000))
            let request = try directory.request(.signer, named: "s.example.org").pem()
            func file(_ path: String) -> [UInt8] { (try? FileStore.read(path, limit: 1 << 20))?.array ?? [] }
            let key = file(directory.keyPath(.signer))
            return [
                key + file(directory.certificatePath(.signer)), file(directory.keyPath(.root)), request.array,
                file(directory.certificatePath(.intermediate)),
                Array(String(decoding: key, as: UTF8.self).replacingOccurrences(of: "\n", with: "\\n").utf8),
            ]
        }
    ) { input in
        let text = Bytes(input)
        if let certificates = try? SigningCertificate.all(of: text, place: "fuzz") {
            for certificate in certificates {
                _ = (
                    certificate.name, certificate.notBefore, certificate.notAfter, certificate.role, certificate.sha256
                )
            }
        }
        if let request = try? CertificateRequest(pem: text, place: "fuzz") {
            let again = try? CertificateRequest(pem: request.pem(), place: "again")
            try require(again?.name == request.name, "a request that is written again has another name")
        }
        _ = try? PublicKey(pem: text, place: "fuzz")
        let key: PrivateKey
        do throws(SigningKeyError) {
            key = try PrivateKey(pem: text, place: "fuzz")
        } catch {
            try require(error.description.hasPrefix("fuzz"), "an error that does not name the file: \(error)")
            return
        }
        try require("\(key)" == "a P-384 private key", "a key that shows itself")
        guard let signer = try? ContentSigner(key: key, chain: text, place: "fuzz") else { return }
        try require(!signer.chain.text.contains("PRIVATE KEY"), "a chain with a private key in it")
        try require(try signer.signature(over: Bytes(utf8: "x")).utf8.count == 128, "a signature of another length")
    }
}

/// What ``FuzzTarget/returned`` takes certificates over into, and what answers there are.
private struct ReturnedKeys {
    static let now = Timestamp(milliseconds: 1_780_000_000_000)
    static let made = Result { try ReturnedKeys() }

    let offline: KeyDirectory
    let root: RemoteSettingsModel.SHA256Digest
    /// The files of a directory with an open request.
    let online: [(String, Bytes)]
    /// To that request: the right one, one of another root, and the request.
    let answers: [[UInt8]]

    init() throws {
        let path = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/fuzz-returned")
        offline = KeyDirectory("\(path)/offline")
        root = try offline.create(.init(), now: Self.now)
        let foreign = KeyDirectory("\(path)/foreign")
        _ = try foreign.create(.init(), now: Self.now)
        let directory = KeyDirectory("\(path)/online")
        let request = try directory.request(.signer, named: "s.example.org")
        let certificate = try FileStore.read(offline.certificatePath(.root), limit: 1 << 20) ?? Bytes()
        func files(_ keys: KeyDirectory) throws -> [(String, Bytes)] {
            try (FileStore.list(keys.path) ?? []).map { name in
                (name, try FileStore.read("\(keys.path)/\(name)", limit: 1 << 20) ?? Bytes())
            }
        }
        online = try files(directory) + [("root.pem", certificate)]
        answers =
            try [offline, foreign].map {
                try $0.issue(request, as: .signer, named: "s.example.org", days: 9, environment: [:], now: Self.now)
                    .array
            } + [request.pem().array]
    }
}
#endif
