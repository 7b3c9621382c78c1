import Foundation
import RemoteSettings
import Synchronization
import Testing

extension ServerTests {
    @Suite struct ConcurrencyTests {
        let place: Workplace

        init() throws { place = try Workplace() }

        /// Readers, syncs, attachments, listeners, configuration updates and resets at once, then a shutdown in the middle
        /// of it. Every read is of one whole state: the records of a state all have the same number in them.
        ///
        /// It is meant for `swift test --sanitize=thread`.
        @Test func everythingAtOnce() async throws {
            let collection = try await place.server.makeCollection()
            func write(_ state: Int) async throws {
                // In one request, so that the server never has two numbers at once.
                let requests = (0..<10).map { number -> [String: Any] in
                    [
                        "method": "PUT", "path": "/buckets/main/collections/\(collection.name)/records/r\(number)",
                        "body": ["data": ["state": state]],
                    ]
                }
                try await place.server.send("POST", "/batch", ["requests": requests])
            }
            try await write(0)
            let dumps = try await place.package([collection])
            let service = place.service { $0.packaged = [.directory(dumps)] }
            let client = service.makeClient(collectionName: collection.name)
            let configs = [
                place.config { $0.packaged = [.directory(dumps)] },
                place.config {
                    $0.packaged = [.directory(dumps)]
                    $0.appContext = RemoteSettingsContext(channel: "nightly")
                },
            ]
            let shared = Shared()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        while !shared.isDone.load(ordering: .relaxed) {
                            let records = client.getRecords() ?? []
                            let states = Set(records.map(\.fields))
                            if states.count != 1 || records.count != 10 {
                                shared.mixed.withLock { $0.append("\(records)") }
                            }
                            _ = client.snapshot
                            _ = client.getRecordsMap()
                            shared.reads.add(1, ordering: .relaxed)
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    for await changes in client.changes where changes.current.count != 10 {
                        shared.mixed.withLock { $0.append("\(changes)") }
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        while !shared.isDone.load(ordering: .relaxed) {
                            // Updates and the shutdown end syncs under way.
                            _ = try? await client.sync()
                            _ = try? await service.syncCollections()
                        }
                    }
                }
                group.addTask {
                    while !shared.isDone.load(ordering: .relaxed) {
                        for config in configs {
                            try service.updateConfig(config: config)
                            try? await Task.sleep(for: .milliseconds(7))
                        }
                        try? client.resetStorage()
                    }
                }
                for state in 1...15 { try await write(state) }
                while shared.reads.load(ordering: .relaxed) < 300 { try await Task.sleep(for: .milliseconds(5)) }
                service.shutdown()
                shared.isDone.store(true, ordering: .relaxed)
                try await group.waitForAll()
            }
            #expect(shared.mixed.withLock { $0 } == [])
            #expect(client.getRecords()?.count == 10)
            await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            // Nothing of all that has left the directory in a state that cannot be gone on from.
            let next = place.service().makeClient(collectionName: collection.name)
            try await next.sync()
            #expect(try await state(of: next) == collection.state())
        }

        /// Two processes sync and read one directory, while the server changes. `RS_ROUNDS` makes it longer.
        @Test func twoProcesses() async throws {
            let collection = try await place.server.makeCollection()
            try await collection.put("r0")
            let rounds = ProcessInfo.processInfo.environment["RS_ROUNDS"].flatMap { Int($0) } ?? 25
            let outputs = (0..<2).map { place.path("output\($0)") }
            var processes: [Process] = []
            let storage = place.storage
            for output in outputs {
                let process = Process()
                process.executableURL = Self.storageProcess
                process.arguments = [
                    storage, place.server.url, place.server.root.roots[0].hex, collection.name, "\(rounds)",
                ]
                try Data().write(to: URL(fileURLWithPath: output))
                process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
                try process.run()
                processes.append(process)
            }
            var number = 0
            while processes.contains(where: \.isRunning) {
                number += 1
                try await collection.put("r\(number)", ["number": number])
                if number % 5 == 0 { try await collection.delete("r\(number - 2)") }
            }
            for (process, output) in zip(processes, outputs) {
                process.waitUntilExit()
                let text = try String(contentsOfFile: output, encoding: .utf8)
                #expect(process.terminationStatus == 0, "\(text)")
                #expect(text.split(separator: "\n").count == rounds)
            }
            let client = place.service().makeClient(collectionName: collection.name)
            try await client.sync()
            #expect(try await state(of: client) == collection.state())
            let left = try FileManager.default.contentsOfDirectory(atPath: "\(storage)/main")
            #expect(left == ["\(collection.name).snapshot"])
        }

        /// What the tasks of a test have in common.
        private final class Shared: Sendable {
            let reads = Atomic(0)
            let isDone = Atomic(false)
            /// What was seen that must not be.
            let mixed = Mutex<[String]>([])
        }

        /// Beside the tests' own program.
        private static var storageProcess: URL {
            #if os(macOS)
                let tests =
                    Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.bundleURL
                return tests.deletingLastPathComponent().appending(path: "storage-process")
            #else
                return Bundle.main.bundleURL.appending(path: "storage-process")
            #endif
        }

        /// Another process that holds the directory is waited for, and reported if it does not end.
        @Test func aDirectoryThatIsHeld() async throws {
            let collection = try await place.server.makeCollection()
            try await collection.put("a")
            let shared = Shared()
            let client = place.service {
                $0.limits.storageLockSeconds = 1
                let sleep = $0.environment.sleep
                $0.environment.sleep = { duration in
                    shared.reads.add(1, ordering: .relaxed)
                    try await sleep(min(duration, .milliseconds(1)))
                }
            }.makeClient(collectionName: collection.name)
            try FileManager.default.createDirectory(atPath: place.storage, withIntermediateDirectories: true)
            let descriptor = unsafe open(place.storage, O_RDONLY)
            #expect(flock(descriptor, LOCK_EX) == 0)
            let error = await #expect(throws: RemoteSettingsError.self) { try await client.sync() }
            #expect(error.map { "\($0)" }?.contains(place.storage) == true)
            #expect(shared.reads.load(ordering: .relaxed) > 10)
            #expect(throws: RemoteSettingsError.self) { try client.resetStorage() }
            close(descriptor)
            try await client.sync()
            #expect(client.getRecords()?.count == 1)
        }
    }
}
