import RemoteSettingsModel
import SnapshotBundle

/// A search in records. A record matches if each search word occurs in one of its names or values.
///
/// The words are compared with the record's canonical JSON, which escapes all non-ASCII characters, so no record has to
/// be parsed. The letters A to Z match in either case; other letters match exactly.
struct RecordSearch {
    private let words: [ByteSearch]

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace).map { word in
            var literal: [UInt8] = []
            JSONString.append(String(word), .ascii, to: &literal)
            return ByteSearch(literal.dropFirst().dropLast(), ignoresCase: true)
        }
    }

    func matches(_ record: Record) -> Bool {
        words.isEmpty || record.json.withSpan { json in words.allSatisfy { $0.first(in: json) != nil } }
    }
}
