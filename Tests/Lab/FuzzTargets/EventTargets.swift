import RemoteSettingsHTTP
import RemoteSettingsModel

extension FuzzTarget {
    static let events = FuzzTarget(
        "events", "an event stream; fed byte by byte, in two parts and as a whole, it holds the same events",
        words: [
            "data:", "data: ", "event: update", "event: pause", "id:", "id: 1", "retry: 5000", ":", ": heartbeat", "\r",
            "\n", "\r\n", "\n\n", "\r\r", "\u{FEFF}", "\0", "{\"timestamp\":1}", "{\"retry_after\":1}",
            "{\"disabled\":true}", "\"collections\":[\"main/cfr\"]",
        ],
        seeds: { _ in
            let update = UpdateEvent.update(
                timestamp: Timestamp(milliseconds: 1_740_558_489_816), collections: [fuzzedCollection])
            return [
                "retry: 5000\n\n" + update.text(id: "1740558489816") + ": heartbeat\n\n",
                "\u{FEFF}: hi\r\n\r\nid: 1760000000:0\r\ndata: {\"timestamp\":1}\r\n\r\n",
                "event: pause\rdata: {\"retry_after\":12}\r\revent: pause\rdata: {\"disabled\":true}\r\r",
                "data\ndata:\ndata: \ndata:  two\n\nid\nunknown: field\n\ndata: unfinished",
                String(repeating: "data: a\n", count: 40) + "\n",
            ].map { Array($0.utf8) }
        }
    ) { input in
        let whole = read([input])
        try require(read(input.map { [$0] }) == whole, "the events differ when fed byte by byte")
        let middle = input.count / 2
        try require(
            read([Array(input[..<middle]), Array(input[middle...])]) == whole, "the events differ when fed in two parts"
        )
        for event in whole.events {
            guard let update = try? UpdateEvent(event) else { continue }
            let again = read([Array(update.text(id: "1").utf8)]).events
            try require(
                again.count == 1 && (try? UpdateEvent(again[0])) == update,
                "the event differs when read back: \(update)")
        }
    }

    /// Everything that a reader gets from a stream.
    private struct Content: Equatable {
        var events: [StreamedEvent] = []
        var lastEventID = ""
        var retryMilliseconds: UInt64?
        var error: Failure?
    }

    private static func read(_ pieces: [[UInt8]]) -> Content {
        var reader = EventStreamReader()
        var content = Content()
        do throws(Failure) {
            for piece in pieces {
                reader.feed(piece)
                while let event = try reader.next() { content.events.append(event) }
            }
        } catch {
            content.error = error
        }
        content.lastEventID = reader.lastEventID
        content.retryMilliseconds = reader.retryMilliseconds
        return content
    }
}
