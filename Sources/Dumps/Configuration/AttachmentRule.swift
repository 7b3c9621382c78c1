/// Which of a collection's attachments its bundle contains.
package struct AttachmentRule: Hashable, Sendable {
    package enum Selection: Hashable, Sendable {
        case all
        case none
        /// Those of records for which the filter expression is true; it refers to the record's fields by name.
        case include(String)
    }

    package var selection: Selection
    /// Bytes that a single attachment may have; larger ones are left out.
    package var maxSize: UInt64?
    /// Bytes that all attachments may have together; taken in the order of record ids, what no longer fits is left out.
    package var maxTotal: UInt64?

    package init(_ selection: Selection = .all, maxSize: UInt64? = nil, maxTotal: UInt64? = nil) {
        self.selection = selection
        self.maxSize = maxSize
        self.maxTotal = maxTotal
    }

    /// The rule as one line of text, for the lock, so that a refresh notices a changed rule.
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
