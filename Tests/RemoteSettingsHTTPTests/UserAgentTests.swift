import RemoteSettingsHTTP
import Testing

@Test func userAgentIsNameAndVersion() {
    #expect(UserAgent(name: "rsdump", version: "1.2.0").description == "rsdump/1.2.0")
    #expect(UserAgent(name: "my app\r\nX: y", version: "").description == "my-app--X--y/-")
}
