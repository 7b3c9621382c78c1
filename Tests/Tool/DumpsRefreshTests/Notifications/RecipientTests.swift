import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import Testing

struct RecipientTests {
    @Test(arguments: [
        ("ftp://host/", nil, "its scheme is ftp"), ("http://user:secret@host/", nil, "user name or password"),
        ("http://host/", "A", "over plain http"),
    ])
    func aURLThatCannotBeUsedIsRefused(url: String, headersVariable: String?, problem: String) throws {
        let target = try NotificationTarget(url: url, headersVariable: headersVariable)
        let error = #expect(throws: NotificationTargetError.self) {
            try Notifier.Recipient(target, headers: HTTPHeaders())
        }
        #expect(error?.description.contains(problem) == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: ["http://127.0.0.1:8889/publish", "https://host/"])
    func credentialsGoOverTLSOrStayOnThisMachine(url: String) throws {
        let target = try NotificationTarget(url: url, headersVariable: "A")
        #expect("\(try Notifier.Recipient(target, headers: HTTPHeaders()).url)" == url)
    }
}
