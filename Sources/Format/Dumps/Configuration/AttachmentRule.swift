/// The rule that decides which of a collection's attachments its bundle contains.
package struct AttachmentRule: Hashable, Sendable {
    package enum Selection: Hashable, Sendable {
        case all
        case none
        /// The attachments of records for which the filter expression is true. The expression names the record's
        /// fields.
        case include(String)
    }

    package var selection: Selection
    /// The most bytes of a single attachment. Larger ones are left out.
    package var maxSize: UInt64?
    /// The most bytes of all attachments together. They are taken in the order of record ids, and what no longer fits
    /// is left out.
    package var maxTotal: UInt64?

    package init(_ selection: Selection = .all, maxSize: UInt64? = nil, maxTotal: UInt64? = nil) {
        self.selection = selection
        self.maxSize = maxSize
        self.maxTotal = maxTotal
    }

    /// The rule as one line of text. It is in the lock, so that a refresh notices a changed rule.
    package var text: String {
        var parts: [String]
        switch selection {
        case .all: parts = ["all"]
        case .none: parts = ["none"]
        case .include(let expression): parts = ["include \(expression)"]
        }
        if let maxSize { parts.append("max-size \(maxSize)") }
        if let maxTotal { parts.append("max-total \(maxTotal)") }
        return parts.joined(separator: ", ")
    }
}
