#if Lab
import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting

extension FuzzTarget {
    static let catalogueSync = FuzzTarget(
        "catalogue-sync",
        "syncs whose answers are of other times, of another publisher or damaged; readers see one catalogue",
        longest: 8 * AnsweredSync.length, cost: 25,
        seeds: { _ in
            func all(of state: UInt8) -> [UInt8] { [UInt8](repeating: state, count: AnsweredSync.length) }
            return [
                all(of: 0), all(of: 0) + all(of: 1) + all(of: 2), all(of: 2) + all(of: 1) + all(of: 0),
                // The staging server in place of production.
                all(of: 0) + all(of: 4) + all(of: 1) + all(of: 5),
                // Catalogues that are mixed.
                all(of: 1) + [1, 2, 2, 2, 1, 2, 2, 0] + [0, 2, 1, 2, 2, 2, 2, 0] + [1, 2, 2, 0, 1, 2, 2, 0],
                // Another collection, no answer, damaged bytes.
                all(of: 1) + [1, 2, 2, 6, 2, 2, 2, 0] + [0, 2, 7, 2, 2, 2, 2, 0] + [1, 2, 0xF2, 2, 2, 2, 2, 99],
            ]
        }
    ) { input in
        let folder = SteppedTime.folder.appending(path: "rsfuzz-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = RecordedCatalogues.shared
        var process = server.process(storage: folder.path)
        var last: UInt64 = 0
        for start in stride(from: 0, to: input.count, by: AnsweredSync.length) {
            let answers = AnsweredSync(input[start..<min(input.count, start + AnsweredSync.length)])
            if answers.isByNewProcess { process = server.process(storage: folder.path) }
            last = try process.sync(answers, after: last)
        }
        // Whatever was told before.
        process = server.process(storage: folder.path)
        let present = UInt8(RecordedCatalogues.count - 1)
        let honest = AnsweredSync([UInt8](repeating: present, count: AnsweredSync.length)[...])
        last = try process.sync(honest, after: last)
        try require(last == UInt64(RecordedCatalogues.count), "an honest sync has ended with catalogue \(last)")
    }
}

/// How the requests of a sync are answered: a byte for each kind of request.
private struct AnsweredSync {
    static let length = 8

    private let bytes: [UInt8]

    /// Missing bytes are zeros, which choose the first catalogue.
    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes + [UInt8](repeating: 0, count: Self.length - bytes.count)
    }

    var isByNewProcess: Bool { bytes[0] & 1 == 1 }

    /// - Parameter kind: the place of the request's path among all paths.
    /// - Returns: the recorded state that answers. Those after the last one stand for another collection's answer and
    ///   for none.
    func state(of kind: Int) -> Int { Int(bytes[1 + kind % (Self.length - 2)] & 7) }

    func damage(_ body: inout [UInt8], of kind: Int) {
        let change = bytes[1 + kind % (Self.length - 2)] >> 3
        guard change >= 16, !body.isEmpty else { return }
        body[Int(bytes[Self.length - 1]) * 37 % body.count] ^= change
    }
}

/// What a publisher and its staging server have answered after each of their catalogues.
private final class RecordedCatalogues: Sendable {
    static let shared: RecordedCatalogues = {
        do {
            return try RecordedCatalogues()
        } catch {
            preconditionFailure("the catalogues cannot be recorded: \(error)")
        }
    }()

    /// The catalogues of the publisher. The staging server has two more, with greater numbers and later timestamps.
    static let count = 4
    static let anotherCollection = 6

    let config: RemoteSettingsConfig
    let names: [String]
    /// Bodies by path, for each state.
    let states: [[String: [UInt8]]]
    let paths: [String]

    private init() throws {
        let (publisher, staging) = (try OriginTransport(), try OriginTransport())
        let collections = try (0..<3).map { _ in try publisher.makeCollection() }
        let twins = try collections.map { try staging.makeCollection(id: $0.id) }
        let names = collections.map(\.name)
        var config = publisher.config
        config.log = { _ in }
        config.publisher = "shop"
        var states: [[String: [UInt8]]] = []
        func record(_ server: OriginTransport, _ written: [ServerCollection], number: Int, as name: String) throws {
            for collection in written { try collection.put("r", ["number": number]) }
            try server.publishCatalogue(as: name, number: UInt64(number))
            let recording = RecordingTransport(server)
            var config = config
            config.transport = recording
            config.publisher = name
            let folder = SteppedTime.folder.appending(path: "rsfuzz-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let service = RemoteSettingsService(storageDir: folder.path, config: config)
            let clients = names.map { service.makeClient(collectionName: $0) }
            let found = waited { () -> UInt64? in
                _ = try? await service.sync()
                return service.catalogue?.number
            }
            guard found == UInt64(number) else { throw Finding("catalogue \(number) cannot be synced") }
            withExtendedLifetime(clients) {}
            states.append(recording.bodies)
        }
        for number in 1...Self.count { try record(publisher, collections, number: number, as: "shop") }
        for number in 70...71 { try record(staging, twins, number: number, as: "shop-staging") }
        self.config = config
        self.names = names
        self.states = states
        paths = Set(states.flatMap(\.keys)).sorted()
    }

    func process(storage: String) -> SyncingProcess { SyncingProcess(self, storage: storage) }
}

/// A service as a process has it, and the clients that it syncs.
private struct SyncingProcess {
    private let service: RemoteSettingsService
    private let clients: [RemoteSettingsClient]
    private let transport: RecordedTransport
    private let names: [String]

    init(_ server: RecordedCatalogues, storage: String) {
        let transport = RecordedTransport(server)
        var config = server.config
        config.transport = transport
        let service = RemoteSettingsService(storageDir: storage, config: config)
        clients = server.names.map { service.makeClient(collectionName: $0) }
        names = server.names
        self.service = service
        self.transport = transport
    }

    /// Syncs once and reads.
    ///
    /// - Parameter last: the number of the catalogue that was read before; 0 for none.
    /// - Returns: the number of the catalogue that is read now.
    /// - Throws: ``Finding`` if what is read is not one catalogue of the publisher, or an earlier one.
    func sync(_ answers: AnsweredSync, after last: UInt64) throws -> UInt64 {
        transport.answers.withLock { $0 = answers }
        let service = service
        waited { _ = try? await service.sync() }
        return try service.read { reading in
            let number = reading.catalogue?.number ?? 0
            let found = names.map { reading.getRecords($0)?.first?[field: "number"]?.number?.uint64 }
            let expected: [UInt64?] = names.map { _ in number == 0 ? nil : number }
            try require(found == expected, "catalogue \(number) is read with the records of \(found)")
            try require(number <= RecordedCatalogues.count, "catalogue \(number) is of another publisher")
            try require(number >= last, "catalogue \(number) is read after catalogue \(last)")
            return number
        }
    }
}

/// Answers with what was recorded.
private final class RecordedTransport: HTTPTransport {
    let answers = Mutex(AnsweredSync([]))
    private let server: RecordedCatalogues

    init(_ server: RecordedCatalogues) { self.server = server }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let answers = answers.withLock { $0 }
        guard let kind = server.paths.firstIndex(of: request.url.path) else { return Self.answer(404, []) }
        let state = answers.state(of: kind)
        var body: [UInt8]?
        if state < server.states.count {
            body = server.states[state][request.url.path]
        } else if state == RecordedCatalogues.anotherCollection {
            body = server.states[RecordedCatalogues.count - 1][server.paths[(kind + 1) % server.paths.count]]
        }
        guard var body else { return Self.answer(404, []) }
        answers.damage(&body, of: kind)
        return Self.answer(200, body)
    }

    private static func answer(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: HTTPHeaders(), body: OnePiece(left: body.isEmpty ? nil : body))
    }
}

/// Passes requests on, and keeps the bodies of the answers.
private final class RecordingTransport: HTTPTransport {
    private let server: OriginTransport
    private let kept = Mutex<[String: [UInt8]]>([:])

    var bodies: [String: [UInt8]] { kept.withLock { $0 } }

    init(_ server: OriginTransport) { self.server = server }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        var plain = request
        plain.headers = HTTPHeaders(request.headers.fields.filter { $0.name != "Accept-Encoding" })
        var response = try await server.send(plain)
        var body: [UInt8] = []
        while let piece = try await response.body.next() { body += piece }
        if response.status == 200 { kept.withLock { $0[request.url.path] = body } }
        response.body = OnePiece(left: body.isEmpty ? nil : body)
        return response
    }
}

private struct OnePiece: HTTPBody {
    var left: [UInt8]?

    mutating func next() async throws(HTTPError) -> [UInt8]? {
        defer { left = nil }
        return left
    }
}
#endif
