// A process of the tests that share a storage directory and read catalogues.
//
//     test-process catalogue sync STORAGE SERVER ROOT PUBLISHER COLLECTION...
//     test-process catalogue read STORAGE SERVER ROOT PUBLISHER COLLECTION...
//
// `sync` brings the collections to the current catalogue once, as a process that has just started does. `read` reads
// them until its standard input ends, in turn with a service that stays and with new ones, offline. The member `number`
// of each record must be the same in all collections of a reading, and equal to the catalogue's number. It prints the
// numbers of the catalogues that it has seen, and ends with 1 at the first reading that is not whole or that goes back.

#if Lab
import RemoteSettings
import RemoteSettingsHTTP

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

private struct NoNetwork: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        throw HTTPError(request.url, .unreachable("this process reads only"))
    }
}

enum CatalogueProcess {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count > 6, ["sync", "read"].contains(arguments[1]) else {
            print("usage: test-process catalogue sync|read STORAGE SERVER ROOT PUBLISHER COLLECTION...")
            exit(2)
        }
        let collections = Array(arguments[6...])
        var config = RemoteSettingsConfig(
            server: .custom(url: arguments[3]), trustRoots: try TrustAnchors(parsing: [arguments[4]]),
            publisher: arguments[5])
        config.updates = .off
        if arguments[1] == "read" { config.transport = NoNetwork() }
        config.log = { _ in }

        func makeService() -> (service: RemoteSettingsService, clients: [RemoteSettingsClient]) {
            let service = RemoteSettingsService(storageDir: arguments[2], config: config)
            return (service, collections.map { service.makeClient(collectionName: $0) })
        }

        if arguments[1] == "sync" {
            let (service, clients) = makeService()
            do {
                let results = try await service.syncCollections()
                for case .failure(let error) in results.map(\.result) { print(error) }
                guard results.allSatisfy(\.isSynced) else { exit(1) }
                print(service.catalogue.map { "\($0.number)" } ?? "none")
            } catch {
                print(error)
                exit(1)
            }
            withExtendedLifetime(clients) {}
            exit(0)
        }

        let staying = makeService()
        var last: [Bool: UInt64] = [:]
        var seen: Set<UInt64> = []
        var isNew = false
        while !hasEnded() {
            let (service, clients) = isNew ? makeService() : staying
            service.read { reading in
                let number = reading.catalogue?.number ?? 0
                let found = collections.map { name in
                    reading.getRecords(name).map { $0.map { $0[field: "number"]?.number?.uint64 ?? 0 } } ?? []
                }
                let expected: [UInt64] = number == 0 ? [] : [number]
                guard found.allSatisfy({ $0 == expected }), reading.others.isEmpty || number == 0 else {
                    print("catalogue \(number) was read with \(found), not of it: \(reading.others)")
                    exit(1)
                }
                guard number >= last[isNew] ?? 0 else {
                    print("went back from catalogue \(last[isNew] ?? 0) to \(number)")
                    exit(1)
                }
                last[isNew] = number
                seen.insert(number)
            }
            withExtendedLifetime(clients) {}
            isNew.toggle()
        }
        print(seen.sorted().map { "\($0)" }.joined(separator: " "))
    }
}

/// Whether the standard input has ended.
private func hasEnded() -> Bool {
    var poller = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&poller, 1, 0) > 0
}
#endif
