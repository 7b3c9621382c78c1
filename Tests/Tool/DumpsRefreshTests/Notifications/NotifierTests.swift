import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import Testing

struct NotifierTests {
    /// The time for all targets together is over before any of them has answered: the run ends, and says so of each.
    @Test func targetsThatNeverAnswerDoNotKeepARunFromItsEnd() async throws {
        let folder = try FileStore.makeTemporaryDirectory("notifier")
        defer { try? FileStore.removeTree(folder) }
        let recipients = try (0..<20).map {
            try Notifier.Recipient(NotificationTarget(url: "https://host/hook-\($0)"), headers: HTTPHeaders())
        }
        let environment = HTTPEnvironment(
            now: { Timestamp(milliseconds: 1_700_000_000_000) },
            sleep: { _ in try await Task.sleep(for: .milliseconds(20)) },
            random: { 0 })
        let notifier = Notifier(
            recipients, keeping: "\(folder)/notify.json", userAgent: UserAgent(name: "test", version: "1"),
            environment: environment
        ) { request, _ throws(HTTPError) in
            do { try await Task.sleep(for: .seconds(3600)) } catch { throw HTTPError(request.url, .cancelled) }
            return (204, HTTPHeaders())
        }
        let id = try CollectionID("main/a")
        try notifier.begin([id: Timestamp(milliseconds: 1)])
        let outcomes = try await notifier.finish([id: Timestamp(milliseconds: 2)])
        #expect(outcomes.count == 20)
        for outcome in outcomes {
            guard case .pending(let error) = outcome.result else {
                Issue.record("expected a target that is told later, found \(outcome.result)")
                continue
            }
            #expect(error.reason == .timeout(.run, seconds: 30))
            #expect(!error.description.contains("hook"))
        }
        let kept = try #require(try FileStore.read("\(folder)/notify.json", limit: 1 << 20)).text
        #expect(!kept.contains("hook"))
        #expect(try !FileStore.isOpenToOthers("\(folder)/notify.json"))
    }
}
