import RemoteSettings
import RemoteSettingsModel
import Testing

/// The messages of Mozilla's push protocol, as autopush sends them.
struct MozillaPushTests {
    private let update = UpdateMessage.event(
        .update(timestamp: Timestamp(milliseconds: 1_740_558_489_816), collections: nil))

    @Test func announcements() throws {
        let version = #""remote-settings/monitor_changes":"\"1740558489816\"""#
        let hello = #"{"messageType":"hello","uaid":"0123","status":200,"use_webpush":true,"broadcasts":{\#(version)}}"#
        #expect(try MozillaPush.message(hello) == update)
        #expect(
            try MozillaPush.message(#"{"messageType":"broadcast","broadcasts":{"other/one":"v2",\#(version)}}"#)
                == update)
        #expect(MozillaPush.hello.contains(#""remote-settings/monitor_changes":"\"0\"""#))
        #expect((try? JSONValue(parsing: Bytes(utf8: MozillaPush.hello), limits: Limits())) != nil)
    }

    @Test(arguments: [
        "{}", #"{"messageType":"hello","status":200,"use_webpush":true,"uaid":"0","broadcasts":{}}"#,
        #"{"messageType":"broadcast","broadcasts":{"errors":{"remote-settings/monitor_changes":"Broadcast not found"}}}"#,
        #"{"messageType":"broadcast","broadcasts":{"remote-settings/monitor_changes":"____NOP____"}}"#,
        #"{"messageType":"notification","channelID":"x","version":1}"#,
    ])
    func whatAnnouncesNothing(text: String) throws {
        #expect(try MozillaPush.message(text) == .heartbeat)
    }

    @Test(arguments: [
        "", "[]", "x", #"{"messageType":"hello","status":503}"#, #"{"messageType":"hello"}"#,
        "{\"a\":\"" + String(repeating: "x", count: 70_000) + "\"}",
    ])
    func whatIsRefused(text: String) {
        #expect(throws: UpdateSourceError.self) { try MozillaPush.message(text) }
    }
}
