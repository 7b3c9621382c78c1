/// The rule that selects which attachments of a collection are bundled.
package struct AttachmentRule: Hashable, Sendable {
    package enum Selection: Hashable, Sendable {
        case all
        case none
        /// The attachments of the records that match the filter expression, which refers to the record's fields.
        case include(String)
    }

    var selection: Selection
    /// The maximum size of a single attachment in bytes. Larger ones are left out.
    var maxSize: UInt64?
    /// The maximum total size of all attachments in bytes. Attachments are added in order of record id; those that no
    /// longer fit are left out.
    var maxTotal: UInt64?

    package init(_ selection: Selection = .all, maxSize: UInt64? = nil, maxTotal: UInt64? = nil) {
        self.selection = selection
        self.maxSize = maxSize
        self.maxTotal = maxTotal
    }

    /// The rule as a single line. The lock file stores it so that a refresh can detect a changed rule.
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
