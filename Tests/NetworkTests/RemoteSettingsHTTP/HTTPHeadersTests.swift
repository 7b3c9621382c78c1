@testable import RemoteSettingsHTTP
import Testing

@Suite struct HTTPHeadersTests {
    @Test func userAgentIsNameAndVersion() {
        #expect(UserAgent(name: "rsdump", version: "1.2.0").description == "rsdump/1.2.0")
        #expect(UserAgent(name: "my app\r\nX: y", version: "").description == "my-app--X--y/-")
    }

    @Test func headersAreFoundInEitherCaseAndTrimmed() {
        let headers = HTTPHeaders([
            .init("Content-Type", "text/plain"), .init("content-LENGTH", " \t12 3\t "), .init("Content-Length", "4"),
            .init("ETag", " \t "), .init("Alert", ""), .init("Etag2", "ü "),
        ])
        #expect(headers["Content-Length"] == "12 3")
        #expect(headers.all("CONTENT-LENGTH") == ["12 3", "4"])
        #expect(headers["etag"] == "" && headers["alert"] == "" && headers["etag2"] == "ü")
        #expect(headers["Content-Lengt"] == nil && headers.all("Backoff").isEmpty)
    }
}
