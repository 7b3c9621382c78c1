import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Large lists in JSON, which are not read value by value.
@Suite struct PlainRecordsTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)

    /// Records of half a kilobyte, in no order, with keys in front of `last_modified` and behind it.
    private func records(_ count: Int) -> [(id: String, text: String)] {
        (0..<count).map { number in
            let id = "r\(number * 7_919 % 10_007)"
            let filler = String(repeating: "é\(number)/", count: number % 3 == 0 ? 40 : 60)
            let text =
                switch number % 5 {
                case 0: #"{"id": "\#(id)"}"#
                case 1: #"{"zeta": "\#(filler)", "id": "\#(id)", "number": 1.50, "alpha": {"last_modified": 5}}"#
                case 2: #"{"a": [1, {"last_modified": 6, "id": "x"}], "id": "\#(id)", "k": "\#(filler)"}"#
                case 3: #"{"last_modifiedx": 1, "id": "\#(id)", "last": 2, "last_modifiee": 3, "m": "\#(filler)"}"#
                default: #"{"id": "\#(id)", "isEnabled": false, "lasu": "\#(filler)\ud83d\ude00", "x": null}"#
                }
            return (id, text)
        }
    }

    /// As parts of a directory, or as a member of its `collection.json`, which is read value by value.
    private func write(_ records: [(id: String, text: String)], to place: PublishingPlace, isPlain: Bool) throws {
        let texts = records.map(\.text)
        guard isPlain else {
            return try place.write("{\"records\": [\(texts.joined(separator: ",\n"))]}", to: "main/c/collection.json")
        }
        try place.write("{}", to: "main/c/collection.json")
        let half = texts.count / 2
        try place.write(" [\n\(texts[..<half].joined(separator: ",\n"))\n]\n", to: "main/c/part-0.json")
        try place.write("[\(texts[half...].joined(separator: ","))]", to: "main/c/part-1.json")
    }

    @Test func `Large lists are published as small ones are`() async throws {
        let plain = try PublishingPlace(at: now)
        let other = try PublishingPlace(at: now)
        func publish(_ records: [(id: String, text: String)], at time: Timestamp) async throws -> [NextState] {
            try write(records, to: plain, isPlain: true)
            try write(records, to: other, isPlain: false)
            #expect(try plain.sources.read()[0].plain?.count == records.count)
            #expect(try other.sources.read()[0].plain == nil)
            let states = try await [plain.publish(at: time), other.publish(at: time)]
            #expect(states[0].unsigned.payload == states[1].unsigned.payload)
            #expect(states[0].status == states[1].status)
            #expect(states[0].changes == states[1].changes)
            try plain.verify()
            return states
        }
        var records = records(5_000)
        #expect(try await publish(records, at: now)[0].status == .created)
        let later = now.advanced(by: .seconds(60))
        #expect(try await publish(records.reversed(), at: later)[0].status == .unchanged)
        records[11].text = records[11].text.replacing("\"number\"", with: "\"numbez\"")
        records[20].text = #"{"id": "\#(records[20].id)", "new": 1}"#
        let removed = records.remove(at: 2_500)
        records.append(("new", #"{"id": "new"}"#))
        let state = try await publish(records, at: later)[0]
        #expect(state.status == .updated)
        #expect([state.changes.created, state.changes.updated, state.changes.deleted] == [1, 2, 1])
        let published = try plain.records()
        #expect(published.record(id: removed.id) == nil)
        #expect(published.count { $0.lastModified == later } == 3)
        #expect(published.count { $0.lastModified == now } == records.count - 3)
    }

    /// They are read by their values, and so with the same problems as ever.
    @Test(
        arguments: [
            (#""attachment": null"#, nil), (#""filter_expression": "1 == 1""#, nil), (#""deleted": false"#, nil),
            (#""é": 1"#, nil), (#""deleted": true"#, 17), (#""last_modified": 1"#, 17), (#""a": 1e999"#, 17),
            (#""id": "r7919""#, 17), (#""id": """#, 17),
        ] as [(String, Int?)])
    func `A record that is not plain makes its collection one`(member: String, line: Int?) throws {
        let place = try PublishingPlace(at: now)
        var records = records(5_000)
        // The text begins behind one line and sixteen records.
        let id = member.contains("\"id\"") ? "" : #""id": "own", "#
        records[15].text = "{\(id)\(member)}"
        try write(records, to: place, isPlain: true)
        guard let line else {
            let source = try place.sources.read()[0]
            #expect(source.plain == nil && source.records.count == records.count)
            return
        }
        let error = #expect(throws: SourceProblems.self) { try place.sources.read() }
        #expect(error?.problems.contains { $0.file.hasSuffix("part-0.json") && $0.line == line } == true)
    }

    @Test func `Records of half a megabyte are read by their values`() throws {
        let place = try PublishingPlace(at: now)
        try write(records(1_500), to: place, isPlain: true)
        #expect(try place.sources.read()[0].plain == nil)
    }
}
