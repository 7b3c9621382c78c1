import RemoteSettingsModel
import SnapshotBundle

/// The web UI for the served snapshots.
///
/// Its responses depend only on the request, the time and the catalog. It uses no network and reads no clock. Records
/// and attachments are treated as hostile: they are shown only as text, or as pictures in `<img>`. No document contains
/// or allows a script.
package struct OriginPage: Sendable {
    package init() {}

    /// Returns whether a path belongs to the web UI. A server uses this to route a request.
    ///
    /// - Parameter path: a request's path, percent-encoded as it was sent.
    package static func owns(path: String) -> Bool { PageRoute(path: path) != nil }

    /// Returns the response to a GET request. For HEAD, the server omits the body. Reads bundles, and does no other
    /// I/O.
    ///
    /// - Parameters:
    ///   - path: the path, percent-encoded as it was sent, without the query.
    ///   - query: the query as it was sent, without the `?`.
    ///   - now: the current time, for ages.
    ///   - isWanted: returns whether a client is still waiting for the response. If not, the response may be
    ///     incomplete.
    package func answer(
        path: String, query: String, of catalog: PageCatalog, now: Timestamp,
        isWanted: @escaping @Sendable () -> Bool = { true }
    ) async -> PageAnswer {
        await PageLink.$base.withValue(catalog.path) {
            await answer(PageRoute(path: path), query: query, of: catalog, now: now, isWanted: isWanted)
        }
    }

    private func answer(
        _ route: PageRoute?, query: String, of catalog: PageCatalog, now: Timestamp,
        isWanted: @escaping @Sendable () -> Bool
    ) async -> PageAnswer {
        switch route {
        case nil: return ProblemPage.noPage
        case .icon: return Icon.answer
        case .home:
            let search = FormText.parameter("q", of: query) ?? ""
            return .document(CollectionsPage(catalog: catalog, search: search, now: now).html)
        case .collection(let id):
            return await answer(id, catalog) { collection in
                try .document(
                    CollectionPage(collection: collection, listing: RecordListing(query: query), now: now).html())
            }
        case .changes(let id):
            return await answer(id, catalog) { collection in
                try await ChangesPage(collection: collection, query: query, now: now, isWanted: isWanted).answer()
            }
        case .parameters(let id):
            return await answer(id, catalog) { collection in
                try ParametersPage(collection: collection, now: now).map { .document($0.html()) }
                    ?? ProblemPage.notFound("\(id) is not a collection of parameters.")
            }
        case .record(let id, let record):
            return await answer(id, catalog) { collection in
                let records = try collection.bundle.payload().records
                guard let page = RecordPage(collection: collection, records: records, id: record) else {
                    return ProblemPage.notFound("This snapshot of \(id) has no record \(record).")
                }
                return try .document(page.html())
            }
        case .attachment(let id, let record):
            return await answer(id, catalog) { try PageAttachment(collection: $0, record: record)?.shown() }
        case .download(let id, let record):
            return await answer(id, catalog) { try PageAttachment(collection: $0, record: record)?.downloaded() }
        }
    }

    private func answer(
        _ id: CollectionID, _ catalog: PageCatalog, _ make: (PageCatalog.Collection) async throws -> PageAnswer?
    ) async -> PageAnswer {
        guard let collection = catalog[id] else {
            return ProblemPage.notFound("This server does not have the collection \(id).")
        }
        do {
            return try await make(collection)
                ?? ProblemPage.notFound("The bundle of \(id) does not contain this attachment.")
        } catch {
            return ProblemPage.unreadable("The snapshot of \(id) cannot be read.", "\(error)")
        }
    }
}
