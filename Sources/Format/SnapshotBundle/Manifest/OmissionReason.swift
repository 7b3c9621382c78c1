/// Why an attachment was left out of a bundle: a word of lower-case letters, digits and hyphens, at most 40.
package struct OmissionReason: Hashable, Sendable {
    package let word: String

    /// - Returns: `nil` if `word` breaks the rule.
    package init?(_ word: String) {
        let valid = word.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
        }
        guard valid, (1...40).contains(word.utf8.count) else { return nil }
        self.word = word
    }

    private init(known word: String) {
        self.word = word
    }

    /// No attachment of the collection is wanted.
    package static let none = OmissionReason(known: "none")
    /// The include filter does not select any record that names it.
    package static let filter = OmissionReason(known: "filter")
    /// It is larger than one attachment may be.
    package static let maxSize = OmissionReason(known: "max-size")
    /// With it, the collection's attachments would be larger than they may be in all.
    package static let maxTotal = OmissionReason(known: "max-total")
    /// It was not in what the collection was imported from.
    package static let notImported = OmissionReason(known: "not-imported")
}

extension OmissionReason: Comparable, CustomStringConvertible {
    package static func < (left: OmissionReason, right: OmissionReason) -> Bool {
        left.word.utf8.lexicographicallyPrecedes(right.word.utf8)
    }

    package var description: String { word }
}
