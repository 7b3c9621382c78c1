#if Lab
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import StaticMirror

extension FuzzTarget {
    static let cache = FuzzTarget(
        "cache", "a file in an app's storage directory; what is read and written is read as the same",
        words: [
            "\"format\":1", "\"collection\":\"main/fuzz\"", "\"server\":\"\"", "\"timestamp\":1", "\"highWaterMark\":1",
            "\"payloadBytes\":", "\"metadata\":\"{}\"", "\"verifiedAt\":1", "\"chain\":\"\"", "\n", "\\u0000", "\\n",
            "{", "}",
        ],
        seeds: { source in
            let payload = #"{"data":[{"id":"a"}],"last_modified":"1"}"#
            func head(_ more: String, _ payload: String) -> [UInt8] {
                Array(
                    (#"{"format":1,"collection":"main/fuzz","server":"https://h/v1","timestamp":1,"highWaterMark":1,"#
                        + #""payloadBytes":\#(payload.utf8.count),"metadata":"{\"id\":\"fuzz\"}"\#(more)}"#)
                        .utf8) + [10] + Array(payload.utf8)
            }
            return [head("", payload), head(#","verifiedAt":2,"chain":"-----BEGIN""#, payload), head("", "")]
                + source.changesets.compactMap { bytes in
                    let changeset = try? Changeset(parsing: Bytes(bytes), limits: Limits())
                    return (try? changeset?.snapshot(of: fuzzedCollection, onto: nil)).map {
                        head("", $0.payload.bytes.text)
                    }
                }
        },
        mutate: { bytes, random in
            // The number of bytes behind the first line, made right again.
            TextMutation.apply(to: &bytes, words: ["\n", "{\"id\":\"b\"},"], &random)
            guard let end = bytes.firstIndex(of: 10),
                let key = String(decoding: bytes[..<end], as: UTF8.self).firstRange(of: "\"payloadBytes\":")
            else { return }
            let line = String(decoding: bytes[..<end], as: UTF8.self)
            let rest = line[key.upperBound...].drop { $0.isNumber }
            bytes.replaceSubrange(..<end, with: Array("\(line[..<key.upperBound])\(bytes.count - end - 1)\(rest)".utf8))
        }
    ) { input in
        let file: CacheFile
        do throws(CacheFileError) {
            file = try CacheFile(parsing: Bytes(input), of: fuzzedCollection, path: "fuzz", limits: Limits())
        } catch {
            try require(error.description.hasPrefix("fuzz"), "an error that does not name the file: \(error)")
            return
        }
        let again: CacheFile
        do throws(CacheFileError) {
            again = try CacheFile(parsing: file.bytes, of: fuzzedCollection, path: "fuzz", limits: Limits())
        } catch {
            throw Finding("what was written cannot be read: \(error): \(file.bytes.text)")
        }
        try require(
            again.timestamp == file.timestamp && again.publisher == file.publisher
                && again.verifiedAt == file.verifiedAt && again.server.utf8.elementsEqual(file.server.utf8)
                && again.metadata == file.metadata && again.chain == file.chain && again.payload == file.payload,
            "written and read again, it differs: \(file.bytes.text)")
        _ = try? CollectionMetadata(parsing: file.metadata, limits: Limits())
        guard let payload = try? Payload(parsing: file.payload, limits: Limits()) else { return }
        for record in payload.records { _ = try? record.attachment() }
    }

    static let compressed = FuzzTarget(
        "compressed", "gzip; what was unpacked is packed and unpacked as the same", longest: 2048,
        words: ["\u{1f}"],
        seeds: { _ in
            let texts = ["", "a", String(repeating: "text ", count: 100)].map { Bytes(utf8: $0) }
            return texts.compactMap { GzipMember.compress([$0, $0], level: 6)?.array }
        },
        mutate: { bytes, random in
            bytes.set(
                random.pick(EdgeNumbers.integers), 4,
                at: random.pick([4, 8, max(0, bytes.count - 4), max(0, bytes.count - 8)]))
        }
    ) { input in
        // Fed in two parts, as a transport does, and as a whole.
        let whole = gunzip([input])
        let middle = input.count / 2
        let parts = gunzip([Array(input[..<middle]), Array(input[middle...])])
        try require(whole == parts, "fed in parts, it is another text")
        guard let whole else { return }
        let packed = GzipMember.compress([Bytes(whole)], level: 6)
        try require(packed.flatMap { gunzip([$0.array]) } == whole, "gzip of gzip differs")
    }

    /// `nil` if it is no gzip, or not whole, or more than a mebibyte.
    private static func gunzip(_ pieces: [[UInt8]]) -> [UInt8]? {
        guard let stream = try? GzipStream() else { return nil }
        var output: [UInt8] = []
        do throws(InflateError) {
            for piece in pieces {
                stream.feed(piece)
                while let next = try stream.next() {
                    output += next
                    guard output.count <= 1 << 20 else { return nil }
                }
            }
        } catch {
            return nil
        }
        return stream.isAtEnd ? output : nil
    }

    static let url = FuzzTarget(
        "url", "URLs, references to them, and the dates, sizes, hashes and times in headers and files", longest: 512,
        words: [
            "http://", "https://", "//", "../", "./", "%2e%2e/", "%2F", "%00", "%", "?", "#", "@", "[::1]", ":443",
            ":80", ":0",
            ":65535", ":65536", "\\", "é", "127.0.0.1", "localhost", " GMT", "Sun, 06 Nov 1994 08:49:37",
            "Sunday, 06-Nov-94",
            "Sun Nov  6", "Feb 29", "31 Dec 9999", "1970-01-01T00:00:00.000Z", "9999-12-31", "KiB", "MB", "GiB", "kB",
        ],
        seeds: { _ in
            [
                "https://Example.ORG:443/v1/../a?b=c#d", "http://[::1]:8888/", "../x/./y?z", "//host/p",
                "Sun, 06 Nov 1994 08:49:37 GMT",
                "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "2026-11-21T08:48:13.000Z",
                "584554049-12-31", "10 MiB",
                "1.5GB", String(repeating: "a", count: 64), "a%41b+c", "18446744073709551615", "main/collection",
            ].map { Array($0.utf8) }
        }
    ) { input in
        let text = String(decoding: input, as: UTF8.self)
        if let url = try? HTTPURL(text) {
            try require((try? HTTPURL("\(url)")) == url, "\(url) is another URL when it is read again")
        }
        if let base, let url = try? base.resolving(text) {
            try require((try? HTTPURL("\(url)")) == url, "\(url) is another URL when it is read again")
            try require(!url.path.contains("/../") && !url.path.hasSuffix("/.."), "a path that goes up: \(url)")
        }
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        for now in [now, Timestamp(milliseconds: 0), Timestamp(milliseconds: .max)] {
            guard let date = HTTPDate.parse(text, now: now) else { continue }
            try require(HTTPDate.parse(HTTPDate.text(date), now: now) == date, "\(HTTPDate.text(date)) is another date")
        }
        if let time = Timestamp(rfc3339: text) {
            try require(Timestamp(rfc3339: time.rfc3339) == time, "\(time.rfc3339) is another time")
        }
        if let time = Timestamp(text) {
            try require(Timestamp(rfc3339: time.rfc3339) == time, "\(time.rfc3339) is another time")
            _ = HTTPDate.text(time)
            for seconds in [1, -1, Int64.max, Int64.min] { _ = time.advanced(by: .seconds(seconds)) }
        }
        if let size = ByteSize.parse(text) {
            try require(ByteSize.parse(ByteSize.text(size)) != nil, "\(ByteSize.text(size)) cannot be read again")
        }
        if let digest = SHA256Digest(hex: text) {
            try require(digest.hex == text.lowercased(), "\(digest.hex) is another hash")
        }
        if let id = try? CollectionID(text) { try require("\(id)" == text, "\(id) is another name") }
        if let complete = PercentEncoding.complete(text) {
            try require(PercentEncoding.complete(complete) == complete, "\(complete) is encoded once more")
        }
        try require(
            PercentEncoding.strictlyDecode(PercentEncoding.component(text)).map { Array($0.utf8) } == Array(text.utf8),
            "encoded and decoded, it differs")
        if let strict = PercentEncoding.strictlyDecode(text) {
            try require(PercentEncoding.decode(text) == strict, "two decoders disagree")
        }
    }

    private static let base = try? HTTPURL("https://example.org:8443/v1/buckets/main?x=1")
}
#endif
