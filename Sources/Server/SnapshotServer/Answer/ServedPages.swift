import Dumps
import Hummingbird
import RemoteSettingsModel
import SnapshotBundle

/// The web UI, rendered from the served state.
struct ServedPages: Sendable {
    /// The dumps directory. Its `dumps.yaml` lists the pins.
    let directory: DumpsDirectory

    private let page = OriginPage()

    init(directory: DumpsDirectory) {
        self.directory = directory
    }

    /// Returns the web UI's response to a request.
    ///
    /// - Returns: `nil` if the path is not part of the web UI and the client is a program, which then gets the API's
    ///   error. A person who has mistyped an address gets a page with a link back.
    func answer(
        _ state: ServedState, _ target: RequestTarget, acceptsHTML: Bool, now: Timestamp,
        isWanted: @escaping @Sendable () -> Bool
    ) async -> PageAnswer? {
        let path = String(target.path)
        guard acceptsHTML || OriginPage.owns(path: path) else { return nil }
        return await page.answer(
            path: path, query: String(target.query ?? ""), of: catalog(state), now: now, isWanted: isWanted)
    }

    private func catalog(_ state: ServedState) -> PageCatalog {
        // Read this for each response, because people edit the file. A directory that has only bundles has no such
        // file.
        let configured = (try? directory.configuration())?.collections ?? []
        let pins = Dictionary(configured.compactMap { each in each.pin.map { (each.id, $0) } }) { first, _ in first }
        return PageCatalog(
            collections: state.origin.collections.compactMap { collection in
                state.entries[collection.id].map { entry in (collection, entry) }
            }.map { collection, entry in
                PageCatalog.Collection(
                    bundle: collection.bundle, bundleSize: entry.bundle.size, provenance: entry.trust,
                    server: entry.server, pin: pins[collection.id].map(Self.text),
                    olderStates: collection.history.map { older in .init(timestamp: older.head.timestamp) { older } })
            }, problems: state.problems, path: state.origin.address.path)
    }

    private static func text(_ pin: Pin) -> String {
        var text = "\(pin.at.rfc3339.prefix(10)) (\(pin.at))"
        if let until = pin.until { text += " until \(Pin.dateText(until))" }
        if let reason = pin.reason { text += ": \(reason)" }
        return text
    }
}

/// Handles `POST /demo/publish`, which changes the collections of `serve --demo`. Only programs on this machine may use
/// it, not web pages.
struct DemoControl: Sendable {
    let loader: DumpsLoader
    let state: StateBox
    /// Publishes a change, and returns the steps as one line each.
    let publish: @Sendable (_ now: Timestamp) async throws -> [String]

    func answer(_ request: Request, isLoopback: Bool, now: Timestamp) async -> Response {
        // Web pages must not use this. A browser sends the header `Origin` with a form, so refuse requests that have
        // it. Otherwise any web page could submit such a form unnoticed.
        guard isLoopback, request.headers[.origin] == nil else {
            return response(
                .forbidden, "error", .string("only programs on this machine may send this request, not web pages"))
        }
        do {
            let changes = try await publish(now)
            if let next = try await loader.reload() { state.replace(with: next) }
            return response(.ok, "published", .array(changes.map { .string($0) }))
        } catch {
            return response(.internalServerError, "error", .string("\(error)"))
        }
    }

    private func response(_ status: HTTPResponse.Status, _ name: String, _ value: JSONValue) -> Response {
        let json = JSONText.compact(.object([.init(key: name, value: value)]))
        return Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }
}
