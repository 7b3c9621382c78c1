import FaultyServer
import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import Testing

@Suite struct ConcurrencyTests {
    let place: Workplace

    init() throws { place = try Workplace() }

    /// Two processes sync and read one directory over loopback while the server changes. Set `RS_ROUNDS` to run the
    /// test for longer.
    @Test func twoProcessesShareOneStorageDirectory() async throws {
        let listener = try LoopbackListener()
        let place = try Workplace(address: "http://127.0.0.1:\(listener.port)")
        listener.serve { [server = place.server] connection in
            while let request = try connection.nextRequest() {
                let reply = try server.reply(to: request.target, headers: HTTPHeaders())
                let fields = reply.headers.fields.filter { $0.name != "Content-Length" }
                try connection.answer("\(reply.status) Answer", reply.body, fields.map { ($0.name, $0.value) })
            }
        }
        let collection = try place.collection("r0")
        let rounds = ProcessInfo.processInfo.environment["RS_ROUNDS"].flatMap { Int($0) } ?? 25
        let outputs = (0..<2).map { place.path("output\($0)") }
        var processes: [Process] = []
        let storage = place.storage
        for output in outputs {
            let process = Process()
            process.executableURL = TestProcess.url
            process.arguments = [
                "storage", storage, place.server.url, place.server.root.roots[0].hex, collection.name, "\(rounds)",
            ]
            try Data().write(to: URL(fileURLWithPath: output))
            process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
            try process.run()
            processes.append(process)
        }
        var number = 0
        while processes.contains(where: \.isRunning) {
            number += 1
            try collection.put("r\(number)", ["number": number])
            if number % 5 == 0 { collection.delete("r\(number - 2)") }
            try await Task.sleep(for: .milliseconds(5))
        }
        for (process, output) in zip(processes, outputs) {
            process.waitUntilExit()
            let text = try String(contentsOfFile: output, encoding: .utf8)
            #expect(process.terminationStatus == 0, "\(text)")
            #expect(text.split(separator: "\n").count == rounds)
        }
        let client = place.client(collection)
        try await client.sync()
        #expect(try state(of: client) == collection.state())
        #expect(place.files.states.count == 1)
    }

    /// Each answer takes a network round trip, so as many collections are requested at once as there are connections.
    @Test func parallelRequestsMatchConnectionCount() async throws {
        let collections = try (0..<9).map { _ in try place.collection("a") }
        let gate = GatedTransport(place.server, holding: "/buckets/main/")
        let service = place.service { $0.transport = gate }
        let clients = collections.map { service.makeClient(collectionName: $0.name) }
        async let updated = service.sync()
        let end = ContinuousClock.now + .seconds(60)
        while gate.requests < 8, .now < end { try? await Task.sleep(for: .milliseconds(1)) }
        for _ in 0..<100 { await Task.yield() }
        #expect(gate.requests == 8)
        gate.open()
        #expect(try await updated.count == clients.count)
    }

    /// A sync waits for another process that holds the directory lock, and fails if the lock is not released.
    @Test func lockedDirectoryIsWaitedForThenReported() async throws {
        let collection = try place.collection("a")
        let client = place.client(collection)
        try FileManager.default.createDirectory(atPath: place.storage, withIntermediateDirectories: true)
        let descriptor = unsafe open(place.storage, O_RDONLY)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(await refusal(of: client).contains(place.storage))
        async let waiting = client.sync()
        try await Task.sleep(for: .milliseconds(100))
        close(descriptor)
        _ = try await waiting
        #expect(client.records?.count == 1)
    }
}
