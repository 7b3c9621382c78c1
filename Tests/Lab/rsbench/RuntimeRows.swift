#if Lab
import Foundation
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// What an app's calls take, each in a service of its own as after a start; the process itself is warm.
struct RuntimeRows {
    let deflated: PackagedDumps
    let stored: PackagedDumps
    /// A storage directory that a sync has written the collection into.
    let storage: String
    let runs: Int

    private struct Place {
        var name: String
        var packaged: [PackagedSource]
        var storage: String
        var goal: String
    }

    private func places() throws -> [Place] {
        let none = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)").path
        return [
            Place(name: "embedded, stored", packaged: [try stored.embedded()], storage: none, goal: "≤ 1 ms"),
            Place(name: "embedded, deflated", packaged: [try deflated.embedded()], storage: none, goal: "≤ 4.5 ms"),
            Place(
                name: "directory, deflated, verified", packaged: [.directory(deflated.path)], storage: none, goal: ""),
            Place(name: "cache after a sync, verified", packaged: [], storage: storage, goal: "≤ 6 ms"),
        ]
    }

    private func client(_ place: Place) throws -> RemoteSettingsClient {
        RemoteSettingsService(storageDir: place.storage, config: try deflated.config(place.packaged))
            .makeClient(collectionName: "\(deflated.id)")
    }

    func table() throws -> Table {
        var table = Table("The library over \(deflated.id): \(deflated.entry.records) records, in process")
        for place in try places() {
            table.add(
                "first `getRecords`: \(place.name)", try Measurement(runs: runs) { try records(client(place)) },
                goal: place.goal)
            table.add(
                "first `getRecords`: \(place.name)",
                try Measurement(runs: runs) { try client(place).getRecords()?.count })
        }
        let place = try places()[3]
        let warm = try client(place)
        _ = try records(warm)
        let calls = 1000
        table.add(
            "\(calls) more `getRecords`, each with one look at the cache file",
            try Measurement(runs: runs) { for _ in 0..<calls { _ = try records(warm) } })
        table.add("another `getRecords`", Measurement(runs: runs) { warm.getRecords()?.count })
        for place in try places().prefix(3) {
            let client = try client(place)
            let all = try records(client).filter { $0.attachment != nil }
            guard let first = all.first, let last = all.last else { throw BenchmarkError("no attachments") }
            func attachment(_ record: RemoteSettingsRecord, _ client: RemoteSettingsClient) throws -> Int {
                guard let content = client.localAttachment(for: record) else {
                    throw BenchmarkError("no attachment of \(record.id)")
                }
                return content.bytes.count
            }
            table.add(
                "first attachment: \(place.name)", try Measurement(runs: runs) { try attachment(first, client) },
                goal: "≤ 0.1 ms")
            table.add(
                "last attachment: \(place.name)", try Measurement(runs: runs) { try attachment(last, client) },
                goal: "≤ 0.1 ms")
        }
        return table
    }

    /// First reads beside what each of them has to do at least, on the same bytes, all in turn.
    func ratios() throws -> String {
        let limits = Limits()
        let path = "\(deflated.path)/\(deflated.entry.bundle.path)"
        let bundle = try BundleReader(path: path)
        let file = try MappedFile(copying: path, limits: limits)
        let payload = Bytes(try bundle.payloadText().array)
        guard let pem = try bundle.chain(), case .signed(let verdict) = deflated.entry.trust,
            let packed = Deflater(level: 9)?.smaller(payload), let signature = try bundle.metadata().signatures.first
        else { throw BenchmarkError("\(deflated.id) is not signed, or cannot be deflated") }
        let stream = Bytes(packed)
        let policy = TrustPolicy(roots: TrustAnchors([verdict.root]))
        func chain() throws -> VerifiedChain {
            try CertificateChain(pem: pem, limits: limits).verified(
                anchors: policy.roots, signer: policy.signer(for: deflated.id), at: verdict.verifiedAt)
        }
        let verified = try chain()
        let table = try Payload(parsing: payload, limits: limits).records
        let states = try FileStore.list("\(storage)/states") ?? []
        let cached =
            states.map { "\(storage)/states/\($0)" }.first { path in
                (try? FileStore.read(path, limit: limits.changesetBytes)).flatMap { $0 }
                    .map { (try? CacheFile(parsing: $0, of: deflated.id, path: path, limits: limits)) != nil } ?? false
            } ?? "\(storage)/states"
        let work: [(name: String, run: () throws -> Any)] = [
            ("scan", { try Payload(parsing: payload, limits: limits) }),
            ("inflate", { try Inflater.inflate(stream, size: payload.count) }),
            ("SHA-384", { SignedMessage(payload) }),
            ("chain", chain),
        ]
        // What else the reads consist of, in rounds of their own.
        let others: [(name: String, run: () throws -> Any)] = [
            ("SHA-384 and signature", { try verified.verify(signature.signature, over: payload) }),
            ("CRC-32", { crc32(of: payload) }),
            ("copy", { try MappedFile(copying: path, limits: limits) }),
            ("open", { try BundleReader(bytes: file.bytes, name: path) }),
            ("records", { Array(table) }),
            (
                "cache file",
                {
                    guard let content = try FileStore.read(cached, limit: limits.changesetBytes) else {
                        throw BenchmarkError("\(cached) is missing")
                    }
                    return try CacheFile(parsing: content, of: deflated.id, path: cached, limits: limits)
                }
            ),
        ]
        let places = try places()
        let reads: [(name: String, run: () throws -> Any)] = places.map { place in
            (
                place.name,
                {
                    let client = try client(place)
                    return (client, try records(client))
                }
            )
        }
        let all = work + reads + others
        var times = [[Double]](repeating: [], count: all.count)
        let clock = ContinuousClock()
        let (first, second) = (0..<work.count + reads.count, work.count + reads.count..<all.count)
        for (round, indices) in (0...runs).map({ ($0, first) }) + (0...runs).map({ ($0, second) }) {
            for index in indices {
                let each = all[index]
                let start = clock.now
                // The result is freed outside of the measured time, as everywhere here.
                let result = try each.run()
                let time = (clock.now - start).milliseconds
                withExtendedLifetime(result) {}
                if round > 0 { times[index].append(time) }
            }
        }
        func numbers(_ index: Int) -> [Double] {
            let sorted = times[index].sorted()
            return [sorted[0], sorted[sorted.count / 2]]
        }
        func text(_ numbers: [Double], digits: Int) -> String {
            numbers.map { Table.text($0, digits: digits) }.joined(separator: " / ")
        }
        // What a read is compared with: the longest of these.
        let least = [[0], [1], [1, 2, 3], [2, 3]]
        let goals = ["1.5", "1.2", "1.3", "1.3"]
        var lines = [
            "### First reads beside what they have to do at least, \(payload.count) bytes", "",
            "min / median of \(runs) alternating runs", "", "| | ms | the longest of | × | goal |",
            "| --- | --- | --- | --- | --- |",
        ]
        for index in Array(work.indices) + second {
            lines.append("| \(all[index].name) | \(text(numbers(index), digits: 2)) | | | |")
        }
        for (number, read) in reads.enumerated() {
            let found = numbers(work.count + number)
            let longest = least[number].map(numbers).reduce([0, 0]) { [max($0[0], $1[0]), max($0[1], $1[1])] }
            let names = least[number].map { work[$0].name }.joined(separator: ", ")
            let ratio = text([found[0] / longest[0], found[1] / longest[1]], digits: 2)
            lines.append("| \(read.name) | \(text(found, digits: 2)) | \(names) | \(ratio) | \(goals[number]) |")
        }
        // What a read does on the calling thread, one after another, and on another one meanwhile.
        let parts: [(here: [String], beside: [String])] = [
            (["open", "scan", "records"], []), (["open", "inflate", "records"], ["CRC-32", "scan"]),
            (["copy", "open", "inflate", "scan", "records"], ["chain", "CRC-32", "SHA-384 and signature"]),
            (["cache file", "SHA-384 and signature", "records"], ["chain", "scan"]),
        ]
        func sum(_ names: [String]) -> Double {
            names.reduce(0) { sum, name in sum + (all.firstIndex { $0.name == name }.map { numbers($0)[1] } ?? 0) }
        }
        lines += [
            "", "### What a first read consists of, medians in ms", "",
            "| | on the calling thread | ms | beside it | ms | the read | more than its parts |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for (number, read) in reads.enumerated() {
            let (here, beside) = (parts[number].here, parts[number].beside)
            let found = numbers(work.count + number)[1]
            let times = [sum(here), sum(beside), found, found - sum(here)].map { Table.text($0, digits: 2) }
            lines.append(
                "| \(read.name) | \(here.joined(separator: " + ")) | \(times[0]) | \(beside.joined(separator: " + ")) "
                    + "| \(times[1]) | \(times[2]) | \(times[3]) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What Foundation takes for the same text. It gives less: nothing is verified, and of a record only two members.
    func comparison() throws -> Table {
        struct Payload: Decodable {
            struct Record: Decodable {
                let id: String
                let last_modified: UInt64
            }
            let data: [Record]
        }
        let text = Data(try BundleReader(path: "\(deflated.path)/\(deflated.entry.bundle.path)").payloadText().array)
        let decoder = JSONDecoder()
        var table = Table("The same \(text.count) bytes, in memory already, with Foundation")
        table.add(
            "`JSONDecoder`, of each record `id` and `last_modified`",
            try Measurement(runs: runs) { try decoder.decode(Payload.self, from: text).data.count }, bytes: text.count)
        table.add(
            "`JSONSerialization`",
            try Measurement(runs: runs) { try JSONSerialization.jsonObject(with: text) }, bytes: text.count)
        return table
    }

    private func records(_ client: RemoteSettingsClient) throws -> [RemoteSettingsRecord] {
        guard let records = client.getRecords(), !records.isEmpty else { throw BenchmarkError("\(client.status)") }
        return records
    }
}
#endif
