/// The selection of a collection's records that a page shows.
struct RecordListing: Equatable {
    static let pageSize = 100
    /// The most bytes of a search text.
    static let searchBytes = 200

    /// The words that a record must contain; empty to select every record.
    var search = ""
    /// The number of the page, from 1.
    var page = 1
    /// Whether all records are on one page.
    var isWhole = false

    init(query: String) {
        let text = FormText.parameter("q", of: query) ?? ""
        search = String(decoding: text.utf8.prefix(Self.searchBytes), as: UTF8.self)
        isWhole = FormText.parameter("show", of: query) == "all"
        page = max(1, FormText.parameter("page", of: query).flatMap(Int.init) ?? 1)
    }

    /// The listing with other settings: its first page, where none is named.
    func with(page: Int = 1, isWhole: Bool? = nil, search: String? = nil) -> RecordListing {
        var other = self
        other.page = page
        other.isWhole = isWhole ?? other.isWhole
        other.search = search ?? other.search
        return other
    }

    /// The positions, among `count` records, of those on this page.
    func range(of count: Int) -> Range<Int> {
        guard !isWhole else { return 0..<count }
        let first = min((min(page, pages(of: count)) - 1) * Self.pageSize, count)
        return first..<min(first + Self.pageSize, count)
    }

    func pages(of count: Int) -> Int { max(1, (count + Self.pageSize - 1) / Self.pageSize) }
}
