import ConfigParameters
import Dumps
import RemoteSettingsModel
import Testing
@testable import DumpsExchange

/// commands/export-shapes.txt covers values that a property list cannot contain.
@Suite struct DefaultsTextTests {
    private static let typed =
        #"{"a":[1,"x",true,{"b":-2.5}],"c":9223372036854775807,"d":"ü <&>\r\n\t\"é","e":false,"f":{}}"#

    @Test(arguments: [
        (DefaultsFormat.propertyList, typed), (.json, typed), (.json, #"{"n":null}"#),
        (.propertyList, "{}"), (.json, "{}"),
    ])
    func defaultsTextRoundTrip(_ format: DefaultsFormat, _ json: String) throws {
        guard case .object(let members) = try JSONValue(parsing: Bytes(utf8: json)) else { return }
        let read = try DefaultsDocument(Bytes(DefaultsText(members, as: format).bytes)).members
        #expect(read.map { .init(key: $0.key, value: $0.value.json { _ in .null }) } == members)
    }
}
