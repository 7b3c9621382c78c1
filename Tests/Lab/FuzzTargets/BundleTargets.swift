import RemoteSettingsModel
import SnapshotBundle

enum BundleWords {
    static let all = [
        "{\"format\":1,\"bucket\":\"main\",\"collection\":\"fuzz\",\"timestamp\":1,\"records\":0,\"attachments\":0,"
            + "\"omitted\":0,"
            + "\"trust\":\"imported\",\n\"entries\":[\n", "\"trust\":\"signed\"", "\"trust\":\"unsigned\"",
        ",\n\"entries\":[\n", "\n],\n\"files\":[\n", "]}\n", "\n]}\n", "\"sha256\":\"", "\"size\":", "\"location\":\"",
        "\"records\":[\"", "\"omitted\":\"", "chain.pem", "metadata.json", "records.json", "attachments/", "\\u00e9",
        "\\u0000", "\\ud83d\\ude00", "\\\"", "\"excluded\"", "rule", "size", "total", "missing", "\"version\": 1",
        "\"collections\": {", "\"server\": ", "\"timestamp\": ", "\"lastModified\": \"2026-01-01T00:00:00.000Z\"",
        "9999-12-31T23:59:59.999Z", "10000-01-01T00:00:00.000Z", "584556019-04-03T14:25:51.615Z", "\"content\": \"",
        "\"bundle\": {", "\"signed\": {", "\"verifiedAt\": ",
        String(repeating: "0", count: 64), String(repeating: "f", count: 64),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ]
}

/// A bundle built from its parts, with a matching manifest.
struct MadeBundle {
    /// Separated by zero bytes: the payload, the metadata, the chain (empty for none), and any number of attachments.
    let parts: [[UInt8]]

    init(_ input: [UInt8]) {
        parts = input.split(separator: 0, maxSplits: 10, omittingEmptySubsequences: false).map(Array.init)
    }

    var chain: [UInt8]? { parts.count > 2 && !parts[2].isEmpty ? parts[2] : nil }
    var attachments: [SHA256Digest: [UInt8]] {
        Dictionary(parts.dropFirst(3).map { (SHA256Digest(hashing: Bytes($0)), $0) }) { first, _ in first }
    }

    /// Returns `nil` if the payload is invalid, or lists attachments that no bundle can contain.
    func bytes(of collection: CollectionID = fuzzedCollection) -> [UInt8]? {
        guard let payload = try? Payload(parsing: Bytes(parts[0])),
            let named = try? Manifest.files(namedBy: payload.records, file: "made"),
            // Later timestamps do not fit in the manifest. Every import rejects timestamps more than a day in the
            // future.
            payload.timestamp.milliseconds < 1_000_000_000_000_000_000
        else { return nil }
        let attachments = attachments
        let metadata = parts.count > 1 ? parts[1] : []
        let files = named.map { file in
            Manifest.file(
                file, omitted: attachments[file.sha256]?.count == file.size ? nil : OmissionReason("excluded"))
        }
        let present = Set(files.filter { $0.omitted == nil }.map(\.sha256))
        let omitted = Set(files.filter { $0.omitted != nil }.map(\.sha256))
        var entries = [("records.json", parts[0]), ("metadata.json", metadata)]
        if let chain { entries.append(("chain.pem", chain)) }
        let manifest = Manifest(
            head: BundleHead(
                collection: collection, timestamp: payload.timestamp, records: payload.records.count,
                attachments: present.count, omitted: omitted.count, trust: chain == nil ? .imported : .signed),
            entries: entries.map {
                Manifest.Entry(name: $0, size: $1.count, sha256: SHA256Digest(hashing: Bytes($1)))
            }, files: files)
        entries.insert(("manifest.json", manifest.text), at: 0)
        for digest in present.sorted() { entries.append(("attachments/\(digest)", attachments[digest] ?? [])) }
        return StoredZIP(entries).bytes
    }

    /// A collection of two records, one of which has an attachment.
    static let sample: [UInt8] = {
        let file = Array("attachment".utf8)
        let digest = SHA256Digest(hashing: Bytes(file))
        let payload =
            #"{"data":[{"attachment":{"filename":"f.txt","hash":"\#(digest)","location":"main/f.txt","#
            + #""mimetype":"text/plain","size":10},"id":"a","last_modified":1},"#
            + #"{"id":"b","name":"second \u003cb\u003e"}],"last_modified":"7"}"#
        return Array(payload.utf8) + [0] + Array(#"{"id":"fuzz","bucket":"main"}"#.utf8) + [0, 0] + file
    }()
}

extension FuzzTarget {
    private static func bundleSeeds(_ source: SeedSource) -> [[UInt8]] {
        let samples = [
            MadeBundle.sample,
            Array(#"{"data":[],"last_modified":"1"}"#.utf8) + [0, 123, 125, 0] + Array("-----BEGIN".utf8),
        ]
        let real = source.changesets.compactMap { bytes -> [UInt8]? in
            guard let changeset = try? Changeset(parsing: Bytes(bytes)) else { return nil }
            let id = CollectionMetadata.id(changeset.metadata) ?? fuzzedCollection
            guard let snapshot = try? changeset.snapshot(of: id, onto: nil) else { return nil }
            return snapshot.payload.bytes.array + [0] + changeset.metadata.json.array
        }
        return samples + real
    }

    static let bundle = FuzzTarget(
        "bundle", "a bundle's ZIP file; what is taken says what its entries say", longest: 8192, words: BundleWords.all,
        seeds: { source in
            bundleSeeds(source).compactMap { MadeBundle($0).bytes() }
                + source.bundleFiles
        }, mutate: ZIPMutation.apply
    ) { input in
        let file = "fuzz.zip"
        guard let reader = try accepted(try BundleReader(bytes: Bytes(input), name: file), from: file) else { return }
        for digest in reader.attachments {
            let size = try? reader.attachmentSize(digest)
            if let attachment = try? reader.attachment(digest) {
                try require(attachment.count == size, "the attachment's size differs from its entry's")
                try require(SHA256Digest(hashing: attachment) == digest, "the attachment's hash is wrong")
            }
            if let packed = try? reader.packedAttachment(digest), let unpacking = try? packed.unpacking() {
                var piece = [UInt8](repeating: 0, count: 4096)
                while let count = try? unpacking.next(into: &piece), count > 0 {}
            }
        }
        _ = try? reader.metadata()
        _ = try? reader.chain()
        _ = try? reader.payload()
        guard let manifest = try accepted(try reader.verifyContents(), from: file) else { return }
        try require(try Bytes(manifest.text) == reader.manifestText(), "the manifest's text differs")
        let payload = try reader.payload()
        try require(payload.records.count == manifest.head.records, "the number of records differs")
        try require(payload.timestamp == manifest.head.timestamp, "the timestamp differs")
        try require(reader.attachments.count == manifest.head.attachments, "the number of attachments differs")
        for digest in reader.attachments { try require(try reader.attachment(digest) != nil, "missing attachment") }
    }

    static let serverZIP = FuzzTarget(
        "server-zip", "the server's zip of attachments; a file has the size that was asked for", longest: 8192,
        words: [".meta.json", "PK"],
        seeds: { _ in
            [
                StoredZIP([
                    ("a", Array("one".utf8)), ("a.meta.json", [123, 125]), ("b", [UInt8](repeating: 7, count: 300)),
                ])
                .bytes, StoredZIP([]).bytes,
            ]
        }, mutate: ZIPMutation.apply
    ) { input in
        let file = "fuzz.zip"
        guard let zip = try accepted(try AttachmentsZIP(Bytes(input), name: file), from: file) else { return }
        var sizes: Set<Int> = [0, 1, 3, 300]
        for start in input.indices.dropLast(28) where input[start] == 0x50 && input[start + 1] == 0x4B {
            sizes.insert(Int(input.number(start + 22, 4)))
            sizes.insert(Int(input.number(start + 24, 4)))
        }
        for name in ["a", "b", "c", "a.meta.json"] {
            for size in sizes {
                guard let file = zip.file(of: name, size: size) else { continue }
                try require(file.count == size, "\(file.count) bytes, expected \(size)")
            }
        }
    }

    static let lock = FuzzTarget(
        "lock", "dumps.lock.json; what is read and written is read as the same",
        longest: 8192, words: BundleWords.all,
        seeds: { source in
            let verdict = SignatureVerdict(
                signer: "s.example.org", root: SHA256Digest(hashing: Bytes()),
                chainNotAfter: Timestamp(milliseconds: 1),
                verifiedAt: Timestamp(milliseconds: 2))
            let head = BundleHead(
                collection: fuzzedCollection, timestamp: Timestamp(milliseconds: 7), records: 1, attachments: 1,
                omitted: 0, trust: .imported)
            let entries = [Provenance.imported, .unsigned, .signed(verdict)].map { trust in
                LockFile.Collection(
                    server: "https://example.org/v1", timestamp: head.timestamp, records: head.records,
                    attachments: head.attachments, attachmentRule: "all", omitted: [],
                    content: SHA256Digest(hashing: Bytes()),
                    bundle: .init(collection: fuzzedCollection, size: 9, sha256: SHA256Digest(hashing: Bytes())),
                    trust: trust)
            }
            return [LockFile().text] + entries.map { LockFile(collections: [fuzzedCollection: $0]).text }
                + [source.file("dumps/dumps.lock.json")].compactMap(\.self)
        }
    ) { input in
        let file = "fuzz.lock"
        guard let lock = try accepted(try LockFile(parsing: Bytes(input), path: file), from: file) else { return }
        let text = Bytes(lock.text)
        do {
            let again = try LockFile(parsing: text, path: file)
            try require(again.text == lock.text, "the lock file differs when rewritten: \(text.text)")
            for (id, entry) in lock.collections {
                let found = try LockFile.collection(id, in: text, path: file)
                try require(found == entry, "the entry of \(id) differs when read alone: \(text.text)")
            }
        } catch let error as Failure {
            throw Finding("the written lock file cannot be read: \(error): \(text.text)")
        }
    }
}

extension CollectionMetadata {
    fileprivate static func id(_ metadata: CollectionMetadata) -> CollectionID? {
        guard let bucket = metadata.bucket, let name = metadata.id else { return nil }
        return try? CollectionID(bucket: bucket, name: name)
    }
}
