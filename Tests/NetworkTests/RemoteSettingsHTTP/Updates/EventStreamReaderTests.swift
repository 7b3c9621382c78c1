@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// Parsing of event streams by WHATWG HTML, section 9.2.6.
struct EventStreamReaderTests {
    /// The name, data and ID of each event, which must not depend on how the bytes are divided.
    private func events(_ text: String) throws -> [String] {
        let bytes = Array(text.utf8)
        let whole = try events([bytes])
        #expect(try events(bytes.map { [$0] }) == whole)
        for middle in bytes.indices {
            #expect(try events([Array(bytes[..<middle]), Array(bytes[middle...])]) == whole)
        }
        return whole
    }

    private func events(_ pieces: [[UInt8]]) throws -> [String] {
        var reader = EventStreamReader()
        var found: [String] = []
        for piece in pieces {
            reader.feed(piece)
            while let event = try reader.next() {
                found.append("\(event.name)|\(String(decoding: event.data, as: UTF8.self))|\(event.lastEventID)")
            }
        }
        return found
    }

    @Test func eventStreamExamplesOfTheStandard() throws {
        #expect(try events("data: YHOO\ndata: +2\ndata: 10\n\n") == ["|YHOO\n+2\n10|"])
        #expect(
            try events(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n")
                == ["|first event|1", "|second event|", "| third event|"])
        #expect(try events("data\n\ndata\ndata\n\ndata:") == ["||", "|\n|"])
        #expect(try events("data:test\n\ndata: test\n\n") == ["|test|", "|test|"])
        #expect(
            try events("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n") == [
                "add|73857293|", "remove|2153|",
            ])
    }

    @Test func eventStreamLineEnds() throws {
        #expect(try events("data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\n") == ["|a|", "|b|", "|c|", "|d|"])
        #expect(try events("data: a\n\r\ndata: b\r\n\r") == ["|a|", "|b|"])
        #expect(try events("\n\n\r\r\r\n") == [])
    }

    @Test func eventEndedByCarriageReturnIsDelivered() throws {
        var reader = EventStreamReader()
        reader.feed(Array("data: a\r\n\r".utf8))
        #expect(try reader.next() != nil)
        reader.feed(Array("\ndata: b\n\n".utf8))
        #expect(try reader.next().map { $0.data } == Array("b".utf8))
    }

    @Test func oneByteOrderMarkIsDropped() throws {
        #expect(try events("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n") == ["|a|"])
        #expect(try events("\u{FEFF}\u{FEFF}data: a\n\n") == [])
        #expect(try events("\u{FEFF}\n") == [])
    }

    @Test func unfinishedStreamEventIsDropped() throws {
        #expect(try events("data: a\n\ndata: b\n") == ["|a|"])
        #expect(try events("data: a\n\nid: 2\ndata: b") == ["|a|"])
    }

    @Test func idsLastAndCountWithoutData() throws {
        #expect(try events("id: 1\n\ndata: a\n\nid: 2\0\ndata: b\n\nid:\ndata: c\n\n") == ["|a|1", "|b|1", "|c|"])
        var reader = EventStreamReader()
        reader.feed(Array("id: 7\n\nid: 8\n".utf8))
        #expect(try reader.next() == nil)
        #expect(reader.lastEventID == "7")
    }

    @Test func fieldsAreMatchedExactly() throws {
        #expect(try events("Data: a\ndata : b\n data: c\ndata: d\nevent: x\nevent: y\n\n") == ["y|d|"])
        #expect(try events("event: x\n\ndata: a\n\n") == ["|a|"])
        #expect(try events("data: é\u{1F600}\n\n") == ["|é\u{1F600}|"])
    }

    @Test func retryIsAWholeNumberOfMilliseconds() throws {
        var reader = EventStreamReader()
        for (value, expected) in [
            ("5000", 5000), ("1.5", 5000), ("", 5000), ("-1", 5000), ("0", 0), ("99999999999999999999", .max),
        ] as [(String, UInt64)] {
            reader.feed(Array("retry: \(value)\n".utf8))
            #expect(try reader.next() == nil)
            #expect(reader.retryMilliseconds == expected)
        }
    }

    @Test func eventStreamLineLimit() throws {
        let most = EventStreamReader.mostLineBytes
        for start in ["", "\u{FEFF}"] {
            for line in [
                ":" + String(repeating: "x", count: most - 1), "data:" + String(repeating: "x", count: most - 5),
            ] {
                var reader = EventStreamReader()
                reader.feed(Array("\(start)\(line)\n\n".utf8))
                #expect(try reader.next() == nil || line.hasPrefix("data"))
                reader = EventStreamReader()
                reader.feed(Array("\(start)\(line)x".utf8))
                #expect(throws: Failure.lineTooLong(limit: most)) { try reader.next() }
                reader.feed(Array("\n\ndata: a\n\n".utf8))
                #expect(throws: Failure.lineTooLong(limit: most)) { try reader.next() }
            }
        }
        var reader = EventStreamReader()
        for _ in 0..<64 {
            reader.feed([UInt8](repeating: 120, count: 1024))
            #expect(try reader.next() == nil)
        }
        reader.feed([120])
        #expect(throws: Failure.self) { try reader.next() }
    }

    @Test func eventStreamEventLimit() throws {
        var reader = EventStreamReader()
        let line = Array("data: \(String(repeating: "x", count: 1023))\n".utf8)
        for _ in 0..<64 {
            reader.feed(line)
            #expect(try reader.next() == nil)
        }
        var whole = reader
        whole.feed([10])
        #expect(try whole.next()?.data.count == (64 << 10) - 1)
        reader.feed(line)
        #expect(throws: Failure.eventTooLong(limit: 64 << 10)) { try reader.next() }
    }
}
