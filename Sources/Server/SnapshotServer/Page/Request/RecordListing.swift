/// The choice of the records that a collection's page shows: a search and a page number.
struct RecordListing: Equatable {
    static let pageSize = 100
    /// The maximum number of records on a page if the reader asks for all. Each page is built in memory.
    static let largePageSize = 2000
    /// The maximum size of a search string in bytes.
    static let searchBytes = 200

    /// The words that a record must contain; empty to select all records.
    var search = ""
    /// The page number, starting at 1.
    var page = 1
    /// Whether to show as many records as possible on a page.
    var isLarge = false

    init(query: String) {
        let text = FormText.parameter("q", of: query) ?? ""
        search = String(decoding: text.utf8.prefix(Self.searchBytes), as: UTF8.self)
        isLarge = FormText.parameter("show", of: query) == "all"
        page = max(1, FormText.parameter("page", of: query).flatMap(Int.init) ?? 1)
    }

    /// Returns the listing with different settings. By default, it shows the first page.
    func with(page: Int = 1, isLarge: Bool? = nil, search: String? = nil) -> RecordListing {
        var other = self
        other.page = page
        other.isLarge = isLarge ?? other.isLarge
        other.search = search ?? other.search
        return other
    }

    /// Returns the positions of this page's records among `count` records.
    func range(of count: Int) -> Range<Int> {
        let first = min((min(page, pages(of: count)) - 1) * size, count)
        return first..<min(first + size, count)
    }

    func pages(of count: Int) -> Int { max(1, (count + size - 1) / size) }

    private var size: Int { isLarge ? Self.largePageSize : Self.pageSize }
}
