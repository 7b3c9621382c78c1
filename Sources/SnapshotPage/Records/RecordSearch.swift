import RemoteSettingsModel
import SnapshotBundle

/// A search through records: every word must occur somewhere in the record, in a name or in a value.
///
/// It compares with the record's canonical JSON, where whatever is not ASCII is escaped: A to Z match either case, other
/// letters match as they are. Nothing is parsed.
struct RecordSearch {
    private let words: [[UInt8]]

    init(_ text: String) {
        words = text.split(whereSeparator: \.isWhitespace).map { word in
            var literal: [UInt8] = []
            ASCIIString.append(String(word), to: &literal)
            return literal.dropFirst().dropLast().map(Self.folded)
        }
    }

    func matches(_ record: Record) -> Bool {
        words.isEmpty || record.json.withSpan { json in words.allSatisfy { Self.occurs($0, in: json) } }
    }

    private static func occurs(_ word: [UInt8], in text: Span<UInt8>) -> Bool {
        guard let first = word.first else { return true }
        guard text.count >= word.count else { return false }
        let word = word.span
        for start in 0...(text.count - word.count) where folded(text[start]) == first {
            var length = 1
            while length < word.count, folded(text[start + length]) == word[length] { length += 1 }
            if length == word.count { return true }
        }
        return false
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
