import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A type that decides which attachments of a collection are bundled.
///
/// An attachment shared by several records is included if the rule includes it for any of them.
package struct AttachmentSelector {
    private let rule: AttachmentRule
    private let expression: FilterExpression?

    /// Creates a selector, and parses the rule's filter expression.
    ///
    /// - Throws: `Failure` if the expression is not valid in the filter language.
    package init(_ rule: AttachmentRule) throws(Failure) {
        self.rule = rule
        guard case .include(let text) = rule.selection else {
            expression = nil
            return
        }
        expression = try FilterExpression(parsing: text)
    }

    /// Divides the attachments of the records into those to include, in the order of record ids, and those to leave
    /// out, with the reason.
    ///
    /// - Throws: `Failure` if a record's description of its attachment is not valid.
    package func select(
        _ records: RecordTable
    ) throws(Failure) -> (wanted: [WantedAttachment], omitted: [SHA256Digest: OmissionReason]) {
        var wanted: [WantedAttachment] = []
        var taken: Set<SHA256Digest> = []
        var omitted: [SHA256Digest: OmissionReason] = [:]
        var total: UInt64 = 0
        for record in records {
            guard let attachment = try record.attachment(), !taken.contains(attachment.hash) else { continue }
            if let reason = reason(against: attachment, of: record, total: total) {
                if omitted[attachment.hash] == nil { omitted[attachment.hash] = reason }
                continue
            }
            guard let size = Int(exactly: attachment.size) else {
                throw .invalidAttachment(record: record.id, problem: "its size is impossibly large")
            }
            taken.insert(attachment.hash)
            omitted[attachment.hash] = nil
            total = total.saturatingAdding(attachment.size)
            wanted.append(.init(digest: attachment.hash, size: size, location: attachment.location, record: record.id))
        }
        return (wanted, omitted)
    }

    private func reason(against attachment: RecordAttachment, of record: Record, total: UInt64) -> OmissionReason? {
        if case .none = rule.selection { return OmissionReason.none }
        if let expression {
            // If the record cannot be converted to a filter context, or if the expression fails, it does not match.
            guard let context = try? FilterContext(record: record), expression.matches(context) else { return .filter }
        }
        if let limit = rule.maxSize, attachment.size > limit { return .maxSize }
        if let limit = rule.maxTotal, total.saturatingAdding(attachment.size) > limit { return .maxTotal }
        return nil
    }
}
