// A process for tests of blocking calls, which the test can limit to a few cores. COUNT concurrent callers each read a
// collection that has to be synced first, get an attachment, and sync again, with blocking calls.
//
//     test-process blocking [--old-system] COUNT...
//
// For each COUNT, the callers are tasks, queues, actors, and tasks while the main thread makes calls, too. Prints a
// line for each of these, and exits with 1 if a call failed.
//
// With --old-system, tasks cannot choose their threads, as before iOS 18 and macOS 15. The callers are then queues,
// queues while the main thread makes calls, too, and finally a task, which must stop the process.

import Dispatch
import Foundation
import RemoteSettingsBlocking
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting

private let server = try! OriginTransport()
private let storage = FileManager.default.temporaryDirectory.appending(path: "rs-blocking-\(UUID().uuidString)").path
private let failed = Mutex(false)

/// - Parameter fails: whether the first sync and the first download fail and are retried after a pause.
private func makeService(_ number: Int, fails: Bool) -> RemoteSettingsService {
    let faults = ["/buckets/monitor/", "/attachments/"].map { Fault($0, effect: .status(503), times: fails ? 1 : 0) }
    server.inject(faults + [Fault(delay: .milliseconds(2))])
    var config = RemoteSettingsConfig(server: .custom(url: server.url), trustRoots: server.root)
    config.log = { _ in }
    config.updates = .off
    config.transport = server
    return RemoteSettingsService(storageDir: "\(storage)/\(number)", config: config)
}

/// The calls of one caller. As this function is not async, the compiler cannot tell that its callers block.
private func use(_ service: RemoteSettingsService, _ collection: ServerCollection) {
    let client = service.makeClient(collectionName: collection.name)
    do {
        guard let record = client.getRecords(syncIfEmpty: true)?.first,
            try client.getAttachment(record: record) == Data("file".utf8)
        else { throw RemoteSettingsBlocking.RemoteSettingsError.Other(reason: "no records, or another attachment") }
        try client.sync()
        try service.sync()
    } catch {
        say("failed: \(error)")
        failed.withLock { $0 = true }
    }
}

private actor Caller {
    func use(_ service: RemoteSettingsService, _ collection: ServerCollection) {
        test_process.use(service, collection)
    }
}

enum BlockingProcess {
    static func run(_ arguments: [String]) throws {
        let isOldSystem = arguments.contains("--old-system")
        if isOldSystem { WorkThreads.turnOff() }
        let places = isOldSystem ? ["queues", "main", "tasks"] : ["tasks", "queues", "actors", "main"]
        let counts = arguments.dropFirst().compactMap { Int($0) }
        // Some callers share a collection, and thus a sync and a download.
        let collections = try (0..<((counts.max() ?? 1) + 1) / 2).map { _ in
            let collection = try server.makeCollection()
            try collection.attach(Data("file".utf8), to: "a")
            return collection
        }
        var number = 0
        for count in counts {
            for place in places {
                number += 1
                let service = makeService(number, fails: place == "tasks")
                let group = DispatchGroup()
                for index in 0..<count {
                    let collection = collections[index / 2]
                    group.enter()
                    switch place {
                    case _ where place == "queues" || isOldSystem && place == "main":
                        DispatchQueue(label: "app \(index)").async {
                            use(service, collection)
                            group.leave()
                        }
                    case "actors":
                        let caller = Caller()
                        Task.detached {
                            await caller.use(service, collection)
                            group.leave()
                        }
                    default:
                        Task.detached {
                            use(service, collection)
                            group.leave()
                        }
                    }
                }
                if place == "main" { use(service, collections[0]) }
                group.wait()
                say("\(count) \(place)")
            }
        }
        try? FileManager.default.removeItem(atPath: storage)
        exit(failed.withLock { $0 } ? 1 : 0)
    }
}
