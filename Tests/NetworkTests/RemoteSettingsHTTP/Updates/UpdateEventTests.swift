@testable import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

struct UpdateEventTests {
    private func event(_ text: String) throws -> UpdateEvent? {
        var reader = EventStreamReader()
        reader.feed(Array(text.utf8))
        return try #require(try reader.next()).asUpdateEvent()
    }

    @Test func updateEventsRoundTrip() throws {
        let collections = [try CollectionID("main/cfr"), try CollectionID("main/search-config")]
        let update = UpdateEvent.update(timestamp: Timestamp(milliseconds: 1_740_558_489_816), collections: collections)
        let json = #"{"timestamp":1740558489816,"collections":["main/cfr","main/search-config"]}"#
        #expect(update.json == json)
        #expect(update.text(id: "1") == "id: 1\nevent: update\ndata: \(json)\n\n")
        for event: UpdateEvent in [
            update, .update(timestamp: Timestamp(milliseconds: 0), collections: nil),
            .update(timestamp: Timestamp(milliseconds: .max), collections: []), .pause(.disabled),
            .pause(.retryAfter(seconds: 12)),
        ] { #expect(try self.event(event.text()) == event) }
    }

    @Test func unknownEventNamesAndMembersAreIgnored() throws {
        let update = UpdateEvent.update(timestamp: Timestamp(milliseconds: 5), collections: nil)
        #expect(try event("data: {\"timestamp\":5,\"more\":{\"a\":[1]}}\n\n") == update)
        #expect(try event("event: message\ndata: {\ndata: \"timestamp\":5}\n\n") == update)
        #expect(try event("event: hello\ndata: anything\n\n") == nil)
        #expect(
            try event("event: pause\ndata: {\"disabled\":false,\"retry_after\":3}\n\n")
                == .pause(.retryAfter(seconds: 3)))
        #expect(try event("event: pause\ndata: {\"disabled\":true,\"retry_after\":3}\n\n") == .pause(.disabled))
        let far = try event("event: pause\ndata: {\"retry_after\":18446744073709551615}\n\n")
        #expect(far == .pause(.retryAfter(seconds: .max)))
    }

    @Test(arguments: [
        "", "{}", "5", "[]", #"{"timestamp":"5"}"#, #"{"timestamp":-5}"#, #"{"timestamp":5.5}"#,
        #"{"timestamp":18446744073709551616}"#, #"{"timestamp":5,"timestamp":5}"#,
        #"{"timestamp":5,"collections":null}"#,
        #"{"timestamp":5,"collections":["../etc"]}"#, #"{"timestamp":5,"collections":["cfr"]}"#,
        #"{"timestamp":5,"collections":[5]}"#, #"{"timestamp":5} "more""#, #"{"collections":["main/cfr"]}"#,
    ])
    func invalidUpdateEventIsRefused(text: String) {
        #expect(throws: Failure.self) { try UpdateEvent(updateJSON: Bytes(utf8: text)) }
        #expect(throws: Failure.self) { try UpdateEvent(pauseJSON: Bytes(utf8: text)) }
    }

    @Test func longAndDeepDataIsRefused() {
        let long = #"{"timestamp":5,"more":"\#(String(repeating: "x", count: 64 << 10))"}"#
        let deep = #"{"timestamp":5,"more":\#(String(repeating: "[", count: 20) + String(repeating: "]", count: 20))}"#
        for text in [long, deep] {
            let error = #expect(throws: Failure.self) { try UpdateEvent(updateJSON: Bytes(utf8: text)) }
            #expect(error?.description.contains("\"update\"") == true)
        }
    }
}

extension StreamedEvent { fileprivate func asUpdateEvent() throws -> UpdateEvent? { try UpdateEvent(self) } }
