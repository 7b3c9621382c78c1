import RemoteSettingsModel
import Testing
@testable import Dumps

struct PinConfigurationTests {
    private let text = """
        version: 1
        collections:
          main/markets:   # for the map
            # none, they are large
            attachments: none
          main/zones:
          security-state/onecrl: {attachments: none}
        # The end.

        """

    private func read(_ text: String) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader.read(text, file: "dumps.yaml")
    }

    private func pin(_ at: UInt64, _ reason: String? = nil, until: String? = nil) -> Pin {
        Pin(at: Timestamp(milliseconds: at), reason: reason, until: until.flatMap(Pin.date))
    }

    @Test func pinsAreReadInBothForms() throws {
        let configuration = try read(
            """
            version: 1
            collections:
              main/a: {pin: 7}
              main/b:
                pin: {at: 8, reason: "why: not", until: 2026-12-31}
            """)
        #expect(configuration.collections[0].pin == pin(7))
        #expect(configuration.collections[1].pin == pin(8, "why: not", until: "2026-12-31"))
    }

    @Test func pinIncludesItsLastDay() throws {
        let pin = pin(1, until: "2026-12-31")
        func isOverdue(_ time: String) throws -> Bool {
            pin.isOverdue(at: try #require(Timestamp(rfc3339: time)))
        }
        #expect(try !isOverdue("2026-12-31T00:00:00Z"))
        #expect(try !isOverdue("2026-12-31T23:59:59.999Z"))
        #expect(try isOverdue("2027-01-01T00:00:00Z"))
        #expect(!self.pin(1).isOverdue(at: Timestamp(milliseconds: .max)))
    }

    @Test(arguments: ["\n", "\r\n"]) func pinEditorChangesOnlyThePin(lineEnd: String) throws {
        let text = text.replacing("\n", with: lineEnd)
        let pin = pin(1_760_000_000_000, #"a "quoted" \ reason: # ü"#, until: "2026-12-31")
        let lines = """
                pin:
                  at: 1760000000000  # 2025-10-09T08:53:20.000Z
                  reason: "a \\"quoted\\" \\\\ reason: # ü"
                  until: 2026-12-31

            """
        for (name, anchor) in [
            ("main/markets", "  main/markets:   # for the map\n"), ("main/zones", "  main/zones:\n"),
        ] {
            let id = try CollectionID(name)
            var editor = try ConfigurationEditor(text, file: "dumps.yaml")
            try editor.setPin(pin, of: id)
            let pinned = self.text.replacing(anchor, with: anchor + lines)
            #expect(editor.text == pinned.replacing("\n", with: lineEnd))
            try editor.setPin(self.pin(5), of: id)
            #expect(try read(editor.text).collections.first { $0.id == id }?.pin == self.pin(5))
            #expect(try editor.removePin(of: id) == self.pin(5))
            #expect(editor.text == text)
            #expect(try editor.removePin(of: id) == nil)
            #expect(editor.text == text)
        }
    }

    @Test func pinEditorRefusesFlowStyle() throws {
        var editor = try ConfigurationEditor(text, file: "dumps.yaml")
        #expect(throws: Failure.self) { try editor.setPin(pin(5), of: CollectionID("security-state/onecrl")) }
        #expect(throws: Failure.self) { try editor.setPin(pin(5), of: CollectionID("main/unheard-of")) }
        #expect(throws: Failure.self) { try editor.removePin(of: CollectionID("main/unheard-of")) }
        #expect(editor.text == text)
        var flow = try ConfigurationEditor("version: 1\ncollections: {main/a: {pin: 3}}\n", file: "dumps.yaml")
        #expect(throws: Failure.self) { try flow.removePin(of: CollectionID("main/a")) }
        var null = try ConfigurationEditor("version: 1\ncollections:\n  main/a: ~\n", file: "dumps.yaml")
        #expect(throws: Failure.self) { try null.setPin(pin(5), of: CollectionID("main/a")) }
    }

    @Test func pinRequestForms() throws {
        #expect(PinRequest("1760000000000") == .at(Timestamp(milliseconds: 1_760_000_000_000)))
        #expect(PinRequest("2026-12-31") == .asOf(try #require(Timestamp(rfc3339: "2026-12-31T23:59:59.999Z"))))
        #expect(PinRequest("2026-12-31T10:00:00Z") == .asOf(try #require(Timestamp(rfc3339: "2026-12-31T10:00:00Z"))))
        #expect(PinRequest("v1.0") == .revision("v1.0"))
        for text in ["", "0", "-1", " v1.0"] { #expect(PinRequest(text) == nil) }
    }

    @Test func collectionBudgetOverridesDefault() throws {
        let configuration = try read(
            """
            version: 1
            budget:
              bundle: 5 MiB
              attachment: 1 MiB
              total: 1 GiB
            collections:
              main/a:
              main/b:
                budget:
                  bundle: 50 MiB
            """)
        #expect(configuration.totalBudget == 1 << 30)
        #expect(configuration.collections[0].budget == Budget(bundle: 5 << 20, attachment: 1 << 20))
        #expect(configuration.collections[1].budget == Budget(bundle: 50 << 20, attachment: 1 << 20))
    }
}
