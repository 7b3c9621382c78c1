import RemoteSettings
import RemoteSettingsModel
import UpdateEvents

extension FuzzTarget {
    /// The words of Mozilla's push protocol, of both sides.
    package static let pushWords = [
        #""messageType":"#, #""hello""#, #""broadcast""#, #""broadcast_subscribe""#, #""register""#, #""unregister""#,
        #""ping""#, #""ack""#, #""status":200"#, #""status":503"#, #""use_webpush":true"#, #""uaid":"0""#,
        #""broadcasts":{"#, #""errors":{"#, #""remote-settings/monitor_changes":"#, #""\"1740558489816\"""#,
        #""____NOP____""#, #""channelID":"x""#, "{}", "\"", "\\\"", ",", "}",
    ]

    static let push = FuzzTarget(
        "push", "a message of a push server; an announcement has the timestamp of its version, and a refusal is short",
        words: pushWords,
        seeds: { _ in
            let version = #""remote-settings/monitor_changes":"\"1740558489816\"""#
            return [
                #"{"messageType":"hello","uaid":"0","status":200,"use_webpush":true,"broadcasts":{\#(version)}}"#,
                #"{"messageType":"broadcast","broadcasts":{\#(version),"errors":{"a/b":"Broadcast not found"}}}"#,
                #"{"messageType":"hello","status":503}"#, #"{"messageType":"notification","channelID":"x"}"#, "{}",
            ].map { Array($0.utf8) }
        }
    ) { input in
        guard let text = String(validating: input, as: UTF8.self) else { return }
        let usual = try pushMessage(text, isFirst: false)
        let first = try pushMessage(text, isFirst: true)
        try require(first == nil || first == usual, "the first message says something else: \(text)")
        guard case .event(.update(let timestamp, let collections))? = usual else { return }
        try require(collections == nil, "a broadcast that names collections: \(text)")
        let again = #"{"messageType":"broadcast","broadcasts":{"remote-settings/monitor_changes":"\#(timestamp)"}}"#
        try require(try pushMessage(again, isFirst: false) == usual, "written and read again, it is another timestamp")
        try require(
            text.filter { $0.isNumber || $0 == "u" }.contains("u") || text.contains("\(timestamp.milliseconds % 10)"),
            "a timestamp that the message does not have: \(timestamp)")
    }

    /// - Returns: `nil` if the message is refused.
    private static func pushMessage(_ text: String, isFirst: Bool) throws -> UpdateMessage? {
        do throws(UpdateSourceError) {
            return try MozillaPush.message(text, isFirst: isFirst)
        } catch {
            try require(error.kind == .failed, "refused as \(error.kind)")
            try require(error.description.utf8.count < 4096, "a refusal of \(error.description.utf8.count) bytes")
            try require(
                error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
                "a control character in: \(error.description.debugDescription)")
            return nil
        }
    }
}
