@testable import RemoteSettings
import RemoteSettingsBlocking
import RemoteSettingsModel
import Testing

/// Names in Mozilla's binding that only the blocking module provides.
@Suite struct MozillaNamesTests {
    @Test func blockingNamesOfMozillasBinding() {
        let older: RemoteSettingsConfig2 = RemoteSettingsConfig2()
        #expect(older.server == nil)
        let fields: RsJsonObject = #"{"a":1}"#
        let file = RemoteSettingsBlocking.Attachment(filename: "a", mimetype: "b", location: "c", hash: "d", size: 5)
        #expect(RemoteSettingsRecord(id: "a", lastModified: 1, attachment: file, fields: fields).fields == fields)
        for error in [RemoteSettingsError.Network(reason: "a"), .Backoff(seconds: 1), .Other(reason: "b")] {
            switch error {
            case .Network(let reason), .Other(let reason): #expect(!reason.isEmpty)
            case .Backoff(let seconds): #expect(seconds == 1)
            }
        }
    }

    @Test func uptakeExtrasOfMozillasBinding() {
        var event = UptakeEvent(
            source: "main/x", status: .signRetryError, trigger: .timer, age: .milliseconds(1500),
            duration: .seconds(2), errorDescription: "why")
        let extras = UptakeEventExtras(
            value: "signature_error", source: "main/x", age: "1500", trigger: "timer", duration: "2000",
            errorName: "SignRetryError")
        #expect(UptakeEventExtras(event) == extras)
        event.status = .success
        event.timestamp = Timestamp(milliseconds: 7)
        #expect(
            UptakeEventExtras(event).errorName == nil && UptakeEventExtras(event).value == "success"
                && UptakeEventExtras(event).timestamp == "7")
        var names: Set<String?> = []
        for status in UptakeEvent.Status.allCases {
            event.status = status
            names.insert(UptakeEventExtras(event).value)
        }
        let expected: Set<String?> = [
            "success", "up_to_date", "network_error", "backoff_error", "signature_error", "server_error",
            "unknown_error",
        ]
        #expect(names == expected)
        #expect(UptakeEvent.Status.allCases.count == 20)
        event.duration = .seconds(Int64.max)
        event.age = .seconds(Int64.min)
        #expect(UptakeEventExtras(event).duration == "\(Int64.max)" && UptakeEventExtras(event).age == "\(Int64.min)")
    }
}
