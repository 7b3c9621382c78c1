import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps

struct AttachmentSelectorTests {
    private func hash(_ digit: Character) -> String { String(repeating: digit, count: 64) }

    /// Records a…d with attachments of 100, 200, 300 and again 100 bytes; e has none.
    private func records() throws -> RecordTable {
        func record(_ id: String, _ digit: Character, _ size: Int, _ language: String) -> String {
            #"{"id":"\#(id)","lang":"\#(language)","attachment":{"hash":"\#(hash(digit))","size":\#(size),"location":"x/\#(id)","filename":"f","mimetype":"m"}}"#
        }
        let list = [
            record("a", "1", 100, "en"), record("b", "2", 200, "de"), record("c", "3", 300, "en"),
            record("d", "1", 100, "de"), #"{"id":"e","lang":"en"}"#,
        ].joined(separator: ",")
        let body = #"{"metadata":{},"timestamp":1,"changes":[\#(list)]}"#
        return try Changeset(parsing: Bytes(utf8: body)).records
    }

    private func select(_ rule: AttachmentRule) throws -> (taken: [String], omitted: [OmissionReason]) {
        let (wanted, omitted) = try AttachmentSelector(rule).select(try records())
        return (wanted.map(\.record), omitted.sorted { $0.key < $1.key }.map(\.value))
    }

    @Test func oneAttachmentOfEachHashIsPacked() throws {
        let all = try select(AttachmentRule())
        #expect(all.taken == ["a", "b", "c"] && all.omitted.isEmpty)
        let none = try select(AttachmentRule(.none))
        #expect(none.taken.isEmpty && none.omitted == [.none, .none, .none])
    }

    @Test func sharedAttachmentIsPackedIfAnyRecordMatches() throws {
        let german = try select(AttachmentRule(.include(#"lang == "de""#)))
        #expect(german.taken == ["b", "d"] && german.omitted == [.filter])
        let large = try select(AttachmentRule(.include("attachment.size > 150")))
        #expect(large.taken == ["b", "c"] && large.omitted == [.filter])
    }

    @Test func attachmentSizesAreLimited() throws {
        let small = try select(AttachmentRule(maxSize: 200))
        #expect(small.taken == ["a", "b"] && small.omitted == [.maxSize])
        let total = try select(AttachmentRule(maxTotal: 400))
        #expect(total.taken == ["a", "b"] && total.omitted == [.maxTotal])
        // An attachment that does not fit does not exclude later ones that do.
        let gap = try select(AttachmentRule(.include(#"id != "a""#), maxTotal: 350))
        #expect(gap.taken == ["b", "d"] && gap.omitted == [.maxTotal])
        let exact = try select(AttachmentRule(maxTotal: 600))
        #expect(exact.taken == ["a", "b", "c"])
    }

    @Test func failingAttachmentExpressionOmits() throws {
        let failing = try select(AttachmentRule(.include("attachment.size > \"x\"")))
        #expect(failing.taken.isEmpty && failing.omitted == [.filter, .filter, .filter])
    }
}
