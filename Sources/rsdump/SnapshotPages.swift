import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin
import SnapshotPage
import SnapshotServer

/// The page for people, over what `rsdump serve` serves.
struct SnapshotPages: PageSource {
    /// The directory of the dumps, where `dumps.yaml` tells what is pinned.
    let directory: DumpsDirectory
    /// Who answers what is none of the page's.
    let others: (any PageSource)?

    private let page = SnapshotPage()

    init(directory: DumpsDirectory, others: (any PageSource)? = nil) {
        self.directory = directory
        self.others = others
    }

    func answer(_ request: PageRequest) async -> PageResponse? {
        if request.method == "POST" || !SnapshotPage.owns(path: request.path) {
            if let answer = await others?.answer(request) { return answer }
            // A person who has mistyped an address gets a page and a way on; a program gets the API's error.
            guard request.method != "POST", request.acceptsHTML else { return nil }
        }
        let answer = await page.answer(
            path: request.path, query: request.query, of: catalog(request.state), now: request.now)
        let body: OriginResource.Content
        switch answer.body {
        case .bytes(let bytes): body = .segments([bytes])
        case .attachment(let digest, let bundle, _):
            // The page has just looked the file up.
            body = (try? OriginResource.Content(digest, of: bundle)) ?? .segments([])
        }
        return PageResponse(status: answer.status, headers: answer.headers.map { ($0.name, $0.value) }, body: body)
    }

    private func catalog(_ state: ServedState) -> PageCatalog {
        // Read at each answer, as people edit it. A server of bundles alone has none.
        let configured = (try? directory.configuration())?.collections ?? []
        let pins = Dictionary(configured.compactMap { each in each.pin.map { (each.id, $0) } }) { first, _ in first }
        return PageCatalog(
            collections: state.origin.collections.map { collection in
                let entry = state.entries[collection.id]
                return PageCatalog.Collection(
                    bundle: collection.bundle, bundleSize: entry?.bundle.size ?? 0, verdict: verdict(entry),
                    server: entry?.server, pin: pins[collection.id].map(Self.text),
                    olderStates: collection.history.map { older in .init(timestamp: older.head.timestamp) { older } })
            }, problems: state.problems)
    }

    /// The server verifies each bundle against the lock before it serves it.
    private func verdict(_ entry: LockFile.Collection?) -> PageCatalog.Verdict {
        switch entry?.trust {
        case .signed(let signature): .verified(signature)
        case .unsigned: .unsigned
        case .imported: .imported
        case nil: .unchecked
        }
    }

    private static func text(_ pin: Pin) -> String {
        var text = "\(pin.at.rfc3339.prefix(10)) (\(pin.at))"
        if let until = pin.until { text += " until \(Pin.dateText(until))" }
        if let reason = pin.reason { text += ": \(reason)" }
        return text
    }
}
