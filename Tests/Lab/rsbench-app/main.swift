// The work of an app at its start, alone in a process, for whole-process measurements: creates a service, gets records
// twice, and gets attachments. It links only what an app links.
//
//     rsbench-app SOURCE DUMPS STORAGE ROOT SERVER COLLECTION...
//
// SOURCE is `nothing` (an empty process), `embedded` (the bundle in the program's memory), `directory` or `cache`; or
// `sync`, an app's first sync of the collections into an empty STORAGE; or `unchanged`, a later sync that finds all of
// them up to date. Other sources read the first collection. With READS in its environment, that many further services
// read it, too, in the process that is now warm. Prints one line of JSON with times in milliseconds, and exits without
// freeing the service.

import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

func fail(_ reason: String) -> Never {
    print(reason)
    exit(1)
}

let arguments = CommandLine.arguments
let sources = ["nothing", "embedded", "directory", "cache", "sync", "unchanged"]
guard arguments.count > 6, sources.contains(arguments[1]) else {
    fail("usage: rsbench-app \(sources.joined(separator: "|")) DUMPS STORAGE ROOT SERVER COLLECTION...")
}
/// Returns the content of a file. The pages of a mapped file come from the page cache, like those of the program
/// itself.
func mapped(_ path: String) throws(Failure) -> Bytes { try MappedFile(path: path).bytes }

let (source, dumps, id) = (arguments[1], arguments[2], arguments[6])

if source == "nothing" {
    print("{}")
} else {
    let packaged: [PackagedSource] =
        switch source {
        case "embedded":
            [.embedded(lock: try mapped("\(dumps)/dumps.lock.json"), bundles: [id: try mapped("\(dumps)/\(id).zip")])]
        case "directory": [.directory(dumps)]
        default: []
        }
    var config = RemoteSettingsConfig(
        server: .custom(url: arguments[5]), packaged: packaged,
        trustRoots: try TrustAnchors(parsing: [arguments[4]]))
    config.allowsPlainHTTP = ["sync", "unchanged"].contains(source)

    let clock = ContinuousClock()
    func milliseconds(_ duration: Duration) -> Double { duration / .milliseconds(1) }

    let start = clock.now
    let service = RemoteSettingsService(storageDirectory: arguments[3], config: config)
    if ["sync", "unchanged"].contains(source) {
        let clients = arguments[6...].map { service.makeClient(collectionName: $0) }
        let updated = try syncedNow(service)
        guard updated.count == (source == "sync" ? clients.count : 0) else {
            fail("\(updated.count) of \(clients.count) collections were updated")
        }
        print("{\"first\": \(milliseconds(clock.now - start))}")
        exit(0)
    }
    let client = service.makeClient(collectionName: id)
    let records = client.records
    let first = clock.now - start
    guard let records else { fail("\(client.status)") }
    let again = clock.now
    let count = client.records?.count ?? 0
    let second = clock.now - again
    var (attachment, another) = (Duration.zero, Duration.zero)
    if source != "cache", let last = records.last(where: { $0.attachment != nil }) {
        let before = clock.now
        guard client.localAttachment(for: last) != nil else { fail("no attachment of \(last.id)") }
        attachment = clock.now - before
        if let other = records.first(where: { $0.attachment != nil }) {
            let before = clock.now
            guard client.localAttachment(for: other) != nil else { fail("no attachment of \(other.id)") }
            another = clock.now - before
        }
    }
    var warm: [Double] = []
    for _ in 0..<(unsafe getenv("READS").flatMap { unsafe Int(String(cString: $0)) } ?? 0) {
        let before = clock.now
        let service = RemoteSettingsService(storageDirectory: arguments[3], config: config)
        guard service.makeClient(collectionName: id).records?.count == count else { fail("\(client.status)") }
        warm.append(milliseconds(clock.now - before))
    }
    print(
        "{\"first\": \(milliseconds(first)), \"second\": \(milliseconds(second)), \"attachment\": "
            + "\(milliseconds(attachment)), \"another\": \(milliseconds(another)), \"records\": \(count), "
            + "\"warm\": \(warm)}")
    exit(0)
}
