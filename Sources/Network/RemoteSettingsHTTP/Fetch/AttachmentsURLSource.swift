import RemoteSettingsModel

/// The base URL of the server's attachments. It is requested once, and only if there is something to download.
///
/// A failure is not remembered, so the next call tries again. The URL is not signed, and a server may move its
/// attachments. If nothing could be downloaded from it, ``forget(_:)`` makes the next call ask again.
///
/// It is not an actor, because an actor that a task of Swift's pool has entered makes callers that block the pool wait.
package final class AttachmentsURLSource: Sendable {
    private let task = Mutex<Task<Result<AttachmentsURL, any Error>, Never>?>(nil)

    package init() {}

    /// The base URL.
    ///
    /// - Parameter client: the client that asks the server, on the first call only.
    /// - Throws: ``HTTPError``.
    package func value(_ client: ServerClient) async throws -> AttachmentsURL {
        let task = task.withLock { task in
            let known = task ?? WorkThreads.start { await Self.fetch(client) }
            task = known
            return known
        }
        let result = await task.value
        if case .failure = result { forget(task) }
        return try result.get()
    }

    private static func fetch(_ client: ServerClient) async -> Result<AttachmentsURL, any Error> {
        do {
            let document = try await client.rootDocument()
            let root: JSONValue
            do throws(FormatError) {
                root = try JSONValue(parsing: document.body, limits: client.limits)
            } catch {
                throw HTTPError(document.url, .damagedRoot(error))
            }
            guard let base = root["capabilities"]?["attachments"]?["base_url"]?.string else {
                throw HTTPError(document.url, .noAttachments)
            }
            return .success(try AttachmentsURL(base, of: client.server))
        } catch {
            return .failure(error)
        }
    }

    /// Makes the next call ask the server again, unless the URL has already changed.
    package func forget(_ url: AttachmentsURL) async {
        guard let task = task.withLock({ $0 }), (try? await task.value.get()) == url else { return }
        forget(task)
    }

    private func forget(_ known: Task<Result<AttachmentsURL, any Error>, Never>) {
        task.withLock { if $0 == known { $0 = nil } }
    }
}
