/// The reason why a bundle does not contain an attachment, as a word of up to 40 lower-case letters, digits and
/// hyphens.
package struct OmissionReason: Hashable, Sendable {
    let word: String

    /// Creates a reason.
    ///
    /// - Returns: `nil` if `word` does not have this form.
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

    /// The attachment rule includes no attachments of the collection.
    package static let none = OmissionReason(known: "none")
    /// The include filter selects none of the records that reference the attachment.
    package static let filter = OmissionReason(known: "filter")
    /// The attachment is larger than the limit for one attachment.
    package static let maxSize = OmissionReason(known: "max-size")
    /// With the attachment, the collection's attachments would exceed the limit for their total size.
    package static let maxTotal = OmissionReason(known: "max-total")
    /// The source that the collection was imported from did not contain the attachment.
    package static let notImported = OmissionReason(known: "not-imported")
}

extension OmissionReason: Comparable, CustomStringConvertible {
    package static func < (left: OmissionReason, right: OmissionReason) -> Bool {
        left.word.utf8.lexicographicallyPrecedes(right.word.utf8)
    }

    package var description: String { word }
}
