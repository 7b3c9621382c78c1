#if Server
/// The selection of a collection's records that a page shows.
struct RecordListing: Equatable {
    static let pageSize = 100
    /// The most records on a page if the reader asks for all. Each page is made in memory.
    static let largePageSize = 2000
    /// The most bytes of a search text.
    static let searchBytes = 200

    /// The words that a record must contain; empty to select every record.
    var search = ""
    /// The number of the page, from 1.
    var page = 1
    /// Whether a page has as many records as possible.
    var isLarge = false

    init(query: String) {
        let text = FormText.parameter("q", of: query) ?? ""
        search = String(decoding: text.utf8.prefix(Self.searchBytes), as: UTF8.self)
        isLarge = FormText.parameter("show", of: query) == "all"
        page = max(1, FormText.parameter("page", of: query).flatMap(Int.init) ?? 1)
    }

    /// The listing with other settings. By default, it shows the first page.
    func with(page: Int = 1, isLarge: Bool? = nil, search: String? = nil) -> RecordListing {
        var other = self
        other.page = page
        other.isLarge = isLarge ?? other.isLarge
        other.search = search ?? other.search
        return other
    }

    /// The positions of this page's records among `count` records.
    func range(of count: Int) -> Range<Int> {
        let first = min((min(page, pages(of: count)) - 1) * size, count)
        return first..<min(first + size, count)
    }

    func pages(of count: Int) -> Int { max(1, (count + size - 1) / size) }

    private var size: Int { isLarge ? Self.largePageSize : Self.pageSize }
}
#endif
