/// The rule that decides which of a collection's attachments its bundle contains.
package struct AttachmentRule: Hashable, Sendable {
    package enum Selection: Hashable, Sendable {
        case all
        case none
        /// The attachments of the records for which the filter expression is true. The expression uses the fields of
        /// the record.
        case include(String)
    }

    var selection: Selection
    /// The largest size of a single attachment in bytes. Larger ones are left out.
    var maxSize: UInt64?
    /// The largest size of all attachments together in bytes. They are taken in the order of record ids, and those that
    /// no longer fit are left out.
    var maxTotal: UInt64?

    package init(_ selection: Selection = .all, maxSize: UInt64? = nil, maxTotal: UInt64? = nil) {
        self.selection = selection
        self.maxSize = maxSize
        self.maxTotal = maxTotal
    }

    /// The rule as one line of text. The lock keeps it, so that a refresh notices that the rule has changed.
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
