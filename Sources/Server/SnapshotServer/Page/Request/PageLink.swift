import RemoteSettingsModel

/// An address in the web UI: an encoded path and query on the same origin. The type cannot express any other address.
struct PageLink: Equatable {
    /// The path of the server's public URL, which is prepended to all links created in this task.
    @TaskLocal static var base = ""

    let text: String

    private init(_ segments: [String], _ query: [(name: StaticString, value: String)] = []) {
        var text = Self.base
        text += segments.isEmpty ? "/" : segments.reduce(into: "") { $0 += "/" + PercentEncoding.component($1) }
        for (index, part) in query.enumerated() {
            text += (index == 0 ? "?" : "&") + "\(part.name)=" + PercentEncoding.component(part.value)
        }
        self.text = text
    }

    static var home: PageLink { PageLink([]) }
    static var icon: PageLink { PageLink(["icon.svg"]) }

    static func collection(_ id: CollectionID) -> PageLink { PageLink(["collections", id.bucket, id.name]) }

    static func records(_ id: CollectionID, _ listing: RecordListing) -> PageLink {
        var query: [(name: StaticString, value: String)] = []
        if !listing.search.isEmpty { query.append(("q", listing.search)) }
        if listing.isLarge { query.append(("show", "all")) }
        if listing.page > 1 { query.append(("page", "\(listing.page)")) }
        return PageLink(["collections", id.bucket, id.name], query)
    }

    static func record(_ id: CollectionID, _ record: String) -> PageLink {
        PageLink(["collections", id.bucket, id.name, "records", record])
    }

    static func attachment(_ id: CollectionID, _ record: String) -> PageLink {
        PageLink(["collections", id.bucket, id.name, "records", record, "attachment"])
    }

    static func download(_ id: CollectionID, _ record: String) -> PageLink {
        PageLink(["collections", id.bucket, id.name, "records", record, "download"])
    }

    static func parameters(_ id: CollectionID) -> PageLink {
        PageLink(["collections", id.bucket, id.name, "parameters"])
    }

    static func changes(_ id: CollectionID) -> PageLink { PageLink(["collections", id.bucket, id.name, "changes"]) }
}
