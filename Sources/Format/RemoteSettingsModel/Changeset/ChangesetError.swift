/// Why bytes from a server or an archive are not a valid changeset or payload.
package enum ChangesetError: Error, Hashable, Sendable {
    case json(JSONError)
    /// The collection's metadata, in this member, is damaged. The position counts from the beginning of the metadata.
    case metadata(JSONError, member: String)
    case missing(String)
    case recordWithoutID(offset: Int)
    case invalidRecordID(String)
    case duplicateRecord(String)
    case tooManyRecords(limit: Int)
    /// A record has more than `limit` of `what`. It begins at the byte `offset`.
    case recordTooLarge(offset: Int, what: String, limit: Int)
    case invalidAttachment(record: String, problem: String)
    /// The metadata names another collection than the request did.
    case otherCollection(expected: CollectionID, found: String)
    /// A mirror's own metadata and the metadata that it received differ in more than the URLs of chains.
    case otherMirroredMetadata
    /// The records are not in the order of their ids, or the text around them is not that of a signed payload.
    case notCanonical(problem: String)
}

extension ChangesetError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .json(let error): error.description
        case .metadata(let error, let member): "the collection's \(member) is damaged: \(error) of its text"
        case .missing(let key): "the changeset has no valid \(VisibleText.quote(key))"
        case .recordWithoutID(let offset): "the record at byte \(offset) has no id that is a string"
        case .invalidRecordID(let id):
            "invalid record id \(VisibleText.quote(id)): expected a letter or digit, "
                + "then letters, digits, - and _ (at most 255)"
        case .duplicateRecord(let id): "more than one record has the id \(VisibleText.quote(id))"
        case .tooManyRecords(let limit): "more than \(limit) records"
        case .recordTooLarge(let offset, let what, let limit):
            "the record at byte \(offset) has more than \(limit) \(what); ask the collection's owner to split it, or "
                + "to move its content into an attachment"
        case .invalidAttachment(let record, let problem):
            "record \(VisibleText.quote(record)) has an invalid attachment: \(VisibleText.excerpt(problem))"
        case .otherCollection(let expected, let found):
            "expected the metadata of \(expected), found that of \(VisibleText.excerpt(found))"
        case .otherMirroredMetadata:
            "expected only x5u to differ between a mirror's metadata and what it received, found other differences"
        case .notCanonical(let problem): "not a canonical payload: \(problem)"
        }
    }
}
